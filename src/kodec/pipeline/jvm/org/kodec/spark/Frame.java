package org.kodec.spark;

import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.kodec.kafka.log.LogSegment;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.OffsetIndex;
import org.kodec.kafka.log.RecordBatch;

/**
 * The first fields of a batch, the same in each format; they are not checked.
 *
 * @param offset the base offset of a list of records; the offset of a message, the last one of a wrapper
 * @param size of the whole batch, in bytes; can have any value, also a negative one
 * @param magic the message format
 */
record Frame(long offset, long size, int magic) {
    /** The bytes that hold it. */
    static final int SIZE = LogSegment.Entry.peekSize();
    static final int LENGTH_AT = LogSegment.Entry.peekLenBodyAt();
    static final int MAGIC_AT = LogSegment.Entry.peekMagicAt();
    /** The offset and the length, which the length does not count. */
    static final int BEFORE_BODY = LENGTH_AT + RecordBatch.LEN_BATCH_STORED.size;
    static final int LEAST_BODY = MessageSet.Message.MIN_SIZE;
    static final int LEAST_SIZE = BEFORE_BODY + LEAST_BODY;
    /** The magics that are known, in words. */
    static final String KNOWN;
    private static final byte LIST = 1;
    private static final byte MESSAGE = 2;
    /** What follows by its magic, of one byte: 0 for one that is not known. */
    private static final byte[] KINDS = new byte[256];

    static {
        for (int magic : MessageSet.Message.FORMS) {
            KINDS[magic & 0xFF] = MESSAGE;
        }
        for (int magic : RecordBatch.FORMS) {
            KINDS[magic & 0xFF] = LIST;
        }
        String all = IntStream.range(0, KINDS.length).filter(each -> KINDS[each] != 0).mapToObj(String::valueOf)
                .collect(Collectors.joining(", "));
        KNOWN = all.replaceFirst(", (\\d+)$", " or $1");
    }

    /** The largest offset relative to its segment's base offset: as wide as in the offset index. */
    static final long MAX_RELATIVE = OffsetIndex.Entry.RELATIVE_OFFSET_STORED.most;

    /** The frame at {@code at}; null if the bytes end before it is complete. */
    static Frame peek(byte[] data, int at, int end) {
        return end - at < SIZE ? null : new Frame(LogSegment.Entry.peekBaseOffset(data, at),
                LogSegment.Entry.peekLenEntry(data, at), (int) LogSegment.Entry.peekMagic(data, at));
    }

    /** The frame at a position in a file; null if the file ends before it is complete. */
    static Frame peek(Pages source, long at) {
        byte[] data = source.read(at, SIZE);
        return peek(data, 0, data.length);
    }

    long lenBody() {
        return size - BEFORE_BODY;
    }

    /** Whether the format is known. */
    boolean known() {
        return isKnown(magic);
    }

    /** Whether it has a list of records under one header. */
    boolean isList() {
        return isList(magic);
    }

    static boolean isKnown(int magic) {
        return KINDS[magic & 0xFF] != 0;
    }

    static boolean isList(int magic) {
        return KINDS[magic & 0xFF] == LIST;
    }

    /** Whether the size can be that of a batch, and is at most {@code most}. */
    boolean fits(long most) {
        return LEAST_SIZE <= size && size <= most;
    }
}
