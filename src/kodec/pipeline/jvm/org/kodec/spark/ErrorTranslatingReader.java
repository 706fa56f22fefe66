package org.kodec.spark;

import java.io.IOException;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.kodec.runtime.FormatException;

/**
 * A reader whose errors are of Spark's own classes, or Java's. What a task throws is read again on the driver, which
 * finds the classes of a jar that was added to a running session nowhere: it would only say that the reason is not known.
 */
record ErrorTranslatingReader<T>(PartitionReader<T> reader, Runnable closed) implements PartitionReader<T> {
    @Override
    public boolean next() throws IOException {
        try {
            return reader.next();
        } catch (FormatException | DataLossException | IOException error) {
            throw told(error);
        }
    }

    /** An error of which Spark shows what it says, and not the scheduler's way to it: one with a name for users. */
    private static RuntimeException told(Exception error) {
        RuntimeException told;
        try {
            told = new SparkRuntimeException("FAILED_READ_FILE.NO_HINT",
                    new scala.collection.immutable.Map.Map1<>("path", "of a log: " + error.getMessage()),
                    null, new QueryContext[0], "");
        } catch (Exception | LinkageError older) {
            // Spark before 4.0 has none of that name
            told = new IllegalArgumentException(error.getMessage());
        }
        told.setStackTrace(error.getStackTrace());
        return told;
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
