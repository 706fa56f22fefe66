package org.kodec.spark;

import java.io.IOException;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.kodec.runtime.FormatException;

/**
 * A reader whose errors have classes of Spark or Java. The driver deserializes the errors of tasks, and does not find
 * the classes of a jar that was added to a running session: it would only report an unknown reason.
 */
record ErrorTranslatingReader<T>(PartitionReader<T> reader, Losses losses, Runnable closed) implements PartitionReader<T> {
    @Override
    public boolean next() throws IOException {
        try {
            return reader.next();
        } catch (FormatException | DataLossException | NeedsPythonSource | IOException error) {
            throw told(error);
        }
    }

    /**
     * An error whose message Spark shows without the scheduler's stack trace: one with an error class for users. Its cause is
     * one of its parameters.
     */
    private static RuntimeException told(Exception error) {
        RuntimeException told;
        try {
            told = new SparkRuntimeException("FAILED_READ_FILE.NO_HINT",
                    new scala.collection.immutable.Map.Map2<>("path", "of a log: " + error.getMessage(),
                            "cause", Cause.of(error).value),
                    null, new QueryContext[0], "");
        } catch (Exception | LinkageError older) {
            // Spark before 4.0 does not have this class
            told = new IllegalArgumentException(error.getMessage());
        }
        told.setStackTrace(error.getStackTrace());
        return told;
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return Metrics.of(losses);
    }

    @Override
    public T get() {
        return reader.get();
    }

    @Override
    public void close() throws IOException {
        reader.close();
        closed.run();
    }
}
