"""Text written by a schema's author, and the only ways in which it gets into a generated file.

A schema contains names and text. A name consists of letters, digits and `_` (`passes/identifiers.py` refuses
a model with any other name), so it is safe in any language's code. All else is Text, which does not turn into
a `str` by itself: a template or a format string that would print it raises TypeError. Only the functions of
this file unwrap it, each into the literal or comment of a language.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote

__all__ = [
    "NO_TEXT",
    "Text",
    "block_comment",
    "cell",
    "code",
    "docstring",
    "java_literal",
    "javadoc",
    "line_comment",
    "markdown",
    "not_text",
    "one_line",
    "python_literal",
]

# They make a text look different from its characters: "Trojan Source", CVE-2021-42574.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINES = frozenset("\u2028\u2029\ufeff")


@dataclass(frozen=True, slots=True)
class Text:
    """Text of a schema's author: documentation for people, never code."""

    raw: str = ""

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __str__(self) -> NoReturn:
        raise TypeError("text of a schema is printed through a function of kodec.generator.text only")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("text of a schema is printed through a function of kodec.generator.text only")

    @classmethod
    def of(cls, *parts: str | Text) -> Text:
        """The parts joined; the result is Text, whatever the parts are."""
        return cls("".join(part.raw if isinstance(part, Text) else part for part in parts))


NO_TEXT = Text()


def one_line(text: Text) -> Text:
    """The same words, separated by single spaces."""
    return Text(" ".join(text.raw.split()))


def not_text(raw: str) -> str | None:
    """A character that documentation cannot contain, as `U+202E`: a control, a bidi control, a surrogate."""
    for sign in raw:
        control = unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\t"
        if control or sign in _BIDI or sign in _LINES:
            return f"U+{ord(sign):04X}"
    return None


def python_literal(text: Text) -> str:
    """A Python string literal of ASCII characters."""
    return ascii(text.raw)


def docstring(text: Text, indent: str) -> str:
    """A Python docstring with its quotes, paragraphs kept and lines wrapped; empty if there is no text.

    No prompt in it is an example that doctest runs.
    """
    inside = _wrap(text.raw, indent)
    if "\n\n" in inside or inside.endswith('"'):
        return f'"""{inside}\n{indent}"""'
    return f'"""{inside}"""' if inside else ""


def java_literal(text: Text | str) -> str:
    """A Java string literal of ASCII characters."""
    raw = text.raw if isinstance(text, Text) else text
    units = raw.encode("utf-16-be", "surrogatepass")
    plain = "".join(
        # javac replaces \\u escapes before it parses, so quotes need another escape
        chr(unit) if chr(unit) in _PLAIN_JAVA else f"\\u{unit:04x}" if unit > 0xFF else f"\\{unit:03o}"
        for unit in (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2))
    )
    return f'"{plain}"'


_PLAIN_JAVA = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}


def javadoc(text: Text, indent: str) -> str:
    """The inside of a Javadoc comment, paragraphs kept and lines wrapped: a ` * ` before all but one."""
    paragraphs = [
        textwrap.wrap(
            _java_html(" ".join(part.split())),
            110 - len(indent) - 3,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for part in text.raw.strip().split("\n\n")
    ]
    between = f"\n{indent} *\n{indent} * <p>"
    return between.join(f"\n{indent} * ".join(lines) for lines in paragraphs if lines)


def _java_html(text: str) -> str:
    """Escape all that ends the comment, is a tag of Javadoc or HTML, or is an escape of javac."""
    found = ""
    for part in _LITERAL.split(text):
        is_code = part.startswith("`") and len(part) > 1
        plain = part[1:-1] if is_code else part
        for sign, entity in _ENTITIES:
            plain = plain.replace(sign, entity)
        found += f"<code>{plain}</code>" if is_code else plain
    return found


_ENTITIES = (
    ("&", "&amp;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("@", "&#64;"),
    ("\\", "&#92;"),
    ("*/", "*&#47;"),
    ("/*", "&#47;*"),
)


_LITERAL = re.compile(r"(`[^`\n]+`|https?://[^\s<>|`()\[\]]+)")
_MARKUP = re.compile(r"[\\`*_{}\[\]<>|!~&#$^]")
_BLOCK = re.compile(r"(?m)^([-+=:])|^(\d+)([.)])")
_IN_URLS = "-._~:/?#@!$&'*+,;=%"


def line_comment(text: Text, start: str, width: int = 110) -> str:
    """Lines of a comment that begin with `start`, such as `\t// `; paragraphs are kept."""
    paragraphs = [
        textwrap.wrap(" ".join(part.split()), width - len(start)) for part in text.raw.strip().split("\n\n")
    ]
    lines = [line for lines in paragraphs if lines for line in ("", *lines)][1:]
    return "\n".join((start + line).rstrip() for line in lines)


def block_comment(text: Text, indent: str, width: int = 110) -> str:
    """A comment between `/**` and `*/`, on one line if it fits; no text in it can end it, or be a directive
    of TypeScript's compiler (`@ts-expect-error`)."""
    plain = line_comment(text, f"{indent} * ", width).replace("*/", "*\\/").replace("@ts-", "@ ts-")
    lines = plain.splitlines()
    if len(lines) == 1 and len(lines[0]) <= width - 4:
        return f"{indent}/** {lines[0].removeprefix(f'{indent} * ')} */"
    return "\n".join([f"{indent}/**", *lines, f"{indent} */"])


def markdown(text: Text) -> str:
    """The text in Markdown, paragraphs kept. Text between backticks is code, http and https URLs are links;
    all other markup is escaped."""
    lines = "\n".join(line.strip() for line in text.raw.splitlines()).strip()
    return _BLOCK.sub(_escaped_block, "".join(_inline(part) for part in _LITERAL.split(lines)))


def _inline(part: str) -> str:
    if part.startswith("`") and len(part) > 1:
        return code(part[1:-1])
    if _LITERAL.fullmatch(part):
        url = part.rstrip("\"'*,.:;!?\\")
        return f"<{quote(url, safe=_IN_URLS, errors='replace')}>{_MARKUP.sub(_escaped, part[len(url) :])}"
    return _MARKUP.sub(_escaped, part)


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _escaped_block(found: re.Match[str]) -> str:
    """Escape a character that is markup at the start of a line."""
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}"


def cell(text: Text) -> str:
    """The same on one line, for a table, a heading or an item of a list."""
    return markdown(one_line(text))


def code(text: str) -> str:
    """A piece of code in Markdown, in a table too."""
    shown = "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text)
    return f"`{shown.replace('`', chr(39)).replace('|', chr(92) + '|') or ' '}`"


def _wrap(text: str, indent: str, width: int = 100) -> str:
    """Paragraphs kept, lines wrapped; whatever would end the string or be an escape in it is escaped."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    text = re.sub(r">(?=>>)", "> ", text)
    parts = []
    for paragraph in text.strip().split("\n\n"):
        lines = paragraph.splitlines()
        if any(line.lstrip().startswith(("-", "*", "|")) for line in lines):
            parts.append("\n".join(f"{indent}{line.rstrip()}" for line in lines))
        else:
            parts.append(
                textwrap.fill(
                    " ".join(paragraph.split()),
                    width,
                    initial_indent=indent,
                    subsequent_indent=indent,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )
    return "\n\n".join(parts).strip()
