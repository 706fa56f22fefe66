package org.kodec.spark;

import java.util.List;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What a query left out, by cause, as Spark shows it with the query. */
final class Metrics {
    private Metrics() {}

    /** Ranges of offsets that were left out with {@code failOnDataLoss=false}. */
    public static final class Missing extends CustomSumMetric {
        /** For Spark. */
        public Missing() {}

        @Override
        public String name() {
            return Cause.MISSING.value;
        }

        @Override
        public String description() {
            return "ranges of missing offsets";
        }
    }

    /** Logs that end in a partial batch. */
    public static final class Unfinished extends CustomSumMetric {
        /** For Spark. */
        public Unfinished() {}

        @Override
        public String name() {
            return Cause.UNFINISHED.value;
        }

        @Override
        public String description() {
            return "partial batches at the end of a log";
        }
    }

    /** Whether Spark can add them up: the threads that do so do not know the classes of a jar added to a running session. */
    private static final class Known {
        static final boolean ARE = Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().startsWith("spark-listener-group-")).allMatch(Known::by);

        private static boolean by(Thread thread) {
            try {
                return Class.forName(Missing.class.getName(), false, thread.getContextClassLoader()) == Missing.class;
            } catch (ClassNotFoundException error) {
                return false;
            }
        }
    }

    private record Value(String name, long value) implements CustomTaskMetric {}

    /** All of them; none if Spark cannot add them up. */
    static CustomMetric[] all() {
        return Known.ARE ? new CustomMetric[] {new Missing(), new Unfinished()} : new CustomMetric[0];
    }

    /** Those of planning. */
    static CustomTaskMetric[] ofDriver(Losses losses) {
        return Known.ARE ? of(losses) : new CustomTaskMetric[0];
    }

    /** Those of a task. */
    static CustomTaskMetric[] of(Losses losses) {
        return List.of(Cause.MISSING, Cause.UNFINISHED).stream()
                .map(each -> new Value(each.value, losses.count(each))).toArray(CustomTaskMetric[]::new);
    }
}
