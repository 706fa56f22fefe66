package org.kodec.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.kodec.kafka.log.LogSegment;
import org.kodec.kafka.log.RecordBatch;
import org.kodec.runtime.Buffer;
import org.kodec.runtime.Codecs;

/** What cannot be saved: the bytes of logs read, their checksums, and what is in them decompressed, with no row made. */
public final class Alone {
    private Alone() {}

    /** Reads all segments below a folder; how many bytes came of it. */
    public static long read(String folder, boolean checksums, boolean decompressed) throws IOException {
        List<Path> logs;
        try (Stream<Path> all = Files.walk(Path.of(folder))) {
            logs = all.filter(each -> each.toString().endsWith(".log")).sorted().toList();
        }
        long found = 0;
        RecordBatch.Rows rows = new RecordBatch.Rows(0, 1);
        Buffer raw = new Buffer(1 << 16);
        Codecs codecs = new Codecs();
        try {
            for (Path log : logs) {
                byte[] data = Files.readAllBytes(log);
                int size;
                for (int at = 0; at < data.length; at += size) {
                    size = (int) LogSegment.Entry.peekLenEntry(data, at);
                    if (!rows.head(data, at, at + size, checksums)) {
                        throw new IOException("a batch at " + at + " of " + log);
                    }
                    raw.size = 0;
                    int start = rows.headRecordsStart;
                    if (decompressed && !rows.codec().equals("none")) {
                        codecs.decompress(rows.codec(), data, start, start + rows.headRecordsLength, raw, 1L << 30);
                    }
                    found += decompressed ? raw.size : size;
                }
            }
        } finally {
            codecs.close();
        }
        return found;
    }
}
