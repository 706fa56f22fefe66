package org.kodec.spark;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.kodec.runtime.Checksums;
import org.kodec.runtime.FormatException;

/** Files that are no log of Kafka's. The rules are those of {@code kodec.log.reading.foreign}. */
final class Foreign {
    private static final int REDPANDA_HEADER = 61;
    private static final int AUTOMQ_BLOCK = 11;
    private static final long AUTOMQ_END = 0x88E241B785F4CFF7L;

    private Foreign() {}

    /** Evidence that a file whose first batch cannot be read is not a log of Kafka; null if there is none. */
    static FormatException error(Pages source) {
        String have = name(source);
        return have == null ? null
                : FormatException.unsupported("", "not Kafka's format", 0, "a log of Kafka", have);
    }

    private static String name(Pages source) {
        byte[] head = source.read(0, REDPANDA_HEADER);
        ByteBuffer in = ByteBuffer.wrap(head);
        if (head.length == REDPANDA_HEADER) {
            in.order(ByteOrder.LITTLE_ENDIAN);
            long stored = Integer.toUnsignedLong(in.getInt(0));
            if (in.getInt(4) >= REDPANDA_HEADER && Checksums.crc32c(head, 4, head.length) == stored) {
                return "a segment of Redpanda";
            }
            in.order(ByteOrder.BIG_ENDIAN);
        }
        if (head.length >= AUTOMQ_BLOCK && head[0] == 0x5A && head[10] == 0x22 && in.getInt(2) > 0 && in.getInt(6) > 0) {
            return "an object of AutoMQ";
        }
        byte[] end = source.read(Math.max(source.size - 8, 0), 8);
        if (end.length == 8 && ByteBuffer.wrap(end).getLong() == AUTOMQ_END) {
            return "an object of AutoMQ";
        }
        int first = head.length < 4 ? 0 : in.getInt(0);
        return switch (first) {
            case 0x12345678, 0x12345679 -> "a write-ahead log of AutoMQ";
            case 0x28B52FFD -> "a zstd file";
            case 0x50415231 -> "a Parquet file";
            default -> first >>> 8 == 0x1F8B08 ? "a gzip file" : null;
        };
    }
}
