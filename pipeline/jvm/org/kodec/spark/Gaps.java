package org.kodec.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.kodec.kafka.log.LogSegment;
import org.kodec.kafka.log.MessageSet;
import org.kodec.kafka.log.RecordBatch;

/** What explains that offsets are in no segment, and whether a log goes on behind a batch that is not whole. */
final class Gaps {
    private static final int CHUNK = 4 << 20;
    /** The most bytes whose checksums are computed to find a batch. */
    private static final long MOST_TRIED = 256L << 20;

    private Gaps() {}

    /** The base offset of the segment after that of a piece; as many as a segment can have where there is none. */
    static long nextBase(Piece piece, Configuration conf) throws IOException {
        long next = piece.base() + Batches.MAX_RELATIVE + 1;
        for (Files.Entry each : Files.in(Files.parent(piece.path()), conf)) {
            long base = Names.segment(each.name());
            if (base > piece.base()) {
                next = Math.min(next, base);
            }
        }
        return next;
    }

    /** Whether the cleaner's checkpoint says that the log is compacted, or any batch of it shows it. */
    static boolean isCompacted(String folder, Piece piece, Configuration conf) throws IOException {
        String text = Files.text(Files.child(Files.parent(folder), Names.CLEANER_OFFSETS), conf);
        if (text != null) {
            try {
                Map<Names.TopicPartition, Long> offsets = Names.checkpoint(text);
                if (offsets.getOrDefault(new Names.TopicPartition(piece.topic(), piece.partition()), 0L) > 0) {
                    return true;
                }
            } catch (NumberFormatException error) {
                // what it says is not known
            }
        }
        List<Files.Entry> logs = new ArrayList<>();
        for (Files.Entry each : Files.in(folder, conf)) {
            if (Names.segment(each.name()) >= 0) {
                logs.add(each);
            }
        }
        logs.sort(Comparator.comparingLong(each -> Names.segment(each.name())));
        for (int index = 0; index < logs.size(); index++) {
            if (leavesOffsetsOut(logs.get(index), index + 1 < logs.size(), conf)) {
                return true;
            }
        }
        return false;
    }

    private static boolean leavesOffsetsOut(Files.Entry log, boolean closed, Configuration conf)
            throws IOException {
        RecordBatch.Rows rows = new RecordBatch.Rows(0, 1);
        long base = Names.segment(log.name());
        long before = base - 1;
        try (Files.Source source = Files.open(log.path(), conf)) {
            long size = source.size();
            for (long pos = 0; size - pos >= RecordBatch.MIN_SIZE; ) {
                byte[] head = Files.range(source, pos, RecordBatch.MIN_SIZE);
                if (head.length < RecordBatch.MIN_SIZE) {
                    return false;
                }
                long whole = LogSegment.Entry.peekLenEntry(head, 0);
                if (whole < RecordBatch.MIN_SIZE || whole > size - pos) {
                    return false;
                }
                if (LogSegment.Entry.peekMagic(head, 0) != Batches.NEWEST) {
                    return true;
                }
                // of the head alone: its rules need no content
                rows.head(head, 0, head.length, false);
                long last = rows.headBaseOffset + rows.headLastOffsetDelta;
                if (rows.headBaseOffset > before + 1 || rows.headNumRecords != rows.headLastOffsetDelta + 1L) {
                    return true;
                }
                before = last;
                pos += whole;
            }
            return closed && before < base && size == 0;
        }
    }

    /** Whether a whole batch with a right checksum, that can follow, starts behind {@code pos}. */
    static boolean batchAfter(Files.Source source, long pos, long last, Reading reading) throws IOException {
        int frame = LogSegment.Entry.peekSize();
        long size = source.size();
        long tried = 0;
        RecordBatch.Rows rows = new RecordBatch.Rows(0, 1);
        MessageSet.Rows old = new MessageSet.Rows(0, 1);
        for (long start = pos + 1; size - start >= frame; start += CHUNK) {
            byte[] block = Files.range(source, start, (int) Math.min(CHUNK + frame, size - start));
            for (int index = 0; index + frame <= block.length && index < CHUNK; index++) {
                long magic = LogSegment.Entry.peekMagic(block, index);
                long whole = LogSegment.Entry.peekLenEntry(block, index);
                if (magic < 0 || magic > Batches.NEWEST || whole < MessageSet.Entry.MIN_SIZE
                        || whole > size - start - index || whole > reading.batchBytes()
                        || LogSegment.Entry.peekBaseOffset(block, index) <= last) {
                    continue;
                }
                tried += whole;
                if (tried > MOST_TRIED) {
                    return true;
                }
                byte[] batch = Files.range(source, start + index, (int) whole);
                boolean right = magic == Batches.NEWEST
                        ? rows.head(batch, 0, batch.length, true)
                        : old.head(batch, 0, batch.length, true);
                if (right) {
                    return true;
                }
            }
        }
        return false;
    }
}
