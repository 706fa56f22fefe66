package org.kodec.spark;

import java.util.Arrays;
import java.util.function.IntUnaryOperator;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** The columns of the source, and vectors over the arrays that the generated readers fill: nothing is copied. */
final class Columns {
    static final StructType HEADER =
            new StructType().add("key", DataTypes.StringType).add("value", DataTypes.BinaryType);
    /** In the order and with the types of Spark's own Kafka source. */
    static final StructType PLAIN = new StructType()
            .add("key", DataTypes.BinaryType)
            .add("value", DataTypes.BinaryType)
            .add("topic", DataTypes.StringType)
            .add("partition", DataTypes.IntegerType)
            .add("offset", DataTypes.LongType)
            .add("timestamp", DataTypes.TimestampType)
            .add("timestampType", DataTypes.IntegerType);
    static final StructType WITH_HEADERS = PLAIN.add("headers", new ArrayType(HEADER, true));

    private Columns() {}

    /** A vector; rows are those of the arrays, or of them those that {@code chosen} names. */
    abstract static class Vector extends ColumnVector {
        int[] chosen;

        Vector(DataType type) {
            super(type);
        }

        final int at(int row) {
            return chosen == null ? row : chosen[row];
        }

        @Override
        public void close() {}

        @Override
        public boolean hasNull() {
            return false;
        }

        @Override
        public int numNulls() {
            return 0;
        }

        @Override
        public boolean isNullAt(int row) {
            return false;
        }

        @Override
        public boolean getBoolean(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public byte getByte(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public short getShort(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int getInt(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long getLong(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public float getFloat(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public double getDouble(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ColumnarArray getArray(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ColumnarMap getMap(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Decimal getDecimal(int row, int precision, int scale) {
            throw new UnsupportedOperationException();
        }

        @Override
        public UTF8String getUTF8String(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public byte[] getBinary(int row) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ColumnVector getChild(int index) {
            throw new UnsupportedOperationException();
        }
    }

    /** Bytes: ranges of a buffer, null where the length is negative. */
    static final class Spans extends Vector {
        byte[] buf;
        int[] start;
        int[] length;

        Spans(DataType type) {
            super(type);
        }

        @Override
        public boolean hasNull() {
            return true;
        }

        @Override
        public boolean isNullAt(int row) {
            return length[at(row)] < 0;
        }

        @Override
        public byte[] getBinary(int row) {
            int index = at(row);
            int from = start[index];
            return length[index] < 0 ? null : Arrays.copyOfRange(buf, from, from + length[index]);
        }

        /** Text; what is not UTF-8 becomes U+FFFD, as in Kafka's own strings. */
        @Override
        public UTF8String getUTF8String(int row) {
            int index = at(row);
            int from = start[index];
            int stop = from + length[index];
            for (int each = from; each < stop; each++) {
                if (buf[each] < 0) {
                    String text = new String(buf, from, length[index], java.nio.charset.StandardCharsets.UTF_8);
                    return UTF8String.fromString(text);
                }
            }
            return UTF8String.fromBytes(buf, from, length[index]);
        }
    }

    /** Whole numbers of 64 bits. */
    static final class Longs extends Vector {
        long[] values;

        Longs() {
            super(DataTypes.LongType);
        }

        @Override
        public long getLong(int row) {
            return values[at(row)];
        }
    }

    /** Timestamps, which the arrays have in milliseconds and Spark in microseconds. */
    static final class Times extends Vector {
        long[] millis;

        Times() {
            super(DataTypes.TimestampType);
        }

        @Override
        public long getLong(int row) {
            return millis[at(row)] * 1000;
        }
    }

    /** Whole numbers of 32 bits. */
    static final class Ints extends Vector {
        int[] values;

        Ints() {
            super(DataTypes.IntegerType);
        }

        @Override
        public int getInt(int row) {
            return values[at(row)];
        }
    }

    /** One number for all rows. */
    static final class SameInt extends Vector {
        int value;

        SameInt() {
            super(DataTypes.IntegerType);
        }

        @Override
        public int getInt(int row) {
            return value;
        }
    }

    /** One text for all rows. */
    static final class SameText extends Vector {
        UTF8String value;

        SameText() {
            super(DataTypes.StringType);
        }

        @Override
        public UTF8String getUTF8String(int row) {
            return value;
        }
    }

    /** The headers of records: a list of keys and values for each, null where there are none. */
    static final class Headers extends Vector {
        final Pairs pairs = new Pairs();
        int[] start;

        Headers() {
            super(WITH_HEADERS.apply("headers").dataType());
        }

        @Override
        public boolean hasNull() {
            return true;
        }

        @Override
        public boolean isNullAt(int row) {
            return start == null || start[at(row)] == start[at(row) + 1];
        }

        @Override
        public ColumnarArray getArray(int row) {
            int index = at(row);
            return new ColumnarArray(pairs, start[index], start[index + 1] - start[index]);
        }

        @Override
        public ColumnVector getChild(int index) {
            return pairs;
        }
    }

    /** Keys and values of headers. */
    static final class Pairs extends Vector {
        final Spans keys = new Spans(DataTypes.StringType);
        final Spans values = new Spans(DataTypes.BinaryType);

        Pairs() {
            super(HEADER);
        }

        @Override
        public ColumnVector getChild(int index) {
            return index == 0 ? keys : values;
        }
    }

    /** The rows from 0 to {@code count} for which {@code test} does not give 0; null where that is all of them. */
    static int[] chosen(int count, IntUnaryOperator test) {
        int[] found = new int[count];
        int size = 0;
        for (int row = 0; row < count; row++) {
            if (test.applyAsInt(row) != 0) {
                found[size++] = row;
            }
        }
        return size == count ? null : Arrays.copyOf(found, size);
    }
}
