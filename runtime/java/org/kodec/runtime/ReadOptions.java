package org.kodec.runtime;

/**
 * How strict a generated reader is, and how much it may allocate.
 *
 * @param checkCrc verify checksum fields
 * @param verify verify the other derived fields (last, max) against their sources
 * @param decompressedBytes the most bytes that all compressed fields of one input may decompress to
 * @param elements the most elements of one list; rows count together with the lists in them
 * @param depth the most levels that objects of streamed schemas may nest
 * @param compressed true inside decompressed bytes, where another compression is rejected
 * @param left how many bytes may still be decompressed, where several fields share the limit; null elsewhere
 */
public record ReadOptions(
        boolean checkCrc, boolean verify, long decompressedBytes, long elements, int depth, boolean compressed,
        long[] left) {
    /** All is checked; 256 MiB, 4,000,000 elements, 100 levels. */
    public static final ReadOptions DEFAULT = new ReadOptions(true, true, 256L << 20, 4_000_000, 100, false, null);

    /** The same, with checksums verified or not. */
    public ReadOptions withCheckCrc(boolean value) {
        return new ReadOptions(value, verify, decompressedBytes, elements, depth, compressed, left);
    }

    /** The same, with lasts and maxima verified or not. */
    public ReadOptions withVerify(boolean value) {
        return new ReadOptions(checkCrc, value, decompressedBytes, elements, depth, compressed, left);
    }

    /** The same, with another limit of decompressed bytes. */
    public ReadOptions withDecompressedBytes(long value) {
        return new ReadOptions(checkCrc, verify, value, elements, depth, compressed, left);
    }

    /** The same, with another limit of elements. */
    public ReadOptions withElements(long value) {
        return new ReadOptions(checkCrc, verify, decompressedBytes, value, depth, compressed, left);
    }

    /** The same, with another limit of levels. */
    public ReadOptions withDepth(int value) {
        return new ReadOptions(checkCrc, verify, decompressedBytes, elements, value, compressed, left);
    }

    /** The options for what {@code codec} gave. Throws where compression would nest. */
    public ReadOptions inside(String path, String codec, long at) {
        if (compressed) {
            throw FormatException.malformed(path, codec + " data inside compressed data", at, null, null);
        }
        return new ReadOptions(checkCrc, verify, decompressedBytes, elements, depth, true, left);
    }

    /** The most bytes that the next compressed field may decompress to. */
    long mostDecompressed() {
        return left == null ? decompressedBytes : left[0];
    }

    /** Counts decompressed bytes. */
    void takeDecompressed(int size) {
        if (left != null) {
            left[0] -= size;
        }
    }

    /** The options for one input, whose compressed fields share the limit. */
    ReadOptions counted() {
        return left != null
                ? this
                : new ReadOptions(checkCrc, verify, decompressedBytes, elements, depth, compressed,
                        new long[] {decompressedBytes});
    }
}
