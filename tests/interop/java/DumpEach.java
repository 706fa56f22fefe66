import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * Runs kafka-dump-log once for each line of a list, in one JVM.
 *
 * <p>A line is the output file and the arguments, separated by tabs. Standard error follows standard output into the file, as does
 * the exception if the tool gave up, so that the file holds all that Kafka said.
 */
public final class DumpEach {
    private DumpEach() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        for (String line : Files.readAllLines(Path.of(args[0]), StandardCharsets.UTF_8)) {
            String[] parts = line.split("\t");
            Files.createDirectories(Path.of(parts[0]).getParent());
            try (PrintStream text = new PrintStream(new FileOutputStream(parts[0]), true, StandardCharsets.UTF_8)) {
                System.setOut(text);
                System.setErr(text);
                try {
                    DumpLogSegments.main(Arrays.copyOfRange(parts, 1, parts.length));
                } catch (Exception thrown) {
                    text.println("Exception: " + thrown);
                }
            } finally {
                System.setOut(out);
                System.setErr(err);
            }
        }
    }
}
