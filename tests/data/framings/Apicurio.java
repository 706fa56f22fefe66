import java.io.ByteArrayOutputStream;
import java.util.HexFormat;
import java.util.Map;

import io.apicurio.registry.resolver.strategy.ArtifactReference;
import io.apicurio.registry.serde.Default4ByteIdHandler;
import io.apicurio.registry.serde.IdHandler;
import io.apicurio.registry.serde.Legacy8ByteIdHandler;
import io.apicurio.registry.serde.kafka.headers.DefaultHeadersHandler;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** Prints what Apicurio's own handlers of ids write: schema, handler, id, bytes. */
public final class Apicurio {
    private Apicurio() {
    }

    /** No arguments. */
    public static void main(String[] arguments) throws Exception {
        for (long id : new long[] {1, 1234567}) {
            ArtifactReference reference = ArtifactReference.builder().globalId(id).contentId(id).build();
            for (IdHandler handler : new IdHandler[] {new Legacy8ByteIdHandler(), new Default4ByteIdHandler()}) {
                handler.configure(Map.of(), false);
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                out.write(0);
                handler.writeId(reference, out);
                String schema = handler.idSize() == 8 ? "apicurio_value" : "confluent_value";
                print(schema, handler.getClass(), id, out.toByteArray());
            }
            DefaultHeadersHandler headers = new DefaultHeadersHandler();
            headers.configure(Map.of(), false);
            RecordHeaders found = new RecordHeaders();
            headers.writeHeaders(found, reference);
            for (Header header : found) {
                print("apicurio_id_header", headers.getClass(), id, header.value());
            }
        }
    }

    private static void print(String schema, Class<?> by, long id, byte[] data) {
        System.out.println(schema + " " + by.getSimpleName() + " " + id + " " + HexFormat.of().formatHex(data));
    }
}
