import java.io.IOException;

/** Ends this JVM when the script that started it is gone, however it went: standard input ends then. */
final class ParentWatch {
    private ParentWatch() {
    }

    static void start() {
        Thread watch = new Thread(ParentWatch::untilTheEnd, "parent-watch");
        watch.setDaemon(true);
        watch.start();
    }

    private static void untilTheEnd() {
        try {
            while (System.in.read() != -1) {
                continue;
            }
        } catch (IOException closed) {
            System.err.println("standard input failed: " + closed);
        }
        Runtime.getRuntime().halt(1);
    }
}
