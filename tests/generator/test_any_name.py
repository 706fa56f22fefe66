"""What is called as Python, or as the generator calls things, is read and written as under any other name."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from dataclasses import fields, is_dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kodec.generator.driver import generate, load, render_all
from kodec.generator.modules import Modules
from kodec.generator.target import Request, find
from kodec.generator.targets.python.collisions import IMPORTED
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import argument, camel
from kodec.runtime.compression import decompress
from tests.vectors import right

from .any_name import FIXED, GZIP, VERSIONS, put, renamed, rounds, sources, vocabulary
from .compilers import compile_all, needs_cc

pytestmark = pytest.mark.thorough

SCHEMAS = ("z000", "z100", "z200", "z300", "z400")
STREAM = "0161000405000007000004280000"
WORDS = [
    name.lower() for name in (*keyword.kwlist, *keyword.softkwlist, *dir(builtins)) if name.strip("_") == name
]


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
    for index, names in enumerate(
        [{}, *rounds(texts, sorted({*words, *WORDS}), lambda name: camel(name) in IMPORTED)]
    ):
        schemas = {name: renamed(text, names) for name, text in texts.items()}
        model = load(put(tmp_path / f"r{index}", schemas | sources(FIXED)))
        assert not [*find("python").lacks(Request(model))], names
        found = []
        with Modules(model) as modules:
            back = ModelIndex(model)
            for name in SCHEMAS:
                kind = getattr(modules.of(model.schema(name)), back.classes[name])
                bytes_of = [each["bytes"] for each in right(vectors[name], name)]
                bytes_of += {"z000": [GZIP], "z300": [STREAM]}.get(name, [])
                given: list[tuple[str, dict[str, int]]] = [(each, {}) for each in bytes_of]
                if name == "z200":
                    version = argument(model.schema(name).root.version_field)
                    given += [(data, {version: number}) for number, data in VERSIONS.items()]
                for data, known in given:
                    value = kind.from_bytes(bytes.fromhex(data), **known)
                    assert value.to_bytes(**known).hex() == data or name == "z000", names
                    found.append(values(value))
        first = first or found
        assert len(found) > 12
        assert found == first, names


C_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while asm typeof bool xor xor_eq and_eq bitand bitor compl class new delete this unix linux
    errno stdin stdout stderr assert complex offsetof isnan environ i386 template namespace operator
    private public virtual typename using friend mutable
""".split()  # noqa: SIM905  # sixty words on sixty lines are no list to read


def columns(module: Any, data: bytes) -> list[Any]:
    """What a kernel makes of one unit, column by column, without the names of columns."""
    rows = module.Rows()
    status, _ = rows.run(data, 0, len(data))
    if status == "compressed":
        codec, start, size = rows.content
        assert rows.rows(decompress(codec, data[start : start + size], limit=1 << 20)) == "ok"
    table = pa.array(rows.take())
    return [
        json.dumps([values_of(each) for each in numbers(column).to_pylist()]) for column in table.flatten()
    ]


def numbers(column: pa.Array) -> pa.Array:
    """Timestamps as numbers: Python's own end with the year 9999."""
    return column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column


def values_of(value: Any) -> Any:
    if isinstance(value, dict):
        return [values_of(each) for each in value.values()]
    return [values_of(each) for each in value] if isinstance(value, list) else str(value)


@needs_cc
def test_kernels(tmp_path: Path) -> None:
    kernels = ("z000", "z100")
    texts, fixed = sources(kernels), sources(FIXED)
    folder = put(tmp_path / "plain" / "schemas", texts | fixed)
    made = render_all(folder, targets=["native"], kernels=kernels).modules
    words = vocabulary(made.values(), r"//.*|/\*(?s:.*?)\*/|(?m:^ *# *(include|error).*)", fold=False)
    assert {"rows", "row", "item", "position", "checksum"} <= set(words)
    valid = render_all(folder, targets=["vectors"]).modules
    vectors = {name: json.loads(valid[f"{name}.vectors.json"]) for name in kernels}
    data = {
        name: [bytes.fromhex(each["bytes"]) for each in right(document, name) if each["bytes"]]
        for name, document in vectors.items()
    }
    data["z000"].append(bytes.fromhex(GZIP))
    first: list[Any] | None = None
    # a column of heads cannot have these names: a problem reports it
    kept = {*words, *C_WORDS, *WORDS} - {"position", "size"}
    called = [{}, *rounds(texts, sorted(kept), step=60)]
    for index, names in enumerate(called):
        folder = tmp_path / f"r{index}"
        put(folder / "schemas", {name: renamed(text, names) for name, text in texts.items()} | fixed)
        generate(folder / "schemas", folder / "made", targets=["native"], kernels=kernels)
        compile_all(folder / "made" / "kernels", kernels)
        found = []
        for name in kernels:
            spec = spec_from_file_location(name, next((folder / "made" / "kernels").glob(f"{name}.*.so")))
            assert spec is not None and spec.loader is not None
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            found += [columns(module, each) for each in data[name]]
        first = first or found
        assert sum(unit[0] != "[]" for unit in first) > 4
        assert found == first, names
