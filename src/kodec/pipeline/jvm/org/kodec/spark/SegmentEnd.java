package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/** Where a segment ends, whose last batch a broker may be writing, or whose headers may be damaged. */
final class SegmentEnd {
    private SegmentEnd() {}

    /**
     * The offset after the last batch of a segment; with {@code whole}, after the last complete batch, as a broker may
     * be writing the next one. Throws FormatException for damage that is not skipped.
     */
    static long offset(String path, long base, ReadSettings reading, Configuration conf, boolean whole) throws IOException {
        try (Segment segment = new Segment(path, base, reading, conf)) {
            Segment.Head last = segment.lastHead();
            if (last == null) {
                return base;
            }
            // its offset may be damaged, which would leave out records
            segment.find(last.last());
            if (whole) {
                segment.batch(last);
            }
            return last.last() + 1;
        } catch (FormatException error) {
            if (!whole && !reading.skip()) {
                throw error;
            }
        }
        return highest(path, base, reading, true, conf);
    }

    /**
     * A slice with an end, that of the currently last complete batch, and with the bytes after it if they are not a
     * batch; its reader reports the error. Throws FileNotFoundException if the file no longer exists.
     */
    static SegmentSlice pinned(SegmentSlice piece, ReadSettings reading, Configuration conf) throws IOException {
        try (Segment segment = new Segment(piece.path(), piece.base(), reading, conf)) {
            Segment.Head last = segment.lastHead();
            if (last == null) {
                return piece.ended(piece.base(), true);
            }
            // its offset may be damaged, which would leave out records
            segment.find(last.last());
            if (reading.checkCrc()) {
                segment.batch(last);
            }
            return piece.ended(last.last() + 1, last.position() + last.size() < segment.size());
        } catch (FormatException error) {
            ReadSettings lenient = reading.heads(true, true);
            return piece.ended(highest(piece.path(), piece.base(), lenient, reading.checkCrc(), conf), true);
        } catch (FileNotFoundException error) {
            throw error;
        } catch (IOException | UncheckedIOException error) {
            return piece;
        }
    }

    /** The offset after the highest of the good batches, whatever their order is. */
    private static long highest(String path, long base, ReadSettings reading, boolean crc, Configuration conf)
            throws IOException {
        SegmentSlice whole = new SegmentSlice("", 0, path, base, -1, -1, 0, -1, false, 0, Long.MAX_VALUE, false);
        try (Batches batches = new Batches(List.of(whole), reading.heads(crc, true), conf, 0, 0, false)) {
            long end = base;
            while (batches.advance() != Step.END) {
                batches.walk.skip();
                end = Math.max(end, batches.walk.nextOffset());
            }
            FormatException damage = batches.walk == null ? null : batches.walk.damageInside();
            if (damage != null && !reading.skip()) {
                // bytes that a batch follows are not the end
                throw damage.inSource(path);
            }
            return end;
        }
    }
}
