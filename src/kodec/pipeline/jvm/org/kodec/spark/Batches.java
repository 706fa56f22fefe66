package org.kodec.spark;

import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/** Goes through pieces of segments, one after the other, and appends the rows of their batches. */
final class Batches implements Closeable {
    final RowBuffers rows;
    final Window window = new Window();
    final DamagePolicy left;
    /** The piece whose batches are read now, or were read last. */
    SliceWalk walk;

    private final ReadSettings reading;
    private final Configuration conf;
    private final boolean ordered;
    private final Siblings siblings;
    private final Deque<SegmentSlice> pieces = new ArrayDeque<>();
    private boolean open;

    Batches(Iterable<SegmentSlice> given, ReadSettings reading, Configuration conf, long columns, long oldColumns) {
        this(given, reading, conf, columns, oldColumns, true);
    }

    /** With {@code ordered}, offsets that are out of order are damage. */
    Batches(
            Iterable<SegmentSlice> given, ReadSettings reading, Configuration conf, long columns, long oldColumns,
            boolean ordered) {
        this.reading = reading;
        this.conf = conf;
        this.ordered = ordered;
        given.forEach(pieces::add);
        rows = new RowBuffers(columns, oldColumns);
        left = new DamagePolicy(reading);
        siblings = new Siblings(reading, conf, left);
    }

    /** Goes to the next batch that may have wanted rows. Throws FormatException, IOException, DataLossException. */
    Step advance() throws IOException {
        while (open || !pieces.isEmpty()) {
            if (open) {
                Step step = walk.advance();
                if (step != Step.END) {
                    return step;
                }
                readNext(walk.ended(siblings));
                closeWalk();
                continue;
            }
            if (walk != null && rows.count() > 0 && !pieces.peek().owner().equals(walk.piece.owner())) {
                return Step.FLUSH;
            }
            SegmentSlice next = pieces.poll();
            try {
                open(next);
            } catch (FormatException error) {
                throw error.source() == null ? error.inSource(next.path()) : error;
            } catch (IOException | UncheckedIOException error) {
                left.unreadable(next, error, -1, 0);
            }
        }
        return Step.END;
    }

    private void open(SegmentSlice next) throws IOException {
        Files.Source source;
        try {
            source = Files.open(next.path(), conf);
        } catch (FileNotFoundException error) {
            List<SegmentSlice> now = next.tiered() ? null : siblings.inPlaceOf(next);
            if (now == null) {
                throw new IOException(DamagePolicy.GONE, error);
            }
            readNext(now);
            return;
        }
        walk = new SliceWalk(next, source, ordered, rows, window, left, reading, conf);
        open = true;
    }

    private void readNext(List<SegmentSlice> found) {
        for (int index = found.size() - 1; index >= 0; index--) {
            pieces.addFirst(found.get(index));
        }
    }

    private void closeWalk() throws IOException {
        if (open) {
            open = false;
            walk.close();
        }
    }

    @Override
    public void close() throws IOException {
        rows.close();
        closeWalk();
    }
}
