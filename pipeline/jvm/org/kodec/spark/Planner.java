package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;

/**
 * Finds the segments at paths. What is not plainly a log directory, a topic-partition's folder or a segment, or
 * holds more than one replica, or a cleaner's unfinished work, is {@link Options.Elsewhere}: one place has the
 * rules for that.
 */
final class Planner {
    /** What opening a file weighs, in bytes, so that a thousand empty segments do not all land in one task. */
    private static final long OPEN_COST = 64 << 10;

    private final Options options;
    private final Configuration conf;
    private final TreeMap<Names.TopicPartition, List<Piece>> found =
            new TreeMap<>(Comparator.comparing(Names.TopicPartition::topic)
                    .thenComparingInt(Names.TopicPartition::partition));
    private final Map<String, Map<Names.TopicPartition, Long>> starts = new HashMap<>();

    private Planner(Options options, Configuration conf) {
        this.options = options;
        this.conf = conf;
    }

    /** All pieces, by topic, partition and offset. Throws Elsewhere, IOException. */
    static List<Piece> list(Options options, Configuration conf) throws IOException {
        Planner planner = new Planner(options, conf);
        for (String path : options.paths) {
            planner.look(path);
        }
        planner.check();
        List<Piece> pieces = new ArrayList<>();
        planner.found.values().forEach(pieces::addAll);
        return pieces;
    }

    private void check() {
        if (found.isEmpty()) {
            throw new Options.Elsewhere("nothing that is wanted is there");
        }
        for (String topic : options.topics == null ? List.<String>of() : List.copyOf(options.topics)) {
            if (found.keySet().stream().noneMatch(each -> each.topic().equals(topic))) {
                throw new Options.Elsewhere("there is no topic " + topic);
            }
        }
        if (options.assigned != null && !found.keySet().containsAll(options.assigned)) {
            throw new Options.Elsewhere("not all that is assigned is there");
        }
    }

    private void look(String path) throws IOException {
        Files.Entry what;
        try {
            what = Files.at(path, conf);
        } catch (FileNotFoundException error) {
            throw new Options.Elsewhere("there is no " + path);
        }
        if (!what.folder()) {
            segment(what);
            return;
        }
        List<Files.Entry> inside = Files.in(what.path(), conf);
        boolean root = false;
        for (Files.Entry each : inside) {
            root |= each.folder() ? Names.isReplica(each.name()) : Names.OF_A_LOG_DIRECTORY.contains(each.name());
        }
        if (!root) {
            Names.TopicPartition owner = Names.live(what.name());
            if (owner == null) {
                throw new Options.Elsewhere(path + " is neither a log directory nor a topic-partition's folder");
            }
            if (options.wants(owner, true)) {
                add(owner, what.path(), inside, Files.parent(what.path()));
            }
            return;
        }
        for (Files.Entry each : inside) {
            Names.TopicPartition owner = each.folder() ? Names.live(each.name()) : null;
            if (owner != null) {
                List<Files.Entry> files = Files.in(each.path(), conf);
                // a parent of log directories may look like one
                for (Files.Entry file : files) {
                    if (file.folder() ? Names.isReplica(file.name()) : isOfALogDirectory(file.name())) {
                        throw new Options.Elsewhere(each.path() + " is a log directory itself");
                    }
                }
                if (options.wants(owner, false)) {
                    add(owner, each.path(), files, what.path());
                }
            }
        }
    }

    private static boolean isOfALogDirectory(String name) {
        return Names.OF_A_LOG_DIRECTORY.contains(name);
    }

    private void segment(Files.Entry what) throws IOException {
        long base = Names.segment(what.name());
        String folder = Files.parent(what.path());
        Names.TopicPartition owner = Names.live(folder.substring(folder.lastIndexOf('/') + 1));
        if (base < 0 || owner == null) {
            throw new Options.Elsewhere(what.path() + " is not a segment in a topic-partition's folder");
        }
        if (options.wants(owner, true)) {
            long start = start(Files.parent(folder), owner);
            Piece piece = new Piece(owner.topic(), owner.partition(), what.path(), base, what.size(), -1,
                    start > base ? start : Long.MIN_VALUE, Long.MAX_VALUE, 0, Long.MAX_VALUE);
            once(owner, List.of(piece));
        }
    }

    private void add(Names.TopicPartition owner, String folder, List<Files.Entry> files, String root)
            throws IOException {
        List<Files.Entry> logs = new ArrayList<>();
        for (Files.Entry each : files) {
            if (each.name().endsWith(".swap")) {
                throw new Options.Elsewhere(folder + " holds segments that are not yet in place");
            }
            if (!each.folder() && Names.segment(each.name()) >= 0) {
                logs.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        long start = start(root, owner);
        List<Piece> pieces = new ArrayList<>();
        for (int index = 0; index < logs.size(); index++) {
            Files.Entry log = logs.get(index);
            long base = Names.segment(log.name());
            long after = index + 1 < logs.size() ? Names.segment(logs.get(index + 1).name()) : -1;
            if (after < 0 || after > start) {
                pieces.add(new Piece(owner.topic(), owner.partition(), log.path(), base, log.size(), after,
                        start > base ? start : Long.MIN_VALUE, Long.MAX_VALUE, 0, Long.MAX_VALUE));
            }
        }
        once(owner, pieces);
    }

    private void once(Names.TopicPartition owner, List<Piece> pieces) {
        if (found.put(owner, pieces) != null) {
            throw new Options.Elsewhere("there is more than one replica of " + owner);
        }
    }

    /** The log start offset by the checkpoint of a log directory; 0 where it says nothing. */
    private long start(String root, Names.TopicPartition owner) throws IOException {
        if (root == null) {
            return 0;
        }
        Map<Names.TopicPartition, Long> known = starts.get(root);
        if (known == null) {
            String text = Files.text(Files.child(root, Names.LOG_START_OFFSETS), conf);
            try {
                known = text == null ? Map.of() : Names.checkpoint(text);
            } catch (NumberFormatException error) {
                throw new Options.Elsewhere(root + " has a checkpoint of start offsets that cannot be read");
            }
            starts.put(root, known);
        }
        return known.getOrDefault(owner, 0L);
    }

    // -- tasks ------------------------------------------------------------------------------------

    /** Tasks of about {@code taskBytes}: large segments in several, small ones of a partition together. */
    static List<List<Piece>> pack(List<Piece> pieces, long taskBytes) {
        List<List<Piece>> tasks = new ArrayList<>();
        List<Piece> current = new ArrayList<>();
        long weight = 0;
        for (Piece whole : pieces) {
            for (Piece piece : split(whole, taskBytes)) {
                long cost = piece.weight() + OPEN_COST;
                if (!current.isEmpty() && weight + cost > taskBytes) {
                    tasks.add(current);
                    current = new ArrayList<>();
                    weight = 0;
                }
                current.add(piece);
                weight += cost;
            }
        }
        if (!current.isEmpty()) {
            tasks.add(current);
        }
        return tasks;
    }

    private static List<Piece> split(Piece whole, long taskBytes) {
        int parts = (int) Math.min(100_000, (whole.size() + taskBytes / 2) / taskBytes);
        if (parts < 2) {
            return List.of(whole);
        }
        List<Piece> found = new ArrayList<>();
        long step = whole.size() / parts;
        for (int index = 0; index < parts; index++) {
            long stop = index + 1 == parts ? Long.MAX_VALUE : (index + 1) * step;
            found.add(whole.bytes(index * step, stop));
        }
        return found;
    }
}
