package org.kodec.spark;

import java.io.Closeable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * Files by their paths: of this machine directly, others through Hadoop's FileSystem.
 *
 * <p>A file or a folder has gone if a new listing of its folder lacks its name: that is a FileNotFoundException here. What is
 * listed, and cannot be opened or listed, is an {@link UnreachableException}, whichever error the system gives.
 */
final class Files {
    /** How S3A reads: the default of Hadoop 3.5 reads ahead and keeps the bytes, which fills the heap. */
    static final String STREAM_TYPE = "fs.s3a.input.stream.type";
    static final String CLASSIC = "classic";
    private static final String NOT_A_FILE = "it is not a regular file";
    /** Java has no path of such a folder. */
    static final String NOT_TEXT = "its name is not text in the encoding of this system";
    /** The schemes of URLs that the source in Python reads without Hadoop. */
    private static final Set<String> OF_PYTHON = Set.of("s3", "s3a", "gs", "az", "http", "https");
    /** By bucket and user: buckets that other code opened before, with other settings. */
    private static final Map<String, FileSystem> CLASSICS = new HashMap<>();

    private Files() {}

    /**
     * A file or a folder as it is listed.
     *
     * @param wrong why it is neither, or neither can be known; null for one that is
     */
    record Entry(String path, String name, boolean folder, long size, String wrong) {
        /** Throws UnreachableException unless it is a folder. */
        void requireFolder() throws UnreachableException {
            if (!folder) {
                throw new UnreachableException(path, wrong != null ? wrong : "it is not a folder");
            }
        }

        /** Throws UnreachableException unless it is a file. */
        void requireFile() throws UnreachableException {
            if (folder || wrong != null) {
                throw new UnreachableException(path, wrong != null ? wrong : NOT_A_FILE);
            }
        }
    }

    /** Bytes of a file by their position. */
    interface Source extends Closeable {
        /** Reads at most {@code count} bytes from {@code at} on; -1 at the end. */
        int read(long at, byte[] into, int start, int count) throws IOException;

        /** How many bytes there are. */
        long size() throws IOException;
    }

    /** Whether a path is of this machine. */
    static boolean isLocal(String path) {
        int colon = path.indexOf(':');
        return colon < 2 || path.indexOf('/') < colon || path.startsWith("file:");
    }

    /** Whether the source in Python reads a path: a local path, or a URL of some stores. */
    static boolean isOfPython(String path) {
        return isLocal(path) || OF_PYTHON.contains(path.substring(0, path.indexOf(':')));
    }

    /** A local path without its scheme; any other as it is. */
    static String plain(String path) {
        return path.startsWith("file:") ? new File(URI.create(path.replace(" ", "%20")).getPath()).getPath() : path;
    }

    /** The file system of a remote path. Throws IOException, also if its classes are missing. */
    private static FileSystem system(Path path, Configuration conf) throws IOException {
        try {
            FileSystem found = path.getFileSystem(conf);
            return readsAhead(path, found, conf) ? classic(path, conf) : found;
        } catch (UnsupportedFileSystemException error) {
            String scheme = path.toUri().getScheme();
            if (isOfPython(path.toString())) {
                throw NeedsPythonSource.store("no file system is known for " + scheme + ":");
            }
            throw new IOException("no file system is known for " + scheme + ":", error);
        } catch (NoClassDefFoundError error) {
            throw missing(path, error);
        } catch (RuntimeException error) {
            if (error.getCause() instanceof ClassNotFoundException) {
                throw missing(path, error);
            }
            if (error.getCause() instanceof UnknownHostException unknown) {
                throw new IOException("no host is known as " + unknown.getMessage(), error);
            }
            throw error;
        }
    }

    /** Whether other code opened a bucket before, with other settings for reading. */
    private static boolean readsAhead(Path path, FileSystem found, Configuration conf) {
        String ofBucket = "fs.s3a.bucket." + path.toUri().getHost() + STREAM_TYPE.substring("fs.s3a".length());
        return "s3a".equals(path.toUri().getScheme()) && CLASSIC.equals(conf.get(STREAM_TYPE))
                && conf.get(ofBucket) == null && !CLASSIC.equals(found.getConf().get(STREAM_TYPE));
    }

    private static FileSystem classic(Path path, Configuration conf) throws IOException {
        String key = path.toUri().getAuthority() + " " + UserGroupInformation.getCurrentUser();
        synchronized (CLASSICS) {
            FileSystem found = CLASSICS.get(key);
            if (found == null) {
                found = FileSystem.newInstance(path.toUri(), conf);
                CLASSICS.put(key, found);
            }
            return found;
        }
    }

    private static IOException missing(Path path, Throwable error) {
        String scheme = path.toUri().getScheme();
        String module = scheme.startsWith("s3") ? "hadoop-aws" : scheme.startsWith("abfs") ? "hadoop-azure" : null;
        String of = module == null ? "the Hadoop file system of " + scheme + ":"
                : "org.apache.hadoop:" + module + ":" + VersionInfo.getVersion() + ", as --packages takes it,";
        return new IOException(of + " is not on the class path, or not all that it needs", error);
    }

    /** An error of a file system in one line, with advice if it is about credentials. */
    static String said(IOException error) {
        String text = String.valueOf(error.getMessage()).lines().findFirst().orElse("").strip();
        if (error instanceof FileNotFoundException) {
            return "there is no " + text;
        }
        boolean denied = error instanceof AccessDeniedException || error instanceof AccessControlException;
        return text + (denied ? "; credentials are spark.hadoop.fs.s3a.access.key and .secret.key, or what"
                + " fs.s3a.aws.credentials.provider names; of other stores, what their documentation says" : "");
    }

    /** What is at a path. Throws FileNotFoundException, UnreachableException. */
    static Entry at(String path, Configuration conf) throws IOException {
        if (isLocal(path)) {
            File file = new File(plain(path)).getAbsoluteFile();
            if (file.getName().matches("[.]{1,2}")) {
                file = file.getCanonicalFile();
            }
            Entry found;
            try {
                found = entry(file.toPath());
            } catch (InvalidPathException error) {
                found = null;
            }
            if (found == null) {
                throw new FileNotFoundException(file.getPath());
            }
            if (found.wrong() != null) {
                throw new UnreachableException(found.path(), found.wrong());
            }
            return found;
        }
        Path given = new Path(path);
        return entry(system(given, conf).getFileStatus(given));
    }

    /** A remote path, treated as a folder; the listing of a file is the file. */
    static Entry folder(String path) {
        Path given = new Path(path);
        return new Entry(given.toString(), given.getName(), true, 0, null);
    }

    /** Whether two paths of a store are the same but for their schemes. */
    static boolean isSame(String one, String other) {
        return !isLocal(one) && new Path(one).toUri().getPath().equals(new Path(other).toUri().getPath());
    }

    private static Entry entry(FileStatus status) {
        Path path = status.getPath();
        return new Entry(path.toString(), path.getName(), status.isDirectory(), status.getLen(), null);
    }

    /** A local file or folder, or what a link leads to; null if there is no such name. */
    private static Entry entry(java.nio.file.Path path) {
        String wrong;
        try {
            BasicFileAttributes what = java.nio.file.Files.readAttributes(path, BasicFileAttributes.class);
            if (what.isDirectory() && !java.nio.file.Path.of(path.toString()).equals(path)) {
                return new Entry(path.toString(), name(path), false, 0, NOT_TEXT);
            }
            wrong = what.isDirectory() || what.isRegularFile() ? null : NOT_A_FILE;
            return new Entry(path.toString(), name(path), what.isDirectory(), what.size(), wrong);
        } catch (NoSuchFileException error) {
            if (!java.nio.file.Files.isSymbolicLink(path)) {
                return null;
            }
            wrong = "it is a dangling link";
        } catch (IOException error) {
            wrong = UnreachableException.reason(error, path.toString());
        }
        return new Entry(path.toString(), name(path), false, 0, wrong);
    }

    private static String name(java.nio.file.Path path) {
        return path.getFileName() == null ? "" : path.getFileName().toString();
    }

    /** What is in a folder. Throws FileNotFoundException if it has gone, UnreachableException. */
    static List<Entry> in(String folder, Configuration conf) throws IOException {
        try {
            return isLocal(folder) ? inLocal(new File(folder)) : inRemote(new Path(folder), conf);
        } catch (FileNotFoundException | NoSuchFileException error) {
            throw gone(folder, error, conf);
        }
    }

    private static List<Entry> inRemote(Path folder, Configuration conf) throws IOException {
        List<Entry> found = new ArrayList<>();
        for (FileStatus each : system(folder, conf).listStatus(folder)) {
            found.add(entry(each));
        }
        return found;
    }

    private static List<Entry> inLocal(File folder) throws IOException {
        List<Entry> found = new ArrayList<>();
        List<java.nio.file.Path> missing = new ArrayList<>();
        try (DirectoryStream<java.nio.file.Path> inside = java.nio.file.Files.newDirectoryStream(folder.toPath())) {
            for (java.nio.file.Path each : inside) {
                Entry made = entry(each);
                if (made != null) {
                    found.add(made);
                } else {
                    missing.add(each);
                }
            }
        } catch (DirectoryIteratorException error) {
            throw UnreachableException.of(folder.getPath(), error.getCause());
        } catch (NoSuchFileException error) {
            throw error;
        } catch (IOException error) {
            throw UnreachableException.of(folder.getPath(), error);
        }
        if (!missing.isEmpty()) {
            // deleted since, if a new listing lacks it
            String[] names = folder.list();
            Set<String> again = names == null ? Set.of() : new HashSet<>(Arrays.asList(names));
            for (java.nio.file.Path each : missing) {
                if (again.contains(name(each))) {
                    found.add(new Entry(each.toString(), name(each), false, 0, UnreachableException.NO_SUCH_FILE));
                }
            }
        }
        return found;
    }

    /** The error of what could not be found: FileNotFoundException if it has gone, otherwise UnreachableException. */
    private static IOException gone(String path, IOException error, Configuration conf) {
        String folder = parent(path);
        try {
            if (folder == null || in(folder, conf).stream().noneMatch(each -> each.name().equals(name(path)))) {
                return new FileNotFoundException(path);
            }
        } catch (FileNotFoundException around) {
            return new FileNotFoundException(path);
        } catch (IOException around) {
            // it may be there
        }
        return UnreachableException.of(path, error);
    }

    /** The folder that contains a path; null if there is none. */
    static String parent(String path) {
        if (isLocal(path)) {
            return new File(path).getParent();
        }
        Path parent = new Path(path).getParent();
        return parent == null ? null : parent.toString();
    }

    /** The last name of a path; empty if there is none. */
    static String name(String path) {
        return path == null ? "" : path.substring(path.lastIndexOf('/') + 1);
    }

    /** A path by which a file that has several is known. */
    static String real(String path) throws IOException {
        return isLocal(path) ? new File(plain(path)).getCanonicalPath() : path;
    }

    /** The path of {@code name} in a folder. */
    static String child(String folder, String name) {
        return isLocal(folder) ? new File(folder, name).getPath() : new Path(folder, name).toString();
    }

    /** Opens a file. Throws FileNotFoundException if it has gone, UnreachableException. */
    static Source open(String path, Configuration conf) throws IOException {
        try {
            return hint(path, conf);
        } catch (FileNotFoundException error) {
            throw gone(path, error, conf);
        }
    }

    /** Opens a file that can be done without: that it has gone is as good as any other error. */
    static Source hint(String path, Configuration conf) throws IOException {
        if (isLocal(path)) {
            File named = new File(plain(path));
            if (named.exists() && !named.isFile()) {
                // to open a pipe would wait for its writer
                throw new UnreachableException(path, NOT_A_FILE);
            }
            RandomAccessFile file = new RandomAccessFile(named, "r");
            return new Source() {
                @Override
                public int read(long at, byte[] into, int start, int count) throws IOException {
                    try {
                        file.seek(at);
                        return file.read(into, start, count);
                    } catch (IOException error) {
                        throw UnreachableException.of(path, error);
                    }
                }

                @Override
                public long size() throws IOException {
                    return file.length();
                }

                @Override
                public void close() throws IOException {
                    file.close();
                }
            };
        }
        Path given = new Path(path);
        FileSystem system = system(given, conf);
        FileStatus status = system.getFileStatus(given);
        long size = status.getLen();
        // so that a store of objects is asked for the range that is wanted, and not for all that follows
        FSDataInputStream in = FutureIO.awaitFuture(system.openFile(given)
                .withFileStatus(status)
                .opt("fs.option.openfile.read.policy", "random")
                .opt("fs.s3a.experimental.input.fadvise", "random")
                .build());
        return new Source() {
            @Override
            public int read(long at, byte[] into, int start, int count) throws IOException {
                try {
                    if (in.getPos() != at) {
                        in.seek(at);
                    }
                    return in.read(into, start, count);
                } catch (IOException error) {
                    throw UnreachableException.of(path, error);
                }
            }

            @Override
            public long size() {
                return size;
            }

            @Override
            public void close() throws IOException {
                in.close();
            }
        };
    }

    /** All of a small file as text; null if there is none. Throws UnreachableException. */
    static String text(String path, Configuration conf) throws IOException {
        try (Source source = open(path, conf)) {
            return new String(all(source, 1 << 24), java.nio.charset.StandardCharsets.UTF_8);
        } catch (FileNotFoundException error) {
            return null;
        } catch (IOException error) {
            throw UnreachableException.of(path, error);
        }
    }

    /** All bytes of a file of at most {@code most}. */
    static byte[] all(Source source, int most) throws IOException {
        long size = source.size();
        if (size > most) {
            throw new IOException("larger than " + most + " bytes");
        }
        return range(source, 0, (int) size);
    }

    /** The bytes from {@code at}; fewer if the file ends before. */
    static byte[] range(Source source, long at, int count) throws IOException {
        byte[] data = new byte[count];
        int have = 0;
        while (have < count) {
            int more = source.read(at + have, data, have, count - have);
            if (more <= 0) {
                return java.util.Arrays.copyOf(data, have);
            }
            have += more;
        }
        return data;
    }
}
