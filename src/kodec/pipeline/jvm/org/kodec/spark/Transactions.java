package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.kodec.kafka.control.ControlRecordKey.ControlRecordType;
import org.kodec.kafka.log.ProducerSnapshot;
import org.kodec.runtime.FormatException;

/**
 * The aborted transactions of a partition, and the offset up to which all are decided, from control batches: a
 * transaction index shows no missing entry. A producer snapshot is used if it agrees with the log. The rules are those
 * of {@code kodec.log.directories.transactions}.
 */
final class Transactions {
    private static final int MOST_OF_A_SNAPSHOT = 256 << 20;

    /** The records of a producer from the first offset to the last, that of the abort marker. */
    private record Aborted(long producer, long first, long last) {}

    /** The segments that are read, and the open transactions, by producer, with their first offsets. */
    private final List<Files.Entry> logs = new ArrayList<>();
    private final TreeMap<Long, String> snapshots = new TreeMap<>();
    private final ReadSettings reading;
    private final Configuration conf;
    private final List<Aborted> aborted = new ArrayList<>();
    private final Map<Long, List<Aborted>> byProducer = new HashMap<>();
    private final Map<Integer, Course> courses = new HashMap<>();

    private Transactions(String folder, boolean tiered, ReadSettings reading, Configuration conf) throws IOException {
        this.reading = reading;
        this.conf = conf;
        if (tiered) {
            Tiered.Folder of = Tiered.folder(folder, conf);
            logs.addAll(of == null ? List.of() : Tiered.logs(of, conf));
            return;
        }
        for (Files.Entry each : Files.in(folder, conf)) {
            if (!each.folder() && Names.segment(each.name()) >= 0) {
                logs.add(each);
            } else if (!each.folder() && Names.snapshot(each.name()) >= 0) {
                snapshots.put(Names.snapshot(each.name()), each.path());
            }
        }
        logs.sort(Comparator.comparingLong(Transactions::base));
    }

    private static long base(Files.Entry log) {
        return Names.base(log.name());
    }

    private Segment open(int number) throws IOException {
        return new Segment(logs.get(number).path(), base(logs.get(number)), reading, conf);
    }

    /** What is aborted from {@code start} on and below {@code stop} (-1: to the end); null where nothing is. */
    static Transactions between(String folder, boolean tiered, long start, long stop, ReadSettings reading, Configuration conf)
            throws IOException {
        Transactions found = new Transactions(folder, tiered, reading, conf);
        int first = 0;
        for (int index = 0; index < found.logs.size(); index++) {
            first = base(found.logs.get(index)) <= start ? index : first;
        }
        long until = stop < 0 ? Long.MAX_VALUE : stop;
        Map<Long, Long> going = new HashMap<>();
        for (int number = first; number < found.logs.size(); number++) {
            if (base(found.logs.get(number)) >= until && going.isEmpty()) {
                break;
            }
            try (Segment segment = found.open(number)) {
                long place = number == first ? segment.find(start) : 0;
                if (place >= 0) {
                    found.follow(segment, place, until, going);
                }
            }
        }
        for (Aborted each : found.aborted) {
            found.byProducer.computeIfAbsent(each.producer, key -> new ArrayList<>()).add(each);
        }
        found.byProducer.values().forEach(each -> each.sort(Comparator.comparingLong(Aborted::first)));
        return found.aborted.isEmpty() ? null : found;
    }

    /** An open transaction: its producer, and its first offset. */
    record Open(long producer, long first) {}

    /** The oldest open transaction, if it begins before {@code end}; otherwise null. */
    static Open oldest(String folder, long end, ReadSettings reading, Configuration conf) throws IOException {
        Transactions found = new Transactions(folder, false, reading, conf);
        return found.openAt(found.logs.size()).entrySet().stream()
                .map(each -> new Open(each.getKey(), each.getValue()))
                .min(Comparator.comparingLong(Open::first))
                .filter(each -> each.first < end)
                .orElse(null);
    }

    /** Whether a transactional record of this producer at this offset was aborted. */
    boolean drops(long producer, long offset) {
        List<Aborted> spans = byProducer.get(producer);
        if (spans == null) {
            return false;
        }
        int low = 0;
        int high = spans.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (spans.get(middle).first <= offset) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low > 0 && offset <= spans.get(low - 1).last;
    }

    private static ControlRecordType type(Segment segment, Segment.Head head) {
        try {
            return Control.type(segment.batch(head).data(), head.position());
        } catch (FormatException error) {
            throw error.inSource(segment.path);
        }
    }

    /** Brings the open transactions on by the batches from {@code pos} on, until none is open from {@code until} on. */
    private void follow(Segment segment, long pos, long until, Map<Long, Long> going) {
        segment.heads(pos, head -> {
            ControlRecordType end = end(segment, head);
            if (end != null) {
                Long first = going.remove(head.producerId());
                if (first != null && end == ControlRecordType.ABORT) {
                    aborted.add(new Aborted(head.producerId(), first, head.last()));
                }
            } else if (begins(head) && head.first() < until) {
                going.putIfAbsent(head.producerId(), head.first());
            }
            return head.first() < until || !going.isEmpty();
        });
    }

    /** How a batch ends a transaction; null if it ends none. */
    private static ControlRecordType end(Segment segment, Segment.Head head) {
        if (head.producerId() < 0 || !head.control() || head.count() <= 0) {
            return null;
        }
        ControlRecordType found = type(segment, head);
        return found == ControlRecordType.ABORT || found == ControlRecordType.COMMIT ? found : null;
    }

    private static boolean begins(Segment.Head head) {
        return head.producerId() >= 0 && head.transactional() && !head.control();
    }

    /**
     * The transactions of a segment, by its headers.
     *
     * @param ended producers with a marker in the segment
     * @param open the first offsets of transactions that begin in the segment and have no marker in it
     */
    private record Course(Set<Long> ended, Map<Long, Long> open) {
        /** Brings the open transactions before the segment to its end. */
        void follow(Map<Long, Long> going) {
            going.keySet().removeAll(ended);
            open.forEach(going::putIfAbsent);
        }

        /** Whether these transactions can be open at the end of the segment with this base offset. */
        boolean agrees(long base, Map<Long, Long> going) {
            Set<Long> all = new HashSet<>(ended);
            all.addAll(open.keySet());
            all.addAll(going.keySet());
            for (Long producer : all) {
                Long said = going.get(producer);
                Long here = open.get(producer);
                boolean before = said != null && said < base && !ended.contains(producer);
                if (!Objects.equals(said, here) && !before) {
                    return false;
                }
            }
            return true;
        }
    }

    private Course course(int number) throws IOException {
        Course known = courses.get(number);
        if (known != null) {
            return known;
        }
        Course found = new Course(new HashSet<>(), new HashMap<>());
        try (Segment segment = open(number)) {
            segment.heads(0, head -> {
                if (end(segment, head) != null) {
                    found.open.remove(head.producerId());
                    found.ended.add(head.producerId());
                } else if (begins(head)) {
                    found.open.putIfAbsent(head.producerId(), head.first());
                }
                return true;
            });
        }
        courses.put(number, found);
        return found;
    }

    /** The open transactions in the snapshot before a segment; null for one that does not agree with the log. */
    private Map<Long, Long> openIn(int number) throws IOException {
        String path = number < logs.size() ? snapshots.get(base(logs.get(number))) : null;
        if (path == null) {
            return null;
        }
        Map<Long, Long> found = new HashMap<>();
        try (Files.Source file = Files.hint(path, conf)) {
            for (ProducerSnapshot.Entry each : ProducerSnapshot.from(Files.all(file, MOST_OF_A_SNAPSHOT)).entries()) {
                if (each.currentTxnFirstOffset() >= 0) {
                    found.putIfAbsent(each.producerId(), each.currentTxnFirstOffset());
                }
            }
        } catch (IOException | FormatException error) {
            // the log has them too
            return null;
        }
        long last = base(logs.get(number - 1));
        if (!course(number - 1).agrees(last, found)) {
            return null;
        }
        for (Map.Entry<Long, Long> each : found.entrySet()) {
            if (each.getValue() < last && !begins(number, each.getKey(), each.getValue())) {
                return null;
            }
        }
        return found;
    }

    /** Whether a transaction begins at an offset before a segment, or below the start of the log. */
    private boolean begins(int number, long producer, long offset) throws IOException {
        int index = number - 1;
        while (index >= 0 && base(logs.get(index)) > offset) {
            index--;
        }
        if (index < 0) {
            return true;
        }
        try (Segment segment = open(index)) {
            long place = segment.find(offset);
            Segment.Head head = place < 0 ? null : segment.head(place, segment.frame(place));
            return head != null && head.first() == offset && head.producerId() == producer && begins(head);
        } catch (FormatException error) {
            return false;
        }
    }

    /** The transactions that are open before a segment, or after the last one. */
    private Map<Long, Long> openAt(int number) throws IOException {
        int first = number;
        Map<Long, Long> going = null;
        while (first > 0 && (going = openIn(first)) == null) {
            first--;
        }
        going = going == null ? new HashMap<>() : going;
        for (int index = first; index < number; index++) {
            course(index).follow(going);
        }
        return going;
    }
}
