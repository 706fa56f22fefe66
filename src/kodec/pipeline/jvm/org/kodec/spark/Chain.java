package org.kodec.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.kodec.kafka.log.LogSegment;
import org.kodec.kafka.log.MessageSet;

/**
 * The batches from a position, each where the previous batch ends, with ascending offsets; only their frames are read.
 * The rules are those of {@code kodec.log.reading.chain}.
 */
final class Chain {
    /** Lengths that have led so far need not be followed on. */
    static final long FAR = 16L << 20;
    private static final int ATTRIBUTES_AT =
            MessageSet.Entry.MESSAGE_AT + MessageSet.Message.ATTRIBUTES_AT;

    /** Where each starts. */
    final List<Long> positions = new ArrayList<>();
    /** That of each, as in its frame. */
    final List<Long> offsets = new ArrayList<>();
    /** The byte after the last one. */
    long end;
    /** Whether each of them is of magic 2. */
    boolean newest = true;
    /** The size of the largest one. */
    long largest;
    /** Whether it reaches the end of the source, or {@link #FAR} bytes; otherwise there is damage at its end. */
    boolean leadsOut;

    private final Pages source;
    private final long[] steps;

    Chain(Pages source, long pos, Frame frame, long most) {
        this.source = source;
        List<Boolean> alone = new ArrayList<>();
        end = pos;
        for (Frame at = frame; at != null; at = following(at, most)) {
            positions.add(end);
            offsets.add(at.offset());
            newest = newest && at.magic() == Frame.NEWEST;
            // the offset of such a message would count from the start of a wrapper that held it
            alone.add(at.magic() == 1 && !isWrapper(source, end));
            largest = Math.max(largest, at.size());
            end += at.size();
        }
        steps = new long[offsets.size()];
        for (int index = steps.length - 2; index >= 0; index--) {
            steps[index] = alone.get(index)
                    ? Math.max(steps[index + 1], offsets.get(index + 1) - offsets.get(index)) : 0;
        }
    }

    boolean holds(long pos) {
        return Collections.binarySearch(positions, pos) >= 0;
    }

    /** How many batches there are before {@code pos}. */
    int index(long pos) {
        int found = Collections.binarySearch(positions, pos);
        return found < 0 ? -found - 1 : found;
    }

    /** How many batches there are from {@code pos} on. */
    int count(long pos) {
        return positions.size() - index(pos);
    }

    /** The ends of the batches from {@code pos}, up to a number of them. */
    Set<Long> endsAfter(long pos, int most) {
        int first = index(pos) + 1;
        Set<Long> found = new HashSet<>();
        if (first < positions.size()) {
            found.addAll(positions.subList(first, Math.min(first + most, positions.size())));
        }
        found.add(end);
        found.remove(pos);
        return found;
    }

    /** The largest difference of offsets between the uncompressed messages of magic 1 from {@code pos}. */
    long largestStep(long pos) {
        return steps[index(pos)];
    }

    private Frame following(Frame last, long most) {
        byte[] head = source.read(end, Frame.SIZE);
        Frame frame = Frame.peek(head, 0, head.length);
        if (head.length == 0 || end - positions.get(0) >= FAR) {
            leadsOut = true;
        } else if (frame == null) {
            leadsOut = canStart(head, last);
        } else if (frame.known() && frame.fits(most) && frame.offset() > last.offset()
                && frame.offset() - last.offset() <= Frame.MAX_RELATIVE) {
            if (source.remaining(end) >= frame.size()) {
                return frame;
            }
            // one batch alone before something that may be the start of the next is too little
            leadsOut = positions.size() > 1;
        } else if (Pages.zeros(head, head.length)) {
            leadsOut = source.zeros(end, FAR);
        }
        return null;
    }

    /** Whether the few bytes at the end can be the first ones of the next batch's offset, and not a record's rest. */
    private boolean canStart(byte[] rest, Frame last) {
        if (positions.size() == 1) {
            return false;
        }
        byte[] low = Arrays.copyOf(rest, Frame.LENGTH_AT);
        byte[] high = Arrays.copyOf(rest, Frame.LENGTH_AT);
        for (int index = rest.length; index < high.length; index++) {
            high[index] = -1;
        }
        long most = last.offset() + Frame.MAX_RELATIVE;
        return Long.compareUnsigned(LogSegment.Entry.peekBaseOffset(low, 0), most) <= 0
                && Long.compareUnsigned(LogSegment.Entry.peekBaseOffset(high, 0), last.offset()) > 0;
    }

    /** Whether the frame at {@code pos}, and the byte after it, are those of a compressed message. */
    static boolean isWrapper(Pages source, long pos) {
        byte[] head = source.read(pos, Math.max(Frame.SIZE, ATTRIBUTES_AT + MessageSet.MessageAttributes.SIZE));
        Frame frame = Frame.peek(head, 0, head.length);
        if (frame == null || !frame.legacy() || head.length < ATTRIBUTES_AT + MessageSet.MessageAttributes.SIZE) {
            return false;
        }
        byte[] stored = Arrays.copyOfRange(head, ATTRIBUTES_AT, ATTRIBUTES_AT + MessageSet.MessageAttributes.SIZE);
        return MessageSet.MessageAttributes.from(stored).compression() != MessageSet.Compression.NONE.value();
    }
}
