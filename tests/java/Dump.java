import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.UUID;
import org.kodec.runtime.Buffer;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.ReadOptions;
import org.kodec.runtime.Stored;

/** Reads what the lines of its input ask for by the generated classes, and prints values and errors as JSON. */
public final class Dump {
    private Dump() {}

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.println(answer(line.split(" ", -1)));
        }
        out.flush();
    }

    private static String answer(String[] words) throws Exception {
        byte[] data = unhex(words[words.length - 1]);
        try {
            switch (words[0]) {
                case "read":
                    return "{\"value\":" + json(read(words, data)) + "}";
                case "write":
                    return "{\"value\":" + json(written(read(words, data))) + "}";
                case "cuts":
                    return cuts(words, data);
                case "rows":
                    return "{\"value\":" + Class.forName(words[1]).getMethod(words[2], byte[].class)
                            .invoke(null, data) + "}";
                case "codec":
                    return codec(words, data);
                case "stored":
                    return stored(Stored.valueOf(words[1]), data);
                default:
                    throw new IOException(words[0]);
            }
        } catch (InvocationTargetException error) {
            return failed(error.getCause());
        } catch (FormatException error) {
            return failed(error);
        }
    }

    /** read CLASS CHECK_CRC [VERSION] BYTES */
    private static Object read(String[] words, byte[] data) throws Exception {
        ReadOptions opt = ReadOptions.DEFAULT.withCheckCrc(words[2].equals("1"));
        Class<?> kind = Class.forName(words[1]);
        if (words.length == 4) {
            return kind.getMethod("from", byte[].class, ReadOptions.class).invoke(null, data, opt);
        }
        int version = Integer.parseInt(words[3]);
        Method from = kind.getMethod("from", byte[].class, ReadOptions.class, int.class);
        return from.invoke(null, data, opt, version);
    }

    /** The bytes that a value, which was read, is written as. */
    private static byte[] written(Object value) throws Exception {
        return (byte[]) value.getClass().getMethod("toBytes").invoke(value);
    }

    /** stored KIND BYTES: the number in them, and the bytes that it is put into. */
    private static String stored(Stored kind, byte[] data) {
        byte[] made = new byte[data.length];
        kind.put(made, 0, kind.get(data, 0));
        return "{\"value\":[" + kind.get(data, 0) + "," + kind.most + "," + kind.size + "," + json(made) + "]}";
    }

    /** The result of each proper prefix: the error, or "" for a value. */
    private static String cuts(String[] words, byte[] data) throws Exception {
        StringJoiner found = new StringJoiner(",", "{\"cuts\":[", "]}");
        for (int size = 0; size < data.length; size++) {
            try {
                read(words, java.util.Arrays.copyOf(data, size));
                found.add("\"\"");
            } catch (InvocationTargetException error) {
                found.add(error.getCause() instanceof FormatException
                        ? json(error.getCause().getMessage()) : failed(error.getCause()));
            }
        }
        return found.toString();
    }

    private static String codec(String[] words, byte[] data) {
        try (Codecs codecs = new Codecs()) {
            Buffer out = new Buffer(16);
            codecs.decompress(words[1], data, 0, data.length, out, Long.parseLong(words[2]));
            return "{\"value\":" + json(out.bytes()) + "}";
        }
    }

    private static String failed(Throwable error) {
        if (!(error instanceof FormatException)) {
            java.io.StringWriter text = new java.io.StringWriter();
            error.printStackTrace(new java.io.PrintWriter(text));
            return "{\"crash\":" + json(text.toString()) + "}";
        }
        FormatException found = (FormatException) error;
        return "{\"error\":" + json(found.kind().toString()) + ",\"path\":" + json(found.path()) + ",\"at\":"
                + found.at() + ",\"inside\":" + found.atInside() + ",\"text\":" + json(found.getMessage()) + "}";
    }

    static String json(Object value) throws IllegalStateException {
        if (value == null) {
            return "null";
        }
        if (value instanceof byte[]) {
            StringBuilder text = new StringBuilder("\"");
            for (byte each : (byte[]) value) {
                text.append(Character.forDigit(each >> 4 & 15, 16)).append(Character.forDigit(each & 15, 16));
            }
            return text.append('"').toString();
        }
        if (value instanceof Float || value instanceof Double) {
            return "\"" + Long.toHexString(Double.doubleToRawLongBits(((Number) value).doubleValue())) + "\"";
        }
        if (value instanceof Number || value instanceof Boolean) {
            return value.toString();
        }
        if (value instanceof UUID) {
            return "\"" + value + "\"";
        }
        if (value instanceof String) {
            return quoted((String) value);
        }
        if (value instanceof List) {
            StringJoiner items = new StringJoiner(",", "[", "]");
            for (Object each : (List<?>) value) {
                items.add(json(each));
            }
            return items.toString();
        }
        return fields((Record) value);
    }

    private static String fields(Record value) {
        List<String> found = new ArrayList<>();
        for (RecordComponent each : value.getClass().getRecordComponents()) {
            try {
                found.add("\"" + each.getName() + "\":" + json(each.getAccessor().invoke(value)));
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
        return "{" + String.join(",", found) + "}";
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each < ' ' || each > '~' || each == '"' || each == '\\') {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        return out.append('"').toString();
    }

    private static byte[] unhex(String text) {
        byte[] data = new byte[text.length() / 2];
        for (int index = 0; index < data.length; index++) {
            data[index] = (byte) Integer.parseInt(text, 2 * index, 2 * index + 2, 16);
        }
        return data;
    }
}
