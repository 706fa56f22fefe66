package org.kodec.runtime;

/** An object of a streamed schema: it knows its stream, the object that it is a part of, and the outermost one. */
public abstract class StreamedObject {
    private Source io;
    private Object parent;
    private Object root;
    private long start;
    private int depth;
    private int order;
    long seen;
    private Span[] spans;

    /** Where the bytes of a field are. */
    static final class Span {
        final Source io;
        final int start;
        int stop;

        Span(Source io) {
            this.io = io;
            start = io.position();
            stop = start;
        }
    }

    /** What was not read from bytes. */
    protected StreamedObject() {}

    /** An instance: its value from the first use on. */
    protected static final class Kept<T> {
        /** Null where it is not known. */
        public T value;

        private boolean isReading;

        /** One that is not known. */
        public Kept() {}
    }

    /** An instance that is read; to be closed after it. */
    protected static final class Visit {
        private final Source.Reading reading;
        private final Kept<?> kept;
        private final int depth;
        private final int path;
        private final int sought;

        private Visit(Source.Reading reading, Kept<?> kept) {
            this.reading = reading;
            this.kept = kept;
            depth = reading.depth;
            path = reading.path.size();
            sought = reading.sought.size();
        }

        /** Goes on with what was read before. */
        public void leave() {
            reading.depth = depth;
            reading.path.subList(path, reading.path.size()).clear();
            Source.back(reading, sought);
            kept.isReading = false;
        }
    }

    /** The object that this one is a part of; null for the outermost. */
    public final Object _parent() {
        return parent;
    }

    /** The outermost object. */
    public final Object _root() {
        return root;
    }

    /** The stream that the object was read from; null if it was not. */
    public final Source _io() {
        return io;
    }

    /** Begins to read the object, which is called {@code name} in what holds it; {@code index} is -1 outside of lists. */
    protected final void begin(Source from, String name, long index, Object within, Object outermost) {
        Source.Reading reading = from.reading;
        int most = reading.opt.depth();
        String step = index < 0 ? name : name + "[" + index + "]";
        if (reading.depth >= most) {
            throw FormatException.limitExceeded(
                    reading.at(step), "nested too deep", from.at, reading.depth + 1, most, "depth");
        }
        io = from;
        parent = within;
        start = from.at;
        depth = ++reading.depth;
        root = outermost;
        if (within != null) {
            order = ((StreamedObject) within).order;
        }
        if (outermost == null) {
            root = within == null ? this : ((StreamedObject) within).root;
        }
        if (!name.isEmpty()) {
            reading.path.add(step);
        }
    }

    /** Ends it. */
    protected final void finish(String name) {
        io.reading.depth--;
        if (!name.isEmpty()) {
            io.reading.path.remove(io.reading.path.size() - 1);
        }
    }

    /** Begins to read an instance, which may be long after the object was read. */
    protected final Visit enter(Kept<?> kept, String name) {
        if (io == null) {
            throw FormatException.malformed(name, "the object was not read from bytes", 0, null, null);
        }
        Source.Reading reading = io.reading;
        if (kept.isReading) {
            throw io.malformed(name, "the instance needs itself", start, null, null);
        }
        int deep = Math.max(reading.depth, depth);
        int most = reading.opt.depth();
        if (deep >= most) {
            throw FormatException.limitExceeded(reading.at(name), "nested too deep", start, deep + 1, most, "depth");
        }
        Visit found = new Visit(reading, kept);
        kept.isReading = true;
        reading.depth = deep + 1;
        return found;
    }

    /** Sets the byte order: 1 is little-endian, 2 big-endian, 0 not known. */
    protected final void order(int value) {
        order = value;
    }

    /** The byte order, which bytes said. */
    protected final boolean _isLittle() {
        if (order == 0) {
            throw io.malformed("", "no byte order is known for this value", start, null, null);
        }
        return order == 1;
    }

    /** Notes that a field was read. */
    protected final void seen(int bit) {
        seen |= 1L << bit;
    }

    /** Compares what follows from bytes with what was read. */
    protected void check() {}

    /** Whether derived fields are compared. */
    final boolean checks(boolean isChecksum) {
        ReadOptions opt = io.reading.opt;
        return isChecksum ? opt.checkCrc() : opt.verify();
    }

    final void mark(Source from, int index, int count, boolean isEnd) {
        if (spans == null) {
            spans = new Span[count];
        }
        if (isEnd) {
            spans[index].stop = from.position();
        } else {
            spans[index] = new Span(from);
        }
    }

    /** Where the bytes of a field are; null if they were not read. */
    final Span span(int index) {
        return spans == null ? null : spans[index];
    }

    final FormatException differs(String name, boolean isChecksum, Object need, Object have) {
        if (isChecksum) {
            return FormatException.crcMismatch(
                    io.reading.at(name), start, ((Number) have).longValue(), ((Number) need).longValue());
        }
        return io.malformed(name, "not what it is derived from", start, need, have);
    }

    /** An error at the position of the object's stream. */
    final FormatException wrong(String name, String reason) {
        if (io == null) {
            return FormatException.malformed(name, reason, 0, null, null);
        }
        return io.malformed(name, reason, io.at, null, null);
    }

    /** An error: a number needs more than 64 bits. */
    final FormatException beyond() {
        String path = io == null ? "" : io.reading.at("");
        return FormatException.limitExceeded(
                path, "an expression exceeds 64 bits", io == null ? 0 : io.at, null, null, "64 bits");
    }
}
