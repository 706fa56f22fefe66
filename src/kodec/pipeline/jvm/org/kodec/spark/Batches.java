package org.kodec.spark;

import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Buffer;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.FormatException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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

    private static final Logger LOG = LoggerFactory.getLogger("kodec");
    /** Fits the processor's own cache: what is read is copied twice on its way here. */
    private static final int WINDOW = 512 << 10;
    /** Of a store where each read is a request. */
    private static final int WIDE_WINDOW = 16 << 20;
    /** The most ranges that are kept of what is skipped in a segment: more are counted. */
    private static final int MOST_RANGES = 10_000;
    private static final String GONE = "No such file or directory";

    final RecordBatch.Rows rows;
    final MessageSet.Rows old;
    final Buffer raw = new Buffer(1 << 16);
    byte[] window = new byte[1 << 16];
    /** The piece whose batches are read now. */
    Piece piece;
    Kind kind = Kind.NONE;
    long bytesRead;
    long rangesSkipped;
    /** What is not among the rows; whoever reads it empties it. */
    final List<Left> left = new ArrayList<>();

    private final Reading reading;
    private final Configuration conf;
    private final Codecs codecs = new Codecs();
    private final Deque<Piece> pieces = new ArrayDeque<>();
    private String lastOwner = "";
    private Files.Source source;
    private int widest = WINDOW;
    private Pages pages;
    private int at;
    private int end;
    /** The position in the file of the window's first byte. */
    private long origin;
    private boolean replaced;
    private boolean done;
    // of the batch that advance came to
    private long batchAt;
    private long offset;
    private int size;
    private int magic;
    private int wrapping;
    // what is wanted of this piece, and what was read so far of it
    private long first;
    private long most;
    private boolean bounded;
    /** Whether what lies behind the last wanted offset is looked at for damage. */
    private boolean toTheEnd;
    private Transactions transactions;
    private long last;
    /** The last offset before a part of a segment, whether it can be right or not. */
    private long passed;
    private long highest;
    private boolean seen;
    private Tail tail;
    private Resumption resumption;
    private Resumption.Before good;
    private long skippedEnd;
    private int ranges;
    private int omitted;
    private long omittedBytes;
    // for end()
    private boolean ordered = true;
    private FormatException damage;
    private boolean followed;

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
        return magic == Frame.NEWEST;
    }

    /** The least offset that is wanted of the piece. */
    long first() {
        return first;
    }

    /** The largest offset that is wanted of the piece. */
    long last() {
        return most;
    }

    /** The format of the batch that was come to. */
    int magic() {
        return magic;
    }

    /** The codec of that batch, without the variant that old messages have of it. */
    String codec() {
        if (magic == Frame.NEWEST) {
            return rows.codec();
        }
        return MessageSet.Compression.of(wrapping).name().toLowerCase(Locale.ROOT);
    }

    /** Where the batch starts that was come to, or was appended last. */
    long batchPosition() {
        return batchAt;
    }

    /** The bytes of that batch. */
    int batchSize() {
        return size;
    }

    /** Forgets the rows. */
    void clear() {
        rows.clear();
        old.clear();
        raw.size = 0;
        kind = Kind.NONE;
    }

    /** Goes to the next batch that may have wanted rows. Throws FormatException, IOException, DataLossException. */
    Step advance() throws IOException {
        while (true) {
            if (piece == null) {
                if (pieces.isEmpty()) {
                    return Step.END;
                }
                if (count() > 0 && !pieces.peek().owner().equals(lastOwner)) {
                    return Step.FLUSH;
                }
                Piece next = pieces.poll();
                lastOwner = next.owner();
                try {
                    open(next);
                } catch (FormatException error) {
                    throw error.source() == null ? error.inSource(next.path()) : error;
                } catch (IOException | UncheckedIOException error) {
                    unreadable(next, error, -1);
                    piece = null;
                }
                continue;
            }
            if (done) {
                ended();
                source.close();
                source = null;
                piece = null;
                continue;
            }
            try {
                Step step = step();
                if (step != null) {
                    return step;
                }
            } catch (FormatException error) {
                damaged(error);
            } catch (IOException | UncheckedIOException error) {
                unreadable(piece, error, position());
                done = true;
            }
        }
    }

    /** The offset after the highest of the good batches of a segment, whatever their order is. */
    static long end(String path, long base, Reading reading, boolean crc, Configuration conf) throws IOException {
        Piece whole = new Piece("", 0, path, base, -1, -1, 0, -1, false, 0, Long.MAX_VALUE, false);
        try (Batches batches = new Batches(List.of(whole), reading.heads(crc, true), conf, 0, 0)) {
            batches.ordered = false;
            long end = base;
            while (batches.advance() != Step.END) {
                batches.skip();
                end = Math.max(end, batches.good.low());
            }
            if (batches.followed && !reading.skip()) {
                // what a batch follows is no end
                throw batches.damage.inSource(path);
            }
            return end;
        }
    }

    // -- opening ----------------------------------------------------------------------------------

    private void open(Piece next) throws IOException {
        transactions = !reading.committed() ? null
                : Transactions.between(Files.parent(next.path()), next.tiered(), next.start(), next.stop(), reading, conf);
        try {
            source = Files.open(next.path(), conf);
        } catch (FileNotFoundException error) {
            List<Piece> now = next.tiered() ? null : now(next);
            if (now == null) {
                throw new IOException(GONE, error);
            }
            for (int index = now.size() - 1; index >= 0; index--) {
                pieces.addFirst(now.get(index));
            }
            return;
        }
        piece = next;
        widest = Files.isLocal(next.path()) ? WINDOW : WIDE_WINDOW;
        pages = null;
        resumption = null;
        good = new Resumption.Before(next.base(), 0, -1);
        seen = false;
        tail = null;
        done = false;
        highest = -1;
        skippedEnd = -1;
        ranges = 0;
        omitted = 0;
        omittedBytes = 0;
        last = next.base() - 1;
        passed = last;
        replaced = next.size() < 0 || next.after() >= 0 && source.size() != next.size() && !next.tiered();
        if (replaced && next.isPart()) {
            throw new IOException("it was replaced while it was read: run the query again");
        }
        // a bound at the base offset is none: a wrapper may begin below it
        first = Math.max(next.first() > next.base() ? next.first() : 0, reading.firstOffset());
        most = Math.min(next.end() < 0 ? Long.MAX_VALUE : next.end() - 1, reading.lastOffset());
        if (replaced) {
            // it is of the cleaner, and may hold records of the segments behind it too
            first = Math.max(first, next.base());
            most = next.stop() < 0 ? most : Math.min(most, next.stop() - 1);
        }
        bounded = first > 0 || most < Long.MAX_VALUE || reading.firstTimestamp() > Long.MIN_VALUE;
        long start = start(next);
        // what a task of bytes begins with may lie behind what is wanted
        toTheEnd = next.tail() && most == next.end() - 1;
        done = next.from() > 0 && last >= most && !toTheEnd;
        if (count() == 0) {
            at = 0;
            end = 0;
        } else {
            at = end;
        }
        origin = start - at;
    }

    /** Where reading starts: batches before it are of others, or, as the index says, not wanted. */
    private long start(Piece next) throws IOException {
        if (next.from() == 0 && (first <= next.base() || next.size() < 0)) {
            return 0;
        }
        try (Segment segment = new Segment(next.path(), next.base(), reading, conf, source)) {
            long near = 0;
            if (first > next.base()) {
                try {
                    near = segment.find(first);
                    // the last batch has it where its header is damaged
                    near = near < 0 ? segment.lastPlace : near;
                } catch (FormatException error) {
                    // whoever reads it all says what is wrong, if it concerns what is wanted
                    near = 0;
                }
            }
            if (near < next.from()) {
                return owned(segment, next.from());
            }
            last = near > 0 && segment.lastBefore >= 0 ? segment.lastBefore : last;
            return near;
        }
    }

    /**
     * Where the first batch starts that begins at {@code from} or after it: by the index, then from batch to batch.
     * Notes the last offset before it.
     */
    private long owned(Segment segment, long from) {
        long pos = segment.anchorAt(from - 1);
        long second = -1;
        long before = -1;
        while (pos < from) {
            Frame frame;
            try {
                frame = segment.frame(pos);
            } catch (FormatException error) {
                frame = null;
            }
            if (frame == null) {
                // damage, or a torn tail: the piece that this batch belongs to says which
                return Long.MAX_VALUE;
            }
            second = before;
            before = pos;
            pos += frame.size();
        }
        try {
            Segment.Head head = segment.head(before, segment.frame(before));
            passed = head.last();
            long lower = second >= 0 ? segment.head(second, segment.frame(second)).last() : before == 0 ? last : -1;
            // behind a gap it may be the one that is wrong, which the piece that it belongs to says
            if (lower < 0 || head.first() == lower + 1) {
                last = head.last();
            }
        } catch (FormatException error) {
            // whoever reads it says what is wrong
        }
        return pos;
    }

    /** The segments that may hold now what was in one that has gone; null where that is no broker's work. */
    private List<Piece> now(Piece gone) throws IOException {
        String folder = Files.parent(gone.path());
        if (gone.isPart()) {
            throw new IOException("it was deleted while it was read: run the query again");
        }
        List<Piece> found = covering(folder, gone, gone.base(), gone.after());
        if (!found.isEmpty() && found.get(found.size() - 1).base() < gone.base()) {
            Piece before = found.get(found.size() - 1);
            try (Segment segment = new Segment(before.path(), before.base(), reading, conf)) {
                if (segment.nextOffset() <= gone.base()) {
                    // compaction may have left nothing of it, but not of the last one; nobody else deletes from the middle
                    long last = Gaps.nextBase(gone.path(), gone.base(), conf) - 1;
                    boolean cleaned = gone.after() >= 0 && Gaps.firstLost(folder, gone, gone.base(), last, conf) > last;
                    return cleaned ? List.of() : null;
                }
            }
        }
        requireStart(gone, found);
        return found;
    }

    /** The segments of a folder that may hold offsets from {@code least} on and below {@code stop}, for a piece. */
    private List<Piece> covering(String folder, Piece of, long least, long stop) throws IOException {
        List<Files.Entry> logs = new ArrayList<>();
        for (Files.Entry each : Files.in(folder, conf)) {
            if (!each.folder() && Names.segment(each.name()) >= 0) {
                logs.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        List<Piece> found = new ArrayList<>();
        for (int index = 0; index < logs.size(); index++) {
            long base = Names.segment(logs.get(index).name());
            long after = index + 1 < logs.size() ? Names.segment(logs.get(index + 1).name()) : -1;
            if ((stop < 0 || base < stop) && (after < 0 || after > least)) {
                found.add(new Piece(of.topic(), of.partition(), logs.get(index).path(), base, -1, after,
                        Math.max(of.start(), least), of.stop(), false, 0, Long.MAX_VALUE, false));
            }
        }
        return found;
    }

    /** Where offsets were asked for by number, says which of them a broker has deleted. */
    private void requireStart(Piece gone, List<Piece> found) {
        long start = found.stream().mapToLong(Piece::base).min()
                .orElse(gone.stop() < 0 ? gone.start() + 1 : gone.stop());
        if (gone.asked() && start > gone.start()) {
            lose(gone, gone.start(), start - 1, "offsets " + gone.start() + " to " + (start - 1) + " of "
                    + gone.owner() + " were deleted meanwhile");
        }
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
            if (need > window.length || window.length < widest && position() > 0) {
                into = new byte[Math.max(need, Math.min(widest, 4 * window.length))];
            }
            System.arraycopy(window, at, into, 0, end - at);
            window = into;
            origin += at;
            end -= at;
            at = 0;
        }
        while (end - at < need) {
            // what begins behind the piece is of others
            long wanted = Math.min(window.length - end, piece.to() - origin - end);
            int more = source.read(origin + end, window, end, (int) Math.max(need - (end - at), wanted));
            if (more <= 0) {
                return false;
            }
            end += more;
            bytesRead += more;
        }
        return true;
    }

    /** Goes on at a place of the file behind this one. */
    private void moveTo(long position) {
        if (position - origin <= end) {
            at = (int) (position - origin);
            return;
        }
        at = end;
        origin = position - at;
    }

    private Step step() throws IOException {
        boolean behind = toTheEnd && position() >= piece.size();
        if (position() >= piece.to() || position() < 0 || behind) {
            done = true;
            return null;
        }
        Boolean there = ready(Frame.SIZE);
        if (there == null) {
            return Step.FLUSH;
        }
        Frame frame = there ? Frame.peek(window, at, end) : null;
        if (frame != null && frame.known() && frame.fits(Math.min(reading.batchBytes(), Integer.MAX_VALUE - 64))) {
            there = ready((int) frame.size());
            if (there == null) {
                return Step.FLUSH;
            }
            if (there) {
                batchAt = position();
                offset = frame.offset();
                magic = frame.magic();
                size = (int) frame.size();
                return magic == Frame.NEWEST ? newest() : older();
            }
        }
        // at the end of the file there is nothing to look at, for which a folder would be listed
        tail = position() == source.size() ? null : Tail.at(pages(), position(), reading, resumption(), good);
        done = true;
        return null;
    }

    private Pages pages() throws IOException {
        if (pages == null) {
            pages = new Pages(source);
        }
        return pages;
    }

    private Resumption resumption() throws IOException {
        if (resumption == null) {
            long stop = !ordered ? Long.MAX_VALUE
                    : piece.tiered() ? Gaps.nextBase(piece.path(), piece.base(), conf) : nextBase();
            resumption = new Resumption(pages(), reading, piece.base(), stop);
        }
        return resumption;
    }

    private Step newest() throws IOException {
        boolean check = reading.checkCrc();
        boolean right = rows.head(window, at, at + size, check && !bounded);
        if (!right || rows.codec() == null) {
            throw Careful.newest(bytes(), position(), offset, reading);
        }
        inOrder(offset, rows.offsetLast());
        if (bounded) {
            if (offset > most && !toTheEnd) {
                last = rows.offsetLast();
                done = true;
                return null;
            }
            // one that is passed over is checked too: a damaged header would say that its rows are not wanted
            if (check && !rows.head(window, at, at + size, true)) {
                throw Careful.newest(bytes(), position(), offset, reading);
            }
            if (offset > most || rows.offsetLast() < first || rows.timestampLast() < reading.firstTimestamp()) {
                skip();
                return null;
            }
        }
        boolean hidden = rows.hidden() && !reading.control();
        boolean dropped = transactions != null && rows.headAttributesIsTransactional && !rows.hidden()
                && transactions.drops(rows.headProducerId, offset);
        if (hidden || dropped || rows.headNumRecords == 0) {
            skip();
            return null;
        }
        return Step.BATCH;
    }

    private Step older() throws IOException {
        if (!old.head(window, at, at + size, reading.checkCrc()) || old.codec() == null) {
            throw Careful.older(bytes(), position(), offset, reading);
        }
        wrapping = old.headMessageAttributesCompression;
        inOrder(offset, offset);
        if (offset < first && old.codec().equals("none")) {
            skip();
            return null;
        }
        return Step.BATCH;
    }

    private byte[] bytes() {
        return Arrays.copyOfRange(window, at, at + size);
    }

    /** Leaves the batch, without its rows where it was not appended. */
    void skip() {
        last = magic == Frame.NEWEST ? rows.offsetLast() : offset;
        good = new Resumption.Before(last + 1, Math.max(size, good.largest()), magic);
        followed |= damage != null;
        seen = true;
        at += size;
        if (last >= most && !toTheEnd) {
            // what lies behind was not asked for
            done = true;
        }
    }

    /**
     * Appends the rows of the batch, or none where it is damaged and that is to be skipped; gives false, and
     * nothing is done, where the rows that wait are in other bytes, and have to be taken first.
     */
    boolean append() throws IOException {
        Kind wanted = magic == Frame.NEWEST
                ? rows.codec().equals("none") ? Kind.PLAIN : Kind.DECOMPRESSED
                : old.codec().equals("none") ? Kind.OLD_PLAIN : Kind.OLD_DECOMPRESSED;
        if (kind != wanted && count() > 0) {
            return false;
        }
        kind = wanted;
        boolean right = switch (wanted) {
            case PLAIN, DECOMPRESSED -> Wrapped.records(rows, window, codecs, raw, reading);
            case OLD_PLAIN -> old.add();
            default -> Wrapped.messages(old, window, codecs, raw, reading);
        };
        try {
            if (!right) {
                throw magic == Frame.NEWEST
                        ? Careful.newest(bytes(), position(), offset, reading)
                        : Careful.older(bytes(), position(), offset, reading);
            }
            if (magic == Frame.NEWEST && rows.hidden()) {
                int before = rows.count - rows.headNumRecords;
                try {
                    Control.check(bytes(), position(), offset);
                } catch (FormatException error) {
                    rows.count = before;
                    throw error;
                }
            }
        } catch (FormatException error) {
            damaged(error);
            return true;
        }
        skip();
        return true;
    }

    // -- offsets ----------------------------------------------------------------------------------

    /** Whether offsets ascend and stay within the segment: no checksum covers them. */
    private void inOrder(long start, long behind) throws IOException {
        if (!ordered) {
            return;
        }
        if (start <= last) {
            throw misplaced("offsets ascend", "more than " + last, start);
        }
        if (behind < start) {
            throw misplaced("last offset below the first", "at least " + start, behind);
        }
        // what an index can say of it; the offset behind it is one too
        long limit = Math.min(piece.base(), Long.MAX_VALUE - 1 - Frame.MAX_RELATIVE) + Frame.MAX_RELATIVE;
        if (piece.after() >= 0 && !replaced && !piece.tiered()) {
            limit = Math.min(limit, piece.after() - 1);
        }
        if (behind > limit) {
            throw misplaced("outside of its segment", "at most " + limit, behind);
        }
        if (start > last + 1) {
            if (highest < 0) {
                highest = Math.min(limit, nextBase() - 1);
            }
            if (behind > highest) {
                throw misplaced("outside of its segment", "at most " + highest, behind);
            }
            long following = following();
            if (last < following && following <= behind) {
                throw misplaced("offsets ascend", "what the next batch, from " + following + ", follows",
                        start + " to " + behind);
            }
        }
    }

    /** The base offset of the next segment, as it was listed; of the last one as it is now. */
    private long nextBase() throws IOException {
        return piece.after() >= 0 && !replaced ? piece.after()
                : Gaps.nextBase(piece.path(), piece.base(), conf);
    }

    /** The offset of the whole batch behind this one; -1 where there is none. */
    private long following() throws IOException {
        byte[] head = end - at - size >= Frame.SIZE ? Arrays.copyOfRange(window, at + size, at + size + Frame.SIZE)
                : Files.range(source, position() + size, Frame.SIZE);
        Frame frame = Frame.peek(head, 0, head.length);
        long room = Math.min(reading.batchBytes(), source.size() - position() - size);
        return frame == null || !frame.known() || !frame.fits(room) ? -1 : frame.offset();
    }

    private FormatException misplaced(String reason, Object need, Object have) {
        boolean newest = magic == Frame.NEWEST;
        if (newest && reading.checkCrc() && !rows.head(window, at, at + size, true)) {
            // a wrong checksum says more
            return Careful.newest(bytes(), position(), offset, reading);
        }
        String name = newest ? "RecordBatch(base_offset=" + offset + ")" : "Message(offset=" + offset + ")";
        return FormatException.malformed("base_offset", reason, 0, need, have).within(name).shifted(position());
    }

    // -- the end, and what is left out ------------------------------------------------------------

    /** Throws what is wrong with the batch, or goes on behind the damage where that is to be skipped. */
    private void damaged(FormatException wrong) throws IOException {
        FormatException foreign = position() == 0 ? Foreign.error(pages()) : null;
        FormatException error = foreign == null ? wrong : foreign;
        error.inSource(piece.path());
        if (!reading.skip()) {
            throw error;
        }
        damage = damage == null ? error : damage;
        long pos = position();
        // what another system's file holds may well be batches, of several logs
        long next = foreign == null ? resumption().after(pos, good) : source.size();
        Left found = Left.bytes(piece, "damaged", pos, next - pos, error.getMessage());
        LOG.warn("skipped: {}", found);
        rangesSkipped++;
        if (ranges < MOST_RANGES) {
            left.add(found);
            ranges++;
        } else {
            omitted++;
            omittedBytes += next - pos;
        }
        skippedEnd = next;
        moveTo(next);
    }

    private void unreadable(Piece of, Exception error, long position) throws IOException {
        Throwable cause = error instanceof UncheckedIOException ? error.getCause() : error;
        String why = cause instanceof FileNotFoundException ? GONE : cause.getMessage();
        String text = of.path() + " cannot be read at byte " + Math.max(0, position) + ": " + why;
        if (!reading.skip()) {
            throw new IOException(text, error);
        }
        leave(position < 0 ? Left.of(of, "unreadable", text)
                : Left.bytes(of, "unreadable", position, source.size() - position, text));
    }

    private void leave(Left found) {
        left.add(found);
        rangesSkipped++;
        LOG.warn("skipped: {}", found);
    }

    private void lose(Piece of, long from, long to, String text) {
        if (reading.failOnDataLoss()) {
            throw new DataLossException(of.path() + ": " + text + "; failOnDataLoss=false reads on");
        }
        leave(Left.missing(of, from, to, text));
    }

    /**
     * Says which offsets up to the next segment, or the end that was asked for, are nowhere, where compaction does
     * not explain it; reads on in a segment that a broker has made since.
     */
    private void ended() throws IOException {
        if (omitted > 0) {
            left.add(Left.of(piece, "damaged", omitted + " more ranges, " + omittedBytes + " bytes"));
        }
        if (tail != null) {
            left.add(Left.bytes(piece, "torn tail", tail.position(), tail.size(), tail.reason()));
        }
        // of a part of a segment, the one that has its last batch, or what is torn, says what is missing
        boolean mine = !piece.isPart() || tail != null || seen && position() >= source.size();
        boolean explained = skippedEnd >= position();
        if (piece.stop() < 0 || piece.size() < 0 || !mine || explained) {
            return;
        }
        long from = Math.max(Math.max((seen ? last : Math.max(last, passed)) + 1, piece.start()), reading.firstOffset());
        long to = Math.min(piece.stop() - 1, reading.lastOffset());
        if (from > to) {
            return;
        }
        if (piece.tiered()) {
            lose(piece, from, to);
            return;
        }
        String folder = Files.parent(piece.path());
        // a listing of a folder that changes is not of one moment
        List<Piece> found = covering(folder, piece, from, to + 1);
        found.removeIf(each -> each.base() <= piece.base());
        if (!found.isEmpty()) {
            for (int index = found.size() - 1; index >= 0; index--) {
                pieces.addFirst(found.get(index));
            }
            return;
        }
        if (!piece.asked() && covering(folder, piece, 0, to + 1).isEmpty()) {
            // retention has deleted it
            return;
        }
        // an end moves back by truncation alone: compaction leaves the last segment as it is
        boolean shrunk = piece.after() < 0
                && covering(folder, piece, piece.base() + 1, -1).stream().allMatch(each -> each.base() <= piece.base());
        long lost = tail == null && !shrunk ? Gaps.firstLost(folder, piece, from, to, conf) : from;
        if (lost <= to) {
            lose(piece, lost, to);
        }
    }

    private void lose(Piece of, long from, long to) {
        String what = "offsets " + from + " to " + to + " of " + of.owner() + " are ";
        lose(of, from, to, tail == null ? what + "in no segment, and not for compaction"
                : what + "missing: it ends in a torn tail, " + tail.reason());
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
