package org.kodec.runtime;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import java.util.zip.DataFormatException;
import java.util.zip.GZIPInputStream;
import java.util.zip.Inflater;

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

    // -- those of streamed schemas, of all bytes -----------------------------------------------------

    static long named(String name, byte[] data) {
        switch (name) {
            case "crc32":
                return crc32(data, 0, data.length);
            case "crc32c":
                return crc32c(data, 0, data.length);
            case "crc32_mpeg2":
                return upwards(data, 32, 0x04C11DB7L, 0xFFFFFFFFL);
            case "crc32_bzip2":
                return upwards(data, 32, 0x04C11DB7L, 0xFFFFFFFFL) ^ 0xFFFFFFFFL;
            case "crc32_ogg":
                return upwards(data, 32, 0x04C11DB7L, 0);
            case "crc16_ccitt":
                return upwards(data, 16, 0x1021, 0xFFFF);
            case "crc16_xmodem":
                return upwards(data, 16, 0x1021, 0);
            case "adler32":
                return of(new Adler32(), data, 0, data.length);
            case "internet_checksum":
                long sum = sum(data, 2, false);
                while (sum >>> 16 != 0) {
                    sum = (sum & 0xFFFF) + (sum >>> 16);
                }
                return sum ^ 0xFFFF;
            default:
        }
        long found = 0;
        for (byte each : data) {
            found ^= each & 0xFF;
            for (int bit = 0; bit < 8 && name.equals("crc16_arc"); bit++) {
                found = found >>> 1 ^ ((found & 1) == 0 ? 0 : 0xA001);
            }
        }
        return found;
    }

    /** A CRC of a width with the most significant bit of each byte first. */
    private static long upwards(byte[] data, int width, long poly, long start) {
        long found = start;
        for (byte each : data) {
            found ^= (each & 0xFFL) << width - 8;
            for (int bit = 0; bit < 8; bit++) {
                found = found << 1 ^ ((found >>> width - 1 & 1) == 0 ? 0 : poly);
            }
        }
        return found & (1L << width) - 1;
    }

    static long sum(byte[] data, int size, boolean isLittle) {
        long found = 0;
        for (int at = 0; at < data.length; at++) {
            int place = at % size;
            found += (data[at] & 0xFFL) << 8 * (isLittle ? place : size - 1 - place);
        }
        return found;
    }

    static byte[] digest(String name, byte[] data) {
        try {
            return MessageDigest.getInstance(name.replace("sha", "SHA-")).digest(data);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    /** What bytes decompress to; null if they do not begin with a whole stream, or become more than {@code limit}. */
    static byte[] unpacked(String form, byte[] data, long limit) {
        Inflater inflater = new Inflater(form.equals("deflate"));
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        try (InputStream gzip = form.equals("gzip") ? new GZIPInputStream(new ByteArrayInputStream(data)) : null) {
            inflater.setInput(data);
            while (found.size() <= limit) {
                int more = gzip == null ? inflater.inflate(part) : gzip.read(part);
                if (more <= 0) {
                    return gzip != null || inflater.finished() ? found.toByteArray() : null;
                }
                found.write(part, 0, more);
            }
            return null;
        } catch (IOException | DataFormatException error) {
            return null;
        } finally {
            inflater.end();
        }
    }
}
