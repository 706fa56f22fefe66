package org.kodec.runtime;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * A stream of bytes that objects of streamed schemas are read from. Several may read one stream, each at its own
 * position. For one thread.
 */
public final class Source {
    /** That bits of a byte were left when an instance was read. */
    private static final int FORGOTTEN = -1;

    private static final int SPARE = 4096;

    /** What all streams of one input have in common. */
    static final class Reading {
        final ReadOptions opt;
        final List<String> path = new ArrayList<>();
        /** What was read before an instance at a position. */
        final ArrayDeque<Source> sought = new ArrayDeque<>();
        int depth;
        /** Elements without bytes, and how many there may be. */
        long empty;
        long room;
        /** Bytes that were decompressed. */
        long inflated;
        /** Objects with fields that are derived of what is around them. */
        final ArrayDeque<StreamedObject> unchecked = new ArrayDeque<>();

        Reading(ReadOptions opt, long room) {
            this.opt = opt;
            this.room = room;
        }

        /** An error in the object that is read. */
        String at(String name) {
            StringBuilder text = new StringBuilder();
            for (String each : path) {
                text.append(text.length() == 0 ? "" : ".").append(each);
            }
            return text.append(text.length() == 0 || name.isEmpty() ? "" : ".").append(name).toString();
        }
    }

    /** All bytes that it is a part of; nothing is written to them. */
    public final byte[] buf;
    /** Where it begins. */
    public final int base;
    /** Where it ends. */
    public final int end;
    /** The next byte to be read; after the end where a position is. */
    long at;

    final Reading reading;
    /** Which of those that read this stream does at the moment. */
    private final Source[] turn;
    private long bits;
    private int left;

    private Source(Reading reading, byte[] buf, int base, int end, long at, Source[] turn) {
        this.reading = reading;
        this.buf = buf;
        this.base = base;
        this.end = end;
        this.at = at;
        this.turn = turn == null ? new Source[1] : turn;
        this.turn[0] = this;
    }

    /** What is left of an input. */
    public static Source of(Input in) {
        Reading reading = new Reading(in.opt, in.end - in.pos + SPARE);
        return new Source(reading, in.buf, in.pos, in.end, in.pos, null);
    }

    /** A copy of all of its bytes. */
    public byte[] bytes() {
        return Arrays.copyOfRange(buf, base, end);
    }

    /** The next byte to be read, counted as in errors; never after the end. */
    public int position() {
        return (int) Math.min(at, end);
    }

    /** An error; {@code name} is a field of the object that is read. */
    FormatException malformed(String name, String reason, long at, Object need, Object have) {
        return FormatException.malformed(reading.at(name), reason, at, need, have);
    }

    private FormatException truncated(String name, String reason, long need, long have) {
        return FormatException.truncated(reading.at(name), reason, at, need, have);
    }

    private FormatException exceeded(String name, String reason, long at, long need, long have, String limit) {
        return FormatException.limitExceeded(reading.at(name), reason, at, need, have, limit);
    }

    /** The one that reads this stream at the moment. */
    public Source current() {
        return turn[0];
    }

    /** Where the stream stands, from its start. */
    public long pos() {
        return current().at - base;
    }

    /** Its number of bytes. */
    public long size() {
        return end - base;
    }

    /** Whether nothing is left. */
    public boolean eof() {
        return current().isAtEnd();
    }

    private boolean isAtEnd() {
        return at >= end && left <= 0;
    }

    /** The position {@code size} bytes before. */
    public long ago(long size) {
        return at - size;
    }

    /** Skips the next bytes, and returns where they are in {@link #buf}. */
    public int skip(String name, long size) {
        if (size < 0) {
            throw malformed(name, "negative size", at, "at least 0", size);
        }
        if (size > 0 && size > end - at) {
            throw truncated(name, "", size, Math.max(0, end - at));
        }
        int start = (int) Math.min(at, end);
        at += size;
        return start;
    }

    /** The next bytes. */
    public byte[] take(String name, long size) {
        int start = skip(name, size);
        return Arrays.copyOfRange(buf, start, start + (int) size);
    }

    /** The bytes that are left. */
    public byte[] rest() {
        return at >= end ? new byte[0] : take("", end - at);
    }

    /** Skips neighbors of fixed width; names and sizes alternate, and an error names the first that is not whole. */
    public int run(int size, Object... fields) {
        if (size > end - at) {
            for (int index = 0; index < fields.length; index += 2) {
                skip((String) fields[index], (Integer) fields[index + 1]);
            }
        }
        return skip("", size);
    }

    /** A copy of bytes of a run. */
    public byte[] copy(int start, int size) {
        return Arrays.copyOfRange(buf, start, start + size);
    }

    /** Requires fixed bytes. */
    public byte[] contents(String name, byte[] need) {
        byte[] have = take(name, need.length);
        if (!Arrays.equals(have, need)) {
            throw malformed(name, "wrong fixed bytes", at - have.length, need, have);
        }
        return have;
    }

    /** The bytes up to a terminator, which stands at a whole number of its own size. */
    public byte[] until(String name, byte[] mark, boolean include, boolean consume, boolean needed) {
        int unit = mark.length;
        for (long stop = at; stop <= end - unit; stop += unit) {
            if (Arrays.equals(buf, (int) stop, (int) stop + unit, mark, 0, unit)) {
                byte[] found = Arrays.copyOfRange(buf, (int) at, (int) stop + (include ? unit : 0));
                at = stop + (consume ? unit : 0);
                return found;
            }
        }
        if (needed) {
            throw truncated(name, "no terminator", unit, 0);
        }
        return rest();
    }

    /** Drops the bits that are left of a byte. */
    public void align() {
        bits = 0;
        left = 0;
    }

    /** The next bits of a width; {@code little} takes the lowest bits of a byte first. */
    public long bits(String name, long width, boolean little) {
        int need = (int) width;
        int have = Math.max(left, 0);
        int size = (need - left + 7) / 8;
        if (size <= 0) {
            left = have - need;
            long found = little ? bits & (1L << need) - 1 : bits >>> left;
            bits = little ? bits >>> need : bits & (1L << left) - 1;
            return found;
        }
        if (left == FORGOTTEN) {
            throw FormatException.unsupported(reading.at(name),
                    "bits of the byte before were left when an instance was read", at, null, null);
        }
        int start = skip(name, size);
        long found = bits;
        int done = have;
        for (int index = start; index < start + size; index++) {
            int each = buf[index] & 0xFF;
            int more = Math.min(need - done, 8);
            if (little) {
                found |= (each & (1L << more) - 1) << done;
                bits = each >>> more;
            } else {
                found = found << more | each >>> 8 - more;
                bits = each & (1 << 8 - more) - 1;
            }
            left = 8 - more;
            done += more;
        }
        return found;
    }

    /** The stream of the next bytes. */
    public Source part(String name, long size) {
        int start = skip(name, size);
        return new Source(reading, buf, start, start + (int) size, start, null);
    }

    /** The stream of the bytes that are left. */
    public Source remaining() {
        int start = (int) Math.min(at, end);
        at = Math.max(at, end);
        return new Source(reading, buf, start, end, start, null);
    }

    /** A stream of bytes that are not those of the input. */
    public Source inside(byte[] data) {
        reading.room += data.length;
        return new Source(reading, data, 0, data.length, 0, null);
    }

    /** The stream at a position; what was read of it before goes on from where it stood. */
    public Source seek(String name, long pos) {
        Source before = current();
        if (before.left != 0) {
            before.bits = 0;
            before.left = FORGOTTEN;
        }
        if (pos < 0) {
            throw malformed(name, "negative position", base, "at least 0", pos);
        }
        reading.sought.push(before);
        return new Source(reading, buf, base, end, base + Math.min(pos, Long.MAX_VALUE - base), turn);
    }

    /** Goes on where the stream stood before the instances that were sought since. */
    static void back(Reading reading, int sought) {
        while (reading.sought.size() > sought) {
            Source before = reading.sought.pop();
            before.turn[0] = before;
        }
    }

    /** An error about a value that a rule does not allow. */
    public void refuse(String name, long at, Object need, Object have) {
        throw malformed(name, "value not allowed", at, need, have);
    }

    /** Compares the derived fields of an object once its surroundings are read. */
    public void later(StreamedObject object) {
        reading.unchecked.push(object);
    }

    /** Compares the derived fields of objects whose surroundings are read. */
    public void check() {
        while (!reading.unchecked.isEmpty()) {
            reading.unchecked.pop().check();
        }
    }

    // -- lists ---------------------------------------------------------------------------------------

    /** Goes from element to element of a list. */
    public final class Walk {
        private final String name;
        private final Long count;
        private final boolean isWatched;
        private final boolean toEnd;
        private long index;
        private long start = -1;
        private int before;

        private Walk(String name, Long count, boolean isWatched, boolean toEnd) {
            this.name = name;
            this.count = count;
            this.isWatched = isWatched;
            this.toEnd = toEnd;
        }

        /** The number of the element, from 0. */
        public long index() {
            return index;
        }

        /** Whether there is another element. */
        public boolean more() {
            if (toEnd && isAtEnd()) {
                return false;
            }
            if (toEnd && start == at && before == left) {
                throw malformed(name, "an element without bytes would repeat forever", at, null, null);
            }
            start = at;
            before = left;
            if (count != null) {
                return index < count;
            }
            if (index >= reading.opt.elements()) {
                throw tooMany(name);
            }
            return true;
        }

        /** Ends an element. */
        public void done() {
            if (isWatched && start == at && before == left && ++reading.empty > reading.room) {
                throw exceeded(name, "more elements without bytes than there are bytes", at, reading.empty,
                        reading.room, "bytes present");
            }
            index++;
        }
    }

    private FormatException tooMany(String name) {
        long most = reading.opt.elements();
        return exceeded(name, "too many elements", at, most + 1, most, "elements");
    }

    /** A list of {@code count} elements, with {@code least} bytes or more each. */
    public Walk counted(String name, long count, int least, boolean isWatched) {
        long room = least > 0 ? Math.max(0, end - at) : 8 * reading.room;
        if (count < 0) {
            throw malformed(name, "negative count", at, "at least 0", count);
        }
        if (least > 0 && count > room / least) {
            throw truncated(name, "", count > Long.MAX_VALUE / least ? Long.MAX_VALUE : count * least, room);
        }
        if (count > room) {
            throw exceeded(name, "more elements than bytes", at, count, room, "bytes present");
        }
        if (count > reading.opt.elements()) {
            throw tooMany(name);
        }
        return new Walk(name, count, isWatched, false);
    }

    /** A list up to the end. */
    public Walk toEnd(String name) {
        return new Walk(name, null, false, true);
    }

    /** A list that a condition ends. */
    public Walk repeated(String name) {
        return new Walk(name, null, true, false);
    }

    // -- text ----------------------------------------------------------------------------------------

    /** Text; of an encoding with a table, {@code upper} is the characters of the bytes from 0x80 on. */
    public String text(String name, byte[] data, String encoding, String upper) {
        String found = decoded(data, encoding, upper);
        if (found == null) {
            throw malformed(name, "not " + encoding, at, null, null);
        }
        return found;
    }

    /** The text in bytes; null if these are none. */
    static String decoded(byte[] data, String encoding, String upper) {
        if (encoding.equals("UTF-8") || encoding.equals("ASCII")) {
            return Input.text(data, 0, data.length, encoding.equals("ASCII"));
        }
        if (!upper.isEmpty()) {
            StringBuilder text = new StringBuilder(data.length);
            for (byte each : data) {
                char found = each < 0 ? upper.charAt(each + 128) : (char) each;
                if (found == '\uFFFD') {
                    return null;
                }
                text.append(found);
            }
            return text.toString();
        }
        try {
            return Input.decoding(encoding)
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(data))
                    .toString();
        } catch (CharacterCodingException error) {
            return null;
        }
    }

    // -- processes -----------------------------------------------------------------------------------

    private long within(String name, byte[] data, String process) {
        long limit = reading.opt.decompressedBytes();
        if (data.length > limit) {
            throw exceeded(name, process, at - data.length, limit + 1, limit, "decompressed_bytes");
        }
        return at - data.length;
    }

    /** Each byte XOR the key. */
    public byte[] xor(String name, byte[] data, long key) {
        long start = within(name, data, "xor");
        if (key < 0 || key > 255) {
            throw malformed(name, "xor: the key " + key + " is no byte", start, null, null);
        }
        return xorAll(name, data, new byte[] {(byte) key});
    }

    /** Each byte XOR that of the key, which repeats. */
    public byte[] xorAll(String name, byte[] data, byte[] key) {
        long start = within(name, data, "xor");
        if (key.length == 0) {
            throw malformed(name, "xor: the key is empty", start, null, null);
        }
        byte[] found = new byte[data.length];
        for (int index = 0; index < data.length; index++) {
            found[index] = (byte) (data[index] ^ key[index % key.length]);
        }
        return found;
    }

    /** Each byte rotated to the left. */
    public byte[] rol(String name, byte[] data, long by) {
        within(name, data, "rol");
        int shift = Math.floorMod(by, 8);
        byte[] found = new byte[data.length];
        for (int index = 0; index < data.length; index++) {
            int each = data[index] & 0xFF;
            found[index] = (byte) (each << shift | each >>> 8 - shift);
        }
        return found;
    }

    /** Each byte rotated to the right. */
    public byte[] ror(String name, byte[] data, long by) {
        return rol(name, data, 8 - Math.floorMod(by, 8));
    }

    /** What zlib compressed. */
    public byte[] zlib(String name, byte[] data) {
        long start = at - data.length;
        long limit = reading.opt.decompressedBytes() - reading.inflated;
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(data);
            byte[] found = new byte[(int) Math.min(limit + 1, Math.max(64, 4L * data.length))];
            int size = 0;
            while (!inflater.finished()) {
                if (size == found.length) {
                    found = Arrays.copyOf(found, (int) Math.min(limit + 1, Math.min(2L * size, Integer.MAX_VALUE - 8)));
                }
                int more = inflater.inflate(found, size, found.length - size);
                size += more;
                if (size > limit) {
                    throw exceeded(name, "zlib", start, limit + 1, limit, "decompressed_bytes");
                }
                if (more == 0 && !inflater.finished()) {
                    throw malformed(name, inflater.needsDictionary() ? "zlib: it needs a dictionary"
                            : "zlib: the data have no end", start, null, null);
                }
            }
            reading.inflated += size;
            return Arrays.copyOf(found, size);
        } catch (DataFormatException error) {
            throw malformed(name, "zlib: " + error.getMessage(), start, null, null);
        } finally {
            inflater.end();
        }
    }
}
