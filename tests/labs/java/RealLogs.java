import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes the data of the real log directories with Kafka's own clients, and reads it back as JSON lines.
 *
 * <p>Keys, values, headers, timestamps, partitions and the cut into batches are fixed; what the broker chooses (topic and producer ids,
 * append times) is not.
 */
public final class RealLogs {
    /** Time of the first record, ms since the epoch. */
    private static final long START = 1_700_000_000_000L;
    private static final long HOUR = 3_600_000L;
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long PATIENCE_MS = 60_000;

    private final String bootstrap;

    private RealLogs(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] args) throws Exception {
        ParentWatch.start();
        RealLogs logs = new RealLogs(args[0]);
        switch (args[1]) {
            case "create" -> logs.create();
            case "write" -> logs.write();
            case "compact-again" -> logs.compactAgain(args[2], Integer.parseInt(args[3]));
            case "groups" -> logs.groups();
            case "share" -> logs.share();
            case "after-crash" -> logs.afterCrash();
            case "consume" -> logs.consume(Path.of(args[2]));
            default -> throw new IllegalArgumentException("unknown step " + args[1]);
        }
        System.out.flush();
        // An open transaction must stay open: an orderly end would abort it.
        Runtime.getRuntime().halt(0);
    }

    // ---------------------------------------------------------------- topics

    private void create() throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        topics.add(topic("orders", 3, "internal.segment.bytes", "16384", "index.interval.bytes", "1024"));
        for (String codec : CODECS) {
            topics.add(topic("codec-" + codec, 1));
        }
        topics.add(topic("large", 1));
        topics.add(topic("names-with.dots_and-dashes", 2));
        topics.add(topic("idempotent", 1));
        topics.add(topic("transactions", 2));
        topics.add(topic("append.time", 1, "message.timestamp.type", "LogAppendTime"));
        topics.add(topic("broker-gzip", 1, "compression.type", "gzip"));
        topics.add(topic("segments", 1, "internal.segment.bytes", "8192", "index.interval.bytes", "512"));
        topics.add(topic("segments-by-time", 1, "segment.ms", "60000"));
        topics.add(topic("records-deleted", 1));
        topics.add(topic("preallocated", 1, "preallocate", "true", "internal.segment.bytes", "16384"));
        topics.add(topic("compacted", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01",
            "internal.segment.bytes", "6400", "delete.retention.ms", "86400000"));
        topics.add(topic("compacted-often", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01",
            "internal.segment.bytes", "6400", "delete.retention.ms", "1"));
        topics.add(topic("compacted-append.time", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01",
            "internal.segment.bytes", "4096", "delete.retention.ms", "86400000", "message.timestamp.type", "LogAppendTime"));
        topics.add(topic("empty", 1));
        topics.add(topic("gone-soon", 1));
        try (Admin admin = admin()) {
            // One by one, so that the metadata log holds the topics in this order.
            for (NewTopic topic : topics) {
                admin.createTopics(List.of(topic)).all().get();
            }
            ConfigResource orders = new ConfigResource(ConfigResource.Type.TOPIC, "orders");
            admin.incrementalAlterConfigs(Map.of(orders,
                List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "-1"), AlterConfigOp.OpType.SET)))).all().get();
            admin.deleteTopics(List.of("gone-soon")).all().get();
        }
    }

    private static NewTopic topic(String name, int partitions, String... configs) {
        Map<String, String> map = new HashMap<>();
        for (int i = 0; i < configs.length; i += 2) {
            map.put(configs[i], configs[i + 1]);
        }
        return new NewTopic(name, partitions, (short) 1).configs(map);
    }

    // ---------------------------------------------------------------- data

    private void write() throws Exception {
        orders(0, 900);
        for (String codec : CODECS) {
            codec(codec);
        }
        large();
        names();
        idempotent();
        transactions();
        appendTime();
        brokerGzip();
        segments();
        segmentsByTime();
        preallocated();
        compacted("compacted", "first");
        compacted("compacted-often", "second");
        compactedAppendTime();
        leftOpen();
    }

    /** Orders of a small shop; every hundred orders come from another client with another codec. */
    private void orders(int from, int to) throws Exception {
        Random random = new Random(42 + from);
        String[] cities = {"Genève", "Oslo", "São Paulo", "東京", "Kraków", "Austin"};
        String[] goods = {"tea", "coffee", "cups", "kettle", "filter"};
        for (int start = from; start < to; start += 100) {
            Sender sender = sender(CODECS.get((start / 100) % CODECS.size()), true, Map.of());
            for (int i = start; i < Math.min(start + 100, to); i++) {
                int customer = random.nextInt(40);
                String value = String.format(java.util.Locale.ROOT,
                    "{\"order\": %d, \"customer\": %d, \"city\": \"%s\", \"item\": \"%s\", \"count\": %d, \"price\": %d.%02d}",
                    i, customer, cities[customer % cities.length], goods[random.nextInt(goods.length)],
                    1 + random.nextInt(5), 1 + random.nextInt(90), random.nextInt(100));
                Header[] headers = i % 4 == 0 ? new Header[] {header("source", "shop"), header("trace", Integer.toHexString(i * 7919))}
                    : new Header[0];
                sender.send("orders", customer % 3, START + i * 1_500L, bytes("customer-" + customer), bytes(value), headers);
                if (i % 25 == 24) {
                    sender.flush();
                }
            }
            sender.close();
        }
    }

    /** The same edge cases for each codec: a batch of one, a batch of all kinds of null and empty, a larger one, one with time going back. */
    private void codec(String codec) throws Exception {
        String topic = "codec-" + codec;
        Sender sender = sender(codec, false, Map.of());
        sender.send(topic, 0, START, bytes("only"), bytes("a batch of one record"));
        sender.flush();

        byte[] empty = new byte[0];
        long t = START + 10;
        sender.send(topic, 0, t++, null, bytes("null key"));
        sender.send(topic, 0, t++, bytes("null value"), null);
        sender.send(topic, 0, t++, null, null);
        sender.send(topic, 0, t++, empty, bytes("empty key"));
        sender.send(topic, 0, t++, bytes("empty value"), empty);
        sender.send(topic, 0, t++, empty, empty);
        sender.send(topic, 0, t++, bytes("headers"), bytes("one"), header("source", "unit"));
        sender.send(topic, 0, t++, bytes("headers"), bytes("repeated keys"), header("k", "1"), header("k", "2"), header("j", "3"),
            header("k", "1"));
        sender.send(topic, 0, t++, bytes("headers"), bytes("empty key, null and empty values"), header("", "no name"),
            new RecordHeader("absent", (byte[]) null), new RecordHeader("empty", empty), new RecordHeader("", (byte[]) null));
        sender.send(topic, 0, t++, null, null, new RecordHeader("alone", new byte[] {0, (byte) 0xff, (byte) 0x80}));
        sender.send(topic, 0, t++, bytes("ключ-鍵-🔑"), bytes("naïve café ☕ – 数据 – 𝄞"), header("ünïcode-😀", "значение"));
        sender.send(topic, 0, t++, new byte[] {0, 1, 2, (byte) 0xfe, (byte) 0xff}, new byte[] {(byte) 0xc3, (byte) 0x28, 0});
        Header[] many = new Header[70];
        for (int i = 0; i < many.length; i++) {
            many[i] = header("h" + i, "v".repeat(i));
        }
        sender.send(topic, 0, t++, bytes("seventy headers"), bytes("x"), many);
        sender.flush();

        // Lengths around the places where a varint grows by a byte, offset deltas beyond 63, time deltas of many sizes.
        for (int i = 0; i < 134; i++) {
            int length = i < 130 ? i : 8_190 + i - 130;
            sender.send(topic, 0, START + 1_000 + (long) i * i * i, bytes("key-" + i), bytes("abcdefgh".repeat(1_100).substring(0, length)));
        }
        sender.flush();

        long[] jumps = {0, -1, 63, -64, 64, 8_191, -8_192, 86_400_000L, -86_400_000L, 34_359_738_368L, -34_359_738_368L, 1};
        for (long jump : jumps) {
            sender.send(topic, 0, START + jump, bytes("jump"), bytes(Long.toString(jump)), header("jump", Long.toString(jump)));
        }
        sender.flush();
        sender.close();
    }

    private void large() throws Exception {
        for (String codec : CODECS) {
            if (codec.equals("none")) {
                continue;
            }
            StringBuilder text = new StringBuilder();
            for (int line = 0; text.length() < 100_000; line++) {
                text.append(codec).append(" line ").append(line % 97).append(" of a large record; ");
            }
            Sender sender = sender(codec, false, Map.of());
            sender.send("large", 0, START, bytes(codec), bytes(text.toString()));
            sender.send("large", 0, START + 1, bytes("small"), bytes("after the large one"));
            sender.close();
        }
    }

    private void names() throws Exception {
        Sender sender = sender("zstd", false, Map.of());
        for (int i = 0; i < 40; i++) {
            sender.send("names-with.dots_and-dashes", i % 2, START + i, bytes("k" + i), bytes("value " + i));
        }
        sender.close();
    }

    private void idempotent() throws Exception {
        for (int producer = 0; producer < 3; producer++) {
            Sender sender = sender(CODECS.get(producer), true, Map.of());
            for (int batch = 0; batch < 7; batch++) {
                for (int i = 0; i <= batch; i++) {
                    sender.send("idempotent", 0, START + producer * 1_000L + batch * 10L + i, bytes("p" + producer),
                        bytes("batch " + batch + " record " + i));
                }
                sender.flush();
            }
            sender.close();
        }
    }

    /** Interleaved transactions on two partitions: commits, aborts, an abort while an older one is open, offsets in a transaction. */
    private void transactions() throws Exception {
        Sender a = transactional("payments-a", "none");
        Sender b = transactional("payments-b", "lz4");
        Sender c = transactional("payments-c", "zstd");
        Sender plain = sender("none", false, Map.of());
        String topic = "transactions";
        for (int round = 0; round < 6; round++) {
            long t = START + round * 10_000L;
            a.begin();
            for (int i = 0; i < 3; i++) {
                a.send(topic, 0, t + i, bytes("a"), bytes("committed " + round + "." + i), header("round", Integer.toString(round)));
            }
            a.flush();
            b.begin();
            b.send(topic, 0, t + 10, bytes("b"), bytes("aborted " + round + ".0"));
            b.send(topic, 1, t + 11, bytes("b"), bytes("aborted " + round + ".1"));
            b.flush();
            a.send(topic, 0, t + 12, bytes("a"), bytes("committed " + round + ".3"));
            a.send(topic, 1, t + 13, bytes("a"), null);
            a.commit();
            plain.send(topic, 0, t + 20, bytes("plain"), bytes("between " + round));
            plain.flush();
            b.send(topic, 0, t + 21, bytes("b"), bytes("aborted " + round + ".2"));
            b.flush();
            c.begin();
            c.send(topic, 0, t + 30, bytes("c"), bytes("committed late " + round));
            c.flush();
            b.abort();
            b.begin();
            b.send(topic, 0, t + 31, bytes("b"), bytes("aborted again " + round));
            b.flush();
            b.abort();
            c.commit();
        }
        ConsumerGroupMetadata group;
        try (KafkaConsumer<byte[], byte[]> member = consumer(Map.of("group.id", "payments-group"))) {
            group = member.groupMetadata();
        }
        TopicPartition source = new TopicPartition("orders", 0);
        a.begin();
        a.producer.sendOffsetsToTransaction(Map.of(source, new OffsetAndMetadata(17, "committed in a transaction")), group);
        a.commit();
        b.begin();
        b.producer.sendOffsetsToTransaction(Map.of(source, new OffsetAndMetadata(99, "never committed")), group);
        b.abort();
        // Control batches with no data before them on this partition are never written; a transaction without data ends silently.
        c.begin();
        c.commit();
        for (Sender sender : List.of(a, b, c, plain)) {
            sender.close();
        }
    }

    /** A transaction that is open when the broker is killed; the next producer of the same id aborts it. */
    private void leftOpen() throws Exception {
        Sender sender = transactional("payments-crash", "none");
        sender.begin();
        sender.send("transactions", 0, START + 90_000, bytes("crash"), bytes("open at the crash"));
        sender.send("transactions", 1, START + 90_001, bytes("crash"), bytes("open at the crash"));
        sender.flush();
    }

    private void appendTime() throws Exception {
        for (String codec : List.of("none", "zstd", "snappy")) {
            Sender sender = sender(codec, false, Map.of());
            for (int i = 0; i < 12; i++) {
                sender.send("append.time", 0, START + i * 100L, bytes("k" + i), bytes(codec + " " + i), header("n", Integer.toString(i)));
                if (i % 6 == 5) {
                    sender.flush();
                }
            }
            sender.close();
        }
    }

    private void brokerGzip() throws Exception {
        for (String codec : List.of("none", "lz4", "gzip")) {
            Sender sender = sender(codec, false, Map.of());
            for (int i = 0; i < 10; i++) {
                sender.send("broker-gzip", 0, START + i, bytes(codec), bytes("sent as " + codec + " " + i));
            }
            sender.close();
        }
    }

    /** Segments of 8 KiB; transactions that span segments and are aborted in them. */
    private void segments() throws Exception {
        Sender plain = sender("none", true, Map.of());
        Sender txn = transactional("segments-a", "none");
        for (int i = 0; i < 400; i++) {
            if (i % 80 == 10) {
                txn.begin();
            }
            Sender sender = i % 80 >= 10 && i % 80 < 70 && i % 10 == 0 ? txn : plain;
            sender.send("segments", 0, START + i * 10L, bytes("key-" + i), bytes(("segment data " + i + " ").repeat(5)));
            if (i % 5 == 4) {
                txn.flush();
                plain.flush();
            }
            if (i % 80 == 70) {
                if (i / 80 % 2 == 0) {
                    txn.abort();
                } else {
                    txn.commit();
                }
            }
        }
        plain.close();
        txn.close();
    }

    private void segmentsByTime() throws Exception {
        Sender sender = sender("gzip", false, Map.of());
        for (int minute = 0; minute < 6; minute++) {
            for (int i = 0; i < 4; i++) {
                sender.send("segments-by-time", 0, START + minute * 61_000L + i, bytes("m" + minute), bytes("record " + i));
            }
            sender.flush();
        }
        sender.close();
    }

    /** DeleteRecords in the middle of a batch: the bytes stay, the log start offset moves. */
    private void recordsDeleted() throws Exception {
        Sender sender = sender("snappy", false, Map.of());
        for (int i = 0; i < 30; i++) {
            sender.send("records-deleted", 0, START + i, bytes("k" + i), bytes("value " + i));
            if (i % 10 == 9) {
                sender.flush();
            }
        }
        sender.close();
        try (Admin admin = admin()) {
            admin.deleteRecords(Map.of(new TopicPartition("records-deleted", 0), RecordsToDelete.beforeOffset(13))).all().get();
        }
    }

    private void preallocated() throws Exception {
        Sender sender = sender("none", true, Map.of());
        for (int i = 0; i < 60; i++) {
            sender.send("preallocated", 0, START + i, bytes("k" + i), bytes("a log file full of zeros behind this " + i));
            if (i % 4 == 3) {
                sender.flush();
            }
        }
        sender.close();
    }

    // ---------------------------------------------------------------- compaction

    /**
     * Data of which the cleaner must drop some records of a batch, all records of a producer's last batch, aborted records, and must keep
     * tombstones and the markers of emptied transactions with a delete horizon.
     */
    private void compacted(String topic, String tag) throws Exception {
        Sender first = sender("lz4", true, Map.of());
        for (int i = 0; i < 20; i++) {
            first.send(topic, 0, START + i, bytes("k" + i), bytes("old value of k" + i));
        }
        first.flush();
        for (int i = 0; i < 5; i++) {
            first.send(topic, 0, START + 100 + i, bytes("x" + i), bytes("overwritten x" + i));
        }
        first.close();

        Sender txn = transactional("compact-" + tag, "gzip");
        String[] ends = {"commit", "abort", "commit", "abort", "commit"};
        for (int round = 0; round < ends.length; round++) {
            txn.begin();
            for (int i = 0; i < 4; i++) {
                txn.send(topic, 0, START + 200 + round * 10L + i, bytes("t" + i), bytes(ends[round] + " " + round));
            }
            txn.flush();
            if (ends[round].equals("commit")) {
                txn.commit();
            } else {
                txn.abort();
            }
        }
        txn.close();

        Sender second = sender("zstd", true, Map.of());
        for (int i = 0; i < 20; i++) {
            if (i % 7 != 5) {
                second.send(topic, 0, START + 1_000 + i, bytes("k" + i), i % 10 == 3 ? null : bytes("new value of k" + i),
                    header("version", "2"));
            }
        }
        for (int i = 0; i < 5; i++) {
            second.send(topic, 0, START + 1_100 + i, bytes("x" + i), bytes("last x" + i));
        }
        second.close();
        roll(topic, START + 2 * HOUR);
    }

    /** A record too large for what is left of the segment: it opens a new one, so that the old one can be cleaned. */
    private void roll(String topic, long timestamp) throws Exception {
        Sender sender = sender("none", false, Map.of());
        sender.send(topic, 0, timestamp, bytes("roll"), bytes("opens a segment ".repeat(290)));
        sender.close();
    }

    /** New values for some keys, so that the cleaner goes through the partition once more; t0 to t3 lose their transactions. */
    private void compactAgain(String topic, int round) throws Exception {
        long t = START + (1 + 2L * round) * HOUR;
        Sender sender = sender("snappy", true, Map.of());
        for (int i = 0; i < 10; i++) {
            sender.send(topic, 0, t + i, bytes("k" + i), bytes("value " + round + " of k" + i));
        }
        for (int i = 0; i < 4; i++) {
            sender.send(topic, 0, t + 20 + i, bytes("t" + i), bytes("outside of transactions " + round));
        }
        sender.close();
        roll(topic, t + HOUR);
    }

    private void compactedAppendTime() throws Exception {
        Sender sender = sender("none", true, Map.of());
        for (int i = 0; i < 120; i++) {
            String value = "append time value " + i + " " + "-".repeat(60);
            // The one of 75 is the last of its key below the active segment: it stays, with a delete horizon.
            sender.send("compacted-append.time", 0, START + i, bytes("k" + i % 9), i % 25 == 0 ? null : bytes(value));
            if (i % 8 == 7) {
                sender.flush();
            }
        }
        sender.close();
    }

    // ---------------------------------------------------------------- groups

    private void groups() throws Exception {
        try (KafkaConsumer<byte[], byte[]> manual = consumer(Map.of("group.id", "manual-group", "group.protocol", "classic"))) {
            manual.assign(List.of(new TopicPartition("codec-none", 0), new TopicPartition("codec-zstd", 0)));
            manual.commitSync(Map.of(
                new TopicPartition("codec-none", 0), new OffsetAndMetadata(7, "seven"),
                new TopicPartition("codec-zstd", 0), new OffsetAndMetadata(9, java.util.Optional.of(0), "")));
        }
        try (KafkaConsumer<byte[], byte[]> classic = consumer(Map.of("group.id", "orders-classic", "group.protocol", "classic",
                "group.instance.id", "worker-1", "client.id", "classic-client"))) {
            classic.subscribe(List.of("orders", "names-with.dots_and-dashes"));
            readSome(classic, 200);
            commit(classic, "after the first reading");
            readSome(classic, 100);
            commit(classic, "réglé ✓");
        }
        try (KafkaConsumer<byte[], byte[]> classic = consumer(Map.of("group.id", "short-lived", "group.protocol", "classic"))) {
            classic.subscribe(List.of("idempotent"));
            readSome(classic, 10);
            classic.commitSync();
        }
        try (KafkaConsumer<byte[], byte[]> next = consumer(Map.of("group.id", "orders-next", "group.protocol", "consumer",
                "client.id", "next-client", "client.rack", "rack-a"))) {
            next.subscribe(List.of("orders", "segments"));
            readSome(next, 200);
            commit(next, "by the consumer protocol");
        }
        try (KafkaConsumer<byte[], byte[]> next = consumer(Map.of("group.id", "by-pattern", "group.protocol", "consumer"))) {
            next.subscribe(new SubscriptionPattern("codec-.*"));
            readSome(next, 20);
            next.commitSync();
        }
        try (Admin admin = admin()) {
            admin.deleteConsumerGroupOffsets("manual-group", Set.of(new TopicPartition("codec-none", 0))).all().get();
            admin.deleteConsumerGroups(List.of("short-lived")).all().get();
        }
    }

    /** A share group, which fills __share_group_state and writes its own records to __consumer_offsets. */
    private void share() throws Exception {
        try (Admin admin = admin()) {
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "orders-shared");
            admin.incrementalAlterConfigs(Map.of(group,
                List.of(new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET)))).all().get();
        }
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", "orders-shared",
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class));
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(config)) {
            consumer.subscribe(List.of("names-with.dots_and-dashes"));
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            int read = 0;
            while (read < 40) {
                read += consumer.poll(POLL).count();
                consumer.commitSync();
                require(System.currentTimeMillis() < deadline, "the share group read " + read + " of 40 records");
            }
        }
    }

    private static void readSome(KafkaConsumer<byte[], byte[]> consumer, int count) {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        int read = 0;
        while (read < count) {
            read += consumer.poll(POLL).count();
            require(System.currentTimeMillis() < deadline, "a group read " + read + " of " + count + " records");
        }
    }

    private static void commit(KafkaConsumer<byte[], byte[]> consumer, String metadata) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition partition : consumer.assignment()) {
            offsets.put(partition, new OffsetAndMetadata(consumer.position(partition), metadata));
        }
        consumer.commitSync(offsets);
    }

    // ---------------------------------------------------------------- after the crash

    /** More data under the next leader epoch, and a transaction that is never ended. */
    private void afterCrash() throws Exception {
        orders(900, 1_200);
        Sender sender = sender("none", true, Map.of());
        for (int i = 0; i < 8; i++) {
            sender.send("segments", 0, START + 10_000 + i, bytes("after"), bytes("written after the crash " + i));
            sender.send("preallocated", 0, START + 10_000 + i, bytes("after"), bytes("written after the crash " + i));
        }
        sender.close();
        recordsDeleted();
        transactional("payments-crash", "none").close();
        Sender a = transactional("payments-a", "none");
        Sender open = transactional("payments-open", "none");
        a.begin();
        a.send("transactions", 0, START + 100_000, bytes("a"), bytes("committed after the crash"));
        a.send("transactions", 1, START + 100_001, bytes("a"), bytes("committed after the crash"));
        a.commit();
        open.begin();
        open.send("transactions", 0, START + 100_010, bytes("open"), bytes("undecided 0"));
        open.send("transactions", 0, START + 100_011, bytes("open"), bytes("undecided 1"));
        open.flush();
        a.begin();
        a.send("transactions", 0, START + 100_020, bytes("a"), bytes("aborted behind the open one"));
        a.flush();
        a.abort();
        a.begin();
        a.send("transactions", 0, START + 100_030, bytes("a"), bytes("committed behind the open one"));
        a.commit();
    }

    // ---------------------------------------------------------------- reading back

    private void consume(Path directory) throws Exception {
        Files.createDirectories(directory);
        Collection<String> names;
        try (Admin admin = admin()) {
            names = new TreeSet<>(admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get());
        }
        for (String topic : names) {
            for (String isolation : List.of("read_uncommitted", "read_committed")) {
                consume(topic, isolation, directory.resolve(topic + "." + isolation + ".jsonl"));
            }
        }
    }

    private void consume(String topic, String isolation, Path file) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<ConsumerRecord<byte[], byte[]>> rows = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of("isolation.level", isolation, "group.protocol", "classic"))) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (PartitionInfo info : consumer.partitionsFor(topic)) {
                partitions.add(new TopicPartition(topic, info.partition()));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = new TreeMap<>(Comparator.comparing(TopicPartition::partition));
            ends.putAll(consumer.endOffsets(partitions));
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                ConsumerRecords<byte[], byte[]> some = consumer.poll(POLL);
                some.forEach(rows::add);
                require(System.currentTimeMillis() < deadline, "reading " + topic + " did not end");
            }
        }
        rows.sort(Comparator.<ConsumerRecord<byte[], byte[]>>comparingInt(ConsumerRecord::partition)
            .thenComparingLong(ConsumerRecord::offset));
        try (BufferedWriter out = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            for (ConsumerRecord<byte[], byte[]> row : rows) {
                Map<String, Object> line = new LinkedHashMap<>();
                line.put("topic", row.topic());
                line.put("partition", row.partition());
                line.put("offset", row.offset());
                line.put("timestamp", row.timestamp());
                line.put("timestampType", row.timestampType().toString());
                line.put("key", base64(row.key()));
                line.put("value", base64(row.value()));
                List<List<String>> headers = new ArrayList<>();
                for (Header header : row.headers()) {
                    headers.add(Arrays.asList(header.key(), base64(header.value())));
                }
                line.put("headers", headers);
                out.write(json.writeValueAsString(line));
                out.write('\n');
            }
        }
    }

    // ---------------------------------------------------------------- helpers

    /** A producer that cuts batches only where flush() says, and remembers what it must still check. */
    private static final class Sender {
        private final KafkaProducer<byte[], byte[]> producer;
        private final List<java.util.concurrent.Future<?>> sent = new ArrayList<>();

        Sender(KafkaProducer<byte[], byte[]> producer) {
            this.producer = producer;
        }

        void send(String topic, int partition, long timestamp, byte[] key, byte[] value, Header... headers) {
            sent.add(producer.send(new ProducerRecord<>(topic, partition, timestamp, key, value, List.of(headers))));
        }

        void flush() throws InterruptedException, ExecutionException, java.util.concurrent.TimeoutException {
            producer.flush();
            for (java.util.concurrent.Future<?> future : sent) {
                future.get(1, TimeUnit.MINUTES);
            }
            sent.clear();
        }

        void begin() {
            producer.beginTransaction();
        }

        void commit() throws Exception {
            flush();
            producer.commitTransaction();
        }

        void abort() throws Exception {
            flush();
            producer.abortTransaction();
        }

        void close() throws Exception {
            flush();
            producer.close();
        }
    }

    private Sender sender(String codec, boolean idempotent, Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("key.serializer", ByteArraySerializer.class);
        config.put("value.serializer", ByteArraySerializer.class);
        config.put("acks", "all");
        config.put("compression.type", codec);
        config.put("enable.idempotence", idempotent);
        config.put("linger.ms", 60_000);
        config.put("delivery.timeout.ms", 180_000);
        config.put("batch.size", 900_000);
        config.putAll(more);
        return new Sender(new KafkaProducer<>(config));
    }

    private Sender transactional(String id, String codec) {
        Sender sender = sender(codec, true, Map.of("transactional.id", id, "transaction.timeout.ms", 900_000));
        sender.producer.initTransactions();
        return sender;
    }

    private KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("key.deserializer", ByteArrayDeserializer.class);
        config.put("value.deserializer", ByteArrayDeserializer.class);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", false);
        config.put("max.poll.records", 100);
        config.put("fetch.max.wait.ms", 50);
        config.putAll(more);
        return new KafkaConsumer<>(config);
    }

    private Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    private static Header header(String key, String value) {
        return new RecordHeader(key, bytes(value));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }
}
