package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/** What explains that offsets are in no segment. */
final class Gaps {
    /** To look at headers alone, however large their batches are. */
    private static final Reading HEADS = new Reading(false, 1L << 30, 256L << 20, 1_000_000, false, false, false, false,
            Long.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE, null, Long.MAX_VALUE);

    private Gaps() {}

    /** The base offset of the next segment in the folder; as many as a segment can have where there is none. */
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

    /** Whether the cleaner's checkpoint knows the topic-partition. */
    static boolean isCleaned(String folder, Piece piece, Configuration conf) throws IOException {
        return cleaned(folder, piece, conf) >= 0;
    }

    /** Up to where the log is compacted, by the cleaner's checkpoint; -1 where that does not say it. */
    private static long cleaned(String folder, Piece piece, Configuration conf) throws IOException {
        String text = Files.text(Files.child(Files.parent(folder), Names.CLEANER_OFFSETS), conf);
        if (text == null) {
            return -1;
        }
        try {
            Map<Names.TopicPartition, Long> offsets = Names.checkpoint(text);
            return offsets.getOrDefault(new Names.TopicPartition(piece.topic(), piece.partition()), -1L);
        } catch (NumberFormatException error) {
            // what it says is not known
            return -1;
        }
    }

    /** Whether the cleaner's checkpoint says that the log is compacted, or any batch of it shows it. */
    static boolean isCompacted(String folder, Piece piece, Configuration conf) throws IOException {
        if (cleaned(folder, piece, conf) > 0) {
            return true;
        }
        List<Files.Entry> logs = new ArrayList<>();
        for (Files.Entry each : Files.in(folder, conf)) {
            if (Names.segment(each.name()) >= 0) {
                logs.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        for (int index = 0; index < logs.size(); index++) {
            if (leavesOffsetsOut(logs.get(index), index + 1 < logs.size(), conf)) {
                return true;
            }
        }
        return false;
    }

    private static boolean leavesOffsetsOut(Files.Entry log, boolean closed, Configuration conf)
            throws IOException {
        long base = Names.segment(log.name());
        long[] before = {base - 1};
        boolean[] found = {false};
        try (Segment segment = new Segment(log.path(), base, HEADS, conf)) {
            segment.heads(0, head -> {
                found[0] = head.magic() != Frame.NEWEST || head.first() > before[0] + 1
                        || head.count() != head.last() - head.first() + 1;
                before[0] = head.last();
                return !found[0];
            });
            // nothing but compaction leaves a closed segment without a batch
            return found[0] || closed && before[0] < base && segment.tail == null;
        } catch (FormatException | FileNotFoundException error) {
            return found[0];
        }
    }
}
