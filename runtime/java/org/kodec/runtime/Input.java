package org.kodec.runtime;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Bytes that a generated reader goes through, from {@link #pos} to {@link #end}. For one thread. */
public final class Input {
    /** The bytes; nothing is written to them. */
    public final byte[] buf;
    /** How strict the reader is. */
    public final ReadOptions opt;
    /** The next byte to be read. */
    public int pos;
    /** The byte after the last one that may be read. */
    public int end;
    /** The start of the content that {@link #content} skipped last. */
    public int content;

    /** All of {@code buf}. */
    public Input(byte[] buf, ReadOptions opt) {
        this(buf, 0, buf.length, opt);
    }

    /** {@code buf} from {@code pos} to {@code end}. Throws IndexOutOfBoundsException if these are not within it. */
    public Input(byte[] buf, int pos, int end, ReadOptions opt) {
        if (pos < 0 || end < pos || end > buf.length) {
            throw new IndexOutOfBoundsException(pos + " to " + end + " of " + buf.length + " bytes");
        }
        this.buf = buf;
        this.pos = pos;
        this.end = end;
        this.opt = opt.counted();
    }

    /** Requires that {@code size} bytes of a field are available. */
    public void need(String path, int size) {
        if (end - pos < size) {
            throw FormatException.truncated(path, "", pos, size, Math.max(0, end - pos));
        }
    }

    private int passed(String path, int size) {
        need(path, size);
        int at = pos;
        pos += size;
        return at;
    }

    /** Signed, 8 bits. */
    public int s1(String path) {
        return Load.s1(buf, passed(path, 1));
    }

    /** Unsigned, 8 bits. */
    public int u1(String path) {
        return Load.u1(buf, passed(path, 1));
    }

    /** Signed, 16 bits, most significant byte first. */
    public int s2be(String path) {
        return Load.s2be(buf, passed(path, 2));
    }

    /** Signed, 16 bits, least significant byte first. */
    public int s2le(String path) {
        return Load.s2le(buf, passed(path, 2));
    }

    /** Unsigned, 16 bits, most significant byte first. */
    public int u2be(String path) {
        return Load.u2be(buf, passed(path, 2));
    }

    /** Unsigned, 16 bits, least significant byte first. */
    public int u2le(String path) {
        return Load.u2le(buf, passed(path, 2));
    }

    /** Signed, 32 bits, most significant byte first. */
    public int s4be(String path) {
        return Load.s4be(buf, passed(path, 4));
    }

    /** Signed, 32 bits, least significant byte first. */
    public int s4le(String path) {
        return Load.s4le(buf, passed(path, 4));
    }

    /** Unsigned, 32 bits, most significant byte first. */
    public long u4be(String path) {
        return Load.u4be(buf, passed(path, 4));
    }

    /** Unsigned, 32 bits, least significant byte first. */
    public long u4le(String path) {
        return Load.u4le(buf, passed(path, 4));
    }

    /** Signed, 64 bits, most significant byte first. */
    public long s8be(String path) {
        return Load.s8be(buf, passed(path, 8));
    }

    /** Signed, 64 bits, least significant byte first. */
    public long s8le(String path) {
        return Load.s8le(buf, passed(path, 8));
    }

    /** Unsigned, 64 bits, most significant byte first. */
    public long u8be(String path) {
        return Load.u8be(buf, passed(path, 8));
    }

    /** Unsigned, 64 bits, least significant byte first. */
    public long u8le(String path) {
        return Load.u8le(buf, passed(path, 8));
    }

    /** 32 bits of IEEE 754, most significant byte first. */
    public float f4be(String path) {
        return Load.f4be(buf, passed(path, 4));
    }

    /** 32 bits of IEEE 754, least significant byte first. */
    public float f4le(String path) {
        return Load.f4le(buf, passed(path, 4));
    }

    /** 64 bits of IEEE 754, most significant byte first. */
    public double f8be(String path) {
        return Load.f8be(buf, passed(path, 8));
    }

    /** 64 bits of IEEE 754, least significant byte first. */
    public double f8le(String path) {
        return Load.f8le(buf, passed(path, 8));
    }

    /** {@code size} bytes, 1 to 8, as one number, most significant byte first. */
    public long bits(String path, int size) {
        return Load.bits(buf, passed(path, size), size);
    }

    /** How many bytes are left. */
    public int left() {
        return end - pos;
    }

    /** A copy of {@code size} bytes. */
    public byte[] bytes(String path, long size) {
        return bytes(span(path, size));
    }

    /** A copy of {@code size} bytes of content; null if it is read later, from {@link #content}. */
    public byte[] content(String path, long size, boolean isKept) {
        content = pos;
        if (isKept) {
            return bytes(path, size);
        }
        pos = span(path, size);
        return null;
    }

    /** Text of {@code size} bytes; invalid UTF-8 or ASCII keeps its bytes. */
    public String text(String path, long size, String charset) {
        int stop = span(path, size);
        boolean kept = charset.equals("UTF-8") || charset.equals("ASCII");
        return kept ? text(stop, charset) : text(stop, path, charset);
    }

    /** Throws if a value that was read at {@code at} violates a rule. */
    public void require(boolean holds, String path, int at, String need, Object have) {
        if (!holds) {
            throw FormatException.malformed(path, "value not allowed", at, need, have);
        }
    }

    /** Throws if a value is null in a version that does not allow it. */
    public void requireValue(boolean holds, String path, int at) {
        if (!holds) {
            String why = "null in a version that does not allow it";
            throw FormatException.malformed(path, why, at, "a value", "null");
        }
    }

    /** Throws where bytes that are always the same are others. */
    public void requireBytes(byte[] have, byte[] wanted, String path, int at, String need) {
        if (!Arrays.equals(have, wanted)) {
            throw FormatException.malformed(path, "wrong fixed bytes", at, need, have);
        }
    }

    /** Throws if the schema does not have a version. */
    public void requireVersion(String path, int version, int first, int last, int at) {
        if (version < first || version > last) {
            String known = first == last ? String.valueOf(first) : first + "-" + last;
            throw FormatException.unsupported(path, "unknown version", at, known, version);
        }
    }

    /** The result of {@code reader}; its errors are within the field {@code path}. */
    public <T> T field(String path, Supplier<T> reader) {
        try {
            return reader.get();
        } catch (FormatException error) {
            throw error.within(path);
        }
    }

    /** The same for a field of {@code size} bytes, which must all be read. */
    public <T> T sized(String path, long size, Supplier<T> reader) {
        int outer = end;
        end = span(path, size);
        try {
            T found = reader.get();
            endsExactly("");
            return found;
        } catch (FormatException error) {
            throw error.within(path);
        } finally {
            end = outer;
        }
    }

    private <T> void element(String path, List<T> found, Supplier<T> reader) {
        try {
            found.add(reader.get());
        } catch (FormatException error) {
            throw error.within(path, found.size());
        }
    }

    /** {@code count} elements of at least {@code least} bytes. */
    public <T> List<T> list(String path, long count, int least, Supplier<T> reader) {
        long missing = count(path, count, least);
        List<T> found = new ArrayList<>((int) Math.min(missing, 1024));
        for (; missing > 0; missing--) {
            element(path, found, reader);
        }
        return found;
    }

    /** Elements up to the one that is the last. */
    public <T> List<T> listUntil(String path, Supplier<T> reader, Predicate<T> last) {
        List<T> found = new ArrayList<>();
        do {
            element(path, found, reader);
        } while (!last.test(found.get(found.size() - 1)));
        return found;
    }

    /** Elements up to the end. */
    public <T> List<T> listToEnd(String path, Supplier<T> reader) {
        List<T> found = new ArrayList<>();
        while (pos < end) {
            int before = pos;
            element(path, found, reader);
            if (found.size() > opt.elements()) {
                throw tooMany(path);
            }
            if (pos == before) {
                String why = "an element without bytes would repeat forever";
                throw FormatException.malformed(path, why, pos, null, null);
            }
        }
        return found;
    }

    /** What is all of {@code data}. */
    public static <T> T whole(byte[] data, ReadOptions opt, Function<Input, T> reader) {
        Input in = new Input(data, opt);
        try {
            T found = reader.apply(in);
            in.endsExactly("");
            return found;
        } catch (ArithmeticException error) {
            throw FormatException.malformed("", "a computed value does not fit 64 bits", in.pos, null, null);
        }
    }

    /**
     * What is in content that {@code codec} may have compressed: bytes {@code start} to {@code stop} of
     * {@code buf}, which for errors begin at byte {@code at}.
     */
    public static <T> T unpacked(String path, String codec, byte[] buf, int start, int stop, int at,
            ReadOptions given, Function<Input, T> reader) {
        boolean plain = codec.equals("none");
        ReadOptions opt = plain ? given : given.inside(path, codec, at);
        Input in;
        if (plain) {
            in = new Input(buf, start, stop, opt);
        } else {
            byte[] stored = start == 0 && stop == buf.length ? buf : Arrays.copyOfRange(buf, start, stop);
            try {
                in = new Input(Codecs.decompressed(codec, stored, opt.mostDecompressed()), opt);
                opt.takeDecompressed(in.end);
            } catch (FormatException error) {
                throw error.within(path).shifted(at);
            }
        }
        try {
            T found = reader.apply(in);
            in.endsExactly("");
            return found;
        } catch (FormatException error) {
            error.within(path);
            throw plain ? error.shifted(at - start) : error.withinCodec(codec, at);
        }
    }

    /** The end of the next {@code size} bytes. */
    public int span(String path, long size) {
        if (size < 0) {
            throw FormatException.malformed(path, "negative size", pos, "at least 0", size);
        }
        if (size > end - pos) {
            throw FormatException.truncated(path, "", pos, size, end - pos);
        }
        return pos + (int) size;
    }

    /** A copy of the bytes up to {@code stop}, where reading continues. */
    public byte[] bytes(int stop) {
        byte[] found = Arrays.copyOfRange(buf, pos, stop);
        pos = stop;
        return found;
    }

    /** Throws where bytes are left before {@link #end}. */
    public void endsExactly(String path) {
        if (pos != end) {
            throw FormatException.malformed(
                    path, "bytes are left over after the field's content", pos, 0, end - pos);
        }
    }

    /** {@code count}, after checking that the bytes can hold this number of elements of at least {@code least} bytes.
     * */
    public long count(String path, long count, int least) {
        if (count < 0) {
            throw FormatException.malformed(path, "negative count", pos, "at least 0", count);
        }
        if (count > (end - pos) / Math.max(least, 1)) {
            if (least == 0) {
                throw FormatException.limitExceeded(
                        path, "more elements than bytes", pos, count, end - pos, "bytes present");
            }
            throw FormatException.truncated(path, "", pos, count * least, end - pos);
        }
        if (count > opt.elements()) {
            throw tooMany(path);
        }
        return count;
    }

    /** The error for a list that has more elements than the options allow. */
    public FormatException tooMany(String path) {
        return FormatException.limitExceeded(
                path, "too many elements", pos, opt.elements() + 1, opt.elements(), "elements");
    }

    /** An unsigned varint of 32 bits. */
    public long uvarint32(String path) {
        return varint(path, 5) & 0xFFFF_FFFFL;
    }

    /** A varint of 32 bits whose sign is in the lowest one. */
    public int zigzag32(String path) {
        int raw = (int) varint(path, 5);
        return raw >>> 1 ^ -(raw & 1);
    }

    /** A varint of 64 bits whose sign is in the lowest one. */
    public long zigzag64(String path) {
        long raw = varint(path, 10);
        return raw >>> 1 ^ -(raw & 1);
    }

    private long varint(String path, int most) {
        if (pos < end && buf[pos] >= 0) {
            return buf[pos++];
        }
        long raw = 0;
        int shift = 0;
        int stop = Math.min(end, pos + most);
        for (int at = pos; at < stop; at++) {
            byte each = buf[at];
            raw |= (long) (each & 0x7F) << shift;
            shift += 7;
            if (each >= 0) {
                pos = at + 1;
                return raw;
            }
        }
        if (end - pos < most) {
            int have = Math.max(end - pos, 0);
            throw FormatException.truncated(path, "varint", pos, have + 1, have);
        }
        throw FormatException.malformed(path, "varint does not end within " + most + " bytes", pos, null, null);
    }

    /** A byte that is not 0. */
    public boolean bool8(String path) {
        int stop = span(path, 1);
        boolean found = buf[pos] != 0;
        pos = stop;
        return found;
    }

    /** 16 bytes, most significant first. */
    public UUID uuid(String path) {
        int stop = span(path, 16);
        UUID found = new UUID(Load.s8be(buf, pos), Load.s8be(buf, pos + 8));
        pos = stop;
        return found;
    }

    /** UTF-8 or ASCII up to {@code stop}; an invalid byte becomes U+DC80 to U+DCFF, so that none is lost. */
    public String text(int stop, String charset) {
        String found = text(buf, pos, stop, charset.equals("ASCII"));
        pos = stop;
        return found;
    }

    /** How an encoding is decoded: UTF-16 in the order of its mark, and little-endian without one. */
    static Charset decoding(String charset) {
        return Charset.forName(charset.equals("UTF-16") ? "x-UTF-16LE-BOM" : charset);
    }

    /** Text of another encoding up to {@code stop}. Throws if it is invalid. */
    public String text(int stop, String path, String charset) {
        CharsetDecoder decoder = decoding(charset).newDecoder();
        decoder.onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT);
        try {
            CharBuffer found = decoder.decode(ByteBuffer.wrap(buf, pos, stop - pos));
            pos = stop;
            return found.toString();
        } catch (CharacterCodingException error) {
            throw FormatException.malformed(path, "not " + charset, pos, null, null);
        }
    }

    /** UTF-8 or ASCII; an invalid byte becomes U+DC80 to U+DCFF, so that none is lost. */
    public static String text(byte[] buf, int start, int stop, boolean ascii) {
        boolean plain = true;
        for (int at = start; at < stop && plain; at++) {
            plain = buf[at] >= 0;
        }
        if (plain) {
            return new String(buf, start, stop - start, StandardCharsets.ISO_8859_1);
        }
        StringBuilder text = new StringBuilder(stop - start);
        int at = start;
        while (at < stop) {
            int size = ascii ? buf[at] < 0 ? 0 : 1 : sequence(buf, at, stop);
            if (size == 0) {
                text.append((char) (0xDC00 + (buf[at++] & 0xFF)));
            } else if (size == 1) {
                text.append((char) buf[at++]);
            } else {
                int code = buf[at] & 0xFF >> size + 1;
                for (int index = 1; index < size; index++) {
                    code = code << 6 | buf[at + index] & 0x3F;
                }
                text.appendCodePoint(code);
                at += size;
            }
        }
        return text.toString();
    }

    /** The number of bytes of the character at {@code at}; 0 if it is invalid. */
    private static int sequence(byte[] buf, int at, int stop) {
        int first = buf[at] & 0xFF;
        if (first < 0x80) {
            return 1;
        }
        int size = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3
                : first >= 0xF0 && first < 0xF5 ? 4 : 0;
        if (size == 0 || stop - at < size) {
            return 0;
        }
        for (int index = 1; index < size; index++) {
            if ((buf[at + index] & 0xC0) != 0x80) {
                return 0;
            }
        }
        int second = buf[at + 1] & 0xFF;
        boolean wrong = first == 0xE0 && second < 0xA0 || first == 0xED && second > 0x9F
                || first == 0xF0 && second < 0x90 || first == 0xF4 && second > 0x8F;
        return wrong ? 0 : size;
    }

    /** The frame of a section of tagged fields; each of them is read in its turn. */
    public Tags tags(String path) {
        long count = uvarint32(path);
        if (count > (end - pos) / 2) {
            throw FormatException.truncated(path, "", pos, count * 2, end - pos);
        }
        if (count > ReadOptions.DEFAULT.elements()) {
            throw tooMany(path);
        }
        Tags found = new Tags((int) count);
        for (int index = 0; index < count; index++) {
            found.number[index] = uvarint32(path);
            long size = uvarint32(path);
            int stop = span(path, size);
            found.start[index] = pos;
            found.stop[index] = stop;
            pos = stop;
        }
        found.after = pos;
        return found;
    }

    /** The fields of a tagged section, one after another. */
    public final class Tags {
        private static final long[] NO_NUMBERS = {};
        private static final int[] NO_PLACES = {};
        private final long[] number;
        private final int[] start;
        private final int[] stop;
        private final int outer = end;
        private int after;
        private int index = -1;

        private Tags(int count) {
            number = count == 0 ? NO_NUMBERS : new long[count];
            start = count == 0 ? NO_PLACES : new int[count];
            stop = count == 0 ? NO_PLACES : new int[count];
        }

        /** Goes to the next field; after the last one, to the end of the section. */
        public boolean next() {
            if (++index == number.length) {
                pos = after;
                end = outer;
                return false;
            }
            pos = start[index];
            end = stop[index];
            return true;
        }

        /** The number of the field. */
        public long number() {
            return number[index];
        }

        /** The field as it is. */
        public TaggedField field() {
            return new TaggedField(number[index], bytes(end));
        }

        /** Throws if a known field does not use all of its bytes. */
        public void requireEnd(String path) {
            endsExactly(path);
        }

        /** All fields as they are. */
        public List<TaggedField> unknown() {
            List<TaggedField> found = new ArrayList<>();
            while (next()) {
                found.add(field());
            }
            return found;
        }
    }
}
