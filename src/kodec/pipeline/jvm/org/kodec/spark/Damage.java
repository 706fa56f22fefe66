package org.kodec.spark;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/** The damage in a file, and where reading continues after it; created only if there is any. */
final class Damage {
    /** The end of the last skipped damage; -1 for none. */
    long skippedEnd = -1;
    private final SegmentSlice piece;
    private final Files.Source source;
    private final ReadSettings reading;
    private final DamagePolicy left;
    private final Pages pages;
    private final boolean ordered;
    private final boolean replaced;
    private final Configuration conf;
    private Resumption resumption;

    /** With {@code ordered}, offsets in the names of segments are used. */
    Damage(
            SegmentSlice piece, Files.Source source, boolean ordered, boolean replaced, ReadSettings reading,
            DamagePolicy left, Configuration conf)
            throws IOException {
        this.piece = piece;
        this.source = source;
        this.ordered = ordered;
        this.replaced = replaced;
        this.reading = reading;
        this.left = left;
        this.conf = conf;
        pages = new Pages(source);
    }

    private Resumption resumption() throws IOException {
        if (resumption == null) {
            long stop = ordered ? Gaps.nextBase(piece, replaced || piece.tiered(), conf) : Long.MAX_VALUE;
            resumption = new Resumption(pages, reading, piece.base(), stop);
        }
        return resumption;
    }

    /** The torn tail at a position without a complete batch; null at the end of the file. Throws FormatException. */
    Tail tail(long position, Resumption.PrecedingLog before) throws IOException {
        return Tail.at(pages, position, reading, resumption(), before);
    }

    /** The error of the batch at a position: that the file is of another system, if it is. */
    FormatException named(long position, FormatException wrong) {
        FormatException foreign = position == 0 ? Foreign.error(pages) : null;
        return (foreign == null ? wrong : foreign).inSource(piece.path());
    }

    /** Notes the skipped range, and returns where reading continues. */
    long skip(long position, FormatException error, Resumption.PrecedingLog before) throws IOException {
        // a file of another system may contain batches, of several logs
        boolean foreign = position == 0 && Foreign.error(pages) != null;
        long next = foreign ? source.size() : resumption().after(position, before);
        left.damaged(piece, position, next - position, error.getMessage());
        skippedEnd = next;
        return next;
    }
}
