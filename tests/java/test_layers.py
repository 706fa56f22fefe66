"""Which classes of the Spark source in the JVM use which others: layers, as package-info.java lists them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.java.conftest import ROOT

SOURCES = ROOT / "src" / "kodec" / "pipeline" / "jvm" / "org" / "kodec" / "spark"
_COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.DOTALL)


def layers(text: str) -> list[list[str]]:
    listed = re.search(r"<pre>(.*)</pre>", text, re.DOTALL)
    assert listed is not None
    return [line.partition(": ")[2].split() for line in listed[1].splitlines() if ": " in line]


def used(source: str, names: set[str]) -> set[str]:
    """The classes that a source names, of which none is another package's with the same name."""
    code = _COMMENT_OR_TEXT.sub(" ", source)
    imported = set(re.findall(r"import [\w.]+\.(\w+);", code))
    return (set(re.findall(r"(?<![\w.])[A-Z]\w*", code)) & names) - imported


def upward(sources: dict[str, str], order: list[list[str]]) -> list[str]:
    layer = {name: at for at, layer in enumerate(order) for name in layer}
    return [
        f"{name} uses {other}"
        for name, source in sorted(sources.items())
        for other in sorted(used(source, set(sources)) - {name})
        if layer[other] > layer[name]
    ]


def sources(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in folder.glob("*.java") if path.stem != "package-info"}


def test_each_class_is_in_one_layer_and_uses_none_above_it() -> None:
    order = layers((SOURCES / "package-info.java").read_text())
    found = sources(SOURCES)
    assert sorted(name for layer in order for name in layer) == sorted(found)
    assert upward(found, order) == []


def test_a_class_of_a_layer_above_is_found() -> None:
    order = [["Low"], ["High"]]
    low = "package a; /** {@link High} */ final class Low { %s }"
    assert upward({"Low": low % "", "High": "final class High { Low low; }"}, order) == []
    assert upward({"Low": low % 'String text = "High"; // High', "High": ""}, order) == []
    assert upward({"Low": "import other.High;" + low % "High high;", "High": ""}, order) == []
    assert upward({"Low": low % "Object made = High.of();", "High": ""}, order) == ["Low uses High"]
