package org.kodec.spark;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.kodec.kafka.log.LogSegment;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.Record;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Input;
import org.kodec.runtime.ReadOptions;

/**
 * Reads a batch that the fast path rejected again with the full readers, to report its errors: those of
 * {@code kodec.log.batches}.
 */
final class ErrorExplainer {
    private static final BigInteger LEAST = BigInteger.valueOf(Long.MIN_VALUE);
    private static final BigInteger MOST = BigInteger.valueOf(Long.MAX_VALUE);

    private ErrorExplainer() {}

    private static ReadOptions options(ReadSettings reading) {
        return ReadOptions.DEFAULT
                .withCheckCrc(reading.checkCrc())
                .withDecompressedBytes(reading.decompressedBytes())
                .withElements(reading.elements());
    }

    /** What is wrong with a record batch. */
    static FormatException newest(byte[] data, long position, long offset, ReadSettings reading) {
        String name = "RecordBatch(base_offset=" + offset + ")";
        ReadOptions opt = options(reading);
        RecordBatch head;
        String codec;
        try {
            head = RecordBatch.readHead(new Input(data, opt.withCheckCrc(false)));
            codec = head.codec();
            if (reading.checkCrc()) {
                RecordBatch.readHead(new Input(data, opt));
            }
        } catch (FormatException error) {
            return error.within(name).shifted(position);
        }
        byte[] stored = head.recordsStored() == null ? new byte[0] : head.recordsStored();
        int at = data.length - stored.length;
        byte[] content = stored;
        if (!codec.equals("none")) {
            if (head.numRecords() > opt.elements()) {
                return tooMany("num_records", 0, opt).withinCodec(codec, at).within(name).shifted(position);
            }
            try {
                content = Codecs.decompressed(codec, stored, reading.decompressedBytes());
            } catch (FormatException error) {
                return error.within("records").shifted(at).within(name).shifted(position);
            }
        }
        FormatException error = rows(head, content, opt);
        error = codec.equals("none") ? error.shifted(at) : error.withinCodec(codec, at);
        return error.within(name).shifted(position);
    }

    /**
     * The records of a batch that is right as far as the fast path looks.
     *
     * @param at where in the batch the stored ones start
     */
    record Content(List<Record> records, String codec, int at, String name, long position) {
        /** An error in the records, with its place in the segment. */
        FormatException placed(FormatException error) {
            FormatException found = codec.equals("none") ? error.shifted(at) : error.withinCodec(codec, at);
            return found.within(name).shifted(position);
        }
    }

    static Content content(byte[] data, long position, long offset) {
        RecordBatch head = RecordBatch.readHead(new Input(data, ReadOptions.DEFAULT.withCheckCrc(false)));
        byte[] stored = head.recordsStored() == null ? new byte[0] : head.recordsStored();
        String codec = head.codec();
        byte[] content = codec.equals("none")
                ? stored : Codecs.decompressed(codec, stored, ReadOptions.DEFAULT.decompressedBytes());
        List<Record> records = RecordBatch.readRecordList(new Input(content, ReadOptions.DEFAULT));
        return new Content(records, codec, data.length - stored.length, "RecordBatch(base_offset=" + offset + ")",
                position);
    }

    private static FormatException rows(RecordBatch head, byte[] content, ReadOptions opt) {
        if (head.numRecords() > content.length) {
            return FormatException.truncated("num_records", "", 0, head.numRecords(), content.length);
        }
        if (head.numRecords() > opt.elements()) {
            return tooMany("num_records", 0, opt);
        }
        Input in = new Input(content, opt);
        List<Record> found;
        try {
            found = RecordBatch.readRecordList(in);
        } catch (FormatException error) {
            return error.within("records");
        }
        if (found.size() != head.numRecords()) {
            return FormatException.malformed(
                    "num_records", "not the number of records", in.pos, found.size(), head.numRecords());
        }
        boolean appended = head.attributes().timestampType() == RecordBatch.TimestampType.LOG_APPEND_TIME.value();
        for (int index = 0; index < found.size(); index++) {
            Record each = found.get(index);
            BigInteger offset = sum(head.baseOffset(), each.body().offsetDelta());
            BigInteger timestamp = sum(head.baseTimestamp(), appended ? 0 : each.body().timestampDelta());
            String path = "records[" + index + "].";
            if (offset.compareTo(LEAST) < 0 || offset.compareTo(MOST) > 0) {
                return FormatException.malformed(path + "offset", "does not fit 64 bits", 0, null, offset);
            }
            if (timestamp.compareTo(LEAST) < 0 || timestamp.compareTo(MOST) > 0) {
                return FormatException.malformed(path + "timestamp", "does not fit 64 bits", 0, null, timestamp);
            }
        }
        return tooMany("headers", in.pos, opt);
    }

    private static BigInteger sum(long one, long other) {
        return BigInteger.valueOf(one).add(BigInteger.valueOf(other));
    }

    private static FormatException tooMany(String path, long at, ReadOptions opt) {
        return FormatException.limitExceeded(
                path, "too many elements", at, opt.elements() + 1, opt.elements(), "elements");
    }

    /** What is wrong with a message of an older format. */
    static FormatException older(byte[] data, long position, long offset, ReadSettings reading) {
        ReadOptions opt = options(reading);
        int start = MessageSet.Entry.MESSAGE_AT;
        MessageSet.Message message;
        String codec;
        try {
            Input in = new Input(data, start, data.length, opt.withCheckCrc(false));
            message = MessageSet.Message.readHead(in);
            if (in.pos != data.length) {
                throw FormatException.malformed(
                        "value", "bytes are left over after the message", in.pos, 0, data.length - in.pos);
            }
        } catch (FormatException error) {
            return error.within("message").within("Message(base_offset=" + offset + ")").shifted(position);
        }
        try {
            codec = message.codec();
        } catch (FormatException error) {
            return error.shifted(start).within("message").within("Message(base_offset=" + offset + ")")
                    .shifted(position);
        }
        String name = "Message(offset=" + offset + ")";
        try {
            if (reading.checkCrc()) {
                MessageSet.Message.readHead(new Input(data, start, data.length, opt));
            }
        } catch (FormatException error) {
            return error.within(name).shifted(position);
        }
        byte[] value = message.value();
        if (value == null) {
            return FormatException.malformed(
                            "message.value", "a compressed message needs a value", data.length, null, null)
                    .within(name).shifted(position);
        }
        int at = data.length - value.length;
        byte[] inner;
        try {
            inner = Codecs.decompressed(codec, value, reading.decompressedBytes());
        } catch (FormatException error) {
            return error.within("message.value").shifted(at).within(name).shifted(position);
        }
        return inside(message, offset, inner, opt).within("message.value")
                .withinCodec(codec.equals("lz4_legacy") ? "lz4" : codec, at).within(name).shifted(position);
    }

    /** What is wrong with the messages in a wrapper. */
    private static FormatException inside(MessageSet.Message wrapper, long offset, byte[] data, ReadOptions opt) {
        List<Long> offsets = new ArrayList<>();
        int frame = LogSegment.Entry.peekSize();
        int pos = 0;
        while (pos < data.length) {
            String path = "[" + offsets.size() + "]";
            int left = data.length - pos;
            if (left < frame) {
                return FormatException.truncated(path, "", pos, frame, left);
            }
            long size = LogSegment.Entry.peekLenEntry(data, pos);
            long body = LogSegment.Entry.peekLenBody(data, pos);
            if (body < MessageSet.Message.MIN_SIZE) {
                return FormatException.malformed(path + ".len_message", "value not allowed",
                        pos + LogSegment.Entry.peekLenBodyAt(), "at least " + MessageSet.Message.MIN_SIZE, body);
            }
            if (size > left) {
                return FormatException.truncated(path, "", pos, size, left);
            }
            int end = pos + (int) size;
            MessageSet.Message message;
            try {
                Input in = new Input(data, end - (int) body, end, opt);
                message = MessageSet.Message.readHead(in);
                if (in.pos != end) {
                    throw FormatException.malformed(
                            "value", "bytes are left over after the message", in.pos, 0, end - in.pos);
                }
            } catch (FormatException error) {
                return error.within(path + ".message");
            }
            if (message.attributes().compression() != 0) {
                return FormatException.malformed(path + ".message.attributes",
                        "a compressed message inside a compressed message", pos, null, null);
            }
            if (offsets.size() == opt.elements()) {
                return tooMany("", pos, opt);
            }
            offsets.add(LogSegment.Entry.peekBaseOffset(data, pos));
            pos = end;
        }
        if (offsets.isEmpty()) {
            return FormatException.malformed("", "a compressed message holds no message", 0, null, null);
        }
        long last = offsets.get(offsets.size() - 1);
        return FormatException.malformed("[" + (offsets.size() - 1) + "].offset",
                "relative offset beyond the wrapper's", 0, "at most " + offset, last);
    }
}
