package org.kodec.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog whose tables are paths, so that SQL reads logs without creating a table: {@code SELECT * FROM
 * `kafka-log`.`/data/kafka-logs`}, with {@code spark.sql.catalog.kafka-log} set to this class. Options of the source
 * that all its tables have are set as {@code spark.sql.catalog.kafka-log.includeHeaders} and so on.
 */
public final class LogCatalog implements TableCatalog {
    private static final String ONLY_READS = "kafka-log: tables are the logs at paths and cannot be created or changed";

    private String name;
    private Map<String, String> options = Map.of();

    /** For Spark. */
    public LogCatalog() {}

    @Override
    public void initialize(String given, CaseInsensitiveStringMap settings) {
        name = given;
        options = settings.asCaseSensitiveMap();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Table loadTable(Identifier table) throws NoSuchTableException {
        if (table.namespace().length > 0) {
            throw new NoSuchTableException(table);
        }
        Map<String, String> all = new HashMap<>(options);
        all.put("path", table.name());
        KafkaLogSource source = new KafkaLogSource();
        StructType schema = source.inferSchema(new CaseInsensitiveStringMap(all));
        return source.getTable(schema, new Transform[0], all);
    }

    @Override
    public Identifier[] listTables(String[] namespace) {
        return new Identifier[0];
    }

    /** Refuses. */
    @SuppressWarnings("deprecation") // all versions of Spark have this one
    @Override
    public Table createTable(Identifier table, StructType schema, Transform[] parts, Map<String, String> properties) {
        throw new UnsupportedOperationException(ONLY_READS);
    }

    @Override
    public Table alterTable(Identifier table, TableChange... changes) {
        throw new UnsupportedOperationException(ONLY_READS);
    }

    @Override
    public boolean dropTable(Identifier table) {
        throw new UnsupportedOperationException(ONLY_READS);
    }

    @Override
    public void renameTable(Identifier from, Identifier to) {
        throw new UnsupportedOperationException(ONLY_READS);
    }
}
