import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.connect.cli.ConnectDistributed;
import org.apache.kafka.connect.mirror.MirrorMaker;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;

/** Fills a cluster: a topic with groups for MirrorMaker, and an application of Kafka Streams; runs both and Connect. */
public final class Topics {
    private static final long START = 1_790_000_000_000L;
    private static final long[] COMMITTED = {0, 1, 57, 133, 150, 199};

    private Topics() {
    }

    public static void main(String[] args) throws Exception {
        ParentWatch.start();
        switch (args[0]) {
            case "orders" -> orders(args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]));
            case "commit" -> commit(args[1]);
            case "streams" -> streams(args[1], args[2]);
            case "ends" -> ends(args[1]).forEach((name, end) -> System.out.println(name + " " + end));
            case "translated" -> translated(args[1]);
            case "mirror" -> MirrorMaker.main(new String[] {args[1]});
            case "connect" -> ConnectDistributed.main(new String[] {args[1]});
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.exit(0);
    }

    private static Map<String, Object> at(String address) {
        return new HashMap<>(Map.of("bootstrap.servers", address));
    }

    private static KafkaProducer<String, String> producer(String address) {
        return new KafkaProducer<>(at(address), new StringSerializer(), new StringSerializer());
    }

    private static void make(Admin admin, String... names) throws Exception {
        for (String name : names) {
            if (!admin.listTopics().names().get().contains(name)) {
                admin.createTopics(List.of(new NewTopic(name, name.equals("orders") ? 2 : 1, (short) 1))).all().get();
            }
        }
    }

    /** Records, one request each, so that MirrorMaker copies them in several turns. */
    private static void orders(String address, int from, int to) throws Exception {
        try (Admin admin = Admin.create(at(address)); KafkaProducer<String, String> producer = producer(address)) {
            make(admin, "orders");
            for (int at = from; at < to; at++) {
                // every third record goes to partition 1
                producer.send(new ProducerRecord<>("orders", at % 3 == 0 ? 1 : 0, START + at, "k" + at, "v" + at)).get();
            }
        }
    }

    private static void commit(String address) throws Exception {
        try (Admin admin = Admin.create(at(address))) {
            TopicPartition first = new TopicPartition("orders", 0);
            TopicPartition second = new TopicPartition("orders", 1);
            for (long offset : COMMITTED) {
                admin.alterConsumerGroupOffsets("group-" + offset, Map.of(
                    first, new OffsetAndMetadata(offset, "from the lab"),
                    second, new OffsetAndMetadata(offset / 2))).all().get();
            }
        }
    }

    /** What RemoteClusterUtils answers on the target cluster. */
    private static void translated(String address) throws Exception {
        for (long offset : COMMITTED) {
            String group = "group-" + offset;
            RemoteClusterUtils.translateOffsets(at(address), "A", group, Duration.ofSeconds(20)).forEach(
                (partition, found) -> System.out.println(group + " " + partition + " " + found.offset()));
        }
    }

    private static Map<String, Long> ends(String address) throws Exception {
        try (Admin admin = Admin.create(at(address))) {
            Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
            admin.describeTopics(admin.listTopics().names().get()).allTopicNames().get().forEach((name, topic) ->
                topic.partitions().forEach(each -> asked.put(new TopicPartition(name, each.partition()), OffsetSpec.latest())));
            Map<String, Long> found = new TreeMap<>();
            for (Map.Entry<TopicPartition, ListOffsetsResult.ListOffsetsResultInfo> each
                : admin.listOffsets(asked).all().get().entrySet()) {
                found.put(each.getKey().toString(), each.getValue().offset());
            }
            return found;
        }
    }

    private static void streams(String address, String state) throws Exception {
        try (Admin admin = Admin.create(at(address)); KafkaProducer<String, String> producer = producer(address)) {
            make(admin, "events", "prices", "purchases", "customers", "left", "right", "windowed-counts");
            for (int at = 0; at < 12; at++) {
                producer.send(new ProducerRecord<>("events", 0, START + at * 20_000L, "user-" + at % 2, "e" + at)).get();
            }
            String[][] prices = {{"apple", "1"}, {"avocado", "2"}, {"apple", "3"}, {"banana", "4"}, {"avocado", null}};
            for (int at = 0; at < prices.length; at++) {
                producer.send(new ProducerRecord<>("prices", 0, START + at, prices[at][0], prices[at][1])).get();
            }
            producer.send(new ProducerRecord<>("customers", 0, START, "c1", "Ada")).get();
            String[][] purchases = {{"p1", "c1"}, {"p2", "c2"}, {"p1", "c2"}, {"p2", null}};
            for (int at = 0; at < purchases.length; at++) {
                producer.send(new ProducerRecord<>("purchases", 0, START + at, purchases[at][0], purchases[at][1])).get();
            }
            for (int at = 0; at < 3; at++) {
                producer.send(new ProducerRecord<>("left", 0, START + at * 30_000L, "k", "l" + at)).get();
                producer.send(new ProducerRecord<>("right", 0, START + at * 30_000L + 20_000L, "k", "r" + at)).get();
            }
        }
        Properties settings = new Properties();
        settings.putAll(at(address));
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, state);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> events = builder.stream("events");
        events.groupByKey()
            .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ZERO))
            .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("counts")
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))
            .toStream()
            .to("windowed-counts", Produced.with(
                WindowedSerdes.timeWindowedSerdeFrom(String.class, 60_000L), Serdes.Long()));
        events.groupByKey()
            .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofSeconds(45)))
            .count(Materialized.as("sessions"));
        events.groupByKey().count(Materialized.as("totals"));
        KTable<String, String> prices = builder.table("prices",
            Materialized.as(Stores.persistentVersionedKeyValueStore("prices-store", Duration.ofHours(1))));
        KTable<String, String> plain = builder.table("purchases");
        plain.groupBy((key, value) -> new org.apache.kafka.streams.KeyValue<>(value, key), Grouped.as("by-customer"))
            .count(Materialized.as("per-customer"));
        plain.leftJoin(builder.<String, String>table("customers"), value -> value,
            (left, right) -> left + "/" + right, TableJoined.as("owner"), Materialized.as("joined"));
        builder.<String, String>stream("left").outerJoin(builder.<String, String>stream("right"),
            (left, right) -> left + "/" + right,
            JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(10), Duration.ofSeconds(60)),
            StreamJoined.<String, String, String>as("pairs").withStoreName("pairs"));
        try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
            streams.start();
            Map<String, Long> before = Map.of();
            long deadline = System.currentTimeMillis() + 120_000;
            for (int quiet = 0; quiet < 4;) {
                Thread.sleep(1500);
                if (streams.state() == KafkaStreams.State.ERROR || System.currentTimeMillis() > deadline) {
                    throw new IllegalStateException("the program is " + streams.state());
                }
                Map<String, Long> now = ends(address);
                boolean done = now.getOrDefault("windowed-counts-0", 0L) > 0
                    && now.getOrDefault("app-joined-changelog-0", 0L) > 0;
                quiet = done && now.equals(before) ? quiet + 1 : 0;
                before = now;
            }
            streams.close(Duration.ofSeconds(20));
        }
    }
}
