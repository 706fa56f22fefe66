import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** The clients of Kafka 2.8 and newer: configuration is set one entry at a time, times are durations. */
final class Api {
    private final AdminClient admin;

    Api(String bootstrap, String zookeeper) {
        admin = AdminClient.create(Map.of("bootstrap.servers", bootstrap));
    }

    void createTopic(String name, int partitions, Properties config) throws Exception {
        Map<String, String> map = new HashMap<>();
        config.stringPropertyNames().forEach(key -> map.put(key, config.getProperty(key)));
        String replicas = map.remove("replication.factor");
        short factor = replicas == null ? 1 : Short.parseShort(replicas);
        admin.createTopics(List.of(new NewTopic(name, partitions, factor).configs(map))).all().get();
    }

    void alterTopic(String name, Properties config) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        config.stringPropertyNames().forEach(
            key -> changes.add(new AlterConfigOp(new ConfigEntry(key, config.getProperty(key)), AlterConfigOp.OpType.SET)));
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, name), changes)).all().get();
    }

    @SafeVarargs
    static ProducerRecord<byte[], byte[]> record(String topic, int partition, Long timestamp, byte[] key, byte[] value,
            Map.Entry<String, byte[]>... headers) {
        List<Header> list = new ArrayList<>();
        for (Map.Entry<String, byte[]> header : headers) {
            list.add(new RecordHeader(header.getKey(), header.getValue()));
        }
        return new ProducerRecord<>(topic, partition, timestamp, key, value, list);
    }

    static long timestamp(ConsumerRecord<byte[], byte[]> row) {
        return row.timestamp();
    }

    static String timestampType(ConsumerRecord<byte[], byte[]> row) {
        return row.timestampType().toString();
    }

    static Iterable<Map.Entry<String, byte[]>> headers(ConsumerRecord<byte[], byte[]> row) {
        List<Map.Entry<String, byte[]>> list = new ArrayList<>();
        for (Header header : row.headers()) {
            list.add(new java.util.AbstractMap.SimpleEntry<>(header.key(), header.value()));
        }
        return list;
    }

    static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long milliseconds) {
        return consumer.poll(Duration.ofMillis(milliseconds));
    }

    static long endOffset(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition) {
        return consumer.endOffsets(List.of(partition)).get(partition);
    }

    static void init(KafkaProducer<byte[], byte[]> producer) {
        producer.initTransactions();
    }

    static void begin(KafkaProducer<byte[], byte[]> producer) {
        producer.beginTransaction();
    }

    static void end(KafkaProducer<byte[], byte[]> producer, boolean commit) {
        if (commit) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
    }
}
