package org.kodec.spark;

import java.io.Serializable;

/**
 * What one task reads of a segment: all of it, or the batches whose first byte is in a range of it.
 *
 * @param topic the topic
 * @param partition the number of the partition
 * @param path of the log, with its scheme where it has one
 * @param base the base offset, which is the file's name
 * @param size of the log in bytes, as it was listed
 * @param after the base offset of the segment listed after it; -1 for the last one
 * @param first no offset below this is wanted
 * @param last no offset above this is wanted
 * @param from the batch that starts here or after it is the first one
 * @param to the batch that starts here or after it is left to others; {@code Long.MAX_VALUE} for none
 */
record Piece(
        String topic,
        int partition,
        String path,
        long base,
        long size,
        long after,
        long first,
        long last,
        long from,
        long to)
        implements Serializable {
    /** The name of the topic-partition. */
    String owner() {
        return topic + "-" + partition;
    }

    /** The part with these bytes. */
    Piece bytes(long start, long stop) {
        return new Piece(topic, partition, path, base, size, after, first, last, start, stop);
    }

    /** The part with these offsets. */
    Piece offsets(long least, long most) {
        return new Piece(topic, partition, path, base, size, after, Math.max(first, least), Math.min(last, most),
                from, to);
    }

    /** The bytes that it stands for when tasks are weighed. */
    long weight() {
        return Math.min(size, to) - from;
    }
}
