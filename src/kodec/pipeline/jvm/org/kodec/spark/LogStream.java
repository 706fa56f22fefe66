package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;

/**
 * The source as a stream: a log directory that grows, in micro-batches. Offsets have the JSON form of Spark's Kafka
 * source, with the same meaning: the next one to read. An incomplete batch is not read yet.
 */
final class LogStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
    /** In ms: how long a store that is asked by requests is left alone where nothing was new. */
    private static final long PAUSE = 1_000;

    private final Options options;
    private final StructType columns;
    private final Configuration conf;
    private final Options.Edge start;
    /** Where a query with an end ends; null for one that continues. */
    private Map<Names.TopicPartition, Long> last;
    /** The ends of the logs when they were listed last, the time in ms, and what was new then. */
    private Map<Names.TopicPartition, Long> known = Map.of();
    private long looked = -PAUSE;
    private boolean idle;
    private final Set<Names.TopicPartition> gone = new TreeSet<>();
    /** In ms: when the last micro-batch that did not wait was created. */
    private long triggered = Long.MIN_VALUE;
    private Offset initial;
    /** Those of the last micro-batch, and its offsets. */
    private InputPartition[] tasks;
    private List<String> tasksBetween;
    private final LongAccumulator bytes = counter("kafka-log: bytes read");
    private final LongAccumulator skipped = counter("kafka-log: ranges skipped");

    LogStream(Options options, StructType columns, Configuration conf) {
        this.options = options;
        this.columns = columns;
        this.conf = conf;
        start = options.startOfStream();
    }

    /** By topic and partition the next offset to read, and the topics' ids where they are known. */
    static final class At extends Offset {
        final Map<Names.TopicPartition, Long> next;
        final Map<Names.TopicPartition, String> ids;

        At(Map<Names.TopicPartition, Long> next, Map<Names.TopicPartition, String> ids) {
            this.next = new TreeMap<>(next);
            this.ids = new TreeMap<>(ids);
            this.ids.keySet().retainAll(next.keySet());
        }

        @Override
        public String json() {
            String text = byTopic(next, "");
            String known = byTopic(ids, "\"");
            String comma = next.isEmpty() ? "" : ",";
            return ids.isEmpty() ? text
                    : text.substring(0, text.length() - 1) + comma + "\"" + Options.TOPIC_IDS + "\":" + known + "}";
        }

        private static String byTopic(Map<Names.TopicPartition, ?> values, String quote) {
            StringBuilder made = new StringBuilder("{");
            String topic = null;
            for (Map.Entry<Names.TopicPartition, ?> each : values.entrySet()) {
                boolean same = each.getKey().topic().equals(topic);
                made.append(same ? "," : topic == null ? "" : "},");
                topic = each.getKey().topic();
                made.append(same ? "" : "\"" + topic + "\":{");
                made.append('"').append(each.getKey().partition()).append("\":");
                made.append(quote).append(each.getValue()).append(quote);
            }
            return made.append(topic == null ? "}" : "}}").toString();
        }
    }

    /** The ids of the topics of logs, where they are known. */
    private static Map<Names.TopicPartition, String> ids(Map<Names.TopicPartition, TopicLog> logs) throws IOException {
        Map<Names.TopicPartition, String> found = new TreeMap<>();
        for (Map.Entry<Names.TopicPartition, TopicLog> each : logs.entrySet()) {
            String id = each.getValue().topicId();
            if (id != null) {
                found.put(each.getKey(), id);
            }
        }
        return found;
    }

    /** The positions without those in logs of topics that were deleted and created again: those are new. */
    private static Map<Names.TopicPartition, Long> kept(At from, Map<Names.TopicPartition, String> ids,
            Map<Names.TopicPartition, TopicLog> logs, Losses losses) {
        Map<Names.TopicPartition, Long> found = new TreeMap<>(from.next);
        for (Map.Entry<Names.TopicPartition, String> each : from.ids.entrySet()) {
            String now = ids.get(each.getKey());
            if (now != null && !now.equals(each.getValue()) && logs.containsKey(each.getKey()) && found.containsKey(each.getKey())) {
                losses.missing(each.getKey() + " is of topic id " + now + ", and the query had read " + each.getValue()
                        + " up to offset " + found.remove(each.getKey()) + ": the topic was deleted and created again");
            }
        }
        return found;
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
        if (initial != null) {
            // Spark asks for it more than once
            return initial;
        }
        initial = planned(losses -> {
            Map<Names.TopicPartition, Long> found = new TreeMap<>();
            Map<Names.TopicPartition, TopicLog> logs = logs();
            for (Map.Entry<Names.TopicPartition, TopicLog> each : logs.entrySet()) {
                found.put(each.getKey(), each.getValue().resolved(start, options, true, losses));
            }
            return new At(found, ids(logs));
        });
        return initial;
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is to be called");
    }

    /** The end of the next micro-batch: the current end, at most a number of offsets after {@code from}. */
    @Override
    public Offset latestOffset(Offset from, ReadLimit limit) {
        if (idle && now() - looked < PAUSE) {
            return from;
        }
        return planned(losses -> {
            Map<Names.TopicPartition, TopicLog> logs = logs();
            known = ends(logs);
            looked = now();
            Map<Names.TopicPartition, String> ids = ids(logs);
            Map<Names.TopicPartition, Long> ends = new TreeMap<>(last == null ? known : last);
            for (Map.Entry<Names.TopicPartition, Long> each : ((At) from).next.entrySet()) {
                TopicLog log = logs.get(each.getKey());
                if (log == null || log.pieces.isEmpty()) {
                    // it may come back, and is reported once
                    if (options.failOnDataLoss || gone.add(each.getKey())) {
                        losses.missing(each.getKey() + " is gone; the query had read up to " + each.getValue());
                    }
                    ends.put(each.getKey(), each.getValue());
                    ids.remove(each.getKey());
                    if (((At) from).ids.containsKey(each.getKey())) {
                        ids.put(each.getKey(), ((At) from).ids.get(each.getKey()));
                    }
                }
            }
            Map<Names.TopicPartition, Long> begin = kept((At) from, ids, logs, losses);
            ends = onward(begin, ends, logs);
            idle = ends.equals(begin) && !options.paths.stream().allMatch(Files::isLocal);
            if (limit instanceof ReadAllAvailable) {
                return new At(ends, ids);
            }
            if (last == null && waits(missing(begin, ends, logs))) {
                return from;
            }
            long most = limit instanceof ReadMaxRows rows ? rows.maxRows() : options.triggerOffsets;
            return new At(most < 0 ? ends : limited(begin, ends, logs, most), ids);
        });
    }

    /** What tasks count together; without Spark nobody does. */
    private static LongAccumulator counter(String name) {
        LongAccumulator made = new LongAccumulator();
        if (SparkEnv.get() != null) {
            SparkContext.getOrCreate().register(made, name);
        }
        return made;
    }

    private static long now() {
        return System.nanoTime() / 1_000_000;
    }

    /** Whether a micro-batch of a number of offsets waits for more, as in Spark's Kafka source: the first one does not.
     * */
    private boolean waits(long offsets) {
        boolean few = offsets < options.leastOffsets;
        if (few && triggered > Long.MIN_VALUE && now() - triggered < options.triggerDelay) {
            return true;
        }
        triggered = now();
        return false;
    }

    /** How many offsets lie between two places. */
    private static long missing(Map<Names.TopicPartition, Long> from, Map<Names.TopicPartition, Long> ends,
            Map<Names.TopicPartition, TopicLog> logs) {
        return ends.entrySet().stream()
                .mapToLong(each -> Math.max(0, each.getValue() - begin(from, each.getKey(), logs))).sum();
    }

    private static long begin(Map<Names.TopicPartition, Long> from, Names.TopicPartition owner,
            Map<Names.TopicPartition, TopicLog> logs) {
        TopicLog log = logs.get(owner);
        return from.getOrDefault(owner, log == null ? 0 : log.earliest());
    }

    /** The source's part of a query's progress: that of Spark's Kafka source, and what was read and skipped. */
    @Override
    public Map<String, String> metrics(Optional<Offset> consumed) {
        Map<String, String> made = new TreeMap<>();
        made.put("bytesRead", String.valueOf(bytes.value()));
        made.put("rangesSkipped", String.valueOf(skipped.value()));
        Map<Names.TopicPartition, Long> at = consumed.isPresent() && consumed.get() instanceof At given ? given.next : Map.of();
        LongSummaryStatistics behind = known.entrySet().stream().filter(each -> at.containsKey(each.getKey()))
                .mapToLong(each -> Math.max(0, each.getValue() - at.get(each.getKey()))).summaryStatistics();
        if (behind.getCount() > 0) {
            made.put("minOffsetsBehindLatest", String.valueOf(behind.getMin()));
            made.put("maxOffsetsBehindLatest", String.valueOf(behind.getMax()));
            made.put("avgOffsetsBehindLatest", String.valueOf(behind.getAverage()));
        }
        return made;
    }

    /** The ends; if a query is already beyond one, within an open transaction, its position. */
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

    /** Up to a number of offsets, shared in proportion to what each topic-partition has; at least one of each that has
     * some. */
    private static Map<Names.TopicPartition, Long> limited(Map<Names.TopicPartition, Long> from,
            Map<Names.TopicPartition, Long> ends, Map<Names.TopicPartition, TopicLog> logs, long most) {
        long total = missing(from, ends, logs);
        if (total <= most) {
            return ends;
        }
        Map<Names.TopicPartition, Long> found = new TreeMap<>();
        for (Map.Entry<Names.TopicPartition, Long> each : ends.entrySet()) {
            long begin = begin(from, each.getKey(), logs);
            long size = Math.max(0, each.getValue() - begin);
            long share = Math.max(1, (long) ((double) most / total * size));
            found.put(each.getKey(), size == 0 ? each.getValue() : begin + Math.min(size, share));
        }
        return found;
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
        List<ReadLimit> limits = new ArrayList<>();
        if (options.leastOffsets >= 0) {
            limits.add(ReadLimit.minRows(options.leastOffsets, options.triggerDelay));
        }
        if (options.triggerOffsets >= 0) {
            limits.add(ReadLimit.maxRows(options.triggerOffsets));
        }
        return limits.isEmpty() ? ReadLimit.allAvailable()
                : limits.size() == 1 ? limits.get(0) : ReadLimit.compositeLimit(limits.toArray(ReadLimit[]::new));
    }

    /** Spark requests the latest offset after each call, even for a store that should not be listed again. */
    @Override
    public Offset reportLatestOffset() {
        return known.isEmpty() ? planned(losses -> new At(ends(logs()), Map.of())) : new At(known, Map.of());
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        last = planned(losses -> ends(logs()));
    }

    /** The offsets of a checkpoint, which may be that of another source. */
    @Override
    public Offset deserializeOffset(String json) {
        Map<Names.TopicPartition, Long> found = Options.offsets(json);
        Map<Names.TopicPartition, String> ids = Options.topicIds(json);
        if (found == null || ids == null) {
            throw new IllegalArgumentException(
                    "kafka-log: the checkpoint has " + json + "; expected JSON like {\"orders\":{\"0\":23}}");
        }
        return new At(found, ids);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset from, Offset to) {
        // Spark asks for those of a micro-batch more than once
        List<String> between = List.of(from.json(), to.json());
        if (!between.equals(tasksBetween)) {
            Losses losses = new Losses(options.failOnDataLoss);
            tasks = LogScan.tasks(options, Planner.Bounds.NONE, conf, losses,
                    each -> pieces((At) from, (At) to, each));
            tasksBetween = between;
            skipped.add(losses.count(Cause.MISSING));
        }
        return tasks;
    }

    /** What is found by listing folders; losses are counted. */
    private <T> T planned(LogScan.Planning<T> planning) {
        Losses losses = new Losses(options.failOnDataLoss);
        T made = LogScan.planned(losses, planning);
        skipped.add(losses.count(Cause.MISSING));
        return made;
    }

    /** What lies between two offsets. Throws DataLossException where some of it is not there. */
    private List<SegmentSlice> pieces(At from, At to, Losses losses) throws IOException {
        Map<Names.TopicPartition, TopicLog> logs = logs();
        Map<Names.TopicPartition, Long> first = kept(from, to.ids, logs, losses);
        Map<Names.TopicPartition, Long> until = to.next;
        for (Map.Entry<Names.TopicPartition, String> each : ids(logs).entrySet()) {
            if (!each.getValue().equals(to.ids.getOrDefault(each.getKey(), each.getValue()))) {
                // created again since the end was looked for
                losses.missing(each.getKey() + " is gone, with offsets up to " + until.get(each.getKey()));
                logs.remove(each.getKey());
                first.put(each.getKey(), until.get(each.getKey()));
            }
        }
        for (Names.TopicPartition each : new TreeSet<>(first.keySet())) {
            if (!until.containsKey(each)) {
                losses.missing(each + " is gone; the query had read up to " + first.get(each));
            }
        }
        List<SegmentSlice> found = new ArrayList<>();
        for (Map.Entry<Names.TopicPartition, Long> each : until.entrySet()) {
            TopicLog log = logs.get(each.getKey());
            long begin = first.getOrDefault(each.getKey(), -1L);
            if (log != null) {
                found.addAll(log.between(begin, each.getValue(), losses));
            } else if (Math.max(0, begin) < each.getValue()) {
                losses.missing(each.getKey() + " is gone, with offsets up to " + each.getValue());
            }
        }
        return found;
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return LogScan.Factory.of(options, options.reading(), columns, null, conf).counting(bytes, skipped);
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
}
