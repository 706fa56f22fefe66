package org.kodec.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.kodec.kafka.log.LogSegment;
import org.kodec.kafka.log.MessageSet;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Input;
import org.kodec.runtime.ReadOptions;
import org.kodec.runtime.Stored;
import org.kodec.runtime.Varints;

/**
 * Finds where to resume after damage in one file, and bounds the cost of the search. {@code kodec.log.reading.resume}
 * has the same rules, and explains what counts as evidence for the next batch and why.
 */
final class Resumption {
    private static final int CHUNK = 1 << 20;
    private static final int BLOCK = 4096;
    /** The most bytes of which it is tried whether they are the damaged batch. */
    private static final long MOST_TRIED = 4L * CHUNK;
    /** More than a value is likely to contain: this number of batches, or this multiple of the bytes of the largest one
     * nearby. */
    private static final int MANY = 8;
    private static final long WEIGHT = 16;
    private static final long LEAST_WEIGHT = 64 << 10;
    /** An upper bound of offsets, if no other is known. */
    private static final long PLAUSIBLE = 1L << 48;
    /** How far the search continues after a candidate from which lengths lead nowhere. */
    private static final long HORIZON = 4 * Chain.FAR;
    /** What a question after a batch costs. */
    private static final long GLANCE = 64;
    private static final long TRIAL = 1024;
    /** The number of consecutive batches at whose ends the end of a value is searched for. */
    private static final int FEW = 8;
    /** The most bytes of a varint. */
    private static final int VARINT = 5;
    /** The length of a value in magic 0 and 1. */
    private static final Stored LENGTH = MessageSet.Message.LEN_VALUE_STORED;

    /**
     * The known facts about the log before damage.
     *
     * @param low the lowest offset that can follow; 0 also if unknown
     * @param largest the size of the largest of the last good batches; 0 if there is none
     * @param magic that of the last good batch; -1 if there is none
     */
    record PrecedingLog(long low, long largest, int magic) {}

    /** Batches that may be the next good ones. */
    private record Candidate(long start, long lastAt, long end, int batches, int magic, long first, long last,
            long largest, boolean leadsOut, boolean proven) {}

    private final Pages source;
    private final ReadSettings reading;
    private final ReadSettings unchecked;
    private final long first;
    private final long stop;
    private boolean exhausted;
    private long spent;
    private long chained = -1;
    private Chain chain;
    private List<Candidate> candidates = new ArrayList<>();
    private long searched;
    private long doubted = Long.MAX_VALUE;
    private long cutShortAt = -1;
    private long cutShortEnd = -1;

    /** The offsets that the file can have are those from {@code first} on and below {@code stop}. */
    Resumption(Pages source, ReadSettings reading, long first, long stop) {
        this.source = source;
        this.reading = reading;
        this.unchecked = reading.heads(false, false);
        this.first = first;
        this.stop = stop;
    }

    /** Where to resume after a bad batch at {@code pos}; {@code before} has the known facts. */
    long after(long pos, PrecedingLog before) {
        if (pos == cutShortAt) {
            return cutShortEnd;
        }
        long own = statedEnd(pos);
        if (own >= 0 && (isBatch(pos) || leadsOn(own))) {
            while (hasWrongOffset(own, before)) {
                long end = statedEnd(own);
                if (end < 0) {
                    break;
                }
                own = end;
            }
            return own;
        }
        long found = next(pos, before);
        return found >= 0 ? found : own < 0 ? source.size : own;
    }

    /** Whether the incomplete batch at {@code pos} was damaged; otherwise it is a torn tail. */
    boolean isDamage(long pos, PrecedingLog before) {
        long found = next(pos, before);
        cutShortAt = pos;
        cutShortEnd = found < 0 ? source.size : found;
        return found >= 0 || exhausted;
    }

    // -- the search -------------------------------------------------------------------------------

    /** The start of the next accepted batch; -1 if there is none. */
    private long next(long pos, PrecedingLog before) {
        if (pos < doubted && doubted < searched) {
            // a candidate that was rejected after other damage may be accepted after this
            searched = doubted;
            candidates.removeIf(each -> each.start >= searched);
            doubted = Long.MAX_VALUE;
        }
        candidates.removeIf(each -> each.start <= pos);
        if (candidates.isEmpty() || !candidates.get(candidates.size() - 1).leadsOut) {
            search(pos, before);
        }
        return believed(pos, before);
    }

    /** Collects candidates after {@code pos}, up to one whose lengths lead on to the end. */
    private void search(long pos, PrecedingLog before) {
        long claimed = claimedEnd(pos, before);
        long at = Math.max(pos + 1, searched);
        long start = at;
        while (true) {
            long found = plausible(at);
            if (found < 0) {
                at = source.size;
                break;
            }
            at = found;
            if (!afford(GLANCE, at)) {
                exhausted = true;
                break;
            }
            if (at - start > HORIZON) {
                if (!candidates.isEmpty()) {
                    break;
                }
                start = at;
            }
            Object candidate = candidate(pos, before, claimed, at, Frame.peek(source, at));
            if (candidate == null) {
                at++;
            } else if (candidate instanceof Long doubtful) {
                doubted = Math.min(doubted, at);
                at = doubtful;
            } else {
                Candidate good = (Candidate) candidate;
                candidates.add(good);
                if (good.leadsOut) {
                    break;
                }
                // the length of the last one may be damaged
                at = isBatch(good.lastAt) ? good.end : good.lastAt + 1;
            }
        }
        searched = at;
    }

    /** The next position from {@code pos} where a batch may start; -1 if there is none. */
    private long plausible(long pos) {
        int width = BLOCK;
        for (long start = pos; ; start += width, width = Math.min(2 * width, CHUNK)) {
            byte[] block = source.read(start, width + Frame.SIZE);
            for (int index = 0; index + Frame.SIZE <= block.length; index++) {
                long length = LogSegment.Entry.peekLenBody(block, index);
                long magic = LogSegment.Entry.peekMagic(block, index);
                if (length >= Frame.LEAST_BODY && magic >= 0 && magic <= Frame.NEWEST) {
                    return start + index;
                }
            }
            if (block.length < width + Frame.SIZE) {
                return -1;
            }
        }
    }

    /** What starts at {@code at}: null for no batch; a Long, the byte after it, if it may be part of the bad one. */
    private Object candidate(long pos, PrecedingLog before, long claimed, long at, Frame frame) {
        long size = frame.size();
        if (!frame.fits(reading.batchBytes()) || source.remaining(at) < size || !goesOn(frame, before)) {
            return null;
        }
        Batch batch = opens(at, at + size);
        if (batch == null || !batch.crcOk()) {
            return null;
        }
        if (chain == null || !chain.holds(at)) {
            chain = new Chain(source, at, frame, reading.batchBytes());
            afford(GLANCE * chain.positions.size(), at);
        }
        boolean doubtful = at < claimed && !leadsOver(claimed) && !isMuch(pos, at, before)
                || isValue(pos, at)
                || frame.legacy() && frame.offset() <= before.low
                || chain.largestStep(at) > Math.max(before.low, 1)
                || !isFollowed(pos, batch, before);
        boolean proven = (doubtful || !chain.leadsOut) && (endsAt(pos, at) || valueEndsAt(pos, at, before));
        if (doubtful && !proven) {
            return at + size;
        }
        int last = chain.positions.size() - 1;
        return new Candidate(at, chain.positions.get(last), chain.end, chain.count(at), frame.magic(), frame.offset(),
                chain.offsets.get(last), chain.largest, chain.leadsOut, proven);
    }

    // -- evidence ---------------------------------------------------------------------------------

    /** The first candidate that can be believed as things are known now. */
    private long believed(long pos, PrecedingLog before) {
        Candidate anchor = candidates.isEmpty() ? null : candidates.get(candidates.size() - 1);
        anchor = anchor == null || !anchor.leadsOut ? null : anchor;
        long below = anchor == null ? stop : anchor.first;
        long weight = weight(before, anchor == null ? 0 : anchor.largest);
        for (Candidate found : candidates) {
            // of magic 0 and 1 the damaged one has the lowest offset itself
            if (found.first < before.low + (found.magic < Frame.NEWEST ? 1 : 0)) {
                continue;
            }
            boolean many = found.proven || found.batches >= MANY || found.end - found.start >= weight;
            if (found.leadsOut || many && found.last < below) {
                return found.start;
            }
        }
        return -1;
    }

    /** Whether the bytes at its end can follow the batch. */
    private boolean isFollowed(long pos, Batch batch, PrecedingLog before) {
        long end = batch.position() + batch.size();
        Frame frame = linked(end);
        if (frame != null && frame.offset() <= batch.last()) {
            return false;
        }
        if (before.magic == Frame.NEWEST || before.magic < 0 && chain.newest) {
            return true;
        }
        // where nothing good is before, no size is known that a batch has
        long weight = before.largest > 0 ? weight(before, chain.largest) : reading.batchBytes();
        if (batch.position() - pos >= weight || chain.index(batch.position()) >= MANY) {
            return true;
        }
        if (leadsToTheNextSegment(batch.position())) {
            return true;
        }
        int count = 1;
        long start = batch.position();
        Batch following = batch;
        while (count < MANY && end - start < weight) {
            frame = linked(end);
            long expected = following.last() + 1;
            Batch found = frame == null ? null : opens(end, end + frame.size());
            if (found == null) {
                return false;
            }
            following = found;
            Long begins = found.first(unchecked);
            if (!found.crcOk() || begins == null || begins != expected) {
                return false;
            }
            count++;
            end += frame.size();
        }
        return true;
    }

    /** Whether good compressed batches lead to the last offset of the segment, at its last byte. */
    private boolean leadsToTheNextSegment(long at) {
        int last = chain.offsets.size() - 1;
        if (chain.offsets.get(last) + 1 != stop || source.remaining(chain.end) > 0) {
            return false;
        }
        for (long each : chain.positions.subList(chain.index(at), last + 1)) {
            if (!Chain.isWrapper(source, each) || !isBatch(each)) {
                return false;
            }
        }
        return true;
    }

    /** The frame of the complete batch at {@code pos}, if the chain leads to one. */
    private Frame linked(long pos) {
        return chain.holds(pos) ? Frame.peek(source, pos) : null;
    }

    /** Whether more leads on from {@code at} than the batch at {@code pos} is likely to hold. */
    private boolean isMuch(long pos, long at, PrecedingLog before) {
        return chain.end - at >= weight(before, chain.largest)
                || chain.count(at) >= MANY && !Chain.isWrapper(source, pos);
    }

    private static long weight(PrecedingLog before, long largest) {
        return Math.max(WEIGHT * Math.max(before.largest, largest), LEAST_WEIGHT);
    }

    /** Whether a batch with this frame can follow here. */
    private boolean goesOn(Frame frame, PrecedingLog before) {
        long ahead = frame.offset() - before.low;
        return first <= frame.offset() && frame.offset() < stop && ahead >= 0
                && ahead <= (before.low > 0 ? Frame.MAX_RELATIVE : PLAUSIBLE);
    }

    /** Whether a good batch is at {@code pos} whose offset, which no checksum covers, was damaged. */
    private boolean hasWrongOffset(long pos, PrecedingLog before) {
        Frame frame = Frame.peek(source, pos);
        if (frame == null || !frame.known() || !isBatch(pos)) {
            return false;
        }
        long end = pos + frame.size();
        Frame following = isBatch(end) ? Frame.peek(source, end) : null;
        if (goesOn(frame, before)) {
            return following != null && before.low <= following.offset() && following.offset() <= frame.offset();
        }
        // if the next one continues this one, both may be of another log that was appended to the first
        return following == null || goesOn(following, before) || following.offset() <= frame.offset();
    }

    /** Where the bad batch at {@code pos} ends by its length, if its frame can be right. */
    private long claimedEnd(long pos, PrecedingLog before) {
        Frame frame = Frame.peek(source, pos);
        if (frame == null || !frame.known() || frame.size() < Frame.LEAST_SIZE || !goesOn(frame, before)) {
            return pos;
        }
        return frame.legacy() && !lengthsAgree(pos, frame) ? pos : pos + frame.size();
    }

    private static Input head(byte[] data, int start, int end) {
        return new Input(data, start, end, ReadOptions.DEFAULT.withCheckCrc(false).withVerify(false));
    }

    /** Whether the message at {@code pos} ends where its value does, as far as its bytes are present. */
    private boolean lengthsAgree(long pos, Frame frame) {
        byte[] data = source.read(pos, (int) Math.min(frame.size(), CHUNK));
        Input in = head(data, Frame.BEFORE_BODY, data.length);
        try {
            MessageSet.Message.readHead(in);
            return in.pos == frame.size();
        } catch (FormatException error) {
            if (error.kind() != FormatException.Kind.TRUNCATED) {
                return false;
            }
            return !error.path().equals("value") || !(error.need() instanceof Number need)
                    || error.at() + need.longValue() == frame.size();
        }
    }

    /** Whether lengths lead past the claimed end of a bad batch, which then ends elsewhere. */
    private boolean leadsOver(long end) {
        return chain.end > end && !chain.holds(end);
    }

    /** Whether the batch at {@code pos} has a correct checksum if it ends here: then only its frame is damaged. */
    private boolean endsAt(long pos, long end) {
        long size = end - pos;
        if (size < Frame.LEAST_SIZE || size > MOST_TRIED || !afford(TRIAL + size / 64, end)) {
            return false;
        }
        byte[] data = source.read(pos, (int) size);
        Frame frame = Frame.peek(data, 0, data.length);
        for (int magic = 0; magic <= Frame.NEWEST; magic++) {
            if (frame == null || !frame.known() || frame.magic() == magic) {
                Batch found = Batch.of(Frame.framed(data, magic), pos);
                if (found != null && found.crcOk()) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether the message of magic 0 or 1 at {@code pos} has a value that ends here, by the lengths in it. */
    private boolean valueEndsAt(long pos, long end, PrecedingLog before) {
        if (before.magic == Frame.NEWEST || end - pos > MOST_TRIED) {
            return false;
        }
        byte[] data = source.read(pos, (int) (end - pos));
        if (data.length < Frame.LEAST_SIZE) {
            return false;
        }
        Frame frame = Frame.peek(data, 0, data.length);
        for (int magic = 0; magic < Frame.NEWEST; magic++) {
            if (magic != before.magic && magic != frame.magic()) {
                continue;
            }
            Input in = head(Frame.framed(data, magic), Frame.BEFORE_BODY, data.length);
            try {
                byte[] value = MessageSet.Message.readHead(in).value();
                if (in.pos == data.length && value != null && value.length > 0) {
                    return true;
                }
            } catch (FormatException error) {
                // it is not of this format
            }
        }
        return false;
    }

    /** Whether the length of a value is directly before {@code at}, and the value ends where a batch does. */
    private boolean isValue(long pos, long at) {
        long start = Math.max(pos, at - VARINT);
        byte[] before = source.read(start, (int) (at - start));
        Set<Long> ends = chain.endsAfter(at, FEW);
        int place = before.length - LENGTH.size;
        if (place >= 0 && ends.contains(at + LENGTH.get(before, place))) {
            return true;
        }
        for (place = 0; place < before.length - 1; place++) {
            try {
                if (Varints.end32(before, place) == before.length
                        && ends.contains(at + Varints.zigzag32(before, place))) {
                    return true;
                }
            } catch (IndexOutOfBoundsException | Varints.TooLong error) {
                // there is no batch here
            }
        }
        return false;
    }

    /** Whether a whole batch with a right checksum starts at {@code pos}. */
    private boolean isBatch(long pos) {
        long end = statedEnd(pos);
        Batch found = end < 0 ? null : opens(pos, end);
        return found != null && found.crcOk();
    }

    /** Whether lengths lead from {@code pos} to a valid batch or just to the end, over damaged ones in between. */
    private boolean leadsOn(long pos) {
        long at = pos;
        while (at > chained && source.remaining(at) > 0 && !isBatch(at)) {
            long end = statedEnd(at);
            if (end < 0 || opens(at, end) == null) {
                return false;
            }
            at = end;
        }
        chained = Math.max(chained, at);
        return true;
    }

    /** The end of the batch at {@code pos} by its own length; -1 if that is not in the file. */
    private long statedEnd(long pos) {
        Frame frame = Frame.peek(source, pos);
        if (frame == null || frame.size() <= Frame.SIZE || frame.size() > reading.batchBytes()) {
            return -1;
        }
        return source.remaining(pos) >= frame.size() ? pos + frame.size() : -1;
    }

    /** The batch in these bytes; null if there is none or the budget is spent. */
    private Batch opens(long pos, long end) {
        if (!afford(TRIAL + (end - pos) / 64, end)) {
            return null;
        }
        return Batch.of(source.read(pos, (int) (end - pos)), pos);
    }

    /** Whether the budget allows this: the cost of a file full of false candidates is bounded. */
    private boolean afford(long cost, long reached) {
        spent += cost;
        return spent <= 64L * CHUNK + 16 * reached;
    }
}
