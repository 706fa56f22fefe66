import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Runs kafka-dump-log once for each line of a list, in one JVM.
 *
 * <p>A line is the output file and the arguments, separated by tabs. Standard error follows standard output into the file, as does
 * the exception if the tool gave up, so that the file holds all that Kafka said.
 */
public final class DumpEach {
    private DumpEach() {
    }

    /** Passes on what is printed. Scala keeps the stream that it finds first, so the stream stays and its target changes. */
    private static final class Switch extends OutputStream {
        private OutputStream target;

        @Override
        public void write(int one) throws IOException {
            target.write(one);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            target.write(bytes, offset, length);
        }

        @Override
        public void flush() throws IOException {
            target.flush();
        }
    }

    public static void main(String[] args) throws Exception {
        Switch output = new Switch();
        OutputStream before = System.err;
        output.target = before;
        PrintStream text = new PrintStream(output, true, StandardCharsets.UTF_8);
        System.setOut(text);
        System.setErr(text);
        Method dump = tool().getMethod("main", String[].class);
        for (String line : Files.readAllLines(Path.of(args[0]), StandardCharsets.UTF_8)) {
            String[] parts = line.split("\t");
            Files.createDirectories(Path.of(parts[0]).getParent());
            try (OutputStream file = new FileOutputStream(parts[0])) {
                output.target = file;
                try {
                    dump.invoke(null, (Object) Arrays.copyOfRange(parts, 1, parts.length));
                } catch (InvocationTargetException thrown) {
                    text.println("Exception: " + thrown.getCause());
                }
                text.flush();
            } finally {
                output.target = before;
            }
        }
    }

    /** The class has moved in Kafka 4.0. */
    private static Class<?> tool() throws ClassNotFoundException {
        try {
            return Class.forName("org.apache.kafka.tools.DumpLogSegments");
        } catch (ClassNotFoundException older) {
            return Class.forName("kafka.tools.DumpLogSegments");
        }
    }
}
