package org.kodec.spark;

import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Buffer;
import org.kodec.runtime.Codecs;

/**
 * One complete batch with its bytes, for uses that read few batches; {@link Batches} reads rows.
 *
 * @param position in the segment
 * @param last the last offset
 * @param rows of a list of records whose header is read, otherwise null; {@code old} for messages
 */
record Batch(byte[] data, long position, long last, RecordBatch.Rows rows, MessageSet.Rows old) {
    private static final long OLD =
            MessageSet.Rows.OFFSET | MessageSet.Rows.TIMESTAMP | MessageSet.Rows.TIMESTAMP_TYPE;

    /** The batch in all of {@code data}, without verifying its checksum; null if there is none. */
    static Batch of(byte[] data, long position) {
        Frame frame = Frame.peek(data, 0, data.length);
        if (frame == null || !frame.known()) {
            return null;
        }
        if (!frame.isList()) {
            MessageSet.Rows old = new MessageSet.Rows(OLD, 1);
            boolean right = old.head(data, 0, data.length, false) && old.codec() != null && old.unitEnd == data.length;
            return right ? new Batch(data, position, frame.offset(), null, old) : null;
        }
        RecordBatch.Rows rows = new RecordBatch.Rows(RecordBatch.Rows.OFFSET | RecordBatch.Rows.TIMESTAMP, 1);
        if (!rows.head(data, 0, data.length, false) || rows.codec() == null) {
            return null;
        }
        return new Batch(data, position, frame.offset() + rows.headLastOffsetDelta, rows, null);
    }

    long size() {
        return data.length;
    }

    boolean crcOk() {
        return rows != null ? rows.head(data, 0, data.length, true) : old.head(data, 0, data.length, true);
    }

    /** The first offset; null if the content cannot be read. */
    Long first(ReadSettings reading) {
        if (rows != null) {
            return rows.headBaseOffset;
        }
        return old.codec().equals("none") ? (Long) last : decode(reading) ? (Long) old.offset[0] : null;
    }

    /** Fills the arrays with the offsets and timestamps of its records; returns false if they cannot be read. */
    boolean decode(ReadSettings reading) {
        Buffer raw = new Buffer(1 << 12);
        try (Codecs codecs = new Codecs()) {
            if (rows != null) {
                rows.clear();
                return CompressedContent.records(rows, data, codecs, raw, reading);
            }
            old.clear();
            old.head(data, 0, data.length, false);
            return old.codec().equals("none") ? old.add() : CompressedContent.messages(old, data, codecs, raw, reading);
        }
    }

    int count() {
        return rows != null ? rows.count : old.count;
    }

    long offset(int index) {
        return rows != null ? rows.offset[index] : old.offset[index];
    }

    long timestamp(int index) {
        return rows != null ? rows.timestamp[index] : old.timestamp[index];
    }
}
