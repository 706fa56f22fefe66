package org.kodec.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;

/** The paths that a glob names: {@code *}, {@code ?}, {@code [ab]} within a name, and {@code {a,b}} anywhere. */
final class Globs {
    private static final Pattern MAGIC = Pattern.compile("[*?\\[{]");
    private static final Pattern CHOICE = Pattern.compile("\\{([^{}]*)\\}");

    private Globs() {}

    /** The paths that match; an existing path is not a pattern. Throws NeedsPythonSource if nothing matches. */
    static List<String> expanded(String text, Configuration conf) throws IOException {
        if (!MAGIC.matcher(text).find() || isPath(text, conf)) {
            return List.of(text);
        }
        TreeSet<String> found = new TreeSet<>();
        for (String each : alternatives(text)) {
            int start = each.startsWith("/") || Files.isLocal(each) ? 0 : each.indexOf("//") + 2;
            int root = Math.max(each.indexOf('/', start), 0);
            boolean relative = Files.isLocal(each) && !Files.plain(each).startsWith("/");
            String plain = Files.isLocal(each) ? Files.plain(each) : each;
            if (relative) {
                walk(Files.at(".", conf).path(), plain.split("/"), 0, conf, found);
            } else if (Files.isLocal(each)) {
                walk("/", plain.substring(1).split("/"), 0, conf, found);
            } else {
                walk(each.substring(0, root + 1), each.substring(root + 1).split("/"), 0, conf, found);
            }
        }
        if (found.isEmpty()) {
            throw NeedsPythonSource.paths(text + ": nothing is called so");
        }
        return List.copyOf(found);
    }

    /** Whether a text that may be a glob is the path of something. */
    private static boolean isPath(String text, Configuration conf) {
        try {
            Files.at(text, conf);
            return true;
        } catch (IOException | IllegalArgumentException error) {
            return false;
        }
    }

    private static boolean exists(String path, Configuration conf) throws IOException {
        try {
            Files.at(path, conf);
            return true;
        } catch (FileNotFoundException error) {
            return false;
        }
    }

    private static void walk(String folder, String[] names, int index, Configuration conf, TreeSet<String> found)
            throws IOException {
        if (index == names.length) {
            found.add(folder);
            return;
        }
        String name = names[index];
        if (name.isEmpty()) {
            walk(folder, names, index + 1, conf, found);
            return;
        }
        if (!MAGIC.matcher(name).find()) {
            String path = Files.child(folder, name);
            if (exists(path, conf)) {
                walk(path, names, index + 1, conf, found);
            }
            return;
        }
        List<Files.Entry> entries;
        try {
            entries = Files.in(folder, conf);
        } catch (FileNotFoundException error) {
            return;
        }
        Pattern wanted = pattern(name);
        for (Files.Entry each : entries) {
            boolean shown = !each.name().startsWith(".") || name.startsWith(".");
            if (shown && wanted.matcher(each.name()).matches()) {
                if (each.wrong() != null) {
                    each.requireFile();
                }
                if (each.folder() || index + 1 == names.length) {
                    walk(each.path(), names, index + 1, conf, found);
                }
            }
        }
    }

    /** A glob with {@code {a,b}} as globs without it. */
    private static List<String> alternatives(String text) {
        Matcher match = CHOICE.matcher(text);
        if (!match.find()) {
            return List.of(text);
        }
        List<String> found = new ArrayList<>();
        for (String each : match.group(1).split(",", -1)) {
            found.addAll(alternatives(text.substring(0, match.start()) + each + text.substring(match.end())));
        }
        return found;
    }

    private static Pattern pattern(String name) {
        StringBuilder made = new StringBuilder();
        for (int index = 0; index < name.length(); index++) {
            char each = name.charAt(index);
            int close = each == '[' ? name.indexOf(']', index + 2) : -1;
            if (each == '*') {
                made.append(".*");
            } else if (each == '?') {
                made.append('.');
            } else if (close > 0) {
                String set = name.substring(index + 1, close).replace("\\", "\\\\").replace("[", "\\[").replace("&", "\\&");
                made.append('[').append(set.startsWith("!") ? "^" + set.substring(1) : set.startsWith("^") ? "\\" + set : set)
                        .append(']');
                index = close;
            } else {
                made.append(Pattern.quote(String.valueOf(each)));
            }
        }
        return Pattern.compile(made.toString(), Pattern.DOTALL);
    }
}
