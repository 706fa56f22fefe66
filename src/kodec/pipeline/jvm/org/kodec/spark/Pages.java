package org.kodec.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;

/** A file read by position in small parts: the last part is kept, and sequential reads grow. */
final class Pages {
    private static final int LEAST = 8 << 10;
    private static final int MOST = 1 << 20;

    /** The size in bytes at its creation. */
    final long size;

    private final Files.Source source;
    private byte[] held = new byte[0];
    private long at;
    private int width = LEAST;

    Pages(Files.Source source) throws IOException {
        this.source = source;
        size = source.size();
    }

    /** The bytes from {@code pos}, at most {@code count}; fewer only at the end of the file. */
    byte[] read(long pos, int count) {
        long start = pos - at;
        if (start >= 0 && start + count <= held.length) {
            return Arrays.copyOfRange(held, (int) start, (int) start + count);
        }
        int have = (int) Math.min(count, Math.max(0, size - pos));
        if (have == 0) {
            return new byte[0];
        }
        boolean onward = start >= 0 && start <= held.length && held.length > 0;
        width = onward ? Math.min(2 * width, MOST) : LEAST;
        try {
            held = Files.range(source, pos, (int) Math.min(Math.max(have, width), size - pos));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        at = pos;
        return held.length == have ? held : Arrays.copyOf(held, Math.min(have, held.length));
    }

    /** How many bytes there are from {@code pos} on. */
    long remaining(long pos) {
        return Math.max(0, size - pos);
    }

    /** Whether there are nothing but zeros from {@code pos} on, for {@code most} bytes or up to the end. */
    boolean zeros(long pos, long most) {
        long end = pos + Math.min(most, remaining(pos));
        byte[] block = new byte[(int) Math.min(MOST, end - pos)];
        for (long at = pos; at < end; ) {
            int count;
            try {
                count = source.read(at, block, 0, (int) Math.min(block.length, end - at));
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            if (count > 0 && !zeros(block, count)) {
                return false;
            }
            // a file may have been cut since
            at = count > 0 ? at + count : end;
        }
        return true;
    }

    /** Whether the first {@code count} bytes are zeros: the first is, and each is as the one before it. */
    static boolean zeros(byte[] data, int count) {
        // eight times as fast as a loop, as the JVM has instructions for it
        return count == 0 || data[0] == 0 && Arrays.equals(data, 0, count - 1, data, 1, count);
    }
}
