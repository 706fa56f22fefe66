"""Texts that tests compare, in files under tests/golden: `pytest --golden FILE...` writes them anew.

A file for each module of tests, a section for each text. In a text the folder of the test is `$TMP`, the
clone `$ROOT`; a final end of line does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.data import ROOT

FOLDER = ROOT / "tests" / "golden"
_HEAD = re.compile(r"^== (.*)\n", re.MULTILINE)


class Golden:
    """The texts of one test, in the order in which it compares them."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        node = request.node
        self.rewrites = bool(request.config.getoption("--golden"))
        self.name, self.count = node.name, 0
        self.file = file_of(node.path)
        self.texts = read(self.file)
        self.places = {
            str(request.getfixturevalue("tmp_path")): "$TMP",
            str(request.getfixturevalue("tmp_path_factory").getbasetemp()): "$BASE",
            str(ROOT): "$ROOT",
        }

    def __call__(self, value: object) -> None:
        """Compare a text, lines of text, or an error with its class."""
        self.count += 1
        title = f"{self.name} {self.count}"
        text = self._shown(value)
        if self.rewrites:
            self.texts[title] = text
        else:
            assert title in self.texts, f"no text `{title}`: run pytest --golden {self.file.name}"
            assert text == self.texts[title]

    def _shown(self, value: Any) -> str:
        if isinstance(value, BaseException):
            value = f"{type(value).__name__}: {value}"
        text = value if isinstance(value, str) else "\n".join(map(str, value))
        for path, name in self.places.items():
            text = text.replace(path, name)
        return text.encode("utf-8", "backslashreplace").decode().removesuffix("\n")

    def close(self) -> None:
        own = [title for title in self.texts if title.rpartition(" ")[0] == self.name]
        if self.rewrites:
            for title in own:
                if int(title.rpartition(" ")[2]) > self.count:
                    del self.texts[title]
            write(self.file, self.texts)


def file_of(module: Path) -> Path:
    """The file with the texts of a module of tests."""
    return FOLDER / module.relative_to(ROOT / "tests").with_suffix(".txt")


def read(file: Path) -> dict[str, str]:
    """The texts of a file by the test's name and number."""
    if not file.exists():
        return {}
    _, *parts = _HEAD.split(file.read_bytes().decode())
    texts = [re.sub(r"(?m)^\\(\\*== )", r"\1", text.removesuffix("\n")) for text in parts[1::2]]
    return dict(zip(parts[::2], texts, strict=True))


def write(file: Path, texts: dict[str, str]) -> None:
    """Write the file; without texts, delete it."""
    if not texts:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    escaped = {title: re.sub(r"(?m)^(\\*== )", r"\\\1", text) for title, text in texts.items()}
    lines = (f"== {title}\n{escaped[title]}\n" for title in sorted(escaped, key=_order))
    file.write_bytes("".join(lines).encode())


def _order(title: str) -> tuple[str, int]:
    name, _, number = title.rpartition(" ")
    return name, int(number)


def stale(modules: Sequence[Path]) -> Iterator[str]:
    """Texts of tests that are no longer there."""
    files = {file_of(module): module.read_text("utf-8") for module in modules}
    for file in sorted(FOLDER.rglob("*.txt")):
        code = files.get(file, "")
        for title in read(file):
            function = re.split(r"[\[ ]", title)[0]
            if f"def {function}(" not in code:
                yield f"{file.relative_to(FOLDER)}: {title}"
