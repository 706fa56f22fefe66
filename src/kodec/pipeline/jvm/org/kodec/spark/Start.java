package org.kodec.spark;

import org.kodec.runtime.FormatException;

/**
 * Where reading a slice starts: batches before it belong to others or, according to the index, are not wanted.
 *
 * @param position in the file; {@code Long.MAX_VALUE} if nothing in it belongs to the slice
 * @param last the last plausible offset before it
 * @param passed the last offset before it, plausible or not
 * @param isSure whether the batch before it has as many records as offsets, so that none of them is above {@code last}
 */
record Start(long position, long last, long passed, boolean isSure) {
    /** Where the offsets from {@code first} on start in a piece. */
    static Start of(SegmentSlice piece, long first, Segment segment) {
        long before = piece.base() - 1;
        if (piece.from() == 0 && (first <= piece.base() || piece.size() < 0)) {
            return new Start(0, before, before, true);
        }
        long near = 0;
        if (first > piece.base()) {
            try {
                near = segment.find(first);
                // the last batch has it where its header is damaged
                near = near < 0 ? segment.lastPlace : near;
            } catch (FormatException error) {
                // the reader of the whole reports the error, if it affects wanted offsets
                near = 0;
            }
        }
        if (near < piece.from()) {
            return owned(segment, piece.from(), before);
        }
        return new Start(near, near > 0 && segment.lastBefore >= 0 ? segment.lastBefore : before, before, false);
    }

    /** The first batch that begins at {@code from} or after it: by the index, then from batch to batch. */
    private static Start owned(Segment segment, long from, long last) {
        long pos = segment.anchorAt(from - 1);
        long second = -1;
        long before = -1;
        while (pos < from) {
            Frame frame = segment.whole(pos);
            if (frame == null) {
                // damage, or a torn tail: the slice that this batch belongs to reports which; or the file was cut since
                return new Start(Long.MAX_VALUE, last, before < 0 ? last : passed(segment, before, last), false);
            }
            second = before;
            before = pos;
            pos += frame.size();
        }
        long passed = last;
        try {
            Segment.Head head = segment.head(before, segment.whole(before));
            passed = segment.after(head) - 1;
            long lower = second >= 0 ? segment.head(second, segment.whole(second)).last() : before == 0 ? last : -1;
            // after a gap it may be the wrong one, which the slice that it belongs to reports
            return new Start(pos, lower < 0 || head.first() == lower + 1 ? head.last() : last, passed, head.isDense());
        } catch (FormatException error) {
            // its reader reports the error
            return new Start(pos, last, passed, false);
        }
    }

    /** The last offset of a batch; {@code otherwise} if its header is wrong. */
    private static long passed(Segment segment, long position, long otherwise) {
        try {
            return segment.after(segment.head(position, segment.whole(position))) - 1;
        } catch (FormatException error) {
            return otherwise;
        }
    }
}
