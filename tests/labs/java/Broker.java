/** Runs a Kafka broker that never outlives the script that started it. */
public final class Broker {
    private Broker() {
    }

    public static void main(String[] args) {
        ParentWatch.start();
        kafka.Kafka.main(args);
    }
}
