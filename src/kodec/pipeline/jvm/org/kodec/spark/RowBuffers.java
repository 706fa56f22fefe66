package org.kodec.spark;

import java.io.Closeable;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Buffer;
import org.kodec.runtime.Codecs;

/** The rows of batches that were appended, and the bytes that they point into. */
final class RowBuffers implements Closeable {
    /** Where the rows are. */
    enum Kind {
        NONE,
        PLAIN,
        DECOMPRESSED,
        OLD_PLAIN,
        OLD_DECOMPRESSED
    }

    /** Rows of lists of records. */
    final RecordBatch.Rows rows;
    /** Rows of messages, alone or in wrappers. */
    final MessageSet.Rows old;
    /** What was decompressed. */
    final Buffer raw = new Buffer(1 << 16);

    private final Codecs codecs = new Codecs();
    private Kind kind = Kind.NONE;

    RowBuffers(long columns, long oldColumns) {
        rows = new RecordBatch.Rows(columns, 1024);
        old = new MessageSet.Rows(oldColumns, columns == 0 ? 1 : 1024);
    }

    int count() {
        return rows.count + old.count;
    }

    /** Whether rows point into the bytes of the file. */
    boolean plain() {
        return kind == Kind.PLAIN || kind == Kind.OLD_PLAIN;
    }

    /** Forgets the rows. */
    void clear() {
        rows.clear();
        old.clear();
        raw.size = 0;
        kind = Kind.NONE;
    }

    /** Whether the rows of the batch whose head was read last, of a list of records or not, can be appended. */
    boolean takes(boolean isList) {
        Kind wanted = isList
                ? rows.codec().equals("none") ? Kind.PLAIN : Kind.DECOMPRESSED
                : old.codec().equals("none") ? Kind.OLD_PLAIN : Kind.OLD_DECOMPRESSED;
        if (kind != wanted && count() > 0) {
            return false;
        }
        kind = wanted;
        return true;
    }

    /** Appends the rows of that batch; returns false, and appends none, if it is damaged. */
    boolean add(byte[] data, ReadSettings reading) {
        return switch (kind) {
            case PLAIN, DECOMPRESSED -> CompressedContent.records(rows, data, codecs, raw, reading);
            case OLD_PLAIN -> old.add();
            default -> CompressedContent.messages(old, data, codecs, raw, reading);
        };
    }

    @Override
    public void close() {
        codecs.close();
    }
}
