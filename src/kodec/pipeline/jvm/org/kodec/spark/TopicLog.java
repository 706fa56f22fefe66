package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All records of a topic-partition, each offset once: first those of the leading replica; offsets below its first
 * segment come from the next replica, and so on. Offsets that one replica has deleted are deleted in all.
 */
final class TopicLog {
    private static final Logger LOG = LoggerFactory.getLogger("kodec");

    final Names.TopicPartition owner;
    /** In order. */
    final List<SegmentSlice> pieces = new ArrayList<>();

    private final List<Replica> replicas;
    private final ReadSettings reading;
    private final Configuration conf;
    private final long start;
    private long latest = -1;

    TopicLog(Names.TopicPartition owner, List<Replica> replicas, ReadSettings reading, Configuration conf) {
        this.owner = owner;
        this.replicas = replicas;
        this.reading = reading;
        this.conf = conf;
        start = replicas.stream().mapToLong(Replica::start).max().orElse(0);
        for (Replica each : replicas) {
            long lowest = pieces.isEmpty() ? -1 : pieces.get(0).base();
            pieces.addAll(0, SegmentSlice.cut(each.pieces(lowest), start, -1, true));
        }
    }

    /** The first offset. */
    long earliest() {
        return pieces.isEmpty() ? start : pieces.get(0).start();
    }

    /** The offset after the last one. */
    long latest() throws IOException {
        if (latest < 0) {
            latest = Math.max(earliest(), end(false));
        }
        return latest;
    }

    /** The slices; the last one ends at the current end. Throws FileNotFoundException if a file no longer exists. */
    List<SegmentSlice> pinned() throws IOException {
        List<SegmentSlice> found = new ArrayList<>(pieces);
        int last = found.size() - 1;
        if (last >= 0 && found.get(last).stop() < 0) {
            found.set(last, SegmentEnd.pinned(found.get(last), reading, conf));
        }
        return found;
    }

    private long end(boolean whole) throws IOException {
        if (pieces.isEmpty()) {
            return earliest();
        }
        SegmentSlice last = pieces.get(pieces.size() - 1);
        return SegmentEnd.offset(last.path(), last.base(), reading, conf, whole);
    }

    /** The offset up to which all transactions are decided; -1 if there is no segment, or all are decided. */
    long lastStable() throws IOException {
        Replica leader = replicas.get(0);
        if (leader.tiered() || leader.logs().isEmpty()) {
            // only decided transactions are moved to remote storage
            return -1;
        }
        Files.Entry last = leader.logs().get(leader.logs().size() - 1);
        try (Segment segment = new Segment(last.path(), Names.segment(last.name()), reading, conf)) {
            return Transactions.lastStable(leader.folder(), segment.nextOffset(), reading, conf);
        }
    }

    /** The offset after the last complete batch and, if requested, of the last decided transaction. */
    long stableEnd(boolean committed) throws IOException {
        long found = Math.max(earliest(), end(true));
        // deleted records of an open transaction are not waited for, as in Kafka
        return committed ? Math.max(earliest(), SegmentSlice.least(found, lastStable())) : found;
    }

    /** The pieces with the offsets from {@code first} on (-1: of a log that is new) and below {@code end}. */
    List<SegmentSlice> between(long first, long end, Options options) throws IOException {
        long from = first < 0 ? earliest() : first;
        long stop = end;
        if (first < 0 && from > 0) {
            loss(options, owner + " is new and starts at offset " + from + ", not at 0");
        }
        if (from < earliest() && from < stop) {
            loss(options, owner + " has offsets from " + earliest() + " on, not those from " + from + " on");
            from = earliest();
        }
        long last = stableEnd(false);
        if (stop > last || from > stop) {
            loss(options, owner + " ends at offset " + last + ", and did at " + Math.max(from, stop));
            stop = Math.min(stop, last);
        }
        return SegmentSlice.cut(pieces, from, stop, true).stream().map(each -> each.withRequested(true)).toList();
    }

    /**
     * The offset of an edge here; with {@code whole}, the latest is that of {@link #stableEnd}, as for a stream. Throws
     * Wrong, and DataLossException if it does not exist.
     */
    long resolved(Options.Edge edge, Options options, boolean whole) throws IOException {
        Long of = edge.all() != null ? edge.all() : edge.each().get(owner);
        if (of == null) {
            String hint = edge.timed() ? "give each topic-partition a time" : "use -2 for earliest, -1 for latest";
            throw new Options.Wrong(edge.option(), "it does not set where " + owner + " is; " + hint);
        }
        if (edge.timed()) {
            long found = ofTime(of);
            if (found >= 0) {
                return found;
            }
            if (edge.option().startsWith("starting") && !options.latestIfNone) {
                throw new Options.Wrong(edge.option(), owner + " has no record at " + of + " ms or later; "
                        + "startingOffsetsByTimestampStrategy=latest starts at its end");
            }
        } else if (of == Options.EARLIEST) {
            return earliest();
        }
        if (edge.timed() || of == Options.LATEST) {
            return whole ? stableEnd(options.committed) : latest();
        }
        long most = whole ? stableEnd(false) : latest();
        if (of < earliest() || of > most) {
            loss(options, edge.option() + ": " + owner + " has offsets " + earliest() + " to " + most
                    + " (exclusive), not " + of);
        }
        return Math.min(Math.max(of, earliest()), most);
    }

    /** The first offset whose record is not older, as Kafka's ListOffsets; -1 where all are older. */
    private long ofTime(long timestamp) throws IOException {
        for (SegmentSlice each : pieces) {
            try (Segment segment = new Segment(each.path(), each.base(), reading, conf)) {
                long found = segment.largestTimestamp() < timestamp
                        ? -1 : segment.findTimestamp(timestamp, each.start());
                if (found >= 0) {
                    return found;
                }
            }
        }
        return -1;
    }

    /** Says that offsets are not there. Throws DataLossException, or logs a warning. */
    static void loss(Options options, String text) {
        if (options.failOnDataLoss) {
            throw new DataLossException(text + "; failOnDataLoss=false reads what is there");
        }
        LOG.warn("{}", text);
    }
}
