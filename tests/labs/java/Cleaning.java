import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Properties;

import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens, compacts and trims folders of topic-partitions with Kafka's own classes, at the given time.
 *
 * A line of stdin is a question, of words with tabs between them; its answer is a line too:
 *   recover DIR NOW                                      -> ok START END
 *   open DIR NOW                                         -> ok START END
 *   compact DIR NOW RETENTION EXPIRATION SEGMENT DIRTY   -> ok END LSO
 *   trim DIR NOW BYTES MS START                          -> ok SEGMENTS START
 */
public final class Cleaning {
    private static volatile long now;

    private Cleaning() { }

    public static void main(String[] args) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        Time time = (Time) Proxy.newProxyInstance(Cleaning.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, values) -> method.getName().equals("milliseconds") ? now : method.invoke(Time.SYSTEM, values));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            String answer;
            try {
                answer = "ok\t" + answer(line.split("\t"), scheduler, time);
            } catch (Throwable error) {
                answer = "error\t" + error.toString().replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
        scheduler.shutdown();
    }

    private static String answer(String[] words, KafkaScheduler scheduler, Time time) throws Exception {
        String what = words[0];
        now = Long.parseLong(words[2]);
        Properties settings = new Properties();
        settings.put("file.delete.delay.ms", "0");
        int expiration = 86400000;
        long start = 0;
        if (what.equals("compact")) {
            settings.put("cleanup.policy", "compact");
            settings.put("delete.retention.ms", words[3]);
            expiration = Integer.parseInt(words[4]);
            settings.put("internal.segment.bytes", words[5]);
        } else if (what.equals("trim")) {
            settings.put("cleanup.policy", "delete");
            settings.put("retention.bytes", words[3]);
            settings.put("retention.ms", words[4]);
            start = Long.parseLong(words[5]);
        }
        UnifiedLog log = UnifiedLog.create(new File(words[1]), new LogConfig(settings), start, 0L, scheduler,
            new BrokerTopicStats(), time, 900000, new ProducerStateManagerConfig(expiration, false), 600000,
            new LogDirFailureChannel(10), !what.equals("recover"), Optional.empty());
        try {
            log.updateHighWatermark(log.logEndOffset());
            if (what.equals("compact")) {
                log.producerStateManager().removeExpiredProducers(now);
                long dirty = Long.parseLong(words[6]);
                long uncleanable = Math.min(log.lastStableOffset(), log.activeSegment().baseOffset());
                Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(1 << 20), 1 << 16, 1 << 16, 0.9,
                    new Throttler(Double.MAX_VALUE, 300, "bytes", "bytes", time), time, partition -> { });
                LogToClean todo = new LogToClean(log, dirty, uncleanable, true);
                long end = todo.cleanableBytes() > 0 ? cleaner.doClean(todo, now).getKey() : dirty;
                return end + "\t" + log.lastStableOffset();
            }
            if (what.equals("trim"))
                return log.deleteOldSegments() + "\t" + log.logStartOffset();
            return log.logStartOffset() + "\t" + log.logEndOffset();
        } finally {
            log.close();
            // Files are deleted, and epochs written, by other threads.
            Thread.sleep(40);
        }
    }
}
