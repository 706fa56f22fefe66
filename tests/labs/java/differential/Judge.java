import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Iterator;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.compress.GzipCompression;
import org.apache.kafka.common.compress.Lz4Compression;
import org.apache.kafka.common.compress.ZstdCompression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.ControlRecordUtils;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * Decodes bytes with Kafka's own classes: a server on standard input and output, one request after another.
 *
 * A request is an int32 length, an operation and its body; an answer is an int32 length and its body. judge.py
 * is the other side and describes both. The process ends with its standard input, and halts where one input
 * takes longer than WATCHDOG_MS.
 */
public final class Judge {
    private static final long WATCHDOG_MS = 20_000;
    private static final int END = 0;
    private static final int ROWS = 1;
    private static final int REFUSED = 2;
    private static final int STOPPED = 3;
    private static final int NO_CONTROL = -2;
    private static final Header[] NO_HEADERS = new Header[0];

    private final BufferSupplier buffers = BufferSupplier.create();
    private final Field headerKey;
    private final Field headerValue;
    private final File file;

    private static volatile long deadline = Long.MAX_VALUE;

    private Judge() throws Exception {
        headerKey = RecordHeader.class.getDeclaredField("keyBuffer");
        headerKey.setAccessible(true);
        headerValue = RecordHeader.class.getDeclaredField("valueBuffer");
        headerValue.setAccessible(true);
        file = File.createTempFile("judge", ".log");
        file.deleteOnExit();
    }

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        // a library that prints must not break the protocol
        System.setOut(new PrintStream(System.err, true));
        watch();
        Judge judge = new Judge();
        while (true) {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException ended) {
                return;
            }
            byte[] request = new byte[length];
            in.readFully(request);
            byte[] answer = judge.answer(ByteBuffer.wrap(request));
            out.writeInt(answer.length);
            out.write(answer);
            out.flush();
        }
    }

    private static void watch() {
        Thread thread = new Thread(() -> {
            while (System.currentTimeMillis() < deadline) {
                try {
                    Thread.sleep(200);
                } catch (InterruptedException ended) {
                    return;
                }
            }
            Runtime.getRuntime().halt(3);
        }, "watchdog");
        thread.setDaemon(true);
        thread.start();
    }

    private byte[] answer(ByteBuffer request) throws IOException {
        char operation = (char) request.get();
        if (operation == 'D') {
            return decode(request);
        }
        if (operation == 'W') {
            return write(request);
        }
        throw new IllegalArgumentException("operation " + operation);
    }

    // -- reading ------------------------------------------------------------------------------------

    private byte[] decode(ByteBuffer request) {
        Bytes answer = new Bytes();
        int count = request.getInt();
        for (int index = 0; index < count; index++) {
            boolean checked = request.get() != 0;
            boolean fromFile = request.get() != 0;
            byte[] data = bytes(request);
            deadline = System.currentTimeMillis() + WATCHDOG_MS;
            int mark = answer.position();
            answer.putInt(0);
            if (fromFile) {
                decodeFile(data, checked, answer);
            } else {
                ByteBuffer buffer = ByteBuffer.wrap(data);
                decodeAll(MemoryRecords.readableRecords(buffer).batches().iterator(), checked, answer);
            }
            answer.putIntAt(mark, answer.position() - mark - 4);
            deadline = Long.MAX_VALUE;
        }
        return answer.toByteArray();
    }

    private void decodeFile(byte[] data, boolean checked, Bytes answer) {
        try {
            Files.write(file.toPath(), data);
            try (FileRecords records = FileRecords.open(file, false)) {
                decodeAll(records.batches().iterator(), checked, answer);
            }
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private void decodeAll(Iterator<? extends RecordBatch> batches, boolean checked, Bytes answer) {
        while (true) {
            RecordBatch batch;
            try {
                if (!batches.hasNext()) {
                    answer.put(END);
                    return;
                }
                batch = batches.next();
            } catch (Throwable error) {
                answer.put(STOPPED);
                putError(error, answer);
                return;
            }
            int mark = answer.position();
            int[] index = {-1};
            try {
                answer.put(ROWS);
                decodeBatch(batch, checked, answer, index);
            } catch (Throwable error) {
                answer.truncate(mark);
                answer.put(REFUSED);
                answer.putInt(index[0]);
                putError(error, answer);
            }
        }
    }

    private void putError(Throwable error, Bytes answer) {
        Throwable cause = error;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        String text = error.getClass().getSimpleName() + ": " + error.getMessage();
        if (cause != error) {
            text += " <- " + cause.getClass().getSimpleName() + ": " + cause.getMessage();
        }
        answer.putBytes(text.replace(file.toString(), "the file").getBytes(StandardCharsets.UTF_8));
    }

    private void decodeBatch(RecordBatch batch, boolean checked, Bytes answer, int[] index) throws Exception {
        if (checked) {
            batch.ensureValid();
        }
        byte magic = batch.magic();
        boolean legacy = magic < 2;
        CompressionType codec = batch.compressionType();
        answer.putInt(batch.sizeInBytes());
        answer.put(magic);
        answer.put(codec.id);
        answer.putLong(legacy ? batch.lastOffset() : batch.baseOffset());
        answer.putLong(batch.lastOffset());
        answer.putLong(batch.nextOffset());
        answer.putLong(batch.maxTimestamp());
        answer.put(batch.timestampType().id);
        answer.putInt(batch.partitionLeaderEpoch());
        answer.putLong(batch.producerId());
        answer.putShort(batch.producerEpoch());
        answer.putInt(batch.baseSequence());
        answer.putInt(batch.lastSequence());
        boolean control = batch.isControlBatch();
        answer.put((batch.isTransactional() ? 1 : 0) | (control ? 2 : 0)
            | (batch.deleteHorizonMs().isPresent() ? 4 : 0));
        answer.putLong(batch.deleteHorizonMs().orElse(0));
        answer.putInt((int) batch.checksum());
        answer.put(batch.isValid() ? 1 : 0);
        answer.putInt(batch.countOrNull() == null ? -1 : batch.countOrNull());
        int mark = answer.position();
        answer.putInt(0);
        index[0] = 0;
        boolean empty = batch.countOrNull() != null && batch.countOrNull() == 0;
        // an empty batch is not opened, as in Kafka's iterator()
        if (!empty) {
            try (CloseableIterator<Record> records = batch.streamingIterator(buffers)) {
                while (records.hasNext()) {
                    Record record = records.next();
                    if (checked) {
                        record.ensureValid();
                    }
                    putRecord(batch, record, legacy, control, answer);
                    index[0]++;
                }
            }
        }
        answer.putIntAt(mark, answer.position() - mark - 4);
    }

    private void putRecord(RecordBatch batch, Record record, boolean legacy, boolean control, Bytes answer)
            throws Exception {
        answer.putLong(record.offset());
        answer.putLong(record.timestamp());
        answer.put(legacy ? typeOf(record) : batch.timestampType().id);
        answer.putShort(control ? controlType(record) : NO_CONTROL);
        answer.putBuffer(record.key());
        answer.putBuffer(record.value());
        Header[] headers = record.headers();
        answer.putInt(headers.length);
        for (Header header : headers) {
            answer.putBuffer((ByteBuffer) headerKey.get(header));
            answer.putBuffer((ByteBuffer) headerValue.get(header));
        }
    }

    private static int typeOf(Record record) {
        for (TimestampType type : TimestampType.values()) {
            if (record.hasTimestampType(type)) {
                return type.id;
            }
        }
        throw new IllegalStateException("no timestamp type");
    }

    /** The type by its key; a value of a known type must decode too. */
    private static int controlType(Record record) {
        ControlRecordType type = ControlRecordType.parse(record.key());
        switch (type) {
            case ABORT:
            case COMMIT:
                EndTransactionMarker.deserialize(record);
                break;
            case LEADER_CHANGE:
                ControlRecordUtils.deserializeLeaderChangeMessage(record);
                break;
            case SNAPSHOT_HEADER:
                ControlRecordUtils.deserializeSnapshotHeaderRecord(record);
                break;
            case SNAPSHOT_FOOTER:
                ControlRecordUtils.deserializeSnapshotFooterRecord(record);
                break;
            case KRAFT_VERSION:
                ControlRecordUtils.deserializeKRaftVersionRecord(record);
                break;
            case KRAFT_VOTERS:
                ControlRecordUtils.deserializeVotersRecord(record);
                break;
            default:
                return -1;
        }
        return type.type();
    }

    private static byte[] bytes(ByteBuffer from) {
        int length = from.getInt();
        if (length < 0) {
            return null;
        }
        byte[] found = new byte[length];
        from.get(found);
        return found;
    }

    // -- writing ------------------------------------------------------------------------------------

    private static Compression compression(int codec, boolean chosen, int level) {
        switch (codec) {
            case 0:
                return Compression.NONE;
            case 1: {
                GzipCompression.Builder gzip = Compression.gzip();
                return chosen ? gzip.level(level).build() : gzip.build();
            }
            case 2:
                return Compression.snappy().build();
            case 3: {
                Lz4Compression.Builder lz4 = Compression.lz4();
                return chosen ? lz4.level(level).build() : lz4.build();
            }
            default: {
                ZstdCompression.Builder zstd = Compression.zstd();
                return chosen ? zstd.level(level).build() : zstd.build();
            }
        }
    }

    private byte[] write(ByteBuffer request) {
        Bytes answer = new Bytes();
        try {
            byte magic = request.get();
            Compression compression = compression(request.get(), request.get() != 0, request.getInt());
            TimestampType type = request.get() != 0 ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
            long appendTime = request.getLong();
            long baseOffset = request.getLong();
            int epoch = request.getInt();
            long producer = request.getLong();
            short producerEpoch = request.getShort();
            int sequence = request.getInt();
            boolean transactional = request.get() != 0;
            boolean control = request.get() != 0;
            long horizon = request.getLong();
            ByteBufferOutputStream out = new ByteBufferOutputStream(1024);
            MemoryRecordsBuilder builder = new MemoryRecordsBuilder(out, magic, compression, type, baseOffset,
                appendTime, producer, producerEpoch, sequence, transactional, control, epoch, Integer.MAX_VALUE,
                horizon);
            int count = request.getInt();
            for (int index = 0; index < count; index++) {
                long offset = request.getLong();
                long timestamp = request.getLong();
                byte[] key = bytes(request);
                byte[] value = bytes(request);
                Header[] headers = headers(request);
                SimpleRecord record = new SimpleRecord(timestamp, key, value, headers);
                if (control) {
                    builder.appendControlRecordWithOffset(offset, record);
                } else {
                    builder.appendWithOffset(offset, record);
                }
            }
            ByteBuffer made = builder.build().buffer();
            answer.put(1);
            answer.putBuffer(made);
        } catch (Throwable error) {
            answer.truncate(0);
            answer.put(0);
            putError(error, answer);
        }
        return answer.toByteArray();
    }

    private static Header[] headers(ByteBuffer request) {
        int count = request.getInt();
        if (count == 0) {
            return NO_HEADERS;
        }
        Header[] headers = new Header[count];
        for (int index = 0; index < count; index++) {
            byte[] key = bytes(request);
            byte[] value = bytes(request);
            headers[index] = new RecordHeader(new String(key, StandardCharsets.UTF_8), value);
        }
        return headers;
    }

    /** Bytes that grow, and whose end can be taken back. */
    private static final class Bytes extends ByteArrayOutputStream {
        private static final int MOST = 64 << 20;

        int position() {
            return count;
        }

        void truncate(int size) {
            count = size;
        }

        void put(int value) {
            write(value);
        }

        void putShort(int value) {
            write(value >> 8);
            write(value);
        }

        void putInt(int value) {
            putShort(value >> 16);
            putShort(value);
        }

        void putLong(long value) {
            putInt((int) (value >> 32));
            putInt((int) value);
        }

        void putIntAt(int position, int value) {
            buf[position] = (byte) (value >> 24);
            buf[position + 1] = (byte) (value >> 16);
            buf[position + 2] = (byte) (value >> 8);
            buf[position + 3] = (byte) value;
        }

        void putBytes(byte[] value) {
            putInt(value.length);
            write(value, 0, value.length);
        }

        void putBuffer(ByteBuffer value) {
            if (value == null) {
                putInt(-1);
                return;
            }
            int length = value.remaining();
            if (count + length > MOST) {
                throw new IllegalStateException("the answer is too long");
            }
            byte[] copy = new byte[length];
            value.duplicate().get(copy);
            putBytes(copy);
        }
    }
}
