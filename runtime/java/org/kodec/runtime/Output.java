package org.kodec.runtime;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Consumer;

/** Bytes that a generated writer appends to. Its errors are of the kind NOT_ENCODABLE. For one thread. */
public final class Output {
    private final Buffer buffer = new Buffer(256);
    private Output spare;

    /** How many bytes there are. */
    public int size() {
        return buffer.size;
    }

    /** Removes all bytes; the memory is reused. */
    public void clear() {
        buffer.size = 0;
    }

    /** A copy of the bytes. */
    public byte[] bytes() {
        return buffer.bytes();
    }

    /** What {@code writer} writes. */
    public static byte[] bytesOf(Consumer<Output> writer) {
        Output out = new Output();
        try {
            writer.accept(out);
        } catch (ArithmeticException error) {
            throw refused("", "a computed value does not fit", null);
        }
        return out.taken();
    }

    /** What {@code writer} writes, compressed. */
    public static byte[] packed(String path, String codec, Consumer<Output> writer) {
        Output part = new Output();
        part.field(path, () -> writer.accept(part));
        return codec.equals("none") ? part.taken() : Codecs.compressed(codec, part.taken());
    }

    /** The bytes, copied only if the array is longer; nothing may be written after this call. */
    private byte[] taken() {
        return buffer.size == buffer.data.length ? buffer.data : bytes();
    }

    /** An empty output for bytes that {@link #add} appends after their length. */
    public Output part() {
        Output part = spare == null ? new Output() : spare;
        spare = null;
        part.clear();
        return part;
    }

    /** The error for a value that has no place in the bytes. */
    public static FormatException refused(String path, String reason, Object have) {
        return FormatException.notEncodable(path, reason, null, have);
    }

    /** Throws if a value violates a rule. */
    public static void require(boolean holds, String path, String need, Object have) {
        if (!holds) {
            throw FormatException.notEncodable(path, "value not allowed", need, have);
        }
    }

    /** Throws if the schema does not have a version. */
    public static void requireVersion(String path, int version, int first, int last) {
        if (version < first || version > last) {
            throw FormatException.notEncodable(path, "unknown version", first + "-" + last, version);
        }
    }

    /** Throws if a field that this version does not have has a value that would be lost. */
    public static void requireAbsent(String path, Object value, Object absent) {
        requireAbsent(path, value, absent, absent);
    }

    /** The same for a field that has one of two values if it is absent. */
    public static void requireAbsent(String path, Object value, Object absent, Object initial) {
        if (!Objects.deepEquals(value, absent) && !Objects.deepEquals(value, initial)) {
            throw refused(path, "not in this version", value);
        }
    }

    private static <T> T present(String path, T value) {
        if (value == null) {
            throw refused(path, "null where the format has none", null);
        }
        return value;
    }

    private static void requireSize(String path, long have, long wanted) {
        if (have != wanted) {
            throw FormatException.notEncodable(path, "wrong size", wanted, have);
        }
    }

    private int grown(int more) {
        int at = buffer.size;
        if (buffer.data.length - at < more) {
            buffer.reserve(more);
        }
        buffer.size = at + more;
        return at;
    }

    private static void requireRange(String path, Stored kind, long value) {
        if (kind.size < 8 && (value > kind.most || value < kind.least())) {
            throw FormatException.notEncodable(path, "does not fit", kind.least() + " to " + kind.most, value);
        }
    }

    private void number(String path, Stored kind, long value) {
        requireRange(path, kind, value);
        raw(kind, value);
    }

    private void raw(Stored kind, long value) {
        int at = grown(kind.size);
        kind.put(buffer.data, at, value);
    }

    /** Overwrites bytes with a number. */
    public void set(String path, int at, Stored kind, long value) {
        requireRange(path, kind, value);
        kind.put(buffer.data, at, value);
    }

    /** Signed, 8 bits. */
    public void s1(String path, long value) {
        number(path, Stored.S1, value);
    }

    /** Unsigned, 8 bits. */
    public void u1(String path, long value) {
        number(path, Stored.U1, value);
    }

    /** Signed, 16 bits, most significant byte first. */
    public void s2be(String path, long value) {
        number(path, Stored.S2BE, value);
    }

    /** Signed, 16 bits, least significant byte first. */
    public void s2le(String path, long value) {
        number(path, Stored.S2LE, value);
    }

    /** Unsigned, 16 bits, most significant byte first. */
    public void u2be(String path, long value) {
        number(path, Stored.U2BE, value);
    }

    /** Unsigned, 16 bits, least significant byte first. */
    public void u2le(String path, long value) {
        number(path, Stored.U2LE, value);
    }

    /** The same of a number that fits. */
    public void s4be(String path, int value) {
        int at = grown(4);
        Load.INT_BE.set(buffer.data, at, value);
    }

    /** Signed, 32 bits, most significant byte first. */
    public void s4be(String path, long value) {
        number(path, Stored.S4BE, value);
    }

    /** Signed, 32 bits, least significant byte first. */
    public void s4le(String path, long value) {
        number(path, Stored.S4LE, value);
    }

    /** Unsigned, 32 bits, most significant byte first. */
    public void u4be(String path, long value) {
        number(path, Stored.U4BE, value);
    }

    /** Unsigned, 32 bits, least significant byte first. */
    public void u4le(String path, long value) {
        number(path, Stored.U4LE, value);
    }

    /** Signed, 64 bits, most significant byte first. */
    public void s8be(String path, long value) {
        number(path, Stored.S8BE, value);
    }

    /** Signed, 64 bits, least significant byte first. */
    public void s8le(String path, long value) {
        number(path, Stored.S8LE, value);
    }

    /** Unsigned, 64 bits, most significant byte first. */
    public void u8be(String path, long value) {
        number(path, Stored.U8BE, value);
    }

    /** Unsigned, 64 bits, least significant byte first. */
    public void u8le(String path, long value) {
        number(path, Stored.U8LE, value);
    }

    /** 32 bits of IEEE 754, most significant byte first. */
    public void f4be(String path, float value) {
        raw(Stored.S4BE, Float.floatToRawIntBits(value));
    }

    /** 32 bits of IEEE 754, least significant byte first. */
    public void f4le(String path, float value) {
        raw(Stored.S4LE, Float.floatToRawIntBits(value));
    }

    /** 64 bits of IEEE 754, most significant byte first. */
    public void f8be(String path, double value) {
        raw(Stored.S8BE, Double.doubleToRawLongBits(value));
    }

    /** 64 bits of IEEE 754, least significant byte first. */
    public void f8le(String path, double value) {
        raw(Stored.S8LE, Double.doubleToRawLongBits(value));
    }

    /** A byte: 1 or 0. */
    public void bool8(String path, boolean value) {
        u1(path, value ? 1 : 0);
    }

    /** 16 bytes, most significant first. */
    public void uuid(String path, UUID value) {
        long most = present(path, value).getMostSignificantBits();
        int at = grown(16);
        Load.LONG_BE.set(buffer.data, at, most);
        Load.LONG_BE.set(buffer.data, at + 8, value.getLeastSignificantBits());
    }

    /** {@code size} bytes, 1 to 8, of one number, most significant byte first. */
    public void bits(String path, int size, long value) {
        int at = grown(size);
        for (int index = 0; index < size; index++) {
            buffer.data[at + index] = (byte) (value >>> 8 * (size - 1 - index));
        }
    }

    /** {@code value}, which must be one of {@code width} bits. */
    public static long fitting(String path, long value, int width) {
        if (value < 0 || width < 63 && value >= 1L << width) {
            throw FormatException.notEncodable(path, "does not fit", width + " bits", value);
        }
        return value;
    }

    /** An unsigned varint of 32 bits. */
    public void uvarint32(String path, long value) {
        requireRange(path, Stored.U4BE, value);
        varint(value);
    }

    /** A varint of 32 bits whose sign is in the lowest one. */
    public void zigzag32(String path, long value) {
        requireRange(path, Stored.S4BE, value);
        varint((value << 1 ^ value >> 31) & 0xFFFF_FFFFL);
    }

    /** A varint of 64 bits whose sign is in the lowest one. */
    public void zigzag64(String path, long value) {
        varint(value << 1 ^ value >> 63);
    }

    private void varint(long value) {
        if ((value & ~0x7FL) == 0) {
            int at = grown(1);
            buffer.data[at] = (byte) value;
            return;
        }
        buffer.reserve(10);
        long left = value;
        while ((left & ~0x7FL) != 0) {
            buffer.data[buffer.size++] = (byte) (left | 0x80);
            left >>>= 7;
        }
        buffer.data[buffer.size++] = (byte) left;
    }

    /** All bytes of {@code value}. */
    public void bytes(String path, byte[] value) {
        buffer.add(present(path, value), 0, value.length);
    }

    /** All bytes of {@code value}, whose number is checked. */
    public void bytes(String path, byte[] value, long wanted) {
        requireSize(path, present(path, value).length, wanted);
        bytes(path, value);
    }

    /** All bytes of another one, which is not written to any more. */
    public void add(Output part) {
        buffer.add(part.buffer.data, 0, part.buffer.size);
        spare = part;
    }

    /** Text. */
    public void text(String path, String value, String charset) {
        bytes(path, encoded(path, value, charset));
    }

    /** Text, whose number of bytes is checked. */
    public void text(String path, String value, String charset, long wanted) {
        bytes(path, encoded(path, value, charset), wanted);
    }

    /** The bytes of a text; in UTF-8 and ASCII, U+DC80 to U+DCFF are the bytes that a reader kept so. */
    public static byte[] encoded(String path, String value, String charset) {
        if (charset.equals("UTF-8") && hasNoSurrogates(present(path, value))) {
            return value.getBytes(StandardCharsets.UTF_8);
        }
        boolean kept = charset.equals("UTF-8") || charset.equals("ASCII");
        if (!kept || present(path, value).codePoints().noneMatch(Output::isByte)) {
            return strictly(path, present(path, value), charset);
        }
        Output out = new Output();
        StringBuilder plain = new StringBuilder();
        value.codePoints().forEach(each -> {
            if (isByte(each)) {
                out.bytes(path, strictly(path, plain.toString(), charset));
                out.u1(path, each - 0xDC00);
                plain.setLength(0);
            } else {
                plain.appendCodePoint(each);
            }
        });
        out.bytes(path, strictly(path, plain.toString(), charset));
        return out.bytes();
    }

    private static boolean hasNoSurrogates(String value) {
        for (int at = 0; at < value.length(); at++) {
            if (Character.isSurrogate(value.charAt(at))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isByte(int codePoint) {
        return codePoint >= 0xDC80 && codePoint <= 0xDCFF;
    }

    private static byte[] strictly(String path, String value, String charset) {
        try {
            // Java would write UTF-16 with a mark, and the high byte first
            ByteBuffer found = Charset.forName(charset.equals("UTF-16") ? "UTF-16LE" : charset).newEncoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .encode(CharBuffer.wrap(value));
            return Arrays.copyOf(found.array(), found.limit());
        } catch (CharacterCodingException error) {
            throw refused(path, "not " + charset, value);
        }
    }

    /** What {@code writer} writes; errors in it are inside the field {@code path}. */
    public void field(String path, Runnable writer) {
        try {
            writer.run();
        } catch (FormatException error) {
            throw error.within(path);
        }
    }

    /** The same for a field whose number of bytes is checked. */
    public void field(String path, long wanted, Runnable writer) {
        int before = size();
        field(path, writer);
        requireSize(path, size() - before, wanted);
    }

    /** What {@code writer} writes of each element. */
    public <T> void list(String path, List<T> items, Consumer<T> writer) {
        int index = 0;
        try {
            for (int count = present(path, items).size(); index < count; index++) {
                writer.accept(items.get(index));
            }
        } catch (FormatException error) {
            throw items == null ? error : error.within(path, index);
        }
    }

    /** All elements, signed, 32 bits, most significant byte first. */
    public void s4beList(String path, List<Integer> items) {
        int at = grown(Math.multiplyExact(4, present(path, items).size()));
        for (int item : items) {
            Load.INT_BE.set(buffer.data, at, item);
            at += 4;
        }
    }

    /** The same for a list whose number of elements is checked. */
    public void s4beList(String path, List<Integer> items, long wanted) {
        requireSize(path, present(path, items).size(), wanted);
        s4beList(path, items);
    }

    /** The same for a list whose number of elements is checked. */
    public <T> void list(String path, List<T> items, long wanted, Consumer<T> writer) {
        requireSize(path, present(path, items).size(), wanted);
        list(path, items, writer);
    }

    /** The fields of a tagged section. */
    public static final class Tags {
        private final String path;
        private final List<TaggedField> fields;

        /** Those that the schema does not know. */
        public Tags(String path, List<TaggedField> unknown) {
            this.path = path;
            fields = new ArrayList<>(present(path, unknown));
        }

        /** A known field. */
        public void add(long number, Consumer<Output> writer) {
            Output tag = new Output();
            writer.accept(tag);
            fields.add(new TaggedField(number, tag.bytes()));
        }
    }

    /** A section of fields that the schema does not know. */
    public void tags(String path, List<TaggedField> unknown) {
        if (present(path, unknown).isEmpty()) {
            varint(0);
        } else {
            tags(new Tags(path, unknown));
        }
    }

    /** A tagged section, in the order of its numbers. */
    public void tags(Tags tags) {
        tags.fields.sort(Comparator.comparingLong(TaggedField::tag));
        uvarint32(tags.path, tags.fields.size());
        long last = -1;
        for (TaggedField each : tags.fields) {
            if (each.tag() == last) {
                throw refused(tags.path, "the tag occurs twice", last);
            }
            last = each.tag();
            uvarint32(tags.path, last);
            uvarint32(tags.path, each.data().length);
            bytes(tags.path, each.data());
        }
    }

    /** CRC-32 of the bytes from {@code start} to {@code stop}. */
    public long crc32(int start, int stop) {
        return Checksums.crc32(buffer.data, start, stop);
    }

    /** CRC-32C of the bytes from {@code start} to {@code stop}. */
    public long crc32c(int start, int stop) {
        return Checksums.crc32c(buffer.data, start, stop);
    }
}
