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
    /** How often a file may go before what has replaced it is open: more is no broker's work. */
    private static final int MOST_REPLACED = 20;

    final RowBuffers rows;
    final Window window = new Window();
    final Losses losses;
    /** The piece whose batches are read now, or were read last. */
    SliceWalk walk;

    private final ReadSettings reading;
    private final Configuration conf;
    private final Siblings siblings;
    private final Deque<SegmentSlice> pieces = new ArrayDeque<>();
    private boolean open;
    /** How many files in a row had gone. */
    private int gone;

    Batches(Iterable<SegmentSlice> given, ReadSettings reading, Configuration conf, long columns, long oldColumns) {
        this.reading = reading;
        this.conf = conf;
        given.forEach(pieces::add);
        rows = new RowBuffers(columns, oldColumns);
        losses = new Losses(reading.failOnDataLoss());
        siblings = new Siblings(reading, conf, losses);
    }

    /** Goes to the next batch that may have wanted rows. Throws FormatException, IOException, DataLossException. */
    Step advance() throws IOException {
        while (open || !pieces.isEmpty()) {
            if (open) {
                Step step = walk.advance();
                if (step != Step.END) {
                    return step;
                }
                walk.noteTail(losses);
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
                throw unreadable(next, 0, error);
            }
        }
        return Step.END;
    }

    /** The error of a file that cannot be read. */
    static IOException unreadable(SegmentSlice piece, long position, Exception error) {
        IOException cause = error instanceof UncheckedIOException wrapped ? wrapped.getCause() : (IOException) error;
        boolean gone = cause instanceof FileNotFoundException;
        String path = cause instanceof UnreachableException known ? known.path : gone ? cause.getMessage() : piece.path();
        boolean other = !path.equals(piece.path());
        String why = gone ? UnreachableException.NO_SUCH_FILE : UnreachableException.reason(cause, path);
        return new IOException(path + " cannot be read at byte " + (other ? 0 : position) + ": " + why, error);
    }

    private void open(SegmentSlice next) throws IOException {
        Files.Source source;
        try {
            source = Files.open(next.path(), conf);
        } catch (FileNotFoundException error) {
            List<SegmentSlice> now = next.tiered() ? null : siblings.inPlaceOf(next);
            if (now == null && reading.failOnDataLoss() || ++gone > MOST_REPLACED) {
                throw error;
            }
            if (now == null) {
                losses.missing(next.path(), "offsets " + next.start() + " to " + (next.stop() - 1) + " of " + next.owner()
                        + " are missing: " + UnreachableException.NO_SUCH_FILE);
            } else {
                readNext(now);
            }
            return;
        }
        gone = 0;
        walk = new SliceWalk(next, source, rows, window, reading, conf);
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
