package org.kodec.runtime;

/** Names and sizes of fields of fixed width that follow one another: for the error where they are not all there. */
public final class Fields {
    private final String[] names;
    private final int[] sizes;
    private final int size;

    private Fields(String[] names, int[] sizes, int size) {
        this.names = names;
        this.sizes = sizes;
        this.size = size;
    }

    /** Of names and numbers of bytes by turns. */
    public static Fields of(Object... pairs) {
        String[] names = new String[pairs.length / 2];
        int[] sizes = new int[pairs.length / 2];
        int size = 0;
        for (int index = 0; index < names.length; index++) {
            names[index] = (String) pairs[2 * index];
            sizes[index] = (Integer) pairs[2 * index + 1];
            size += sizes[index];
        }
        return new Fields(names, sizes, size);
    }

    /** The bytes that they take together. */
    public int size() {
        return size;
    }

    FormatException truncated(int pos, int end) {
        int at = pos;
        for (int index = 0; index < names.length; index++) {
            if (sizes[index] > end - at) {
                return FormatException.truncated(names[index], "", at, sizes[index], Math.max(0, end - at));
            }
            at += sizes[index];
        }
        throw new IllegalStateException("the run fits");
    }
}
