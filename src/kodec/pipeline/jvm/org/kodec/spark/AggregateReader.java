package org.kodec.spark;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;

/**
 * One row for a task: its number of records, and their smallest and largest offsets and timestamps.
 *
 * <p>The header of a batch has them if compaction has removed nothing, so that all offsets are present. Otherwise, and
 * for timestamps that producers set, the records are read. Checksums are verified.
 */
final class AggregateReader implements PartitionReader<InternalRow> {
    final Batches batches;
    private final List<String> wanted;
    private final boolean offsets;
    private final boolean timestamps;
    private long count;
    private long firstOffset = Long.MAX_VALUE;
    private long lastOffset = Long.MIN_VALUE;
    private long firstTimestamp = Long.MAX_VALUE;
    private long lastTimestamp = Long.MIN_VALUE;
    private boolean given;
    private String path;

    AggregateReader(LogPartition task, ReadSettings reading, List<String> wanted, Configuration conf) {
        this.wanted = wanted;
        offsets = wanted.stream().anyMatch(each -> each.endsWith(" offset"));
        timestamps = wanted.stream().anyMatch(each -> each.endsWith(" timestamp"));
        long columns = RecordBatch.Rows.OFFSET | (timestamps ? RecordBatch.Rows.TIMESTAMP : 0);
        long old = MessageSet.Rows.OFFSET
                | (timestamps ? MessageSet.Rows.TIMESTAMP | MessageSet.Rows.TIMESTAMP_TYPE : 0);
        batches = new Batches(task.pieces(), reading, conf, columns, old);
    }

    @Override
    public boolean next() throws IOException {
        if (given) {
            return false;
        }
        given = true;
        while (true) {
            Step step = batches.advance();
            if (step == Step.END) {
                return true;
            }
            if (step == Step.BATCH) {
                if (batches.walk.isList() && known()) {
                    batches.walk.skip();
                    continue;
                }
                // the piece may end with the batch
                path = batches.walk.piece.path();
                long first = batches.walk.wanted.first();
                long last = batches.walk.wanted.last();
                batches.walk.append();
                rows(first, last);
            }
            batches.rows.clear();
        }
    }

    /** Uses the header, if that is all that is needed. */
    private boolean known() {
        RecordBatch.Rows head = batches.rows.rows;
        boolean whole = head.headNumRecords == head.headLastOffsetDelta + 1L;
        boolean inside = head.offsetFirst() >= batches.walk.wanted.first() && head.offsetLast() <= batches.walk.wanted.last();
        boolean appended =
                head.headAttributesTimestampType == RecordBatch.TimestampType.LOG_APPEND_TIME.value();
        // a bound inside the batch is one of its records', and a header may end below them
        if (!inside || (offsets || batches.walk.wanted.bounded()) && !whole || timestamps && !appended) {
            return false;
        }
        count += head.headNumRecords;
        offset(head.offsetFirst());
        offset(head.offsetLast());
        if (timestamps) {
            timestamp(head.headMaxTimestamp);
        }
        return true;
    }

    private void rows(long first, long last) {
        boolean lists = batches.rows.rows.count > 0;
        int rows = batches.rows.count();
        long[] ofOffsets = lists ? batches.rows.rows.offset : batches.rows.old.offset;
        long[] ofTimestamps = lists ? batches.rows.rows.timestamp : batches.rows.old.timestamp;
        for (int row = 0; row < rows; row++) {
            long at = ofOffsets[row];
            if (at < first || at > last) {
                continue;
            }
            count++;
            offset(at);
            if (timestamps) {
                timestamp(ofTimestamps[row]);
            }
        }
    }

    private void offset(long value) {
        firstOffset = Math.min(firstOffset, value);
        lastOffset = Math.max(lastOffset, value);
    }

    private void timestamp(long value) {
        if (value > Long.MAX_VALUE / 1000 || value < -(Long.MAX_VALUE / 1000)) {
            throw new IllegalArgumentException(path + ": the timestamp " + value
                    + " ms is outside Spark's range of timestamps");
        }
        firstTimestamp = Math.min(firstTimestamp, value);
        lastTimestamp = Math.max(lastTimestamp, value);
    }

    @Override
    public InternalRow get() {
        Object[] values = new Object[wanted.size()];
        for (int index = 0; index < values.length; index++) {
            values[index] = switch (wanted.get(index)) {
                case "count" -> count;
                case "min offset" -> count == 0 ? null : (Object) firstOffset;
                case "max offset" -> count == 0 ? null : (Object) lastOffset;
                case "min timestamp" -> count == 0 ? null : (Object) (firstTimestamp * 1000);
                default -> count == 0 ? null : (Object) (lastTimestamp * 1000);
            };
        }
        return new GenericInternalRow(values);
    }

    @Override
    public void close() throws IOException {
        batches.close();
    }
}
