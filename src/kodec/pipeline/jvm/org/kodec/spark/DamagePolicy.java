package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Handles bytes and offsets that are not among the rows: reports them as errors, or logs them if they are to be
 * skipped. */
final class DamagePolicy {
    static final String GONE = "No such file or directory";
    private static final Logger LOG = LoggerFactory.getLogger("kodec");
    /** The most damaged ranges that are kept of a piece: more are counted. */
    private static final int MOST_RANGES = 10_000;

    /** Whoever reads it empties it. */
    final List<QuarantinedRange> found = new ArrayList<>();
    /** How many were logged. */
    long count;
    private final ReadSettings reading;
    private int ranges;
    private int omitted;
    private long omittedBytes;

    DamagePolicy(ReadSettings reading) {
        this.reading = reading;
    }

    /** Damaged bytes, which are skipped. */
    void damaged(SegmentSlice piece, long position, long size, String why) {
        QuarantinedRange left = QuarantinedRange.bytes(piece, "damaged", position, size, why);
        LOG.warn("skipped: {}", left);
        count++;
        if (ranges < MOST_RANGES) {
            found.add(left);
            ranges++;
        } else {
            omitted++;
            omittedBytes += size;
        }
    }

    /** What of a file cannot be read: bytes, or, where {@code position} is -1, all of it. Throws IOException. */
    void unreadable(SegmentSlice piece, Exception error, long position, long size) throws IOException {
        Throwable cause = error instanceof UncheckedIOException ? error.getCause() : error;
        String why = cause instanceof FileNotFoundException ? GONE : cause.getMessage();
        String text = piece.path() + " cannot be read at byte " + Math.max(0, position) + ": " + why;
        if (!reading.skip()) {
            throw new IOException(text, error);
        }
        leave(position < 0 ? QuarantinedRange.of(piece, "unreadable", text)
                : QuarantinedRange.bytes(piece, "unreadable", position, size - position, text));
    }

    /** Offsets that no segment has. Throws DataLossException. */
    void lost(SegmentSlice piece, long from, long to, String text) {
        if (reading.failOnDataLoss()) {
            throw new DataLossException(piece.path() + ": " + text + "; failOnDataLoss=false reads on");
        }
        leave(QuarantinedRange.missing(piece, from, to, text));
    }

    private void leave(QuarantinedRange left) {
        found.add(left);
        count++;
        LOG.warn("skipped: {}", left);
    }

    /** Ends a slice: its counts, and its torn tail if it has one. */
    void ended(SegmentSlice piece, Tail tail) {
        if (omitted > 0) {
            found.add(QuarantinedRange.of(piece, "damaged", omitted + " more ranges, " + omittedBytes + " bytes"));
        }
        if (tail != null) {
            found.add(QuarantinedRange.bytes(piece, "torn tail", tail.position(), tail.size(), tail.reason()));
        }
        ranges = 0;
        omitted = 0;
        omittedBytes = 0;
    }
}
