package org.kodec.runtime;

import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/** Checksums of ranges of bytes, as unsigned numbers. */
public final class Checksums {
    private Checksums() {}

    /** CRC-32 (IEEE, as in zlib) of {@code buf} from {@code start} to {@code end}. */
    public static long crc32(byte[] buf, int start, int end) {
        return of(new CRC32(), buf, start, end);
    }

    /** CRC-32C (Castagnoli) of {@code buf} from {@code start} to {@code end}. */
    public static long crc32c(byte[] buf, int start, int end) {
        return of(new CRC32C(), buf, start, end);
    }

    private static long of(Checksum sum, byte[] buf, int start, int end) {
        sum.update(buf, start, end - start);
        return sum.getValue();
    }
}
