import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.ConsumerProtocolAssignment;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;
import org.apache.kafka.common.utils.Utils;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Output;

/** Reads and writes the same bytes with the generated classes and with Kafka's own, in turns. Kafka makes the bytes. */
public final class Bench {
    private static final int TURNS = 15;
    private static final BufferSupplier BUFFERS = BufferSupplier.create();
    private static long sink;

    private Bench() {
    }

    private interface Work {
        void run();
    }

    public static void main(String[] arguments) {
        System.out.printf("%-50s%10s %-7s%10s%10s%8s%n", "", "bytes", "", "kodec", "Kafka", "ratio");
        for (int topics : new int[] {3, 100}) {
            message("ConsumerProtocolSubscription v3, " + topics + " topics", subscription(topics), (short) 3, true,
                    ConsumerProtocolSubscription::new, org.kodec.kafka.messages.ConsumerProtocolSubscription::from,
                    org.kodec.kafka.messages.ConsumerProtocolSubscription::toBytes);
            message("ConsumerProtocolAssignment v3, " + topics + " topics", assignment(topics), (short) 3, true,
                    ConsumerProtocolAssignment::new, org.kodec.kafka.messages.ConsumerProtocolAssignment::from,
                    org.kodec.kafka.messages.ConsumerProtocolAssignment::toBytes);
        }
        message("LeaderChangeMessage v1, 3 voters", leader(3), (short) 1, false, LeaderChangeMessage::new,
                org.kodec.kafka.control.LeaderChangeMessage::from, org.kodec.kafka.control.LeaderChangeMessage::toBytes);
        for (int count : new int[] {3, 100}) {
            message("VotersRecord v0, " + count + " voters", voters(count), (short) 0, false, VotersRecord::new,
                    org.kodec.kafka.control.VotersRecord::from, org.kodec.kafka.control.VotersRecord::toBytes);
        }
        batch("1,000 records of 100 bytes", 1000, 100, 0, CompressionType.NONE);
        batch("1,000 records of 100 bytes and 3 headers", 1000, 100, 3, CompressionType.NONE);
        batch("100 records of 10,000 bytes", 100, 10_000, 0, CompressionType.NONE);
        for (CompressionType codec : CompressionType.values()) {
            if (codec != CompressionType.NONE) {
                batch("1,000 records of 100 bytes, " + codec.name, 1000, 100, 0, codec);
            }
        }
        System.err.println(sink);
    }

    // -- measuring --------------------------------------------------------------------------------------------------

    /** CPU nanoseconds of this thread, and what collections took. */
    private static long clock() {
        long time = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            time += collector.getCollectionTime() * 1_000_000L;
        }
        return time;
    }

    private static double nanoseconds(Work work, int times) {
        long start = clock();
        for (int n = 0; n < times; n++) {
            work.run();
        }
        return (double) (clock() - start) / times;
    }

    /** A line with the median times of both, in microseconds, and the median ratio of a turn. */
    private static void compare(String name, int size, String what, Work ours, Work peer) {
        for (Work each : List.of(ours, peer, ours, peer)) { // until both are compiled
            for (long end = System.nanoTime() + 500_000_000L; System.nanoTime() < end; ) {
                each.run();
            }
        }
        int times = (int) Math.min(100_000, Math.max(1, 10_000_000 / Math.max(1, nanoseconds(peer, 100))));
        double[] mine = new double[TURNS];
        double[] theirs = new double[TURNS];
        double[] ratios = new double[TURNS];
        for (int turn = 0; turn < TURNS; turn++) {
            boolean first = turn % 2 == 0;
            mine[turn] = first ? nanoseconds(ours, times) : 0;
            theirs[turn] = nanoseconds(peer, times);
            mine[turn] = first ? mine[turn] : nanoseconds(ours, times);
            ratios[turn] = mine[turn] / theirs[turn];
        }
        for (double[] each : List.of(mine, theirs, ratios)) {
            Arrays.sort(each);
        }
        System.out.printf("%-50s%10d %-7s%10.2f%10.2f%8.2f  %.2f to %.2f%n", name, size, what, mine[TURNS / 2] / 1e3,
                theirs[TURNS / 2] / 1e3, ratios[TURNS / 2], ratios[0], ratios[TURNS - 1]);
    }

    // -- messages ---------------------------------------------------------------------------------------------------

    /** A message in both ways; where it is `prefixed`, two bytes in front of it say its version. */
    private static <T> void message(String name, Message value, short version, boolean prefixed,
            PeerReader reader, Function<byte[], T> read, Function<T, byte[]> write) {
        byte[] data = bytes(value, version, prefixed);
        T found = read.apply(data);
        if (!Arrays.equals(write.apply(found), data)) {
            throw new AssertionError(name);
        }
        compare(name, data.length, "read", () -> touch(read.apply(data)), () -> {
            ByteBuffer in = ByteBuffer.wrap(data);
            touch(reader.read(new ByteBufferAccessor(in), prefixed ? in.getShort() : version));
        });
        compare(name, data.length, "write", () -> touch(write.apply(found)), () -> touch(bytes(value, version, prefixed)));
    }

    private interface PeerReader {
        Message read(Readable in, short version);
    }

    private static byte[] bytes(Message value, short version, boolean prefixed) {
        return (prefixed ? MessageUtil.toVersionPrefixedByteBuffer(version, value)
                : MessageUtil.toByteBuffer(value, version)).array();
    }

    private static ConsumerProtocolSubscription subscription(int topics) {
        ConsumerProtocolSubscription found = new ConsumerProtocolSubscription().setGenerationId(5).setRackId("rack-1")
                .setUserData(ByteBuffer.wrap(new byte[64]));
        for (int n = 0; n < topics; n++) {
            found.topics().add(topic(n));
            found.ownedPartitions().add(new ConsumerProtocolSubscription.TopicPartition().setTopic(topic(n))
                    .setPartitions(IntStream.range(0, 8).boxed().toList()));
        }
        return found;
    }

    private static ConsumerProtocolAssignment assignment(int topics) {
        ConsumerProtocolAssignment found = new ConsumerProtocolAssignment().setUserData(ByteBuffer.wrap(new byte[64]));
        for (int n = 0; n < topics; n++) {
            found.assignedPartitions().add(new ConsumerProtocolAssignment.TopicPartition().setTopic(topic(n))
                    .setPartitions(IntStream.range(0, 32).boxed().toList()));
        }
        return found;
    }

    private static String topic(int number) {
        return String.format("orders-of-region-%03d", number);
    }

    private static LeaderChangeMessage leader(int count) {
        List<LeaderChangeMessage.Voter> voters = IntStream.range(0, count)
                .mapToObj(n -> new LeaderChangeMessage.Voter().setVoterId(n).setVoterDirectoryId(new Uuid(1, n))).toList();
        return new LeaderChangeMessage().setVersion((short) 1).setLeaderId(2).setVoters(voters).setGrantingVoters(voters);
    }

    private static VotersRecord voters(int count) {
        return new VotersRecord().setVoters(IntStream.range(0, count).mapToObj(n -> {
            VotersRecord.EndpointCollection endpoints = new VotersRecord.EndpointCollection();
            endpoints.add(new VotersRecord.Endpoint().setName("CONTROLLER").setHost("controller-" + n + ".example.org")
                    .setPort(9093));
            return new VotersRecord.Voter().setVoterId(n).setVoterDirectoryId(new Uuid(1, n)).setEndpoints(endpoints)
                    .setKRaftVersionFeature(new VotersRecord.KRaftVersionFeature().setMaxSupportedVersion((short) 1));
        }).toList());
    }

    // -- batches ----------------------------------------------------------------------------------------------------

    private record Row(byte[] key, byte[] value, Header[] headers) {
    }

    private static void batch(String name, int count, int size, int headers, CompressionType codec) {
        List<Row> rows = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            byte[] value = new byte[size];
            for (int at = 0; at < size; at++) {
                value[at] = (byte) ("order paid total EUR ".charAt(at % 21) + (n * 31 + at / 21) % 7);
            }
            Header[] each = IntStream.range(0, headers)
                    .mapToObj(h -> (Header) new RecordHeader("header-" + h, "a value".getBytes())).toArray(Header[]::new);
            rows.add(new Row(("key-" + n).getBytes(), value, each));
        }
        ByteBuffer buffer = ByteBuffer.allocate(2 << 20);
        byte[] data = built(rows, codec, buffer);
        RecordBatch batch = RecordBatch.from(data);
        byte[] again = batch.toBytes();
        Output out = new Output(); // used again, as Kafka's writer has a buffer that is
        if (batch.records().size() != count || read(again) != count || read(data) != count) {
            throw new AssertionError(name);
        }
        compare(name, data.length, "read", () -> touch(RecordBatch.from(data)), () -> touch(read(data)));
        compare(name, data.length, "write", () -> {
            out.clear();
            batch.write(out);
            touch(out.bytes());
        }, () -> touch(built(rows, codec, buffer)));
    }

    private static byte[] built(List<Row> rows, CompressionType codec, ByteBuffer buffer) {
        buffer.clear();
        MemoryRecordsBuilder builder = MemoryRecords.builder(buffer, Compression.of(codec).build(),
                TimestampType.CREATE_TIME, 0);
        for (int n = 0; n < rows.size(); n++) {
            Row row = rows.get(n);
            builder.appendWithOffset(n, 1_700_000_000_000L + n, row.key, row.value, row.headers);
        }
        return Utils.toArray(builder.build().buffer());
    }

    /** Every field of every record, as the consumer hands them out. */
    private static int read(byte[] data) {
        int count = 0;
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
            batch.ensureValid();
            try (CloseableIterator<Record> records = batch.streamingIterator(BUFFERS)) {
                while (records.hasNext()) {
                    Record record = records.next();
                    touch(Utils.toNullableArray(record.key()));
                    touch(Utils.toNullableArray(record.value()));
                    for (Header header : record.headers()) {
                        touch(header.key());
                        touch(header.value());
                    }
                    sink += record.offset() ^ record.timestamp();
                    count++;
                }
            }
        }
        return count;
    }

    private static void touch(Object found) {
        sink += found == null ? 1 : System.identityHashCode(found.getClass()) & 1;
    }
}
