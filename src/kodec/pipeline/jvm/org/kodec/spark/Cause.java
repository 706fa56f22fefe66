package org.kodec.spark;

import org.kodec.runtime.FormatException;

/**
 * Why something of a log is not among the rows; the names, values and rules of {@code kodec.log.omissions.Cause}.
 *
 * <p>A query fails for all causes but the last two; with {@code failOnDataLoss=false} it goes on past what is MISSING. The
 * source in Python skips what is DAMAGED or UNKNOWN in its mode {@code permissive}.
 */
enum Cause {
    /** Stored bytes are wrong, or a block of the disk cannot be read. */
    DAMAGED("damaged"),
    /** A magic, codec or version that is not known, or a limit that would be passed. */
    UNKNOWN("unknown"),
    /** No file holds it, and something shows that it existed. */
    MISSING("missing"),
    /** It is listed, and cannot be opened, or read as what its name says. */
    UNREACHABLE("unreachable"),
    /** A partial batch at the end of the newest segment. */
    UNFINISHED("unfinished"),
    /** Rightly: deleted by retention, compacted, or moved to remote storage. */
    ABSENT("absent");

    final String value;

    Cause(String value) {
        this.value = value;
    }

    /** The cause that an error of a reader stands for. */
    static Cause of(Exception error) {
        if (error instanceof FormatException wrong) {
            boolean unknown = wrong.kind() == FormatException.Kind.UNSUPPORTED
                    || wrong.kind() == FormatException.Kind.LIMIT_EXCEEDED;
            return unknown ? UNKNOWN : DAMAGED;
        }
        if (error instanceof DataLossException) {
            return MISSING;
        }
        // a block of a disk that cannot be read is damage: no later try will get it
        boolean disk = String.valueOf(error.getMessage()).endsWith(": Input/output error");
        return disk ? DAMAGED : error instanceof NeedsPythonSource ? UNKNOWN : UNREACHABLE;
    }
}
