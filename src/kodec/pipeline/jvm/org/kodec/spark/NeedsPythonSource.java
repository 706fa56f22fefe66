package org.kodec.spark;

/** What this source leaves to the one in Python, with the reason. */
final class NeedsPythonSource extends RuntimeException {
    private static final long serialVersionUID = 1L;

    enum Kind {
        /** An option that is wrong: that one says what would be right. */
        OPTION,
        /** What was looked for is not at the paths; that one says so too. */
        PATHS,
        /** What that one alone can do. */
        ONLY,
        /** A URL of a store for which Hadoop has nothing here. */
        STORE
    }

    final Kind kind;

    /** An option that is wrong. */
    NeedsPythonSource(String reason) {
        this(Kind.OPTION, reason);
    }

    NeedsPythonSource(Kind kind, String reason) {
        super(reason, null, false, false);
        this.kind = kind;
    }

    /** What is not at the paths. */
    static NeedsPythonSource paths(String reason) {
        return new NeedsPythonSource(Kind.PATHS, reason);
    }

    /** A URL of a store for which Hadoop has nothing here. */
    static NeedsPythonSource store(String reason) {
        return new NeedsPythonSource(Kind.STORE, reason);
    }

    /** What that one alone can do. */
    static NeedsPythonSource only(String reason) {
        return new NeedsPythonSource(Kind.ONLY, reason);
    }
}
