package org.kodec.runtime;

/**
 * Variable-length integers, as in {@code org.apache.kafka.common.utils.ByteUtils}: groups of 7 bits, least significant
 * first. For the fast paths of generated readers: one call returns a number, another its end.
 */
public final class Varints {
    /** Thrown, without a stack trace, if a varint is too long; the full reader reports its position. */
    public static final class TooLong extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private TooLong() {
            super("a varint is too long", null, false, false);
        }
    }

    private static final TooLong TOO_LONG = new TooLong();

    private Varints() {}

    /** The position after a varint of at most 32 bits. */
    public static int end32(byte[] buf, int pos) {
        return end(buf, pos, pos + 5);
    }

    /** The position after a varint of at most 64 bits. */
    public static int end64(byte[] buf, int pos) {
        return end(buf, pos, pos + 10);
    }

    private static int end(byte[] buf, int pos, int stop) {
        int at = pos;
        while (buf[at] < 0) {
            if (++at == stop) {
                throw TOO_LONG;
            }
        }
        return at + 1;
    }

    /** The unsigned number at {@code pos}; its 32 bits. */
    public static int raw32(byte[] buf, int pos) {
        int at = pos;
        int value = 0;
        int shift = 0;
        byte each;
        do {
            each = buf[at++];
            value |= (each & 0x7F) << shift;
            shift += 7;
        } while (each < 0 && shift < 35);
        return value;
    }

    /** The unsigned number at {@code pos}; its 64 bits. */
    public static long raw64(byte[] buf, int pos) {
        int at = pos;
        long value = 0;
        int shift = 0;
        byte each;
        do {
            each = buf[at++];
            value |= (long) (each & 0x7F) << shift;
            shift += 7;
        } while (each < 0 && shift < 70);
        return value;
    }

    /** An unsigned number of 32 bits. */
    public static long uvarint32(byte[] buf, int pos) {
        return raw32(buf, pos) & 0xFFFF_FFFFL;
    }

    /** A number of 32 bits whose sign is in the lowest one. */
    public static int zigzag32(byte[] buf, int pos) {
        int raw = raw32(buf, pos);
        return raw >>> 1 ^ -(raw & 1);
    }

    /** A number of 64 bits whose sign is in the lowest one. */
    public static long zigzag64(byte[] buf, int pos) {
        long raw = raw64(buf, pos);
        return raw >>> 1 ^ -(raw & 1);
    }
}
