package org.apache.kafka.streams.state.internals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.ListDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.TimeWindowedDeserializer;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.Change;
import org.apache.kafka.streams.kstream.internals.ChangedDeserializer;
import org.apache.kafka.streams.kstream.internals.foreignkeyjoin.CombinedKey;
import org.apache.kafka.streams.kstream.internals.foreignkeyjoin.CombinedKeySchema;
import org.apache.kafka.streams.kstream.internals.foreignkeyjoin.SubscriptionResponseWrapper;
import org.apache.kafka.streams.kstream.internals.foreignkeyjoin.SubscriptionResponseWrapperSerde;
import org.apache.kafka.streams.kstream.internals.foreignkeyjoin.SubscriptionWrapper;
import org.apache.kafka.streams.kstream.internals.foreignkeyjoin.SubscriptionWrapperSerde;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;

/**
 * Decodes frames with Kafka's own classes. A line has a name and the bytes in hex, for suppressed_value also its
 * version; the answer has the name and value of each part, sorted, or `refused`.
 */
public final class Judge {
    private static final Deserializer<byte[]> RAW = new ByteArrayDeserializer();

    private Judge() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ");
            try {
                Map<String, Object> found = new TreeMap<>();
                decode(parts[0], HexFormat.of().parseHex(parts.length > 1 ? parts[1] : ""), parts, found);
                System.out.println(found);
            } catch (RuntimeException error) {
                System.out.println("refused");
            }
        }
        System.out.flush();
    }

    private static String hex(byte[] data) {
        return data == null ? null : "x" + HexFormat.of().formatHex(data);
    }

    private static String hex(long[] hash) {
        return hash == null ? null : String.format("x%016x%016x", hash[0], hash[1]);
    }

    private static void decode(String name, byte[] data, String[] parts, Map<String, Object> found) {
        RecordHeaders headers = new RecordHeaders();
        switch (name) {
            case "windowed_key" -> {
                try (TimeWindowedDeserializer<byte[]> reader = new TimeWindowedDeserializer<>(RAW, 60_000L)) {
                    Windowed<byte[]> key = reader.deserialize("t", data);
                    found.put("key", hex(key.key()));
                    found.put("start", key.window().start());
                }
            }
            case "window_store_key" -> {
                found.put("key", hex(WindowKeySchema.extractStoreKeyBytes(data)));
                found.put("start", WindowKeySchema.extractStoreTimestamp(data));
                found.put("sequence", WindowKeySchema.extractStoreSequence(data));
            }
            case "session_key" -> {
                Windowed<Bytes> key = SessionKeySchema.from(Bytes.wrap(data));
                found.put("key", hex(key.key().get()));
                found.put("start", key.window().start());
                found.put("end", key.window().end());
            }
            case "change" -> {
                Change<byte[]> change = new ChangedDeserializer<>(RAW).deserialize("t", headers, data);
                found.put("new_value", hex(change.newValue));
                found.put("old_value", hex(change.oldValue));
                found.put("is_latest", change.isLatest);
            }
            case "subscription" -> {
                SubscriptionWrapper<byte[]> value = new SubscriptionWrapperSerde<>(() -> "t", Serdes.ByteArray())
                    .deserializer().deserialize("t", headers, data);
                found.put("version", value.version());
                found.put("instruction", value.instruction().name());
                found.put("hash", hex(value.hash()));
                found.put("primary_key", hex(value.primaryKey()));
                found.put("primary_partition", value.primaryPartition());
            }
            case "subscription_response" -> {
                SubscriptionResponseWrapper<byte[]> value = new SubscriptionResponseWrapperSerde<>(Serdes.ByteArray())
                    .deserializer().deserialize("t", headers, data);
                found.put("version", value.version());
                found.put("hash", hex(value.originalValueHash()));
                found.put("foreign_value", hex(value.foreignValue()));
            }
            case "subscription_key" -> {
                CombinedKey<byte[], byte[]> key = new CombinedKeySchema<>(
                    () -> "t", Serdes.ByteArray(), () -> "t", Serdes.ByteArray()).fromBytes(Bytes.wrap(data), headers);
                found.put("foreign_key", hex(key.foreignKey()));
                found.put("primary_key", hex(key.primaryKey()));
            }
            case "join_key" -> {
                TimestampedKeyAndJoinSide<byte[]> key =
                    new TimestampedKeyAndJoinSideDeserializer<>(RAW).deserialize("t", headers, data);
                found.put("key", hex(key.key()));
                found.put("timestamp", key.timestamp());
                found.put("is_left", key.isLeftSide());
            }
            case "join_values" -> {
                List<String> values = new ArrayList<>();
                try (ListDeserializer<byte[]> lists = new ListDeserializer<>(ArrayList.class, RAW)) {
                    for (byte[] each : lists.deserialize("t", data)) {
                        LeftOrRightValue<byte[], byte[]> value =
                            new LeftOrRightValueDeserializer<>(RAW, RAW).deserialize("t", headers, each);
                        values.add(value.leftValue() != null
                            ? "left " + hex(value.leftValue()) : "right " + hex(value.rightValue()));
                    }
                }
                found.put("values", values);
            }
            case "suppressed_value" -> suppressed(data, Integer.parseInt(parts[2]), found);
            default -> throw new IllegalStateException(name);
        }
    }

    private static void suppressed(byte[] data, int version, Map<String, Object> found) {
        ConsumerRecord<byte[], byte[]> record = new ConsumerRecord<>("t", 0, 0, -1, TimestampType.CREATE_TIME, 0,
            data.length, new byte[0], data, new RecordHeaders(), Optional.empty());
        Bytes key = Bytes.wrap(new byte[0]);
        TimeOrderedKeyValueBufferChangelogDeserializationHelper.DeserializationResult result = switch (version) {
            case 0 -> TimeOrderedKeyValueBufferChangelogDeserializationHelper.deserializeV0(record, key, null);
            case 1 -> TimeOrderedKeyValueBufferChangelogDeserializationHelper.deserializeV1(record, key, null);
            case 2 -> TimeOrderedKeyValueBufferChangelogDeserializationHelper.duckTypeV2(record, key);
            default -> TimeOrderedKeyValueBufferChangelogDeserializationHelper.deserializeV3(record, key);
        };
        found.put("time", result.time());
        found.put("old_value", hex(result.bufferValue().oldValue()));
        found.put("new_value", hex(result.bufferValue().newValue()));
        if (version >= 2) {
            found.put("prior_value", hex(result.bufferValue().priorValue()));
        }
        if (version >= 1) {
            ProcessorRecordContext context = result.bufferValue().context();
            found.put("timestamp", context.timestamp());
            found.put("offset", context.offset());
            found.put("topic", context.topic());
            found.put("partition", context.partition());
            List<String> headers = new ArrayList<>();
            for (Header each : context.headers()) {
                headers.add(each.key() + "=" + hex(each.value()));
            }
            found.put("headers", headers);
        }
    }
}
