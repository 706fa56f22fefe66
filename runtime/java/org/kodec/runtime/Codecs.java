package org.kodec.runtime;

import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4FrameOutputStream;
import net.jpountz.lz4.LZ4SafeDecompressor;
import net.jpountz.xxhash.XXHash32;
import net.jpountz.xxhash.XXHashFactory;
import org.xerial.snappy.Snappy;
import org.xerial.snappy.SnappyOutputStream;

/**
 * Decompresses record data as Kafka's own code does, with a ceiling on the output.
 *
 * <p>gzip is the JDK's; for snappy, lz4 and zstd the jars {@code snappy-java}, {@code lz4-java} and {@code zstd-jni}
 * are needed, which Spark and Kafka include; a codec whose jar is missing is UNSUPPORTED. For one thread.
 */
public final class Codecs implements AutoCloseable {
    private static final int PIECE = 64 << 10;
    /** Output of more bytes than these is measured before it is held. */
    private static final int AT_ONCE = 16 << 20;
    /** Room requested at the end: the size of the largest block. */
    private static final int MOST_PIECE = 4 << 20;
    private static final String LIMIT = "decompressed_bytes";

    private Lz4 lz4;
    private Zstd zstd;

    /** The bytes, decompressed by {@code codec}. */
    public static byte[] decompressed(String codec, byte[] src, long limit) {
        try (Codecs codecs = new Codecs()) {
            Buffer out = new Buffer(Math.min(PIECE, 4 * src.length + 64));
            codecs.decompress(codec, src, 0, src.length, out, limit);
            return out.size == out.data.length ? out.data : out.bytes();
        }
    }

    /** All of {@code src} compressed, in the form that Kafka's Java producer writes. */
    public static byte[] compressed(String codec, byte[] src) {
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        try (OutputStream out = compressor(codec, found)) {
            out.write(src);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        byte[] made = found.toByteArray();
        if (codec.equals("lz4_legacy")) {
            // Kafka computed it over the frame's magic number, too
            made[6] = (byte) (XXHashFactory.fastestInstance().hash32().hash(made, 0, 6, 0) >> 8);
        }
        return made;
    }

    private static OutputStream compressor(String codec, OutputStream to) throws IOException {
        switch (codec) {
            case "none":
                return to;
            case "gzip":
                return new GZIPOutputStream(to);
            case "snappy":
                return new SnappyOutputStream(to);
            case "lz4":
            case "lz4_legacy":
                return new LZ4FrameOutputStream(to, LZ4FrameOutputStream.BLOCKSIZE.SIZE_64KB,
                        LZ4FrameOutputStream.FLG.Bits.BLOCK_INDEPENDENCE);
            case "zstd":
                return new ZstdOutputStreamNoFinalizer(to);
            default:
                throw FormatException.notEncodable("", "unknown codec", null, codec);
        }
    }

    /**
     * Decompresses {@code src} from {@code start} to {@code stop}, the whole compressed part of one batch, to the
     * end of {@code out}. What is over the limit is refused before more than 16 MiB of it are held.
     *
     * @param codec as schemas call it; {@code lz4_legacy} is LZ4 with any header checksum (KIP-57)
     * @param limit the most bytes to append
     * @throws FormatException whose position counts from {@code start} and whose path is empty
     */
    public void decompress(String codec, byte[] src, int start, int stop, Buffer out, long limit) {
        int size = out.size;
        try {
            if (limit <= AT_ONCE || !small(codec, src, start, stop, out)) {
                if (limit > AT_ONCE) {
                    Sink measured = new Sink(new Buffer(PIECE), limit, true);
                    append(codec, src, start, stop, measured);
                    out.reserveExactly(measured.total() + MOST_PIECE);
                }
                append(codec, src, start, stop, new Sink(out, limit, false));
            }
        } catch (NoClassDefFoundError | ExceptionInInitializerError | UnsatisfiedLinkError missing) {
            out.size = size;
            throw FormatException.unsupported("", codec + ": its library cannot be used here", 0, null, missing);
        } catch (FormatException error) {
            out.size = size;
            throw error;
        }
    }

    /** Appends the output; returns false, and appends nothing, if it has more than {@link #AT_ONCE} bytes. */
    private boolean small(String codec, byte[] src, int start, int stop, Buffer out) {
        int size = out.size;
        try {
            append(codec, src, start, stop, new Sink(out, AT_ONCE, false));
            return true;
        } catch (FormatException error) {
            if (error.kind() != FormatException.Kind.LIMIT_EXCEEDED) {
                throw error;
            }
            out.size = size;
            return false;
        }
    }

    /** The destination of the output and its limit; if it is only measured, each piece overwrites the one before. */
    private static final class Sink {
        final Buffer out;
        final long limit;
        final boolean measuring;
        private final int first;
        private long passed;

        Sink(Buffer out, long limit, boolean measuring) {
            this.out = out;
            this.limit = limit;
            this.measuring = measuring;
            first = out.size;
        }

        long total() {
            return passed + out.size - first;
        }

        /** Notes that {@code count} bytes more were put to the end of {@code out}. */
        void added(String codec, int count, long at) {
            out.size += count;
            passedOver(codec, 0, at);
        }

        /** Counts {@code count} further bytes that are not produced. */
        void passedOver(String codec, long count, long at) {
            passed += count;
            if (total() > limit) {
                throw overLimit(codec, limit + 1, limit, at);
            }
            if (measuring) {
                passed += out.size - first;
                out.size = first;
            }
        }
    }

    private void append(String codec, byte[] src, int start, int stop, Sink sink) {
        if (start == stop && !codec.equals("none")) {
            throw FormatException.truncated("", codec + ": the payload is empty", 0, 1, 0);
        }
        switch (codec) {
            case "none":
                if (stop - start > sink.limit) {
                    throw overLimit("none", stop - start, sink.limit, 0);
                }
                sink.out.add(src, start, stop - start);
                break;
            case "gzip":
                gzip(src, start, stop, sink);
                break;
            case "snappy":
                SnappyFrames.read(src, start, stop, sink);
                break;
            case "lz4":
            case "lz4_legacy":
                lz4 = lz4 == null ? new Lz4() : lz4;
                lz4.read(src, start, stop, sink, codec.equals("lz4"));
                break;
            case "zstd":
                zstd = zstd == null ? new Zstd() : zstd;
                zstd.read(src, start, stop, sink);
                break;
            default:
                throw FormatException.unsupported("", "unknown codec", 0, null, codec);
        }
    }

    /** Releases the resources of the libraries. */
    @Override
    public void close() {
        if (zstd != null) {
            zstd.close();
            zstd = null;
        }
    }

    private static FormatException overLimit(String codec, long need, long limit, long at) {
        return FormatException.limitExceeded("", codec + ": too many decompressed bytes", at, need, limit, LIMIT);
    }

    private static FormatException truncated(String what, long at, long need, long have) {
        return FormatException.truncated("", what, at, need, have);
    }

    private static FormatException malformed(String what, long at, Object need, Object have) {
        return FormatException.malformed("", what, at, need, have);
    }

    private static long littleEndian(byte[] src, int at, int size) {
        long value = 0;
        for (int index = size - 1; index >= 0; index--) {
            value = value << 8 | src[at + index] & 0xFF;
        }
        return value;
    }

    private static void gzip(byte[] src, int start, int stop, Sink sink) {
        Buffer out = sink.out;
        int have = stop - start;
        try (GzipMembers in = new GzipMembers(new ByteArrayInputStream(src, start, have))) {
            while (true) {
                out.reserve(Math.min(PIECE, Math.max(1, sink.limit - sink.total() + 1)));
                long room = Math.min(out.data.length - out.size, sink.limit - sink.total() + 1);
                int count = in.read(out.data, out.size, (int) room);
                if (count < 0) {
                    requireNoMember(src, stop, in.rest());
                    return;
                }
                sink.added("gzip", count, 0);
            }
        } catch (EOFException error) {
            throw truncated("gzip: the stream ends inside a member", 0, have + 1L, have);
        } catch (IOException error) {
            throw malformed("gzip: " + error.getMessage(), 0, null, null);
        }
    }

    /** Refuses the start of another member, which the JDK ignores if it has at most 18 bytes. */
    private static void requireNoMember(byte[] src, int stop, int rest) throws EOFException {
        int at = stop - rest;
        if (rest >= 10 && rest <= 18 && src[at] == 0x1F && src[at + 1] == (byte) 0x8B && src[at + 2] == 8) {
            throw new EOFException();
        }
    }

    private static final class GzipMembers extends GZIPInputStream {
        GzipMembers(ByteArrayInputStream in) throws IOException {
            super(in, 8192);
        }

        /** The number of bytes after the last member. */
        int rest() {
            return inf.getRemaining() - 8;
        }
    }

    /** snappy-java's ("xerial") chunks, with repeated headers; otherwise one raw block. */
    private static final class SnappyFrames {
        private static final byte[] MAGIC = {(byte) 0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
        private static final int HEADER = MAGIC.length + 8;
        private static final byte[] OFFICIAL = {(byte) 0xFF, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y'};

        private static final int MOST_EXPANSION = 22; // three bytes decompress to at most 64

        static void read(byte[] src, int start, int stop, Sink sink) {
            int size = stop - start;
            if (size < HEADER || !startsWith(src, start, stop, MAGIC)) {
                if (startsWith(src, start, stop, OFFICIAL)) {
                    throw FormatException.unsupported(
                            "", "snappy: the official framing format, which Kafka does not read", 0, null, null);
                }
                block(src, start, stop, start, sink);
                return;
            }
            int pos = start + HEADER;
            while (stop - pos >= 4) {
                if (src[pos] == MAGIC[0] && src[pos + 1] == MAGIC[1] && src[pos + 2] == MAGIC[2]
                        && src[pos + 3] == MAGIC[3]) {
                    header(src, pos, stop, pos - start);
                    pos += HEADER;
                    continue;
                }
                int length = Load.s4be(src, pos);
                if (length < 0) {
                    throw malformed("snappy: negative chunk length", pos - start, "0 or more", length);
                }
                if (length > stop - pos - 4) {
                    throw truncated("snappy: chunk", pos + 4 - start, length, stop - pos - 4);
                }
                block(src, pos + 4, pos + 4 + length, start, sink);
                pos += 4 + length;
            }
        }

        private static void header(byte[] src, int pos, int stop, int at) {
            if (stop - pos < HEADER) {
                throw truncated("snappy: repeated header", at, HEADER, stop - pos);
            }
            if (!startsWith(src, pos, stop, MAGIC)) {
                throw malformed("snappy: repeated header with a wrong magic", at, null, null);
            }
            int version = Load.s4be(src, pos + MAGIC.length);
            if (version < 1) {
                throw FormatException.unsupported(
                        "", "snappy: version of a repeated header", at, "1 or more", version);
            }
        }

        private static void block(byte[] src, int pos, int stop, int start, Sink sink) {
            long promised;
            try {
                Input in = new Input(src, pos, stop, ReadOptions.DEFAULT);
                promised = in.uvarint32("");
            } catch (FormatException error) {
                String why = "snappy: no size in front of the block (" + error.reason() + ")";
                throw malformed(why, pos - start, null, null);
            }
            if (sink.total() + promised > sink.limit) {
                throw overLimit("snappy", sink.total() + promised, sink.limit, pos - start);
            }
            long most = (long) MOST_EXPANSION * (stop - pos);
            if (promised > most) {
                throw malformed("snappy: size in front of the block", pos - start, "at most " + most, promised);
            }
            if (sink.measuring) {
                sink.passedOver("snappy", promised, pos - start);
                return;
            }
            Buffer out = sink.out;
            try {
                out.reserve(promised);
                if (Snappy.uncompress(src, pos, stop - pos, out.data, out.size) != promised) {
                    throw malformed("snappy: not the size in front of the block", pos - start, null, null);
                }
                out.size += (int) promised;
            } catch (IOException error) {
                throw malformed("snappy: " + error.getMessage(), pos - start, null, null);
            }
        }

        private static boolean startsWith(byte[] src, int start, int stop, byte[] prefix) {
            return stop - start >= prefix.length
                    && Arrays.equals(src, start, start + prefix.length, prefix, 0, prefix.length);
        }
    }

    /** LZ4 frames as Kafka's {@code Lz4BlockInputStream} has them: the first one, of independent blocks. */
    private static final class Lz4 {
        private static final byte[] MAGIC = {4, 0x22, 0x4D, 0x18};
        private static final int MOST_HEADER = 15;
        private static final int INDEPENDENT = 32;
        private static final int BLOCK_CHECKSUM = 16;
        private static final int CONTENT_SIZE = 8;
        private static final int CONTENT_CHECKSUM = 4;
        private static final int RESERVED = 2;
        private static final int DICTIONARY = 1;
        private static final int MOST_EXPANSION = 255;

        private final LZ4SafeDecompressor blocks = LZ4Factory.fastestInstance().safeDecompressor();
        private final XXHash32 hash = XXHashFactory.fastestInstance().hash32();

        void read(byte[] src, int start, int stop, Sink sink, boolean check) {
            int have = Math.min(MOST_HEADER, stop - start);
            for (int index = 0; index < Math.min(4, have); index++) {
                if (src[start + index] != MAGIC[index]) {
                    throw malformed("lz4: not an LZ4 frame", 0, spaced(MAGIC, 0, 4), spaced(src, start, have));
                }
            }
            if (have < 6) {
                throw truncated("lz4: frame header", 0, 6, have);
            }
            int flags = src[start + 4] & 0xFF;
            int descriptor = src[start + 5] & 0xFF;
            int end = header(src, start, have, flags, descriptor, check);
            int maxBlock = 1 << 8 + 2 * (descriptor >> 4);
            int checksum = (flags & BLOCK_CHECKSUM) != 0 ? 4 : 0;
            int pos = start + end + 1;
            while (true) {
                if (stop - pos < 4) {
                    throw truncated("lz4: no end mark", pos - start, 4, stop - pos);
                }
                int word = Load.s4le(src, pos);
                int length = word & Integer.MAX_VALUE;
                int at = pos + 4;
                if (length == 0) {
                    if ((flags & CONTENT_CHECKSUM) != 0 && stop - at < 4) {
                        throw truncated("lz4: content checksum", at - start, 4, stop - at);
                    }
                    return;
                }
                if (length > maxBlock) {
                    throw malformed("lz4: block size", pos - start, "at most " + maxBlock, length);
                }
                if (stop - at < length + checksum) {
                    throw truncated("lz4: block", at - start, length + checksum, stop - at);
                }
                if (checksum > 0 && hash.hash(src, at, length, 0) != Load.s4le(src, at + length)) {
                    throw malformed("lz4: block checksum", pos - start, null, null);
                }
                block(src, at, length, word < 0, maxBlock, sink.out, pos - start);
                sink.added("lz4", 0, pos - start);
                pos = at + length + checksum;
            }
        }

        private int header(byte[] src, int start, int have, int flags, int descriptor, boolean check) {
            if (flags >> 6 != 1) {
                throw FormatException.unsupported("", "lz4: frame version", 4, 1, flags >> 6);
            }
            if ((flags & INDEPENDENT) == 0) {
                throw FormatException.unsupported(
                        "", "lz4: blocks that depend on each other, which Kafka does not read", 4, null, null);
            }
            if ((flags & DICTIONARY) != 0) {
                throw FormatException.unsupported(
                        "", "lz4: a dictionary, which Kafka does not read", 4, null, null);
            }
            if ((flags & RESERVED) != 0 || (descriptor & 0x8F) != 0) {
                throw malformed("lz4: reserved bits are set in the frame header", 4, null, null);
            }
            if (descriptor >> 4 < 4) {
                throw malformed("lz4: block size code", 5, "4 to 7", descriptor >> 4);
            }
            int end = (flags & CONTENT_SIZE) != 0 ? 14 : 6;
            if (have <= end) {
                throw truncated("lz4: frame header", 0, end + 1, have);
            }
            int right = hash.hash(src, start + 4, end - 4, 0) >> 8 & 0xFF;
            if (check && (src[start + end] & 0xFF) != right) {
                throw malformed("lz4: frame header checksum", end, hex(right), hex(src[start + end] & 0xFF));
            }
            return end;
        }

        private void block(byte[] src, int at, int length, boolean stored, int maxBlock, Buffer out, int place) {
            if (stored) {
                out.add(src, at, length);
                return;
            }
            int most = (int) Math.min(maxBlock, (long) length * MOST_EXPANSION);
            out.reserve(most);
            try {
                out.size += blocks.decompress(src, at, length, out.data, out.size, most);
            } catch (LZ4Exception error) {
                throw malformed("lz4: " + error.getMessage(), place + 4, null, null);
            }
        }

        private static String hex(int value) {
            return String.format("0x%02x", value);
        }
    }

    private static String spaced(byte[] src, int start, int have) {
        StringBuilder text = new StringBuilder();
        for (int index = start; index < start + Math.min(4, have); index++) {
            text.append(text.length() == 0 ? "" : " ").append(String.format("%02x", src[index]));
        }
        return text.toString();
    }

    /** Zstandard: all frames, with or without a content size; skippable frames are ignored. */
    private static final class Zstd {
        private static final byte[] MAGIC = {0x28, (byte) 0xB5, 0x2F, (byte) 0xFD};
        private static final int[] DICTIONARY_SIZES = {0, 1, 2, 4};
        private static final int MOST_BLOCK = 128 << 10;
        private static final long MOST_WINDOW = 1 << 27;

        private final ZstdDecompressCtx frames = new ZstdDecompressCtx();
        // of the frame examined last
        private long window;
        private long content;
        private long least;
        private long most;

        void close() {
            frames.close();
        }

        void read(byte[] src, int start, int stop, Sink sink) {
            int pos = start;
            while (pos < stop) {
                int skipped = skippable(src, start, pos, stop);
                if (skipped > 0) {
                    pos = skipped;
                    continue;
                }
                int end = walk(src, start, header(src, start, pos, stop), stop, (src[pos + 4] & 4) != 0);
                long room = sink.limit - sink.total();
                if (Math.max(content, least) > room) {
                    throw overLimit("zstd", sink.total() + Math.max(content, least), sink.limit, pos - start);
                }
                if (content > most) {
                    throw malformed("zstd: content size", pos - start, "at most " + most, content);
                }
                if (sink.measuring) {
                    measure(src, start, pos, end, sink);
                } else {
                    frame(src, start, pos, end, sink.out, room, sink.limit);
                }
                pos = end;
            }
        }

        private static void measure(byte[] src, int start, int pos, int end, Sink sink) {
            byte[] piece = sink.out.data;
            try (ZstdInputStreamNoFinalizer in =
                    new ZstdInputStreamNoFinalizer(new ByteArrayInputStream(src, pos, end - pos))) {
                for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
                    sink.passedOver("zstd", count, pos - start);
                }
            } catch (IOException error) {
                throw malformed("zstd: " + error.getMessage(), pos - start, null, null);
            }
        }

        private void frame(byte[] src, int start, int pos, int end, Buffer out, long room, long limit) {
            // a short frame may claim a large size: first the room that such frames usually need, then more
            long size = content >= 0 ? content : Math.min(Math.min(most, room + 1), 16L * (end - pos) + PIECE);
            while (true) {
                out.reserve(Math.max(1, size));
                try {
                    int given = (int) Math.min(Math.max(1, size), out.data.length - out.size);
                    int count = frames.decompressByteArray(out.data, out.size, given, src, pos, end - pos);
                    if (count > room) {
                        throw overLimit("zstd", limit + 1, limit, pos - start);
                    }
                    out.size += count;
                    return;
                } catch (ZstdException error) {
                    boolean small = error.getErrorCode() == com.github.luben.zstd.Zstd.errDstSizeTooSmall();
                    if (small && size < Math.min(most, room + 1)) {
                        size = Math.min(Math.min(most, room + 1), 4 * size);
                    } else if (small && most > room) {
                        throw overLimit("zstd", limit + 1, limit, pos - start);
                    } else {
                        throw malformed("zstd: " + error.getMessage(), pos - start, null, null);
                    }
                }
            }
        }

        private static int skippable(byte[] src, int start, int pos, int stop) {
            int have = stop - pos;
            if ((src[pos] >> 4 & 15) != 5 || have > 1 && src[pos + 1] != 0x2A || have > 2 && src[pos + 2] != 0x4D
                    || have > 3 && src[pos + 3] != 0x18) {
                return 0;
            }
            if (have < 8) {
                throw truncated("zstd: skippable frame", pos - start, 8, have);
            }
            long need = 8 + Load.u4le(src, pos + 4);
            if (have < need) {
                throw truncated("zstd: skippable frame", pos - start, need, have);
            }
            return pos + (int) need;
        }

        /** Where the first block of the frame at {@code pos} starts. */
        private int header(byte[] src, int start, int pos, int stop) {
            int have = stop - pos;
            int at = pos - start;
            for (int index = 0; index < Math.min(4, have); index++) {
                if (src[pos + index] != MAGIC[index]) {
                    throw malformed("zstd: not a frame", at, spaced(MAGIC, 0, 4), spaced(src, pos, have));
                }
            }
            if (have < 5) {
                throw truncated("zstd: frame header", at, 5, have);
            }
            int flags = src[pos + 4] & 0xFF;
            int single = flags >> 5 & 1;
            int dictionaryAt = 6 - single;
            int contentAt = dictionaryAt + DICTIONARY_SIZES[flags & 3];
            int width = flags >> 6 == 0 ? single : 1 << (flags >> 6);
            int end = contentAt + width;
            if (have < end) {
                throw truncated("zstd: frame header", at, end, Math.min(have, 18));
            }
            long dictionary = littleEndian(src, pos + dictionaryAt, contentAt - dictionaryAt);
            if (dictionary != 0) {
                throw FormatException.unsupported(
                        "", "zstd: a dictionary, which Kafka does not use", at, null, dictionary);
            }
            content = width == 0 ? -1 : littleEndian(src, pos + contentAt, width) + (width == 2 ? 256 : 0);
            if (width == 8 && content < 0) {
                content = Long.MAX_VALUE;
            }
            if (single == 1) {
                window = content;
            } else {
                int code = src[pos + 5] & 0xFF;
                window = (1L << 10 + (code >> 3)) / 8 * (8 + (code & 7));
            }
            if (window > MOST_WINDOW) {
                throw FormatException.unsupported(
                        "", "zstd: window size", at, "at most " + MOST_WINDOW, window);
            }
            return pos + end;
        }

        /** The end of the frame whose first block is at {@code pos}; notes the least and the most bytes that it can
         * decompress to. */
        private int walk(byte[] src, int start, int pos, int stop, boolean checksum) {
            long mostBlock = Math.min(window, MOST_BLOCK);
            least = 0;
            most = 0;
            int at = pos;
            boolean last = false;
            while (!last) {
                if (stop - at < 3) {
                    throw truncated("zstd: block header", at - start, 3, stop - at);
                }
                int word = (int) littleEndian(src, at, 3);
                last = (word & 1) != 0;
                int kind = word >> 1 & 3;
                int length = word >> 3;
                if (kind == 3) {
                    throw malformed("zstd: reserved block type", at - start, null, null);
                }
                least += kind < 2 ? length : 0;
                most += kind < 2 ? length : mostBlock;
                int stored = kind == 1 ? 1 : length;
                if (stop - at - 3 < stored) {
                    throw truncated("zstd: block", at + 3 - start, stored, stop - at - 3);
                }
                at += 3 + stored;
            }
            if (checksum) {
                if (stop - at < 4) {
                    throw truncated("zstd: frame checksum", at - start, 4, stop - at);
                }
                at += 4;
            }
            return at;
        }
    }
}
