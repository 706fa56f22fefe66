package org.kodec.spark;

/**
 * The wanted part of a slice.
 *
 * @param first the least offset
 * @param last the largest offset
 * @param bounded whether some batches may not be wanted
 * @param toTheEnd whether bytes after the last wanted offset are checked for damage
 * @param replaced whether the file replaces the listed one
 */
record Wanted(long first, long last, boolean bounded, boolean toTheEnd, boolean replaced) {
    /** For a file of this size in bytes. */
    static Wanted of(SegmentSlice piece, long size, ReadSettings reading) {
        boolean replaced = piece.size() < 0 || piece.after() >= 0 && size != piece.size() && !piece.tiered();
        // a bound at the base offset is ignored: a wrapper may start below it
        long first = Math.max(piece.first() > piece.base() ? piece.first() : Long.MIN_VALUE, reading.firstOffset());
        long last = Math.min(piece.end() < 0 ? Long.MAX_VALUE : piece.end() - 1, reading.lastOffset());
        if (replaced) {
            // the cleaner wrote it, and it may also contain records of the segments after it
            first = Math.max(first, piece.base());
            last = piece.stop() < 0 ? last : Math.min(last, piece.stop() - 1);
        }
        boolean bounded = first > 0 || last < Long.MAX_VALUE || reading.firstTimestamp() > Long.MIN_VALUE;
        return new Wanted(first, last, bounded, piece.tail() && last == piece.end() - 1, replaced);
    }
}
