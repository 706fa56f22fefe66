package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarArray;

/** The rows of pieces of segments as the Spark source gives them, without Spark: JSON for SegmentDump's callers. */
public final class SegmentDump {
    private SegmentDump() {}

    /**
     * Reads one segment in tasks of a number of bytes each.
     *
     * @param text path, base offset, the next segment's (-1 for none), first and last offset, bytes of a task, by
     *     tabs
     */
    public static String rows(byte[] text) throws IOException {
        String[] words = new String(text, java.nio.charset.StandardCharsets.UTF_8).split("\t");
        Configuration conf = new Configuration(false);
        ReadSettings reading = new ReadSettings(true, 1 << 30, 256 << 20, 1_000_000, false, false, false,
                Long.parseLong(words[3]), Long.parseLong(words[4]), Long.MIN_VALUE, null, Long.MAX_VALUE);
        long size = Files.at(words[0], conf).size();
        SegmentSlice piece = SegmentSlice.of(new Names.TopicPartition("orders", 0), words[0], Long.parseLong(words[1]), size,
                Long.parseLong(words[2]));
        StringJoiner found = new StringJoiner(",", "[", "]");
        for (List<SegmentSlice> task : Planner.pack(List.of(piece), Planner.Bounds.NONE, Long.parseLong(words[5]), -1, reading, conf)) {
            read(new LogPartition(task), reading, conf, found);
        }
        return found.toString();
    }

    /** Text as the driver's log has it: a JSON string. */
    public static String shown(byte[] text) {
        String found = DriverLog.shown(new String(text, java.nio.charset.StandardCharsets.UTF_8));
        return "\"" + found.replace("\\", "\\\\") + "\"";
    }

    private static void read(LogPartition task, ReadSettings reading, Configuration conf, StringJoiner into)
            throws IOException {
        try (LogReader reader = new LogReader(task, reading, Columns.WITH_HEADERS, conf)) {
            while (reader.next()) {
                ColumnarBatch batch = reader.get();
                for (int row = 0; row < batch.numRows(); row++) {
                    into.add(row(batch, row));
                }
            }
        }
    }

    private static String row(ColumnarBatch batch, int row) {
        List<String> found = new ArrayList<>();
        found.add(Long.toString(batch.column(4).getLong(row)));
        found.add(Long.toString(batch.column(5).getLong(row) / 1000));
        found.add(Integer.toString(batch.column(6).getInt(row)));
        found.add(hex(batch.column(0).isNullAt(row) ? null : batch.column(0).getBinary(row)));
        found.add(hex(batch.column(1).isNullAt(row) ? null : batch.column(1).getBinary(row)));
        StringJoiner headers = new StringJoiner(",", "[", "]");
        if (!batch.column(7).isNullAt(row)) {
            ColumnarArray array = batch.column(7).getArray(row);
            for (int index = 0; index < array.numElements(); index++) {
                byte[] value = array.getStruct(index, 2).isNullAt(1) ? null : array.getStruct(index, 2).getBinary(1);
                headers.add("[" + hex(array.getStruct(index, 2).getUTF8String(0).getBytes()) + "," + hex(value) + "]");
            }
        }
        found.add(headers.toString());
        return "[" + String.join(",", found) + "]";
    }

    private static String hex(byte[] data) {
        return data == null ? "null" : "\"" + org.kodec.runtime.Values.hex(Arrays.copyOf(data, data.length)) + "\"";
    }
}
