import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.admin.AdminUtils;
import kafka.admin.RackAwareMode;
import kafka.utils.ZkUtils;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** The clients of Kafka 0.10: timestamps, but no headers or transactions; topics are made through ZooKeeper. */
final class Api {
    private final ZkUtils zookeeper;

    Api(String bootstrap, String zookeeper) {
        this.zookeeper = ZkUtils.apply(zookeeper, 10_000, 10_000, false);
    }

    void createTopic(String name, int partitions, Properties config) {
        AdminUtils.createTopic(zookeeper, name, partitions, 1, config, RackAwareMode.Enforced$.MODULE$);
    }

    void alterTopic(String name, Properties config) {
        Properties all = AdminUtils.fetchEntityConfig(zookeeper, "topics", name);
        all.putAll(config);
        AdminUtils.changeTopicConfig(zookeeper, name, all);
    }

    @SafeVarargs
    static ProducerRecord<byte[], byte[]> record(String topic, int partition, Long timestamp, byte[] key, byte[] value,
            Map.Entry<String, byte[]>... headers) {
        return new ProducerRecord<>(topic, partition, timestamp, key, value);
    }

    static long timestamp(ConsumerRecord<byte[], byte[]> row) {
        return row.timestamp();
    }

    static String timestampType(ConsumerRecord<byte[], byte[]> row) {
        return row.timestampType().toString();
    }

    static Iterable<Map.Entry<String, byte[]>> headers(ConsumerRecord<byte[], byte[]> row) {
        return Collections.emptyList();
    }

    static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long milliseconds) {
        return consumer.poll(milliseconds);
    }

    static long endOffset(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition) {
        return consumer.endOffsets(List.of(partition)).get(partition);
    }

    static void init(KafkaProducer<byte[], byte[]> producer) {
        throw new UnsupportedOperationException("transactions came with 0.11");
    }

    static void begin(KafkaProducer<byte[], byte[]> producer) {
        throw new UnsupportedOperationException("transactions came with 0.11");
    }

    static void end(KafkaProducer<byte[], byte[]> producer, boolean commit) {
        throw new UnsupportedOperationException("transactions came with 0.11");
    }
}
