package org.kodec.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What planning, or a task, left out: offsets that are missing are an error, or counted if {@code failOnDataLoss} is
 * false. */
final class Losses {
    /** So many are described: a driver holds those of all tasks. */
    private static final int MOST_TEXTS = 100;

    /** One for each range of offsets, the last one for all that are not described. */
    final List<String> texts = new ArrayList<>();
    private final long[] counts = new long[Cause.values().length];
    private final boolean fails;

    /** With {@code failOnDataLoss}. */
    Losses(boolean fails) {
        this.fails = fails;
    }

    /** How many ranges were left out for a cause. */
    long count(Cause cause) {
        return counts[cause.ordinal()];
    }

    /** Offsets that nothing has. Throws DataLossException. */
    void missing(String text) {
        if (fails) {
            throw new DataLossException(text + "; failOnDataLoss=false reads what is there");
        }
        add(Cause.MISSING, text);
    }

    /** The same in a file, or in the folder of a topic-partition. Throws DataLossException. */
    void missing(String path, String text) {
        if (fails) {
            throw new DataLossException(path + ": " + text + "; failOnDataLoss=false reads on");
        }
        add(Cause.MISSING, path + ": " + text);
    }

    /** Forgets them: planning starts again. */
    void clear() {
        texts.clear();
        Arrays.fill(counts, 0);
    }

    /** Bytes at the end of a segment that are not a whole batch, which is no error: of the newest one a broker may write it. */
    void tornTail(SegmentSlice piece, long position, long size, String reason) {
        add(piece.after() < 0 ? Cause.UNFINISHED : Cause.DAMAGED, piece.path() + ": ends at byte " + position + ", " + size
                + " bytes before the end of the file: " + reason);
    }

    /** The offsets from an open transaction on, which {@code read_committed} does not return: no error either. */
    void undecided(String folder, long offset, long producer) {
        add(Cause.UNFINISHED, folder + ": read_committed ends before offset " + offset
                + ", where an open transaction of producer " + producer + " begins");
    }

    private void add(Cause cause, String text) {
        counts[cause.ordinal()]++;
        if (texts.size() < MOST_TEXTS) {
            texts.add(cause.value + ": " + text);
        } else if (texts.size() == MOST_TEXTS) {
            texts.add(cause.value + ": and more ranges, which only the metrics count");
        }
    }
}
