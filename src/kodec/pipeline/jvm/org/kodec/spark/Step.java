package org.kodec.spark;

/** What comes next of what is read. */
enum Step {
    /** A batch, whose head is read. */
    BATCH,
    /** The rows so far have to be taken first. */
    FLUSH,
    /** Nothing. */
    END
}
