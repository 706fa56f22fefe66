package org.kodec.runtime;

import java.util.Arrays;

/**
 * A tagged field that the schema does not know.
 *
 * @param tag its number
 * @param data its bytes
 */
public record TaggedField(long tag, byte[] data) {
    @Override
    public boolean equals(Object other) {
        return other instanceof TaggedField && ((TaggedField) other).tag == tag
                && Arrays.equals(((TaggedField) other).data, data);
    }

    @Override
    public int hashCode() {
        return 31 * Long.hashCode(tag) + Arrays.hashCode(data);
    }

    @Override
    public String toString() {
        return "TaggedField[tag=" + tag + ", data=" + Values.hex(data) + "]";
    }
}
