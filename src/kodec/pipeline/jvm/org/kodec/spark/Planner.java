package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the logs at paths, and decides what each task reads: the rules of {@code kodec.pipeline.plan}, described in
 * docs/spark.md. Throws {@link NeedsPythonSource} for unfinished work of a cleaner, and for transformed segments in remote
 * storage.
 */
final class Planner {
    /** What opening a file weighs, in bytes, so that a thousand empty segments do not all land in one task. */
    private static final long OPEN_COST = 64 << 10;
    /** Far more than Spark can run; of one segment. */
    private static final int MOST_PARTS = 100_000;
    /** Offsets that one task reads, however large their records are. */
    private static final int FEW = 1_000;
    /** A listing is soon out of date; one that is so again and again is no broker's work. */
    private static final int MOST_LISTINGS = 20;

    private static final Logger LOG = LoggerFactory.getLogger("kodec");

    private final Options options;
    private final ReadSettings reading;
    private final Configuration conf;
    private final TreeMap<Names.TopicPartition, List<Replica>> found = new TreeMap<>();
    /** All logs found, wanted or not. */
    private final TreeSet<Names.TopicPartition> seen = new TreeSet<>();
    private final Set<String> folders = new HashSet<>();
    /** Whether any file at a path is a file of Kafka: other folders can be named like those of topic-partitions. */
    private boolean kafkas;
    private final Map<String, Map<Names.TopicPartition, Long>> starts = new HashMap<>();

    private Planner(Options options, Configuration conf) {
        this.options = options;
        this.reading = options.reading();
        this.conf = conf;
    }

    /** What a query's filters leave: null is any. */
    record Bounds(Set<Object> topics, Set<Object> partitions, long first, long last) {
        static final Bounds NONE = new Bounds(null, null, Long.MIN_VALUE, Long.MAX_VALUE);

        boolean holds(Names.TopicPartition owner) {
            return (topics == null || topics.contains(owner.topic()))
                    && (partitions == null || partitions.contains(owner.partition()));
        }
    }

    interface Listing<T> {
        T list() throws IOException;
    }

    /** Lists folders and opens what it found, and repeats this if a file was deleted meanwhile. */
    static <T> T relisted(Listing<T> listing) throws IOException {
        for (int tries = 1; ; tries++) {
            try {
                return listing.list();
            } catch (FileNotFoundException error) {
                if (tries == MOST_LISTINGS) {
                    throw new UnreachableException(error.getMessage(), "it was listed, and had gone, " + tries + " times");
                }
            }
        }
    }

    /** The logs that the options choose, and that the bounds want. Throws NeedsPythonSource, IOException. */
    static Map<Names.TopicPartition, TopicLog> logs(Options options, Bounds bounds, Configuration conf)
            throws IOException {
        Planner planner = new Planner(options, conf);
        for (String path : options.paths) {
            for (String each : Globs.expanded(path, conf)) {
                int before = planner.folders.size();
                planner.kafkas = false;
                planner.look(each);
                if (planner.folders.size() > before && !planner.kafkas) {
                    throw NeedsPythonSource.paths("path: " + each + ": no file of Kafka's is in "
                            + some(planner.found.keySet()));
                }
            }
        }
        planner.check();
        Map<Names.TopicPartition, TopicLog> made = new TreeMap<>();
        RemoteSegments remote = new RemoteSegments(planner.reading, conf);
        for (Map.Entry<Names.TopicPartition, List<Replica>> each : planner.found.entrySet()) {
            if (bounds.holds(each.getKey())) {
                made.put(each.getKey(), new TopicLog(
                        each.getKey(), Replica.ranked(each.getValue()), bounds, remote, planner.reading, conf));
            }
        }
        return made;
    }

    private void check() {
        if (options.allowEmpty) {
            return;
        }
        TreeSet<String> missing = new TreeSet<>();
        if (options.topics != null) {
            missing.addAll(options.topics);
            found.keySet().forEach(each -> missing.remove(each.topic()));
        }
        if (options.assigned != null) {
            options.assigned.forEach(each -> missing.add(each.toString()));
            found.keySet().forEach(each -> missing.remove(each.toString()));
        }
        if (!missing.isEmpty()) {
            String option = options.assigned == null ? "subscribe" : "assign";
            throw NeedsPythonSource.paths(option + ": not in the log directory: " + String.join(", ", missing)
                    + "; there are " + some(seen));
        }
        if (found.isEmpty()) {
            throw NeedsPythonSource.paths("path: " + String.join(", ", options.paths) + ": of what is wanted there is "
                    + "no topic-partition; there are " + some(seen) + "; set allowEmpty=true if no rows are expected");
        }
    }

    private static String some(Set<Names.TopicPartition> owners) {
        List<String> names = owners.stream().limit(10).map(Names.TopicPartition::toString).toList();
        String more = owners.size() > 10 ? " and " + (owners.size() - 10) + " more" : "";
        return names.isEmpty() ? "none" : String.join(", ", names) + more;
    }

    private boolean wants(Names.TopicPartition owner, boolean named) {
        seen.add(owner);
        return options.wants(owner, named);
    }

    // -- from paths to logs -----------------------------------------------------------------------

    private void look(String path) throws IOException {
        Files.Entry what;
        List<Files.Entry> inside;
        try {
            // in a store, finding out what a folder is costs as much as listing it
            what = Files.isLocal(path) ? Files.at(path, conf) : Files.folder(path);
            inside = what.folder() ? Files.in(what.path(), conf) : List.of();
        } catch (FileNotFoundException error) {
            throw NeedsPythonSource.paths("path: there is no " + path);
        }
        if (inside.size() == 1 && Files.isSame(inside.get(0).path(), what.path())) {
            what = inside.get(0);
        }
        if (!what.folder()) {
            segment(what);
            return;
        }
        boolean broker = isOfABroker(inside);
        if (broker || hasReplicas(inside)) {
            // a broker's log directory contains no other; a parent of several may look like one
            Set<String> inner = broker ? Set.of() : inside(inside);
            logDirectory(what.path(), inside, inner);
            return;
        }
        Names.TopicPartition owner = Names.replica(what.name());
        if (owner != null) {
            if (wants(owner, true)) {
                String root = Names.live(what.name()) == null ? null : Files.parent(what.path());
                add(owner, what.path(), inside, null, start(root, owner));
            }
        } else if (!tier(what.path(), inside) && inside(inside).isEmpty()) {
            for (Files.Entry each : inside) {
                if (Names.live(each.name()) != null) {
                    each.requireFolder();
                }
            }
            if (options.allowEmpty) {
                return;
            }
            throw NeedsPythonSource.paths("path: " + path
                    + ": neither a log directory, which holds folders named like orders-0, nor such a folder");
        }
    }

    private static boolean isOfABroker(List<Files.Entry> inside) {
        return inside.stream().anyMatch(each -> Names.OF_A_LOG_DIRECTORY.contains(each.name()));
    }

    private static boolean hasReplicas(List<Files.Entry> inside) {
        return inside.stream().anyMatch(each -> each.folder() && Names.replica(each.name()) != null);
    }

    /** Says, once, that a folder of a log directory is not read though it holds, or may hold, files named like segments. */
    private void warnOfName(Files.Entry folder) throws IOException {
        String reason = Files.NOT_TEXT.equals(folder.wrong()) ? folder.wrong() : null;
        try {
            if (folder.folder() && Files.in(folder.path(), conf).stream().anyMatch(each -> Names.segment(each.name()) >= 0)) {
                reason = "it holds files named like segments, but its name is not that of a topic-partition";
            }
        } catch (UnreachableException error) {
            // no name says that it belongs to a log
        }
        if (reason != null && options.warned.add(folder.path())) {
            LOG.warn("{} is not read: {}", folder.path(), reason);
        }
    }

    /** Finds the logs in remote storage; returns false if the path is not remote storage. */
    private boolean tier(String path, List<Files.Entry> inside) throws IOException {
        List<Tiered.Folder> tiered = Tiered.folders(path, inside, conf);
        for (Tiered.Folder each : tiered) {
            if (wants(each.owner(), false) && folders.add(Files.real(each.path()))) {
                kafkas = true;
                found.computeIfAbsent(each.owner(), key -> new ArrayList<>())
                        .add(Replica.tiered(each, reading, conf));
            }
        }
        return !tiered.isEmpty();
    }

    /** Finds the logs of the log directories and remote storage in a folder; returns these folders. */
    private Set<String> inside(List<Files.Entry> folder) throws IOException {
        Set<String> inner = new HashSet<>();
        UnreachableException closed = null;
        UnreachableException disk = null;
        UnreachableException replica = null;
        boolean log = false;
        for (Files.Entry each : folder) {
            if (each.wrong() == null && !each.folder() || each.name().equals(Names.LOST_AND_FOUND)) {
                continue;
            }
            List<Files.Entry> files;
            try {
                each.requireFolder();
                files = Files.in(each.path(), conf);
            } catch (UnreachableException error) {
                if (Names.replica(each.name()) != null) {
                    replica = error;
                } else {
                    closed = each.folder() ? error : closed;
                    disk = error;
                }
                continue;
            }
            boolean live = files.stream().anyMatch(one -> one.folder() && Names.live(one.name()) != null);
            if (isOfABroker(files) || live) {
                logDirectory(each.path(), files, Set.of());
                inner.add(each.path());
            } else if (Names.replica(each.name()) != null) {
                log |= files.stream().anyMatch(one -> Names.isOfAPartition(one.name()));
            } else if (tier(each.path(), files)) {
                inner.add(each.path());
            }
        }
        // among log directories a link that leads nowhere is a disk that is not mounted; elsewhere it may be anything, and
        // the folder of a topic-partition, which is in a log directory, is listed if it is wanted
        disk = replica == null || log ? disk : replica;
        if (closed != null || disk != null && !inner.isEmpty()) {
            throw closed != null ? closed : disk;
        }
        return inner;
    }

    private void logDirectory(String path, List<Files.Entry> inside, Set<String> inner) throws IOException {
        kafkas |= isOfABroker(inside);
        for (Files.Entry each : inside) {
            Names.TopicPartition owner = Names.live(each.name());
            if (inner.contains(each.path())) {
                continue;
            }
            boolean strange = owner == null && Names.replica(each.name()) == null && !Names.NO_LOGS.contains(each.name());
            if (strange && options.mayMean(each.name())) {
                warnOfName(each);
            } else if (owner != null && wants(owner, false)) {
                each.requireFolder();
                add(owner, each.path(), null, null, start(path, owner));
            }
        }
    }

    private void segment(Files.Entry what) throws IOException {
        long base = Names.segment(what.name());
        String folder = Files.parent(what.path());
        Names.TopicPartition owner = Names.replica(Files.name(folder));
        if (base < 0 || owner == null) {
            throw NeedsPythonSource.paths("path: " + what.path() + " is not a segment in a topic-partition's folder");
        }
        if (wants(owner, true)) {
            String root = Names.live(Files.name(folder)) == null ? null : Files.parent(folder);
            add(owner, what.path(), null, what, start(root, owner));
        }
    }

    private void add(Names.TopicPartition owner, String path, List<Files.Entry> files, Files.Entry alone, long start)
            throws IOException {
        // the same folder through two paths, or a link, is one log
        if (folders.add(Files.real(path))) {
            List<Files.Entry> inside = files != null || alone != null ? files : Files.in(path, conf);
            kafkas = kafkas || alone != null || inside.stream().anyMatch(each -> Names.isOfAPartition(each.name()))
                    || Names.live(Files.name(path)) != null && isOfABroker(Files.in(Files.parent(path), conf));
            found.computeIfAbsent(owner, key -> new ArrayList<>())
                    .add(Replica.at(owner, path, inside, alone, start, reading, conf));
        }
    }

    /** The log start offset in the checkpoint of a log directory; -1 if it has none. */
    private long start(String root, Names.TopicPartition owner) throws IOException {
        if (root == null) {
            return -1;
        }
        Map<Names.TopicPartition, Long> known = starts.get(root);
        if (known == null) {
            String text = Files.text(Files.child(root, Names.LOG_START_OFFSETS), conf);
            try {
                known = text == null ? Map.of() : Names.checkpoint(text);
            } catch (NumberFormatException error) {
                throw NeedsPythonSource.paths("path: " + Files.child(root, Names.LOG_START_OFFSETS) + " cannot be read: "
                        + error.getMessage());
            }
            starts.put(root, known);
        }
        return known.getOrDefault(owner, -1L);
    }

    // -- from logs to pieces ----------------------------------------------------------------------

    /** The pieces of a batch query, by topic, partition and offset. Throws Wrong, DataLossException, NeedsPythonSource. */
    static List<SegmentSlice> pieces(Options options, Bounds bounds, Configuration conf, Losses losses) throws IOException {
        Map<Names.TopicPartition, TopicLog> logs = logs(options, bounds, conf);
        Options.Edge start = options.startOfBatch();
        Options.Edge end = options.endOfBatch();
        if (bounds.topics() == null && bounds.partitions() == null) {
            named(start, logs.keySet());
            named(end, logs.keySet());
        }
        List<SegmentSlice> made = new ArrayList<>();
        for (TopicLog log : logs.values()) {
            long first = start.is(Options.EARLIEST) ? -1 : log.resolved(start, options, false, losses);
            if (first < 0) {
                log.requireStart();
            }
            long stop = end.is(Options.LATEST) ? -1 : log.resolved(end, options, false, losses);
            if (options.committed) {
                stop = SegmentSlice.least(stop, log.lastStable(losses));
            }
            // the data of this moment is wanted, however late and often it is read
            List<SegmentSlice> there = stop < 0 ? log.pinned() : log.pieces;
            SegmentSlice.cut(there, first, stop, true).forEach(each -> made.add(each.withRequested(true)));
            long reached = stop < 0 && !there.isEmpty() ? there.get(there.size() - 1).stop() : log.latest();
            if (end.is(Options.LATEST) && reached >= 0) {
                // otherwise reading the last segment says why its end is not known
                log.requireEnd(reached, losses);
            }
        }
        long stop = bounds.last() == Long.MAX_VALUE ? -1 : Math.max(0, bounds.last() + 1);
        return SegmentSlice.cut(made, Math.max(0, bounds.first()), stop, false);
    }

    private static void named(Options.Edge edge, Set<Names.TopicPartition> owners) {
        Set<Names.TopicPartition> missing = new TreeSet<>(edge.each() == null ? Set.of() : edge.each().keySet());
        missing.removeAll(owners);
        if (!missing.isEmpty()) {
            throw new Options.Wrong(edge.option(), "not among what is read: " + some(missing) + "; leave them out");
        }
    }

    // -- from pieces to tasks ---------------------------------------------------------------------

    /**
     * Tasks of about {@code maxPartitionBytes}, with at most maxRecordsPerPartition offsets, at least minPartitions of
     * them. Pieces keep their order.
     */
    static List<List<SegmentSlice>> tasks(Options options, Bounds bounds, List<SegmentSlice> pieces, Configuration conf)
            throws IOException {
        ReadSettings reading = options.reading();
        List<List<SegmentSlice>> tasks = pack(pieces, bounds, options.taskBytes, options.taskOffsets, reading, conf);
        if (!tasks.isEmpty() && tasks.size() < options.minTasks) {
            List<SegmentSlice> ended = new ArrayList<>();
            long total = 0;
            for (SegmentSlice each : pieces) {
                ended.add(ended(each, reading, conf));
                total += Math.max(0, ended.get(ended.size() - 1).stop() - each.start());
            }
            long most = Math.max(1, total / options.minTasks);
            tasks = pack(ended, bounds, options.taskBytes, SegmentSlice.least(most, options.taskOffsets), reading, conf);
        }
        return tasks;
    }

    /** The slice with an end, at least the current one. */
    private static SegmentSlice ended(SegmentSlice piece, ReadSettings reading, Configuration conf) throws IOException {
        if (piece.stop() >= 0) {
            return piece;
        }
        long end = SegmentEnd.offset(piece.path(), piece.base(), reading, conf, false);
        return piece.ended(Math.max(end, piece.start()), false);
    }

    /** Puts pieces together, and large ones apart: by bytes, or by offsets where {@code taskOffsets} is not -1. */
    static List<List<SegmentSlice>> pack(
            List<SegmentSlice> pieces, Bounds bounds, long taskBytes, long taskOffsets, ReadSettings reading, Configuration conf)
            throws IOException {
        List<List<SegmentSlice>> tasks = new ArrayList<>();
        List<SegmentSlice> current = new ArrayList<>();
        long weight = 0;
        long offsets = 0;
        for (SegmentSlice whole : pieces) {
            for (SegmentSlice piece : taskOffsets < 0 ? split(whole, bounds, taskBytes)
                    : inParts(ended(whole, reading, conf), taskOffsets)) {
                long count = taskOffsets < 0 || piece.stop() < 0 ? 0 : piece.stop() - piece.start();
                long cost = piece.weight() + OPEN_COST;
                boolean many = taskOffsets >= 0 && offsets + count > taskOffsets;
                if (!current.isEmpty() && (weight + cost > taskBytes || many)) {
                    tasks.add(current);
                    current = new ArrayList<>();
                    weight = 0;
                    offsets = 0;
                }
                current.add(piece);
                weight += cost;
                offsets += count;
            }
        }
        if (!current.isEmpty()) {
            tasks.add(current);
        }
        return tasks;
    }

    private static List<SegmentSlice> inParts(SegmentSlice whole, long most) {
        long stop = whole.stop();
        if (stop < 0 || stop - whole.start() <= most) {
            return List.of(whole);
        }
        if ((stop - whole.start()) / most > MOST_PARTS) {
            throw new Options.Wrong("maxRecordsPerPartition",
                    most + " would make more than " + MOST_PARTS + " tasks; set a larger number");
        }
        List<SegmentSlice> made = new ArrayList<>();
        for (long first = whole.start(); first < stop; ) {
            long end = stop - first <= most ? stop : first + most;
            made.add(new SegmentSlice(whole.topic(), whole.partition(), whole.path(), whole.base(), whole.size(), whole.after(),
                    first, end, whole.isRequested(), 0, Long.MAX_VALUE, whole.tail() && end == stop));
            first = end;
        }
        return made;
    }

    private static List<SegmentSlice> split(SegmentSlice whole, Bounds bounds, long taskBytes) {
        long parts = Math.min(MOST_PARTS, (whole.weight() + taskBytes / 2) / taskBytes);
        if (bounds.last() < Long.MAX_VALUE) {
            // for so few offsets more tasks would only look for them in vain
            parts = Math.min(parts, 1 + Math.max(0, bounds.last() - Math.max(whole.start(), bounds.first())) / FEW);
        }
        if (parts < 2) {
            return List.of(whole);
        }
        List<SegmentSlice> made = new ArrayList<>();
        long step = whole.size() / parts;
        for (int index = 0; index < parts; index++) {
            long stop = index + 1 == parts ? Long.MAX_VALUE : (index + 1) * step;
            made.add(whole.bytes(index * step, stop));
        }
        return made;
    }
}
