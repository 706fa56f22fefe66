package org.kodec.spark;

import java.io.Serializable;

/**
 * How segments are read, the same for all tasks of a query.
 *
 * @param checkCrc verify checksums
 * @param batchBytes the largest batch as stored
 * @param decompressedBytes the most bytes that the records of a batch may decompress to
 * @param elements the most records, with their headers, of a batch
 * @param control whether control records are returned too
 * @param committed whether the records of aborted transactions are left out
 * @param failOnDataLoss whether offsets that are missing without a reason are an error
 * @param firstOffset no offset below this is wanted
 * @param lastOffset no offset above this is wanted
 * @param firstTimestamp in ms: batches whose records are all older may be left out
 * @param key only records with this key are needed; null for all
 * @param limit a task needs no more rows than this
 */
record ReadSettings(
        boolean checkCrc,
        long batchBytes,
        long decompressedBytes,
        long elements,
        boolean control,
        boolean committed,
        boolean failOnDataLoss,
        long firstOffset,
        long lastOffset,
        long firstTimestamp,
        byte[] key,
        long limit)
        implements Serializable {
    private static final long NONE = Long.MIN_VALUE;
    private static final long MOST = Long.MAX_VALUE;

    /** With nothing that a query asks for. */
    ReadSettings(boolean checkCrc, long batchBytes, long decompressedBytes, long elements, boolean control, boolean committed,
            boolean failOnDataLoss) {
        this(checkCrc, batchBytes, decompressedBytes, elements, control, committed, failOnDataLoss, NONE, MOST, NONE, null, MOST);
    }

    /** With the requests of a query. */
    ReadSettings asked(long first, long last, long timestamp, byte[] wantedKey, long rows) {
        return new ReadSettings(checkCrc, batchBytes, decompressedBytes, elements, control, committed, failOnDataLoss,
                first, last, timestamp, wantedKey, rows);
    }

    /** The largest stored size of a batch. */
    long largest() {
        return Math.min(batchBytes, Integer.MAX_VALUE - 64);
    }

    /** To see where batches are, and no rows. */
    ReadSettings heads(boolean crc) {
        return new ReadSettings(crc, batchBytes, decompressedBytes, elements, control, false, false);
    }
}
