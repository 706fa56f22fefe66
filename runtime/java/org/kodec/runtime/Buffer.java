package org.kodec.runtime;

import java.util.Arrays;

/** Bytes that grow at their end: to the requested size, or to twice the size if that is more. */
public final class Buffer {
    /** The most bytes of an array. */
    private static final int MOST = Integer.MAX_VALUE - 16;

    /** The bytes; those from {@link #size} on mean nothing. */
    public byte[] data;
    /** How many there are. */
    public int size;

    /** An empty one with room for {@code capacity} bytes. */
    public Buffer(int capacity) {
        data = new byte[capacity];
    }

    /** Makes room for {@code more} bytes at the end. */
    public void reserve(long more) {
        long need = size + more;
        if (need > MOST) {
            throw new OutOfMemoryError("more than " + MOST + " bytes in one buffer");
        }
        if (need > data.length) {
            data = Arrays.copyOf(data, (int) Math.min(MOST, Math.max(need, 2L * data.length)));
        }
    }

    /** Makes room for exactly {@code more} bytes, if there is less. */
    void reserveExactly(long more) {
        if (size + more > data.length && size + more <= MOST) {
            data = Arrays.copyOf(data, (int) (size + more));
        }
    }

    /** Appends bytes. */
    public void add(byte[] from, int start, int count) {
        reserve(count);
        System.arraycopy(from, start, data, size, count);
        size += count;
    }

    /** A copy of the bytes. */
    public byte[] bytes() {
        return Arrays.copyOf(data, size);
    }
}
