package org.kodec.spark;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/** What is wrong in a file, and where reading goes on behind it; made only where something is. */
final class Damage {
    /** Where the last damage ends that was skipped; -1 for none. */
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

    /** With {@code ordered}, what names of segments say of offsets counts. */
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

    /** The torn tail at a place where no whole batch is; null at the end of the file. Throws FormatException. */
    Tail tail(long position, Resumption.PrecedingLog before) throws IOException {
        return Tail.at(pages, position, reading, resumption(), before);
    }

    /** What is wrong with the batch at a place: that it is none, where the file is of another system. */
    FormatException named(long position, FormatException wrong) {
        FormatException foreign = position == 0 ? Foreign.error(pages) : null;
        return (foreign == null ? wrong : foreign).inSource(piece.path());
    }

    /** Notes what is skipped; where reading goes on. */
    long skip(long position, FormatException error, Resumption.PrecedingLog before) throws IOException {
        // what another system's file holds may well be batches, of several logs
        boolean foreign = position == 0 && Foreign.error(pages) != null;
        long next = foreign ? source.size() : resumption().after(position, before);
        left.damaged(piece, position, next - position, error.getMessage());
        skippedEnd = next;
        return next;
    }
}
