package org.kodec.spark;

/** What this source leaves to the one in Python, with the reason. */
final class NeedsPythonSource extends RuntimeException {
    private static final long serialVersionUID = 1L;

    enum Kind {
        /** A wrong option: the source in Python reports what would be right. */
        OPTION,
        /** Nothing was found at the paths; the source in Python reports this too. */
        PATHS,
        /** What that one alone can do. */
        ONLY,
        /** A URL of a store for which Hadoop has no file system here. */
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

    /** A URL of a store for which Hadoop has no file system here. */
    static NeedsPythonSource store(String reason) {
        return new NeedsPythonSource(Kind.STORE, reason);
    }

    /** What that one alone can do. */
    static NeedsPythonSource only(String reason) {
        return new NeedsPythonSource(Kind.ONLY, reason);
    }
}
