// in the package of the cache, whose methods are its own
package org.apache.kafka.server.log.remote.metadata.storage;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * Gives events to Kafka's cache of the segments in remote storage, and prints which segment it returns.
 *
 * <p>Lines of words: <code>new</code>; <code>begin id start end epoch:offset,...</code>; <code>change id state</code>; and <code>at
 * epoch offset</code>, which is answered with the segment's id, or with <code>-</code>.
 */
public final class RemoteSegments {
    private static final TopicIdPartition OWNER = new TopicIdPartition(Uuid.fromString("KoHRq9CjSHWw7wlyoa3HPw"), new TopicPartition("t", 0));

    private RemoteSegments() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        RemoteLogMetadataCache cache = new RemoteLogMetadataCache();
        String line = lines.readLine();
        for (; line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "new" -> cache = new RemoteLogMetadataCache();
                case "begin" -> cache.addCopyInProgressSegment(segment(words));
                case "change" -> change(cache, words);
                case "at" -> out.println(at(cache, Integer.parseInt(words[1]), Long.parseLong(words[2])));
                default -> throw new IOException("no such event: " + line);
            }
        }
        out.flush();
    }

    private static RemoteLogSegmentId id(String text) {
        return new RemoteLogSegmentId(OWNER, Uuid.fromString(text));
    }

    private static RemoteLogSegmentMetadata segment(String[] words) {
        Map<Integer, Long> epochs = new HashMap<>();
        for (String each : words[4].split(",")) {
            String[] parts = each.split(":");
            epochs.put(Integer.parseInt(parts[0]), Long.parseLong(parts[1]));
        }
        return new RemoteLogSegmentMetadata(id(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]), 0, 1, 0, 1, epochs);
    }

    private static void change(RemoteLogMetadataCache cache, String[] words) throws Exception {
        RemoteLogSegmentState state = RemoteLogSegmentState.forId(Byte.parseByte(words[2]));
        cache.updateRemoteLogSegmentMetadata(new RemoteLogSegmentMetadataUpdate(id(words[1]), 0, Optional.empty(), state, 1));
    }

    private static String at(RemoteLogMetadataCache cache, int epoch, long offset) {
        return cache.remoteLogSegmentMetadata(epoch, offset).map(each -> each.remoteLogSegmentId().id().toString()).orElse("-");
    }
}
