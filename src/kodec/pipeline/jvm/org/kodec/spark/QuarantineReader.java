package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;

/** What is not among the rows of one task: they are read as for a query, and forgotten. */
final class QuarantineReader implements PartitionReader<InternalRow> {
    private final Batches batches;
    private final String[] columns;
    private final Deque<QuarantinedRange> found = new ArrayDeque<>();

    QuarantineReader(LogPartition task, ReadSettings reading, StructType columns, Configuration conf) {
        this.columns = columns.fieldNames();
        // numbers that are computed may not fit
        long wanted = RecordBatch.Rows.OFFSET | RecordBatch.Rows.TIMESTAMP;
        long old = MessageSet.Rows.OFFSET | MessageSet.Rows.TIMESTAMP | MessageSet.Rows.TIMESTAMP_TYPE;
        batches = new Batches(task.pieces(), reading, conf, wanted, old);
    }

    @Override
    public boolean next() throws IOException {
        found.poll();
        while (found.isEmpty()) {
            Step step = batches.advance();
            if (step == Step.BATCH) {
                batches.walk.append();
            }
            batches.rows.clear();
            found.addAll(batches.left.found);
            batches.left.found.clear();
            if (step == Step.END) {
                return !found.isEmpty();
            }
        }
        return true;
    }

    @Override
    public InternalRow get() {
        QuarantinedRange left = found.peek();
        Object[] values = new Object[columns.length];
        for (int index = 0; index < values.length; index++) {
            values[index] = switch (columns[index]) {
                case "topic" -> UTF8String.fromString(left.topic());
                case "partition" -> left.partition();
                case "file" -> UTF8String.fromString(left.file());
                case "position" -> left.position();
                case "size" -> left.size();
                case "firstOffset" -> left.firstOffset();
                case "lastOffset" -> left.lastOffset();
                case "kind" -> UTF8String.fromString(left.kind());
                default -> UTF8String.fromString(left.message());
            };
        }
        return new GenericInternalRow(values);
    }

    @Override
    public void close() throws IOException {
        batches.close();
    }
}
