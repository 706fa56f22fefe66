package org.kodec.spark;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Missing offsets: an error, or counted and logged if {@code failOnDataLoss} is false. */
final class Losses {
    private static final Logger LOG = LoggerFactory.getLogger("kodec");

    /** The number of logged ranges. */
    long count;
    private final ReadSettings reading;

    Losses(ReadSettings reading) {
        this.reading = reading;
    }

    /** Throws DataLossException. */
    void lost(SegmentSlice piece, String text) {
        if (reading.failOnDataLoss()) {
            throw new DataLossException(piece.path() + ": " + text + "; failOnDataLoss=false reads on");
        }
        LOG.warn("skipped: {}: {}", piece.path(), text);
        count++;
    }
}
