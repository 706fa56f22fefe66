package org.kodec.spark;

import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.kodec.kafka.log.LogSegment;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.OffsetIndex;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Buffer;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.FormatException;

/**
 * Goes through pieces of segments from batch to batch, and appends their rows to columns.
 *
 * <p>Batches are read in a window of the file; rows that are not compressed are left where they are in it, so it
 * is never moved while rows point into it: {@link #advance} says {@link Step#FLUSH} then.
 */
final class Batches implements Closeable {
    /** What comes next. */
    enum Step {
        /** A batch, whose head is read. */
        BATCH,
        /** The rows so far have to be taken first. */
        FLUSH,
        /** Nothing. */
        END
    }

    /** Where the rows are that were appended last. */
    enum Kind {
        NONE,
        PLAIN,
        DECOMPRESSED,
        OLD_PLAIN,
        OLD_DECOMPRESSED
    }

    private static final int FRAME = LogSegment.Entry.peekSize();
    private static final int LENGTH_AT = LogSegment.Entry.peekLenBodyAt();
    private static final int MAGIC_AT = LogSegment.Entry.peekMagicAt();
    /** The offset and the length, which the length does not count. */
    private static final int BEFORE_BODY = RecordBatch.PARTITION_LEADER_EPOCH_AT;
    private static final int LEAST_BODY = MessageSet.Message.MIN_SIZE;
    /** The newest message format. */
    static final int NEWEST = 2;
    /** The largest offset relative to its segment's base offset. */
    static final long MAX_RELATIVE = Integer.MAX_VALUE;
    private static final int WINDOW = 4 << 20;

    final RecordBatch.Rows rows;
    final MessageSet.Rows old;
    final Buffer raw = new Buffer(1 << 16);
    byte[] window = new byte[1 << 16];
    /** The piece whose batches are read now. */
    Piece piece;
    Kind kind = Kind.NONE;

    private final Reading reading;
    private final Configuration conf;
    private final Codecs codecs = new Codecs();
    private final Deque<Piece> pieces = new ArrayDeque<>();
    private Files.Source source;
    private int at;
    private int end;
    /** The position in the file of the window's first byte. */
    private long origin;
    private boolean replaced;
    private boolean done;
    // of the batch that advance came to
    private long offset;
    private int size;
    private int magic;
    // what was read so far of this piece
    private long last;
    private long most = -1;
    private boolean seen;
    private boolean torn;
    private boolean bounded;

    Batches(Iterable<Piece> given, Reading reading, Configuration conf, long columns, long oldColumns) {
        this.reading = reading;
        this.conf = conf;
        given.forEach(pieces::add);
        rows = new RecordBatch.Rows(columns, 1024);
        old = new MessageSet.Rows(oldColumns, columns == 0 ? 1 : 1024);
    }

    /** How many rows wait to be taken. */
    int count() {
        return rows.count + old.count;
    }

    /** Whether the batch that was come to is one of the newest format. */
    boolean isNewest() {
        return magic == NEWEST;
    }

    /** Forgets the rows. */
    void clear() {
        rows.clear();
        old.clear();
        raw.size = 0;
        kind = Kind.NONE;
    }

    /** Goes to the next batch that may have wanted rows. Throws FormatException, IOException. */
    Step advance() throws IOException {
        while (true) {
            if (piece == null) {
                if (pieces.isEmpty()) {
                    return Step.END;
                }
                Piece next = pieces.peek();
                if (count() > 0 && !next.owner().equals(lastOwner)) {
                    return Step.FLUSH;
                }
                open(pieces.poll());
                continue;
            }
            if (done) {
                ended();
                close(piece);
                piece = null;
                continue;
            }
            try {
                Step step = step();
                if (step != null) {
                    return step;
                }
            } catch (FormatException error) {
                throw error.inSource(piece.path());
            }
        }
    }

    private String lastOwner = "";

    // -- opening ----------------------------------------------------------------------------------

    private void open(Piece next) throws IOException {
        try {
            source = Files.open(next.path(), conf);
        } catch (FileNotFoundException error) {
            List<Piece> now = now(next);
            if (now == null) {
                throw new IOException(next.path() + " cannot be read at byte 0: it has gone", error);
            }
            for (int index = now.size() - 1; index >= 0; index--) {
                pieces.addFirst(now.get(index));
            }
            return;
        }
        piece = next;
        lastOwner = next.owner();
        seen = false;
        torn = false;
        done = false;
        most = -1;
        last = next.base() - 1;
        replaced = next.after() >= 0 && source.size() != next.size();
        boolean part = next.from() > 0 || next.to() < Long.MAX_VALUE;
        if (replaced && part) {
            throw new IOException(next.path() + " was replaced while it was read: run the query again");
        }
        if (replaced) {
            // it is of the cleaner, and may hold records of the segments behind it too
            piece = next.offsets(next.base(), next.after() - 1);
        }
        bounded = piece.first() > Long.MIN_VALUE || piece.last() < Long.MAX_VALUE
                || reading.firstTimestamp() > Long.MIN_VALUE;
        // batches before the first offset that is wanted are left out where the index says where they end
        long near = piece.first() > next.base() && !replaced ? near(piece) : 0;
        long start = near > next.from() ? near : next.from() > 0 ? owned(next) : 0;
        if (count() == 0) {
            at = 0;
            end = 0;
        } else {
            at = end;
        }
        origin = start - at;
        if (start > 0) {
            last = -1;
        }
    }

    private void close(Piece closed) throws IOException {
        if (source != null) {
            source.close();
            source = null;
        }
    }

    /** The segments that may hold now what was in one that has gone; null where that is no broker's work. */
    private List<Piece> now(Piece gone) throws IOException {
        String folder = Files.parent(gone.path());
        List<Files.Entry> logs = new ArrayList<>();
        for (Files.Entry each : Files.in(folder, conf)) {
            if (!each.folder() && Names.segment(each.name()) >= 0) {
                logs.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        if (gone.from() > 0 || gone.to() < Long.MAX_VALUE) {
            throw new IOException(gone.path() + " was deleted while it was read: run the query again");
        }
        List<Piece> found = new ArrayList<>();
        long stop = gone.after() < 0 ? Long.MAX_VALUE : gone.after();
        for (int index = 0; index < logs.size(); index++) {
            long base = Names.segment(logs.get(index).name());
            long after = index + 1 < logs.size() ? Names.segment(logs.get(index + 1).name()) : -1;
            if (base < stop && (after < 0 || after > gone.base())) {
                Files.Entry log = logs.get(index);
                found.add(new Piece(gone.topic(), gone.partition(), log.path(), base, log.size(), after,
                        Math.max(gone.first(), gone.base()), Math.min(gone.last(), stop - 1), 0, Long.MAX_VALUE));
            }
        }
        boolean below = !found.isEmpty() && found.get(found.size() - 1).base() < gone.base();
        if (below && !Gaps.isCompacted(folder, gone, conf)) {
            return null;
        }
        return found;
    }

    /** Where the first batch of the piece starts: by the index, and then from batch to batch. */
    private long owned(Piece next) throws IOException {
        long pos = indexed(next, Long.MAX_VALUE, next.from());
        byte[] head = new byte[FRAME];
        long size = source.size();
        while (pos < next.from() && size - pos >= FRAME) {
            if (source.read(pos, head, 0, FRAME) < FRAME) {
                break;
            }
            long whole = LogSegment.Entry.peekLenEntry(head, 0);
            if (whole < BEFORE_BODY + LEAST_BODY || whole > size - pos) {
                // damage, or a torn tail: the piece that this batch belongs to says which
                return Long.MAX_VALUE;
            }
            pos += whole;
        }
        return pos;
    }

    /** Where the batch starts that holds the first offset that is wanted, or one before it. */
    private long near(Piece next) throws IOException {
        return indexed(next, next.first() - next.base(), Long.MAX_VALUE);
    }

    /** The largest position in the offset index that is not above these; 0 where it cannot be trusted. */
    private long indexed(Piece next, long relative, long position) throws IOException {
        String path = next.path().substring(0, next.path().length() - "log".length()) + "index";
        byte[] data;
        try (Files.Source index = Files.open(path, conf)) {
            data = Files.all(index, 64 << 20);
        } catch (IOException error) {
            return 0;
        }
        OffsetIndex.Rows entries = new OffsetIndex.Rows(OffsetIndex.Rows.ALL, 1024);
        long found = 0;
        long before = -1;
        long beforeOffset = -1;
        for (int pos = 0; pos < data.length; pos = entries.unitEnd) {
            if (!entries.head(data, pos, data.length, false)) {
                return 0;
            }
            if (pos > 0 && entries.headRelativeOffset == 0) {
                break;
            }
            if (entries.headOfsBatch <= before || entries.headRelativeOffset <= beforeOffset) {
                return 0;
            }
            before = entries.headOfsBatch;
            beforeOffset = entries.headRelativeOffset;
            if (before > position || beforeOffset > relative) {
                break;
            }
            found = before;
        }
        if (found == 0) {
            return 0;
        }
        // an index that leads to no batch is not followed
        byte[] head = Files.range(source, found, FRAME);
        boolean right = head.length == FRAME && LogSegment.Entry.peekMagic(head, 0) <= NEWEST
                && LogSegment.Entry.peekMagic(head, 0) >= 0
                && LogSegment.Entry.peekBaseOffset(head, 0) >= next.base()
                && LogSegment.Entry.peekBaseOffset(head, 0) <= next.base() + MAX_RELATIVE;
        return right ? found : 0;
    }

    // -- from batch to batch ----------------------------------------------------------------------

    private long position() {
        return origin + at;
    }

    /** Makes {@code need} bytes ready at {@code at}: true, false where the file ends, null where rows are in the way. */
    private Boolean ready(int need) throws IOException {
        if (end - at >= need) {
            return true;
        }
        boolean pinned = kind == Kind.PLAIN || kind == Kind.OLD_PLAIN;
        if (window.length - at < need) {
            if (pinned && count() > 0) {
                return null;
            }
            byte[] into = window;
            if (need > window.length || window.length < WINDOW && position() > 0) {
                into = new byte[Math.max(need, Math.min(WINDOW, 4 * window.length))];
            }
            System.arraycopy(window, at, into, 0, end - at);
            window = into;
            origin += at;
            end -= at;
            at = 0;
        }
        while (end - at < need) {
            int more = source.read(origin + end, window, end, window.length - end);
            if (more <= 0) {
                return false;
            }
            end += more;
        }
        return true;
    }

    private Step step() throws IOException {
        if (position() >= piece.to() || position() < 0) {
            done = true;
            return null;
        }
        Boolean there = ready(FRAME);
        if (there == null) {
            return Step.FLUSH;
        }
        if (!there) {
            torn = torn || end > at;
            done = true;
            return null;
        }
        offset = LogSegment.Entry.peekBaseOffset(window, at);
        long whole = LogSegment.Entry.peekLenEntry(window, at);
        magic = (int) LogSegment.Entry.peekMagic(window, at);
        if (whole < BEFORE_BODY + LEAST_BODY || whole > reading.batchBytes() || magic < 0 || magic > NEWEST) {
            strange(whole);
            return null;
        }
        there = whole > Integer.MAX_VALUE - 64 ? Boolean.FALSE : ready((int) whole);
        if (there == null) {
            return Step.FLUSH;
        }
        if (!there) {
            cutShort(whole);
            return null;
        }
        size = (int) whole;
        seen = true;
        return magic == NEWEST ? newest() : older();
    }

    private Step newest() throws IOException {
        boolean check = reading.checkCrc();
        if (!rows.head(window, at, at + size, check && !bounded)) {
            throw Careful.newest(bytes(), position(), offset, reading);
        }
        ordered(offset, rows.offsetLast(), rows.headNumRecords);
        boolean wanted = true;
        if (bounded) {
            if (offset > piece.last()) {
                last = rows.offsetLast();
                done = true;
                return null;
            }
            wanted = rows.offsetLast() >= piece.first() && rows.timestampLast() >= reading.firstTimestamp();
            if (wanted && check && !rows.head(window, at, at + size, true)) {
                throw Careful.newest(bytes(), position(), offset, reading);
            }
        }
        if (rows.codec() == null) {
            throw Careful.newest(bytes(), position(), offset, reading);
        }
        if (!wanted || rows.hidden() || rows.headNumRecords == 0) {
            skip();
            return null;
        }
        return Step.BATCH;
    }

    private Step older() throws IOException {
        if (!old.head(window, at, at + size, reading.checkCrc()) || old.codec() == null) {
            throw Careful.older(bytes(), position(), offset, reading);
        }
        ordered(offset, offset, -1);
        if (offset < piece.first() && old.codec().equals("none")) {
            skip();
            return null;
        }
        return Step.BATCH;
    }

    private byte[] bytes() {
        return Arrays.copyOfRange(window, at, at + size);
    }

    /** Leaves the batch without its rows. */
    void skip() {
        last = magic == NEWEST ? rows.offsetLast() : offset;
        at += size;
    }

    /**
     * Appends the rows of the batch; gives false, and nothing is done, where the rows that wait are in other
     * bytes, and have to be taken first.
     */
    boolean append() {
        Kind wanted = magic == NEWEST
                ? rows.codec().equals("none") ? Kind.PLAIN : Kind.DECOMPRESSED
                : old.codec().equals("none") ? Kind.OLD_PLAIN : Kind.OLD_DECOMPRESSED;
        if (kind != wanted && count() > 0) {
            return false;
        }
        kind = wanted;
        boolean right = switch (wanted) {
            case PLAIN -> rows.rows(window, rows.headRecordsStart,
                    rows.headRecordsStart + rows.headRecordsLength, reading.elements());
            case DECOMPRESSED -> decompressed();
            case OLD_PLAIN -> old.add();
            default -> unwrapped();
        };
        if (!right) {
            FormatException error = magic == NEWEST
                    ? Careful.newest(bytes(), position(), offset, reading)
                    : Careful.older(bytes(), position(), offset, reading);
            throw error.inSource(piece.path());
        }
        skip();
        return true;
    }

    private boolean decompressed() {
        int start = raw.size;
        try {
            codecs.decompress(rows.codec(), window, rows.headRecordsStart,
                    rows.headRecordsStart + rows.headRecordsLength, raw, reading.decompressedBytes());
        } catch (FormatException error) {
            return false;
        }
        return rows.rows(raw.data, start, raw.size, reading.elements());
    }

    /** The messages in a wrapper, with the offsets and timestamps that it says they have. */
    private boolean unwrapped() {
        if (old.headMessageValueLength < 0) {
            return false;
        }
        long wrapper = old.headOffset;
        int wrapperMagic = old.headMessageMagic;
        long timestamp = old.headMessageTimestamp;
        int type = wrapperMagic == 0 ? -1 : old.headMessageAttributesTimestampType;
        int first = old.count;
        int start = raw.size;
        try {
            codecs.decompress(old.codec(), window, old.headMessageValueStart,
                    old.headMessageValueStart + old.headMessageValueLength, raw, reading.decompressedBytes());
        } catch (FormatException error) {
            return false;
        }
        for (int pos = start; pos < raw.size; pos = old.unitEnd) {
            if (!old.head(raw.data, pos, raw.size, reading.checkCrc()) || !"none".equals(old.codec())
                    || old.count - first >= reading.elements() || !old.add()) {
                old.count = first;
                raw.size = start;
                return false;
            }
        }
        if (old.count == first) {
            return false;
        }
        long base = wrapperMagic != 0 && wrapper != 0 ? wrapper - old.headOffset : 0;
        if (base < 0) {
            old.count = first;
            return false;
        }
        boolean appended = type == MessageSet.TimestampType.LOG_APPEND_TIME.value();
        for (int n = first; n < old.count; n++) {
            if (old.offset != null) {
                old.offset[n] += base;
            }
            if (old.timestampType != null && old.timestampType[n] >= 0) {
                old.timestampType[n] = type;
            }
            if (appended && old.timestamp != null && old.timestampType != null && old.timestampType[n] >= 0) {
                old.timestamp[n] = timestamp;
            }
        }
        return true;
    }

    // -- offsets ----------------------------------------------------------------------------------

    /** Whether offsets ascend and stay within the segment: no checksum covers them. */
    private void ordered(long first, long behind, long records) throws IOException {
        if (last < 0 && position() > 0) {
            // reading starts here
            last = first - 1;
        }
        if (first <= last) {
            throw misplaced("offsets ascend", "more than " + last, first);
        }
        if (behind < first) {
            throw misplaced("last offset below the first", "at least " + first, behind);
        }
        if (behind > piece.base() + MAX_RELATIVE) {
            throw misplaced("outside of its segment", "at most " + (piece.base() + MAX_RELATIVE), behind);
        }
        if (first > last + 1) {
            if (most < 0) {
                most = Math.min(piece.base() + MAX_RELATIVE, Gaps.nextBase(piece, conf) - 1);
            }
            if (behind > most) {
                throw misplaced("outside of its segment", "at most " + most, behind);
            }
            long following = following();
            if (last < following && following <= behind) {
                throw misplaced("offsets ascend", "what the next batch, from " + following + ", follows",
                        first + " to " + behind);
            }
        }
    }

    /** The offset of the batch behind this one; -1 where there is none. */
    private long following() throws IOException {
        byte[] head = end - at - size >= FRAME ? Arrays.copyOfRange(window, at + size, at + size + FRAME)
                : Files.range(source, position() + size, FRAME);
        if (head.length < FRAME || LogSegment.Entry.peekLenEntry(head, 0) < BEFORE_BODY + LEAST_BODY) {
            return -1;
        }
        return LogSegment.Entry.peekBaseOffset(head, 0);
    }

    private FormatException misplaced(String reason, Object need, Object have) {
        String name = magic == NEWEST ? "RecordBatch(base_offset=" + offset + ")" : "Message(offset=" + offset + ")";
        return FormatException.malformed("base_offset", reason, 0, need, have).within(name).shifted(position());
    }

    // -- the end, and damage ----------------------------------------------------------------------

    /** A frame that is none: zeros to the end are a torn tail, all else is damage. */
    private void strange(long whole) throws IOException {
        long pos = position();
        boolean zeros = true;
        for (int index = at; index < at + FRAME && zeros; index++) {
            zeros = window[index] == 0;
        }
        if (zeros && zerosToTheEnd(pos)) {
            torn = true;
            done = true;
            return;
        }
        long length = whole - BEFORE_BODY;
        if (length < LEAST_BODY) {
            throw FormatException.malformed(
                    "len_body", "too small for any batch", pos + LENGTH_AT, "at least " + LEAST_BODY, length);
        }
        if (magic < 0 || magic > NEWEST) {
            throw FormatException.unsupported(
                    "magic", "unknown message format", pos + MAGIC_AT, "0, 1 or 2", magic);
        }
        if (source.size() - pos >= whole) {
            throw FormatException.limitExceeded("len_body", "batch larger than allowed", pos + LENGTH_AT, whole,
                    reading.batchBytes(), "batch_bytes");
        }
        cutShort(whole);
    }

    private boolean zerosToTheEnd(long pos) throws IOException {
        byte[] block = new byte[1 << 16];
        for (long where = pos; ; ) {
            int more = source.read(where, block, 0, block.length);
            if (more <= 0) {
                return true;
            }
            for (int index = 0; index < more; index++) {
                if (block[index] != 0) {
                    return false;
                }
            }
            where += more;
        }
    }

    /** Truncated by a crash, or a damaged length: a whole batch further on decides which. */
    private void cutShort(long whole) throws IOException {
        long pos = position();
        long have = source.size() - pos;
        if (Gaps.batchAfter(source, pos, last, reading)) {
            throw FormatException.truncated("batch", "", pos, whole, have);
        }
        torn = true;
        done = true;
    }

    /** Says which offsets up to the next segment are nowhere, where compaction does not explain it. */
    private void ended() throws IOException {
        boolean part = piece.from() > 0 || piece.to() < Long.MAX_VALUE;
        // of a part of a segment, the one that has its last batch says so
        boolean mine = !part || seen && (torn || position() >= source.size());
        if (piece.after() < 0 || replaced || !mine) {
            return;
        }
        long first = Math.max(last + 1, Math.max(piece.first(), piece.base()));
        long stop = Math.min(piece.after() - 1, piece.last());
        if (first > stop || !reading.failOnDataLoss()) {
            return;
        }
        String folder = Files.parent(piece.path());
        String what = piece.path() + ": offsets " + first + " to " + stop + " of " + piece.owner() + " are ";
        if (torn) {
            throw new DataLossException(what + "missing: it ends in a torn tail");
        }
        if (!Gaps.isCompacted(folder, piece, conf)) {
            throw new DataLossException(what + "in no segment, and not for compaction");
        }
    }

    @Override
    public void close() throws IOException {
        codecs.close();
        if (source != null) {
            source.close();
            source = null;
        }
    }
}
