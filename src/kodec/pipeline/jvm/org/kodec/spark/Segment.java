package org.kodec.spark;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.OffsetIndex;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.kafka.log.TimeIndex;
import org.kodec.runtime.FormatException;

/**
 * One segment: lookup by offset and by time. Its indexes are hints: an entry is used only if it points to a complete
 * batch with a correct checksum and a matching offset; otherwise the segment is read from its start. The rules are
 * those of {@code kodec.log.directories.segment}.
 */
final class Segment implements Closeable {
    final String path;
    final long base;
    /** The last offset before the batch that was found last, if it was read; otherwise -1. */
    long lastBefore = -1;
    /** After a lookup that found nothing: the start of the last batch. */
    long lastPlace;

    private final Configuration conf;
    private final ReadSettings reading;
    private final Files.Source source;
    private final Pages pages;
    /** Where reading ended before the end of the file; -1 if nothing was read to there. */
    private long tornAt = -1;
    private final boolean mine;
    private final RecordBatch.Rows rows = new RecordBatch.Rows(0, 1);

    /**
     * Fields of a batch's header.
     *
     * @param first the first offset; of a compressed wrapper, the last one
     * @param count -1 if only the content has it
     */
    record Head(long position, long size, int magic, long first, long last, long count, long maxTimestamp,
            boolean timed, long producerId, boolean transactional, boolean control) {
        /** Whether it has as many records as offsets. */
        boolean isDense() {
            return count == last - first + 1;
        }
    }

    /** Opens it. Throws FileNotFoundException if it no longer exists. */
    Segment(String path, long base, ReadSettings reading, Configuration conf) throws IOException {
        this(path, base, reading, conf, Files.open(path, conf), true);
    }

    /** One that is open already, and that is not closed with this. */
    Segment(String path, long base, ReadSettings reading, Configuration conf, Files.Source open) throws IOException {
        this(path, base, reading, conf, open, false);
    }

    private Segment(String path, long base, ReadSettings reading, Configuration conf, Files.Source source, boolean mine)
            throws IOException {
        this.path = path;
        this.base = base;
        this.conf = conf;
        this.reading = reading.heads(false);
        this.source = source;
        this.mine = mine;
        pages = new Pages(source);
    }

    @Override
    public void close() throws IOException {
        if (mine) {
            source.close();
        }
    }

    private FormatException placed(FormatException error) {
        return error.inSource(path);
    }

    // -- frames -----------------------------------------------------------------------------------

    /** The frame of the complete batch at {@code pos}; null if there is none. */
    Frame whole(long pos) {
        Frame found = Frame.peek(pages, pos);
        boolean fits = found != null && found.known()
                && found.fits(Math.min(reading.batchBytes(), pages.remaining(pos)));
        return fits ? found : null;
    }

    /** The frame of the whole batch at {@code pos}; null where reading ends. Throws FormatException for damage. */
    Frame frame(long pos) {
        Frame found = whole(pos);
        if (found != null) {
            return found;
        }
        if (pos != tornAt) {
            try {
                TornTail.reason(pages, pos, base, OffsetOrder.highest(base), reading);
            } catch (FormatException error) {
                throw placed(error);
            }
            tornAt = pos;
        }
        return null;
    }

    /** How many bytes it has. */
    long size() {
        return pages.size;
    }

    byte[] bytes(long pos, long size) {
        return pages.read(pos, (int) size);
    }

    /** The header of the batch at {@code pos}. Throws FormatException. */
    Head head(long pos, Frame frame) {
        if (!frame.isList()) {
            byte[] data = bytes(pos, frame.size());
            Batch batch = Batch.of(data, pos);
            if (batch == null) {
                throw wrong(data, pos);
            }
            MessageSet.Rows old = batch.old();
            boolean alone = old.codec().equals("none");
            return new Head(pos, frame.size(), frame.magic(), frame.offset(), frame.offset(), alone ? 1 : -1,
                    old.headMessageMagic == 0 ? -1 : old.headMessageTimestamp, old.headMessageMagic > 0, -1, false, false);
        }
        int size = RecordBatch.recordsAt(frame.magic());
        byte[] start = bytes(pos, Math.min(frame.size(), size));
        // it has the place of the content only of a head that is whole, and right as far as that shows
        rows.headRecordsStart = -1;
        boolean all = rows.head(start, 0, start.length, false);
        // without its content, all of a batch is only there if it has none
        if (rows.headRecordsStart != size || rows.codec() == null || !all && rows.headNumRecords == 0) {
            throw wrong(bytes(pos, frame.size()), pos);
        }
        Head found = new Head(pos, frame.size(), frame.magic(), rows.headBaseOffset,
                rows.headBaseOffset + rows.headLastOffsetDelta, rows.headNumRecords, rows.headMaxTimestamp, true,
                rows.headProducerId, rows.headAttributesIsTransactional, rows.headAttributesIsControl);
        if (rows.headLastOffsetDelta < 0) {
            // a wrong checksum explains more
            batch(found);
            throw placed(FormatException
                    .malformed("base_offset", "last offset below the first", 0, "at least " + found.first, found.last)
                    .within("RecordBatch(base_offset=" + found.first + ")").shifted(pos));
        }
        return found;
    }

    /** Gives the headers of the batches from {@code pos} on, as long as {@code each} wants more. */
    void heads(long pos, Predicate<Head> each) {
        long at = pos;
        for (Frame frame = frame(at); frame != null; frame = frame(at)) {
            if (!each.test(head(at, frame))) {
                return;
            }
            at += frame.size();
        }
    }

    /** The batch that a header is of, its checksum verified. Throws FormatException. */
    Batch batch(Head head) {
        byte[] data = bytes(head.position, head.size);
        Batch found = Batch.of(data, head.position);
        if (found == null || !found.crcOk()) {
            throw wrong(data, head.position);
        }
        return found;
    }

    private FormatException wrong(byte[] data, long position) {
        return placed(WrongBatch.error(data, position, reading.heads(true)));
    }

    // -- the end ----------------------------------------------------------------------------------

    /** The header of the last complete batch; null if there is none. */
    Head lastHead() {
        long at = anchor(Long.MAX_VALUE);
        long position = -1;
        Frame last = null;
        for (Frame frame = frame(at); frame != null; frame = frame(at)) {
            last = frame;
            position = at;
            at += frame.size();
        }
        return last == null ? null : head(position, last);
    }

    /** The offset after the last one; the base offset if there is no batch. */
    long nextOffset() {
        Head last = lastHead();
        return last == null ? base : after(last);
    }

    /**
     * The offset after a batch. Its records decide, if they can be read, where the header does not have as many records as
     * offsets: compaction has removed some, or a writer has set a wrong last offset.
     */
    long after(Head head) {
        if (head.count < 0 || head.isDense()) {
            return head.last + 1;
        }
        Batch batch = Batch.of(bytes(head.position, head.size), head.position);
        long last = head.last;
        if (batch != null && batch.crcOk() && batch.decode(reading)) {
            for (int n = 0; n < batch.count(); n++) {
                last = Math.max(last, batch.offset(n));
            }
        }
        return last + 1;
    }

    /**
     * The offset after the batches before the first damaged one. With {@code last}, throws FormatException if a valid one
     * follows it: otherwise a broker may be writing it.
     */
    long good(boolean crc, boolean last) {
        long end = base;
        long at = 0;
        FormatException wrong = null;
        for (Frame frame = whole(at); frame != null; frame = whole(at)) {
            byte[] data = bytes(at, frame.size());
            Batch batch = Batch.of(data, at);
            boolean right = batch != null && (!crc || batch.crcOk());
            if (right && wrong != null) {
                throw wrong;
            }
            if (right) {
                end = Math.max(end, batch.last() + 1);
            } else if (last) {
                wrong = wrong == null ? wrong(data, at) : wrong;
            } else {
                return end;
            }
            at += frame.size();
        }
        if (last && TornTail.holdsBatch(pages, at + 1, base, OffsetOrder.highest(base), reading)) {
            frame(at);
        }
        return end;
    }

    // -- by offset --------------------------------------------------------------------------------

    /**
     * The start of the first batch whose last offset is not below {@code offset}; -1 if there is none. If the next batch
     * starts above the offset, it is that of the batch before the gap: its header may be wrong, with the last offset.
     * Throws FormatException for damage on the way, also if offsets do not ascend, because no checksum covers them and
     * another batch may be the wanted one.
     */
    long find(long offset) {
        long at = anchor(offset);
        Place earlier = null;
        Place before = null;
        Place behind = null;
        try {
            for (Frame frame = frame(at); frame != null; frame = frame(at)) {
                Place here = new Place(at, frame);
                if (frame.offset() > offset || !frame.isList() && frame.offset() == offset) {
                    behind = here;
                    break;
                }
                earlier = before;
                before = here;
                if (frame.offset() == offset && reaches(before, offset)) {
                    break;
                }
                at += frame.size();
            }
        } catch (FormatException error) {
            if (!reaches(before, offset)) {
                throw error;
            }
        }
        lastBefore = requireOrder(earlier, before);
        if (reaches(before, offset)) {
            return before.position;
        }
        // the offset is in a gap, or a header has the wrong end: only the records decide
        boolean gap = before != null && before.frame.isList() && behind != null
                && offset < behind.frame.offset();
        if (gap) {
            return before.position;
        }
        if (behind == null) {
            lastPlace = before == null ? 0 : before.position;
            return -1;
        }
        lastBefore = requireOrder(before, behind);
        return behind.position;
    }

    private record Place(long position, Frame frame) {}

    private boolean reaches(Place place, long offset) {
        return place != null && place.frame.isList() && head(place.position, place.frame).last >= offset;
    }

    /** Whether the checksum of a batch is right. */
    boolean isRight(Head head) {
        return isRight(head.position, head.size);
    }

    private boolean isRight(long position, long size) {
        Batch batch = Batch.of(bytes(position, size), position);
        return batch != null && batch.crcOk();
    }

    /**
     * The last offset of the batch before this one; -1 if unknown. Throws FormatException for a batch that does not
     * start after it, or starts below the segment.
     */
    private long requireOrder(Place before, Place place) {
        if (place == null) {
            return -1;
        }
        long last = base - 1;
        if (before != null) {
            try {
                last = head(before.position, before.frame).last;
            } catch (FormatException error) {
                // its reader reports the error
                return -1;
            }
        }
        long have = place.frame.offset();
        if (have <= last) {
            throw placed(FormatException.malformed("base_offset", "offsets ascend", 0, "more than " + last, have)
                    .within(WrongBatch.name(place.frame)).shifted(place.position));
        }
        return before == null ? -1 : last;
    }

    /** The start of a batch before which all offsets are below {@code offset}; 0 in the worst case. */
    private long anchor(long offset) {
        long[] entry = lastBelow("index", offset == Long.MAX_VALUE ? offset : offset - base + 1, Segment::offsetEntry, 0);
        return standing(entry);
    }

    /** The same by position: a batch starts there, not above {@code position}. */
    long anchorAt(long position) {
        return standing(lastBelow("index", position + 1, Segment::offsetEntry, 1));
    }

    private long standing(long[] entry) {
        return entry != null && stands(entry[1], base + entry[2] + 1, base + entry[0]) ? entry[1] : 0;
    }

    /** Whether a valid batch starts here, between a lower bound and the offset in the index. */
    private boolean stands(long position, long firstOffset, long lastOffset) {
        if (position == 0) {
            return true;
        }
        Frame frame = Frame.peek(pages, position);
        if (frame == null || !frame.known()
                || !frame.fits(Math.min(reading.batchBytes(), pages.remaining(position)))
                || frame.offset() < firstOffset || frame.isList() && frame.offset() > lastOffset) {
            return false;
        }
        Batch batch = Batch.of(bytes(position, frame.size()), position);
        if (batch == null || !batch.crcOk()) {
            return false;
        }
        Long first = batch.last() <= lastOffset ? (Long) batch.last() : batch.first(reading);
        return first != null && first <= lastOffset;
    }

    private interface Entry {
        /** The numbers of an entry; null if it is damaged. */
        long[] of(byte[] data);
    }

    private static long[] offsetEntry(byte[] data) {
        try {
            OffsetIndex.Entry entry = OffsetIndex.Entry.from(data);
            return new long[] {entry.relativeOffset(), entry.ofsBatch()};
        } catch (FormatException error) {
            return null;
        }
    }

    private static long[] timeEntry(byte[] data) {
        try {
            TimeIndex.Entry entry = TimeIndex.Entry.from(data);
            return new long[] {entry.timestamp(), entry.relativeOffset()};
        } catch (FormatException error) {
            return null;
        }
    }

    /**
     * The last entry of an index whose number is less than {@code key}, and the first number of the entry before it, -1
     * if there is none; null if there is no such entry.
     */
    private long[] lastBelow(String kind, long key, Entry entry, int number) {
        int size = kind.equals("index") ? OffsetIndex.Entry.SIZE : TimeIndex.Entry.SIZE;
        try (Files.Source file = Files.hint(beside(kind), conf)) {
            Pages index = new Pages(file);
            long low = 0;
            long high = index.size / size;
            long[] found = null;
            while (low < high) {
                long middle = (low + high) / 2;
                long[] numbers = slot(index, middle, size, entry);
                if (numbers != null && numbers[number] < key) {
                    found = numbers;
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if (found == null) {
                return null;
            }
            long[] before = low < 2 ? null : slot(index, low - 2, size, entry);
            return new long[] {found[0], found[1], before == null ? -1 : before[0]};
        } catch (IOException | UncheckedIOException error) {
            return null;
        }
    }

    private static long[] slot(Pages index, long number, int size, Entry entry) {
        byte[] data = index.read(number * size, size);
        boolean padding = data.length < size || number > 0 && Pages.zeros(data, data.length);
        return padding ? null : entry.of(data);
    }

    private String beside(String kind) {
        return path.substring(0, path.length() - "log".length()) + kind;
    }

    // -- by time ----------------------------------------------------------------------------------

    /** A batch with the largest timestamp up to it, and that below {@code timestamp}; null: not known. */
    private Head afterTime(long timestamp) {
        long[] entry = lastBelow("timeindex", timestamp, Segment::timeEntry, 0);
        if (entry == null || entry[1] < 0) {
            return null;
        }
        long place;
        try {
            place = find(base + entry[1]);
        } catch (FormatException error) {
            return null;
        }
        Frame frame = place < 0 ? null : frame(place);
        if (frame == null) {
            return null;
        }
        Head head = head(place, frame);
        return head.maxTimestamp == entry[0] && head.timed ? head : null;
    }

    /** The largest timestamp in a header; -1 for none. */
    long largestTimestamp() {
        Head start = afterTime(Long.MAX_VALUE);
        long[] most = {start == null ? -1 : start.maxTimestamp};
        heads(start == null ? 0 : start.position, each -> {
            most[0] = Math.max(most[0], each.maxTimestamp);
            return true;
        });
        return most[0];
    }

    /** The offset of the first record, from {@code least}, that is not older; -1 if there is none. */
    long findTimestamp(long timestamp, long least) {
        Head start = afterTime(timestamp);
        long[] found = {-1};
        heads(start == null ? 0 : start.position, each -> {
            if (each.maxTimestamp < timestamp || each.last < least) {
                return true;
            }
            Batch batch = batch(each);
            if (!batch.decode(reading)) {
                throw wrong(batch.data(), each.position);
            }
            for (int n = 0; n < batch.count() && found[0] < 0; n++) {
                if (batch.timestamp(n) >= timestamp && batch.offset(n) >= least) {
                    found[0] = batch.offset(n);
                }
            }
            return found[0] < 0;
        });
        return found[0];
    }
}
