package org.kodec.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.spark.sql.types.StructType;

/** The options that this source supports; for others, or wrong ones, it throws {@link NeedsPythonSource}. */
final class Options {
    /** Special values of offsets in the JSON of starting and ending offsets, as in Kafka's ListOffsets. */
    static final long EARLIEST = -2;
    static final long LATEST = -1;
    private static final ObjectMapper JSON =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final Pattern SIZE = Pattern.compile("\\s*([0-9]{1,18})\\s*([a-z]*)\\s*");
    private static final Pattern NUMBER = Pattern.compile("\\s*[0-9]{1,18}\\s*");
    /** By the end that they set, in Spark's order of preference. */
    private static final List<String> STARTS =
            List.of("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets");
    private static final List<String> ENDS = List.of("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets");
    private static final Map<String, Long> WORDS = Map.of("earliest", EARLIEST, "latest", LATEST);

    final List<String> paths;
    /** The paths of which a warning was given: a stream lists them again and again. */
    final Set<String> warned = ConcurrentHashMap.newKeySet();
    Set<String> topics;
    Set<Names.TopicPartition> assigned;
    Pattern pattern;
    /** Where rows start and end; null if the options do not set it. */
    final Edge start;
    final Edge end;
    boolean latestIfNone;
    boolean internal;
    boolean headers;
    boolean metadata;
    boolean control;
    boolean committed;
    boolean allowEmpty;
    /** The named columns; null for none. */
    List<String> columns;
    boolean checkCrc = OptionTable.VERIFY_CRC;
    boolean failOnDataLoss = OptionTable.FAIL_ON_DATA_LOSS;
    /** -1 means unset, also in the next two. */
    long minTasks = -1;
    long taskOffsets = -1;
    long triggerOffsets = -1;
    long leastOffsets = -1;
    /** In ms: how long a stream waits for this number of offsets. */
    long triggerDelay = OptionTable.MAX_TRIGGER_DELAY;
    long taskBytes = OptionTable.MOST_TASK;
    long batchBytes = OptionTable.MAX_BATCH_BYTES;
    long decompressedBytes = OptionTable.MAX_DECOMPRESSED_BYTES;
    long elements = OptionTable.MAX_ELEMENTS;

    /** An option that cannot be used; the message has what would be right. */
    static final class Wrong extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;

        Wrong(String option, String text) {
            super("kafka-log: " + option + ": " + text);
        }
    }

    /**
     * Where rows start or end in each topic-partition.
     *
     * @param all the value for all of them; null if {@code each} has it
     * @param timed whether the numbers are times, in ms since 1970
     */
    record Edge(String option, Long all, Map<Names.TopicPartition, Long> each, boolean timed) {
        /** Whether it has only this. */
        boolean is(long special) {
            return !timed && all != null && all == special;
        }

        /** Whether it is where rows begin. */
        boolean isStart() {
            return option.startsWith("starting");
        }

        private boolean has(long special) {
            return is(special) || !timed && each != null && each.containsValue(special);
        }
    }

    /** Reads options. Throws NeedsPythonSource for unsupported or invalid ones. */
    Options(Map<String, String> given) {
        Map<String, String> options = new HashMap<>();
        given.forEach((name, value) -> options.put(name.toLowerCase(Locale.ROOT), value));
        String loss = options.remove("failondataloss");
        start = edge(options, STARTS);
        end = edge(options, ENDS);
        for (Map.Entry<String, String> each : options.entrySet()) {
            String name = each.getKey();
            boolean ignored = OptionTable.IGNORED.contains(name) || name.startsWith("option.") || name.startsWith("fs.")
                    || name.startsWith("kafka.") && !OptionTable.NOT_IGNORED.contains(name);
            if (!ignored) {
                follow(name, each.getValue());
            }
        }
        if (topics != null && assigned != null || pattern != null && (topics != null || assigned != null)) {
            throw new NeedsPythonSource("more than one of subscribe, subscribePattern and assign");
        }
        failOnDataLoss = loss == null || flag("failondataloss", loss);
        if (columns != null) {
            List<String> known = Arrays.asList(Columns.ALL.fieldNames());
            if (columns.isEmpty() || !known.containsAll(columns) || new HashSet<>(columns).size() < columns.size()) {
                throw new NeedsPythonSource("columns=" + columns);
            }
        }
        paths = readable(paths(options));
    }

    private void follow(String name, String value) {
        if (OptionTable.ONLY_PYTHON.contains(name)) {
            // not with its value: a command may contain what nobody else may see
            throw NeedsPythonSource.only("the option " + name);
        }
        switch (name) {
            case "subscribe" -> topics = names(value);
            case "assign" -> assigned = assignment(value);
            case "subscribepattern" -> pattern = pattern(value);
            case "startingoffsetsbytimestampstrategy" -> latestIfNone = word(name, value) == 1;
            case "includeinternal" -> internal = flag(name, value);
            case "includeheaders" -> headers = flag(name, value);
            case "includebatchmetadata" -> metadata = flag(name, value);
            case "includedecoded" -> {
                if (flag(name, value)) {
                    throw NeedsPythonSource.only("includeDecoded=true");
                }
            }
            case "includecontrolrecords" -> control = flag(name, value);
            case "kafka.isolation.level" ->
                committed = word(name, value) == 1;
            case "allowempty" -> allowEmpty = flag(name, value);
            case "columns" -> columns = list(value);
            case "mode" -> {
                if (word(name, value) > 0) {
                    throw NeedsPythonSource.only("mode=" + value);
                }
            }
            case "verifycrc" -> checkCrc = flag(name, value);
            case "minpartitions" -> minTasks = count(name, value);
            case "maxrecordsperpartition" -> taskOffsets = count(name, value);
            case "maxoffsetspertrigger" -> triggerOffsets = count(name, value);
            case "minoffsetspertrigger" -> leastOffsets = count(name, value);
            case "maxtriggerdelay" -> triggerDelay = duration(name, value);
            case "maxpartitionbytes" -> taskBytes = size(name, value);
            case "maxbatchbytes" -> batchBytes = size(name, value);
            case "maxdecompressedbytes" -> decompressedBytes = size(name, value);
            case "maxelements" -> elements = size(name, value);
            default -> throw new NeedsPythonSource(name + ": there is no such option");
        }
    }

    /** The columns that the options name. */
    StructType schema() {
        if (columns == null) {
            return Columns.schema(headers, metadata);
        }
        StructType found = new StructType();
        for (String each : columns) {
            found = found.add(Columns.ALL.apply(each));
        }
        return found;
    }

    /** Where a batch query begins. Throws Wrong. */
    Edge startOfBatch() {
        if (start != null && start.has(LATEST)) {
            throw new Wrong(start.option,
                    "a batch query cannot start at the latest offset; use earliest, or an offset");
        }
        return start == null ? new Edge("startingOffsets", EARLIEST, null, false) : start;
    }

    /** Where it ends. Throws Wrong. */
    Edge endOfBatch() {
        if (end != null && end.has(EARLIEST)) {
            throw new Wrong(end.option, "a query cannot end at the earliest offset; use latest, or an offset");
        }
        return end == null ? new Edge("endingOffsets", LATEST, null, false) : end;
    }

    /** Where a new stream begins. Throws Wrong. */
    Edge startOfStream() {
        if (end != null) {
            throw new Wrong(end.option, "a stream has no end; leave it out, or read a batch");
        }
        return start == null ? new Edge("startingOffsets", LATEST, null, false) : start;
    }

    /** The first of the three options that is set; null if none is. */
    private static Edge edge(Map<String, String> options, List<String> names) {
        List<String> values = names.stream().map(each -> options.remove(each.toLowerCase(Locale.ROOT))).toList();
        if (values.get(0) != null) {
            if (!NUMBER.matcher(values.get(0)).matches()) {
                throw new NeedsPythonSource(names.get(0) + "=" + values.get(0));
            }
            return new Edge(names.get(0), Long.parseLong(values.get(0).strip()), null, true);
        }
        if (values.get(1) != null) {
            return new Edge(names.get(1), null, byPartition(names.get(1), values.get(1), 0), true);
        }
        if (values.get(2) == null) {
            return null;
        }
        Long word = WORDS.get(values.get(2).strip().toLowerCase(Locale.ROOT));
        return word != null ? new Edge(names.get(2), word, null, false)
                : new Edge(names.get(2), null, byPartition(names.get(2), values.get(2), EARLIEST), false);
    }

    private static Map<Names.TopicPartition, Long> byPartition(String name, String text, long least) {
        Map<Names.TopicPartition, Long> found = offsets(text);
        if (found == null || found.isEmpty() || found.values().stream().anyMatch(each -> each < least)) {
            throw new NeedsPythonSource(name + "=" + text);
        }
        return found;
    }

    /** The key of the topics' ids in the offsets of a stream: no topic has such a name. */
    static final String TOPIC_IDS = "#topicIds";

    /** The topics' ids in the offsets of a stream; null if they cannot be read. */
    static Map<Names.TopicPartition, String> topicIds(String text) {
        Map<Names.TopicPartition, String> found = new TreeMap<>();
        try {
            JsonNode known = JSON.readTree(text).path(TOPIC_IDS);
            for (Iterator<String> topics = known.fieldNames(); topics.hasNext(); ) {
                String topic = topics.next();
                JsonNode partitions = known.get(topic);
                for (Iterator<String> each = partitions.fieldNames(); each.hasNext(); ) {
                    String number = each.next();
                    found.put(new Names.TopicPartition(topic, Integer.parseInt(number)), partitions.get(number).asText());
                }
            }
            return found;
        } catch (JsonProcessingException | NumberFormatException error) {
            return null;
        }
    }

    /** Numbers by topic and partition, {@code {"orders":{"0":23}}}; null for any other JSON. */
    static Map<Names.TopicPartition, Long> offsets(String text) {
        try {
            JsonNode tree = JSON.readTree(text);
            if (tree == null || !tree.isObject()) {
                return null;
            }
            Map<Names.TopicPartition, Long> found = new TreeMap<>();
            for (Iterator<String> topics = tree.fieldNames(); topics.hasNext(); ) {
                String topic = topics.next();
                if (topic.equals(TOPIC_IDS)) {
                    continue;
                }
                JsonNode partitions = tree.get(topic);
                if (!partitions.isObject()) {
                    return null;
                }
                for (Iterator<String> each = partitions.fieldNames(); each.hasNext(); ) {
                    String number = each.next();
                    JsonNode value = partitions.get(number);
                    if (!value.isIntegralNumber() || !value.canConvertToLong()) {
                        return null;
                    }
                    found.put(new Names.TopicPartition(topic, Integer.parseInt(number.strip())), value.longValue());
                }
            }
            return found;
        } catch (JsonProcessingException | NumberFormatException error) {
            return null;
        }
    }

    /** Which of the words it is. */
    private static int word(String name, String value) {
        return word(name, value, OptionTable.WORDS.get(name));
    }

    private static int word(String name, String value, List<String> words) {
        int found = words.indexOf(value.toLowerCase(Locale.ROOT));
        if (found < 0) {
            throw new NeedsPythonSource(name + "=" + value);
        }
        return found;
    }

    private static boolean flag(String name, String value) {
        return word(name, value, List.of("false", "true")) == 1;
    }

    private static long size(String name, String value) {
        Matcher match = SIZE.matcher(value.toLowerCase(Locale.ROOT));
        if (!match.matches() || !OptionTable.UNITS.containsKey(match.group(2)) || Long.parseLong(match.group(1)) == 0) {
            throw new NeedsPythonSource(name + "=" + value);
        }
        try {
            return Math.multiplyExact(Long.parseLong(match.group(1)), OptionTable.UNITS.get(match.group(2)));
        } catch (ArithmeticException error) {
            throw new NeedsPythonSource(name + "=" + value);
        }
    }

    private static long count(String name, String value) {
        if (!NUMBER.matcher(value).matches() || Long.parseLong(value.strip()) == 0) {
            throw new NeedsPythonSource(name + "=" + value);
        }
        return Long.parseLong(value.strip());
    }

    /** {@code 90s}, in ms. */
    private static long duration(String name, String value) {
        Matcher match = SIZE.matcher(value.toLowerCase(Locale.ROOT));
        if (!match.matches() || !OptionTable.TIMES.containsKey(match.group(2))) {
            throw new NeedsPythonSource(name + "=" + value);
        }
        try {
            return Math.multiplyExact(Long.parseLong(match.group(1)), OptionTable.TIMES.get(match.group(2)));
        } catch (ArithmeticException error) {
            throw new NeedsPythonSource(name + "=" + value);
        }
    }

    private static List<String> list(String value) {
        return Arrays.stream(value.split(",")).map(String::strip).filter(each -> !each.isEmpty()).toList();
    }

    private static Set<String> names(String value) {
        Set<String> found = new LinkedHashSet<>(list(value));
        if (found.isEmpty()) {
            throw new NeedsPythonSource("subscribe=" + value);
        }
        return found;
    }

    private static Pattern pattern(String value) {
        try {
            if (!value.isBlank()) {
                return Pattern.compile(value.strip());
            }
        } catch (PatternSyntaxException error) {
            // the other source reports its error
        }
        throw new NeedsPythonSource("subscribePattern=" + value);
    }

    /** {@code {"orders":[0,1]}}. */
    private static Set<Names.TopicPartition> assignment(String value) {
        Set<Names.TopicPartition> found = new LinkedHashSet<>();
        try {
            JsonNode tree = JSON.readTree(value);
            for (Iterator<String> topics = tree.fieldNames(); topics.hasNext(); ) {
                String topic = topics.next();
                for (JsonNode each : tree.get(topic)) {
                    if (!tree.get(topic).isArray() || !each.isIntegralNumber() || !each.canConvertToInt()) {
                        throw new NeedsPythonSource("assign=" + value);
                    }
                    found.add(new Names.TopicPartition(topic, each.intValue()));
                }
            }
        } catch (JsonProcessingException error) {
            throw new NeedsPythonSource("assign=" + value);
        }
        if (found.isEmpty()) {
            throw new NeedsPythonSource("assign=" + value);
        }
        return found;
    }

    /** The paths to read, and that of remote storage, if it is given. */
    static List<String> places(Map<String, String> options) {
        List<String> found = paths(options);
        if (options.get("tier") != null) {
            found = new ArrayList<>(found);
            found.add(options.get("tier"));
        }
        return found;
    }

    /** The paths to read; empty if there are none, or they cannot be parsed. */
    static List<String> paths(Map<String, String> options) {
        List<String> found = new ArrayList<>();
        String one = options.get("path");
        String several = options.get("paths");
        if (one != null) {
            found.add(one);
        } else if (several != null) {
            try {
                JSON.readTree(several).forEach(each -> found.add(each.asText()));
            } catch (JsonProcessingException error) {
                return List.of();
            }
        }
        return found;
    }

    private static List<String> readable(List<String> paths) {
        if (paths.isEmpty()) {
            throw new NeedsPythonSource("its paths");
        }
        for (String each : paths) {
            if (Files.isLocal(each) && each.matches(".*[%#].*")) {
                throw NeedsPythonSource.only("the path " + each);
            }
            if (each.startsWith("http:") || each.startsWith("https:")) {
                throw NeedsPythonSource.store("a web server's files");
            }
        }
        return paths;
    }

    /** How segments are read, with nothing that a query asks for. */
    ReadSettings reading() {
        return new ReadSettings(checkCrc, batchBytes, decompressedBytes, elements, control, committed, failOnDataLoss);
    }

    /** Whether a folder with this name, which is none of a replica, may be of a topic whose rows are wanted. */
    boolean mayMean(String name) {
        Set<String> named = new HashSet<>(topics == null ? Set.of() : topics);
        if (assigned != null) {
            assigned.forEach(each -> named.add(each.topic()));
        }
        return topics == null && assigned == null
                || named.stream().anyMatch(each -> name.equals(each) || name.startsWith(each + "-"));
    }

    /** Whether rows of a topic-partition are wanted; {@code named} if the path is its folder. */
    boolean wants(Names.TopicPartition owner, boolean named) {
        if (topics != null) {
            return topics.contains(owner.topic());
        }
        if (assigned != null) {
            return assigned.contains(owner);
        }
        if (pattern != null) {
            return (internal || !owner.isInternal()) && pattern.matcher(owner.topic()).matches();
        }
        return named || internal || !owner.isInternal();
    }
}
