package org.kodec.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** The options that this source follows itself; whatever else is asked for is {@link Elsewhere}. */
final class Options {
    private static final Pattern SIZE = Pattern.compile("\\s*([0-9]{1,18})\\s*([a-z]*)\\s*");
    private static final Map<String, Long> UNITS = Map.of("", 1L, "b", 1L, "k", 1L << 10, "kb", 1L << 10, "m",
            1L << 20, "mb", 1L << 20, "g", 1L << 30, "gb", 1L << 30);
    private static final Pattern ASSIGNED = Pattern.compile("\"([^\"\\\\]+)\"\\s*:\\s*\\[([0-9,\\s]*)\\]");
    /** Options of Spark's Kafka source that say where brokers are and how to talk to them, and what Spark adds. */
    private static final Set<String> IGNORED = Set.of("kafkaconsumer.polltimeoutms", "fetchoffset.numretries",
            "fetchoffset.retryintervalms", "groupidprefix", "provider", "owner", "path", "paths");
    /** Of {@code kafka.}, those that ask for other rows, or for what is not here. */
    private static final Set<String> NOT_IGNORED = Set.of("kafka.isolation.level", "kafka.auto.offset.reset",
            "kafka.key.deserializer", "kafka.value.deserializer", "kafka.enable.auto.commit",
            "kafka.interceptor.classes");

    final List<String> paths = new ArrayList<>();
    Set<String> topics;
    Set<Names.TopicPartition> assigned;
    Pattern pattern;
    boolean internal;
    boolean headers;
    boolean checkCrc = true;
    boolean failOnDataLoss = true;
    long taskBytes = 128L << 20;
    long batchBytes = 1L << 30;
    long decompressedBytes = 256L << 20;
    long elements = 1_000_000;

    /** What this source leaves to the one in Python, with the reason. */
    static final class Elsewhere extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Elsewhere(String reason) {
            super(reason, null, false, false);
        }
    }

    /** Reads options. Throws Elsewhere for those that are not followed here, or cannot be read. */
    Options(Map<String, String> given) {
        Map<String, String> options = new HashMap<>();
        given.forEach((name, value) -> options.put(name.toLowerCase(Locale.ROOT), value));
        for (Map.Entry<String, String> each : options.entrySet()) {
            String name = each.getKey();
            String value = each.getValue();
            boolean ignored = IGNORED.contains(name) || name.startsWith("option.") || name.startsWith("fs.")
                    || name.startsWith("kafka.") && !NOT_IGNORED.contains(name);
            if (!ignored) {
                follow(name, value);
            }
        }
        if (topics != null && assigned != null || pattern != null && (topics != null || assigned != null)) {
            throw new Elsewhere("more than one of subscribe, subscribePattern and assign");
        }
        paths(options);
    }

    private void follow(String name, String value) {
        switch (name) {
            case "subscribe" -> topics = names(value);
            case "assign" -> assigned = assignment(value);
            case "subscribepattern" -> pattern = pattern(value);
            case "includeinternal" -> internal = flag(name, value);
            case "includeheaders" -> headers = flag(name, value);
            case "verifycrc" -> checkCrc = flag(name, value);
            case "failondataloss" -> failOnDataLoss = flag(name, value);
            case "maxpartitionbytes" -> taskBytes = size(name, value);
            case "maxbatchbytes" -> batchBytes = size(name, value);
            case "maxdecompressedbytes" -> decompressedBytes = size(name, value);
            case "maxelements" -> elements = size(name, value);
            case "mode" -> only(name, value, "failfast");
            case "startingoffsets" -> only(name, value, "earliest");
            case "endingoffsets" -> only(name, value, "latest");
            case "kafka.isolation.level" -> only(name, value, "read_uncommitted");
            case "includecontrolrecords", "includebatchmetadata", "includedecoded", "allowempty" -> {
                if (flag(name, value)) {
                    throw new Elsewhere(name + "=true");
                }
            }
            default -> throw new Elsewhere("the option " + name);
        }
    }

    private static void only(String name, String value, String known) {
        if (!value.trim().equalsIgnoreCase(known)) {
            throw new Elsewhere(name + "=" + value);
        }
    }

    private static boolean flag(String name, String value) {
        if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
            throw new Elsewhere(name + "=" + value);
        }
        return value.equalsIgnoreCase("true");
    }

    private static long size(String name, String value) {
        Matcher match = SIZE.matcher(value.toLowerCase(Locale.ROOT));
        if (!match.matches() || !UNITS.containsKey(match.group(2)) || Long.parseLong(match.group(1)) == 0) {
            throw new Elsewhere(name + "=" + value);
        }
        try {
            return Math.multiplyExact(Long.parseLong(match.group(1)), UNITS.get(match.group(2)));
        } catch (ArithmeticException error) {
            throw new Elsewhere(name + "=" + value);
        }
    }

    private static Set<String> names(String value) {
        Set<String> found = new HashSet<>();
        for (String each : value.split(",")) {
            if (!each.isBlank()) {
                found.add(each.strip());
            }
        }
        if (found.isEmpty()) {
            throw new Elsewhere("subscribe=" + value);
        }
        return found;
    }

    private static Pattern pattern(String value) {
        try {
            if (!value.isBlank()) {
                return Pattern.compile(value.strip());
            }
        } catch (PatternSyntaxException error) {
            // the other source says what is wrong with it
        }
        throw new Elsewhere("subscribePattern=" + value);
    }

    /** {@code {"orders":[0,1]}}: of JSON what a broker's names need; anything else is left to the other source. */
    private static Set<Names.TopicPartition> assignment(String value) {
        Set<Names.TopicPartition> found = new HashSet<>();
        String text = value.strip();
        Matcher match = ASSIGNED.matcher(text);
        StringBuilder rest = new StringBuilder();
        int at = 0;
        while (match.find()) {
            rest.append(text, at, match.start());
            at = match.end();
            for (String each : match.group(2).split(",")) {
                try {
                    found.add(new Names.TopicPartition(match.group(1), Integer.parseInt(each.strip())));
                } catch (NumberFormatException error) {
                    throw new Elsewhere("assign=" + value);
                }
            }
        }
        rest.append(text.substring(at));
        if (found.isEmpty() || !rest.toString().replaceAll("[\\s,]", "").equals("{}")) {
            throw new Elsewhere("assign=" + value);
        }
        return found;
    }

    private void paths(Map<String, String> options) {
        String one = options.get("path");
        String several = options.get("paths");
        if (one != null) {
            paths.add(one);
        } else if (several != null) {
            Matcher match = Pattern.compile("\"((?:[^\"\\\\])*)\"").matcher(several);
            while (match.find()) {
                paths.add(match.group(1));
            }
        }
        boolean strange = several != null && one == null && several.indexOf('\\') >= 0;
        if (paths.isEmpty() || strange) {
            throw new Elsewhere("its paths");
        }
        for (String each : paths) {
            if (each.matches(".*[*?\\[{%#].*")) {
                throw new Elsewhere("the path " + each);
            }
        }
    }

    /** Whether rows of a topic-partition are wanted; {@code named} where the path is its own. */
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
