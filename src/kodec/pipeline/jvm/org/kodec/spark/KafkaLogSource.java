package org.kodec.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.datasources.DataSource$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source {@code kafka-log}. It reads undamaged logs. It hands everything else over to the equivalent source in
 * Python, if that is registered as {@code kafka-log-python}: damage that is skipped, unfinished work of a cleaner, decoded
 * messages, wrong options, and all writes.
 */
public final class KafkaLogSource implements TableProvider, DataSourceRegister {
    /** The name of the source in Python if this one is present too. */
    static final String PYTHON = "kafka-log-python";

    /** The last line of an error from Python. */
    private static final Pattern SAID = Pattern.compile("^kodec[\\w.]+: (.*)$", Pattern.MULTILINE);

    private static final String READS = "local paths and s3:, s3a:, gs:, az: and https: URLs";
    /** The settings of S3A that other clients have too, for all buckets or for one. */
    private static final Pattern OF_S3 = Pattern.compile("fs\\.s3a\\.(bucket\\..+\\.)?(access\\.key|secret\\.key|session\\.token|"
            + "endpoint|endpoint\\.region|connection\\.ssl\\.enabled|aws\\.credentials\\.provider)");
    private static final List<String> SECRETS = List.of("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token");

    private TableProvider python;
    private Map<String, String> known;
    private Options options;
    /** Whether Spark is about to read: to write, it only requests the table. */
    private boolean reads;

    /** For Spark. */
    public KafkaLogSource() {}

    @Override
    public String shortName() {
        return "kafka-log";
    }

    @Override
    public Transform[] inferPartitioning(CaseInsensitiveStringMap options) {
        reads = true;
        return new Transform[0];
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        reads = true;
        try {
            return followed(options).schema();
        } catch (NeedsPythonSource reason) {
            python = elsewhere(reason, options);
            return inferred(python, passed(options));
        }
    }

    /** The columns by the source in Python. */
    private static StructType inferred(TableProvider python, CaseInsensitiveStringMap options) {
        return said(() -> python.inferSchema(options));
    }

    /** Calls the source in Python; its errors are thrown without their stack trace. */
    private static <T> T said(Callable<T> work) {
        try {
            return work.call();
        } catch (Exception error) {
            Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
            Matcher said = SAID.matcher(String.valueOf(cause.getMessage()));
            if (said.find()) {
                throw new IllegalArgumentException(said.group(1), cause);
            }
            throw KafkaLogSource.<RuntimeException>unchecked(cause);
        }
    }

    /** Spark's own exceptions are checked ones, which Scala does not declare. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable error) throws E {
        throw (E) error;
    }

    @Override
    public boolean supportsExternalMetadata() {
        return true;
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        if (!reads) {
            return new LogTable(this, null, null, schema, properties);
        }
        return python == null ? read(schema, properties) : new LogTable(this, python, null, schema, properties);
    }

    /** The table that is read, of this source or the one in Python. Throws Wrong, IllegalArgumentException. */
    private Table read(StructType schema, Map<String, String> properties) {
        CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(properties);
        try {
            Options followed = followed(given);
            known(schema, followed);
            return new LogTable(this, null, followed, schema, properties);
        } catch (NeedsPythonSource reason) {
            return new LogTable(this, elsewhere(reason, given), null, schema, properties);
        }
    }

    /** The options, after listing the paths: once, as Spark requests the columns and then the table. */
    private Options followed(CaseInsensitiveStringMap given) {
        Map<String, String> all = given.asCaseSensitiveMap();
        if (all.equals(known)) {
            return options;
        }
        Options read = new Options(all);
        try {
            Planner.relisted(() -> Planner.logs(read, Planner.Bounds.NONE, conf(given)));
        } catch (UnreachableException error) {
            throw new IllegalArgumentException("kafka-log: " + error.getMessage(), error);
        } catch (UncheckedIOException error) {
            throw new IllegalArgumentException("kafka-log: " + error.getCause().getMessage(), error);
        } catch (IOException error) {
            if (read.paths.stream().allMatch(Files::isLocal)) {
                throw NeedsPythonSource.paths(error.toString());
            }
            throw new IllegalArgumentException(
                    "kafka-log: " + String.join(", ", read.paths) + " cannot be read: " + Files.said(error), error);
        }
        known = Map.copyOf(all);
        options = read;
        return read;
    }

    /** Refuses a schema that names other columns, or other types, than the source has. Throws Wrong, NeedsPythonSource. */
    private static void known(StructType schema, Options options) {
        List<String> known = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (StructField each : Columns.ALL.fields()) {
            known.add(told(each));
            if (each.name().equals("headers")) {
                others.addAll(List.of("keyDecoded string", "valueDecoded string"));
                known.addAll(others);
            }
        }
        List<String> named = Arrays.stream(schema.fields()).map(KafkaLogSource::told).toList();
        List<String> wrong = named.stream().filter(each -> !known.contains(each)).toList();
        if (!wrong.isEmpty()) {
            throw new Options.Wrong("schema", "no such column: " + String.join(", ", wrong) + "; there are "
                    + String.join(", ", known));
        }
        for (String each : named) {
            if (others.contains(each)) {
                throw NeedsPythonSource.only("the column " + each);
            }
        }
    }

    private static String told(StructField column) {
        return column.name() + " " + column.dataType().simpleString();
    }

    /** The source in Python. Throws IllegalArgumentException if it is not registered, or cannot read the paths. */
    private static TableProvider elsewhere(NeedsPythonSource reason, CaseInsensitiveStringMap options) {
        TableProvider found = python();
        boolean option = reason.kind == NeedsPythonSource.Kind.OPTION;
        boolean missing = reason.kind == NeedsPythonSource.Kind.PATHS;
        List<String> paths = Options.paths(options);
        String said = "kafka-log: " + reason.getMessage();
        if ((option || missing) && !paths.stream().allMatch(Files::isLocal)) {
            if (option && found != null) {
                // reports what would be right
                inferred(found, options);
            }
            throw new IllegalArgumentException(said);
        }
        for (String each : Options.places(options)) {
            if (!Files.isOfPython(each)) {
                throw new IllegalArgumentException(said + ": this takes the source in Python, which reads " + READS + ", not "
                        + each.substring(0, each.indexOf(':') + 1));
            }
        }
        if (found == null) {
            boolean value = option && reason.getMessage().contains("=");
            throw new IllegalArgumentException(
                    said + (!option && !missing ? register() : value ? ": expected another value" : ""));
        }
        return found;
    }

    /** The options to hand over: for buckets of S3, with Hadoop's settings of the session or of the load. */
    private static CaseInsensitiveStringMap passed(CaseInsensitiveStringMap options) {
        if (Options.places(options).stream().noneMatch(each -> each.startsWith("s3"))) {
            return options;
        }
        Map<String, String> all = new HashMap<>(options.asCaseSensitiveMap());
        Configuration conf = conf(options);
        for (Map.Entry<String, String> each : conf) {
            if (OF_S3.matcher(each.getKey()).matches()) {
                all.put(each.getKey(), conf.get(each.getKey()));
            }
        }
        for (String name : SECRETS) {
            try {
                // also from a credential provider
                char[] secret = conf.getPassword(name);
                if (secret != null) {
                    all.put(name, new String(secret));
                }
            } catch (IOException error) {
                throw new IllegalArgumentException("kafka-log: " + name + " cannot be read: " + Files.said(error), error);
            }
        }
        return new CaseInsensitiveStringMap(all);
    }

    /** How to have the source in Python, if this Spark can have it. */
    private static String register() {
        String version = SparkContext.getOrCreate().version();
        boolean old = version.matches("[0-3][.].*|4[.]0[.].*");
        return ": this also needs the source in Python" + (old ? ", which takes Spark 4.1 or later: this is Spark " + version
                : ", in a session of PySpark: kodec.pipeline.register(spark)");
    }

    /** The source in Python; null if it is not registered. */
    private static TableProvider python() {
        scala.Option<TableProvider> found = null;
        // a thread of Python's may be one of Java's in which no session is active
        scala.Option<SparkSession> session = SparkSession.getDefaultSession();
        boolean lent = SparkSession.getActiveSession().isEmpty() && session.isDefined();
        if (lent) {
            SparkSession.setActiveSession(session.get());
        }
        try {
            found = DataSource$.MODULE$.lookupDataSourceV2(PYTHON, SQLConf.get());
        } catch (RuntimeException error) {
            // there is no source of that name
        } catch (Exception error) {
            // Spark's own exceptions are checked ones, which Scala does not declare
        } finally {
            if (lent) {
                SparkSession.clearActiveSession();
            }
        }
        return found == null || found.isEmpty() ? null : found.get();
    }

    private static Configuration conf(CaseInsensitiveStringMap options) {
        Configuration made = new Configuration(SparkContext.getOrCreate().hadoopConfiguration());
        options.asCaseSensitiveMap().forEach((name, value) -> {
            if (name.startsWith("fs.")) {
                made.set(name, value);
            }
        });
        made.setIfUnset(Files.STREAM_TYPE, Files.CLASSIC);
        return made;
    }

    /**
     * One or several logs as a table; the other source does all writing.
     *
     * @param other the source in Python if that one reads it
     * @param options null also if it is not known yet whether it is read at all
     */
    @SuppressWarnings("deprecation") // Table.columns, which replaces schema, is not in all versions of Spark
    private record LogTable(KafkaLogSource source, TableProvider other, Options options, StructType schema,
            Map<String, String> properties) implements Table, SupportsRead, SupportsWrite {
        @Override
        public String name() {
            return "kafka-log " + (options == null ? "[" + properties.get("path") + "]" : options.paths);
        }

        /** What a plan shows, and the log of events: not the properties, which may have credentials. */
        @Override
        public String toString() {
            return name();
        }

        @Override
        public Set<TableCapability> capabilities() {
            return EnumSet.of(
                    TableCapability.BATCH_READ,
                    TableCapability.MICRO_BATCH_READ,
                    TableCapability.BATCH_WRITE,
                    TableCapability.STREAMING_WRITE,
                    TableCapability.TRUNCATE);
        }

        @Override
        public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
            String path = properties.getOrDefault("path", "");
            if (!Files.isLocal(path)) {
                throw new Options.Wrong("path", path + ": only local paths can be written, like /data/logs");
            }
            TableProvider found = python();
            if (found == null) {
                throw new UnsupportedOperationException("kafka-log: writing" + register());
            }
            Table other = found.getTable(schema, new Transform[0], properties);
            return new Writing(((SupportsWrite) other).newWriteBuilder(new Given(info, path)));
        }

        /** A query, which may have its own options in addition to those of the table. */
        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
            if (options == null && other == null) {
                return ((SupportsRead) source.read(schema, properties)).newScanBuilder(given);
            }
            Map<String, String> all = new HashMap<>(properties);
            all.keySet().removeIf(given::containsKey);
            all.putAll(given.asCaseSensitiveMap());
            if (other != null) {
                // which keeps the options that it was given first
                TableProvider fresh = all.equals(properties) ? other : python();
                CaseInsensitiveStringMap passed = passed(new CaseInsensitiveStringMap(all));
                Table table = fresh.getTable(schema, new Transform[0], passed.asCaseSensitiveMap());
                return ((SupportsRead) table).newScanBuilder(passed);
            }
            try {
                Options followed = all.equals(properties) ? options : new Options(all);
                if (!followed.schema().equals(options.schema())) {
                    throw new IllegalArgumentException("kafka-log: the options of a query cannot change its columns to "
                            + String.join(", ", followed.schema().fieldNames()) + "; make a table with these options");
                }
                return new LogScan(followed, schema, conf(new CaseInsensitiveStringMap(properties)));
            } catch (NeedsPythonSource reason) {
                TableProvider found = python();
                if (reason.kind == NeedsPythonSource.Kind.OPTION && found != null) {
                    inferred(found, new CaseInsensitiveStringMap(all));
                }
                throw new IllegalArgumentException("kafka-log: " + reason.getMessage()
                        + ": this cannot be an option of a query; set it for the table");
            }
        }
    }

    /** A write by the source in Python, whose errors are reported without their stack trace. */
    private record Writing(WriteBuilder python) implements WriteBuilder, SupportsTruncate {
        @Override
        public WriteBuilder truncate() {
            throw new Options.Wrong("mode", "segments are added to a log directory: use mode(\"append\")");
        }

        @Override
        public Write build() {
            return (Write) plain(said(python::build));
        }

        /** A write of the source in Python, whose errors are reported without their stack trace. */
        private static Object plain(Object made) {
            for (Class<?> kind : List.of(Write.class, BatchWrite.class, StreamingWrite.class)) {
                if (kind.isInstance(made)) {
                    return Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind},
                            (proxy, method, given) -> plain(said(() -> method.invoke(made, given))));
                }
            }
            return made;
        }
    }

    /** Spark's description of a write, with the path of the table if the write itself does not have it, as in SQL. */
    private record Given(LogicalWriteInfo info, String path) implements LogicalWriteInfo {
        @Override
        public CaseInsensitiveStringMap options() {
            Map<String, String> all = new HashMap<>(Map.of("path", path));
            all.putAll(info.options().asCaseSensitiveMap());
            return new CaseInsensitiveStringMap(all);
        }

        @Override
        public String queryId() {
            return info.queryId();
        }

        @Override
        public StructType schema() {
            return info.schema();
        }
    }
}
