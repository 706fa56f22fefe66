package org.kodec.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * The part of a segment that one task reads: offsets, limited to the batches whose first byte is in a range.
 *
 * @param topic the topic
 * @param partition the number of the partition
 * @param path of the log, with its scheme if it has one
 * @param base the base offset, which is the file's name
 * @param size of the log in bytes, as listed; -1 for a segment that replaces a deleted one
 * @param after the base offset of the segment listed after it; -1 for the last one
 * @param first only offsets from this on
 * @param end only offsets below this; -1 means no bound
 * @param isRequested whether the first offset was requested by number, so that it must exist
 * @param from the first batch starts here or later
 * @param to batches that start here or later are read by others; {@code Long.MAX_VALUE} for none
 * @param tail whether bytes that are not a complete batch follow {@code end}: they are read too, to report their error
 */
record SegmentSlice(
        String topic,
        int partition,
        String path,
        long base,
        long size,
        long after,
        long first,
        long end,
        boolean isRequested,
        long from,
        long to,
        boolean tail)
        implements Serializable {
    /** A whole segment. */
    static SegmentSlice of(Names.TopicPartition owner, String path, long base, long size, long after) {
        return new SegmentSlice(
                owner.topic(), owner.partition(), path, base, size, after, 0, -1, false, 0, Long.MAX_VALUE, false);
    }

    /** Whether it is in remote storage, from which segments are never compacted and never replaced. */
    boolean tiered() {
        return Names.remote(Files.name(path)) >= 0;
    }

    /** The name of the topic-partition. */
    String owner() {
        return topic + "-" + partition;
    }

    /** The first offset that may be in it and is wanted. */
    long start() {
        return Math.max(first, base);
    }

    /** The offset up to which all are expected here, exclusive; -1 if unknown. */
    long stop() {
        return least(after, end);
    }

    /** The part with these offsets; -1 means no bound. Null if there is none. */
    SegmentSlice within(long least, long stop) {
        SegmentSlice part = new SegmentSlice(topic, partition, path, base, size, after, Math.max(first, least), least(end, stop),
                isRequested, from, to, tail);
        // a task must report a segment without a batch, or what else is in it
        boolean told = tail && part.end == end;
        return part.stop() >= 0 && part.start() >= part.stop() && !told ? null : part;
    }

    /** What of the pieces has these offsets (-1: any); unless they are {@code wanted}, they need not be there. */
    static List<SegmentSlice> cut(List<SegmentSlice> pieces, long first, long end, boolean wanted) {
        List<SegmentSlice> made = new ArrayList<>();
        for (SegmentSlice each : pieces) {
            SegmentSlice part = end >= 0 && each.base() >= end ? null
                    : each.within(first, wanted || each.stop() >= 0 ? end : -1);
            if (part != null) {
                made.add(part);
            }
        }
        return made;
    }

    /** The same, whose first offset must be there or not. */
    SegmentSlice withRequested(boolean value) {
        return new SegmentSlice(topic, partition, path, base, size, after, first, end, value, from, to, tail);
    }

    /** The same with an end, and perhaps with the bytes after it. */
    SegmentSlice ended(long offset, boolean more) {
        return new SegmentSlice(topic, partition, path, base, size, after, first, offset, isRequested, from, to, more);
    }

    /** The part with these bytes. */
    SegmentSlice bytes(long start, long stop) {
        return new SegmentSlice(topic, partition, path, base, size, after, first, end, isRequested, start, stop, tail);
    }

    /** Whether it is only a part of the bytes. */
    boolean isPart() {
        return from > 0 || to < Long.MAX_VALUE;
    }

    /** Its bytes when tasks are balanced, as if offsets were spread evenly over its segment. */
    long weight() {
        if (isPart() || end < 0) {
            return Math.min(size, to) - from;
        }
        long whole = Math.max(1, (after >= 0 ? after : end) - base);
        double share = (double) Math.max(0, stop() - start()) / whole;
        return (long) Math.min(size, size * share);
    }

    /** The smaller of two offsets; -1 means none. */
    static long least(long one, long other) {
        return one < 0 ? other : other < 0 ? one : Math.min(one, other);
    }
}
