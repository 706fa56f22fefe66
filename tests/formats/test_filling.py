"""Columns that the native reader fills: the same as from objects, for whole, cut and changed files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kodec
from kodec.cli.app import run as run_cli
from kodec.formats import FilesReader, plans, scan_files
from kodec.formats import schema as schemas
from kodec.formats.output import FORMATS, write_rows
from kodec.kaitai.source import KaitaiDataSource
from kodec.runtime.errors import FormatError, KodecError, Malformed, Truncated, Unsupported
from kodec.runtime.fields import DEFAULT_READ
from kodec.runtime.native import native_module
from tests.golden import Golden

pytestmark = pytest.mark.skipif(native_module("streams") is None, reason="the native reader was not built")

SCHEMA = """
meta: {id: capture, endian: le, encoding: UTF-8}
seq:
  - {id: magic, contents: CAP}
  - {id: version, type: u1}
  - {id: packets, type: packet, repeat: eos}
types:
  packet:
    seq:
      - {id: kind, type: u1, enum: kinds}
      - {id: flags, type: u1}
      - {id: stamp, type: s8}
      - {id: len, type: u2}
      - id: body
        size: len
        type:
          switch-on: kind
          cases:
            'kinds::text': words
            'kinds::point': point
      - {id: extra, type: u4, if: flags & 1 != 0}
    instances:
      half: {value: stamp / 2}
      shown: {value: 'kind == kinds::text ? "text" : "other"'}
      again: {pos: 0, size: 3}
  words:
    seq:
      - {id: lang, type: u1, enum: langs}
      - {id: many, type: word, repeat: eos}
  word: {seq: [{id: text, type: strz}]}
  point:
    seq:
      - {id: x, type: f4}
      - {id: y, type: f8}
      - {id: tags, type: u2, repeat: eos}
enums:
  kinds: {1: text, 2: point}
  langs: {7: en}
"""


def packet(kind: int, body: bytes, stamp: int = 5, extra: int | None = None) -> bytes:
    head = struct.pack("<BBqH", kind, extra is not None, stamp, len(body))
    return head + body + (b"" if extra is None else struct.pack("<I", extra))


DATA = (
    b"CAP\3"
    + packet(1, b"\7one\0t\xc3\xbco\0\xff\0", 10)
    + packet(2, struct.pack("<fdHH", 1.5, -2.0, 3, 4), 20, 2**32 - 1)
    + packet(9, b"raw", 30)
    + packet(1, b"\x08", -40, 0)
)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KODEC_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("KODEC_PURE", raising=False)
        yield
    for name in [name for name in sys.modules if name.startswith("kodec_cached_")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], kodec.formats.Format]:
    def make(text: str) -> kodec.formats.Format:
        path = tmp_path_factory.mktemp("schema") / f"{text.partition('id: ')[2].partition(',')[0]}.ksy"
        path.write_text(text, "utf-8")
        return kodec.formats.load_schema(path)

    return make


@pytest.fixture(scope="module")
def capture(made: Callable[[str], kodec.formats.Format]) -> kodec.formats.Format:
    return made(SCHEMA)


def pure(format: kodec.formats.Format, data: bytes, rows: str | None = None, **settings: Any) -> list[Any]:
    """The rows, from objects."""
    given = {"columns": None, "where": None, "nested": False, "enums": "names"} | settings
    plan: Any = format._planned(rows, **given)
    scan = schemas._Scan(format, plan, data, None, DEFAULT_READ, 8192, None)
    return [
        row for batch in schemas._filtered(scan.pure(), plan.test, plan.shown) for row in batch.to_pylist()
    ]


def natively(
    format: kodec.formats.Format, data: bytes, rows: str | None = None, **settings: Any
) -> list[Any]:
    """The rows, of which none is from an object."""
    given = {"columns": None, "where": None, "nested": False, "enums": "names"} | settings
    plan: Any = format._planned(rows, **given)
    status, *_ = plan.filling.rows(data, DEFAULT_READ).run(1 << 20, 1 << 30)
    assert status == "end"
    table = format.scan(data, rows, **settings).read_all()
    table.validate(full=True)
    return list(table.to_pylist())


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except KodecError as error:
        return type(error), str(error)


@pytest.mark.quick
def test_types_are_columns_of_their_own_and_a_switch_is_the_name_of_its_type(
    capture: kodec.formats.Format,
) -> None:
    reader = capture.scan(DATA)
    words = pa.dictionary(pa.int32(), pa.string())
    assert reader.backend == "native"
    assert reader.schema == pa.schema(
        [
            ("kind", words),
            ("flags", pa.uint8()),
            ("stamp", pa.int64()),
            ("len", pa.uint16()),
            ("body", words),
            ("body.words.lang", words),
            ("body.words.many", pa.list_(pa.struct([("text", pa.string())]))),
            ("body.point.x", pa.float32()),
            ("body.point.y", pa.float64()),
            ("body.point.tags", pa.list_(pa.uint16())),
            ("body.bytes", pa.binary()),
            ("extra", pa.uint32()),
        ]
    )
    first, second, third, fourth = natively(capture, DATA)
    assert first["kind"] == "text" and first["body"] == "words" and first["body.words.lang"] == "en"
    assert [each["text"] for each in first["body.words.many"]] == ["one", "t\xfco", "\ufffd"]
    assert second["body"] == "point" and second["body.point.x"] == 1.5 and second["extra"] == 2**32 - 1
    assert second["body.words.many"] is None and second["body.point.tags"] == [3, 4]
    assert (third["kind"], third["body"], third["body.bytes"]) == ("9", "bytes", b"raw")
    assert fourth["body.words.lang"] == "8" and fourth["body.words.many"] == []


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (None, {}),
        (None, {"nested": True}),
        (None, {"enums": "numbers"}),
        (".", {}),
        (".", {"nested": True}),
        ("packets.body", {}),
        ("packets[].body.words", {}),
        ("packets.body.words.many", {"columns": ["text", "_parent.lang", "_root.version"]}),
        (None, {"columns": ["shown", "half", "again", "body"]}),
        (None, {"columns": ["stamp"]}),
        (None, {"where": "kind == 'text'"}),
        (None, {"where": "body == 'point' or stamp < 0", "columns": ["stamp"]}),
        (None, {"where": "extra != None and stamp >= -40", "columns": ["kind"]}),
        (None, {"where": "kind in ('9', 'point')"}),
        (None, {"where": "body.words.lang == '8'"}),
        (None, {"where": [("body.bytes", "==", b"raw")]}),
        (None, {"where": "half > 5 and half < 15"}),
        (None, {"where": "not body.point.x > 1"}),
    ],
)
def test_columns_are_those_of_objects(
    capture: kodec.formats.Format, rows: str | None, settings: dict[str, Any]
) -> None:
    found = natively(capture, DATA, rows, **settings)
    assert found == pure(capture, DATA, rows, **settings)
    assert found or "text" in str(settings)


def test_cut_at_every_byte_and_changed_in_every_byte(capture: kodec.formats.Format) -> None:
    rng = random.Random(1)
    inputs = [DATA[:size] for size in range(len(DATA))]
    inputs += [
        DATA[:at] + bytes([rng.randrange(256)]) + DATA[at + 1 :] for at in range(len(DATA)) for _ in "ab"
    ]
    for data in inputs:
        for rows in (None, "packets.body.words.many"):
            want = outcome(lambda data=data, rows=rows: pure(capture, data, rows))
            assert (
                outcome(lambda data=data, rows=rows: capture.scan(data, rows).read_all().to_pylist()) == want
            )


def test_rows_before_the_damage_are_yielded(capture: kodec.formats.Format) -> None:
    reader = capture.scan(DATA[:-3], batch_rows=1)
    assert [next(reader).num_rows for _ in range(3)] == [1, 1, 1]
    with pytest.raises(Truncated, match=r"packets\[3\]\.extra"):
        next(reader)
    # from objects too, in whatever batches
    scan = schemas._Scan(
        capture, capture._planned(None, None, None, False, "names"), DATA[:-3], None, DEFAULT_READ, 8192, None
    )
    rows = scan.pure()
    assert next(rows).num_rows == 3
    with pytest.raises(Truncated, match=r"packets\[3\]\.extra"):
        next(rows)


@pytest.mark.parametrize("form", ["u1", "u2", "u4", "u8", "s1", "s2", "s4", "s8"])
@pytest.mark.parametrize("alone", [False, True])
def test_enums_of_each_width_are_their_names(
    made: Callable[[str], kodec.formats.Format], form: str, alone: bool
) -> None:
    more = "" if alone else ", {id: n, type: u1}"
    format = made(
        f"meta: {{id: enums_{form}_{alone:d}, endian: be}}\nseq: [{{id: all, type: row, repeat: eos}}]\n"
        f"types: {{row: {{seq: [{{id: kind, type: {form}, enum: kinds}}{more}]}}}}\n"
        "enums: {kinds: {0: none, 3: three, 16: many}}\n"
    )
    numbers = [16, 3, 0, 77, 16, 1, 77, 3] * 3
    size = int(form[1])
    data = b"".join(each.to_bytes(size, "big") + b"\1" * (not alone) for each in numbers)
    names = {0: "none", 3: "three", 16: "many"}
    found = format.scan(data).read_all()
    found.validate(full=True)
    assert found["kind"].to_pylist() == [names.get(each, str(each)) for each in numbers]


def test_more_than_64_columns(made: Callable[[str], kodec.formats.Format]) -> None:
    fields = "".join(f"      - {{id: f{number}, type: u2}}\n" for number in range(300))
    wide = made(
        "meta: {id: wide, endian: be}\nseq: [{id: all, type: row, repeat: eos}]\n"
        f"types:\n  row:\n    seq:\n{fields}"
    )
    data = random.Random(1).randbytes(600 * 20)
    table = wide.scan(data).read_all()
    assert table.num_columns == 300
    want = [list(each) for each in struct.iter_unpack(">300H", data)]
    assert [list(row.values()) for row in table.to_pylist()] == want
    assert wide.scan(data, where="f299 > 60000").read_all().num_rows == sum(row[299] > 60000 for row in want)


def test_parts_that_nobody_asks_for_are_passed_over(capture: kodec.formats.Format) -> None:
    broken = b"CAP\3" + packet(1, b"\7no end", 1) + packet(1, b"\7", 2)
    with pytest.raises(Truncated):
        capture.scan(broken).read_all()
    assert capture.scan(broken, columns=["stamp"]).read_all().to_pylist() == [{"stamp": 1}, {"stamp": 2}]
    assert capture.scan(broken, where="stamp == 2").read_all().num_rows == 1


def test_memory_does_not_grow_with_rows(capture: kodec.formats.Format) -> None:
    import tracemalloc

    def peak(count: int) -> int:
        data = b"CAP\3" + packet(1, b"\7one\0two\0") * count
        tracemalloc.start()
        assert sum(batch.num_rows for batch in capture.scan(data, batch_rows=100)) == count
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(200)
    assert peak(20_000) < 2 * peak(200) + 200_000


def test_rows_of_one_size_can_be_read_in_parts(made: Callable[[str], kodec.formats.Format]) -> None:
    format = made(
        "meta: {id: table, endian: be}\n"
        "seq: [{id: width, type: u1}, {id: all, type: row, size: width, repeat: eos}]\n"
        "types: {row: {seq: [{id: a, type: u2}]}}\n"
    )
    data = b"\4" + b"".join(struct.pack(">HH", number, 0) for number in range(1000))
    parts = format.row_parts(data, most=3)
    assert parts == [(0, 333), (333, 333), (666, -1)]
    found = [value for part in parts for value in format.scan(data, part=part).read_all()["a"].to_pylist()]
    assert found == list(range(1000))
    assert format.row_parts(data, most=3, least=600) == [(0, -1)]
    with pytest.raises(Truncated):
        format.scan(data + b"\0", part=parts[2]).read_all()


def test_a_file_whose_rows_differ_in_size_is_one_part(capture: kodec.formats.Format) -> None:
    assert capture.row_parts(DATA, most=4) == [(0, -1)]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("stamp >", "invalid syntax"),
        ("stamp + 1", "is not a condition"),
        ("nope == 1", "did you mean|has no `nope`"),
        ("stamp == 'a'", "it is a column of int64"),
        ("f(stamp) == 1", "is not a column"),
        ([("stamp", "~", 1)], "is not one of"),
        ([], "no condition"),
    ],
)
def test_conditions_that_are_wrong(capture: kodec.formats.Format, where: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        capture.scan(DATA, where=where).read_all()


def test_many_files_have_their_path_and_damage_is_named(
    capture: kodec.formats.Format, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.cap").write_bytes(DATA if number != 1 else DATA[:-2])
    with pytest.raises(Truncated, match=r"1\.cap"):
        scan_files(capture, [tmp_path / "*.cap"]).read_all()
    reader = scan_files(capture, [f"{tmp_path}/*.cap", tmp_path / "0.cap"], on_error="skip")
    assert isinstance(reader, FilesReader) and len(reader.files) == 3
    found = reader.read_all()
    assert found["path"].cast(pa.string()).value_counts().to_pylist() == [
        {"values": str(tmp_path / f"{number}.cap"), "counts": count}
        for number, count in ((0, 4), (1, 3), (2, 4))
    ]
    (problem,) = reader.problems
    assert problem.path.endswith("1.cap") and problem.rows == 3 and "extra" in str(problem)
    for wrong in ("none.cap", "*.none"):
        with pytest.raises(FileNotFoundError):
            scan_files(capture, [tmp_path / wrong])


@pytest.mark.parametrize("form", FORMATS)
def test_each_output_has_all_rows(capture: kodec.formats.Format, tmp_path: Path, form: str) -> None:
    (tmp_path / "a.cap").write_bytes(DATA)
    to = tmp_path / f"out.{form}"
    assert write_rows(scan_files(capture, [tmp_path / "a.cap"], batch_rows=2), to) == 4
    with pytest.raises(FileExistsError):
        write_rows(capture.scan(DATA), to)
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    kinds = ["text", "point", "9", "text"]
    if form == "parquet":
        import pyarrow.parquet as pq

        assert pq.read_table(to)["kind"].cast(pa.string()).to_pylist() == kinds
    elif form == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(to)) as connection:
            assert [row[0] for row in connection.execute('SELECT kind FROM "rows"').fetchall()] == kinds
    elif form == "csv":
        import csv

        with to.open(newline="") as file:
            found = list(csv.DictReader(file))
        assert [row["kind"] for row in found] == kinds and found[2]["body.bytes"] == "726177"
    else:
        lines = [json.loads(line) for line in to.read_text().splitlines()]
        assert [row["kind"] for row in lines] == kinds and lines[1]["body.point.tags"] == [3, 4]


def test_a_plan_is_one_file_and_checked(
    capture: kodec.formats.Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "capture.kodec"
    capture.save(plan)
    first = plan.read_bytes()
    capture.save(plan)
    assert plan.read_bytes() == first
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "elsewhere"))
    again = kodec.formats.load_schema(plan)
    assert again.scan(DATA).read_all().to_pylist() == capture.scan(DATA).read_all().to_pylist()
    for at in range(0, len(first), 97):
        plan.write_bytes(first[:at] + bytes([first[at] ^ 1]) + first[at + 1 :])
        with contextlib.suppress(KodecError):
            assert kodec.formats.load_schema(plan).scan(DATA).read_all().num_rows == 4
    plan.write_bytes(first[: len(first) // 2])
    with pytest.raises(Malformed, match="not a plan of kodec"):
        kodec.formats.load_schema(plan)


def test_plans_and_known_schemas_are_read_without_the_generator(
    capture: kodec.formats.Format, tmp_path: Path
) -> None:
    """What prints modules takes half a second to import, and workers lack its libraries."""
    (tmp_path / "a.cap").write_bytes(DATA)
    plan = tmp_path / "capture.kodec"
    capture.save(plan)
    schema = tmp_path / "capture.ksy"
    schema.write_text(SCHEMA)
    code = """
        import sys
        from kodec.cli.app import run
        from kodec.formats import load_schema, objects_of

        allowed = set(sys.argv[3].split())
        assert run(["dump", "--schema", sys.argv[1], "--json", sys.argv[2]]) == 0
        assert load_schema(sys.argv[1]).scan(sys.argv[2]).read_all().num_rows == 4
        assert len(list(objects_of(open(sys.argv[2], "rb"), sys.argv[1], "")))
        costly = {"jinja2", "ruff", "yaml", "kodec.generator.driver", "kodec.generator.passes"}
        assert set(sys.modules) & costly <= allowed, set(sys.modules) & costly
    """
    # a schema is read, to find its imports
    for path, allowed in ((plan, ""), (schema, "yaml")):
        command = [sys.executable, "-c", textwrap.dedent(code), path, tmp_path / "a.cap", allowed]
        permitted = os.environ | {"KODEC_ALLOW": "plans"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=permitted)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("door", ["load_schema", "dump", "explain", "kaitai"])
@pytest.mark.parametrize("part", [".py", ".pickle"])
def test_the_code_in_a_plan_is_not_run(
    capture: kodec.formats.Format, tmp_path: Path, door: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right hashes prove nothing: whoever makes a plan makes them too."""
    plan, mark, data = tmp_path / "capture.kodec", tmp_path / "mark", tmp_path / "a.cap"
    data.write_bytes(DATA)
    capture.save(plan)
    about, parts = plans._read(plan.read_bytes())
    run = f"open({str(mark)!r}, 'w').close()"
    evil = {
        ".py": f"{run}\n".encode(),
        ".pickle": b"cbuiltins\nexec\n(V" + run.encode() + b"\ntR.",
    }[part]
    for path in parts:
        if path.endswith(part):
            parts[path] = evil
            about["parts"][path] = hashlib.sha256(evil).hexdigest()
    with zipfile.ZipFile(plan, "w") as archive:
        for path, each in {"plan.json": json.dumps(about).encode(), **parts}.items():
            archive.writestr(path, each)
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    if door == "kaitai":
        source = KaitaiDataSource({"schema": str(plan), "path": str(data)})
        assert source.reader(source.schema()).partitions()
    elif door == "load_schema":
        assert kodec.formats.load_schema(plan).scan(DATA).read_all().num_rows == 4
    else:
        assert run_cli([door, "--schema", str(plan), str(data)]) == 0
    assert not mark.exists()
    # the test can fail: where it is allowed, the same plan is run
    monkeypatch.setenv("KODEC_ALLOW", "plans")
    with contextlib.suppress(Exception):
        kodec.formats.load_schema(plan).scan(DATA)
    assert mark.exists()


def test_a_plan_of_another_version_is_generated_again(
    capture: kodec.formats.Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "capture.kodec"
    with monkeypatch.context() as patch:
        patch.setattr(plans, "made_by", lambda: b"another")
        capture.save(plan)
    assert kodec.formats.load_schema(plan).scan(DATA).read_all().num_rows == 4
    with monkeypatch.context() as patch:
        patch.setattr(plans, "FORM", 99)
        capture.save(plan)
    with pytest.raises(Unsupported, match="form 99"):
        kodec.formats.load_schema(plan)


def test_a_plan_writes_nothing_outside_of_its_folder(capture: kodec.formats.Format, tmp_path: Path) -> None:
    plan = tmp_path / "capture.kodec"
    capture.save(plan)
    about, parts = plans._read(plan.read_bytes())
    data = b"outside"
    about["parts"]["../evil.py"] = hashlib.sha256(data).hexdigest()
    with zipfile.ZipFile(plan, "w") as archive:
        archive.writestr("plan.json", json.dumps(about))
        for path, part in {**parts, "../evil.py": data}.items():
            archive.writestr(path, part)
    with pytest.raises(Malformed, match="outside of its folder"):
        kodec.formats.load_schema(plan)


DEEP = "[" * 100_000 + "]" * 100_000
FORGED = {
    "parts": [
        "null",
        "5",
        "[1]",
        '["ab"]',
        '[["a", "b"]]',
        '"\\ud800"',
        '{"\\ud800": "x"}',
        "NaN",
        DEEP,
        "9" * 5_000,
    ],
    "schema": ["null", "5", "[1]", '"\\ud800"', "1e999", DEEP],
    "made_by": ["null", "5", '"\\ud800"', DEEP],
    "form": ["null", "2", "1e999", DEEP],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in FORGED.items() for value in values]
)
def test_a_forged_plan_is_an_error(
    key: str, value: str, capture: kodec.formats.Format, tmp_path: Path
) -> None:
    plan = tmp_path / "capture.kodec"
    capture.save(plan)
    about, parts = plans._read(plan.read_bytes())
    text = json.dumps({**about, key: "VALUE"}).replace('"VALUE"', value)
    with zipfile.ZipFile(plan, "w") as archive:
        archive.writestr("plan.json", text)
        for path, part in parts.items():
            archive.writestr(path, part)
    with pytest.raises(FormatError):
        kodec.formats.load_schema(plan)


@pytest.mark.parametrize("way", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_plan_in_another_compression_is_refused(
    way: int, capture: kodec.formats.Format, tmp_path: Path
) -> None:
    """Of which damage would be an error of another library."""
    plan = tmp_path / "capture.kodec"
    capture.save(plan)
    about, parts = plans._read(plan.read_bytes())
    with zipfile.ZipFile(plan, "w", way) as archive:
        for path, part in {"plan.json": json.dumps(about).encode(), **parts}.items():
            archive.writestr(path, part)
    with pytest.raises(Malformed, match="compressed as no plan is"):
        kodec.formats.load_schema(plan)


def test_lists_of_nothing_but_nulls(made: Callable[[str], kodec.formats.Format]) -> None:
    format = made(
        "meta: {id: nulls, endian: be}\nseq: [{id: all, type: row, repeat: eos}]\n"
        "types:\n  row:\n    seq:\n      - {id: n, type: u1}\n"
        "      - {id: list, type: {switch-on: n, cases: {9: one}}, repeat: expr, repeat-expr: 2}\n"
        "  one: {seq: [{id: v, type: u1}]}\n"
    )
    for data in (b"\1\2", b"\1\x09\5\6\2"):
        assert natively(format, data) == pure(format, data)


def test_a_schema_that_is_a_plan_inside_runs_nothing(capture: kodec.formats.Format, tmp_path: Path) -> None:
    plan = tmp_path / "capture.kodec"
    capture.save(plan)
    with pytest.raises(ValueError, match=r"ends in \.kodec"):
        capture.save(tmp_path / "capture.zip")
    with pytest.raises(KodecError):
        kodec.formats.load_schema(plan.rename(tmp_path / "capture.ksy"))


WORKED = """
meta: {id: worked, endian: be, encoding: ASCII}
seq: [{id: rows, type: row, repeat: eos}]
types:
  row:
    seq:
      - {id: num, type: u1}
      - {id: sizes, type: u1, repeat: expr, repeat-expr: num}
      - {id: digits, type: str, size: 3}
      - {id: final, size: sizes.last, if: num > 0}
      - {id: least, size: sizes.min, if: num > 0}
      - {id: most, type: u2, repeat: expr, repeat-expr: sizes.max, if: num > 0}
      - {id: counted, size: digits.to_i}
      - {id: pad, size: (4 - start) % 4}
      - id: inner
        type:
          switch-on: num & 1
          cases: {0: one, 1: two}
      - {id: again, size: inner.as<one>.n, if: num & 1 == 0}
      - {id: known, type: u1, if: 'num.to_s == "2"'}
      - {id: short, size: 2, if: 'digits.substring(1, 9) == "02"'}
    instances:
      start: {value: _io.pos}
      least_size: {value: _io.size - num}
      stop: {value: _io.pos}
  one: {seq: [{id: n, type: u1}]}
  two: {seq: [{id: s, type: strz}]}
"""


def _worked() -> bytes:
    found = b""
    for sizes, digits in ((b"\3\1", b"002"), (b"\0", b" 1 "), (b"", b"-00"), (b"\2\2\1", b"010")):
        found += bytes([len(sizes)]) + sizes + digits
        if sizes:
            found += bytes(sizes[-1]) + bytes(min(sizes)) + b"\1\2" * max(sizes)
        found += b"d" * int(digits)
        found += bytes(-len(found) % 4)
        found += b"s\0" if len(sizes) & 1 else b"\2ag"
        found += b"\7" * (len(sizes) == 2) + b"xy" * (digits[1:] == b"02")
    return found


def test_expressions_of_lists_texts_casts_and_positions(made: Callable[[str], kodec.formats.Format]) -> None:
    worked, data = made(WORKED), _worked()
    for columns in (None, ["*", "start", "least_size"]):
        found = natively(worked, data, columns=columns)
        assert found == pure(worked, data, columns=columns)
        assert [each["counted"] for each in found] == [b"dd", b"d", b"", b"d" * 10]
    changed = (
        data[:at] + bytes([byte]) + data[at + 1 :] for at in range(len(data)) for byte in (0, 1, 0x32, 0xFF)
    )
    for each in (*(data[:cut] for cut in range(len(data))), *changed):
        want = outcome(lambda each=each: pure(worked, each, columns=["*", "start"]))
        got = outcome(lambda each=each: worked.scan(each, columns=["*", "start"]).read_all().to_pylist())
        assert want == got, each.hex()


def test_where_a_stream_stands_after_a_row_is_for_objects(
    made: Callable[[str], kodec.formats.Format],
) -> None:
    worked, data = made(WORKED), _worked()
    plan: Any = worked._planned(None, ["stop"], None, False, "names")
    assert plan.filling.rows(data, DEFAULT_READ).run(9, 1 << 20)[0] == "stopped"
    # it is where the row ends, whatever the batch has
    stops = [
        worked.scan(data, columns=["stop"], batch_rows=most).read_all().to_pylist() for most in (1, 2, 99)
    ]
    assert stops[0] == stops[1] == stops[2] and len({each["stop"] for each in stops[0]}) == 4
    assert worked.scan(data, columns=["stop"]).read_all().to_pylist() == pure(worked, data, columns=["stop"])


COMPUTED = """
meta: {id: computed, endian: be, encoding: UTF-8}
seq:
  - {id: head, type: head, size: 4}
  - {id: rows, type: row(head._io), repeat: eos}
types:
  head: {seq: [{id: n, type: u1}]}
  row:
    params: [{id: outer, type: io}]
    seq:
      - {id: flag, type: b1}
      - {id: wide, type: b64}
      - {id: rest, type: b7}
      - {id: kind, type: u4, enum: kinds}
      - {id: big, type: u8, enum: kinds, valid: {any-of: [18446744073709551615, 77, 256]}}
      - {id: real, type: f4}
      - {id: word, type: str, size: 2, encoding: ASCII}
      - {id: pad, size: outer.size}
      - {id: taken, size: part.free}
      - {id: text, type: str, size: 1, encoding: UTF-8, if: word == "ab"}
    instances:
      part: {type: 'held(flag ? 2 : 1)'}
      whole: {value: real.to_i}
      back: {value: word.reverse}
      table: {value: '[word, "x", outer.size > 3 ? "y" : "z"]'}
      chosen: {value: 'table[kind == kinds::one ? 0 : 2]'}
      known: {value: '[5, 7, 256][kind == kinds::one ? 1 : 2]'}
      made: {value: '[kind.to_i & 0xff, 0x41].as<bytes>'}
      shown: {value: 'f"<{word}:{rest}>"'}
      mixed: {value: '[0xe2, 0x82, 0xac, 0x7a, kind.to_i & 0x7f, 0x41].as<bytes>.to_s("UTF-8")'}
      parts: {value: 'mixed.substring(1, 3) + mixed.substring(0, 1) + mixed.reverse.substring(2, 9)'}
      stream: {value: outer}
      size_of: {value: stream.size + 1}
  held:
    params: [{id: free, type: u1}]
    instances: {double: {value: free * 2}}
enums: {kinds: {1: one, 256: many, 18446744073709551615: all}}
"""


def _computed() -> bytes:
    found = b"\x09abc"
    for flag, wide, kind, big, real, word in (
        (1, 2**64 - 1, 1, 2**64 - 1, 2.75, b"ab"),
        (0, 2**63 + 5, 256, 77, -3.5, b"c\xff"),
        (1, 3, 2**32 - 1, 256, 1e18, b"zz"),
    ):
        bits = (flag << 71 | wide << 7 | 0x55).to_bytes(9, "big")
        found += bits + struct.pack(">IQf", kind, big, real) + word + b"pads"
        found += b"t" * (2 if flag else 1) + (b"u" if word == b"ab" else b"")
    return found


def test_lists_streams_and_numbers_of_64_bits(made: Callable[[str], kodec.formats.Format]) -> None:
    computed, data = made(COMPUTED), _computed()
    names = ["whole", "table", "chosen", "known", "made", "size_of", "part.double", "shown", "parts"]
    for columns in (None, ["*", *names]):
        found = natively(computed, data, columns=columns)
        assert found == pure(computed, data, columns=columns)
        assert [each["wide"] for each in found] == [2**64 - 1, 2**63 + 5, 3]
        assert [each["kind"] for each in found] == ["one", "many", str(2**32 - 1)]
        assert [each["big"] for each in found] == ["all", "77", "many"]
    assert [each["chosen"] for each in found] == ["ab", "y", "y"]
    assert [each["made"] for each in found] == [b"\x01A", b"\0A", b"\xffA"]
    assert [each["back"] for each in natively(computed, data, columns=["back"])] == ["ba", "\ufffdc", "zz"]
    for each in (*(data[:cut] for cut in range(len(data))), *_changed(data)):
        want = outcome(lambda each=each: pure(computed, each, columns=["*", *names]))
        got = outcome(lambda each=each: computed.scan(each, columns=["*", *names]).read_all().to_pylist())
        assert want == got, each.hex()


def _changed(data: bytes) -> Iterator[bytes]:
    for at in range(len(data)):
        for byte in (0, 1, 0x32, 0xFF):
            yield data[:at] + bytes([byte]) + data[at + 1 :]


def test_what_the_native_reader_leaves_to_objects_is_named(
    made: Callable[[str], kodec.formats.Format],
) -> None:
    moving = made(
        "meta: {id: moving, endian: be}\nseq: [{id: all, type: row, repeat: expr, repeat-expr: 2}]\n"
        "types: {row: {seq: [{id: n, type: u1}], instances: {next: {type: u1}}}}"
    )
    reason = "the instance `next` is read where the stream stands, not at a position"
    assert moving.fallbacks == {"moving::row": reason}
    # nobody asks for the instance
    reader = moving.scan(b"\1\2\3")
    assert reader.read_all().num_rows == 2 and reader.through_objects == ""
    reader = moving.scan(b"\1\2\3\4", columns=["*", "next"])
    assert reader.through_objects == ""
    assert reader.read_all().to_pylist() == pure(moving, b"\1\2\3\4", columns=["*", "next"])
    assert reader.through_objects == f"`moving::row`: {reason}"
    # damage is an error, whoever reads
    reader = moving.scan(b"\1")
    with pytest.raises(Truncated):
        reader.read_all()
    assert reader.through_objects == ""


DERIVED = """
meta: {id: derived, endian: be}
seq:
  - {id: head, type: head}
  - {id: rows, type: row, repeat: expr, repeat-expr: head.count}
types:
  head: {seq: [{id: len_head, type: u4}, {id: count, type: u1}, {id: sum, type: u2}]}
  row:
    seq:
      - {id: crc, type: u4}
      - {id: len, type: u1}
      - {id: body, size: len}
      - {id: tail, type: u1}
    instances: {twice: {value: tail * 2}}
"""
KEYS = """
schema: derived
keys:
  head.len_head: {-derive: length_of(count..sum)}
  head.sum: {-derive: sum16be(len_head..count)}
  row.crc: {-derive: crc32(len..tail)}
"""


def test_an_overlay_changes_no_column(tmp_path: Path, golden: Golden) -> None:
    path, keys = tmp_path / "derived.ksy", tmp_path / "keys" / "derived.overlay.yaml"
    path.write_text(DERIVED)
    keys.parent.mkdir()
    keys.write_text(KEYS)
    plain, other = kodec.formats.load_schema(path), kodec.formats.load_schema(path, [str(keys)])
    data = struct.pack(">IBH", 3, 3, 0) + b"\0\0\0\0\2ab\1" + b"\0\0\0\1\0\2" + b"\0\0\0\2\1x\3"
    for rows in ("rows", "."):
        for columns in (None, ["*", "twice"] if rows == "rows" else ["head.len_head"]):
            assert (
                natively(other, data, rows, columns=columns)
                == natively(plain, data, rows, columns=columns)
                == pure(other, data, rows, columns=columns)
            )
    assert natively(other, data, "rows", where="tail > 1") == natively(plain, data, "rows", where="tail > 1")
    # ranges of bytes ask for no values: rows are read one by one, and parts of them are passed over
    plans: list[Any] = [each._planned("rows", ["tail"], None, False, "names") for each in (plain, other)]
    assert plans[0].filling.names == plans[1].filling.names == {"head", "count", "len", "tail"}
    with pytest.raises(KodecError):
        other.read(data)
    reader = other.scan(data, "rows", check=True)
    with pytest.raises(KodecError):
        reader.read_all()
    golden(reader.through_objects)
    assert plain.scan(data, "rows", check=True).read_all().num_rows == 3


AHEAD = """
meta: {id: ahead, encoding: UTF-8}
seq:
  - {id: count, type: u2le}
  - {id: rows, type: row, repeat: expr, repeat-expr: count}
  - {id: names, type: names, size-eos: true}
types:
  row:
    seq: [{id: at, type: u1}]
    instances:
      name: {io: _root.names._io, pos: at, type: strz}
      twice: {value: at * 2}
  names: {seq: [{id: all, type: strz, repeat: eos}]}
"""


def test_columns_may_need_what_stands_after_the_rows(made: Callable[[str], kodec.formats.Format]) -> None:
    ahead = made(AHEAD)
    # more than a batch
    data = struct.pack("<H", 20_000) + b"\0\4" * 10_000 + b"one\0two\0"
    found = natively(ahead, data, columns=["at", "name"])
    assert found == pure(ahead, data, columns=["at", "name"])
    assert found == [{"at": 0, "name": "one"}, {"at": 4, "name": "two"}] * 10_000
    assert len(natively(ahead, data, columns=["at"], where="name == 'two'")) == 10_000
    for columns, parts in ((["at"], 4), (["name"], 1)):
        assert len(ahead.row_parts(data, "rows", columns, most=4)) == parts
    with pytest.raises(ValueError, match="columns need data after them"):
        ahead.scan(data, columns=["name"], part=(10, 10))
    # only rows of one batch are in memory, unless such a column is asked for
    plans: list[Any] = [ahead._planned(None, [name], None, False, "names") for name in ("twice", "name")]
    assert [each.filling.whole for each in plans] == [False, True]
    for cut in range(len(data) - 8, len(data)):
        want = outcome(lambda cut=cut: pure(ahead, data[:cut], columns=["name"]))
        got = outcome(lambda cut=cut: ahead.scan(data[:cut], columns=["name"]).read_all().to_pylist())
        assert want == got


ROWS_OF_PARTS = """
meta: {id: parts, endian: be}
seq:
  - {id: rows, type: row, repeat: eos}
types:
  row:
    seq:
      - {id: zulu, type: u2}
      - {id: head, type: head}
      - {id: body, type: body, size: head.len}
    instances:
      chosen: {value: "head.kind == 0 ? body : body"}
  head:
    seq:
      - {id: kind, type: u1}
      - {id: alpha, type: s2}
      - {id: len, type: u1}
  body:
    seq:
      - {id: number, type: u1}
      - {id: items, type: item, repeat: expr, repeat-expr: number}
  item:
    seq:
      - {id: b, type: u1}
      - {id: a, type: u2}
"""


def test_files_one_after_another_and_at_once_with_fields_in_objects(tmp_path: Path) -> None:
    def row(number: int) -> bytes:
        items = b"".join(struct.pack(">BH", each, number) for each in range(number % 4))
        body = bytes([number % 4]) + items
        return struct.pack(">HBhB", number, number % 2, -number, len(body)) + body

    (tmp_path / "parts.ksy").write_text(ROWS_OF_PARTS)
    format = kodec.formats.load_schema(tmp_path / "parts.ksy")
    for count in (30, 3, 0, 40):
        data = b"".join(map(row, range(count)))
        kept = format.scan(data, batch_rows=4)
        first = next(kept, None)  # and the rest later: another file is read meanwhile
        for columns in (None, ["chosen.number", "chosen.items", "head.alpha"]):
            found = format.scan(data, columns=columns, batch_rows=7).read_all().to_pylist()
            assert len(found) == count
            for number, each in enumerate(found):
                items = [{"b": place, "a": number} for place in range(number % 4)]
                assert each["head.alpha"] == -number
                if columns is None:
                    assert (each["zulu"], each["head.kind"]) == (number, number % 2)
                    assert (each["body.number"], each["body.items"]) == (number % 4, items)
                else:
                    assert (each["chosen.number"], each["chosen.items"]) == (number % 4, items)
        rest = [] if first is None else [first, *kept]
        assert [each for batch in rest for each in batch.column("zulu").to_pylist()] == list(range(count))


SIZED_PARTS = """
meta: {id: sized, endian: le, encoding: UTF-8}
seq:
  - {id: rows, type: row, repeat: eos}
types:
  row:
    seq:
      - {id: number, type: u1}
      - {id: sizes, type: u1, repeat: expr, repeat-expr: number}
      - {id: widths, type: s2, repeat: expr, repeat-expr: number}
      - {id: parts, size: "sizes[_index]", repeat: expr, repeat-expr: number}
      - {id: words, type: str, size: "widths[_index]", repeat: expr, repeat-expr: number}
"""


def test_parts_whose_sizes_are_in_another_list(made: Callable[[str], kodec.formats.Format]) -> None:
    format = made(SIZED_PARTS)

    def row(*parts: bytes) -> bytes:
        sizes = [len(each) for each in parts]
        return struct.pack(f"<B{len(sizes)}B{len(sizes)}h", len(sizes), *sizes, *sizes) + 2 * b"".join(parts)

    rows = [row(b"ab", b"", b"c" * 9), row(), row("é".encode(), b"x"), row(b""), row(b"\xff", b"\xe2\x82")]
    data = b"".join(rows)
    assert natively(format, 3 * data) == pure(format, 3 * data)
    wrong = [
        b"\x02" + struct.pack("<BBhh", 1, 1, *widths) + bytes(9) for widths in ((1, -1), (7, 1), (-1, 2))
    ]
    for each in [*(data[:cut] for cut in range(len(data))), *wrong]:
        want = outcome(lambda each=each: pure(format, each))
        assert outcome(lambda each=each: format.scan(each).read_all().to_pylist()) == want


ITEMS_UNTIL = """
meta: {id: items, endian: le, encoding: ASCII}
seq:
  - {id: rows, type: row, repeat: until, repeat-until: '_.name == "ZZ" or _io.eof'}
types:
  row:
    seq:
      - {id: raw, size: 2}
      - {id: items, type: item, repeat: until, repeat-until: "_.last"}
      - {id: flat, type: flat, repeat: until, repeat-until: "_.flags < 2"}
    instances:
      name: {value: raw.to_s("ASCII")}
  item:
    seq:
      - {id: flags, type: u1}
      - {id: extra, type: u2, if: flags & 1 != 0}
      - {id: inner, type: inner}
      - {id: shown, type: shown(_parent.raw.to_s("ASCII"))}
    instances:
      last: {value: flags & 2 != 0}
  flat:
    seq:
      - {id: flags, type: u1}
      - {id: extra, type: u2, if: flags & 1 != 0}
      - {id: name, type: str, size: flags & 3, if: flags & 4 != 0}
  inner:
    seq:
      - {id: size, type: u1}
      - {id: body, size: size}
      - {id: more, type: u1, if: _parent.flags & 4 != 0}
  shown:
    params: [{id: name, type: str}]
    seq:
      - {id: note, type: u1, if: name == "AA" and _parent.inner.size == 1}
"""


def test_elements_have_nothing_of_those_before_them(made: Callable[[str], kodec.formats.Format]) -> None:
    format = made(ITEMS_UNTIL)

    def item(flags: int, body: bytes, name: bytes) -> bytes:
        more = b"\x09" * (flags >> 2 & 1)
        note = b"\x07" * (name == b"AA" and len(body) == 1)
        return bytes([flags]) + b"\x01\x02" * (flags & 1) + bytes([len(body)]) + body + more + note

    def row(name: bytes, *flags: int) -> bytes:
        items = [item(each & 5, b"x" * (each % 3), name) for each in flags]
        flat = (
            bytes([each]) + b"\x01\x02" * (each & 1) + b"no"[: each & 3] * (each >> 2)
            for each in (*flags, 6, 1)
        )
        return name + b"".join([*items, item(2, b"", name), *flat])

    data = row(b"AA", 5, 4, 5, 6) + row(b"BB") + row(b"CC", 4, 5) + row(b"ZZ", 4, 6, 5)
    want = pure(format, data + b"rest")
    assert natively(format, data + b"rest") == want
    assert len(want) == 4
    for rows in (None, "rows", "rows.items", "."):
        for cut in range(len(data)):
            expected = outcome(lambda cut=cut, rows=rows: pure(format, data[:cut], rows or "rows"))
            found = outcome(lambda cut=cut, rows=rows: format.scan(data[:cut], rows).read_all().to_pylist())
            assert found == expected
