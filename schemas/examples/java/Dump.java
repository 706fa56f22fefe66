import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

import formats.log.LogSegment;
import formats.log.MessageSet;
import formats.log.Record;
import formats.log.RecordBatch;
import org.kodec.runtime.FormatException;

/** Prints every record of log segments as a line of JSON. */
public final class Dump {
    private Dump() {
    }

    /** The arguments are paths of segments. */
    public static void main(String[] arguments) throws IOException {
        for (String path : arguments) {
            dump(Files.readAllBytes(Path.of(path)));
        }
    }

    private static void dump(byte[] data) {
        int pos = 0;
        while (pos < data.length) {
            int left = data.length - pos;
            long size = left < 17 ? Long.MAX_VALUE : 12L + Integer.toUnsignedLong(ByteBuffer.wrap(data).getInt(pos + 8));
            if (size > left || zeros(data, pos)) {
                System.err.printf("torn tail: %d bytes at byte %d%n", left, pos);
                return;
            }
            int end = pos + (int) size;
            try {
                Object body = LogSegment.Entry.from(Arrays.copyOfRange(data, pos, end)).body();
                if (body instanceof byte[]) {
                    System.err.printf("entry at byte %d: unknown magic %d%n", pos, data[pos + 16]);
                    System.exit(1);
                }
                for (String line : rows(body)) {
                    System.out.println(line);
                }
            } catch (FormatException error) {
                System.err.printf("entry at byte %d: %s%n", pos, error.getMessage());
                System.exit(1);
            }
            pos = end;
        }
    }

    private static List<String> rows(Object body) {
        List<String> found = new ArrayList<>();
        if (body instanceof RecordBatch batch) {
            boolean appended = batch.attributes().timestampTypeEnum() == RecordBatch.TimestampType.LOG_APPEND_TIME;
            for (Record record : batch.records() == null ? List.<Record>of() : batch.records()) {
                Record.RecordBody inner = record.body();
                Long at = appended ? batch.maxTimestamp() : Long.valueOf(batch.baseTimestamp() + inner.timestampDelta());
                found.add(row(batch.baseOffset() + inner.offsetDelta(), at, batch.attributes().isControl(),
                        inner.key(), inner.value()));
            }
            return found;
        }
        MessageSet.Entry entry = (MessageSet.Entry) body;
        MessageSet.Message outer = entry.message();
        if (outer.valueInner() == null) {
            found.add(row(entry.offset(), outer.magic() == 0 ? null : Long.valueOf(outer.timestamp()), false,
                    outer.key(), outer.value()));
            return found;
        }
        List<MessageSet.Entry> entries = outer.valueInner().entries();
        // in magic 1 the offsets inside count from 0, and the wrapper has that of the last one
        long base = entries.isEmpty() || outer.magic() == 0 || entry.offset() == 0
                ? 0 : entry.offset() - entries.get(entries.size() - 1).offset();
        boolean appended = outer.attributes().timestampTypeEnum() == MessageSet.TimestampType.LOG_APPEND_TIME;
        for (MessageSet.Entry each : entries) {
            MessageSet.Message inner = each.message();
            Long at = inner.magic() == 0 ? null : Long.valueOf(appended ? outer.timestamp() : inner.timestamp());
            found.add(row(base + each.offset(), at, false, inner.key(), inner.value()));
        }
        return found;
    }

    private static String row(long offset, Long at, boolean control, byte[] key, byte[] value) {
        return "{\"offset\": " + offset + ", \"timestamp\": " + at + ", \"control\": " + control
                + ", \"key\": " + text(key) + ", \"value\": " + text(value) + "}";
    }

    private static String text(byte[] data) {
        return data == null ? "null" : '"' + HexFormat.of().formatHex(data) + '"';
    }

    private static boolean zeros(byte[] data, int from) {
        for (int at = from; at < data.length; at++) {
            if (data[at] != 0) {
                return false;
            }
        }
        return true;
    }
}
