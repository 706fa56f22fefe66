package org.kodec.runtime;

/** The encoding of an integer, to read or set it in place. */
public enum Stored {
    /** Signed, 8 bits. */
    S1(1, true, true),
    /** Unsigned, 8 bits. */
    U1(1, false, true),
    /** Signed, 16 bits, most significant byte first. */
    S2BE(2, true, true),
    /** Signed, 16 bits, least significant byte first. */
    S2LE(2, true, false),
    /** Unsigned, 16 bits, most significant byte first. */
    U2BE(2, false, true),
    /** Unsigned, 16 bits, least significant byte first. */
    U2LE(2, false, false),
    /** Signed, 32 bits, most significant byte first. */
    S4BE(4, true, true),
    /** Signed, 32 bits, least significant byte first. */
    S4LE(4, true, false),
    /** Unsigned, 32 bits, most significant byte first. */
    U4BE(4, false, true),
    /** Unsigned, 32 bits, least significant byte first. */
    U4LE(4, false, false),
    /** Signed, 64 bits, most significant byte first. */
    S8BE(8, true, true),
    /** Signed, 64 bits, least significant byte first. */
    S8LE(8, true, false),
    /** Unsigned, 64 bits, most significant byte first, for {@link Long#toUnsignedString(long)}. */
    U8BE(8, false, true),
    /** Unsigned, 64 bits, least significant byte first. */
    U8LE(8, false, false);

    /** In bytes. */
    public final int size;
    /** The largest that fits; of unsigned ones of 64 bits, as a signed number. */
    public final long most;

    private final boolean signed;
    private final boolean bigEndian;

    Stored(int size, boolean signed, boolean bigEndian) {
        this.size = size;
        this.signed = signed;
        this.bigEndian = bigEndian;
        most = (signed ? Long.MAX_VALUE : -1L) >>> Long.SIZE - 8 * size;
    }

    /** The smallest that fits. */
    public long least() {
        return signed ? -most - 1 : 0;
    }

    /** The number at {@code at}, whose bytes must be there. */
    public long get(byte[] buf, int at) {
        long value = 0;
        for (int index = 0; index < size; index++) {
            value = value << 8 | buf[at + (bigEndian ? index : size - 1 - index)] & 0xFF;
        }
        int unused = Long.SIZE - 8 * size;
        return signed ? value << unused >> unused : value;
    }

    /** Sets the number at {@code at}, whose bytes must be there. It must fit. */
    public void put(byte[] buf, int at, long value) {
        long bits = bigEndian ? value : Long.reverseBytes(value) >>> Long.SIZE - 8 * size;
        switch (size) {
            case 1 -> buf[at] = (byte) bits;
            case 2 -> Load.SHORT_BE.set(buf, at, (short) bits);
            case 4 -> Load.INT_BE.set(buf, at, (int) bits);
            default -> Load.LONG_BE.set(buf, at, bits);
        }
    }
}
