import java.io.File;
import java.net.InetSocketAddress;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** A ZooKeeper inside this JVM, on loopback, for the brokers that need one. */
final class Zoo {
    private static final int TICK_MS = 500;

    private Zoo() {
    }

    /** Starts it over a directory and returns the port that it listens on. */
    static int start(String directory) throws Exception {
        File root = new File(directory);
        ZooKeeperServer server = new ZooKeeperServer(root, root, TICK_MS);
        NIOServerCnxnFactory factory = new NIOServerCnxnFactory();
        factory.configure(new InetSocketAddress("127.0.0.1", 0), 100);
        factory.startup(server);
        return factory.getLocalPort();
    }
}
