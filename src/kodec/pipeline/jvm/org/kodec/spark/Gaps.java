package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/** The explanation of offsets that are in no segment: the rules of {@code kodec.log.directories.gaps}, which has the
 * reasons. */
final class Gaps {
    /** To look at headers alone, however large their batches are. */
    private static final ReadSettings HEADS = new ReadSettings(false, 1L << 30, 256L << 20, 1_000_000, false, false, false,
            Long.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE, null, Long.MAX_VALUE);

    private Gaps() {}

    /** The base offset of the next segment in the folder; the most that a segment can have if there is none. */
    static long nextBase(String path, long base, Configuration conf) throws IOException {
        long most = base + Frame.MAX_RELATIVE + 1;
        long next = most < 0 ? Long.MAX_VALUE : most;
        for (Files.Entry each : Files.in(Files.parent(path), conf)) {
            long other = Names.segment(each.name());
            if (other > base) {
                next = Math.min(next, other);
            }
        }
        return next;
    }

    /** The same after a slice: as listed, if that still holds; for the last one, as it is now. */
    static long nextBase(SegmentSlice piece, boolean outdated, Configuration conf) throws IOException {
        return piece.after() >= 0 && !outdated ? piece.after() : nextBase(piece.path(), piece.base(), conf);
    }

    /** The first of the offsets up to {@code last}, in no segment of a folder, that nothing explains. */
    static long firstLost(String folder, SegmentSlice piece, long first, long last, Configuration conf) throws IOException {
        List<Files.Entry> logs = new ArrayList<>();
        List<Files.Entry> deleted = new ArrayList<>();
        for (Files.Entry each : Files.in(folder, conf)) {
            if (Names.segment(each.name()) >= 0) {
                logs.add(each);
            } else if (Names.deleted(each.name()) >= 0) {
                deleted.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        deleted.sort(Comparator.comparingLong(each -> Names.deleted(each.name())));
        long lost = first;
        if (Names.live(Files.name(folder)) != null) {
            lost = Math.max(lost, offset(folder, Names.LOG_START_OFFSETS, piece, conf));
            long cleaned = offset(folder, Names.CLEANER_OFFSETS, piece, conf);
            if (cleaned > lost && cleaned <= end(logs, conf)) {
                lost = cleaned;
            }
        }
        for (Files.Entry each : deleted) {
            // a broker has just replaced it
            long base = Names.deleted(each.name());
            if (base <= lost) {
                lost = Math.max(lost, end(each.path(), base, base, conf));
            }
        }
        List<long[]> omitted = omitted(folder, conf);
        if (omitted != null) {
            for (long[] range : omitted) {
                lost = range[0] <= lost && lost <= range[1] ? range[1] + 1 : lost;
            }
            return lost;
        }
        for (int index = 0; index < logs.size() && lost <= last; index++) {
            long base = Names.segment(logs.get(index).name());
            long next = index + 1 < logs.size() ? Names.segment(logs.get(index + 1).name()) : Long.MIN_VALUE;
            if (base > last && isLeftByCompaction(logs.get(index).path(), base, next, conf)) {
                return last + 1;
            }
        }
        return lost;
    }

    /** The offset of a topic-partition in a checkpoint of the log directory; -1 if there is none. */
    private static long offset(String folder, String name, SegmentSlice piece, Configuration conf) throws IOException {
        String text = Files.text(Files.child(Files.parent(folder), name), conf);
        try {
            Map<Names.TopicPartition, Long> offsets = text == null ? Map.of() : Names.checkpoint(text);
            return offsets.getOrDefault(new Names.TopicPartition(piece.topic(), piece.partition()), -1L);
        } catch (NumberFormatException error) {
            // its content is not known
            return -1;
        }
    }

    /** The ranges that kodec has left out; null if there is no list of them, empty if it cannot be read. */
    private static List<long[]> omitted(String folder, Configuration conf) throws IOException {
        String text = Files.text(Files.child(folder, Names.OMITTED_OFFSETS), conf);
        try {
            return text == null ? null : Names.ranges(text);
        } catch (NumberFormatException error) {
            // what cannot be read explains nothing
            return List.of();
        }
    }

    /** The end of a log; if its last segment is damaged, the start of that segment, as it is not compacted. */
    private static long end(List<Files.Entry> logs, Configuration conf) throws IOException {
        if (logs.isEmpty()) {
            return 0;
        }
        Files.Entry last = logs.get(logs.size() - 1);
        long base = Names.segment(last.name());
        return end(last.path(), base, base, conf);
    }

    private static long end(String path, long base, long otherwise, Configuration conf) throws IOException {
        try (Segment segment = new Segment(path, base, HEADS, conf)) {
            return segment.nextOffset();
        } catch (FormatException | FileNotFoundException error) {
            return otherwise;
        }
    }

    /** Whether a batch of a segment shows that records before it, or of it, were removed. */
    private static boolean isLeftByCompaction(String path, long base, long next, Configuration conf)
            throws IOException {
        long[] before = {base - 1};
        Segment.Head[] doubtful = {null};
        boolean[] found = {false};
        try (Segment segment = new Segment(path, base, HEADS, conf)) {
            segment.heads(0, head -> {
                boolean sparse = Frame.isList(head.magic()) && head.count() <= head.last() - head.first();
                // only the content of a wrapper has its first offset
                boolean behindGap = head.count() >= 0 && head.first() > before[0] + 1;
                found[0] = doubtful[0] != null && head.first() > doubtful[0].last()
                        || sparse && segment.isRight(head);
                doubtful[0] = behindGap && segment.isRight(head) ? head : null;
                before[0] = Math.max(before[0], head.last());
                return !found[0];
            });
            return found[0] || doubtful[0] != null && doubtful[0].last() < next;
        } catch (FormatException | FileNotFoundException error) {
            return found[0];
        }
    }
}
