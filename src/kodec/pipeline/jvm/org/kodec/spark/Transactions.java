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
import org.kodec.kafka.control.ControlRecordKey.ControlRecordType;
import org.kodec.kafka.log.ProducerSnapshot;
import org.kodec.kafka.log.TransactionIndex;
import org.kodec.runtime.FormatException;

/**
 * The aborted transactions of a partition, and the offset up to which all are decided: from transaction indexes and
 * producer snapshots if present, otherwise from control batches. The rules are those of
 * {@code kodec.log.directories.transactions}.
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
    private int reached;
    private Map<Long, Long> openThere = Map.of();

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
        int number = 0;
        for (int index = 0; index < found.logs.size(); index++) {
            number = base(found.logs.get(index)) <= start ? index : number;
        }
        long until = stop < 0 ? Long.MAX_VALUE : stop;
        found.follow(number, until);
        boolean any = false;
        for (Aborted each : found.aborted) {
            any |= each.first < until && each.last >= start;
            found.byProducer.computeIfAbsent(each.producer, key -> new ArrayList<>()).add(each);
        }
        found.byProducer.values().forEach(each -> each.sort(Comparator.comparingLong(Aborted::first)));
        return any ? found : null;
    }

    /** The first offset of the oldest open transaction, otherwise {@code end}. */
    static long lastStable(String folder, long end, ReadSettings reading, Configuration conf) throws IOException {
        Transactions found = new Transactions(folder, false, reading, conf);
        if (found.logs.isEmpty()) {
            return end;
        }
        return found.openAtEnd().values().stream().reduce(end, Math::min);
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

    /** Collects aborted transactions, up to the first segment at whose end none that started below is open. */
    private void follow(int start, long until) throws IOException {
        Map<Long, Long> going = null;
        for (int number = start; number < logs.size(); number++) {
            List<TransactionIndex.Entry> entries;
            try (Segment segment = open(number)) {
                entries = segment.aborted();
                if (entries == null) {
                    going = going == null ? openAt(number) : going;
                    follow(segment, 0, going, aborted);
                    reached = number + 1;
                    openThere = new HashMap<>(going);
                }
            }
            if (entries != null) {
                entries.forEach(each -> aborted.add(
                        new Aborted(each.producerId(), each.firstOffset(), each.lastOffset())));
                going = null;
            }
            if (number + 1 < logs.size() && base(logs.get(number + 1)) >= until) {
                if (going == null) {
                    going = openAt(number + 1);
                    reached = number + 1;
                    openThere = new HashMap<>(going);
                }
                if (going.values().stream().allMatch(each -> each >= until)) {
                    return;
                }
            }
        }
    }

    private static ControlRecordType type(Segment segment, Segment.Head head) {
        try {
            return Control.type(segment.batch(head).data(), head.position());
        } catch (FormatException error) {
            throw error.inSource(segment.path);
        }
    }

    /** Brings the open and the aborted transactions on by the batches from {@code pos} on. */
    private static void follow(Segment segment, long pos, Map<Long, Long> going, List<Aborted> found) {
        segment.heads(pos, head -> {
            if (head.producerId() >= 0 && head.control()) {
                ControlRecordType kind = head.count() > 0 ? type(segment, head) : null;
                if (kind == ControlRecordType.ABORT || kind == ControlRecordType.COMMIT) {
                    Long first = going.remove(head.producerId());
                    if (first != null && kind == ControlRecordType.ABORT) {
                        found.add(new Aborted(head.producerId(), first, head.last()));
                    }
                }
            } else if (head.producerId() >= 0 && head.transactional()) {
                going.putIfAbsent(head.producerId(), head.first());
            }
            return true;
        });
    }

    /** The open transactions in a producer snapshot; null for one that cannot be used. */
    private Map<Long, Long> openIn(String path) throws IOException {
        Map<Long, Long> found = new HashMap<>();
        try (Files.Source file = Files.open(path, conf)) {
            for (ProducerSnapshot.Entry each : ProducerSnapshot.from(Files.all(file, MOST_OF_A_SNAPSHOT)).entries()) {
                if (each.currentTxnFirstOffset() >= 0) {
                    found.putIfAbsent(each.producerId(), each.currentTxnFirstOffset());
                }
            }
        } catch (FileNotFoundException | FormatException error) {
            return null;
        }
        return found;
    }

    /** The transactions that are open at the start of a segment. */
    private Map<Long, Long> openAt(int number) throws IOException {
        int first = number;
        Map<Long, Long> going = new HashMap<>(openThere);
        while (first > reached) {
            String path = snapshots.get(base(logs.get(first)));
            Map<Long, Long> known = path == null ? null : openIn(path);
            if (known != null) {
                going = known;
                break;
            }
            first--;
        }
        for (int index = first; index < number; index++) {
            try (Segment segment = open(index)) {
                follow(segment, 0, going, new ArrayList<>());
            }
        }
        return going;
    }

    /** The transactions that are open after the last segment. */
    private Map<Long, Long> openAtEnd() throws IOException {
        int number = logs.size() - 1;
        try (Segment last = open(number)) {
            long end = last.nextOffset();
            for (Map.Entry<Long, String> each : snapshots.tailMap(last.base, false).descendingMap().entrySet()) {
                Map<Long, Long> known = each.getKey() > end ? null : openIn(each.getValue());
                if (known == null) {
                    continue;
                }
                if (each.getKey() == end) {
                    return known;
                }
                long place = last.find(each.getKey());
                if (place >= 0 && last.frame(place).offset() >= each.getKey()) {
                    follow(last, place, known, new ArrayList<>());
                    return known;
                }
            }
            Map<Long, Long> going = openAt(number);
            follow(last, 0, going, new ArrayList<>());
            return going;
        }
    }
}
