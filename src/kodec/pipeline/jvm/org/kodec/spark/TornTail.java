package org.kodec.spark;

import org.kodec.kafka.log.LogSegment;
import org.kodec.runtime.FormatException;

/**
 * The end of a file that is not a complete batch: left by a crash, being written by a broker, or damaged. If that is
 * uncertain, it is reported as damage: only the source in Python decides it.
 */
final class TornTail {
    private static final int BLOCK = 1 << 20;
    /** The largest number of bytes that are tried as batches, and the fixed cost of a trial. */
    private static final long MOST_TRIED = 256L << 20;
    private static final long TRIAL = 1024;

    private TornTail() {}

    /**
     * Why there is no complete batch at {@code pos}; null at the end of the file. Offsets from {@code low} to
     * {@code high} can follow there. Throws FormatException for damage.
     */
    static String reason(Pages source, long pos, long low, long high, ReadSettings reading) {
        byte[] head = source.read(pos, Frame.SIZE);
        if (head.length == 0) {
            return null;
        }
        Frame frame = Frame.peek(head, 0, head.length);
        long have = source.remaining(pos);
        if (Pages.zeros(head, head.length) && source.zeros(pos, have)) {
            return "zeros";
        }
        if (frame == null) {
            return "fewer bytes than the start of a batch";
        }
        if (frame.lenBody() < Frame.LEAST_BODY) {
            throw FormatException.malformed("len_body", "too small for any batch", pos + Frame.LENGTH_AT,
                    "at least " + Frame.LEAST_BODY, frame.lenBody());
        }
        if (!frame.known()) {
            throw FormatException.unsupported(
                    "magic", "unknown message format", pos + Frame.MAGIC_AT, Frame.KNOWN, frame.magic());
        }
        if (have >= frame.size()) {
            if (frame.fits(reading.largest())) {
                // written since
                return null;
            }
            throw FormatException.limitExceeded("len_body", "batch larger than allowed", pos + Frame.LENGTH_AT,
                    frame.size(), reading.largest(), "batch_bytes");
        }
        if (frame.offset() < low || frame.offset() > high) {
            throw FormatException.malformed("base_offset", "a batch that cannot follow (see `kodec verify`)", pos,
                    low + " to " + high, frame.offset());
        }
        if (holdsBatch(source, pos + 1, low, high, reading)) {
            throw FormatException.truncated("batch", "its length is damaged, or it is torn and contains batches (see `kodec "
                    + "verify`)", pos, frame.size(), have);
        }
        return "the batch has " + frame.size() + " bytes, " + have + " are there";
    }

    /** Whether a complete batch with a correct checksum starts from {@code pos} on; also if too much looks like one. */
    static boolean holdsBatch(Pages source, long pos, long low, long high, ReadSettings reading) {
        long tried = 0;
        for (long start = pos; source.remaining(start) >= Frame.LEAST_SIZE; start += BLOCK) {
            byte[] block = source.read(start, BLOCK + Frame.SIZE - 1);
            for (int index = 0; index + Frame.SIZE <= block.length; index++) {
                if (!Frame.isKnown((int) LogSegment.Entry.peekMagic(block, index))) {
                    continue;
                }
                Frame frame = Frame.peek(block, index, block.length);
                long at = start + index;
                boolean fits = frame.fits(Math.min(reading.largest(), source.remaining(at)));
                if (!fits || frame.offset() < low || frame.offset() > high) {
                    continue;
                }
                tried += TRIAL + frame.size();
                Batch found = tried > MOST_TRIED ? null : Batch.of(source.read(at, (int) frame.size()), at);
                if (tried > MOST_TRIED || found != null && found.crcOk()) {
                    return true;
                }
            }
        }
        return false;
    }
}
