package org.kodec.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.CollectionAccumulator;
import org.apache.spark.util.LongAccumulator;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Values;

/** A query: the columns, filters, limit and aggregates that Spark asks for, and the tasks that answer it. */
final class LogScan
        implements ScanBuilder,
                Scan,
                Batch,
                SupportsPushDownRequiredColumns,
                SupportsPushDownFilters,
                SupportsPushDownLimit,
                SupportsPushDownAggregates,
                SupportsReportStatistics {
    /** 1900: for earlier times, Spark passes a java.sql.Timestamp in the Julian calendar, which is another instant. */
    private static final long SAME_IN_ALL_CALENDARS = -2_208_988_800_000L;

    private final Options options;
    private final Configuration conf;
    private StructType columns;
    private Filter[] filters = {};
    private Set<Object> topics;
    private Set<Object> partitions;
    private long first = Long.MIN_VALUE;
    private long last = Long.MAX_VALUE;
    private long firstTimestamp = Long.MIN_VALUE;
    private byte[] key;
    private long limit = Long.MAX_VALUE;
    private List<String> aggregates;
    private InputPartition[] tasks;
    /** What planning left out. */
    private Losses losses;
    private boolean streams;

    LogScan(Options options, StructType columns, Configuration conf) {
        this.options = options;
        this.columns = columns;
        this.conf = conf;
    }

    // -- what the query requests -------------------------------------------------------------------

    @Override
    public void pruneColumns(StructType required) {
        columns = required;
    }

    /** Notes the filters that can leave something out. Spark still applies every filter to the rows. */
    @Override
    public Filter[] pushFilters(Filter[] given) {
        filters = given;
        for (Filter each : given) {
            if (each instanceof EqualTo equal) {
                equal(equal.attribute(), equal.value());
            } else if (each instanceof In in && in.attribute().equals("topic")) {
                topics = kept(topics, in.values());
            } else if (each instanceof In in && in.attribute().equals("partition")) {
                partitions = kept(partitions, in.values());
            } else if (each instanceof GreaterThan more) {
                more(more.attribute(), more.value(), 1);
            } else if (each instanceof GreaterThanOrEqual more) {
                more(more.attribute(), more.value(), 0);
            } else if (each instanceof LessThan less && less.attribute().equals("offset")) {
                last = Math.min(last, Math.max((Long) less.value(), Long.MIN_VALUE + 1) - 1);
            } else if (each instanceof LessThanOrEqual less && less.attribute().equals("offset")) {
                last = Math.min(last, (Long) less.value());
            }
        }
        return given;
    }

    private void equal(String name, Object value) {
        switch (name) {
            case "topic" -> topics = kept(topics, new Object[] {value});
            case "partition" -> partitions = kept(partitions, new Object[] {value});
            case "key" -> key = (byte[]) value;
            case "offset" -> {
                first = Math.max(first, (Long) value);
                last = Math.min(last, (Long) value);
            }
            case "timestamp" -> more(name, value, 0);
            default -> { }
        }
    }

    private void more(String name, Object value, long by) {
        if (name.equals("offset") && (Long) value < Long.MAX_VALUE) {
            first = Math.max(first, (Long) value + by);
        } else if (name.equals("timestamp")) {
            // rows in the same millisecond are checked
            Instant time = value instanceof java.sql.Timestamp old ? old.toInstant() : (Instant) value;
            if (time.toEpochMilli() >= SAME_IN_ALL_CALENDARS) {
                firstTimestamp = Math.max(firstTimestamp, time.toEpochMilli());
            }
        }
    }

    private static Set<Object> kept(Set<Object> before, Object[] values) {
        Set<Object> found = new HashSet<>(Arrays.asList(values));
        if (before != null) {
            found.retainAll(before);
        }
        return found;
    }

    @Override
    public Filter[] pushedFilters() {
        return filters;
    }

    @Override
    public boolean pushLimit(int rows) {
        limit = rows;
        return true;
    }

    @Override
    public boolean isPartiallyPushed() {
        return true;
    }

    /** Counts, and smallest and largest offsets and timestamps: from the headers of batches if these have them. */
    @Override
    public boolean pushAggregation(Aggregation aggregation) {
        if (filters.length > 0 || aggregation.groupByExpressions().length > 0) {
            return false;
        }
        List<String> found = new ArrayList<>();
        StructType made = new StructType();
        for (AggregateFunc each : aggregation.aggregateExpressions()) {
            String word = each instanceof CountStar ? "count"
                    : each instanceof Min min ? "min " + name(min.column())
                    : each instanceof Max max ? "max " + name(max.column()) : "";
            switch (word) {
                case "count", "min offset", "max offset" -> made = made.add(word, DataTypes.LongType);
                case "min timestamp", "max timestamp" -> made = made.add(word, DataTypes.TimestampType);
                default -> {
                    return false;
                }
            }
            found.add(word);
        }
        aggregates = found;
        columns = made;
        return true;
    }

    private static String name(Expression column) {
        return column instanceof NamedReference reference ? String.join(".", reference.fieldNames()) : "";
    }

    @Override
    public Scan build() {
        return this;
    }

    @Override
    public StructType readSchema() {
        return columns;
    }

    @Override
    public String description() {
        return "kafka-log (JVM) " + options.paths + (aggregates == null ? "" : ", from headers: " + aggregates)
                + said("topic in ", topics == null ? null : new TreeSet<>(topics))
                + said("partition in ", partitions == null ? null : new TreeSet<>(partitions))
                + said("offset >= ", first == Long.MIN_VALUE ? null : first)
                + said("offset <= ", last == Long.MAX_VALUE ? null : last)
                + said("timestamp >= ", firstTimestamp == Long.MIN_VALUE ? null : Instant.ofEpochMilli(firstTimestamp))
                + said("key = ", key == null ? null : "0x" + Values.hex(key))
                + said("limit ", limit == Long.MAX_VALUE ? null : limit)
                + ", PushedFilters: " + Arrays.toString(filters);
    }

    private static String said(String what, Object value) {
        return value == null ? "" : ", " + what + value;
    }

    /** The bytes of the logs, as they are stored. */
    @Override
    public Statistics estimateStatistics() {
        OptionalLong size = OptionalLong.empty();
        if (!streams) {
            try {
                size = OptionalLong.of(Arrays.stream(planInputPartitions())
                        .flatMap(each -> ((LogPartition) each).pieces().stream()).mapToLong(SegmentSlice::weight).sum());
            } catch (RuntimeException error) {
                // the planner of the query reports it
            }
        }
        OptionalLong bytes = size;
        return new Statistics() {
            @Override
            public OptionalLong sizeInBytes() {
                return bytes;
            }

            @Override
            public OptionalLong numRows() {
                return OptionalLong.empty();
            }
        };
    }

    // -- tasks ------------------------------------------------------------------------------------

    @Override
    public Batch toBatch() {
        return this;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
        streams = true;
        return new LogStream(options, columns, conf);
    }

    @Override
    public InputPartition[] planInputPartitions() {
        if (tasks == null) {
            // Spark asks for them more than once
            Planner.Bounds bounds = new Planner.Bounds(topics, partitions, first, last);
            losses = new Losses(options.failOnDataLoss);
            tasks = tasks(options, bounds, conf, losses, found -> Planner.pieces(options, bounds, conf, found));
            if (aggregates != null && tasks.length == 0) {
                // without tasks, Spark's count would be null
                tasks = new InputPartition[] {new LogPartition(List.of())};
            }
        }
        return tasks;
    }

    /** Lists folders, and adds what is missing to the losses. */
    interface Planning<T> {
        T plan(Losses losses) throws IOException;
    }

    /** The tasks for pieces that are found by listing folders. */
    static InputPartition[] tasks(Options options, Planner.Bounds bounds, Configuration conf, Losses losses,
            Planning<List<SegmentSlice>> pieces) {
        List<List<SegmentSlice>> found = planned(losses, each -> Planner.tasks(options, bounds, pieces.plan(each), conf));
        return found.stream().map(LogPartition::new).toArray(InputPartition[]::new);
    }

    /** What is found by listing folders, on the driver, which logs the losses. */
    static <T> T planned(Losses losses, Planning<T> planning) {
        try {
            Planner.Listing<T> listing = () -> {
                losses.clear();
                return planning.plan(losses);
            };
            T made = Planner.relisted(listing);
            losses.texts.forEach(DriverLog::warn);
            return made;
        } catch (FormatException | IOException error) {
            // PySpark shows the messages of these without Java's stack trace
            throw new IllegalArgumentException(error.getMessage(), error);
        } catch (UncheckedIOException error) {
            throw new IllegalArgumentException(error.getCause().getMessage(), error);
        } catch (NeedsPythonSource error) {
            throw new IllegalStateException(
                    "kafka-log: " + error.getMessage() + ", which was not so when the query was made: load it again");
        }
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return streams ? new CustomMetric[0] : Metrics.all();
    }

    @Override
    public CustomTaskMetric[] reportDriverMetrics() {
        return streams || losses == null ? new CustomTaskMetric[0] : Metrics.ofDriver(losses);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        ReadSettings reading = options.reading().asked(first, last, firstTimestamp, key, limit);
        return Factory.of(options, reading, columns, aggregates, conf);
    }

    /**
     * Creates the readers of tasks.
     *
     * @param settings of Hadoop, if its file systems are needed
     * @param said what tasks have left out; null without Spark
     * @param bytes counts of the bytes read and the ranges skipped, for a stream; otherwise null
     */
    record Factory(ReadSettings reading, StructType columns, List<String> aggregates, Map<String, String> settings,
            CollectionAccumulator<String> said, LongAccumulator bytes, LongAccumulator skipped)
            implements PartitionReaderFactory {
        static Factory of(Options options, ReadSettings reading, StructType columns, List<String> aggregates,
                Configuration conf) {
            Map<String, String> settings = new HashMap<>();
            if (options.paths.stream().anyMatch(each -> !Files.isLocal(each))) {
                conf.forEach(each -> settings.put(each.getKey(), each.getValue()));
            }
            CollectionAccumulator<String> said = SparkEnv.get() == null ? null : DriverLog.ofTasks();
            return new Factory(reading, columns, aggregates, settings, said, null, null);
        }

        /** The same with counts. */
        Factory counting(LongAccumulator read, LongAccumulator ranges) {
            return new Factory(reading, columns, aggregates, settings, said, read, ranges);
        }

        /** Without the settings, which may have credentials. */
        @Override
        public String toString() {
            return "kafka-log " + columns.catalogString();
        }

        private Configuration conf() {
            Configuration made = new Configuration(!settings.isEmpty());
            settings.forEach(made::set);
            return made;
        }

        @Override
        public boolean supportColumnarReads(InputPartition task) {
            return aggregates == null;
        }

        @Override
        public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition task) {
            LogReader made = new LogReader((LogPartition) task, reading, columns, conf());
            return translating(made, made.batches);
        }

        private <T> PartitionReader<T> translating(PartitionReader<T> reader, Batches batches) {
            return new ErrorTranslatingReader<>(reader, batches.losses, () -> counted(batches));
        }

        private void counted(Batches batches) {
            if (bytes != null) {
                bytes.add(batches.window.bytesRead);
                skipped.add(batches.losses.count(Cause.MISSING));
            }
            if (said != null) {
                batches.losses.texts.forEach(said::add);
            } else {
                batches.losses.texts.forEach(DriverLog::warn);
            }
        }

        @Override
        public PartitionReader<InternalRow> createReader(InputPartition task) {
            AggregateReader made = new AggregateReader((LogPartition) task, reading, aggregates, conf());
            return translating(made, made.batches);
        }
    }
}
