import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/**
 * Writes and reads messages with the classes that Kafka generates for itself, by name: a server on standard input
 * and output. judge.py is the other side.
 *
 * A request: an operation, the name of a class, a frame, two versions and a body with an int32 length.
 * `W`: the body is JSON; it is read in the first version, and written in the second. `R`: the body is bytes, read and
 * written again in the second version. The answer: an int32 length, and 1, the bytes, JSON; or 0 and the error.
 */
public final class MessageJudge {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.common.metadata.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated.",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.",
    };
    private static final int NONE = 0;
    private static final int VERSION = 1;

    private record Converter(Class<?> type, Method read, Method write) { }

    private final ObjectMapper mapper = new ObjectMapper();
    private final Map<String, Converter> converters = new HashMap<>();

    private Converter converter(String name) throws Exception {
        Converter known = converters.get(name);
        if (known != null) {
            return known;
        }
        for (String where : PACKAGES) {
            for (String end : new String[] {"", "Data"}) {
                Class<?> type;
                Class<?> json;
                try {
                    type = Class.forName(where + name + end);
                    json = Class.forName(where + name + end + "JsonConverter");
                } catch (ClassNotFoundException absent) {
                    continue;
                }
                Method write = json.getMethod("write", type, short.class, boolean.class);
                Converter made = new Converter(type, json.getMethod("read", JsonNode.class, short.class), write);
                converters.put(name, made);
                return made;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static byte[] written(Message message, int frame, short version) {
        if (frame == VERSION) {
            return MessageUtil.toVersionPrefixedBytes(version, message);
        }
        if (frame != NONE) {
            return MessageUtil.toCoordinatorTypePrefixedBytes((ApiMessage) message);
        }
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    /** Adds what Kafka's converters leave out: the tagged fields that a version does not know, at any depth. */
    private static void showUnknown(Message message, ObjectNode shown) throws ReflectiveOperationException {
        for (Map.Entry<String, JsonNode> entry : shown.properties()) {
            Object part = message.getClass().getMethod(entry.getKey()).invoke(message);
            if (part instanceof Message inner && entry.getValue() instanceof ObjectNode node) {
                showUnknown(inner, node);
            } else if (part instanceof Iterable<?> list) {
                Iterator<JsonNode> nodes = entry.getValue().elements();
                for (Object each : list) {
                    JsonNode node = nodes.next();
                    if (each instanceof Message inner) {
                        showUnknown(inner, (ObjectNode) node);
                    }
                }
            }
        }
        if (!message.unknownTaggedFields().isEmpty()) {
            ArrayNode tags = shown.putArray("unknownTaggedFields");
            for (RawTaggedField each : message.unknownTaggedFields()) {
                tags.addObject().put("tag", each.tag()).put("data", each.data());
            }
        }
    }

    private void answer(DataInputStream in, DataOutputStream out) throws IOException {
        int operation = in.readByte();
        String name = in.readUTF();
        int frame = in.readByte();
        short from = in.readShort();
        short to = in.readShort();
        byte[] body = in.readNBytes(in.readInt());
        byte[] bytes;
        String json = "";
        try {
            Converter converter = converter(name);
            Message message;
            if (operation == 'W') {
                message = (Message) converter.read.invoke(null, mapper.readTree(body), from);
            } else {
                message = (Message) converter.type.getConstructor().newInstance();
                ByteBuffer buffer = ByteBuffer.wrap(body);
                if (frame != NONE) {
                    buffer.getShort();
                }
                message.read(new ByteBufferAccessor(buffer), to);
                if (buffer.hasRemaining()) {
                    throw new IllegalStateException(buffer.remaining() + " bytes are left over");
                }
                ObjectNode shown = (ObjectNode) converter.write.invoke(null, message, to, true);
                showUnknown(message, shown);
                json = shown.toString();
            }
            bytes = written(message, frame, to);
        } catch (Throwable thrown) {
            Throwable cause = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
            byte[] text = cause.toString().getBytes(StandardCharsets.UTF_8);
            out.writeByte(0);
            out.writeInt(text.length);
            out.write(text);
            out.flush();
            return;
        }
        byte[] text = json.getBytes(StandardCharsets.UTF_8);
        out.writeByte(1);
        out.writeInt(bytes.length);
        out.write(bytes);
        out.writeInt(text.length);
        out.write(text);
        out.flush();
    }

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        // what a library prints must not stand among the answers
        System.setOut(new PrintStream(System.err));
        MessageJudge judge = new MessageJudge();
        while (true) {
            try {
                judge.answer(in, out);
            } catch (EOFException end) {
                return;
            }
        }
    }
}
