import java.nio.file.Files;
import java.nio.file.Path;
import org.kodec.runtime.Codecs;
import org.kodec.runtime.FormatException;

/** Decompresses files in a small heap: codec and path by turns. Prints the size, or the kind of the error. */
public final class Bombs {
    private Bombs() {}

    public static void main(String[] args) throws Exception {
        for (int n = 0; n < args.length; n += 2) {
            byte[] stored = Files.readAllBytes(Path.of(args[n + 1]));
            try {
                System.out.println(Codecs.decompressed(args[n], stored, 256L << 20).length);
            } catch (FormatException error) {
                System.out.println(error.kind());
            }
        }
    }
}
