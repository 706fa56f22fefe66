"""What is called as Python, or as the generator calls things, is read and written as under any other name."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kodec.generator.driver import load, render_all
from kodec.generator.modules import Modules
from kodec.generator.target import Request, find
from kodec.generator.targets.python.collisions import IMPORTED
from kodec.generator.targets.python.facts import Facts
from kodec.generator.targets.python.names import camel, local

from .any_name import FIXED, GZIP, VERSIONS, put, renamed, rounds, sources, vocabulary

SCHEMAS = ("z000", "z100", "z200", "z300", "z400")
STREAM = "01" "6100" "04" "0500" "0007" "000004" "28" "0000"
WORDS = [name.lower() for name in (*keyword.kwlist, *keyword.softkwlist, *dir(builtins)) if name.strip("_") == name]


@cache
def plain(folder: Path) -> tuple[dict[str, str], dict[str, str], dict[str, Any]]:
    texts, fixed = sources(SCHEMAS), sources(FIXED)
    made = render_all(put(folder, texts | fixed), targets=["python", "vectors"]).modules
    vectors = {name: json.loads(made.pop(f"{name}.vectors.json")) for name in SCHEMAS}
    return texts, made, vectors


def values(value: Any) -> Any:
    """A value without the names of its members."""
    if is_dataclass(value):
        return [values(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, list):
        return [values(each) for each in value]
    return value


def test_python(tmp_path: Path) -> None:
    texts, made, vectors = plain(tmp_path / "plain")
    words = vocabulary(made.values(), r"#.*", fold=False)
    # a field called as the part of another is refused: see test_problems.py
    words = [word for word in words if re.match(r"z\d{3}_(?!bits)", word) is None]
    assert {"buf", "stop", "opt", "io", "part"} <= set(words)
    first: list[Any] | None = None
    for index, names in enumerate([{}, *rounds(texts, sorted({*words, *WORDS}), lambda name: camel(name) in IMPORTED)]):
        schemas = {name: renamed(text, names) for name, text in texts.items()}
        model = load(put(tmp_path / f"r{index}", schemas | sources(FIXED)))
        assert not [*find("python").lacks(Request(model))], names
        found = []
        with Modules(model) as modules:
            back = Facts(model)
            for name in SCHEMAS:
                kind = getattr(modules.of(model.schema(name)), back.classes[name])
                of = vectors[name]["types"].get(name, {"valid": []})
                bytes_of = [each["bytes"] for each in of["valid"]]
                bytes_of += {"z000": [GZIP], "z300": [STREAM]}.get(name, [])
                given: list[tuple[str, dict[str, int]]] = [(each, {}) for each in bytes_of]
                if name == "z200":
                    version = local(model.schema(name).root.version_field)
                    given += [(data, {version: number}) for number, data in VERSIONS.items()]
                for data, known in given:
                    value = kind.from_bytes(bytes.fromhex(data), **known)
                    assert value.to_bytes(**known).hex() == data or name == "z000", names
                    found.append(values(value))
        first = first or found
        assert len(found) > 12
        assert found == first, names
