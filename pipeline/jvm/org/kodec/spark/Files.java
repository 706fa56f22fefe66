package org.kodec.spark;

import java.io.Closeable;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Files by their paths: of this machine directly, others through Hadoop's FileSystem. */
final class Files {
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

    /** A local path without its scheme; any other as it is. */
    static String plain(String path) {
        return path.startsWith("file:") ? new File(URI.create(path.replace(" ", "%20")).getPath()).getPath() : path;
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
        return entry(given.getFileSystem(conf).getFileStatus(given));
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
        for (FileStatus each : given.getFileSystem(conf).listStatus(given)) {
            found.add(entry(each));
        }
        return found;
    }

    /** The folder that a path is in. */
    static String parent(String path) {
        return isLocal(path) ? new File(path).getParent() : new Path(path).getParent().toString();
    }

    /** The last name of a path; empty where there is none. */
    static String name(String path) {
        return path == null ? "" : path.substring(path.lastIndexOf('/') + 1);
    }

    /** A path by which a file that has several is known. */
    static String real(String path) throws IOException {
        return isLocal(path) ? new File(plain(path)).getCanonicalPath() : path;
    }

    /** The path of what is called {@code name} in a folder. */
    static String child(String folder, String name) {
        return isLocal(folder) ? new File(folder, name).getPath() : new Path(folder, name).toString();
    }

    /** Opens a file. Throws FileNotFoundException where there is none. */
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
        FileSystem system = given.getFileSystem(conf);
        long size = system.getFileStatus(given).getLen();
        FSDataInputStream in = system.open(given);
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

    /** All of a small file as text; null where there is none. */
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

    /** So many bytes from {@code at} on, fewer where the file ends before. */
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
