package org.kodec.spark;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.util.CollectionAccumulator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warnings in the driver's log of what tasks have left out: their own logs may be on other machines. */
final class DriverLog extends SparkListener {
    private static final Logger LOG = LoggerFactory.getLogger("kodec");
    /** What the tasks of a query say, and what of it was logged: several tasks may miss the same offsets. */
    private static final Map<CollectionAccumulator<String>, Set<String>> LOGGED = new WeakHashMap<>();
    private static final Pattern UNSHOWN = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");
    private static SparkContext listened;

    private DriverLog() {}

    /** To which tasks add what they have left out; Spark's own class, as drivers do not know those of each jar. */
    static CollectionAccumulator<String> ofTasks() {
        synchronized (LOGGED) {
            SparkContext context = SparkContext.getOrCreate();
            if (context != listened) {
                context.addSparkListener(new DriverLog());
                listened = context;
            }
            CollectionAccumulator<String> made = context.collectionAccumulator();
            LOGGED.put(made, new HashSet<>());
            return made;
        }
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        synchronized (LOGGED) {
            LOGGED.forEach((said, logged) -> said.value().stream().filter(logged::add).forEach(DriverLog::warn));
        }
    }

    /** Logs what was left out, on one line: a name with a line's end would forge lines. */
    static void warn(String text) {
        LOG.warn("left out: {}", shown(text));
    }

    /** Text without control characters. */
    static String shown(String text) {
        return UNSHOWN.matcher(text).replaceAll(found -> String.format("\\\\u%04x", found.group().codePointAt(0)));
    }
}
