package org.kodec.spark;

/** Offsets that were asked for are not there, and {@code failOnDataLoss} is true. */
public final class DataLossException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    DataLossException(String text) {
        super("kafka-log: failOnDataLoss: " + text);
    }
}
