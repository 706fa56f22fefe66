package org.kodec.runtime;

/**
 * The bytes do not match their format. Has the field, the byte, what was needed and what was found.
 *
 * <p>Paths grow from the inside out: the reader that fails names its own field, and each caller prepends its part
 * ({@code records[3].body.value}).
 */
public final class FormatException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What is wrong. */
    public enum Kind {
        /** The bytes end before the field does; {@code need} and {@code have} are numbers of bytes. */
        TRUNCATED,
        /** The bytes violate a rule of the format, described by {@code reason}. */
        MALFORMED,
        /** The stored checksum ({@code need}) is not that of the bytes ({@code have}). */
        CRC_MISMATCH,
        /** A magic, codec, version or frame feature that the format, or this reader, does not have. */
        UNSUPPORTED,
        /** A stated limit would be passed; nothing was allocated for it. */
        LIMIT_EXCEEDED,
        /** A value passed to a writer cannot be encoded in the format. */
        NOT_ENCODABLE
    }

    private final Kind kind;
    private final String reason;
    private final transient Object need;
    private final transient Object have;
    private final String shownNeed;
    private final String shownHave;
    private final String limit;
    private String path;
    private long at;
    private String inside;
    private long atInside = -1;
    private String source;

    private FormatException(Kind kind, String path, String reason, long at, Object need, Object have, String limit) {
        super(null, null, true, true);
        this.kind = kind;
        this.path = path;
        this.reason = reason;
        this.at = at;
        this.need = need;
        this.have = have;
        this.shownNeed = shown(need);
        this.shownHave = shown(have);
        this.limit = limit;
    }

    /** The bytes end too early: {@code need} bytes are needed from {@code at}, {@code have} are available. */
    public static FormatException truncated(String path, String reason, long at, long need, long have) {
        return new FormatException(Kind.TRUNCATED, path, reason, at, need, have, null);
    }

    /** A rule is broken; {@code need} and {@code have} may be null. */
    public static FormatException malformed(String path, String reason, long at, Object need, Object have) {
        return new FormatException(Kind.MALFORMED, path, reason, at, need, have, null);
    }

    /** A checksum is wrong; both are unsigned numbers of 32 bits. */
    public static FormatException crcMismatch(String path, long at, long stored, long computed) {
        return new FormatException(Kind.CRC_MISMATCH, path, "", at, stored, computed, null);
    }

    /** There is no reader for this. */
    public static FormatException unsupported(String path, String reason, long at, Object need, Object have) {
        return new FormatException(Kind.UNSUPPORTED, path, reason, at, need, have, null);
    }

    /** The bytes ask for {@code need} where {@code have} is the limit; {@code limit} is the option that raises it. */
    public static FormatException limitExceeded(
            String path, String reason, long at, Object need, Object have, String limit) {
        return new FormatException(Kind.LIMIT_EXCEEDED, path, reason, at, need, have, limit);
    }

    /** A value cannot be written; {@code need} and {@code have} may be null. */
    public static FormatException notEncodable(String path, String reason, Object need, Object have) {
        return new FormatException(Kind.NOT_ENCODABLE, path, reason, 0, need, have, null);
    }

    /** What is wrong. */
    public Kind kind() {
        return kind;
    }

    /** The field, from the outermost type to the failing one; empty for the bytes as a whole. */
    public String path() {
        return path;
    }

    /** A phrase for people; may be empty. */
    public String reason() {
        return reason;
    }

    /** The byte where the field starts, counted from the start of the source. */
    public long at() {
        return at;
    }

    /** What the format asks for: a number of bytes, a value or a phrase; may be null. */
    public Object need() {
        return need;
    }

    /** What the bytes hold; may be null. */
    public Object have() {
        return have;
    }

    /** The codec in whose decompressed bytes {@link #atInside} counts; null where nothing was decompressed. */
    public String inside() {
        return inside;
    }

    /** The byte in the decompressed bytes; -1 if there are none. */
    public long atInside() {
        return atInside;
    }

    /** The name of the file, or null if unknown. */
    public String source() {
        return source;
    }

    /** Puts {@code parent} in front of the path. */
    public FormatException within(String parent) {
        path = join(parent, path);
        return this;
    }

    /** Puts {@code parent[index]} in front of the path. */
    public FormatException within(String parent, long index) {
        path = join(parent + "[" + index + "]", path);
        return this;
    }

    /** Moves the position on by {@code by} bytes. */
    public FormatException shifted(long by) {
        at += by;
        return this;
    }

    /** Says that the position so far counted in what {@code codec} decompressed, which is stored at {@code start}. */
    public FormatException withinCodec(String codec, long start) {
        if (inside == null) {
            inside = codec;
            atInside = at;
        }
        at = start;
        return this;
    }

    /** Names the file. */
    public FormatException inSource(String name) {
        source = name;
        return this;
    }

    private static String join(String head, String path) {
        return !head.isEmpty() && !path.isEmpty() && path.charAt(0) != '[' ? head + "." + path : head + path;
    }

    private static String shown(Object value) {
        if (value instanceof Boolean) {
            return (Boolean) value ? "True" : "False";
        }
        if (value instanceof byte[]) {
            return shown((byte[]) value);
        }
        if (value instanceof Float || value instanceof Double) {
            return shown(((Number) value).doubleValue());
        }
        return value == null ? null : value.toString();
    }

    /** A number as Python prints it. */
    private static String shown(double value) {
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            return Double.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
        }
        String text = Double.toString(value);
        int mark = text.indexOf('E');
        if (mark < 0) {
            return text;
        }
        int exponent = Integer.parseInt(text.substring(mark + 1));
        if (exponent >= -4 && exponent < 16) {
            String plain = new java.math.BigDecimal(text).toPlainString();
            return plain.indexOf('.') < 0 ? plain + ".0" : plain;
        }
        String digits = text.substring(0, mark);
        digits = digits.endsWith(".0") ? digits.substring(0, digits.length() - 2) : digits;
        return digits + (exponent < 0 ? "e-" : "e+") + (Math.abs(exponent) < 10 ? "0" : "") + Math.abs(exponent);
    }

    /** Bytes as Python prints them, so that messages are the same in both languages. */
    private static String shown(byte[] value) {
        String plain = new String(value, java.nio.charset.StandardCharsets.ISO_8859_1);
        char quote = plain.indexOf('\'') >= 0 && plain.indexOf('"') < 0 ? '"' : '\'';
        StringBuilder text = new StringBuilder("b").append(quote);
        for (char each : plain.toCharArray()) {
            int escape = "\t\n\r\\".indexOf(each);
            if (escape >= 0) {
                text.append('\\').append("tnr\\".charAt(escape));
            } else if (each == quote) {
                text.append('\\').append(each);
            } else if (each >= ' ' && each <= '~') {
                text.append(each);
            } else {
                text.append(String.format("\\x%02x", (int) each));
            }
        }
        return text.append(quote).toString();
    }

    private String facts() {
        switch (kind) {
            case TRUNCATED:
                return "need " + shownNeed + " bytes, have " + shownHave;
            case CRC_MISMATCH:
                return String.format(
                        "stored 0x%08x, computed 0x%08x", Long.parseLong(shownNeed), Long.parseLong(shownHave));
            case LIMIT_EXCEEDED:
                return "need " + shownNeed + ", limit " + shownHave + " (option `" + limit + "`)";
            default:
                String facts = shownNeed == null ? "" : "need " + shownNeed;
                return shownHave == null ? facts : (facts.isEmpty() ? "" : facts + ", ") + "have " + shownHave;
        }
    }

    @Override
    public String getMessage() {
        String place = "at byte " + at;
        if (inside != null) {
            place = "at byte " + atInside + " of what the " + inside + " data " + place + " decompresses to";
        }
        if (source != null) {
            place += " of " + source;
        }
        String facts = facts();
        place = kind == Kind.NOT_ENCODABLE ? "" : ", " + place;
        String body = reason.isEmpty() ? facts : facts.isEmpty() ? reason : reason + ": " + facts;
        return (path.isEmpty() ? "" : path + ": ") + body + place;
    }
}
