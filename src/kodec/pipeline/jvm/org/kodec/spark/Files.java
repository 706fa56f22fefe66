package org.kodec.spark;

import java.io.Closeable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.AccessDeniedException;
import java.util.ArrayList;
import java.util.HashMap;
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

/** Files by their paths: of this machine directly, others through Hadoop's FileSystem. */
final class Files {
    /** How S3A reads: the default of Hadoop 3.5 reads ahead and keeps the bytes, which fills the heap. */
    static final String STREAM_TYPE = "fs.s3a.input.stream.type";
    static final String CLASSIC = "classic";
    /** The schemes of URLs that the source in Python reads without Hadoop. */
    private static final Set<String> OF_PYTHON = Set.of("s3", "s3a", "gs", "az", "http", "https");
    /** By bucket and user: buckets that other code opened before, with other settings. */
    private static final Map<String, FileSystem> CLASSICS = new HashMap<>();

    private Files() {}

    /** A file or a folder as it is listed. */
    record Entry(String path, String name, boolean folder, long size) {}

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

    /** What is at a path. */
    static Entry at(String path, Configuration conf) throws IOException {
        if (isLocal(path)) {
            File file = new File(plain(path)).getAbsoluteFile();
            if (file.getName().matches("[.]{1,2}")) {
                file = file.getCanonicalFile();
            }
            if (!file.exists()) {
                throw new FileNotFoundException(file.getPath());
            }
            return new Entry(file.getPath(), file.getName(), file.isDirectory(), file.length());
        }
        Path given = new Path(path);
        return entry(system(given, conf).getFileStatus(given));
    }

    /** A remote path, treated as a folder; the listing of a file is the file. */
    static Entry folder(String path) {
        Path given = new Path(path);
        return new Entry(given.toString(), given.getName(), true, 0);
    }

    /** Whether two paths of a store are the same but for their schemes. */
    static boolean isSame(String one, String other) {
        return !isLocal(one) && new Path(one).toUri().getPath().equals(new Path(other).toUri().getPath());
    }

    private static Entry entry(FileStatus status) {
        Path path = status.getPath();
        return new Entry(path.toString(), path.getName(), status.isDirectory(), status.getLen());
    }

    /** What is in a folder. */
    static List<Entry> in(String folder, Configuration conf) throws IOException {
        List<Entry> found = new ArrayList<>();
        if (isLocal(folder)) {
            File[] files = new File(folder).listFiles();
            if (files == null) {
                throw new FileNotFoundException(folder);
            }
            for (File each : files) {
                found.add(new Entry(each.getPath(), each.getName(), each.isDirectory(), each.length()));
            }
            return found;
        }
        Path given = new Path(folder);
        for (FileStatus each : system(given, conf).listStatus(given)) {
            found.add(entry(each));
        }
        return found;
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

    /** Opens a file. Throws FileNotFoundException if there is none. */
    static Source open(String path, Configuration conf) throws IOException {
        if (isLocal(path)) {
            RandomAccessFile file = new RandomAccessFile(plain(path), "r");
            return new Source() {
                @Override
                public int read(long at, byte[] into, int start, int count) throws IOException {
                    file.seek(at);
                    return file.read(into, start, count);
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
                if (in.getPos() != at) {
                    in.seek(at);
                }
                return in.read(into, start, count);
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

    /** All of a small file as text; null if there is none. */
    static String text(String path, Configuration conf) throws IOException {
        try (Source source = open(path, conf)) {
            byte[] data = all(source, 1 << 24);
            return new String(data, java.nio.charset.StandardCharsets.UTF_8);
        } catch (FileNotFoundException error) {
            return null;
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
