package org.kodec.spark;

import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Input;
import org.kodec.runtime.ReadOptions;

/** The error of a batch that the fast path rejected, in its header, checksum or compression; others are not described. */
final class WrongBatch {
    private WrongBatch() {}

    /** The error of the batch in {@code data}. */
    static FormatException error(byte[] data, long position, ReadSettings reading) {
        Frame frame = Frame.peek(data, 0, data.length);
        try {
            if (frame.isList()) {
                requireBatch(data, reading);
            } else {
                requireMessage(data, reading);
            }
        } catch (FormatException error) {
            return error.within(name(frame)).shifted(position);
        }
        return FormatException.malformed(frame.isList() ? "records" : "message", "they do not match the header, or are more than "
                + "maxElements allows (see `kodec verify`)", 0, null, null).within(name(frame)).shifted(position);
    }

    /** The name of a batch in errors. */
    static String name(Frame frame) {
        return (frame.isList() ? "RecordBatch(base_offset=" : "Message(offset=") + frame.offset() + ")";
    }

    private static void requireBatch(byte[] data, ReadSettings reading) {
        RecordBatch head = RecordBatch.readHead(new Input(data, ReadOptions.DEFAULT.withCheckCrc(false)));
        String codec = head.codec();
        RecordBatch.readHead(new Input(data, ReadOptions.DEFAULT.withCheckCrc(reading.checkCrc())));
        if (!codec.equals("none") && head.recordsStored() != null) {
            try {
                Codecs.decompressed(codec, head.recordsStored(), reading.decompressedBytes());
            } catch (FormatException error) {
                throw error.within("records").shifted(data.length - head.recordsStored().length);
            }
        }
    }

    private static void requireMessage(byte[] data, ReadSettings reading) {
        int start = MessageSet.Entry.MESSAGE_AT;
        ReadOptions unchecked = ReadOptions.DEFAULT.withCheckCrc(false);
        MessageSet.Message message = MessageSet.Message.readHead(new Input(data, start, data.length, unchecked));
        String codec = message.codec();
        MessageSet.Message.readHead(
                new Input(data, start, data.length, unchecked.withCheckCrc(reading.checkCrc())));
        if (!codec.equals("none") && message.value() != null) {
            try {
                Codecs.decompressed(codec, message.value(), reading.decompressedBytes());
            } catch (FormatException error) {
                throw error.within("message.value").shifted(data.length - message.value().length);
            }
        }
    }
}
