import java.util.Arrays;
import java.util.StringJoiner;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.OffsetIndex;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.ReadOptions;

/** The rows of batches and messages by the fast path, as JSON; "null" where it gives up. */
public final class KafkaRows {
    private KafkaRows() {}

    /** The rows of one batch; each set of columns has to give the same. */
    public static String batch(byte[] data) {
        String all = batch(data, RecordBatch.Rows.ALL);
        for (long bit = 1; bit < RecordBatch.Rows.ALL; bit <<= 1) {
            if ((batch(data, bit) == null) != (all == null)) {
                throw new IllegalStateException("rows depend on the columns that are asked for: " + bit);
            }
        }
        return all;
    }

    private static String batch(byte[] data, long wanted) {
        RecordBatch.Rows rows = new RecordBatch.Rows(wanted, 1);
        if (!rows.head(data, 0, data.length, true) || rows.unitEnd != data.length) {
            return null;
        }
        byte[] content = data;
        int start = rows.headRecordsStart;
        int stop = start + rows.headRecordsLength;
        if (rows.codec() == null) {
            return null;
        }
        if (!rows.codec().equals("none") && stop > start) {
            content = Codecs.decompressed(rows.codec(), Arrays.copyOfRange(data, start, stop), 1 << 24);
            start = 0;
            stop = content.length;
        }
        if (!rows.rows(content, start, stop, ReadOptions.DEFAULT.elements())) {
            if (rows.count != 0 || rows.headersCount != 0) {
                throw new IllegalStateException("rows of a batch that was refused");
            }
            return null;
        }
        if (wanted != RecordBatch.Rows.ALL) {
            return "";
        }
        StringJoiner found = new StringJoiner(",", "[", "]");
        for (int n = 0; n < rows.count; n++) {
            StringJoiner headers = new StringJoiner(",", "[", "]");
            for (int h = rows.headersStart[n]; h < rows.headersStart[n + 1]; h++) {
                headers.add("[" + span(content, rows.headersKeyStart[h], rows.headersKeyLength[h]) + ","
                        + span(content, rows.headersValueStart[h], rows.headersValueLength[h]) + "]");
            }
            found.add("[" + rows.offset[n] + "," + rows.timestamp[n] + "," + rows.timestampType[n] + ","
                    + span(content, rows.keyStart[n], rows.keyLength[n]) + ","
                    + span(content, rows.valueStart[n], rows.valueLength[n]) + "," + headers + "]");
        }
        return found.toString();
    }

    /** The rows of messages that follow one another. */
    public static String messages(byte[] data) {
        MessageSet.Rows rows = new MessageSet.Rows(MessageSet.Rows.ALL, 1);
        for (int pos = 0; pos < data.length; pos = rows.unitEnd) {
            if (!rows.head(data, pos, data.length, true) || !rows.add()) {
                return null;
            }
        }
        StringJoiner found = new StringJoiner(",", "[", "]");
        for (int n = 0; n < rows.count; n++) {
            found.add("[" + rows.offset[n] + "," + rows.timestamp[n] + "," + rows.timestampType[n] + ","
                    + span(data, rows.keyStart[n], rows.keyLength[n]) + ","
                    + span(data, rows.valueStart[n], rows.valueLength[n]) + "]");
        }
        return found.toString();
    }

    /** The entries of an offset index. */
    public static String index(byte[] data) {
        OffsetIndex.Rows rows = new OffsetIndex.Rows(OffsetIndex.Rows.ALL, 4);
        for (int pos = 0; pos < data.length; pos = rows.unitEnd) {
            if (!rows.head(data, pos, data.length, true) || !rows.add()) {
                return null;
            }
        }
        StringJoiner found = new StringJoiner(",", "[", "]");
        for (int n = 0; n < rows.count; n++) {
            found.add("[" + rows.relativeOffset[n] + "," + rows.position[n] + "]");
        }
        return found.toString();
    }

    private static String span(byte[] data, int start, int length) {
        return length < 0 ? "null" : Dump.json(Arrays.copyOfRange(data, start, start + length));
    }
}
