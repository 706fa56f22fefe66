package org.kodec.spark;

/**
 * What of a piece is wanted.
 *
 * @param first the least offset
 * @param last the largest offset
 * @param bounded whether a batch may not be wanted
 * @param toTheEnd whether what lies behind the last wanted offset is looked at for damage
 * @param replaced whether the file is not the one that was listed
 */
record Wanted(long first, long last, boolean bounded, boolean toTheEnd, boolean replaced) {
    /** Of a file with so many bytes. */
    static Wanted of(SegmentSlice piece, long size, ReadSettings reading) {
        boolean replaced = piece.size() < 0 || piece.after() >= 0 && size != piece.size() && !piece.tiered();
        // a bound at the base offset is none: a wrapper may begin below it
        long first = Math.max(piece.first() > piece.base() ? piece.first() : 0, reading.firstOffset());
        long last = Math.min(piece.end() < 0 ? Long.MAX_VALUE : piece.end() - 1, reading.lastOffset());
        if (replaced) {
            // it is of the cleaner, and may hold records of the segments behind it too
            first = Math.max(first, piece.base());
            last = piece.stop() < 0 ? last : Math.min(last, piece.stop() - 1);
        }
        boolean bounded = first > 0 || last < Long.MAX_VALUE || reading.firstTimestamp() > Long.MIN_VALUE;
        return new Wanted(first, last, bounded, piece.tail() && last == piece.end() - 1, replaced);
    }
}
