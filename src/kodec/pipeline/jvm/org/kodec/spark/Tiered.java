package org.kodec.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;

/**
 * Remote storage (KIP-405), in the layout of Kafka's local tier and of Aiven's plugin: the rules of
 * {@code kodec.log.remote.names}, which has their sources.
 */
final class Tiered {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern WITH_ID = Pattern.compile("(.+)-" + Names.REMOTE_ID, Pattern.DOTALL);
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,9}");
    private static final Pattern FILE =
            Pattern.compile("(([0-9]{20})-" + Names.REMOTE_ID + ")\\.(log|index|timeindex|txnindex|rsm-manifest)");
    private static final String SEGMENT = "remoteLogSegmentMetadata";
    private static final int MOST_OF_A_MANIFEST = 16 << 20;

    private Tiered() {}

    /**
     * The folder that holds the remote segments of a topic-partition.
     *
     * @param manifests whether each segment has one; a segment without it was not completely uploaded
     */
    record Folder(Names.TopicPartition owner, String path, boolean manifests) {}

    /**
     * The folders of topic-partitions in remote storage; empty if there are none.
     *
     * <p>The path is the root of the storage, the folder of a topic, or that of a topic-partition; {@code inside} is
     * its listing.
     */
    static List<Folder> folders(String path, List<Files.Entry> inside, Configuration conf) throws IOException {
        List<Folder> found = at(path, inside, conf);
        if (found.isEmpty()) {
            for (Files.Entry each : inside) {
                if (each.folder() && mayHold(each.path())) {
                    found.addAll(at(each.path(), Files.in(each.path(), conf), conf));
                }
            }
        }
        return found;
    }

    /** The folder as that of one topic-partition. */
    static Folder folder(String path, Configuration conf) throws IOException {
        List<Folder> found = at(path, Files.in(path, conf), conf);
        found.removeIf(each -> !each.path().equals(path));
        return found.isEmpty() ? null : found.get(0);
    }

    private static boolean mayHold(String path) {
        return WITH_ID.matcher(Files.name(path)).matches()
                || WITH_ID.matcher(Files.name(Files.parent(path))).matches();
    }

    /** The kind of a folder, by its name and its listing. */
    private static List<Folder> at(String path, List<Files.Entry> inside, Configuration conf) throws IOException {
        List<Folder> found = new ArrayList<>();
        Matcher name = WITH_ID.matcher(Files.name(path));
        if (name.matches()) {
            Names.TopicPartition owner = Names.live(name.group(1));
            if (owner != null && hasSegments(inside)) {
                found.add(new Folder(owner, path, false));
                return found;
            }
            for (Files.Entry each : inside) {
                owner = each.folder() ? ofTopic(name.group(1), each.name()) : null;
                if (owner != null && hasSegments(Files.in(each.path(), conf))) {
                    found.add(new Folder(owner, each.path(), true));
                }
            }
            return found;
        }
        Matcher around = WITH_ID.matcher(Files.name(Files.parent(path)));
        Names.TopicPartition owner = around.matches() ? ofTopic(around.group(1), Files.name(path)) : null;
        if (owner != null && hasSegments(inside)) {
            found.add(new Folder(owner, path, true));
        }
        return found;
    }

    private static Names.TopicPartition ofTopic(String topic, String number) {
        return NUMBER.matcher(number).matches() ? Names.live(topic + "-" + number) : null;
    }

    private static boolean hasSegments(List<Files.Entry> inside) {
        return inside.stream().anyMatch(each -> FILE.matcher(each.name()).matches());
    }

    /**
     * The logs of a topic-partition, by ascending base offset; of those with the same one, the largest.
     *
     * <p>Throws NeedsPythonSource for a segment that the plugin has compressed or encrypted, or that overlaps another.
     */
    static List<Files.Entry> logs(Folder folder, Configuration conf) throws IOException {
        List<Files.Entry> logs = new ArrayList<>();
        Set<String> manifests = new HashSet<>();
        for (Files.Entry each : Files.in(folder.path(), conf)) {
            Matcher match = FILE.matcher(each.name());
            if (match.matches() && Names.number(match.group(2)) >= 0) {
                if (match.group(3).equals("log")) {
                    each.requireFile();
                    logs.add(each);
                } else if (match.group(3).equals("rsm-manifest")) {
                    manifests.add(each.path());
                }
            }
        }
        logs.sort(Comparator.comparing(Files.Entry::path));
        TreeMap<Long, Files.Entry> found = new TreeMap<>();
        JsonNode before = null;
        for (Files.Entry each : logs) {
            String manifest = each.path().substring(0, each.path().length() - "log".length()) + "rsm-manifest";
            if (manifests.contains(manifest)) {
                JsonNode says = manifest(manifest, conf);
                if (!isPlain(says)) {
                    throw NeedsPythonSource.only(each.path()
                            + ", which is not stored unchanged (compressed, encrypted) according to " + Files.name(manifest));
                }
                if (before != null && overlap(before.path(SEGMENT), says.path(SEGMENT))) {
                    throw NeedsPythonSource.only(each.path() + ", which overlaps the segment before it");
                }
                before = says;
            }
            if (!folder.manifests() || manifests.contains(manifest)) {
                found.merge(Names.remote(each.name()), each, (one, other) -> one.size() > other.size() ? one : other);
            }
        }
        return new ArrayList<>(found.values());
    }

    /** A manifest; null if it is not JSON. */
    private static JsonNode manifest(String path, Configuration conf) throws IOException {
        byte[] data;
        try (Files.Source source = Files.open(path, conf)) {
            data = Files.range(source, 0, (int) Math.min(source.size(), MOST_OF_A_MANIFEST));
        }
        try {
            return JSON.readTree(new String(data, StandardCharsets.UTF_8));
        } catch (JsonProcessingException error) {
            return null;
        }
    }

    /** Whether consecutive segments overlap in offsets or leader epochs; then not all of their records count. */
    private static boolean overlap(JsonNode one, JsonNode other) {
        if (!one.has("endOffset") || !other.has("startOffset")) {
            return false;
        }
        long start = other.get("startOffset").asLong();
        long epoch = epoch(other, start);
        return one.get("endOffset").asLong() >= start || epoch >= 0 && epoch(one, Long.MAX_VALUE) > epoch;
    }

    /** The leader epoch of an offset in a segment; -1 if the manifest has none. */
    private static long epoch(JsonNode segment, long offset) {
        long found = -1;
        JsonNode epochs = segment.path("segmentLeaderEpochs");
        for (Iterator<String> names = epochs.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            found = epochs.get(name).asLong() <= offset ? Math.max(found, Names.number(name)) : found;
        }
        return found;
    }

    /** Whether a segment is stored unchanged, according to its manifest. */
    private static boolean isPlain(JsonNode says) {
        return says != null && says.has("compression") && isFalse(says.get("compression")) && isFalse(says.get("encryption"));
    }

    private static boolean isFalse(JsonNode value) {
        return value == null || value.isNull() || value.isBoolean() && !value.booleanValue();
    }
}
