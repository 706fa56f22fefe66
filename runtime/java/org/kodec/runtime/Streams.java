package org.kodec.runtime;

import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** What expressions of streamed schemas compute; the object in which they stand is where an error is. */
public final class Streams {
    private static final int MOST_SHIFT = 128;

    private Streams() {}

    /** A value as one of a class; null if it is of another. */
    public static <T> T as(Class<T> kind, Object value) {
        return kind.isInstance(value) ? kind.cast(value) : null;
    }

    /** A value that must be there. */
    public static <T> T required(StreamedObject x, T value, String name, String reason) {
        if (value == null) {
            throw x.wrong(name, reason);
        }
        return value;
    }

    /** A field that must have been read. */
    public static <T> T asked(StreamedObject x, StreamedObject owner, int bit, T value, String name, String reason) {
        if ((owner.seen >>> bit & 1) == 0) {
            throw x.wrong(name, reason);
        }
        return value;
    }

    /** An object as one of a streamed schema. */
    public static StreamedObject object(Object value) {
        return (StreamedObject) value;
    }

    // -- whole numbers -------------------------------------------------------------------------------

    /** A number without a sign as one with a sign. */
    public static long signed(StreamedObject x, long value) {
        if (value < 0) {
            throw x.beyond();
        }
        return value;
    }

    /** A size, a count or a position; what is larger is more than there are bytes too. */
    public static long atMost(StreamedObject x, long value) {
        return value < 0 ? Long.MAX_VALUE : value;
    }

    /** A number with a sign as one without. */
    public static long unsigned(StreamedObject x, long value) {
        return signed(x, value);
    }

    /** The sum. */
    public static long plus(StreamedObject x, long a, long b) {
        long found = a + b;
        if (((a ^ found) & (b ^ found)) < 0) {
            throw x.beyond();
        }
        return found;
    }

    /** The difference. */
    public static long minus(StreamedObject x, long a, long b) {
        long found = a - b;
        if (((a ^ b) & (a ^ found)) < 0) {
            throw x.beyond();
        }
        return found;
    }

    /** The product. */
    public static long times(StreamedObject x, long a, long b) {
        long found = a * b;
        if (Math.multiplyHigh(a, b) != found >> 63) {
            throw x.beyond();
        }
        return found;
    }

    /** The quotient, rounded down. */
    public static long divided(StreamedObject x, long a, long b) {
        nonzero(x, b);
        return b == -1 ? negated(x, a) : Math.floorDiv(a, b);
    }

    /** The rest, with the sign of the divisor. */
    public static long modulo(StreamedObject x, long a, long b) {
        nonzero(x, b);
        return Math.floorMod(a, b);
    }

    private static void nonzero(StreamedObject x, double value) {
        if (value == 0) {
            throw x.wrong("", "an expression divides by 0");
        }
    }

    /** The number with the other sign. */
    public static long negated(StreamedObject x, long a) {
        return minus(x, 0, a);
    }

    /** The number with all bits inverted. */
    public static long inverted(StreamedObject x, long a) {
        return ~a;
    }

    /** The bits of both. */
    public static long both(StreamedObject x, long a, long b) {
        return a & b;
    }

    /** The bits of both. */
    public static long bothUnsigned(StreamedObject x, long a, long b) {
        return a & b;
    }

    /** The bits of either. */
    public static long either(StreamedObject x, long a, long b) {
        return a | b;
    }

    /** The bits in which they differ. */
    public static long differing(StreamedObject x, long a, long b) {
        return a ^ b;
    }

    private static void near(StreamedObject x, long by) {
        if (by < -MOST_SHIFT || by > MOST_SHIFT) {
            throw x.wrong("", "an expression shifts by too many bits");
        }
    }

    /** Shifted to the left; a negative number of bits is to the right. */
    public static long shiftedLeft(StreamedObject x, long a, long by) {
        near(x, by);
        if (by < 0) {
            return a >> Math.min(63, -by);
        }
        if (a != 0 && (by > 63 || a << by >> by != a)) {
            throw x.beyond();
        }
        return by > 63 ? 0 : a << by;
    }

    /** Shifted to the right; a negative number of bits is to the left. */
    public static long shiftedRight(StreamedObject x, long a, long by) {
        near(x, by);
        return by < 0 ? shiftedLeft(x, a, -by) : a >> Math.min(63, by);
    }

    /** A number without a sign, shifted to the right. */
    public static long shiftedRightUnsigned(StreamedObject x, long a, long by) {
        near(x, by);
        return by < 0 ? shiftedLeft(x, signed(x, a), -by) : by > 63 ? 0 : a >>> by;
    }

    /** A field of the bits of a number. */
    public static long bitsAt(long bits, int shift, int width) {
        return bits >>> shift & -1L >>> 64 - width;
    }

    // -- real numbers --------------------------------------------------------------------------------

    /** The sum. */
    public static double plusReal(StreamedObject x, double a, double b) {
        return a + b;
    }

    /** The difference. */
    public static double minusReal(StreamedObject x, double a, double b) {
        return a - b;
    }

    /** The product. */
    public static double timesReal(StreamedObject x, double a, double b) {
        return a * b;
    }

    /** The quotient. */
    public static double dividedReal(StreamedObject x, double a, double b) {
        nonzero(x, b);
        return a / b;
    }

    /** The rest, with the sign of the divisor. */
    public static double moduloReal(StreamedObject x, double a, double b) {
        nonzero(x, b);
        double found = a % b;
        return found != 0 && found < 0 != b < 0 ? found + b : found;
    }

    /** The number with the other sign. */
    public static double negatedReal(StreamedObject x, double a) {
        return -a;
    }

    /** A number without its fraction. */
    public static long truncated(StreamedObject x, double value) {
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            throw x.wrong("", "an expression needs a number");
        }
        if (value < -0x1p63 || value >= 0x1p63) {
            throw x.beyond();
        }
        return (long) value;
    }

    // -- text ----------------------------------------------------------------------------------------

    /** The number that digits to a base stand for. */
    public static long numberOf(StreamedObject x, String text, long base) {
        String bare = text.strip().toLowerCase(Locale.ROOT);
        String sign = bare.startsWith("-") || bare.startsWith("+") ? bare.substring(0, 1) : "";
        bare = bare.substring(sign.length());
        String prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
        if (!prefix.isEmpty() && bare.startsWith(prefix)) {
            bare = bare.substring(2);
            bare = bare.startsWith("_") ? bare.substring(1) : bare;
        }
        boolean isWrong = bare.isEmpty() || bare.startsWith("_") || bare.endsWith("_") || bare.contains("__")
                || base < 2 || base > 36;
        String digits = bare.replace("_", "");
        for (int index = 0; index < digits.length() && !isWrong; index++) {
            isWrong = Character.digit(digits.charAt(index), (int) base) < 0;
        }
        if (isWrong) {
            throw x.wrong("", "an expression needs a number");
        }
        try {
            return Long.parseLong(sign + digits, (int) base);
        } catch (NumberFormatException error) {
            throw x.beyond();
        }
    }

    /** A number as decimal text. */
    public static String decimal(StreamedObject x, long value) {
        return Long.toString(value);
    }

    /** A number without a sign as decimal text. */
    public static String decimalUnsigned(StreamedObject x, long value) {
        return Long.toUnsignedString(value);
    }

    /** The number of characters. */
    public static long sizeOfText(StreamedObject x, String text) {
        return text.codePointCount(0, text.length());
    }

    /** The text from its end to its start. */
    public static String reversed(StreamedObject x, String text) {
        StringBuilder found = new StringBuilder(text.length());
        for (int at = text.length(); at > 0; at = text.offsetByCodePoints(at, -1)) {
            found.appendCodePoint(text.codePointBefore(at));
        }
        return found.toString();
    }

    /** The characters from one to before another; negative numbers count from the end. */
    public static String substring(StreamedObject x, String text, long start, long stop) {
        long size = sizeOfText(x, text);
        int from = (int) Math.max(0, Math.min(size, start < 0 ? start + size : start));
        int to = (int) Math.max(0, Math.min(size, stop < 0 ? stop + size : stop));
        return from >= to ? "" : text.substring(text.offsetByCodePoints(0, from), text.offsetByCodePoints(0, to));
    }

    /** The text in bytes. */
    public static String decoded(StreamedObject x, byte[] data, String encoding, String upper) {
        String found = Source.decoded(data, encoding, upper);
        if (found == null) {
            throw x.wrong("", "an expression needs text");
        }
        return found;
    }

    /** The order of two texts, by their characters. */
    public static int compare(String one, String other) {
        return Arrays.compare(one.codePoints().toArray(), other.codePoints().toArray());
    }

    // -- bytes and lists -----------------------------------------------------------------------------

    /** Bytes without what fills them up: {@code pad}, or -1, and what follows a terminator. */
    public static byte[] trimmed(StreamedObject x, byte[] data, long pad, byte[] mark, boolean include) {
        int size = data.length;
        while (pad >= 0 && size > 0 && (data[size - 1] & 0xFF) == pad) {
            size--;
        }
        int unit = mark == null ? 0 : mark.length;
        for (int at = 0; unit > 0 && at + unit <= size; at += unit) {
            if (Arrays.equals(data, at, at + unit, mark, 0, unit)) {
                size = at + (include ? unit : 0);
                break;
            }
        }
        return Arrays.copyOf(data, size);
    }

    /** Bytes of numbers. */
    public static byte[] bytesOf(StreamedObject x, long... items) {
        byte[] found = new byte[items.length];
        for (int index = 0; index < items.length; index++) {
            if (items[index] < 0 || items[index] > 255) {
                throw x.wrong("", "an expression needs bytes");
            }
            found[index] = (byte) items[index];
        }
        return found;
    }

    /** A list of numbers as bytes. */
    public static byte[] bytesIn(StreamedObject x, List<? extends Number> items) {
        return bytesOf(x, items.stream().mapToLong(Number::longValue).toArray());
    }

    /** An element of a list. */
    public static <T> T elementOf(StreamedObject x, List<T> items, long index) {
        if (index < 0 || index >= items.size()) {
            throw x.wrong("", "an expression needs an element");
        }
        return items.get((int) index);
    }

    /** A byte. */
    public static long byteAt(StreamedObject x, byte[] data, long index) {
        if (index < 0 || index >= data.length) {
            throw x.wrong("", "an expression needs an element");
        }
        return data[(int) index] & 0xFF;
    }

    private static void some(StreamedObject x, int size) {
        if (size == 0) {
            throw x.wrong("", "an expression needs an element of an empty list");
        }
    }

    /** The last element. */
    public static <T> T lastOf(StreamedObject x, List<T> items) {
        some(x, items.size());
        return items.get(items.size() - 1);
    }

    /** The smallest element. */
    public static <T extends Comparable<T>> T minOf(StreamedObject x, List<T> items) {
        some(x, items.size());
        return Collections.min(items, order());
    }

    /** The largest element. */
    public static <T extends Comparable<T>> T maxOf(StreamedObject x, List<T> items) {
        some(x, items.size());
        return Collections.max(items, order());
    }

    private static <T extends Comparable<T>> Comparator<T> order() {
        return (one, other) ->
                one instanceof String ? compare((String) one, (String) other) : one.compareTo(other);
    }

    /** The last byte. */
    public static long lastByte(StreamedObject x, byte[] data) {
        some(x, data.length);
        return data[data.length - 1] & 0xFF;
    }

    /** The smallest byte. */
    public static long minByte(StreamedObject x, byte[] data) {
        long found = lastByte(x, data);
        for (byte each : data) {
            found = Math.min(found, each & 0xFF);
        }
        return found;
    }

    /** The largest byte. */
    public static long maxByte(StreamedObject x, byte[] data) {
        long found = lastByte(x, data);
        for (byte each : data) {
            found = Math.max(found, each & 0xFF);
        }
        return found;
    }

    // -- what fields are derived from ----------------------------------------------------------------

    /** Whether derived fields are compared. */
    public static boolean checks(StreamedObject x, boolean isChecksum) {
        return x.checks(isChecksum);
    }

    /** Notes where one of several fields begins, or where it ends. */
    public static void mark(StreamedObject x, Source io, long index, long count, boolean isEnd) {
        x.mark(io, (int) index, (int) count, isEnd);
    }

    private static StreamedObject.Span span(Object of, long index, String name) {
        StreamedObject.Span found = object(of).span((int) index);
        if (found == null) {
            throw object(of).wrong(name, "its bytes are needed, and it is not there");
        }
        return found;
    }

    /** Where a field begins in its stream. */
    public static long position(StreamedObject x, Object of, long index, String name) {
        StreamedObject.Span found = span(of, index, name);
        return found.start - found.io.base;
    }

    /** The bytes from one field of an object to another. Those of the field {@code own} of x count as blank. */
    public static byte[] between(
            StreamedObject x, Object of, long first, String name, long last, String lastName, long own, long blank) {
        StreamedObject.Span from = span(of, first, name);
        int stop = span(of, last, lastName).stop;
        byte[] data = Arrays.copyOfRange(from.io.buf, from.start, Math.max(from.start, stop));
        StreamedObject.Span held = own < 0 ? null : x.span((int) own);
        if (held != null && held.start < stop && held.stop > from.start) {
            int low = Math.max(held.start, from.start) - from.start;
            Arrays.fill(data, low, Math.min(held.stop, stop) - from.start, (byte) blank);
        }
        return data;
    }

    /** What bytes decompress to, if they begin with a whole stream. */
    public static byte[] unpacked(StreamedObject x, byte[] data, String form, String name) {
        byte[] found = Checksums.unpacked(form, data, x._io().reading.opt.decompressedBytes());
        if (found == null) {
            throw x.wrong(name, "it is no whole " + form + " stream");
        }
        return found;
    }

    /** The checksum that has a name. */
    public static long checksum(StreamedObject x, String name, byte[] data) {
        return Checksums.named(name, data);
    }

    /** The sum of numbers of a size; a partial one at the end is filled with zeros. */
    public static long sumOf(StreamedObject x, byte[] data, long size, boolean isLittle) {
        return Checksums.sum(data, (int) size, isLittle);
    }

    /** The digest that has a name. */
    public static byte[] digest(StreamedObject x, String name, byte[] data) {
        return Checksums.digest(name, data);
    }

    /** Refuses a field that is not what it is derived from. */
    public static void differs(StreamedObject x, String name, boolean isChecksum, Object need, Object have) {
        throw x.differs(name, isChecksum, need, have);
    }
}
