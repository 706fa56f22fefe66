package org.kodec.spark;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.kodec.kafka.log.RecordBatch;

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

    /**
     * A column of the batch of a record.
     *
     * @param number its value; null for a text
     * @param text its value; null for a number
     * @param isNull whether a batch has no value
     */
    private record OfBatch(
            String name,
            DataType type,
            ToLongFunction<Batches> number,
            Function<Batches, String> text,
            Predicate<Batches> isNull) {
        private static final Map<Class<?>, DataType> TYPES = Map.of(
                boolean.class, DataTypes.BooleanType, int.class, DataTypes.IntegerType, long.class, DataTypes.LongType);

        /** A field of the header over a list of records, and its value in a format that has none. */
        static OfBatch header(String name, DataType type, ToLongFunction<RecordBatch.Rows> field, long otherwise) {
            return number(name, type, each -> each.walk.isList() ? field.applyAsLong(each.rows.rows) : otherwise);
        }

        static OfBatch number(String name, DataType type, ToLongFunction<Batches> number) {
            return new OfBatch(name, type, number, null, each -> false);
        }

        static OfBatch text(String name, Function<Batches, String> text) {
            return new OfBatch(name, DataTypes.StringType, null, text, each -> false);
        }

        /** A field of the header that has no meaning here, as a newer format may have; null if there is none. */
        static OfBatch extra(RecordBatch.Rows.HeadField field) {
            return new OfBatch(
                    field.name(),
                    TYPES.get(field.type()),
                    each -> field.value().applyAsLong(each.rows.rows),
                    null,
                    each -> !each.walk.isList() || !field.forms().contains(each.walk.magic()));
        }
    }

    private static final long NO_SEQUENCE = Long.MIN_VALUE;
    private static final List<OfBatch> WITH_MEANING = List.of(
            OfBatch.header("leaderEpoch", DataTypes.IntegerType, head -> head.headPartitionLeaderEpoch, -1),
            OfBatch.header("producerId", DataTypes.LongType, head -> head.headProducerId, -1),
            OfBatch.header("producerEpoch", DataTypes.IntegerType, head -> head.headProducerEpoch, -1),
            // added to the offset, the sequence
            OfBatch.header("sequence", DataTypes.IntegerType,
                    head -> head.headBaseSequence < 0 ? NO_SEQUENCE : head.headBaseSequence - head.headBaseOffset, NO_SEQUENCE),
            OfBatch.header("isTransactional", DataTypes.BooleanType, head -> head.headAttributesIsTransactional ? 1 : 0, 0),
            OfBatch.header("isControl", DataTypes.BooleanType, head -> head.headAttributesIsControl ? 1 : 0, 0),
            OfBatch.text("codec", each -> each.walk.codec()),
            OfBatch.number("magic", DataTypes.IntegerType, each -> each.walk.magic()),
            OfBatch.number("batchPosition", DataTypes.LongType, each -> each.walk.position()),
            OfBatch.number("batchSize", DataTypes.LongType, each -> each.walk.size()),
            OfBatch.text("file", each -> each.walk.piece.path()));
    /** All of them, as {@code kodec.pipeline.columns} has them. */
    private static final List<OfBatch> OF_BATCH = Stream.concat(
                    WITH_MEANING.stream(), RecordBatch.Rows.EXTRA.stream().map(OfBatch::extra))
            .toList();
    private static final StructType METADATA =
            new StructType(OF_BATCH.stream().map(each -> field(each.name, each.type)).toArray(StructField[]::new));
    static final StructType ALL = schema(true, true);

    private Columns() {}

    private static StructField field(String name, DataType type) {
        return DataTypes.createStructField(name, type, true);
    }

    /** The columns of a load. */
    static StructType schema(boolean headers, boolean metadata) {
        StructType found = headers ? WITH_HEADERS : PLAIN;
        if (metadata) {
            for (StructField each : METADATA.fields()) {
                found = found.add(each);
            }
        }
        return found;
    }

    /** Whether a column describes the batch of a record. */
    static boolean isOfBatch(String name) {
        return METADATA.getFieldIndex(name).isDefined();
    }

    /** Values of the rows' batches, one place per batch, and the batch of each row. */
    static final class Heads {
        private static final int WIDTH = OF_BATCH.size();
        private static final int SEQUENCE = METADATA.fieldIndex("sequence");
        int[] unit = new int[1024];
        private int rows;
        private int count;
        private long[] numbers = new long[16 * WIDTH];
        private UTF8String[] texts = new UTF8String[16 * WIDTH];
        private boolean[] nulls = new boolean[16 * WIDTH];

        void clear() {
            rows = 0;
            count = 0;
        }

        /** Notes the batch of the rows up to {@code end}. */
        void add(int end, Batches batches) {
            if (end > unit.length) {
                unit = Arrays.copyOf(unit, Math.max(end, 2 * unit.length));
            }
            Arrays.fill(unit, rows, end, count);
            rows = end;
            if (texts.length < (count + 1) * WIDTH) {
                numbers = Arrays.copyOf(numbers, 2 * numbers.length);
                texts = Arrays.copyOf(texts, 2 * texts.length);
                nulls = Arrays.copyOf(nulls, 2 * nulls.length);
            }
            for (int index = 0; index < WIDTH; index++) {
                OfBatch column = OF_BATCH.get(index);
                nulls[count * WIDTH + index] = column.isNull.test(batches);
                if (column.number != null) {
                    numbers[count * WIDTH + index] = column.number.applyAsLong(batches);
                } else {
                    texts[count * WIDTH + index] = UTF8String.fromString(column.text.apply(batches));
                }
            }
            count++;
        }
    }

    /** A column that is the same for all records of a batch, or the sequence, which is counted from it. */
    static final class BatchVector extends Vector {
        private final Heads heads;
        private final int column;
        /** The offsets of the rows. */
        long[] offsets;

        BatchVector(String name, Heads heads) {
            super(METADATA.apply(name).dataType());
            this.heads = heads;
            column = METADATA.fieldIndex(name);
        }

        @Override
        public boolean hasNull() {
            return true;
        }

        @Override
        public boolean isNullAt(int row) {
            return heads.nulls[heads.unit[at(row)] * Heads.WIDTH + column];
        }

        @Override
        public long getLong(int row) {
            int index = at(row);
            long value = heads.numbers[heads.unit[index] * Heads.WIDTH + column];
            if (column != Heads.SEQUENCE) {
                return value;
            }
            // after 2147483647 comes 0
            return value == NO_SEQUENCE ? -1 : value + offsets[index] & Integer.MAX_VALUE;
        }

        @Override
        public int getInt(int row) {
            return (int) getLong(row);
        }

        @Override
        public boolean getBoolean(int row) {
            return getLong(row) != 0;
        }

        @Override
        public UTF8String getUTF8String(int row) {
            return heads.texts[heads.unit[at(row)] * Heads.WIDTH + column];
        }
    }

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

    /** Bytes: ranges of a buffer; null if the length is negative. */
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

        /** Text; invalid UTF-8 becomes U+FFFD, as in Kafka's strings. */
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

    /** The headers of records: a list of keys and values for each; null if there are none. */
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

    /** The rows from 0 to {@code count} for which {@code test} does not return 0; null if these are all rows. */
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
