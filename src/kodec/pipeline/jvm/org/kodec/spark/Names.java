package org.kodec.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What files and folders are called in a log directory; those of {@code kodec.log.files}. */
final class Names {
    private static final Pattern TOPIC = Pattern.compile("[a-zA-Z0-9._-]{1,249}");
    private static final Pattern PARTITION = Pattern.compile("0|[1-9][0-9]{0,9}");
    private static final Pattern WHOLE = Pattern.compile("-?[0-9]{1,19}");
    private static final Pattern SEGMENT = Pattern.compile("([0-9]{20})\\.log");
    private static final Pattern DELETED = Pattern.compile("([0-9]{20})\\.log\\.deleted");
    private static final Pattern SNAPSHOT = Pattern.compile("([0-9]{20})\\.snapshot");
    private static final Set<String> NOT_LIVE = Set.of("delete", "future", "stray");
    static final String LOG_START_OFFSETS = "log-start-offset-checkpoint";
    static final String LEADER_EPOCHS = "leader-epoch-checkpoint";
    static final String PARTITION_METADATA = "partition.metadata";
    static final String RECOVERY_POINTS = "recovery-point-offset-checkpoint";
    static final String HIGH_WATERMARKS = "replication-offset-checkpoint";
    static final String CLEANER_OFFSETS = "cleaner-offset-checkpoint";
    static final String OMITTED_OFFSETS = "kodec-omitted-offsets";
    /** The folder that a file system makes for itself, and lets root alone list. */
    static final String LOST_AND_FOUND = "lost+found";
    /** Folders in a log directory that have no log: also a broker's copies of indexes of remote storage. */
    static final Set<String> NO_LOGS = Set.of(LOST_AND_FOUND, "remote-log-index-cache");
    /** What brokers leave in a log directory. */
    static final Set<String> OF_A_LOG_DIRECTORY = Set.of(
            "meta.properties",
            ".kafka_cleanshutdown",
            RECOVERY_POINTS,
            LOG_START_OFFSETS,
            HIGH_WATERMARKS,
            CLEANER_OFFSETS);

    /** Of a topic, or a segment, in remote storage. */
    static final String REMOTE_ID = "[A-Za-z0-9_-]{22}";
    private static final Pattern TOPIC_ID = Pattern.compile(REMOTE_ID);
    private static final String NO_TOPIC_ID = "A".repeat(22);
    private static final Pattern REMOTE = Pattern.compile("([0-9]{20})-" + REMOTE_ID + "\\.log");
    private static final Pattern OF_AN_OFFSET = Pattern.compile("[0-9]{20}[.-]");

    private Names() {}

    /** A topic's name and a partition's number, from the name of a folder. */
    record TopicPartition(String topic, int partition) implements Comparable<TopicPartition> {
        @Override
        public int compareTo(TopicPartition other) {
            int found = topic.compareTo(other.topic);
            return found != 0 ? found : Integer.compare(partition, other.partition);
        }

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

    /** The topic-partition of any replica's folder, one that is deleted, moving or stray too; null for any other. */
    static TopicPartition replica(String name) {
        TopicPartition live = live(name);
        if (live != null) {
            return live;
        }
        int dash = name.lastIndexOf('-');
        int dot = dash < 0 ? -1 : name.lastIndexOf('.', dash);
        boolean kept = dot > 0 && dot + 1 < dash && NOT_LIVE.contains(name.substring(dash + 1));
        return kept ? live(name.substring(0, dot)) : null;
    }

    /** The base offset in the name of a segment's log; -1 for any other name. */
    static long segment(String name) {
        return number(SEGMENT.matcher(name));
    }

    /** The same of a log that waits for its deletion. */
    static long deleted(String name) {
        return number(DELETED.matcher(name));
    }

    /** The same, also of a log in remote storage. */
    static long base(String name) {
        long found = segment(name);
        return found < 0 ? remote(name) : found;
    }

    /** The same of a log in remote storage alone. */
    static long remote(String name) {
        return number(REMOTE.matcher(name));
    }

    /** Whether a file in the folder of a topic-partition is a file of Kafka. */
    static boolean isOfAPartition(String name) {
        return OF_AN_OFFSET.matcher(name).lookingAt() || name.equals(LEADER_EPOCHS)
                || name.equals(PARTITION_METADATA) || name.equals("quorum-state");
    }

    /** The offset in the name of a producer snapshot; -1 for any other name. */
    static long snapshot(String name) {
        return number(SNAPSHOT.matcher(name));
    }

    private static long number(Matcher match) {
        return match.matches() ? number(match.group(1)) : -1;
    }

    /** An offset in a name; -1 if it is too large. */
    static long number(String digits) {
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException error) {
            return -1;
        }
    }

    /** The offsets of a checkpoint file, by topic-partition. Throws NumberFormatException if it is invalid. */
    static Map<TopicPartition, Long> checkpoint(String text) {
        Map<TopicPartition, Long> found = new HashMap<>();
        for (String[] words : entries(text, 3)) {
            int partition = (int) number(words[1], Integer.MAX_VALUE);
            long offset = number(words[2], Long.MAX_VALUE);
            if (partition < 0 || offset < 0 || found.put(new TopicPartition(words[0], partition), offset) != null) {
                throw new NumberFormatException(String.join(" ", words));
            }
        }
        return found;
    }

    /**
     * The topic's id in a {@code partition.metadata}. Throws NumberFormatException if it is invalid, also for the id that
     * means none.
     */
    static String topicId(String text) {
        String[] lines = text.split("\n", -1);
        number(value(lines[0], "version"), Integer.MAX_VALUE);
        String id = value(lines.length < 2 ? "" : lines[1], "topic_id");
        if (!TOPIC_ID.matcher(id).matches() || id.equals(NO_TOPIC_ID)) {
            throw new NumberFormatException(id);
        }
        return id;
    }

    private static String value(String line, String name) {
        String found = line.startsWith(name + ":") ? line.substring(name.length() + 1).strip() : "";
        if (found.isEmpty()) {
            throw new NumberFormatException(line);
        }
        return found;
    }

    /** The newest leader epoch that has written below {@code end}, from a checkpoint file; -1 if there is none. */
    static long lastEpoch(String text, long end) {
        long found = -1;
        long before = -1;
        long startBefore = 0;
        for (String[] words : entries(text, 2)) {
            int epoch = (int) number(words[0], Integer.MAX_VALUE);
            long start = number(words[1], Long.MAX_VALUE);
            if (epoch <= before || start < startBefore) {
                throw new NumberFormatException(String.join(" ", words));
            }
            found = start < end ? epoch : found;
            before = epoch;
            startBefore = start;
        }
        return found;
    }

    /** The first and the last offset of the ranges of a checkpoint file. Throws NumberFormatException. */
    static List<long[]> ranges(String text) {
        List<long[]> found = new ArrayList<>();
        for (String[] words : entries(text, 2)) {
            found.add(new long[] {number(words[0], Long.MAX_VALUE), number(words[1], Long.MAX_VALUE)});
        }
        return found;
    }

    /** A number of a checkpoint file, in plain digits. Throws NumberFormatException. */
    private static long number(String text, long most) {
        if (!WHOLE.matcher(text).matches() || Long.parseLong(text) > most) {
            throw new NumberFormatException(text);
        }
        return Long.parseLong(text);
    }

    /** The entries of a checkpoint file: version, count, then this number of lines. */
    private static List<String[]> entries(String text, int fields) {
        List<String[]> found = new ArrayList<>();
        if (text.isEmpty()) {
            return found;
        }
        String[] lines = (text.endsWith("\n") ? text.substring(0, text.length() - 1) : text).split("\n", -1);
        if (lines.length < 2 || !lines[0].trim().equals("0")
                || number(lines[1].trim(), Integer.MAX_VALUE) != lines.length - 2) {
            throw new NumberFormatException("not a checkpoint of version 0, with its number of entries");
        }
        for (int index = 2; index < lines.length; index++) {
            String[] words = lines[index].trim().split("\\s+");
            if (words.length != fields) {
                throw new NumberFormatException(lines[index]);
            }
            found.add(words);
        }
        return found;
    }
}
