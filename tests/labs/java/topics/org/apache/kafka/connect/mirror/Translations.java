package org.apache.kafka.connect.mirror;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;

/**
 * Translates offsets with MirrorMaker's own store of syncs. Lines: `sync KEY VALUE` in hex fills the store, `fresh`
 * empties it, `start MUST-READ` begins, `ready` ends the first reading; `translate TOPIC PARTITION OFFSET` is answered
 * with an offset or `none`.
 * `sync`, `checkpoint`, `heartbeat` with `show` before them are answered with what the record's class shows.
 */
public final class Translations {
    private Translations() {
    }

    /** A store without a topic. */
    private static final class Store extends OffsetSyncStore {
        @Override
        void backingStoreStart() {
        }

        void take(ConsumerRecord<byte[], byte[]> record) {
            handleRecord(record);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Store store = new Store();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ");
            switch (parts[0]) {
                case "fresh" -> {
                    store = new Store();
                    store.initializationMustReadToEnd = Boolean.parseBoolean(parts[1]);
                }
                case "sync" -> store.take(record(parts[1], parts[2]));
                case "ready" -> store.start(store.initializationMustReadToEnd);
                case "translate" -> {
                    OptionalLong found = store.translateDownstream("g",
                        new TopicPartition(parts[1], Integer.parseInt(parts[2])), Long.parseLong(parts[3]));
                    System.out.println(found.isPresent() ? Long.toString(found.getAsLong()) : "none");
                }
                case "show" -> System.out.println(switch (parts[1]) {
                    case "sync" -> OffsetSync.deserializeRecord(record(parts[2], parts[3]));
                    case "checkpoint" -> Checkpoint.deserializeRecord(record(parts[2], parts[3]));
                    default -> Heartbeat.deserializeRecord(record(parts[2], parts[3]));
                });
                default -> throw new IllegalStateException(line);
            }
        }
        System.out.flush();
    }

    private static ConsumerRecord<byte[], byte[]> record(String key, String value) {
        byte[] data = HexFormat.of().parseHex(value);
        return new ConsumerRecord<>("t", 0, 0, 0, TimestampType.CREATE_TIME, 0, data.length,
            HexFormat.of().parseHex(key), data, new RecordHeaders(), Optional.empty());
    }
}
