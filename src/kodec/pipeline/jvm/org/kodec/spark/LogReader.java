package org.kodec.spark;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;

/** The rows of one task as columnar batches, over the arrays that the generated readers fill. */
final class LogReader implements PartitionReader<ColumnarBatch> {
    /** So many decompressed rows of usual size fit the processor's own cache. */
    private static final int ROWS = 4096;
    /** Spark closes the reader once a limit is met, so the first batch is small. */
    private static final int FIRST_ROWS = 1000;
    private static final int BYTES = 4 << 20;
    private static final long MOST_MILLIS = Long.MAX_VALUE / 1000;

    final Batches batches;
    private final ReadSettings reading;
    private final ColumnarBatch given;
    private final Map<String, ColumnVector> all = new HashMap<>();
    private final Columns.Spans key = new Columns.Spans(DataTypes.BinaryType);
    private final Columns.Spans value = new Columns.Spans(DataTypes.BinaryType);
    private final Columns.SameText topic = new Columns.SameText();
    private final Columns.SameInt partition = new Columns.SameInt();
    private final Columns.Longs offset = new Columns.Longs();
    private final Columns.Times timestamp = new Columns.Times();
    private final Columns.Ints type = new Columns.Ints();
    private final Columns.Headers headers = new Columns.Headers();
    private final boolean times;
    private final Columns.Heads heads = new Columns.Heads();
    private final boolean headed;
    private boolean pending;
    private long left;
    private int wanted = FIRST_ROWS;

    LogReader(LogPartition task, ReadSettings reading, StructType columns, Configuration conf) {
        this.reading = reading;
        left = reading.limit();
        all.put("key", key);
        all.put("value", value);
        all.put("topic", topic);
        all.put("partition", partition);
        all.put("offset", offset);
        all.put("timestamp", timestamp);
        all.put("timestampType", type);
        all.put("headers", headers);
        long mask = RecordBatch.Rows.OFFSET;
        long old = MessageSet.Rows.OFFSET;
        ColumnVector[] vectors = new ColumnVector[columns.length()];
        String[] names = columns.fieldNames();
        times = Arrays.asList(names).contains("timestamp");
        headed = Arrays.stream(names).anyMatch(Columns::isOfBatch);
        for (int index = 0; index < names.length; index++) {
            if (Columns.isOfBatch(names[index])) {
                all.put(names[index], new Columns.BatchVector(names[index], heads));
            }
            vectors[index] = all.get(names[index]);
            switch (names[index]) {
                case "key" -> mask |= RecordBatch.Rows.KEY;
                case "value" -> mask |= RecordBatch.Rows.VALUE;
                case "timestamp" -> mask |= RecordBatch.Rows.TIMESTAMP;
                case "timestampType" -> mask |= RecordBatch.Rows.TIMESTAMP_TYPE;
                case "headers" -> mask |= RecordBatch.Rows.HEADERS;
                default -> { }
            }
        }
        mask |= reading.key() == null ? 0 : RecordBatch.Rows.KEY;
        old |= (mask & RecordBatch.Rows.KEY) == 0 ? 0 : MessageSet.Rows.KEY;
        old |= (mask & RecordBatch.Rows.VALUE) == 0 ? 0 : MessageSet.Rows.VALUE;
        // the type of a wrapper determines whose timestamps are used
        boolean both = (mask & (RecordBatch.Rows.TIMESTAMP | RecordBatch.Rows.TIMESTAMP_TYPE)) != 0;
        old |= both ? MessageSet.Rows.TIMESTAMP | MessageSet.Rows.TIMESTAMP_TYPE : 0;
        batches = new Batches(task.pieces(), reading, conf, mask, old);
        given = new ColumnarBatch(vectors);
    }

    @Override
    public boolean next() throws IOException {
        while (left > 0) {
            batches.rows.clear();
            if (!gather()) {
                return false;
            }
            int rows = taken();
            if (rows > 0) {
                int most = (int) Math.min(rows, left);
                left -= most;
                given.setNumRows(most);
                return true;
            }
        }
        return false;
    }

    /** Appends rows of batches until there are enough, or they cannot be put together. */
    private boolean gather() throws IOException {
        int most = wanted;
        wanted = ROWS;
        while (batches.rows.count() < most && batches.rows.raw.size < BYTES) {
            if (!pending) {
                Step step = batches.advance();
                if (step == Step.END) {
                    break;
                }
                if (step == Step.FLUSH) {
                    return true;
                }
                pending = true;
            }
            if (batches.rows.count() == 0) {
                topic.value = UTF8String.fromString(batches.walk.piece.topic());
                partition.value = batches.walk.piece.partition();
                first = batches.walk.wanted.first();
                last = batches.walk.wanted.last();
                path = batches.walk.piece.path();
                heads.clear();
            } else if (first != batches.walk.wanted.first() || last != batches.walk.wanted.last()) {
                return true;
            }
            int before = batches.rows.count();
            if (!batches.walk.append()) {
                return true;
            }
            if (headed && batches.rows.count() > before) {
                heads.add(batches.rows.count(), batches);
            }
            pending = false;
        }
        return batches.rows.count() > 0;
    }

    private long first;
    private long last;
    private String path;

    /** Sets the arrays of the vectors; returns the number of rows. */
    private int taken() {
        int count = batches.rows.count();
        boolean lists = batches.rows.rows.count > 0;
        boolean plain = batches.rows.plain();
        byte[] buf = plain ? batches.window.data : batches.rows.raw.data;
        key.buf = buf;
        value.buf = buf;
        if (lists) {
            RecordBatch.Rows rows = batches.rows.rows;
            spans(key, rows.keyStart, rows.keyLength);
            spans(value, rows.valueStart, rows.valueLength);
            offset.values = rows.offset;
            timestamp.millis = rows.timestamp;
            type.values = rows.timestampType;
            headers.start = rows.headersStart;
            headers.pairs.keys.buf = buf;
            headers.pairs.values.buf = buf;
            spans(headers.pairs.keys, rows.headersKeyStart, rows.headersKeyLength);
            spans(headers.pairs.values, rows.headersValueStart, rows.headersValueLength);
        } else {
            MessageSet.Rows rows = batches.rows.old;
            spans(key, rows.keyStart, rows.keyLength);
            spans(value, rows.valueStart, rows.valueLength);
            offset.values = rows.offset;
            timestamp.millis = rows.timestamp;
            type.values = rows.timestampType;
            headers.start = null;
        }
        int[] chosen = chosen(count);
        for (ColumnVector each : all.values()) {
            ((Columns.Vector) each).chosen = chosen;
            if (each instanceof Columns.BatchVector of) {
                of.offsets = offset.values;
            }
        }
        int rows = chosen == null ? count : chosen.length;
        if (times) {
            inRange(rows, chosen);
        }
        return rows;
    }

    private static void spans(Columns.Spans into, int[] start, int[] length) {
        into.start = start;
        into.length = length;
    }

    /** Of the rows those with the offsets, and the key, that are asked for; null for all. */
    private int[] chosen(int count) {
        long[] offsets = offset.values;
        boolean inside = true;
        // also those of one batch may be in any order
        for (int row = 0; row < count && (first > Long.MIN_VALUE || last < Long.MAX_VALUE); row++) {
            inside &= first <= offsets[row] && offsets[row] <= last;
        }
        if (inside && reading.key() == null) {
            return null;
        }
        byte[] wantedKey = reading.key();
        return Columns.chosen(count, row -> {
            if (offsets[row] < first || offsets[row] > last) {
                return 0;
            }
            if (wantedKey == null) {
                return 1;
            }
            int start = key.start[row];
            int length = key.length[row];
            boolean same = length == wantedKey.length
                    && Arrays.equals(key.buf, start, start + length, wantedKey, 0, length);
            return same ? 1 : 0;
        });
    }

    private void inRange(int rows, int[] chosen) {
        long[] millis = timestamp.millis;
        for (int row = 0; row < rows; row++) {
            long each = millis[chosen == null ? row : chosen[row]];
            if (each > MOST_MILLIS || each < -MOST_MILLIS) {
                long at = offset.values[chosen == null ? row : chosen[row]];
                throw new IllegalArgumentException(path + ": the timestamp " + each + " ms at offset " + at
                        + " is outside Spark's range of timestamps");
            }
        }
    }

    @Override
    public ColumnarBatch get() {
        return given;
    }

    @Override
    public void close() throws IOException {
        batches.close();
    }
}
