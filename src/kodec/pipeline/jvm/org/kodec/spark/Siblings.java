package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;

/** The segments beside a piece as they are now: a broker rolls, deletes and compacts them while a log is read. */
final class Siblings {
    private final ReadSettings reading;
    private final Configuration conf;
    private final Losses losses;

    Siblings(ReadSettings reading, Configuration conf, Losses losses) {
        this.reading = reading;
        this.conf = conf;
        this.losses = losses;
    }

    /**
     * The segment that may now contain the offsets of a deleted one; null if no broker deleted it. Throws
     * DataLossException if requested offsets were deleted by a broker.
     */
    List<SegmentSlice> inPlaceOf(SegmentSlice gone) throws IOException {
        String folder = Files.parent(gone.path());
        if (gone.isPart()) {
            throw new IOException("it was deleted while it was read: run the query again");
        }
        List<SegmentSlice> found = covering(folder, gone, gone.base(), gone.after());
        if (!found.isEmpty() && found.get(found.size() - 1).base() < gone.base()) {
            SegmentSlice before = found.get(found.size() - 1);
            try (Segment segment = new Segment(before.path(), before.base(), reading, conf)) {
                if (segment.nextOffset() <= gone.base()) {
                    // compaction may have left nothing of it, but not of the last one; nothing else deletes from the
                    // middle
                    long last = Gaps.nextBase(gone.path(), gone.base(), conf) - 1;
                    boolean cleaned = gone.after() >= 0 && Gaps.firstLost(folder, gone, gone.base(), last, conf) > last;
                    return cleaned ? List.of() : null;
                }
            }
        }
        long start = found.stream().mapToLong(SegmentSlice::base).min()
                .orElse(gone.stop() < 0 ? gone.start() + 1 : gone.stop());
        if (gone.isRequested() && start > gone.start()) {
            losses.missing(gone.path(), "offsets " + gone.start() + " to " + (start - 1) + " of "
                    + gone.owner() + " were deleted meanwhile");
        }
        return found;
    }

    /**
     * The segment that contains the offsets from {@code from} to {@code to} after a slice that ends with a torn tail, for
     * this reason (null for none): one that a broker has created since. If none has them, and neither deletion nor
     * compaction explains this, they are lost. Throws DataLossException.
     */
    List<SegmentSlice> behind(SegmentSlice piece, long from, long to, String torn) throws IOException {
        if (piece.tiered()) {
            lost(piece, from, to, torn);
            return List.of();
        }
        String folder = Files.parent(piece.path());
        // a listing of a folder that changes is not of one moment
        List<SegmentSlice> found = covering(folder, piece, from, to + 1);
        found.removeIf(each -> each.base() <= piece.base());
        if (!found.isEmpty()) {
            return found;
        }
        if (!piece.isRequested() && covering(folder, piece, 0, to + 1).isEmpty()) {
            // retention has deleted it
            return found;
        }
        // an end moves back by truncation alone: compaction leaves the last segment as it is
        boolean shrunk = piece.after() < 0
                && covering(folder, piece, piece.base() + 1, -1).stream().allMatch(each -> each.base() <= piece.base());
        long first = torn == null && !shrunk ? Gaps.firstLost(folder, piece, from, to, conf) : from;
        if (first <= to) {
            lost(piece, first, to, torn);
        }
        return found;
    }

    private void lost(SegmentSlice piece, long from, long to, String torn) {
        String what = "offsets " + from + " to " + to + " of " + piece.owner() + " are ";
        losses.missing(piece.path(), torn == null ? what + "in no segment, and not for compaction"
                : what + "missing: it ends in a torn tail, " + torn);
    }

    /** The segments of a folder that may hold offsets from {@code least} on and below {@code stop}, for a piece. */
    private List<SegmentSlice> covering(String folder, SegmentSlice of, long least, long stop) throws IOException {
        List<Files.Entry> logs = new ArrayList<>();
        for (Files.Entry each : Files.in(folder, conf)) {
            if (!each.folder() && Names.segment(each.name()) >= 0) {
                logs.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        List<SegmentSlice> found = new ArrayList<>();
        for (int index = 0; index < logs.size(); index++) {
            long base = Names.segment(logs.get(index).name());
            long after = index + 1 < logs.size() ? Names.segment(logs.get(index + 1).name()) : -1;
            if ((stop < 0 || base < stop) && (after < 0 || after > least)) {
                found.add(new SegmentSlice(of.topic(), of.partition(), logs.get(index).path(), base, -1, after,
                        Math.max(of.start(), least), of.stop(), false, 0, Long.MAX_VALUE, false));
            }
        }
        return found;
    }
}
