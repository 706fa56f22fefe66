package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;

/**
 * The source as a stream: a log directory that grows, in micro-batches. Offsets have the JSON form of Spark's Kafka
 * source, and mean what they mean there: the next one to read. A batch that is not whole yet is not there yet.
 */
final class LogStream implements MicroBatchStream, SupportsTriggerAvailableNow {
    private final Options options;
    private final StructType columns;
    private final Configuration conf;
    private final Options.Edge start;
    /** Where a query that is to end, ends; null for one that goes on. */
    private Map<Names.TopicPartition, Long> last;

    LogStream(Options options, StructType columns, Configuration conf) {
        this.options = options;
        this.columns = columns;
        this.conf = conf;
        start = options.startOfStream();
    }

    /** By topic and partition the next offset to read. */
    static final class At extends Offset {
        final Map<Names.TopicPartition, Long> next;

        At(Map<Names.TopicPartition, Long> next) {
            this.next = new TreeMap<>(next);
        }

        @Override
        public String json() {
            StringBuilder made = new StringBuilder("{");
            String topic = null;
            for (Map.Entry<Names.TopicPartition, Long> each : next.entrySet()) {
                boolean same = each.getKey().topic().equals(topic);
                made.append(same ? "," : topic == null ? "" : "},");
                topic = each.getKey().topic();
                made.append(same ? "" : "\"" + topic + "\":{");
                made.append('"').append(each.getKey().partition()).append("\":").append(each.getValue());
            }
            return made.append(topic == null ? "}" : "}}").toString();
        }
    }

    private Map<Names.TopicPartition, TopicLog> logs() throws IOException {
        return Planner.logs(options, Planner.Bounds.NONE, conf);
    }

    private Map<Names.TopicPartition, Long> ends(Map<Names.TopicPartition, TopicLog> logs) throws IOException {
        Map<Names.TopicPartition, Long> found = new TreeMap<>();
        for (Map.Entry<Names.TopicPartition, TopicLog> each : logs.entrySet()) {
            found.put(each.getKey(), each.getValue().stableEnd(options.committed));
        }
        return found;
    }

    /** Where a new query starts, by the options. */
    @Override
    public Offset initialOffset() {
        return LogScan.planned(() -> {
            Map<Names.TopicPartition, Long> found = new TreeMap<>();
            for (Map.Entry<Names.TopicPartition, TopicLog> each : logs().entrySet()) {
                found.put(each.getKey(), each.getValue().resolved(start, options, true));
            }
            return new At(found);
        });
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is to be called");
    }

    /** How far the next micro-batch goes: to what is there now, at most so many offsets from {@code from}. */
    @Override
    public Offset latestOffset(Offset from, ReadLimit limit) {
        return LogScan.planned(() -> {
            Map<Names.TopicPartition, TopicLog> logs = logs();
            Map<Names.TopicPartition, Long> ends = onward(((At) from).next, last == null ? ends(logs) : last, logs);
            if (limit instanceof ReadMaxRows most) {
                ends = limited(((At) from).next, ends, logs, most.maxRows());
            }
            return new At(ends);
        });
    }

    /** The ends, and of a query that is beyond one, in a transaction that is open, where it is. */
    private static Map<Names.TopicPartition, Long> onward(Map<Names.TopicPartition, Long> from,
            Map<Names.TopicPartition, Long> ends, Map<Names.TopicPartition, TopicLog> logs) throws IOException {
        Map<Names.TopicPartition, Long> found = new TreeMap<>(ends);
        for (Map.Entry<Names.TopicPartition, Long> each : found.entrySet()) {
            TopicLog log = logs.get(each.getKey());
            long begin = from.getOrDefault(each.getKey(), -1L);
            if (log != null && begin > each.getValue()) {
                each.setValue(Math.max(each.getValue(), Math.min(begin, log.stableEnd(false))));
            }
        }
        return found;
    }

    /** About so many offsets, shared by what each topic-partition has; at least one of each that has some. */
    private static Map<Names.TopicPartition, Long> limited(Map<Names.TopicPartition, Long> from,
            Map<Names.TopicPartition, Long> ends, Map<Names.TopicPartition, TopicLog> logs, long most) {
        Map<Names.TopicPartition, Long> begins = new TreeMap<>();
        long total = 0;
        for (Map.Entry<Names.TopicPartition, Long> each : ends.entrySet()) {
            TopicLog log = logs.get(each.getKey());
            long begin = from.getOrDefault(each.getKey(), log == null ? 0 : log.earliest());
            begins.put(each.getKey(), begin);
            total += Math.max(0, each.getValue() - begin);
        }
        if (total <= most) {
            return ends;
        }
        Map<Names.TopicPartition, Long> found = new TreeMap<>();
        for (Map.Entry<Names.TopicPartition, Long> each : ends.entrySet()) {
            long begin = begins.get(each.getKey());
            long size = Math.max(0, each.getValue() - begin);
            long share = Math.max(1, (long) ((double) most / total * size));
            found.put(each.getKey(), size == 0 ? each.getValue() : begin + Math.min(size, share));
        }
        return found;
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
        return options.triggerOffsets < 0 ? ReadLimit.allAvailable() : ReadLimit.maxRows(options.triggerOffsets);
    }

    @Override
    public Offset reportLatestOffset() {
        return LogScan.planned(() -> new At(ends(logs())));
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        last = LogScan.planned(() -> ends(logs()));
    }

    /** The offsets of a checkpoint, which may be that of another source. */
    @Override
    public Offset deserializeOffset(String json) {
        Map<Names.TopicPartition, Long> found = Options.offsets(json);
        if (found == null) {
            throw new IllegalArgumentException(
                    "kafka-log: the checkpoint has " + json + "; expected JSON like {\"orders\":{\"0\":23}}");
        }
        return new At(found);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset from, Offset to) {
        return LogScan.tasks(options, Planner.Bounds.NONE, conf, () -> pieces(((At) from).next, ((At) to).next));
    }

    /** What lies between two offsets. Throws DataLossException where some of it is not there. */
    private List<Piece> pieces(Map<Names.TopicPartition, Long> first, Map<Names.TopicPartition, Long> until)
            throws IOException {
        Map<Names.TopicPartition, TopicLog> logs = logs();
        for (Names.TopicPartition each : new TreeSet<>(first.keySet())) {
            if (!until.containsKey(each)) {
                TopicLog.loss(options, each + " is gone; the query had read up to " + first.get(each));
            }
        }
        List<Piece> found = new ArrayList<>();
        for (Map.Entry<Names.TopicPartition, Long> each : until.entrySet()) {
            TopicLog log = logs.get(each.getKey());
            long from = first.getOrDefault(each.getKey(), -1L);
            if (log != null) {
                found.addAll(log.between(from, each.getValue(), options));
            } else if (Math.max(0, from) < each.getValue()) {
                TopicLog.loss(options, each.getKey() + " is gone, with offsets up to " + each.getValue());
            }
        }
        return found;
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return LogScan.Factory.of(options, Reading.of(options), columns, null, conf);
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
}
