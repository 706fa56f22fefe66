package org.kodec.spark;

import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Buffer;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.FormatException;

/** The compressed content of a batch whose head was read. Methods return false, and keep nothing, if it is invalid. */
final class CompressedContent {
    private CompressedContent() {}

    /** Appends the records of a batch; decompressed bytes are appended to {@code raw}. */
    static boolean records(RecordBatch.Rows rows, byte[] buf, Codecs codecs, Buffer raw, ReadSettings reading) {
        int start = rows.headRecordsStart;
        int stop = start + rows.headRecordsLength;
        if (rows.codec().equals("none") || rows.headNumRecords == 0) {
            return rows.rows(buf, start, stop, reading.elements());
        }
        if (rows.headNumRecords > reading.elements()) {
            return false;
        }
        int before = raw.size;
        try {
            codecs.decompress(rows.codec(), buf, start, stop, raw, reading.decompressedBytes());
        } catch (FormatException error) {
            return false;
        }
        return rows.rows(raw.data, before, raw.size, reading.elements());
    }

    /**
     * Appends the messages of a wrapper, with the offsets and timestamps that follow from it: the rules of
     * {@code kodec.log.batches.wrapper}.
     */
    static boolean messages(MessageSet.Rows old, byte[] buf, Codecs codecs, Buffer raw, ReadSettings reading) {
        if (old.headMessageValueLength < 0) {
            return false;
        }
        long wrapper = old.headOffset;
        int magic = old.headMessageMagic;
        long timestamp = old.headMessageTimestamp;
        int type = magic == 0 ? -1 : old.headMessageAttributesTimestampType;
        int first = old.count;
        int start = raw.size;
        try {
            codecs.decompress(old.codec(), buf, old.headMessageValueStart,
                    old.headMessageValueStart + old.headMessageValueLength, raw, reading.decompressedBytes());
        } catch (FormatException error) {
            return false;
        }
        boolean right = raw.size > start;
        for (int pos = start; pos < raw.size && right; pos = old.unitEnd) {
            right = old.head(raw.data, pos, raw.size, reading.checkCrc()) && "none".equals(old.codec())
                    && old.count - first < reading.elements() && old.add();
        }
        long base = magic != 0 && wrapper != 0 ? wrapper - old.headOffset : 0;
        if (!right || base < 0) {
            old.count = first;
            raw.size = start;
            return false;
        }
        boolean appended = type == MessageSet.TimestampType.LOG_APPEND_TIME.value();
        for (int n = first; n < old.count; n++) {
            if (old.offset != null) {
                old.offset[n] += base;
            }
            if (old.timestampType != null && old.timestampType[n] >= 0) {
                old.timestampType[n] = type;
            }
            if (appended && old.timestamp != null && old.timestampType != null && old.timestampType[n] >= 0) {
                old.timestamp[n] = timestamp;
            }
        }
        return true;
    }
}
