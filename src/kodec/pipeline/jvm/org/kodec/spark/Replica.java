package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One replica of a topic-partition, its segments in remote storage, or one segment of it.
 *
 * @param path its folder, or the segment
 * @param tiered whether it is in remote storage
 * @param alone whether it is one segment, requested by its name
 * @param start the log start offset in the checkpoint of its log directory; 0 if there is none
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
            if (!each.folder() && Names.segment(each.name()) >= 0) {
                logs.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        return new Replica(owner, path, false, false, start, logs, reading, conf);
    }

    /** Lists a folder of remote storage. Throws NeedsPythonSource, IOException. */
    static Replica tiered(Tiered.Folder folder, ReadSettings reading, Configuration conf) throws IOException {
        return new Replica(folder.owner(), folder.path(), true, false, 0, Tiered.logs(folder, conf), reading, conf);
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

    private long[] rank() throws IOException {
        long end = 0;
        if (!logs.isEmpty()) {
            Files.Entry last = logs.get(logs.size() - 1);
            end = SegmentEnd.offset(last.path(), Names.base(last.name()), reading, conf, false);
        }
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
