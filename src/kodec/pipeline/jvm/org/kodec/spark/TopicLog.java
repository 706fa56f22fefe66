package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/**
 * All records of a topic-partition, each offset once: first those of the leading replica; offsets below its first
 * segment come from the next replica, and so on. Offsets that one replica has deleted are deleted in all.
 */
final class TopicLog {
    final Names.TopicPartition owner;
    /** In order. */
    final List<SegmentSlice> pieces = new ArrayList<>();

    private final List<Replica> replicas;
    private final Planner.Bounds bounds;
    private final RemoteSegments remote;
    private final ReadSettings reading;
    private final Configuration conf;
    private final long start;
    private long latest = -1;

    TopicLog(Names.TopicPartition owner, List<Replica> replicas, Planner.Bounds bounds, RemoteSegments remote,
            ReadSettings reading, Configuration conf) {
        this.owner = owner;
        this.replicas = replicas;
        this.bounds = bounds;
        this.remote = remote;
        this.reading = reading;
        this.conf = conf;
        start = Math.max(0, replicas.stream().mapToLong(Replica::start).max().orElse(0));
        for (Replica each : replicas) {
            long lowest = pieces.isEmpty() ? -1 : pieces.get(0).base();
            pieces.addAll(0, SegmentSlice.cut(each.pieces(lowest), start, -1, true));
        }
    }

    /** The topic's id, by {@code partition.metadata} of a local log; null if it has none. Throws FormatException. */
    String topicId() throws IOException {
        Replica leading = replicas.get(0);
        if (leading.tiered() || !Files.isLocal(leading.path())) {
            return null;
        }
        String file = Files.child(leading.folder(), Names.PARTITION_METADATA);
        String text = Files.text(file, conf);
        try {
            return text == null ? null : Names.topicId(text);
        } catch (NumberFormatException error) {
            throw FormatException.malformed("topic_id", "", 0, "version and topic_id", error.getMessage()).inSource(file);
        }
    }

    /** As {@link Replica#requireStart}, of the leading replica, unless remote storage is read too. */
    void requireStart() {
        if (replicas.stream().noneMatch(Replica::tiered)) {
            replicas.get(0).requireStart(earliest(), bounds, remote);
        }
    }

    /** As {@link Replica#requireEnd}, of the leading replica. */
    void requireEnd(long end, Losses losses) throws IOException {
        replicas.get(0).requireEnd(end, bounds, losses);
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

    /**
     * The offset up to which all transactions are decided; -1 if there is no segment, or all are decided. An open one is
     * reported, unless {@code losses} is null.
     */
    long lastStable(Losses losses) throws IOException {
        Replica leader = replicas.get(0);
        if (leader.tiered() || leader.logs().isEmpty()) {
            // only decided transactions are moved to remote storage
            return -1;
        }
        Files.Entry last = leader.logs().get(leader.logs().size() - 1);
        try (Segment segment = new Segment(last.path(), Names.segment(last.name()), reading, conf)) {
            long end = segment.nextOffset();
            Transactions.Open open = Transactions.oldest(leader.folder(), end, reading, conf);
            if (open != null && losses != null) {
                losses.undecided(leader.folder(), open.first(), open.producer());
            }
            return open == null ? end : open.first();
        }
    }

    /** The offset after the last complete batch and, if requested, of the last decided transaction. */
    long stableEnd(boolean committed) throws IOException {
        long found = Math.max(earliest(), end(true));
        // deleted records of an open transaction are not waited for, as in Kafka
        return committed ? Math.max(earliest(), SegmentSlice.least(found, lastStable(null))) : found;
    }

    /** The pieces with the offsets from {@code first} on (-1: of a log that is new) and below {@code end}. */
    List<SegmentSlice> between(long first, long end, Losses losses) throws IOException {
        long from = first < 0 ? earliest() : first;
        long stop = end;
        if (first < 0 && from > 0) {
            losses.missing(owner + " is new and starts at offset " + from + ", not at 0");
        }
        if (from < earliest() && from < stop) {
            losses.missing(owner + " has offsets from " + earliest() + " on, not those from " + from + " on");
            from = earliest();
        }
        long last = stableEnd(false);
        if (from > stop) {
            // it may have grown since
            losses.missing(owner + " ended at offset " + stop + ", and the query had read up to " + from);
        } else if (stop > last) {
            losses.missing(owner + " ends at offset " + last + ", and did at " + stop);
        }
        stop = Math.min(stop, last);
        return SegmentSlice.cut(pieces, from, stop, true).stream().map(each -> each.withRequested(true)).toList();
    }

    /**
     * The offset of an edge here; with {@code whole}, the latest is that of {@link #stableEnd}, as for a stream. Throws
     * Wrong, and DataLossException if it does not exist.
     */
    long resolved(Options.Edge edge, Options options, boolean whole, Losses losses) throws IOException {
        Long of = edge.all() != null ? edge.all() : edge.each().get(owner);
        if (of == null) {
            String hint = edge.timed() ? "give each topic-partition a time" : "use -2 for earliest, -1 for latest";
            throw new Options.Wrong(edge.option(), "it does not set where " + owner + " is; " + hint);
        }
        if (edge.timed()) {
            long found = ofTime(of);
            if (found == earliest() && edge.isStart()) {
                // those before may not be older either
                requireStart();
            }
            if (found >= 0) {
                return found;
            }
            if (edge.isStart() && !options.latestIfNone) {
                throw new Options.Wrong(edge.option(), owner + " has no record at " + of + " ms or later; "
                        + "startingOffsetsByTimestampStrategy=latest starts at its end");
            }
        } else if (of == Options.EARLIEST) {
            requireStart();
            return earliest();
        }
        if (edge.timed() || of == Options.LATEST) {
            return whole ? stableEnd(options.committed) : latest();
        }
        long most = whole ? stableEnd(false) : latest();
        if (of < earliest() || of > most) {
            losses.missing(edge.option() + ": " + owner + " has offsets " + earliest() + " to " + most
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
}
