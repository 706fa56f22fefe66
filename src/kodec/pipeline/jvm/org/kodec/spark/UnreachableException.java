package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** A file or a folder that is listed, and that cannot be opened, listed or read as what its name says. */
final class UnreachableException extends IOException {
    private static final long serialVersionUID = 1L;

    final String path;
    /** Without the path. */
    final String reason;

    UnreachableException(String path, String reason) {
        super(path + " cannot be read: " + reason);
        this.path = path;
        this.reason = reason;
    }

    /** With the reason of another error. */
    static UnreachableException of(String path, IOException error) {
        UnreachableException made = new UnreachableException(path, reason(error, path));
        made.initCause(error);
        return made;
    }

    /** What an error of the system says, without the path that Java puts before it. */
    static String reason(IOException error, String path) {
        if (error instanceof UnreachableException known) {
            return known.reason;
        }
        if (error instanceof AccessDeniedException) {
            return "Permission denied";
        }
        if (error instanceof NoSuchFileException) {
            return NO_SUCH_FILE;
        }
        if (error instanceof NotDirectoryException) {
            return "Not a directory";
        }
        String text = error instanceof FileSystemException known && known.getReason() != null ? known.getReason()
                : String.valueOf(error.getMessage()).lines().findFirst().orElse("");
        if (error instanceof FileNotFoundException) {
            // "/logs/t-0/00000000000000000000.log (Permission denied)" of a local file; a store names the path alone
            String start = path + " (";
            return text.startsWith(start) && text.endsWith(")") ? text.substring(start.length(), text.length() - 1)
                    : NO_SUCH_FILE;
        }
        return text;
    }

    /** The system's words. */
    static final String NO_SUCH_FILE = "No such file or directory";
}
