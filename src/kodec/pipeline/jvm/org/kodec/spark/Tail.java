package org.kodec.spark;

import org.kodec.runtime.FormatException;

/**
 * Why reading ended before the file did: the bytes at its end are no whole batch. The rules are those of
 * {@code kodec.log.reading.walk}.
 */
record Tail(long position, long size, String reason) {
    /**
     * The torn tail at {@code pos}, where there is no complete batch; null at the end of the file.
     *
     * <p>Throws FormatException for damage.
     */
    static Tail at(Pages source, long pos, ReadSettings reading, Resumption resumption, Resumption.PrecedingLog before) {
        byte[] head = source.read(pos, Frame.SIZE);
        if (head.length == 0) {
            return null;
        }
        FormatException foreign = pos == 0 ? Foreign.error(source) : null;
        if (foreign != null) {
            throw foreign;
        }
        Frame frame = Frame.peek(head, 0, head.length);
        long have = source.remaining(pos);
        if (frame != null && frame.known() && frame.fits(reading.batchBytes())) {
            if (have >= frame.size()) {
                return new Tail(pos, have, "the file has grown since it was opened");
            }
            return cutShort(pos, frame.size(), have, resumption, before);
        }
        if (Pages.zeros(head, head.length)) {
            if (source.zeros(pos, have)) {
                return new Tail(pos, have, "zeros");
            }
        } else if (frame == null) {
            return new Tail(pos, have, "fewer bytes than the start of a batch");
        }
        if (frame.lenBody() < Frame.LEAST_BODY) {
            throw FormatException.malformed("len_body", "too small for any batch", pos + Frame.LENGTH_AT,
                    "at least " + Frame.LEAST_BODY, frame.lenBody());
        }
        if (!frame.known()) {
            throw FormatException.unsupported(
                    "magic", "unknown message format", pos + Frame.MAGIC_AT, "0, 1 or 2", frame.magic());
        }
        if (have >= frame.size()) {
            throw FormatException.limitExceeded("len_body", "batch larger than allowed", pos + Frame.LENGTH_AT,
                    frame.size(), reading.batchBytes(), "batch_bytes");
        }
        return cutShort(pos, frame.size(), have, resumption, before);
    }

    /** Truncated by a crash, or a damaged length: a batch further on decides which. */
    private static Tail cutShort(long pos, long size, long have, Resumption resumption, Resumption.PrecedingLog before) {
        if (resumption.isDamage(pos, before)) {
            throw FormatException.truncated("batch", "", pos, size, have);
        }
        return new Tail(pos, have, "the batch has " + size + " bytes, " + have + " are there");
    }
}
