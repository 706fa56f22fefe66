package org.kodec.spark;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/** Whether the offsets of batches ascend and stay within their segment: no checksum covers them. */
final class OffsetOrder {
    /** The last offset so far. */
    long last;
    private final SegmentSlice piece;
    private final boolean replaced;
    private final Configuration conf;
    /** The offsets below the next segment, once it was read. */
    private long highest = -1;

    OffsetOrder(SegmentSlice piece, boolean replaced, long last, Configuration conf) {
        this.piece = piece;
        this.replaced = replaced;
        this.last = last;
        this.conf = conf;
    }

    /** The highest offset that a segment can have. */
    static long highest(long base) {
        return Math.min(base, Long.MAX_VALUE - 1 - Frame.MAX_RELATIVE) + Frame.MAX_RELATIVE;
    }

    /** What is wrong with the offsets of a batch of {@code size} bytes, without its place; null: nothing. */
    FormatException check(long start, long end, Window window, int size, long batchBytes) throws IOException {
        if (start <= last) {
            return wrong("offsets ascend", "more than " + last, start);
        }
        if (end < start) {
            return wrong("last offset below the first", "at least " + start, end);
        }
        // the largest offset an index can have; the offset after it must be valid too
        long limit = highest(piece.base());
        if (piece.after() >= 0 && !replaced && !piece.tiered()) {
            limit = Math.min(limit, piece.after() - 1);
        }
        if (end > limit) {
            return wrong("outside of its segment", "at most " + limit, end);
        }
        if (start == last + 1) {
            return null;
        }
        if (highest < 0) {
            highest = Math.min(limit, Gaps.nextBase(piece, replaced, conf) - 1);
        }
        if (end > highest) {
            return wrong("outside of its segment", "at most " + highest, end);
        }
        Frame following = window.following(size, batchBytes);
        if (following != null && last < following.offset() && following.offset() <= end) {
            return wrong("offsets ascend", "below " + following.offset() + ", where the next batch starts",
                    start + " to " + end);
        }
        return null;
    }

    private static FormatException wrong(String reason, Object need, Object have) {
        return FormatException.malformed("base_offset", reason, 0, need, have);
    }
}
