import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;
import org.apache.kafka.common.utils.Utils;

/**
 * Decodes a log again and again as Kafka's consumer does, for the benchmarks: a server on standard input and output.
 *
 * A request is an int32 length, an operation and its body; an answer an int32 length and its body. L takes a log.
 * R decodes it once and answers the records (int64). W does so until the rounds (int32) or the milliseconds (int32)
 * of its body are over. C answers the CPU time spent in ns, that of the collector with it.
 * A answers the records: offset, timestamp, key, value, int32 number of headers, key and value of each; int32
 * lengths, -1 is null. The process ends with its standard input.
 */
public final class ReadLog {
    private static ByteBuffer log = ByteBuffer.allocate(0);
    private static final BufferSupplier BUFFERS = BufferSupplier.create();
    private static long sink;

    private ReadLog() {
    }

    public static void main(String[] arguments) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        System.setOut(new PrintStream(System.err, true));
        while (true) {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException ended) {
                return;
            }
            byte[] request = new byte[length];
            in.readFully(request);
            byte[] answer = answer(ByteBuffer.wrap(request));
            out.writeInt(answer.length);
            out.write(answer);
            out.flush();
        }
    }

    private static byte[] answer(ByteBuffer request) throws IOException {
        switch ((char) request.get()) {
            case 'L':
                log = request.slice();
                return new byte[0];
            case 'R':
                return number(decode());
            case 'W':
                return number(warmUp(request.getInt(), request.getInt()));
            case 'C':
                return number(cpuTime());
            case 'A':
                return rows();
            default:
                throw new IllegalArgumentException("unknown operation");
        }
    }

    private static byte[] number(long value) {
        return ByteBuffer.allocate(8).putLong(value).array();
    }

    private static long cpuTime() {
        long time = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            time += collector.getCollectionTime() * 1_000_000L;
        }
        return time;
    }

    private static long warmUp(int rounds, int milliseconds) {
        long end = System.nanoTime() + milliseconds * 1_000_000L;
        int round = 0;
        while (round < rounds && System.nanoTime() < end) {
            decode();
            round++;
        }
        return round;
    }

    /** Every field of every record, keys and values as the byte arrays that a consumer hands out. */
    private static long decode() {
        long count = 0;
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(log.duplicate()).batches()) {
            batch.ensureValid();
            try (CloseableIterator<Record> records = batch.streamingIterator(BUFFERS)) {
                while (records.hasNext()) {
                    Record record = records.next();
                    touch(Utils.toNullableArray(record.key()));
                    touch(Utils.toNullableArray(record.value()));
                    for (Header header : record.headers()) {
                        sink += header.key().length();
                        touch(header.value());
                    }
                    sink += record.offset() ^ record.timestamp();
                    count++;
                }
            }
        }
        return count;
    }

    private static void touch(byte[] content) {
        sink += content == null ? 1 : content.length;
    }

    private static byte[] rows() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(log.duplicate()).batches()) {
            try (CloseableIterator<Record> records = batch.streamingIterator(BUFFERS)) {
                while (records.hasNext()) {
                    Record record = records.next();
                    out.writeLong(record.offset());
                    out.writeLong(record.timestamp());
                    put(Utils.toNullableArray(record.key()), out);
                    put(Utils.toNullableArray(record.value()), out);
                    out.writeInt(record.headers().length);
                    for (Header header : record.headers()) {
                        put(header.key().getBytes(StandardCharsets.UTF_8), out);
                        put(header.value(), out);
                    }
                }
            }
        }
        return bytes.toByteArray();
    }

    private static void put(byte[] content, DataOutputStream out) throws IOException {
        out.writeInt(content == null ? -1 : content.length);
        if (content != null) {
            out.write(content);
        }
    }
}
