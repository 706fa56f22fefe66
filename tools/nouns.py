"""Checks that names in src/kodec say what they hold; `make lint` runs it.

Words such as `found` do not say what a name holds. `[tool.kodec.nouns]` in pyproject.toml lists them,
and sets the largest share that they may have among the names that the package binds. Exits with 1 after
printing the files with most of them.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_SHOWN = 10


def bindings(text: str) -> Iterator[str]:
    """A name for each place in a module that gives it a value, as a variable, a parameter or in a pattern."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name) if name:
                yield name


def check(texts: Mapping[str, str], words: Set[str], limit: float) -> list[str]:
    """Lines about the files with most of the words; none if the share of the words is at most `limit`."""
    names = {path: Counter(bindings(text)) for path, text in texts.items()}
    listed = {
        path: Counter({name: counts[name] for name in sorted(words & counts.keys())})
        for path, counts in names.items()
    }
    total, count = (sum(counts.total() for counts in files.values()) for files in (names, listed))
    if count <= limit * total:
        return []
    worst = sorted(filter(listed.get, listed), key=lambda path: (-listed[path].total(), path))[:_SHOWN]
    return [
        f"{count} of {total} names ({count / total:.2%}) do not say what they hold; at most {limit:.2%} may",
        *(
            f"{path}: " + ", ".join(f"{name} {number}" for name, number in listed[path].most_common())
            for path in worst
        ),
    ]


def main() -> str:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["kodec"]["nouns"]
    files = sorted((ROOT / "src" / "kodec").rglob("*.py"))
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in files}
    return "\n".join(check(texts, set(settings["words"]), settings["limit"]))


if __name__ == "__main__":
    sys.exit(main() or 0)
