package org.kodec.spark;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.kodec.kafka.log.MessageSet;
import org.kodec.runtime.FormatException;

/** Goes through one piece of a segment from batch to batch. */
final class SliceWalk implements Closeable {
    final SegmentSlice piece;
    final Wanted wanted;
    private final Files.Source source;
    private final RowBuffers rows;
    private final Window window;
    private final ReadSettings reading;
    private final Transactions transactions;
    private final OffsetOrder order;
    private final long passed;
    // of the batch that was come to
    private long position;
    private long offset;
    private int size;
    private int magic;
    private int wrapping;
    // of the bytes read so far
    private String torn;
    private boolean seen;
    private boolean done;

    /** Of a file that was opened, and that is closed with this. Throws FormatException, IOException. */
    SliceWalk(
            SegmentSlice piece, Files.Source source, RowBuffers rows, Window window, ReadSettings reading, Configuration conf)
            throws IOException {
        this.piece = piece;
        this.source = source;
        this.rows = rows;
        this.window = window;
        this.reading = reading;
        Start start;
        try {
            transactions = !reading.committed() ? null : Transactions.between(Files.parent(piece.path()), piece.tiered(),
                    piece.start(), piece.stop(), reading, conf);
            wanted = Wanted.of(piece, source.size(), reading);
            if (wanted.replaced() && piece.isPart()) {
                throw new IOException("it was replaced while it was read: run the query again");
            }
            start = Start.of(piece, wanted.first(), new Segment(piece.path(), piece.base(), reading, conf, source));
        } catch (IOException | RuntimeException error) {
            source.close();
            throw error;
        }
        order = new OffsetOrder(piece, wanted.replaced(), start.last(), conf);
        passed = start.passed();
        // a task for a range of bytes may start after the wanted offsets
        done = piece.from() > 0 && start.isSure() && start.last() >= wanted.last() && !wanted.toTheEnd();
        window.open(source, Files.isLocal(piece.path()), start.position(), rows.count() > 0);
    }

    /** Whether the batch is a list of records under one header. */
    boolean isList() {
        return Frame.isList(magic);
    }

    /** The format of the batch. */
    int magic() {
        return magic;
    }

    /** The codec of the batch, without the variant that old messages have of it. */
    String codec() {
        return isList() ? rows.rows.codec() : MessageSet.Compression.of(wrapping).name().toLowerCase(Locale.ROOT);
    }

    /** Where the batch starts in the file. */
    long position() {
        return position;
    }

    /** The bytes of the batch. */
    int size() {
        return size;
    }

    @Override
    public void close() throws IOException {
        source.close();
    }

    /** Goes to the next batch that may have wanted rows. Throws FormatException, IOException. */
    Step advance() throws IOException {
        while (!done) {
            try {
                Step step = step();
                if (step != null) {
                    return step;
                }
            } catch (FormatException error) {
                throw error.inSource(piece.path());
            } catch (IOException | UncheckedIOException error) {
                throw Batches.unreadable(piece, window.position(), error);
            }
        }
        return Step.END;
    }

    private Step step() throws IOException {
        long here = window.position();
        if (here >= piece.to() || here < 0 || wanted.toTheEnd() && here >= piece.size()) {
            done = true;
            return null;
        }
        boolean pinned = rows.plain() && rows.count() > 0;
        // batches that start after the slice belong to others
        Boolean there = window.ready(Frame.SIZE, piece.to(), pinned);
        if (there == null) {
            return Step.FLUSH;
        }
        Frame frame = there ? window.frame() : null;
        if (frame != null && frame.known() && frame.fits(reading.largest())) {
            there = window.ready((int) frame.size(), piece.to(), pinned);
            if (there == null) {
                return Step.FLUSH;
            }
            if (there) {
                position = here;
                offset = frame.offset();
                magic = frame.magic();
                size = (int) frame.size();
                return isList() ? list() : message();
            }
        }
        torn = TornTail.reason(new Pages(source), here, order.last + 1, OffsetOrder.highest(piece.base()), reading);
        done = true;
        return null;
    }

    private Step list() throws IOException {
        boolean check = reading.checkCrc();
        boolean right = rows.rows.head(window.data, window.at, window.at + size, check && !wanted.bounded());
        if (!right || rows.rows.codec() == null) {
            throw wrong();
        }
        boolean overflows = rows.rows.headLastOffsetDelta > 0 && offset > Long.MAX_VALUE - rows.rows.headLastOffsetDelta;
        long end = overflows ? Long.MAX_VALUE : rows.rows.offsetLast();
        inOrder(offset, end);
        if (wanted.bounded()) {
            if (offset > wanted.last() && !wanted.toTheEnd()) {
                order.last = end;
                done = true;
                return null;
            }
            // a skipped batch is checked too: with a damaged header, its rows would seem not to be wanted
            if (check && !crcOk()) {
                throw wrong();
            }
            boolean old = rows.rows.timestampLast() < reading.firstTimestamp();
            if (offset > wanted.last() || end < wanted.first() && !reaches() || old) {
                skip();
                return null;
            }
        }
        boolean hidden = rows.rows.hidden() && !reading.control();
        boolean dropped = transactions != null && rows.rows.headAttributesIsTransactional && !rows.rows.hidden()
                && transactions.drops(rows.rows.headProducerId, offset);
        if (hidden || dropped || rows.rows.headNumRecords == 0) {
            skip();
            return null;
        }
        return Step.BATCH;
    }

    private Step message() throws IOException {
        boolean right = rows.old.head(window.data, window.at, window.at + size, reading.checkCrc());
        if (!right || rows.old.codec() == null) {
            throw wrong();
        }
        // the rows of its content replace it
        wrapping = rows.old.headMessageAttributesCompression;
        inOrder(offset, offset);
        if (offset < wanted.first() && rows.old.codec().equals("none")) {
            skip();
            return null;
        }
        return Step.BATCH;
    }

    /**
     * Whether the batch may have wanted offsets though its header ends below them: they are below the next batch. Its
     * checksum may be right, with a last offset that its writer has set wrong.
     */
    private boolean reaches() throws IOException {
        Frame following = window.following(size, reading.batchBytes());
        return following == null || following.offset() > wanted.first();
    }

    private boolean crcOk() {
        return rows.rows.head(window.data, window.at, window.at + size, true);
    }

    private FormatException wrong() {
        return WrongBatch.error(window.bytes(size), position, reading).inSource(piece.path());
    }

    private void inOrder(long start, long end) throws IOException {
        FormatException error = order.check(start, end, window, size, reading.batchBytes());
        if (error == null) {
            return;
        }
        if (isList() && reading.checkCrc() && !crcOk()) {
            // a wrong checksum explains more
            throw wrong();
        }
        throw error.within(WrongBatch.name(new Frame(offset, size, magic))).shifted(position);
    }

    /** Leaves the batch without its rows. */
    void skip() {
        long end = isList() ? rows.rows.offsetLast() : offset;
        leave(end, !isList() || rows.rows.headNumRecords == rows.rows.headLastOffsetDelta + 1L ? end : offset);
    }

    /** Leaves the batch, which ends at an offset by its header, and has records up to another one. */
    private void leave(long end, long last) {
        order.last = Math.max(end, last);
        seen = true;
        window.at += size;
        if (last >= wanted.last() && !wanted.toTheEnd()) {
            // the rest was not requested
            done = true;
        }
    }

    /**
     * Appends the rows of the batch. Returns false, without doing anything, if the pending rows are in other bytes and
     * must be returned first. Throws FormatException.
     */
    boolean append() throws IOException {
        if (!rows.takes(isList())) {
            return false;
        }
        if (!rows.add(window.data, reading)) {
            throw wrong();
        }
        if (isList() && rows.rows.hidden()) {
            try {
                Control.check(window.bytes(size), position);
            } catch (FormatException error) {
                throw error.inSource(piece.path());
            }
        }
        if (isList() && rows.rows.headNumRecords > 0) {
            long last = Long.MIN_VALUE;
            for (int row = rows.rows.count - rows.rows.headNumRecords; row < rows.rows.count; row++) {
                last = Math.max(last, rows.rows.offset[row]);
            }
            leave(rows.rows.offsetLast(), last);
        } else {
            skip();
        }
        return true;
    }

    /** Notes bytes at the end that are not a whole batch: a broker may still be writing it, or a crash has left it. */
    void noteTail(Losses losses) throws IOException {
        if (torn != null) {
            losses.tornTail(piece, window.position(), source.size() - window.position(), torn);
        }
    }

    /**
     * Ends the slice: reports the offsets up to the next segment, or up to the requested end, that are missing; returns
     * the segment that a broker has created since, which is to be read next.
     */
    List<SegmentSlice> ended(Siblings siblings) throws IOException {
        // if a segment is split, the part with its last batch or torn tail reports missing offsets; and, as the others
        // may have been read before, each part that lies behind the end of a file that was cut since
        boolean atEnd = window.position() >= source.size();
        boolean cut = piece.size() > piece.from() && source.size() <= piece.from();
        boolean mine = !piece.isPart() || torn != null || atEnd && (seen || cut);
        if (piece.stop() < 0 || piece.size() < 0 || !mine) {
            return List.of();
        }
        long last = seen ? order.last : Math.max(order.last, passed);
        long from = Math.max(Math.max(last + 1, piece.start()), reading.firstOffset());
        long to = Math.min(piece.stop() - 1, reading.lastOffset());
        return from > to ? List.of() : siblings.behind(piece, from, to, torn);
    }
}
