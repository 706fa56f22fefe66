package org.kodec.spark;

import java.io.Serializable;

/**
 * How segments are read, the same for all tasks of a query.
 *
 * @param checkCrc verify checksums
 * @param batchBytes the largest batch as stored
 * @param decompressedBytes the most that the records of a batch may take
 * @param elements the most records, with their headers, of a batch
 * @param failOnDataLoss whether offsets that are missing without a reason are an error
 * @param firstTimestamp, in ms: batches whose records are all older may be left out
 * @param key only records with this key need be given; null for all
 * @param limit no more rows than this are wanted of a task
 */
record Reading(
        boolean checkCrc,
        long batchBytes,
        long decompressedBytes,
        long elements,
        boolean failOnDataLoss,
        long firstTimestamp,
        byte[] key,
        long limit)
        implements Serializable {}
