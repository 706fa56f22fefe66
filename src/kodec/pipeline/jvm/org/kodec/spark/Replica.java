package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One replica of a topic-partition, its segments in remote storage, or one segment of it.
 *
 * @param path its folder, or the segment
 * @param tiered whether it is in remote storage
 * @param alone whether it is one segment, requested by its name
 * @param start the log start offset in the checkpoint of its log directory; -1 if there is none
 * @param logs the segments, by base offset
 */
record Replica(Names.TopicPartition owner, String path, boolean tiered, boolean alone, long start, List<Files.Entry> logs,
        ReadSettings reading, Configuration conf) {
    private static final Logger LOG = LoggerFactory.getLogger("kodec");

    /** Lists a folder, whose files may be listed already. Throws NeedsPythonSource, IOException. */
    static Replica at(Names.TopicPartition owner, String path, List<Files.Entry> files, Files.Entry alone, long start,
            ReadSettings reading, Configuration conf) throws IOException {
        if (alone != null) {
            return new Replica(owner, path, false, true, start, List.of(alone), reading, conf);
        }
        List<Files.Entry> logs = new ArrayList<>();
        for (Files.Entry each : files == null ? Files.in(path, conf) : files) {
            if (each.name().endsWith(".swap")) {
                throw NeedsPythonSource.only(path + " holds segments that are not yet in place (.swap)");
            }
            if (Names.segment(each.name()) >= 0) {
                each.requireFile();
                logs.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        return new Replica(owner, path, false, false, start, logs, reading, conf);
    }

    /** Lists a folder of remote storage. Throws NeedsPythonSource, IOException. */
    static Replica tiered(Tiered.Folder folder, ReadSettings reading, Configuration conf) throws IOException {
        return new Replica(folder.owner(), folder.path(), true, false, -1, Tiered.logs(folder, conf), reading, conf);
    }

    /** The folder of the topic-partition. */
    String folder() {
        return alone ? Files.parent(path) : path;
    }

    /** The replicas of a topic-partition: that with the newest leader epoch first, then that which ends highest. */
    static List<Replica> ranked(List<Replica> all) throws IOException {
        if (all.size() < 2) {
            return all;
        }
        Map<Replica, long[]> ranks = new HashMap<>();
        for (Replica each : all) {
            ranks.put(each, each.rank());
        }
        List<Replica> sorted = new ArrayList<>(all);
        sorted.sort(Comparator.comparingLong((Replica each) -> ranks.get(each)[0])
                .thenComparingLong(each -> ranks.get(each)[1]).thenComparing(Replica::path).reversed());
        return sorted;
    }

    /** The offset after the last one; 0 without a segment. */
    private long end() throws IOException {
        if (logs.isEmpty()) {
            return 0;
        }
        Files.Entry last = logs.get(logs.size() - 1);
        return SegmentEnd.offset(last.path(), Names.base(last.name()), reading, conf, false);
    }

    /** Whether the checkpoints of its log directory are about it, and it costs next to nothing to read them. */
    private boolean isChecked() {
        return !tiered && !alone && Files.isLocal(path) && Names.live(Files.name(path)) != null;
    }

    /**
     * Refuses to go on without offsets that remote storage alone has, unless all are outside of the bounds, or another
     * replica, which begins at {@code earliest}, has them: the rules of {@code PartitionLog.remote_offsets}. That they are
     * elsewhere is no loss: {@code failOnDataLoss=false} does not let it pass.
     */
    void requireStart(long earliest, Planner.Bounds bounds, RemoteSegments remote) {
        long base = logs.isEmpty() ? 0 : Names.base(logs.get(0).name());
        if (base == 0 || !isChecked()) {
            return;
        }
        // a broker keeps a start below the first segment only for a log with remote storage
        long first = start < 0 && !owner.isInternal() ? remote.first(owner, path) : start;
        if (first < 0 || first >= Math.min(base, earliest) || bounds.last() < first || bounds.first() >= base) {
            return;
        }
        throw new DataLossException(owner + ": " + path + ": offsets " + first + " to " + (base - 1)
                + " are missing: the first segment begins at " + base + ", and remote storage has those before: give --tier, or "
                + "begin at a later offset");
    }

    /**
     * Reports offsets from an end on that a checkpoint of the broker has, unless all are outside of the bounds. Those
     * checkpoints name no offset above the end of a log that is whole. Throws DataLossException, FormatException.
     */
    void requireEnd(long end, Planner.Bounds bounds, Losses losses) throws IOException {
        if (!isChecked()) {
            return;
        }
        long known = 0;
        String name = null;
        for (String each : List.of(Names.RECOVERY_POINTS, Names.HIGH_WATERMARKS)) {
            String file = Files.child(Files.parent(path), each);
            String text = Files.text(file, conf);
            try {
                long offset = text == null ? 0 : Names.checkpoint(text).getOrDefault(owner, 0L);
                name = offset > known ? each : name;
                known = Math.max(known, offset);
            } catch (NumberFormatException error) {
                throw FormatException.malformed("", "not a checkpoint", 0, "offsets of topic-partitions", error.getMessage())
                        .inSource(file);
            }
        }
        if (known <= end || bounds.last() < end || bounds.first() >= known) {
            return;
        }
        // the checkpoint may be newer than the listing of a log that a broker writes to
        long now = Math.max(end, at(owner, path, null, null, start, reading, conf).end());
        if (known > now) {
            losses.missing(path, owner + ": offsets " + now + " to " + (known - 1) + " are missing: the log ends before " + known
                    + ", which " + name + " has");
        }
    }

    private long[] rank() throws IOException {
        long end = end();
        long epoch = -1;
        String text = alone || tiered ? null : Files.text(Files.child(path, Names.LEADER_EPOCHS), conf);
        try {
            epoch = text == null ? -1 : Names.lastEpoch(text, end);
        } catch (NumberFormatException error) {
            LOG.warn("{}: {}: its leader epochs are not known", path, error.getMessage());
        }
        return new long[] {epoch, end};
    }

    /** Its segments from the log start offset on, and below {@code end}, -1 for all. */
    List<SegmentSlice> pieces(long end) {
        List<SegmentSlice> found = new ArrayList<>();
        for (int index = 0; index < logs.size(); index++) {
            Files.Entry log = logs.get(index);
            long after = index + 1 < logs.size() ? Names.base(logs.get(index + 1).name()) : -1;
            found.add(SegmentSlice.of(owner, log.path(), Names.base(log.name()), log.size(), after));
        }
        return SegmentSlice.cut(found, start, end, true);
    }
}
