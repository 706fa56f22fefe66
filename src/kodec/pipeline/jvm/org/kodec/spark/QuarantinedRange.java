package org.kodec.spark;

import java.io.Serializable;

/**
 * A range that is not among the rows of a segment.
 *
 * @param kind damaged or unreadable (bytes), torn tail (the end of the file), missing (offsets in no segment)
 * @param position in the file; null if it is not bytes; also for the next one
 * @param firstOffset of a missing range, otherwise null; also for the next one
 */
record QuarantinedRange(
        String topic,
        int partition,
        String file,
        Long position,
        Long size,
        Long firstOffset,
        Long lastOffset,
        String kind,
        String message)
        implements Serializable {
    /** Some bytes. */
    static QuarantinedRange bytes(SegmentSlice piece, String kind, long position, long size, String message) {
        return new QuarantinedRange(piece.topic(), piece.partition(), piece.path(), position, size, null, null, kind, message);
    }

    /** What is no place in the file. */
    static QuarantinedRange of(SegmentSlice piece, String kind, String message) {
        return new QuarantinedRange(piece.topic(), piece.partition(), piece.path(), null, null, null, null, kind, message);
    }

    /** Offsets that no segment contains. */
    static QuarantinedRange missing(SegmentSlice piece, long first, long last, String message) {
        return new QuarantinedRange(piece.topic(), piece.partition(), piece.path(), null, null, first, last, "missing", message);
    }

    @Override
    public String toString() {
        String place = size == null ? "" : ": bytes " + position + " to " + (position + size);
        return file + place + ": " + message;
    }
}
