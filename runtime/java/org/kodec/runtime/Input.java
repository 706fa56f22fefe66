package org.kodec.runtime;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;

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

    /** All of {@code buf}. */
    public Input(byte[] buf, ReadOptions opt) {
        this(buf, 0, buf.length, opt);
    }

    /** {@code buf} from {@code pos} to {@code end}. Throws IndexOutOfBoundsException where that is not in it. */
    public Input(byte[] buf, int pos, int end, ReadOptions opt) {
        if (pos < 0 || end < pos || end > buf.length) {
            throw new IndexOutOfBoundsException(pos + " to " + end + " of " + buf.length + " bytes");
        }
        this.buf = buf;
        this.pos = pos;
        this.end = end;
        this.opt = opt;
    }

    /** Looks whether the fields are there. */
    public void need(Fields fields) {
        if (end - pos < fields.size()) {
            throw fields.truncated(pos, end);
        }
    }

    /** Looks whether one field of {@code size} bytes is there. */
    public void need(String path, int size) {
        if (end - pos < size) {
            throw FormatException.truncated(path, "", pos, size, Math.max(0, end - pos));
        }
    }

    /** Where {@code size} bytes from here end. */
    public int span(String path, long size) {
        if (size < 0) {
            throw FormatException.malformed(path, "negative size", pos, "at least 0", size);
        }
        if (size > end - pos) {
            throw FormatException.truncated(path, "", pos, size, end - pos);
        }
        return pos + (int) size;
    }

    /** A copy of the bytes up to {@code stop}, where reading goes on. */
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

    /** {@code count}, when so many elements of at least {@code least} bytes can be there at all. */
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

    /** The error for a version that the schema does not have. */
    public static FormatException unknownVersion(String path, long version, String known, long at) {
        return FormatException.unsupported(path, "unknown version", at, known, version);
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

    /** UTF-8 or ASCII up to {@code stop}; a byte that is neither becomes U+DC80 to U+DCFF, so that none is lost. */
    public String text(int stop, String charset) {
        String found = text(buf, pos, stop, charset.equals("ASCII"));
        pos = stop;
        return found;
    }

    /** Text of another encoding up to {@code stop}. Throws where it is none. */
    public String text(int stop, String path, String charset) {
        CharsetDecoder decoder = Charset.forName(charset).newDecoder();
        decoder.onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT);
        try {
            CharBuffer found = decoder.decode(ByteBuffer.wrap(buf, pos, stop - pos));
            pos = stop;
            return found.toString();
        } catch (CharacterCodingException error) {
            throw FormatException.malformed(path, "not " + charset, pos, null, null);
        }
    }

    /** UTF-8 or ASCII; a byte that is neither becomes U+DC80 to U+DCFF, so that none is lost. */
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

    /** The bytes of the character at {@code at}; 0 where there is none. */
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

    /** The frame of a section of tagged fields, which ends at {@link Tags#after}. */
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
            found.tag[index] = uvarint32(path);
            long size = uvarint32(path);
            int stop = span(path, size);
            found.start[index] = pos;
            found.stop[index] = stop;
            pos = stop;
        }
        found.after = pos;
        return found;
    }

    /** Where the fields of a tagged section stand. */
    public static final class Tags {
        /** The number of each. */
        public final long[] tag;
        /** Where each starts. */
        public final int[] start;
        /** Where each ends. */
        public final int[] stop;
        /** Where the section ends. */
        public int after;

        Tags(int count) {
            tag = new long[count];
            start = new int[count];
            stop = new int[count];
        }
    }
}
