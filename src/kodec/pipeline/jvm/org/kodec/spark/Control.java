package org.kodec.spark;

import org.kodec.kafka.control.ControlRecordKey;
import org.kodec.kafka.control.ControlRecordKey.ControlRecordType;
import org.kodec.kafka.control.EndTxnMarker;
import org.kodec.kafka.control.KraftVersionRecord;
import org.kodec.kafka.control.LeaderChangeMessage;
import org.kodec.kafka.control.SnapshotFooterRecord;
import org.kodec.kafka.control.SnapshotHeaderRecord;
import org.kodec.kafka.control.VotersRecord;
import org.kodec.kafka.log.Record;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Input;
import org.kodec.runtime.ReadOptions;

/** Control records: which type a key names, and whether the value can be read, as in {@code kodec.log.batches.control}. */
final class Control {
    private Control() {}

    /** The type of the first record of a control batch; null for one that is not known. Throws FormatException. */
    static ControlRecordType type(byte[] data, long position, long offset) {
        ErrorExplainer.Content found = ErrorExplainer.content(data, position, offset);
        return read(found, found.records().get(0), 0);
    }

    /** Reads all records of a control batch, which are right as records. Throws FormatException. */
    static void check(byte[] data, long position, long offset) {
        ErrorExplainer.Content found = ErrorExplainer.content(data, position, offset);
        for (int index = 0; index < found.records().size(); index++) {
            read(found, found.records().get(index), index);
        }
    }

    private static ControlRecordType read(ErrorExplainer.Content content, Record record, int index) {
        try {
            return read(record.body().key(), record.body().value());
        } catch (FormatException error) {
            throw content.placed(error.within("records", index));
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
