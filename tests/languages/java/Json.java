import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON: null, Boolean, BigInteger, Double, String, List, Map. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object read(String text) {
        return new Json(text).value();
    }

    private char next() {
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return text.charAt(at);
    }

    private boolean is(char sign) {
        boolean found = next() == sign;
        at += found ? 1 : 0;
        return found;
    }

    private Object value() {
        switch (next()) {
            case '{':
                return object();
            case '[':
                return list();
            case '"':
                return string();
            default:
                int start = at;
                while (at < text.length() && ",]} \n\r\t".indexOf(text.charAt(at)) < 0) {
                    at++;
                }
                return word(text.substring(start, at));
        }
    }

    private static Object word(String word) {
        switch (word) {
            case "null":
                return null;
            case "true":
            case "false":
                return Boolean.valueOf(word);
            default:
                if (word.chars().anyMatch(sign -> ".eE".indexOf(sign) >= 0)) {
                    return Double.valueOf(word);
                }
                return new BigInteger(word);
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        at++;
        while (!is('}')) {
            is(',');
            next();
            String name = string();
            is(':');
            found.put(name, value());
        }
        return found;
    }

    private List<Object> list() {
        List<Object> found = new ArrayList<>();
        at++;
        while (!is(']')) {
            is(',');
            found.add(value());
        }
        return found;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char sign = text.charAt(at);
            if (sign == '\\') {
                sign = text.charAt(++at);
                int special = "bfnrt".indexOf(sign);
                if (special >= 0) {
                    sign = "\b\f\n\r\t".charAt(special);
                } else if (sign == 'u') {
                    sign = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                    at += 4;
                }
            }
            found.append(sign);
        }
        at++;
        return found.toString();
    }

    /** A text as JSON has it. */
    static String quoted(String value) {
        StringBuilder found = new StringBuilder("\"");
        for (char sign : value.toCharArray()) {
            if (sign < ' ' || sign > '~' || sign == '"' || sign == '\\') {
                found.append(String.format("\\u%04x", (int) sign));
            } else {
                found.append(sign);
            }
        }
        return found.append('"').toString();
    }
}
