import io.kaitai.struct.ByteBufferKaitaiStream;
import io.kaitai.struct.KaitaiStream;
import io.kaitai.struct.KaitaiStruct;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;

/** What ksc's Java readers make of bytes, in the words of bridge.py: {@code java Dump TABLE RUNTIME}. */
final class Dump {
    private static final List<String[]> ROWS = new ArrayList<>();
    private static final Map<String, Integer> ROW_OF = new HashMap<>();

    private static String dump(Object value) throws ReflectiveOperationException {
        if (value == null) {
            return "null";
        }
        if (value instanceof Boolean flag) {
            return flag ? "1" : "0";
        }
        if (value instanceof Float || value instanceof Double) {
            long bits = Double.doubleToLongBits(((Number) value).doubleValue());
            return "{\"f\":\"" + HexFormat.of().toHexDigits(bits) + "\"}";
        }
        if (value instanceof Number) {
            return value.toString();
        }
        if (value instanceof Enum<?>) {
            return value.getClass().getMethod("id").invoke(value).toString();
        }
        if (value instanceof String text) {
            return dump(text.getBytes(StandardCharsets.UTF_8));
        }
        if (value instanceof byte[] bytes) {
            return '"' + HexFormat.of().formatHex(bytes) + '"';
        }
        StringJoiner found = new StringJoiner(",", "[", "]");
        if (value instanceof List<?> list) {
            for (Object each : list) {
                found.add(dump(each));
            }
            return found.toString();
        }
        int number = ROW_OF.get(value.getClass().getName());
        String[] row = ROWS.get(number);
        for (int i = 1; i < row.length; i++) {
            found.add(dump(value.getClass().getMethod(row[i].substring(2)).invoke(value)));
        }
        return "{\"" + number + "\":" + found + "}";
    }

    private static Object read(String name, KaitaiStream stream, String version) throws ReflectiveOperationException {
        for (Constructor<?> each : Class.forName(name).getConstructors()) {
            Class<?>[] takes = each.getParameterTypes();
            if (version.equals("-") && takes.length == 1) {
                return each.newInstance(stream);
            }
            if (!version.equals("-") && takes.length == 2 && !KaitaiStruct.class.isAssignableFrom(takes[1])) {
                int number = Integer.parseInt(version);
                Object told = number;
                if (takes[1] == byte.class) {
                    told = (byte) number;
                } else if (takes[1] == short.class) {
                    told = (short) number;
                } else if (takes[1] == long.class) {
                    told = (long) number;
                }
                return each.newInstance(stream, told);
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static String answer(String line) {
        String[] asked = line.split(" ", 3);
        KaitaiStream stream = new ByteBufferKaitaiStream(HexFormat.of().parseHex(asked[2]));
        try {
            String value = dump(read(ROWS.get(Integer.parseInt(asked[0]))[0], stream, asked[1]));
            return (stream.isEof() ? "V" : "R") + value;
        } catch (InvocationTargetException thrown) {
            return "E" + thrown.getCause().getClass().getSimpleName();
        } catch (ReflectiveOperationException | RuntimeException thrown) {
            return "E" + thrown;
        }
    }

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            ROW_OF.put(line.split(" ")[0], ROWS.size());
            ROWS.add(line.split(" "));
        }
        System.out.println("kaitai-struct-runtime " + args[1] + ", Java " + System.getProperty("java.version"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line));
        }
    }
}
