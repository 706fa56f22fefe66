package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.kodec.runtime.FormatException;

/** Where a segment ends, whose last batch a broker may be writing, or whose headers may be damaged. */
final class SegmentEnd {
    private SegmentEnd() {}

    /**
     * The offset after the last batch of a segment; with {@code whole}, after the last complete batch, as a broker may
     * be writing the next one. Throws FormatException for damage.
     */
    static long offset(String path, long base, ReadSettings reading, Configuration conf, boolean whole) throws IOException {
        try (Segment segment = new Segment(path, base, reading, conf)) {
            try {
                Segment.Head last = last(segment);
                if (last != null && whole) {
                    segment.batch(last);
                }
                return last == null ? base : segment.after(last);
            } catch (FormatException error) {
                // no broker is in the middle of writing a format that is not known
                if (!whole || error.kind() == FormatException.Kind.UNSUPPORTED) {
                    throw error;
                }
            }
            return segment.good(true, true);
        }
    }

    /**
     * A slice with an end, that of the currently last complete batch, and with the bytes after it if they are not a
     * batch; its reader reports the error. Throws FileNotFoundException if the file no longer exists.
     */
    static SegmentSlice pinned(SegmentSlice piece, ReadSettings reading, Configuration conf) throws IOException {
        try (Segment segment = new Segment(piece.path(), piece.base(), reading, conf)) {
            try {
                Segment.Head last = last(segment);
                if (last == null) {
                    return piece.ended(piece.base(), true);
                }
                if (reading.checkCrc()) {
                    segment.batch(last);
                }
                return piece.ended(segment.after(last), last.position() + last.size() < segment.size());
            } catch (FormatException error) {
                return piece.ended(segment.good(reading.checkCrc(), false), true);
            }
        } catch (FileNotFoundException error) {
            throw error;
        } catch (IOException | UncheckedIOException error) {
            return piece;
        }
    }

    /** The last batch; null if there is none. Throws FormatException, also if its offset cannot be right. */
    private static Segment.Head last(Segment segment) {
        Segment.Head last = segment.lastHead();
        if (last != null) {
            // its offset may be damaged, which would leave out records
            segment.find(last.last());
        }
        return last;
    }
}
