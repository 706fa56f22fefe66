import com.linkedin.cruisecontrol.metricdef.MetricInfo;
import com.linkedin.kafka.cruisecontrol.metricsreporter.metric.BrokerMetric;
import com.linkedin.kafka.cruisecontrol.metricsreporter.metric.CruiseControlMetric;
import com.linkedin.kafka.cruisecontrol.metricsreporter.metric.MetricSerde;
import com.linkedin.kafka.cruisecontrol.metricsreporter.metric.PartitionMetric;
import com.linkedin.kafka.cruisecontrol.metricsreporter.metric.RawMetricType;
import com.linkedin.kafka.cruisecontrol.metricsreporter.metric.TopicMetric;
import com.linkedin.kafka.cruisecontrol.monitor.metricdefinition.KafkaMetricDef;
import com.linkedin.kafka.cruisecontrol.monitor.sampling.holder.BrokerMetricSample;
import com.linkedin.kafka.cruisecontrol.monitor.sampling.holder.PartitionMetricSample;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;

/** Writes records of Cruise Control's topics with its own classes: topic, bytes in hex, and the values in them. */
public final class CruiseControl {
    private static final long TIME = 1_790_000_000_000L;

    private CruiseControl() {
    }

    public static void main(String[] args) throws Exception {
        for (RawMetricType type : RawMetricType.values()) {
            double value = type.id() * 1.5 + 0.1;
            CruiseControlMetric metric = switch (type.metricScope()) {
                case BROKER -> new BrokerMetric(type, TIME, 7, value);
                case TOPIC -> new TopicMetric(type, TIME, 7, "töpic", value);
                case PARTITION -> new PartitionMetric(type, TIME, 7, "töpic", 3, value);
            };
            byte[] data = MetricSerde.toBytes(metric);
            CruiseControlMetric read = MetricSerde.fromBytes(data);
            Map<String, Object> found = new TreeMap<>();
            found.put("metricClass", read.metricClassId().name());
            found.put("metricType", read.rawMetricType().name());
            found.put("time", read.time());
            found.put("brokerId", read.brokerId());
            found.put("value", read.value());
            found.put("topic", read instanceof TopicMetric each ? each.topic()
                : read instanceof PartitionMetric each ? each.topic() : null);
            found.put("partition", read instanceof PartitionMetric each ? each.partition() : -1);
            print("__CruiseControlMetrics", data, found);
        }
        PartitionMetricSample sample = new PartitionMetricSample(7, new TopicPartition("töpic", 3));
        for (KafkaMetricDef def : KafkaMetricDef.cachedCommonDefValues()) {
            MetricInfo info = KafkaMetricDef.commonMetricDef().metricInfo(def.name());
            sample.record(info, info.id() + 0.25);
        }
        sample.close(TIME);
        byte[] data = sample.toBytes();
        partition(data);
        // Version 0 ends its metrics after four of them.
        ByteBuffer old = ByteBuffer.allocate(data.length - 40);
        old.put((byte) 0).put(data, 1, 36).put(data, 77, data.length - 77);
        partition(old.array());
        for (byte version : new byte[] {4, 5}) {
            BrokerMetricSample broker = new BrokerMetricSample("höst", 7, version);
            for (KafkaMetricDef def : KafkaMetricDef.cachedBrokerDefValues()) {
                MetricInfo info = KafkaMetricDef.brokerMetricDef().metricInfo(def.name());
                broker.record(info, info.id() + (def.name().endsWith("QUEUE_SIZE") ? 0 : 0.25));
            }
            broker.close(TIME);
            byte[] bytes = broker.toBytes();
            broker(bytes);
            if (version == 4) {
                // as version 4 of Cruise Control wrote it: without what version 5 added
                broker(Arrays.copyOf(bytes, bytes.length - 160));
            }
        }
    }

    private static void partition(byte[] data) throws Exception {
        PartitionMetricSample read = PartitionMetricSample.fromBytes(data);
        Map<String, Object> found = new TreeMap<>();
        found.put("brokerId", read.brokerId());
        found.put("topic", read.entity().tp().topic());
        found.put("partition", read.entity().tp().partition());
        found.put("sampleTime", read.sampleTime());
        read.allMetricValues().forEach((id, value) ->
            found.put(camel(KafkaMetricDef.commonMetricDef().metricInfo(id).name()), value));
        print("__KafkaCruiseControlPartitionMetricSamples", data, found);
    }

    private static void broker(byte[] data) throws Exception {
        BrokerMetricSample read = BrokerMetricSample.fromBytes(data);
        Map<String, Object> found = new TreeMap<>();
        found.put("brokerId", read.brokerId());
        found.put("host", read.entity().group());
        found.put("sampleTime", read.sampleTime());
        read.allMetricValues().forEach((id, value) ->
            found.put(camel(KafkaMetricDef.brokerMetricDef().metricInfo(id).name()), value));
        print("__KafkaCruiseControlModelTrainingSamples", data, found);
    }

    private static String camel(String name) {
        StringBuilder out = new StringBuilder();
        for (String part : name.split("_")) {
            String low = part.toLowerCase();
            out.append(out.length() == 0 ? low : low.substring(0, 1).toUpperCase() + low.substring(1));
        }
        return out.toString();
    }

    private static void print(String topic, byte[] data, Map<String, Object> found) {
        StringBuilder json = new StringBuilder();
        found.forEach((name, value) -> json.append(json.length() == 0 ? "{" : ", ").append('"').append(name).append("\": ")
            .append(value instanceof String text ? '"' + text + '"' : value));
        System.out.println(topic + "\t" + HexFormat.of().formatHex(data) + "\t" + json + "}");
    }
}
