package org.kodec.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.kafka.remote_log.RemoteLogSegmentMetadataRecord;
import org.kodec.kafka.remote_log.RemoteLogSegmentMetadataUpdateRecord;
import org.kodec.kafka.remote_log.RemotePartitionDeleteMetadataRecord;
import org.kodec.runtime.FormatException;
import org.kodec.runtime.Input;
import org.kodec.runtime.ReadOptions;

/**
 * The first offsets of logs in remote storage, by the {@code __remote_log_metadata} beside them: the rules of
 * {@code kodec.log.directories.remote}. It is read once for all logs of a directory.
 */
final class RemoteSegments {
    private static final String TOPIC = RemoteLogSegmentMetadataRecord.TOPIC;
    /** The state of a segment whose copy is complete, and that of a partition without segments. */
    private static final int COPY_FINISHED = 1;
    private static final int PARTITION_DELETED = 2;
    private static final int FRAME_VERSION = 1;

    /** A log, and the id of its topic. */
    private record Owner(Names.TopicPartition log, String topicId) {}

    private record Start(Owner owner, long offset) {}

    private final ReadSettings reading;
    private final Configuration conf;
    private final Map<String, List<Start>> known = new HashMap<>();

    RemoteSegments(ReadSettings reading, Configuration conf) {
        this.reading = reading.heads(true);
        this.conf = conf;
    }

    /** The first offset of the log in a folder that is in remote storage; -1 if none is, or that cannot be read. */
    long first(Names.TopicPartition owner, String folder) {
        try {
            String topicId = topicId(folder);
            String root = Files.parent(folder);
            List<Start> starts = known.get(root);
            if (starts == null) {
                starts = new Reading().starts(root);
                known.put(root, starts);
            }
            return starts.stream().filter(each -> each.owner.log.equals(owner))
                    .filter(each -> topicId == null || topicId.equals(each.owner.topicId))
                    .mapToLong(Start::offset).min().orElse(-1);
        } catch (IOException error) {
            // what cannot be read shows nothing
            return -1;
        }
    }

    /** Null if the log has none, or a damaged one: then any topic with its name counts. */
    private String topicId(String folder) throws IOException {
        String text = Files.text(Files.child(folder, Names.PARTITION_METADATA), conf);
        try {
            return text == null ? null : Names.topicId(text);
        } catch (NumberFormatException error) {
            return null;
        }
    }

    /** The segments that the records of a log directory name. */
    private final class Reading {
        private final Map<UUID, Start> segments = new HashMap<>();
        private final Set<UUID> copied = new HashSet<>();

        List<Start> starts(String root) throws IOException {
            for (Files.Entry each : Files.in(root, conf)) {
                Names.TopicPartition owner = Names.live(each.name());
                if (each.folder() && owner != null && owner.topic().equals(TOPIC)) {
                    try {
                        read(owner, each.path());
                    } catch (FormatException | IOException | UncheckedIOException error) {
                        // what was read counts
                    }
                }
            }
            segments.keySet().retainAll(copied);
            return List.copyOf(segments.values());
        }

        private void read(Names.TopicPartition owner, String folder) throws IOException {
            List<Files.Entry> logs = new ArrayList<>(Files.in(folder, conf));
            logs.removeIf(each -> Names.segment(each.name()) < 0);
            logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
            List<SegmentSlice> pieces = new ArrayList<>();
            for (int index = 0; index < logs.size(); index++) {
                long after = index + 1 < logs.size() ? Names.segment(logs.get(index + 1).name()) : -1;
                Files.Entry log = logs.get(index);
                pieces.add(SegmentSlice.of(owner, log.path(), Names.segment(log.name()), log.size(), after));
            }
            long columns = RecordBatch.Rows.OFFSET | RecordBatch.Rows.VALUE;
            try (Batches batches = new Batches(pieces, reading, conf, columns, MessageSet.Rows.OFFSET | MessageSet.Rows.VALUE)) {
                for (Step step = batches.advance(); step != Step.END; step = batches.advance()) {
                    if (step == Step.BATCH) {
                        batches.walk.append();
                        byte[] data = batches.rows.plain() ? batches.window.data : batches.rows.raw.data;
                        boolean lists = batches.rows.rows.count > 0;
                        int[] start = lists ? batches.rows.rows.valueStart : batches.rows.old.valueStart;
                        int[] length = lists ? batches.rows.rows.valueLength : batches.rows.old.valueLength;
                        for (int row = 0; row < batches.rows.count(); row++) {
                            take(Arrays.copyOfRange(data, start[row], start[row] + Math.max(0, length[row])));
                        }
                    }
                    batches.rows.clear();
                }
            }
        }

        /** Follows a record; one that cannot be read shows nothing. */
        private void take(byte[] value) {
            try {
                Input in = new Input(value, ReadOptions.DEFAULT);
                if (in.uvarint32("frame_version") != FRAME_VERSION) {
                    return;
                }
                int number = (int) in.uvarint32("number");
                int version = (int) in.uvarint32("version");
                switch (number) {
                    case RemoteLogSegmentMetadataRecord.NUMBER -> take(RemoteLogSegmentMetadataRecord.read(in, version));
                    case RemoteLogSegmentMetadataUpdateRecord.NUMBER ->
                        take(RemoteLogSegmentMetadataUpdateRecord.read(in, version));
                    case RemotePartitionDeleteMetadataRecord.NUMBER ->
                        take(RemotePartitionDeleteMetadataRecord.read(in, version));
                    default -> { }
                }
            } catch (FormatException error) {
                // of a later Kafka, or no message
            }
        }

        private void take(RemoteLogSegmentMetadataRecord record) {
            var its = record.remoteLogSegmentId().topicIdPartition();
            Owner owner = new Owner(new Names.TopicPartition(its.name(), its.partition()), text(its.id()));
            segments.put(record.remoteLogSegmentId().id(), new Start(owner, record.startOffset()));
        }

        private void take(RemoteLogSegmentMetadataUpdateRecord record) {
            if (record.remoteLogSegmentState() == COPY_FINISHED) {
                copied.add(record.remoteLogSegmentId().id());
            } else {
                copied.remove(record.remoteLogSegmentId().id());
            }
        }

        private void take(RemotePartitionDeleteMetadataRecord record) {
            var its = record.topicIdPartition();
            Owner owner = new Owner(new Names.TopicPartition(its.name(), its.partition()), text(its.id()));
            if (record.remotePartitionDeleteState() == PARTITION_DELETED) {
                segments.values().removeIf(each -> each.owner.equals(owner));
            }
        }

        /** As Kafka prints an id. */
        private static String text(UUID id) {
            byte[] data = ByteBuffer.allocate(2 * Long.BYTES).putLong(id.getMostSignificantBits())
                    .putLong(id.getLeastSignificantBits()).array();
            return Base64.getUrlEncoder().withoutPadding().encodeToString(data);
        }
    }
}
