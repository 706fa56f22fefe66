package org.kodec.spark;

import java.io.IOException;
import java.util.Arrays;

/** The bytes of a file around the current batch: they do not move while rows refer to them. */
final class Window {
    /** Fits the processor's cache: the bytes are copied twice on their way here. */
    private static final int NEAR = 512 << 10;
    /** Of a store where each read is a request. */
    private static final int FAR = 16 << 20;

    byte[] data = new byte[1 << 16];
    /** Where in {@code data} the batch starts. */
    int at;
    /** Of all files. */
    long bytesRead;
    private int end;
    private Files.Source source;
    private int widest;
    /** The position in the file of the first byte of {@code data}. */
    private long origin;

    /** Goes to a position in a file; with {@code pinned}, the bytes so far do not move. */
    void open(Files.Source file, boolean local, long position, boolean pinned) {
        source = file;
        widest = local ? NEAR : FAR;
        end = pinned ? end : 0;
        at = end;
        origin = position - at;
    }

    /** The position in the file of the batch. */
    long position() {
        return origin + at;
    }

    /**
     * Makes {@code need} bytes available at {@code at}, and reads more up to {@code stop}. Returns true; false at the
     * end of the file; null if the bytes so far would have to move but are pinned.
     */
    Boolean ready(int need, long stop, boolean pinned) throws IOException {
        if (end - at >= need) {
            return true;
        }
        if (data.length - at < need) {
            if (pinned) {
                return null;
            }
            if (need > data.length && source.size() - position() < need) {
                // a damaged length must not cost its memory
                return false;
            }
            byte[] into = data;
            if (need > data.length || data.length < widest && position() > 0) {
                into = new byte[Math.max(need, Math.min(widest, 4 * data.length))];
            }
            System.arraycopy(data, at, into, 0, end - at);
            data = into;
            origin += at;
            end -= at;
            at = 0;
        }
        while (end - at < need) {
            long wanted = Math.min(data.length - end, stop - origin - end);
            int more = source.read(origin + end, data, end, (int) Math.max(need - (end - at), wanted));
            if (more <= 0) {
                return false;
            }
            end += more;
            bytesRead += more;
        }
        return true;
    }

    /** The frame that starts here; null if the available bytes end before it is complete. */
    Frame frame() {
        return Frame.peek(data, at, end);
    }

    /** The frame of the next batch; null if there is no complete one of at most {@code most} bytes. */
    Frame following(int size, long most) throws IOException {
        byte[] head = end - at - size >= Frame.SIZE ? Arrays.copyOfRange(data, at + size, at + size + Frame.SIZE)
                : Files.range(source, position() + size, Frame.SIZE);
        Frame frame = Frame.peek(head, 0, head.length);
        long room = Math.min(most, source.size() - position() - size);
        return frame == null || !frame.known() || !frame.fits(room) ? null : frame;
    }

    /** The batch. */
    byte[] bytes(int size) {
        return Arrays.copyOfRange(data, at, at + size);
    }

    /** Continues at a later position in the file. */
    void moveTo(long position) {
        if (position - origin <= end) {
            at = (int) (position - origin);
            return;
        }
        at = end;
        origin = position - at;
    }
}
