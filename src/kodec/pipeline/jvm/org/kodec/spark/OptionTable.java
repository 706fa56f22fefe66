package org.kodec.spark;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** The options of both sources; made from options.py by {@code python docs/site/options_page.py}. */
final class OptionTable {
    /** In lower case: options of Spark's Kafka source for connections, and those that Spark adds. */
    static final Set<String> IGNORED = Set.of(
            "kafkaconsumer.polltimeoutms", "fetchoffset.numretries",
            "fetchoffset.retryintervalms", "groupidprefix", "paths", "provider", "owner",
            "location", "is_managed_location", "external", "comment", "collation",
            "path");
    /** Of those that begin with {@code kafka.}, the ones that select other rows, or are errors. */
    static final Set<String> NOT_IGNORED = Set.of(
            "kafka.isolation.level", "kafka.auto.offset.reset", "kafka.key.deserializer",
            "kafka.value.deserializer", "kafka.enable.auto.commit",
            "kafka.interceptor.classes");
    /** Those that the source in Python follows alone. */
    static final Set<String> ONLY_PYTHON = Set.of(
            "keyformat", "valueformat", "schemas", "framing", "keyreaderschema",
            "readerschema", "typedas", "tier", "tierkey", "tierkeycommand");
    /** The words that an option may have. */
    static final Map<String, List<String>> WORDS = Map.of(
            "startingoffsetsbytimestampstrategy", List.of("error", "latest"),
            "kafka.isolation.level", List.of("read_uncommitted", "read_committed"),
            "mode", List.of("failfast", "permissive", "quarantine"));
    static final Map<String, Long> UNITS = Map.of(
            "", 1L, "b", 1L, "k", 1L << 10, "kb", 1L << 10, "m", 1L << 20,
            "mb", 1L << 20, "g", 1L << 30, "gb", 1L << 30);
    static final Map<String, Long> TIMES = Map.of(
            "", 1L, "ms", 1L, "s", 1000L, "m", 60000L, "min", 60000L, "h", 3600000L,
            "d", 86400000L);

    // defaults; times are in ms
    static final boolean FAIL_ON_DATA_LOSS = true;
    static final long MAX_TRIGGER_DELAY = 900000L;
    static final boolean VERIFY_CRC = true;
    static final long MAX_BATCH_BYTES = 1L << 30;
    static final long MAX_DECOMPRESSED_BYTES = 1L << 28;
    static final long MAX_ELEMENTS = 1000000L;
    static final long MOST_TASK = 1L << 27;

    private OptionTable() {}
}
