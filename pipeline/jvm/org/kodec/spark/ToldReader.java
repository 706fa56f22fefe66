package org.kodec.spark;

import java.io.IOException;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.kodec.runtime.FormatException;

/**
 * A reader whose errors are of Java's own classes. What a task throws is read again on the driver, which finds the
 * classes of a jar that was added to a running session nowhere: it would only say that the reason is not known.
 */
record ToldReader<T>(PartitionReader<T> reader) implements PartitionReader<T> {
    @Override
    public boolean next() throws IOException {
        try {
            return reader.next();
        } catch (FormatException error) {
            IOException told = new IOException(error.getMessage());
            told.setStackTrace(error.getStackTrace());
            throw told;
        } catch (DataLossException error) {
            IllegalArgumentException told = new IllegalArgumentException(error.getMessage());
            told.setStackTrace(error.getStackTrace());
            throw told;
        }
    }

    @Override
    public T get() {
        return reader.get();
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }
}
