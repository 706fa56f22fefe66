package org.kodec.runtime;

/**
 * How strict a generated reader is, and how much it may allocate.
 *
 * @param checkCrc verify checksum fields
 * @param verify verify the other derived fields (last, max) against their sources
 * @param decompressedBytes the most bytes that one compressed field may decompress to
 * @param elements the most elements of one list; rows count together with the lists in them
 * @param depth the most levels that objects of streamed schemas may nest
 * @param compressed true inside decompressed bytes, where another compression is rejected
 */
public record ReadOptions(
        boolean checkCrc, boolean verify, long decompressedBytes, long elements, int depth, boolean compressed) {
    /** All is checked; 256 MiB, 4,000,000 elements, 100 levels. */
    public static final ReadOptions DEFAULT = new ReadOptions(true, true, 256L << 20, 4_000_000, 100, false);

    /** The same, with checksums verified or not. */
    public ReadOptions withCheckCrc(boolean value) {
        return new ReadOptions(value, verify, decompressedBytes, elements, depth, compressed);
    }

    /** The same, with lasts and maxima verified or not. */
    public ReadOptions withVerify(boolean value) {
        return new ReadOptions(checkCrc, value, decompressedBytes, elements, depth, compressed);
    }

    /** The same, with another limit of decompressed bytes. */
    public ReadOptions withDecompressedBytes(long value) {
        return new ReadOptions(checkCrc, verify, value, elements, depth, compressed);
    }

    /** The same, with another limit of elements. */
    public ReadOptions withElements(long value) {
        return new ReadOptions(checkCrc, verify, decompressedBytes, value, depth, compressed);
    }

    /** The same, with another limit of levels. */
    public ReadOptions withDepth(int value) {
        return new ReadOptions(checkCrc, verify, decompressedBytes, elements, value, compressed);
    }

    /** The options for what {@code codec} gave. Throws where compression would nest. */
    public ReadOptions inside(String path, String codec, long at) {
        if (compressed) {
            throw FormatException.malformed(path, codec + " data inside compressed data", at, null, null);
        }
        return new ReadOptions(checkCrc, verify, decompressedBytes, elements, depth, true);
    }
}
