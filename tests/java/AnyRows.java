import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Reads one unit by a class `Rows` of whatever names: prints the values of its members, in the order of the source. */
public final class AnyRows {
    private AnyRows() {}

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            System.out.println(values(Class.forName(words[0]), HexFormat.of().parseHex(words[1])));
        }
    }

    private static List<String> values(Class<?> kind, byte[] data) throws Exception {
        Object rows = kind.getConstructor(long.class, int.class).newInstance(kind.getField("ALL").getLong(null), 1);
        List<String> found = new ArrayList<>();
        found.add(call(rows, "head", new Class<?>[] {byte[].class, int.class, int.class, boolean.class}, data, 0,
                data.length, true));
        List<Field> members = new ArrayList<>();
        for (Field each : kind.getDeclaredFields()) {
            if (Modifier.isPublic(each.getModifiers()) && !Modifier.isStatic(each.getModifiers())) {
                members.add(each);
            }
        }
        int head = 0;
        while (!members.get(head).getName().equals("unitEnd")) {
            head++;
        }
        try {
            kind.getMethod("add");
            found.add(call(rows, "add", new Class<?>[0]));
        } catch (NoSuchMethodException error) {
            // the content is what the head read last
            int start = members.get(head - 2).getInt(rows);
            int end = start + members.get(head - 1).getInt(rows);
            found.add(call(rows, "rows", new Class<?>[] {byte[].class, int.class, int.class, long.class}, data, start,
                    end, 1000L));
        }
        for (Field each : members) {
            Object value = each.get(rows);
            if (value == null || !value.getClass().isArray()) {
                found.add(String.valueOf(value));
                continue;
            }
            for (int index = 0; index < Array.getLength(value); index++) {
                found.add(String.valueOf(Array.get(value, index)));
            }
        }
        return found;
    }

    private static String call(Object rows, String name, Class<?>[] types, Object... given) throws Exception {
        try {
            return String.valueOf(rows.getClass().getMethod(name, types).invoke(rows, given));
        } catch (InvocationTargetException error) {
            throw new IllegalStateException(error.getCause());
        }
    }
}
