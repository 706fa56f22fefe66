package org.kodec.spark;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/** The vectors of the source, filled once and given again and again: what Spark itself costs. Options rows, tasks. */
@SuppressWarnings("deprecation")
public final class Prebuilt implements TableProvider, Table, SupportsRead {
    private static final int ROWS = 8192;

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return Columns.PLAIN;
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return this;
    }

    @Override
    public String name() {
        return "prebuilt";
    }

    @Override
    public StructType schema() {
        return Columns.PLAIN;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new Query(options.getLong("rows", 0), options.getInt("tasks", 1));
    }

    private static final class Query implements ScanBuilder, Scan, Batch, SupportsPushDownRequiredColumns {
        private final long rows;
        private final int tasks;
        private StructType columns = Columns.PLAIN;

        Query(long rows, int tasks) {
            this.rows = rows;
            this.tasks = tasks;
        }

        @Override
        public void pruneColumns(StructType required) {
            columns = required;
        }

        @Override
        public Scan build() {
            return this;
        }

        @Override
        public StructType readSchema() {
            return columns;
        }

        @Override
        public Batch toBatch() {
            return this;
        }

        @Override
        public InputPartition[] planInputPartitions() {
            InputPartition[] found = new InputPartition[tasks];
            Arrays.fill(found, new Part(rows / tasks));
            return found;
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
            return new Factory(columns);
        }
    }

    private record Part(long rows) implements InputPartition {}

    private record Factory(StructType columns) implements PartitionReaderFactory {
        @Override
        public boolean supportColumnarReads(InputPartition task) {
            return true;
        }

        @Override
        public PartitionReader<InternalRow> createReader(InputPartition task) {
            throw new UnsupportedOperationException();
        }

        @Override
        public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition task) {
            ColumnVector[] vectors = Arrays.stream(columns.fieldNames()).map(Factory::vector).toArray(ColumnVector[]::new);
            ColumnarBatch batch = new ColumnarBatch(vectors);
            return new PartitionReader<>() {
                private long left = ((Part) task).rows();

                @Override
                public boolean next() {
                    batch.setNumRows((int) Math.min(left, ROWS));
                    left -= batch.numRows();
                    return batch.numRows() > 0;
                }

                @Override
                public ColumnarBatch get() {
                    return batch;
                }

                @Override
                public void close() {}
            };
        }

        private static ColumnVector vector(String name) {
            switch (name) {
                case "topic":
                    Columns.SameText text = new Columns.SameText();
                    text.value = UTF8String.fromString("orders");
                    return text;
                case "partition":
                    return new Columns.SameInt();
                case "offset":
                    Columns.Longs longs = new Columns.Longs();
                    longs.values = new long[ROWS];
                    return longs;
                case "timestamp":
                    Columns.Times times = new Columns.Times();
                    times.millis = new long[ROWS];
                    return times;
                case "timestampType":
                    Columns.Ints ints = new Columns.Ints();
                    ints.values = new int[ROWS];
                    return ints;
                default:
                    Columns.Spans spans = new Columns.Spans(DataTypes.BinaryType);
                    int size = name.equals("key") ? 16 : 100;
                    spans.buf = new byte[ROWS * size];
                    new Random(1).nextBytes(spans.buf);
                    spans.start = new int[ROWS];
                    spans.length = new int[ROWS];
                    for (int row = 0; row < ROWS; row++) {
                        spans.start[row] = row * size;
                        spans.length[row] = size;
                    }
                    return spans;
            }
        }
    }
}
