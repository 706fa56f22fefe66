package org.kodec.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.kodec.runtime.FormatException;

/** Queries and streams as the Spark source answers them, without a session: JSON for their callers. */
public final class SourceDump {
    private static final ObjectMapper JSON = new ObjectMapper();

    private SourceDump() {}

    private interface Answer {
        JsonNode give() throws IOException;
    }

    /** The answer, or what is wrong: {@code error}, and {@code elsewhere} for what is left to the other source. */
    private static JsonNode said(Answer answer) throws IOException {
        ObjectNode found = JSON.createObjectNode();
        try {
            return answer.give();
        } catch (NeedsPythonSource error) {
            return found.put("elsewhere", error.getMessage());
        } catch (IllegalArgumentException | FormatException | IOException error) {
            return found.put("error", error.getMessage());
        } catch (SparkRuntimeException error) {
            // of a task
            return found.put("error", error.getMessageParameters().get("path").substring("of a log: ".length()));
        } catch (UncheckedIOException error) {
            return found.put("error", error.getCause().toString());
        }
    }

    /**
     * Rows of a query.
     *
     * @param text JSON with {@code options}, and filters: {@code first}, {@code last}, {@code topics}; and
     *     {@code meanwhile}, between planning and reading, files that are deleted, or replaced by another one
     */
    public static String rows(byte[] text) throws IOException {
        JsonNode asked = JSON.readTree(text);
        return said(() -> {
            Options options = options(asked);
            Configuration conf = new Configuration(false);
            Planner.logs(options, Planner.Bounds.NONE, conf);
            LogScan scan = new LogScan(options, options.schema(), conf);
            scan.pushFilters(filters(asked));
            InputPartition[] tasks = scan.planInputPartitions();
            for (JsonNode each : asked.path("meanwhile")) {
                Path path = Path.of(each.get(0).asText());
                java.nio.file.Files.delete(path);
                if (each.has(1)) {
                    java.nio.file.Files.copy(Path.of(each.get(1).asText()), path);
                }
            }
            return rows(options.schema(), tasks, scan.createReaderFactory());
        }).toString();
    }

    /**
     * The segments at paths.
     *
     * @param text JSON with {@code options}
     */
    public static String segments(byte[] text) throws IOException {
        JsonNode asked = JSON.readTree(text);
        return said(() -> {
            ArrayNode found = JSON.createArrayNode();
            for (TopicLog log : Planner.logs(options(asked), Planner.Bounds.NONE, new Configuration(false)).values()) {
                log.pieces.forEach(each -> found.add(each.path()));
            }
            return found;
        }).toString();
    }

    /**
     * What a stream says to one question after another.
     *
     * @param text JSON with {@code options} and {@code steps}: lists of {@code initial}; {@code latest}, an offset, a
     *     limit (-1 for none, 0 for that of the options); {@code report}; {@code ending}; {@code rows}, two offsets
     */
    public static String stream(byte[] text) throws IOException {
        JsonNode asked = JSON.readTree(text);
        ArrayNode found = JSON.createArrayNode();
        JsonNode made = said(() -> {
            Options options = options(asked);
            LogStream stream = new LogStream(options, options.schema(), new Configuration(false));
            for (JsonNode step : asked.get("steps")) {
                found.add(said(() -> answer(options, stream, step)));
            }
            return found;
        });
        return made.toString();
    }

    private static JsonNode answer(Options options, LogStream stream, JsonNode step) throws IOException {
        switch (step.get(0).asText()) {
            case "initial":
                return JSON.readTree(stream.initialOffset().json());
            case "report":
                return JSON.readTree(stream.reportLatestOffset().json());
            case "latest": {
                long most = step.get(2).asLong();
                ReadLimit limit = most < 0 ? ReadLimit.allAvailable()
                        : most == 0 ? stream.getDefaultReadLimit() : ReadLimit.maxRows(most);
                return JSON.readTree(stream.latestOffset(offset(stream, step.get(1)), limit).json());
            }
            case "ending":
                stream.prepareForTriggerAvailableNow();
                return JSON.nullNode();
            default:
                return rows(options.schema(),
                        stream.planInputPartitions(offset(stream, step.get(1)), offset(stream, step.get(2))),
                        stream.createReaderFactory());
        }
    }

    private static Offset offset(LogStream stream, JsonNode value) {
        return stream.deserializeOffset(value.toString());
    }

    private static Options options(JsonNode asked) {
        Map<String, String> given = new HashMap<>();
        for (Iterator<String> names = asked.get("options").fieldNames(); names.hasNext(); ) {
            String name = names.next();
            given.put(name, asked.get("options").get(name).asText());
        }
        return new Options(given);
    }

    private static Filter[] filters(JsonNode asked) {
        List<Filter> found = new ArrayList<>();
        if (asked.has("first")) {
            found.add(new GreaterThanOrEqual("offset", asked.get("first").asLong()));
        }
        if (asked.has("last")) {
            found.add(new LessThanOrEqual("offset", asked.get("last").asLong()));
        }
        if (asked.has("topics")) {
            List<Object> names = new ArrayList<>();
            asked.get("topics").forEach(each -> names.add(each.asText()));
            found.add(new In("topic", names.toArray()));
        }
        return found.toArray(new Filter[0]);
    }

    private static JsonNode rows(StructType schema, InputPartition[] tasks, PartitionReaderFactory readers)
            throws IOException {
        ArrayNode found = JSON.createArrayNode();
        for (InputPartition task : tasks) {
            try (PartitionReader<ColumnarBatch> reader = readers.createColumnarReader(task)) {
                while (reader.next()) {
                    for (Iterator<InternalRow> rows = reader.get().rowIterator(); rows.hasNext(); ) {
                        found.add(row(schema, rows.next()));
                    }
                }
            }
        }
        return found;
    }

    private static JsonNode row(StructType schema, InternalRow row) {
        ArrayNode found = JSON.createArrayNode();
        for (int index = 0; index < schema.length(); index++) {
            if (row.isNullAt(index)) {
                found.addNull();
                continue;
            }
            switch (schema.apply(index).dataType().simpleString()) {
                case "binary" -> found.add(hex(row.getBinary(index)));
                case "string" -> found.add(row.getUTF8String(index).toString());
                case "int" -> found.add(row.getInt(index));
                case "boolean" -> found.add(row.getBoolean(index));
                case "bigint", "timestamp" -> found.add(row.getLong(index));
                default -> {
                    ArrayNode headers = found.addArray();
                    ArrayData list = row.getArray(index);
                    for (int n = 0; n < list.numElements(); n++) {
                        InternalRow header = list.getStruct(n, 2);
                        headers.addArray().add(header.getUTF8String(0).toString())
                                .add(header.isNullAt(1) ? null : hex(header.getBinary(1)));
                    }
                }
            }
        }
        return found;
    }

    private static String hex(byte[] data) {
        return org.kodec.runtime.Values.hex(data);
    }
}
