"""Parameters of the outermost type: in functions, on the command line and as options of Spark."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kodec
from kodec.cli.app import run
from kodec.formats import filling
from kodec.kaitai.source import KaitaiDataSource, KaitaiReader
from kodec.runtime.native import native_module
from tests.golden import Golden

SCHEMA = """
meta: {id: given, endian: be}
params:
  - {id: count, type: u1}
  - {id: scale, type: f8}
  - {id: wide, type: bool}
  - {id: name, type: str}
  - {id: mask, type: bytes}
  - {id: kind, type: u4, enum: kinds}
  - {id: sizes, type: 'u1[]'}
seq:
  - {id: rows, type: row(wide), repeat: expr, repeat-expr: count}
types:
  row:
    params: [{id: long, type: bool}]
    seq:
      - {id: a, type: u1}
      - {id: b, type: u2, if: long}
      - {id: c, size: '_root.sizes[a]'}
    instances:
      scaled: {value: a * _root.scale}
      named: {value: '_root.kind == kinds::many ? _root.name : "one"'}
      masked: {value: 'a & _root.mask[0]'}
enums: {kinds: {1: one, 300: many}}
"""
DATA = b"\0\1\2c\1\3\4dd"
GIVEN: dict[str, Any] = {
    "count": 2,
    "scale": 0.5,
    "wide": True,
    "name": "w=x,y",
    "mask": b"\1\xff",
    "kind": "many",
    "sizes": [1, 2],
}
TEXTS = ["count=2", "scale=0.5", "wide=true", "name=w=x,y", "mask=01ff", "kind=many", "sizes=1,0x2"]
COLUMNS = ["*", "scaled", "named", "masked"]
ROWS = [
    {"a": 0, "b": 258, "c": b"c", "scaled": 0.0, "named": "w=x,y", "masked": 0},
    {"a": 1, "b": 772, "c": b"dd", "scaled": 0.5, "named": "w=x,y", "masked": 1},
]


pytestmark = pytest.mark.skipif(native_module("streams") is None, reason="the native reader was not built")


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "file").write_bytes(DATA)
    (tmp_path / "given.ksy").write_text(SCHEMA)
    return tmp_path / "given.ksy"


@pytest.mark.parametrize("pure", [False, True], ids=["native", "pure"])
def test_every_function_takes_them(
    schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pure: bool
) -> None:
    if pure:
        monkeypatch.setattr(filling, "native_module", lambda name: None)
    format = kodec.formats.load_schema(schema)
    assert format.parameters_of(TEXTS) == GIVEN
    found = format.read(DATA, GIVEN)
    assert [each.named for each in found.rows] == ["w=x,y", "w=x,y"] and found.to_bytes() == DATA
    assert found.kind is format.module.Kinds.MANY
    reader = format.scan(DATA, columns=COLUMNS, parameters=GIVEN)
    assert reader.read_all().to_pylist() == ROWS and reader.through_objects == ""
    assert reader.backend == ("pure" if pure else "native")
    reader = kodec.formats.scan_files(format, [tmp_path / "file"], path_column=None, parameters=GIVEN)
    assert reader.read_all().num_rows == 2
    live = kodec.formats.objects_of(io.BytesIO(DATA), format, "rows", parameters=GIVEN)
    assert [each.b for each in live] == [258, 772]
    for kind in (300, format.module.Kinds.MANY):
        assert format.read(DATA, GIVEN | {"kind": kind}).rows[0].named == "w=x,y"
    assert format.read(DATA, GIVEN | {"kind": 7}).rows[0].named == "one"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cuont": 2}, "`given` has no parameter `cuont`: did you mean `count`?"),
        ({"count": None}, "`count` of `given` is of type u1, not NoneType"),
        ({"count": 256}, r"`count` of `given` is 0 to 255 \(u1\), not 256"),
        ({"count": True}, "`count` of `given` is of type u1, not bool"),
        ({"wide": 1}, "`wide` of `given` is of type bool, not int"),
        ({"mask": "01"}, "`mask` of `given` is of type bytes, not str"),
        ({"kind": "mny"}, "`kind` of `given`: `given::kinds` has no `mny`; did you mean `many`?"),
        ({"kind": 1.5}, "`kind` of `given` is a name or a number of `given::kinds`, not 1.5"),
        ({"sizes": [1, -1]}, r"`sizes` of `given` is 0 to 255 \(u1\), not -1"),
        ({"sizes": 1}, "`sizes` of `given` is of type u1, not int"),
    ],
)
def test_wrong_values_are_refused(schema: Path, change: dict[str, Any], said: str) -> None:
    format = kodec.formats.load_schema(schema)
    for use in (format.read, lambda data, given: format.scan(data, parameters=given)):
        with pytest.raises(ValueError, match=said):
            use(DATA, GIVEN | change)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("count", "written as NAME=VALUE, not count"),
        ("cuont=1", "did you mean `count`?"),
        ("count=1 --param=count=1", "the parameter `count` is given twice"),
        ("count=two", "`count` of `given` is a whole number, not 'two'"),
        ("count=300", "`count` of `given` is 0 to 255 (u1), not 300"),
        ("scale=x", "`scale` of `given` is a number, not 'x'"),
        ("wide=1", "`wide` of `given` is true or false, not '1'"),
        ("mask=0", "`mask` of `given` is hexadecimal digits, two for each byte, not '0'"),
        ("kind=mny", "did you mean `many`?"),
        ("kind=7x", "`kind` of `given` is a name or a whole number, not '7x'"),
        ("sizes=1,b", "`sizes` of `given` is a whole number, not 'b'"),
    ],
)
def test_commands_refuse_wrong_ones(
    schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    name = text.partition("=")[0]
    others = [each for each in TEXTS if each.partition("=")[0] != name]
    given = [f"--param={each}" for each in (*others, *text.split(" --param="))]
    file = str(tmp_path / "file")
    for command in ("scan", "dump", "explain"):
        assert run([command, "--schema", str(schema), file, *given]) == 2
        assert said in capsys.readouterr().err


def test_commands_take_them(
    schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    given = [part for each in TEXTS for part in ("--param", each)]
    file, plan = str(tmp_path / "file"), tmp_path / "given.kodec"
    kodec.formats.load_schema(schema).save(plan)
    for path in (schema, plan):
        here = ["--schema", str(path), file, *given]
        assert run(["scan", *here, "--column", "b", "--column", "named"]) == 0
        golden(capsys.readouterr().out)
        assert run(["dump", *here, "--json"]) == 0
        assert [each["b"] for each in json.loads(capsys.readouterr().out)["rows"]] == [258, 772]
        assert run(["dump", *here, "--json", "--each", "--path", "rows"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2
        assert run(["explain", *here]) == 0
        assert "rows[1].b" in capsys.readouterr().out
    assert run(["dump", file, "--param", "count=1"]) == 2
    golden(capsys.readouterr().err)
    for command in ("scan", "dump", "explain"):
        assert run([command, "--schema", str(schema), file, *given[:-2]]) == 2
        golden(capsys.readouterr().err)


def test_objects_are_given_in_python_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "around.ksy"
    path.write_text(
        "{meta: {id: around}, params: [{id: head, type: head}], seq: [{id: all, type: row, repeat: eos}], "
        "types: {head: {seq: [{id: n, type: u1}]}, row: {seq: [{id: b, size: _root.head.n}]}}}"
    )
    format = kodec.formats.load_schema(path)
    head = format.module.Head.from_bytes(b"\2")
    with pytest.raises(ValueError, match="cannot be given as text: it is an object or a stream"):
        format.parameters_of(["head=1"])
    assert [each.b for each in format.read(b"abcd", {"head": head}).all] == [b"ab", b"cd"]
    reader = format.scan(b"abcd", parameters={"head": head})
    assert reader.read_all().to_pylist() == [{"b": b"ab"}, {"b": b"cd"}]
    golden(reader.through_objects)


def test_spark_takes_them_as_options(schema: Path, tmp_path: Path) -> None:
    given = {f"param.{name}": value for name, _, value in (each.partition("=") for each in TEXTS)}
    options = {"schema": str(schema), "path": str(tmp_path / "file"), "columns": ",".join(COLUMNS)}

    def read(**others: str) -> list[Any]:
        source = KaitaiDataSource({**options, **given, **others})
        reader = source.reader(source.schema())
        worker: KaitaiReader = pickle.loads(pickle.dumps(reader))
        batches = [batch for task in reader.partitions() for batch in worker.read(task)]
        return list(pa.Table.from_batches(batches).to_pylist())

    assert read() == read(check="true") == ROWS
    for wrong in ({"param.count": "x"}, {"param.other": "1"}, {"check": "x"}):
        with pytest.raises(ValueError, match=r"whole number|no parameter|true or false"):
            read(**wrong)
