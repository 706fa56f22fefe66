package org.kodec.runtime;

/** What generated classes and readers compute with. */
public final class Values {
    private Values() {}

    /** {@code value << by}. Throws ArithmeticException if the result does not fit or {@code by} is negative. */
    public static long shiftLeft(long value, long by) {
        if (by < 0 || value != 0 && (by > 62 || value << by >> by != value)) {
            throw new ArithmeticException("a shift that does not fit 64 bits");
        }
        return value == 0 ? 0 : value << by;
    }

    /** {@code value >> by}. Throws ArithmeticException where {@code by} is negative. */
    public static long shiftRight(long value, long by) {
        if (by < 0) {
            throw new ArithmeticException("a negative shift");
        }
        return value >> Math.min(by, 63);
    }

    /** The bytes in hexadecimal; {@code null} for null. */
    public static String hex(byte[] data) {
        if (data == null) {
            return "null";
        }
        StringBuilder text = new StringBuilder(2 * data.length);
        for (byte each : data) {
            text.append(Character.forDigit(each >> 4 & 15, 16)).append(Character.forDigit(each & 15, 16));
        }
        return text.toString();
    }
}
