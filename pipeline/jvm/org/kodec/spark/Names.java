package org.kodec.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What files and folders are called in a log directory; those of {@code kodec.log.files}. */
final class Names {
    private static final Pattern TOPIC = Pattern.compile("[a-zA-Z0-9._-]{1,249}");
    private static final Pattern PARTITION = Pattern.compile("0|[1-9][0-9]{0,9}");
    private static final Pattern SEGMENT = Pattern.compile("([0-9]{20})\\.log");
    private static final Set<String> NOT_LIVE = Set.of("delete", "future", "stray");
    static final String LOG_START_OFFSETS = "log-start-offset-checkpoint";
    static final String CLEANER_OFFSETS = "cleaner-offset-checkpoint";
    /** What brokers leave in a log directory. */
    static final Set<String> OF_A_LOG_DIRECTORY = Set.of(
            "meta.properties",
            ".kafka_cleanshutdown",
            "recovery-point-offset-checkpoint",
            LOG_START_OFFSETS,
            "replication-offset-checkpoint",
            CLEANER_OFFSETS);

    private Names() {}

    /** A topic's name and a partition's number, as a folder's name says them. */
    record TopicPartition(String topic, int partition) {
        boolean isInternal() {
            return topic.startsWith("__");
        }

        @Override
        public String toString() {
            return topic + "-" + partition;
        }
    }

    /** The topic-partition of a live replica's folder; null for any other name. */
    static TopicPartition live(String name) {
        int dash = name.lastIndexOf('-');
        if (dash < 0 || NOT_LIVE.contains(name.substring(dash + 1))) {
            return null;
        }
        String topic = name.substring(0, dash);
        String number = name.substring(dash + 1);
        if (!TOPIC.matcher(topic).matches() || topic.equals(".") || topic.equals("..")
                || !PARTITION.matcher(number).matches() || Long.parseLong(number) > Integer.MAX_VALUE) {
            return null;
        }
        return new TopicPartition(topic, Integer.parseInt(number));
    }

    /** Whether a folder is called as any replica's. */
    static boolean isReplica(String name) {
        if (live(name) != null) {
            return true;
        }
        int dash = name.lastIndexOf('-');
        if (dash < 0 || !NOT_LIVE.contains(name.substring(dash + 1))) {
            return false;
        }
        int dot = name.lastIndexOf('.', dash);
        return dot > 0 && dot + 1 < dash && live(name.substring(0, dot)) != null;
    }

    /** The base offset in the name of a segment's log; -1 for any other name. */
    static long segment(String name) {
        Matcher match = SEGMENT.matcher(name);
        if (!match.matches()) {
            return -1;
        }
        try {
            return Long.parseLong(match.group(1));
        } catch (NumberFormatException error) {
            return -1;
        }
    }

    /** The offsets of a checkpoint file, by topic-partition. Throws NumberFormatException where it is none. */
    static Map<TopicPartition, Long> checkpoint(String text) {
        Map<TopicPartition, Long> found = new HashMap<>();
        String[] lines = text.split("\n", -1);
        if (lines.length < 3 || Integer.parseInt(lines[0].trim()) != 0) {
            throw new NumberFormatException("not a checkpoint of version 0");
        }
        int count = Integer.parseInt(lines[1].trim());
        for (int index = 0; index < count; index++) {
            String[] words = lines[2 + index].trim().split("\\s+");
            if (words.length != 3) {
                throw new NumberFormatException(lines[2 + index]);
            }
            found.put(new TopicPartition(words[0], Integer.parseInt(words[1])), Long.parseLong(words[2]));
        }
        if (lines.length != count + 3 || !lines[count + 2].isEmpty()) {
            throw new NumberFormatException("not the number of entries");
        }
        return found;
    }
}
