"""Finds phrases in prose that words.tsv lists; `make lint` runs it.

It reads pages outside code, docstrings, comments and texts of Python, and whole files of schemas,
templates, scripts, settings and other languages. Exits with 1 after printing
`file:line: phrase: replacement` for each phrase.

Usage: words.py [FILE...]   (all files of the repository when none is named)
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Results are dated; generated files follow their schemas and templates.
_SKIPPED = ("benchmarks/results/", "generated/", "tests/data/", "tests/golden/", "src/kodec/generated/")
_OTHERS = {
    *(".c", ".go", ".h", ".in", ".j2", ".java", ".js", ".ksy", ".mjs", ".pxd", ".pxi", ".pyi"),
    *(".pyx", ".rs", ".sh", ".toml", ".ts", ".yml"),
}
# fenced blocks, indented blocks, code in a line
_CODE = re.compile(r"^```[\s\S]*?^```$|(?<=\n\n)(?: {4}.*\n)+|`[^`\n]+`", re.MULTILINE)
# marks of comments at the start of a line, which a phrase may cross
_MARKS = r"(?:\n\s*(?:#|//+!?|\*|\{#)|\s)+"


def pairs(table: str) -> dict[str, str]:
    """Each phrase to avoid with its replacement, from the lines of words.tsv."""
    rows = (line.split("\t") for line in table.splitlines())
    return {phrase.lower(): better for phrases, better in rows for phrase in phrases.split(", ")}


def pattern(phrases: dict[str, str]) -> re.Pattern[str]:
    """Matches any of the phrases, also across the ends of lines."""
    found = "|".join(re.escape(phrase).replace(r"\ ", _MARKS) for phrase in phrases)
    return re.compile(rf"\b(?:{found})\b", re.IGNORECASE)


def prose(text: str) -> str:
    """The text of a page without its code; each line stays where it is."""
    return _CODE.sub(lambda code: re.sub(r"[^\n]+", "`", code[0]), text)


def python_prose(source: str) -> str:
    """The comments, docstrings and other texts of a module, without code; lines stay where they are."""
    lines = source.splitlines()
    kept = [""] * (len(lines) + 1)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            kept[token.start[0] - 1] += " " + token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.end_lineno is not None:
            first, last = node.lineno - 1, node.end_lineno
            if last - first == 1:
                kept[first] += " " + node.value.replace("\n", " ")
            else:
                for at in range(first, last):
                    kept[at] += " " + lines[at].strip()
    return re.sub(r"`[^`\n]+`", "`", "\n".join(kept))


def prose_of(path: Path) -> str:
    """The prose of a file, by its name."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return prose(text)
    return python_prose(text) if path.suffix == ".py" else re.sub(r"`[^`\n]+`", "`", text)


def found_in(text: str, phrases: dict[str, str], wanted: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """(line, phrase, replacement) of each phrase in a text."""
    for each in wanted.finditer(text):
        phrase = re.sub(_MARKS, " ", each[0]).lower()
        yield text.count("\n", 0, each.start()) + 1, phrase, phrases[phrase]


def files() -> list[Path]:
    """The files with prose, as Git lists them."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    names = [name for name in done.stdout.split("\0") if name and not name.startswith(_SKIPPED)]
    paths = [
        ROOT / name for name in names if Path(name).suffix in {".md", ".py", *_OTHERS} or name == "Makefile"
    ]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def main(names: list[str]) -> int:
    phrases = pairs((ROOT / "tools" / "words.tsv").read_text("utf-8"))
    wanted = pattern(phrases)
    number = 0
    for path in [Path(name).resolve() for name in names] or files():
        # a file without any of the phrases, which almost all are, need not be parsed
        if not wanted.search(path.read_text("utf-8")):
            continue
        for line, phrase, better in found_in(prose_of(path), phrases, wanted):
            number += 1
            print(
                f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}: {phrase}: {better}"
            )
    return 1 if number else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
