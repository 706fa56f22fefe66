import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Does what the lab says with the Java clients of one Kafka line: a command a line on standard input, an answer a line on standard output.
 *
 * <p>The fields of a command are separated by tabs; bytes are in base64, "-" is null. An answer begins with "ok" or "error". The program
 * ends with its input, so that it never outlives the lab. What differs from line to line is in Api, of which there is one for each.
 */
public final class Lab {
    private static final long PATIENCE_MS = 60_000;
    private static final long POLL_MS = 200;

    private final Map<String, Sender> senders = new HashMap<>();
    private String bootstrap;
    private Api api;

    private Lab() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Libraries print too: only our answers may go to standard output.
        System.setOut(System.err);
        Lab lab = new Lab();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            try {
                answers.println("ok\t" + lab.run(line.split("\t", -1)));
            } catch (Throwable thrown) {
                thrown.printStackTrace();
                Throwable cause = thrown.getCause() == null ? thrown : thrown.getCause();
                answers.println("error\t" + cause.toString().replace('\n', ' ').replace('\t', ' '));
            }
        }
        // An open transaction must stay open: an orderly end would abort it.
        Runtime.getRuntime().halt(0);
    }

    private String run(String[] parts) throws Exception {
        switch (parts[0]) {
            case "zookeeper":
                // By name, since the lines without ZooKeeper have no such class.
                return String.valueOf(Class.forName("Zoo").getDeclaredMethod("start", String.class).invoke(null, parts[1]));
            case "connect":
                bootstrap = parts[1];
                api = new Api(parts[1], parts[2]);
                return "";
            case "topic":
                api.createTopic(parts[1], Integer.parseInt(parts[2]), config(parts, 3));
                awaitTopic(parts[1], Integer.parseInt(parts[2]));
                return "";
            case "alter":
                api.alterTopic(parts[1], config(parts, 2));
                return "";
            case "open":
                open(parts[1], parts[2], parts[3], parts.length > 4 ? parts[4] : "all");
                return "";
            case "send":
                send(parts);
                return "";
            case "flush":
                senders.get(parts[1]).flush();
                return "";
            case "begin":
                Api.begin(senders.get(parts[1]).producer);
                return "";
            case "end":
                senders.get(parts[1]).flush();
                Api.end(senders.get(parts[1]).producer, parts[2].equals("commit"));
                return "";
            case "close":
                Sender sender = senders.remove(parts[1]);
                sender.flush();
                sender.producer.close();
                return "";
            case "group":
                group(parts[1], parts[2], Integer.parseInt(parts[3]), parts[4]);
                return "";
            case "consume":
                return String.valueOf(consume(parts[1], parts[2], Path.of(parts[3])));
            case "leader":
                return leader(parts[1], Integer.parseInt(parts[2]));
            case "first":
                return String.valueOf(first(parts[1], Long.parseLong(parts[2])));
            default:
                throw new IllegalArgumentException("unknown command " + parts[0]);
        }
    }

    private static Properties config(String[] parts, int from) {
        Properties config = new Properties();
        for (String part : Arrays.asList(parts).subList(from, parts.length)) {
            int at = part.indexOf('=');
            config.setProperty(part.substring(0, at), part.substring(at + 1));
        }
        return config;
    }

    // ---------------------------------------------------------------- writing

    /** A producer that cuts batches only where flush() says, and remembers what it must still check. */
    private static final class Sender {
        private final KafkaProducer<byte[], byte[]> producer;
        private final List<Future<?>> sent = new ArrayList<>();

        Sender(KafkaProducer<byte[], byte[]> producer) {
            this.producer = producer;
        }

        void flush() throws Exception {
            producer.flush();
            for (Future<?> future : sent) {
                future.get(1, TimeUnit.MINUTES);
            }
            sent.clear();
        }
    }

    /** Kind: plain, idempotent, or the id of a transactional producer. */
    private void open(String name, String codec, String kind, String acks) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("key.serializer", ByteArraySerializer.class);
        config.put("value.serializer", ByteArraySerializer.class);
        config.put("acks", acks);
        config.put("compression.type", codec);
        config.put("linger.ms", "60000");
        config.put("batch.size", "900000");
        // After a restart the broker is not the leader at once; order is kept.
        config.put("retries", "100");
        config.put("max.in.flight.requests.per.connection", "1");
        config.put("delivery.timeout.ms", "180000");
        config.put("enable.idempotence", String.valueOf(!kind.equals("plain")));
        boolean transactional = !kind.equals("plain") && !kind.equals("idempotent");
        if (transactional) {
            config.put("transactional.id", kind);
            config.put("transaction.timeout.ms", "900000");
        }
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config);
        if (transactional) {
            Api.init(producer);
        }
        senders.put(name, new Sender(producer));
    }

    /** Fields: sender, topic, partition, timestamp or "-", key, value, then a key (base64) and a value for each header. */
    private void send(String[] parts) {
        Map.Entry<String, byte[]>[] headers = entries((parts.length - 7) / 2);
        for (int i = 0; i < headers.length; i++) {
            headers[i] = new java.util.AbstractMap.SimpleEntry<>(
                new String(bytes(parts[7 + 2 * i]), StandardCharsets.UTF_8), bytes(parts[8 + 2 * i]));
        }
        Long timestamp = parts[4].equals("-") ? null : Long.valueOf(parts[4]);
        Sender sender = senders.get(parts[1]);
        sender.sent.add(sender.producer.send(
            Api.record(parts[2], Integer.parseInt(parts[3]), timestamp, bytes(parts[5]), bytes(parts[6]), headers)));
    }

    @SuppressWarnings("unchecked")
    private static Map.Entry<String, byte[]>[] entries(int count) {
        return new Map.Entry[count];
    }

    // ---------------------------------------------------------------- reading

    private void awaitTopic(String topic, int partitions) throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted", null)) {
            while (true) {
                List<PartitionInfo> known = consumer.partitionsFor(topic);
                if (known != null && known.size() == partitions && known.stream().allMatch(info -> info.leader() != null)) {
                    return;
                }
                require(System.currentTimeMillis() < deadline, topic + " has no leaders");
                Thread.sleep(50);
            }
        }
    }

    /** The leader of a partition and the replicas in sync, as ids of brokers; -1 for no leader. */
    private String leader(String topic, int partition) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted", null)) {
            for (PartitionInfo info : consumer.partitionsFor(topic)) {
                if (info.partition() == partition) {
                    StringBuilder found = new StringBuilder(String.valueOf(info.leader() == null ? -1 : info.leader().id()));
                    for (Node each : info.inSyncReplicas()) {
                        found.append(' ').append(each.id());
                    }
                    return found.toString();
                }
            }
        }
        throw new IllegalArgumentException(topic + " has no partition " + partition);
    }

    /** Reads some records as a member of a group and commits their offsets. */
    private void group(String group, String topic, int count, String metadata) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted", group)) {
            consumer.subscribe(List.of(topic));
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            for (int read = 0; read < count; read += Api.poll(consumer, POLL_MS).count()) {
                require(System.currentTimeMillis() < deadline, "the group read " + read + " of " + count + " records");
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (TopicPartition partition : consumer.assignment()) {
                offsets.put(partition, new OffsetAndMetadata(consumer.position(partition), metadata));
            }
            consumer.commitSync(offsets);
        }
    }

    private int consume(String topic, String isolation, Path file) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> rows = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolation, null)) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (PartitionInfo info : consumer.partitionsFor(topic)) {
                partitions.add(new TopicPartition(topic, info.partition()));
            }
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = new LinkedHashMap<>();
            for (TopicPartition partition : partitions) {
                ends.put(partition, Api.endOffset(consumer, partition));
                consumer.seek(partition, 0);
            }
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                Api.poll(consumer, POLL_MS).forEach(rows::add);
                require(System.currentTimeMillis() < deadline, "reading " + topic + " did not end");
            }
        }
        rows.sort(Comparator.<ConsumerRecord<byte[], byte[]>>comparingInt(ConsumerRecord::partition)
            .thenComparingLong(ConsumerRecord::offset));
        try (BufferedWriter out = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            for (ConsumerRecord<byte[], byte[]> row : rows) {
                out.write(json(row));
                out.write('\n');
            }
        }
        return rows.size();
    }

    /** The offset of the first record that a consumer gets from an offset on; the end of the log if there is none. */
    private long first(String topic, long offset) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted", null)) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(new ArrayList<>(List.of(partition)));
            long end = Api.endOffset(consumer, partition);
            consumer.seek(partition, offset);
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (consumer.position(partition) < end) {
                for (ConsumerRecord<byte[], byte[]> row : Api.poll(consumer, POLL_MS)) {
                    return row.offset();
                }
                require(System.currentTimeMillis() < deadline, "nothing came from offset " + offset + " of " + topic);
            }
            return end;
        }
    }

    private static String json(ConsumerRecord<byte[], byte[]> row) {
        StringBuilder headers = new StringBuilder();
        for (Map.Entry<String, byte[]> header : Api.headers(row)) {
            headers.append(headers.length() == 0 ? "" : ",")
                .append('[').append(quoted(header.getKey())).append(',').append(base64(header.getValue())).append(']');
        }
        return "{\"topic\":" + quoted(row.topic()) + ",\"partition\":" + row.partition() + ",\"offset\":" + row.offset()
            + ",\"timestamp\":" + Api.timestamp(row) + ",\"timestampType\":" + quoted(Api.timestampType(row))
            + ",\"key\":" + base64(row.key()) + ",\"value\":" + base64(row.value()) + ",\"headers\":[" + headers + "]}";
    }

    private KafkaConsumer<byte[], byte[]> consumer(String isolation, String group) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("key.deserializer", ByteArrayDeserializer.class);
        config.put("value.deserializer", ByteArrayDeserializer.class);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        config.put("fetch.max.wait.ms", "50");
        config.put("isolation.level", isolation);
        if (group != null) {
            config.put("group.id", group);
        }
        return new KafkaConsumer<>(config);
    }

    // ---------------------------------------------------------------- text

    private static byte[] bytes(String text) {
        return text.equals("-") ? null : Base64.getDecoder().decode(text);
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? "null" : '"' + Base64.getEncoder().encodeToString(bytes) + '"';
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\' || c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }
}
