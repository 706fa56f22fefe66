import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Input;
import org.kodec.runtime.Output;
import org.kodec.runtime.ReadOptions;
import org.kodec.runtime.TaggedField;

/** A program that reads a request a line, and answers a line: what the generated Java makes of bytes. */
public final class Testee {
    private static final Pattern MEMBER = Pattern.compile("\"(\\w+)\": \"?([^\",}]*)");
    private static final Map<FormatException.Kind, String> CODES = Map.of(
            FormatException.Kind.TRUNCATED, "truncated",
            FormatException.Kind.MALFORMED, "malformed",
            FormatException.Kind.CRC_MISMATCH, "bad_checksum",
            FormatException.Kind.UNSUPPORTED, "unsupported",
            FormatException.Kind.LIMIT_EXCEEDED, "limit_exceeded");

    /** What a type does with bytes. */
    interface Codec {
        Record read(Input in, int version);

        void write(Record value, Output out, int version);
    }

    private Testee() {}

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] asked = new String[3];
            for (Matcher found = MEMBER.matcher(line); found.find();) {
                asked[List.of("type", "bytes", "version").indexOf(found.group(1))] = found.group(2);
            }
            out.println(answered(Types.CODECS.get(asked[0]), HexFormat.of().parseHex(asked[1]),
                    Integer.parseInt(asked[2])));
        }
        out.flush();
    }

    private static String answered(Codec codec, byte[] data, int version) throws Exception {
        Record value;
        try {
            value = codec.read(new Input(data, ReadOptions.DEFAULT), version);
        } catch (FormatException error) {
            return "{\"code\": \"" + CODES.get(error.kind()) + "\", \"path\": \"" + error.path() + "\", \"at\": "
                    + error.at() + "}";
        } catch (ArithmeticException error) {
            return "{\"code\": \"malformed\", \"path\": \"\", \"at\": 0}";
        }
        String found = "{\"value\": " + plain(value);
        try {
            byte[] written = Output.bytesOf(out -> codec.write(value, out, version));
            found += ", \"written\": \"" + HexFormat.of().formatHex(written) + "\"";
        } catch (FormatException error) {
            if (error.kind() != FormatException.Kind.NOT_ENCODABLE) {
                throw error;
            }
        }
        return found + "}";
    }

    /** A value as tests/languages/cases.py has it. */
    private static String plain(Object value) throws Exception {
        if (value == null || value instanceof Boolean) {
            return String.valueOf(value);
        }
        if (value instanceof Float || value instanceof Double) {
            double number = ((Number) value).doubleValue();
            return number != number ? "\"nan\"" : "\"" + HexFormat.of().toHexDigits(Double.doubleToRawLongBits(number))
                    + "\"";
        }
        if (value instanceof Number) {
            return "\"" + value + "\"";
        }
        if (value instanceof byte[]) {
            return "\"0x" + HexFormat.of().formatHex((byte[]) value) + "\"";
        }
        if (value instanceof String) {
            return "\"0t" + HexFormat.of().formatHex(Output.encoded("", (String) value, "UTF-8")) + "\"";
        }
        if (value instanceof UUID id) {
            ByteBuffer bytes = ByteBuffer.allocate(16).putLong(id.getMostSignificantBits());
            return plain(bytes.putLong(id.getLeastSignificantBits()).array());
        }
        if (value instanceof TaggedField tag) {
            return "{\"number\": \"" + tag.tag() + "\", \"data\": " + plain(tag.data()) + "}";
        }
        if (value instanceof List) {
            StringJoiner items = new StringJoiner(", ", "[", "]").setEmptyValue("null");
            for (Object each : (List<?>) value) {
                items.add(plain(each));
            }
            return items.toString();
        }
        StringJoiner fields = new StringJoiner(", ", "{", "}");
        for (String[] each : Types.FIELDS.get(value.getClass())) {
            Object found = component(value, each[1]);
            if (each[2].equals("unsigned")) {
                found = Long.toUnsignedString((Long) found);
                fields.add("\"" + each[0] + "\": \"" + found + "\"");
                continue;
            }
            // of a field that may be compressed: as it is stored, where it was not parsed
            Object stored = each[2].isEmpty() ? null : component(value, each[2]);
            fields.add("\"" + each[0] + "\": " + plain(stored == null ? found : stored));
        }
        return fields.toString();
    }

    private static Object component(Object value, String name) throws Exception {
        return value.getClass().getMethod(name).invoke(value);
    }
}
