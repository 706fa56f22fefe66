package org.kodec.spark;

/** The next step of reading. */
enum Step {
    /** A batch, whose head is read. */
    BATCH,
    /** The rows so far must be returned first. */
    FLUSH,
    /** Nothing. */
    END
}
