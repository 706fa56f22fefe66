package org.kodec.runtime;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Reads numbers of fixed width; callers check the bounds first. */
public final class Load {
    static final VarHandle SHORT_BE = view(short[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle SHORT_LE = view(short[].class, ByteOrder.LITTLE_ENDIAN);
    static final VarHandle INT_BE = view(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INT_LE = view(int[].class, ByteOrder.LITTLE_ENDIAN);
    static final VarHandle LONG_BE = view(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG_LE = view(long[].class, ByteOrder.LITTLE_ENDIAN);

    private Load() {}

    private static VarHandle view(Class<?> kind, ByteOrder order) {
        return MethodHandles.byteArrayViewVarHandle(kind, order);
    }

    /** Signed, 8 bits. */
    public static int s1(byte[] buf, int at) {
        return buf[at];
    }

    /** Unsigned, 8 bits. */
    public static int u1(byte[] buf, int at) {
        return buf[at] & 0xFF;
    }

    /** Signed, 16 bits, most significant byte first. */
    public static int s2be(byte[] buf, int at) {
        return (short) SHORT_BE.get(buf, at);
    }

    /** Signed, 16 bits, least significant byte first. */
    public static int s2le(byte[] buf, int at) {
        return (short) SHORT_LE.get(buf, at);
    }

    /** Unsigned, 16 bits, most significant byte first. */
    public static int u2be(byte[] buf, int at) {
        return (short) SHORT_BE.get(buf, at) & 0xFFFF;
    }

    /** Unsigned, 16 bits, least significant byte first. */
    public static int u2le(byte[] buf, int at) {
        return (short) SHORT_LE.get(buf, at) & 0xFFFF;
    }

    /** Signed, 32 bits, most significant byte first. */
    public static int s4be(byte[] buf, int at) {
        return (int) INT_BE.get(buf, at);
    }

    /** Signed, 32 bits, least significant byte first. */
    public static int s4le(byte[] buf, int at) {
        return (int) INT_LE.get(buf, at);
    }

    /** Unsigned, 32 bits, most significant byte first. */
    public static long u4be(byte[] buf, int at) {
        return (int) INT_BE.get(buf, at) & 0xFFFF_FFFFL;
    }

    /** Unsigned, 32 bits, least significant byte first. */
    public static long u4le(byte[] buf, int at) {
        return (int) INT_LE.get(buf, at) & 0xFFFF_FFFFL;
    }

    /** Signed, 64 bits, most significant byte first. */
    public static long s8be(byte[] buf, int at) {
        return (long) LONG_BE.get(buf, at);
    }

    /** Signed, 64 bits, least significant byte first. */
    public static long s8le(byte[] buf, int at) {
        return (long) LONG_LE.get(buf, at);
    }

    /** Unsigned, 64 bits, most significant byte first, for {@link Long#toUnsignedString(long)}. */
    public static long u8be(byte[] buf, int at) {
        return (long) LONG_BE.get(buf, at);
    }

    /** Unsigned, 64 bits, least significant byte first. */
    public static long u8le(byte[] buf, int at) {
        return (long) LONG_LE.get(buf, at);
    }

    /** 32 bits of IEEE 754, most significant byte first. */
    public static float f4be(byte[] buf, int at) {
        return Float.intBitsToFloat(s4be(buf, at));
    }

    /** 32 bits of IEEE 754, least significant byte first. */
    public static float f4le(byte[] buf, int at) {
        return Float.intBitsToFloat(s4le(buf, at));
    }

    /** 64 bits of IEEE 754, most significant byte first. */
    public static double f8be(byte[] buf, int at) {
        return Double.longBitsToDouble(s8be(buf, at));
    }

    /** 64 bits of IEEE 754, least significant byte first. */
    public static double f8le(byte[] buf, int at) {
        return Double.longBitsToDouble(s8le(buf, at));
    }

    /** {@code size} bytes, 1 to 8, as one number, most significant byte first. */
    public static long bits(byte[] buf, int at, int size) {
        long value = 0;
        for (int index = 0; index < size; index++) {
            value = value << 8 | buf[at + index] & 0xFF;
        }
        return value;
    }
}
