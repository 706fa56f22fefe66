import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.UUID;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Input;
import org.kodec.runtime.Output;
import org.kodec.runtime.ReadOptions;
import org.kodec.runtime.Source;
import org.kodec.runtime.TaggedField;

/** A testee of the generated Java: a request a line, an answer a line, as docs/conformance.md says. */
public final class Testee {
    private static final HexFormat HEX = HexFormat.of();
    private static final Map<FormatException.Kind, String> CODES = Map.of(
            FormatException.Kind.TRUNCATED, "truncated",
            FormatException.Kind.MALFORMED, "malformed",
            FormatException.Kind.CRC_MISMATCH, "bad_checksum",
            FormatException.Kind.UNSUPPORTED, "unsupported",
            FormatException.Kind.LIMIT_EXCEEDED, "limit_exceeded",
            FormatException.Kind.NOT_ENCODABLE, "not_encodable");

    /** What a type does with bytes. */
    abstract static class Codec {
        /** Null for a streamed type, which is only read. */
        final Class<? extends Record> kind;

        Codec(Class<? extends Record> kind) {
            this.kind = kind;
        }

        abstract Object read(Input in, int version);

        void write(Object value, Output out, int version) {
            throw new UnsupportedOperationException();
        }
    }

    /** A field of the schema and its component; of one that may be compressed, also that of the stored bytes. */
    record Field(String id, String name, String stored, boolean unsigned, String byDefault, Class<?>... forms) {}

    /** A value that is not of its type. */
    private static final class NoValue extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private Testee() {}

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<?, ?> asked = (Map<?, ?>) Json.read(line);
            out.println("{\"id\": " + asked.get("id") + ", " + answered(asked) + "}");
            out.flush();
        }
    }

    private static String answered(Map<?, ?> asked) throws Exception {
        String verb = (String) asked.get("do");
        if (verb.equals("hello")) {
            StringJoiner types = new StringJoiner(", ", "[", "]");
            StringJoiner reads = new StringJoiner(", ", "[", "]");
            Types.CODECS.forEach((name, each) -> {
                types.add(Json.quoted(name));
                if (each.kind == null) {
                    reads.add(Json.quoted(name));
                }
            });
            return "\"protocol\": 1, \"name\": \"kodec-java\", \"language\": \"Java\", \"version\": "
                    + Json.quoted(System.getProperty("java.version"))
                    + ", \"does\": [\"decode\", \"encode\", \"round_trip\"], \"types\": " + types
                    + ", \"reads\": " + reads;
        }
        Codec codec = Types.CODECS.get(asked.get("type"));
        if (codec == null) {
            return "\"unsupported\": \"no such type\"";
        }
        int version = asked.get("version") == null ? 0 : ((BigInteger) asked.get("version")).intValueExact();
        if (verb.equals("encode")) {
            if (codec.kind == null) {
                return "\"unsupported\": \"streamed types are only read\"";
            }
            try {
                return written("error", codec, made(codec.kind, asked.get("value"), null), version);
            } catch (NoValue | ArithmeticException error) {
                return "\"error\": {\"code\": \"not_encodable\"}";
            }
        }
        byte[] data = HEX.parseHex((String) asked.get("bytes"));
        Object value;
        try {
            ReadOptions all = ReadOptions.DEFAULT;
            Input in = new Input(data, all
                    .withDecompressedBytes(limit(asked, "limit", all.decompressedBytes()))
                    .withElements(limit(asked, "elements", all.elements()))
                    .withDepth((int) limit(asked, "depth", all.depth())));
            value = codec.read(in, version);
            if (asked.containsKey("exact") && in.pos != data.length) {
                return "\"error\": {\"code\": \"malformed\", \"path\": \"\", \"at\": " + in.pos + "}";
            }
        } catch (FormatException error) {
            return problem("error", error);
        } catch (ArithmeticException error) {
            // a computed value past 64 bits, of which Java does not say where
            return "\"error\": {\"code\": \"malformed\"}";
        }
        deepest = asked.containsKey("instances") ? 4 : -1;
        String found = "\"value\": " + plain(value);
        return verb.equals("decode") || codec.kind == null ? found : found + ", " + written("encode_error", codec, value, version);
    }

    private static long limit(Map<?, ?> asked, String name, long otherwise) {
        return asked.get(name) == null ? otherwise : ((BigInteger) asked.get(name)).longValueExact();
    }

    private static String written(String otherwise, Codec codec, Object value, int version) {
        try {
            byte[] written = Output.bytesOf(out -> codec.write(value, out, version));
            return "\"bytes\": \"" + HEX.formatHex(written) + "\"";
        } catch (FormatException error) {
            return problem(otherwise, error);
        }
    }

    private static String problem(String name, FormatException error) {
        boolean placed = error.kind() != FormatException.Kind.NOT_ENCODABLE;
        return "\"" + name + "\": {\"code\": \"" + CODES.get(error.kind()) + "\", \"path\": \"" + error.path() + "\""
                + (placed ? ", \"at\": " + error.at() : "") + "}";
    }

    // -- values to JSON ------------------------------------------------------------------------------

    private static String plain(Object value) throws Exception {
        if (value == null || value instanceof Boolean || value instanceof Integer) {
            return String.valueOf(value);
        }
        if (value instanceof Float || value instanceof Double) {
            double number = ((Number) value).doubleValue();
            if (Double.isInfinite(number)) {
                return number > 0 ? "\"inf\"" : "\"-inf\"";
            }
            return number != number ? "\"nan\"" : String.valueOf(number);
        }
        if (value instanceof Long || value instanceof UUID) {
            return "\"" + value + "\"";
        }
        if (value instanceof byte[]) {
            return "\"" + HEX.formatHex((byte[]) value) + "\"";
        }
        if (value instanceof String text) {
            if (StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
                return Json.quoted(text);
            }
            return "{\"raw\": \"" + HEX.formatHex(Output.encoded("", text, "UTF-8")) + "\"}";
        }
        if (value instanceof TaggedField tag) {
            return "{\"number\": " + tag.tag() + ", \"data\": " + plain(tag.data()) + "}";
        }
        if (value instanceof List) {
            StringJoiner items = new StringJoiner(", ", "[", "]");
            for (Object each : (List<?>) value) {
                items.add(plain(each));
            }
            return items.toString();
        }
        if (value instanceof Source) {
            return "\"stream\"";
        }
        StringJoiner fields = new StringJoiner(", ", "{", "}");
        if (deepest-- > 0) {
            for (Field each : Types.INSTANCES.getOrDefault(value.getClass(), List.of())) {
                fields.add("\"" + each.id() + "\": " + instance(value, each));
            }
        }
        deepest++;
        for (Field each : Types.FIELDS.get(value.getClass())) {
            Object found = component(value, each.name());
            // of a field that may be compressed: as it is stored, where it was not parsed
            Object stored = each.stored().isEmpty() ? null : component(value, each.stored());
            String shown = each.unsigned() ? unsigned(found) : plain(stored == null ? found : stored);
            fields.add("\"" + each.id() + "\": " + shown);
        }
        return fields.toString();
    }

    /** How many instances in instances a value has. */
    private static int deepest;

    private static String instance(Object value, Field of) throws Exception {
        try {
            Object found = component(value, of.name());
            return of.unsigned() ? unsigned(found) : plain(found);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof FormatException failed) {
                return "{" + problem("error", failed) + "}";
            }
            throw error;
        }
    }

    /** A number without a sign, or a list of such. */
    private static String unsigned(Object value) throws Exception {
        if (value instanceof List) {
            StringJoiner items = new StringJoiner(", ", "[", "]");
            for (Object each : (List<?>) value) {
                items.add(unsigned(each));
            }
            return items.toString();
        }
        return value instanceof Long number ? "\"" + Long.toUnsignedString(number) + "\"" : plain(value);
    }

    private static Object component(Object value, String name) throws Exception {
        return value.getClass().getMethod(name).invoke(value);
    }

    // -- JSON to values ------------------------------------------------------------------------------

    /** A value of a type, as JSON has it. Throws NoValue, ArithmeticException if it is not one. */
    private static Object made(Type type, Object given, Field of) throws Exception {
        if (type instanceof ParameterizedType list) {
            if (given == null) {
                return null;
            }
            List<Object> items = new ArrayList<>();
            for (Object each : of(List.class, given)) {
                items.add(made(list.getActualTypeArguments()[0], each, of));
            }
            return items;
        }
        Class<?> kind = type instanceof GenericArrayType ? byte[].class : (Class<?>) type;
        if (kind == Object.class) {
            return oneOf(given, of);
        }
        if (given == null) {
            if (kind.isPrimitive()) {
                throw new NoValue();
            }
            return null;
        }
        if (kind == int.class || kind == Integer.class) {
            return whole(given).intValueExact();
        }
        if (kind == long.class || kind == Long.class) {
            BigInteger number = whole(given);
            boolean wide = of != null && of.unsigned() && number.signum() >= 0 && number.bitLength() <= 64;
            return wide ? number.longValue() : number.longValueExact();
        }
        if (kind == boolean.class || kind == Boolean.class) {
            return of(Boolean.class, given);
        }
        if (kind == float.class) {
            return (float) real(given);
        }
        if (kind == double.class) {
            return real(given);
        }
        if (kind == byte[].class) {
            return hex(of(String.class, given));
        }
        if (kind == UUID.class) {
            return UUID.fromString(of(String.class, given));
        }
        if (kind == String.class) {
            return text(given);
        }
        if (kind == TaggedField.class) {
            Map<?, ?> tag = of(Map.class, given);
            return new TaggedField(whole(tag.get("number")).longValueExact(), hex((String) tag.get("data")));
        }
        return object(kind, of(Map.class, given));
    }

    private static Object oneOf(Object given, Field of) throws Exception {
        for (Class<?> each : of.forms()) {
            try {
                return made(each, given, null);
            } catch (NoValue error) {
                continue;
            }
        }
        throw new NoValue();
    }

    private static Object object(Class<?> kind, Map<?, ?> given) throws Exception {
        Map<String, Object> values = new HashMap<>();
        Map<String, Field> fields = new HashMap<>();
        int count = 0;
        for (Field each : Types.FIELDS.get(kind)) {
            count += given.containsKey(each.id()) ? 1 : 0;
            Object value = given.containsKey(each.id()) ? given.get(each.id()) : Json.read(each.byDefault());
            boolean stored = !each.stored().isEmpty() && value instanceof String;
            values.put(each.stored(), stored ? value : null);
            values.put(each.name(), stored ? null : value);
            fields.put(each.name(), each);
        }
        if (count != given.size()) {
            throw new NoValue();
        }
        RecordComponent[] components = kind.getRecordComponents();
        Class<?>[] types = new Class<?>[components.length];
        Object[] arguments = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            String name = components[i].getName();
            types[i] = components[i].getType();
            arguments[i] = made(components[i].getGenericType(), values.get(name), fields.get(name));
        }
        return kind.getDeclaredConstructor(types).newInstance(arguments);
    }

    private static <T> T of(Class<T> kind, Object given) {
        if (!kind.isInstance(given)) {
            throw new NoValue();
        }
        return kind.cast(given);
    }

    private static BigInteger whole(Object given) {
        try {
            return given instanceof String text ? new BigInteger(text) : of(BigInteger.class, given);
        } catch (NumberFormatException error) {
            throw new NoValue();
        }
    }

    private static double real(Object given) {
        if (given instanceof String text) {
            return text.equals("nan") ? Double.NaN
                    : text.equals("inf") ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
        }
        return of(Number.class, given).doubleValue();
    }

    private static byte[] hex(String text) {
        try {
            return HEX.parseHex(text);
        } catch (IllegalArgumentException error) {
            throw new NoValue();
        }
    }

    private static String text(Object given) {
        if (given instanceof Map<?, ?> raw) {
            byte[] data = hex(of(String.class, raw.get("raw")));
            return Input.text(data, 0, data.length, false);
        }
        return of(String.class, given);
    }
}
