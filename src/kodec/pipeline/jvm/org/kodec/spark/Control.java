package org.kodec.spark;

import java.util.List;
import org.kodec.kafka.control.ControlRecordKey;
import org.kodec.kafka.control.ControlRecordKey.ControlRecordType;
import org.kodec.kafka.control.EndTxnMarker;
import org.kodec.kafka.control.KraftVersionRecord;
import org.kodec.kafka.control.LeaderChangeMessage;
import org.kodec.kafka.control.SnapshotFooterRecord;
import org.kodec.kafka.control.SnapshotHeaderRecord;
import org.kodec.kafka.control.VotersRecord;
import org.kodec.kafka.log.Record;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Input;
import org.kodec.runtime.ReadOptions;

/** Control records: which type a key names, and whether the value can be read, as in {@code kodec.log.batches.control}. */
final class Control {
    private Control() {}

    /** The type of the first record of a control batch; null for one that is not known. Throws FormatException. */
    static ControlRecordType type(byte[] data, long position) {
        return read(records(data).get(0), 0, data, position);
    }

    /** Reads all records of a control batch, which are right as records. Throws FormatException. */
    static void check(byte[] data, long position) {
        List<Record> records = records(data);
        for (int index = 0; index < records.size(); index++) {
            read(records.get(index), index, data, position);
        }
    }

    private static List<Record> records(byte[] data) {
        RecordBatch head = RecordBatch.readHead(new Input(data, ReadOptions.DEFAULT.withCheckCrc(false)));
        byte[] stored = head.recordsStored() == null ? new byte[0] : head.recordsStored();
        byte[] content = head.codec().equals("none")
                ? stored : Codecs.decompressed(head.codec(), stored, ReadOptions.DEFAULT.decompressedBytes());
        return RecordBatch.readRecordList(new Input(content, ReadOptions.DEFAULT));
    }

    private static ControlRecordType read(Record record, int index, byte[] batch, long position) {
        try {
            return read(record.body().key(), record.body().value());
        } catch (FormatException error) {
            String name = WrongBatch.name(Frame.peek(batch, 0, batch.length));
            throw error.within("records", index).within(name).shifted(position - error.at());
        }
    }

    private static ControlRecordType read(byte[] key, byte[] value) {
        if (key == null) {
            throw FormatException.malformed("key", "a control record needs a key", 0, null, null);
        }
        ControlRecordType type;
        try {
            type = ControlRecordKey.read(new Input(key, ReadOptions.DEFAULT)).controlTypeEnum();
        } catch (FormatException error) {
            throw error.within("key");
        }
        if (type != null) {
            try {
                value(type, new Input(value == null ? new byte[0] : value, ReadOptions.DEFAULT));
            } catch (FormatException error) {
                // a version of a later Kafka: the record's type is known, its content is not
                if (error.kind() != FormatException.Kind.UNSUPPORTED) {
                    throw error.within("value");
                }
            }
        }
        return type;
    }

    private static void value(ControlRecordType type, Input in) {
        switch (type) {
            case ABORT, COMMIT -> EndTxnMarker.read(in);
            case LEADER_CHANGE -> LeaderChangeMessage.read(in);
            case SNAPSHOT_HEADER -> SnapshotHeaderRecord.read(in);
            case SNAPSHOT_FOOTER -> SnapshotFooterRecord.read(in);
            case KRAFT_VERSION -> KraftVersionRecord.read(in);
            case KRAFT_VOTERS -> VotersRecord.read(in);
        }
    }
}
