"""Files of any schema as Arrow columns: mappings, the cache, native and pure, the command."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kodec
from kodec.formats import cache
from kodec.formats import schema as schemas
from kodec.formats.output import write_rows
from kodec.generator.problems import SchemaError
from kodec.runtime.errors import FormatError, KodecError, Malformed, Truncated
from tests.data import ROOT, TESTS
from tests.golden import Golden

pytestmark = pytest.mark.thorough

TELEGRAMS = ROOT / "tests" / "generator" / "formats_rows" / "telegrams.ksy"
SQLITE = TESTS / "formats/sqlite_tables.ksy"
HEAD = "meta:\n  id: x\n  endian: le\n  encoding: UTF-8\n"
needs_cc = pytest.mark.skipif(cache._compiler() is None, reason="no C compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache for each test; its modules are forgotten."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KODEC_CACHE", str(folder))
    monkeypatch.delenv("KODEC_PURE", raising=False)
    yield folder
    for name in [name for name in sys.modules if name.startswith("kodec_cached_")]:
        del sys.modules[name]


def folders(found: Path) -> list[Path]:
    """The folders of modules in a cache."""
    return [each for each in found.iterdir() if each.name != "index"]


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], kodec.formats.Format]:
    """`made(text)` is the format of a schema `x`, given without its `meta`."""

    def make(text: str) -> kodec.formats.Format:
        path = tmp_path / "x.ksy"
        path.write_text(HEAD + text, "utf-8")
        return kodec.formats.load_schema(path)

    return make


def rows(reader: kodec.formats.FormatReader) -> list[dict[str, Any]]:
    table = reader.read_all()
    table.validate(full=True)
    return list(table.to_pylist())


EVERYTHING = """
seq:
  - {id: magic, contents: AB}
  - {id: items, type: item, repeat: expr, repeat-expr: 2}
types:
  item:
    seq:
      - {id: a, type: u1}
      - {id: b, type: s8}
      - {id: c, type: f4}
      - {id: d, type: u8}
      - {id: kind, type: u1, enum: kinds}
      - {id: bit, type: b1}
      - {id: bits, type: b7}
      - {id: text, type: strz}
      - {id: raw, size: 2}
      - {id: list, type: u2, repeat: expr, repeat-expr: a}
      - {id: maybe, type: u1, if: a > 1}
      - {id: inner, type: inner}
      - {id: nothing, type: nothing}
      - id: body
        size: 2
        type:
          switch-on: kind
          cases:
            kinds::one: inner
            kinds::two: other
    instances:
      sum: {value: a + b}
      half: {value: a / 2.0}
      name: {value: text + '!'}
      is_one: {value: kind == kinds::one}
  inner: {seq: [{id: x, type: s2}]}
  other: {seq: [{id: y, type: u1}, {id: z, type: u1}]}
  nothing: {}
enums:
  kinds: {1: one, 2: two}
"""


def item(a: int, kind: int, text: bytes, body: bytes) -> bytes:
    head = struct.pack("<BqfQBB", a, -5, 1.5, 2**64 - 1, kind, 0b1000_0011) + text + b"\0rr"
    more = struct.pack(f"<{a}H", *range(a)) + (b"\7" if a > 1 else b"")
    return head + more + struct.pack("<h", -2) + body


def test_what_becomes_what(made: Callable[[str], kodec.formats.Format]) -> None:
    data = b"AB" + item(2, 1, "ä".encode(), b"\1\0") + item(0, 9, b"\xff", b"??")
    reader = made(EVERYTHING).scan(data, nested=True, enums="numbers")
    inner = pa.struct([("x", pa.int16())])
    other = pa.struct([("y", pa.uint8()), ("z", pa.uint8())])
    assert reader.schema == pa.schema(
        [
            ("a", pa.uint8()),
            ("b", pa.int64()),
            ("c", pa.float32()),
            ("d", pa.uint64()),
            ("kind", pa.uint8()),
            ("bit", pa.bool_()),
            ("bits", pa.uint8()),
            ("text", pa.string()),
            ("raw", pa.binary()),
            ("list", pa.list_(pa.uint16())),
            ("maybe", pa.uint8()),
            ("inner", inner),
            ("nothing", pa.bool_()),
            ("body", pa.struct([("inner", inner), ("other", other), ("bytes", pa.binary())])),
        ]
    )
    first, second = rows(reader)
    assert first == {
        "a": 2,
        "b": -5,
        "c": 1.5,
        "d": 2**64 - 1,
        "kind": 1,
        "bit": True,
        "bits": 3,
        "text": "ä",
        "raw": b"rr",
        "list": [0, 1],
        "maybe": 7,
        "inner": {"x": -2},
        "nothing": True,
        "body": {"inner": {"x": 1}, "other": None, "bytes": None},
    }
    assert second["text"] == "\ufffd" and second["maybe"] is None and second["kind"] == 9
    assert second["body"] == {"inner": None, "other": None, "bytes": b"??"}


def test_columns_are_paths_also_of_instances_and_alternatives(
    made: Callable[[str], kodec.formats.Format],
) -> None:
    data = b"AB" + item(2, 1, b"t", b"\1\0") + item(0, 2, b"u", b"\5\6")
    wanted = ["sum", "half", "name", "is_one", "body.other.z", "inner.x"]
    reader = made(EVERYTHING).scan(data, columns=wanted)
    assert reader.schema.names == wanted
    assert rows(reader) == [
        dict(zip(wanted, (-3, 1.0, "t!", True, None, -2), strict=True)),
        dict(zip(wanted, (-5, 0.0, "u!", False, 6, -2), strict=True)),
    ]


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        ("item", None, "did you mean `items`"),
        ("magic", None, "has no `magic`"),
        ("items.a", None, "it is not a list"),
        ("items.a.b", None, "`a` is not an object"),
        (None, ["a.b"], "inside a plain value"),
        (None, ["body.x"], "name the type too: `inner.x`"),
        (None, ["body.nope"], "not one of the alternatives inner, other, bytes"),
        (None, ["list.x"], "inside a list"),
        (None, ["a", "a"], "repeated"),
        (None, [], "empty or"),
    ],
)
def test_rows_and_columns_that_are_not_there(
    made: Callable[[str], kodec.formats.Format], rows: str | None, columns: list[str] | None, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        made(EVERYTHING).scan(b"", rows, columns)


def test_lists_are_named_where_there_are_several(made: Callable[[str], kodec.formats.Format]) -> None:
    found = made(
        "seq:\n"
        "  - {id: n, type: u1}\n"
        "  - {id: a, type: tt, repeat: expr, repeat-expr: n}\n"
        "  - {id: b, type: tt, repeat: eos}\n"
        "instances:\n  again: {pos: 1, type: tt, repeat: expr, repeat-expr: n}\n"
        "types:\n  tt: {seq: [{id: v, type: u1}, {id: w, type: u, repeat: expr, repeat-expr: v}]}\n"
        "  u: {seq: [{id: q, type: u1}]}\n"
    )
    assert found.lists == ("a", "b")
    data = bytes([2, 1, 7, 0, 2, 8, 9])
    with pytest.raises(ValueError, match="choose the list of rows: a, b"):
        found.scan(data)
    assert [row["v"] for row in rows(found.scan(data, "a"))] == [1, 0]
    assert [row["q"] for row in rows(found.scan(data, "b.w"))] == [8, 9]
    assert rows(found.scan(data, "again", ["v"])) == [{"v": 1}, {"v": 0}]


def test_a_type_inside_itself_is_left_out_and_said(made: Callable[[str], kodec.formats.Format]) -> None:
    found = made(
        "seq:\n  - {id: all, type: tt, repeat: eos}\n"
        "types:\n  tt:\n    seq:\n      - {id: n, type: u1}\n"
        "      - {id: kids, type: tt, repeat: expr, repeat-expr: n}\n"
    )
    reader = found.scan(bytes([1, 0, 0]))
    assert reader.schema.names == ["n"] and reader.left_out == {"all.kids": "a `tt` inside a `tt`"}
    assert rows(reader) == [{"n": 1}, {"n": 0}]
    with pytest.raises(ValueError, match="a `tt` inside a `tt`"):
        found.scan(b"", columns=["kids"])


def test_a_switch_of_numbers_is_the_widest(made: Callable[[str], kodec.formats.Format]) -> None:
    reader = made(
        "seq:\n  - {id: all, type: tt, repeat: eos}\n"
        "types:\n  tt:\n    seq:\n      - {id: n, type: u1}\n"
        "      - id: v\n        type: {switch-on: n, cases: {0: u1, 1: u4, 2: s2, 3: f8}}\n"
    ).scan(
        nested=True,
        source=b"\0\xff" + b"\1\xff\xff\xff\xff" + b"\2\xff\xff" + b"\3" + struct.pack("<d", 0.5) + b"\4",
    )
    assert reader.schema.field("v").type == pa.struct([("int", pa.int64()), ("float", pa.float64())])
    assert [row["v"] for row in rows(reader)] == [
        {"int": 255, "float": None},
        {"int": 2**32 - 1, "float": None},
        {"int": -1, "float": None},
        {"int": None, "float": 0.5},
        None,
    ]


def test_errors_are_those_of_the_reader_and_name_the_file(
    made: Callable[[str], kodec.formats.Format], tmp_path: Path
) -> None:
    found = made("seq:\n  - {id: all, type: tt, repeat: eos}\ntypes:\n  tt: {seq: [{id: n, type: u4}]}\n")
    path = tmp_path / "cut.bin"
    path.write_bytes(bytes(7))
    with pytest.raises(Truncated) as caught:
        found.scan(path).read_all()
    assert caught.value.path == "all[1].n" and caught.value.source == str(path)
    with pytest.raises(FileNotFoundError):
        found.scan(tmp_path / "none")
    assert found.scan(b"").read_all().num_rows == 0
    big = made(
        "seq:\n  - {id: all, type: tt, repeat: eos}\ntypes:\n"
        "  tt: {seq: [{id: n, type: u8}], instances: {m: {value: n + _io.size}}}\n"
    )
    with pytest.raises(Malformed, match="does not fit a column of int64") as wide:
        big.scan(bytes(8) + b"\xff" * 8, columns=["m"]).read_all()
    assert wide.value.at == 8


def test_batches_are_no_larger_than_asked(made: Callable[[str], kodec.formats.Format]) -> None:
    found = made("seq:\n  - {id: all, type: tt, repeat: eos}\ntypes:\n  tt: {seq: [{id: n, type: u1}]}\n")
    assert [batch.num_rows for batch in found.scan(bytes(10), batch_rows=4)] == [4, 4, 2]
    stream = pa.table(found.scan(bytes(10), batch_rows=4))
    assert stream.num_rows == 10
    with pytest.raises(ValueError, match="at least 1"):
        found.scan(b"", batch_rows=0)


ROWS_AND_TYPES = (
    "seq:\n  - {id: n, type: u1}\n  - {id: all, type: tt, repeat: eos}\n"
    "types:\n  tt: {seq: [{id: a, type: strz}]}\n"
)


@pytest.fixture
def only_new_objects() -> Iterator[None]:
    """The collector, and `gc.get_objects`, leave out the many objects that already exist."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("only_new_objects")
def test_only_the_rows_of_a_batch_are_held(made: Callable[[str], kodec.formats.Format]) -> None:
    found = made(ROWS_AND_TYPES)
    kind: Any = next(iter(found.scan(b"\0a\0"))) and found._modules.module("x").Tt
    seen = 0
    for batch in found.scan(b"\0" + b"a\0" * 1000, batch_rows=10):
        seen += batch.num_rows
        assert sum(isinstance(each, kind) for each in gc.get_objects()) <= 11
    assert seen == 1000


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize(
    ("held", "path"),
    [
        ("seq: [{id: n, type: u1}, {id: in, type: i}]", "in.all"),
        ("seq: [{id: in, type: i, size-eos: true, if: _io.size > 0}]", "in.all"),
        ("seq: [{id: in, type: u, repeat: eos}]\ninstances: {n: {value: 0}}", "in.v.all"),
    ],
)
def test_only_the_rows_of_a_batch_are_held_of_an_inner_list(
    held: str, path: str, made: Callable[[str], kodec.formats.Format]
) -> None:
    types = (
        "\ntypes:\n  tt: {seq: [{id: a, type: strz}]}\n  u: {seq: [{id: v, type: j, size: 21}]}\n"
        "  i: {seq: [{id: n, type: u1}, {id: all, type: tt, repeat: eos}]}\n"
        "  j: {seq: [{id: n, type: u1}, {id: all, type: tt, repeat: eos}]}\n"
    )
    found = made(held + types)
    assert "if" not in held or list(found.scan(b"", path)) == []
    kind: Any = found._modules.module("x").Tt
    seen = 0
    for batch in found.scan((b"\0" + b"a\0" * 10) * 100, path, batch_rows=100):
        seen += batch.num_rows
        gc.collect()  # an element that holds a list is held by what is in it
        assert sum(isinstance(each, kind) for each in gc.get_objects()) <= 130
    assert seen >= 1000


def test_a_large_file_is_mapped(
    made: Callable[[str], kodec.formats.Format], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "t.bin"
    source.write_bytes(b"\0" + b"ab\0" * 100 + b"c")
    monkeypatch.setattr(schemas, "MAPPED_BYTES", 100)
    monkeypatch.setattr(schemas, "_all_of", lambda *given: pytest.fail("it was read as a whole"))
    with pytest.raises(Truncated, match=r"all\[100\]\.a: .*t.bin"):
        made(ROWS_AND_TYPES).scan(source).read_all()
    source.write_bytes(b"\0" + b"ab\0" * 100)
    assert made(ROWS_AND_TYPES).scan(source).read_all()["a"].to_pylist() == ["ab"] * 100


def test_batches_are_bounded_in_bytes(
    made: Callable[[str], kodec.formats.Format], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "BATCH_BYTES", 25)
    found = made(ROWS_AND_TYPES).scan(b"\0" + b"123456789\0" * 7)
    sizes = [batch.num_rows for batch in found]
    assert len(sizes) > 2 and sum(sizes) == 7


def test_the_rows_of_a_whole_database(tmp_path: Path) -> None:
    place = tmp_path / "t.db"
    rows = [
        (1, "a", 0.5, b"x", -5),
        (127, "ä" * 40, -2.25, None, 1),
        (128, "", 1e300, bytes(100), 40_000),
        (70_000, None, None, b"", -40_000),
        (1 << 40, "b", 3.0, b"y", -(1 << 40)),
        (-1, "c", 0.0, b"z", 1 << 60),
    ]
    with contextlib.closing(sqlite3.connect(place)) as database:
        database.execute("pragma page_size = 1024")
        database.execute(
            "create table t (id integer primary key, text text, float real, blob blob, number int)"
        )
        database.executemany("insert into t values (?, ?, ?, ?, ?)", rows)
        database.executemany("insert into t(text) values (?)", [(f"row {index}",) for index in range(500)])
        database.execute("create index by_text on t(text)")
        database.commit()
        stored = database.execute("select * from t order by id").fetchall()
    columns = ["row.id.value", "row.record.values"]
    found = kodec.formats.load_schema(SQLITE).scan(place, "pages.leaf.cells", columns).read_all().to_pylist()
    # the first page describes the table and its index
    assert sorted(each["row.id.value"] for each in found[:2]) == [1, 2]
    mine = sorted((row["row.id.value"], row["row.record.values"]) for row in found[2:])
    assert len(mine) == len(stored) == 506
    for (number, values), row in zip(mine, stored, strict=True):
        assert (number, *map(_of_sqlite, values[1:])) == row


def _of_sqlite(value: dict[str, Any]) -> Any:
    number = value["number"] or {}
    if number.get("zero") or number.get("one"):
        return int(number["one"] or 0)
    for name, bits in (("int24", 16), ("int48", 32)):
        if number.get(name):
            return number[name]["high"] << bits | number[name]["low"]
    plain = (number.get("int"), value["float"], value["blob"], value["text"])
    return next((each for each in plain if each is not None), None)


# -- imports and the cache --------------------------------------------------------------------------


def test_imports_are_found_around_the_schema(tmp_path: Path, own_cache: Path) -> None:
    root = tmp_path / "gallery"
    (root / "a").mkdir(parents=True)
    (root / "common").mkdir()
    (root / "a" / "x.ksy").write_text(
        "meta:\n  id: x\n  endian: be\n  imports: [/common/part, y]\n"
        "seq:\n  - {id: all, type: y, repeat: eos}\n"
    )
    (root / "a" / "y.ksy").write_text(
        "meta: {id: y, imports: [../common/part]}\nseq: [{id: p, type: part}]\n"
    )
    (root / "common" / "part.ksy").write_text("meta:\n  id: part\nseq: [{id: n, type: u1}]\n")
    (root / "broken.ksy").write_text("not a schema")
    assert rows(kodec.formats.load_schema(root / "a" / "x.ksy").scan(b"\1\2")) == [
        {"p.n": 1},
        {"p.n": 2},
    ]
    (root / "common" / "part.ksy").unlink()
    with pytest.raises(SchemaError, match="there is no such schema") as caught:
        kodec.formats.load_schema(root / "a" / "x.ksy")
    assert isinstance(caught.value, KodecError)


def test_modules_are_made_once_and_anew_for_another_schema(
    made: Callable[[str], kodec.formats.Format], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "seq:\n  - {id: all, type: tt, repeat: eos}\ntypes:\n  tt: {seq: [{id: n, type: u1}]}\n"
    calls = []
    make = cache._make
    monkeypatch.setattr(cache, "_make", lambda *a: (calls.append(a), make(*a))[1])
    made(text)
    made(text)
    assert len(calls) == 1
    assert rows(made(text.replace("u1", "s1")).scan(b"\xff")) == [{"n": -1}]
    assert len(calls) == 2 and len(folders(own_cache)) == 2


def test_two_processes_that_make_the_same_are_both_right(tmp_path: Path, own_cache: Path) -> None:
    shutil.copy(TELEGRAMS, tmp_path)
    path = str(tmp_path / "telegrams.ksy")
    code = f"import kodec; print(kodec.formats.load_schema({path!r}).scan(b'').schema.names)"
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    said = [process.communicate(timeout=300) for process in running]
    assert {out for out, _ in said} == {said[0][0]} and said[0][0].startswith(b"['number'"), said
    assert len(folders(own_cache)) == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of folders here")
def test_a_cache_that_others_can_write_to_is_refused(
    made: Callable[[str], kodec.formats.Format], own_cache: Path
) -> None:
    own_cache.mkdir()
    own_cache.chmod(0o777)
    with pytest.raises(PermissionError, match="not the user's alone"):
        made("seq:\n  - {id: n, type: u1}\n")
    own_cache.chmod(0o700)
    made("seq:\n  - {id: n, type: u1}\n")
    (folder,) = folders(own_cache)
    assert not stat.S_IMODE(folder.stat().st_mode) & 0o022


PLAIN = "meta: {id: x}\nseq: [{id: all, type: tt, repeat: eos}]\ntypes: {tt: {seq: [{id: n, type: u1}]}}\n"


@pytest.mark.parametrize("kernel", [False, pytest.param(True, marks=needs_cc)])
def test_what_a_cleaner_took_away_is_made_anew(kernel: bool, tmp_path: Path, own_cache: Path) -> None:
    """Any one file, a part of one, or all in a folder: before the schema is used, and between its uses."""
    (path := tmp_path / "x.ksy").write_text(PLAIN)
    source, data = (TELEGRAMS, telegram(1)) if kernel else (path, b"\1\2")
    want = rows(kodec.formats.load_schema(source).scan(data))
    (folder,) = folders(own_cache)
    whole = {
        path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"
    }
    assert {Path("whole.json"), Path("schemas", source.name)} < whole

    def forget() -> None:
        for name in [name for name in sys.modules if name.startswith("kodec_cached_")]:
            del sys.modules[name]

    damages = ["modules/kernels"] if kernel else ["whole.json", "schemas/x.ksy", "modules/x.py", "modules"]
    for damage in damages:
        forget()
        format = kodec.formats.load_schema(source)
        forget()
        for again in (lambda: kodec.formats.load_schema(source), lambda format=format: format):
            path = folder / damage
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.write_bytes(b"")
            assert rows(again().scan(data)) == want, damage
            forget()
            found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
            assert whole <= found, damage
    assert folders(own_cache) == [folder]


def test_processes_that_find_a_broken_folder_are_all_right(tmp_path: Path, own_cache: Path) -> None:
    (path := tmp_path / "x.ksy").write_text(PLAIN)
    kodec.formats.load_schema(path)
    (folder,) = folders(own_cache)
    (folder / "modules" / "x.py").unlink()
    code = f"import kodec; print(kodec.formats.load_schema({str(path)!r}).scan(b'').schema.names)"
    pipe = subprocess.PIPE
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe) for _ in range(3)]
    said = [process.communicate(timeout=300) for process in running]
    assert {out for out, _ in said} == {b"['n']\n"}, said
    assert folders(own_cache) == [folder]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of folders here")
def test_folders_around_the_cache_are_the_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path := tmp_path / "x.ksy").write_text(PLAIN)
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "a" / "b" / "cache"))
    before = os.umask(0)
    try:
        kodec.formats.load_schema(path)
    finally:
        os.umask(before)
    for name in ("a", "a/b", "a/b/cache"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700
    # who can write around it can put another folder in its place
    (tmp_path / "a").chmod(0o777)
    with pytest.raises(PermissionError, match="not the user's alone"):
        kodec.formats.load_schema(path)
    (tmp_path / "a").chmod(0o1777)
    kodec.formats.load_schema(path)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b" / "cache")
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "link"))
    kodec.formats.load_schema(path)
    (tmp_path / "a").chmod(0o777)
    with pytest.raises(PermissionError, match="not the user's alone"):
        kodec.formats.load_schema(path)


# -- native and pure --------------------------------------------------------------------------------


def telegram(number: int, kind: int = 1, text: bytes = b"hello") -> bytes:
    import crc32c

    body = struct.pack(">IBb4sHH", number, kind, 0, b"ABCD", 1, len(text))
    # `cost` is little-endian
    body = body[:10] + struct.pack("<H", 77) + body[12:] + text
    return body + struct.pack(">I", crc32c.crc32c(body))


def both(monkeypatch: pytest.MonkeyPatch, data: bytes, **options: Any) -> list[tuple[str, Any, str]]:
    """What native and pure give: the rows before an error, and the error."""
    found = []
    for pure in ("", "1"):
        monkeypatch.setenv("KODEC_PURE", pure)
        reader = kodec.formats.load_schema(TELEGRAMS).scan(data, **options)
        given: list[Any] = []
        error = ""
        try:
            for batch in reader:
                given += batch.to_pylist()
        except FormatError as raised:
            error = f"{type(raised).__name__} {raised}"
        found.append((reader.backend, (reader.schema, given), error))
    return found


@needs_cc
@pytest.mark.parametrize("columns", [None, ["text", "after"]])
def test_native_gives_what_pure_gives(monkeypatch: pytest.MonkeyPatch, columns: list[str] | None) -> None:
    data = b"".join(telegram(n, kind=9 if n % 3 == 0 else 1, text=b"x" * n) for n in range(20))
    native, pure = both(monkeypatch, data, columns=columns, batch_rows=4)
    assert (native[0], pure[0]) == ("native", "pure")
    assert native[1:] == pure[1:] and len(pure[1][1]) == 13 and not pure[2]


@needs_cc
def test_text_that_is_none_is_the_same_on_both_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    data = telegram(1) + telegram(2, text=b"\xff\xfe") + telegram(3)
    native, pure = both(monkeypatch, data, batch_rows=1)
    assert native[1:] == pure[1:] and [row["text"] for row in pure[1][1]][1] == "\ufffd\ufffd"


@needs_cc
@pytest.mark.parametrize("cut", [1, 17, 30])
def test_damage_is_the_same_error_on_both_paths(monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    data = telegram(1) + telegram(2)
    native, pure = both(monkeypatch, data[:-cut])
    assert native[2] == pure[2] != ""
    flipped = bytearray(data)
    flipped[cut] ^= 0x40
    native, pure = both(monkeypatch, bytes(flipped))
    assert native[2] == pure[2]


def test_without_a_compiler_it_is_pure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    reader = kodec.formats.load_schema(TELEGRAMS).scan(telegram(7))
    assert reader.backend == "pure" and rows(reader)[0]["after"] == 8


@needs_cc
def test_a_compiler_that_fails_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", "false")
    reader = kodec.formats.load_schema(TELEGRAMS).scan(telegram(7))
    assert reader.backend == "pure" and rows(reader)[0]["after"] == 8
    assert "cannot be built" in caplog.text


def test_a_container_is_refused_by_name() -> None:
    found = kodec.formats.load_schema(ROOT / "schemas" / "log" / "record_batch.ksy")
    with pytest.raises(ValueError, match="is a container"):
        found.scan(b"")


@pytest.mark.parametrize("pure", ["", "1"])
@pytest.mark.parametrize("layout", [False, True])
def test_all_rows_before_damage_are_kept(
    made: Callable[[str], kodec.formats.Format],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pure: str,
    layout: bool,
) -> None:
    monkeypatch.setenv("KODEC_PURE", pure)
    if layout:
        format = kodec.formats.load_schema(TELEGRAMS)
        data = b"".join(map(telegram, range(50)))
    else:
        format = made(
            "seq: [{id: rows, type: row, repeat: eos}]\n"
            "types: {row: {seq: [{id: number, type: u2}, {id: kept, type: u2, valid: 7}]}}\n"
        )
        data = b"".join(struct.pack("<HH", each, 7) for each in range(50))
    path = tmp_path / "t.bin"
    size = len(data) // 50
    for end in (0, 1, size, 30 * size - 1, 30 * size, len(data) - 1):
        path.write_bytes(data[:end])
        for batch_rows in (7, 8192):
            found = kodec.formats.scan_files(
                format, [path], columns=["number"], on_error="skip", batch_rows=batch_rows
            )
            assert found.read_all()["number"].to_pylist() == list(range(end // size))
            assert [each.rows for each in found.problems] == [end // size] * bool(end % size)


# -- the command ------------------------------------------------------------------------------------


def command(*arguments: str | Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "kodec", "scan", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_writes_a_whole_file_or_nothing(tmp_path: Path, golden: Golden) -> None:
    source, to = tmp_path / "t.bin", tmp_path / "t.parquet"
    source.write_bytes(telegram(1) + telegram(2))
    code, out, err = command("--schema", TELEGRAMS, source, "--to", to)
    assert (code, err) == (0, "") and out.startswith("2 rows of telegrams to ")
    assert pq.read_table(to)["number"].to_pylist() == [1, 2]

    code, _, err = command("--schema", TELEGRAMS, source, "--to", to)
    assert code == 1
    golden(err)
    code, _, err = command("--schema", TELEGRAMS, source, "--to", source, "--overwrite")
    assert code == 2
    # wrapped, as its path is long
    assert "is the source" in " ".join(err.replace("│", " ").split())

    broken = tmp_path / "broken.bin"
    broken.write_bytes(telegram(1) + telegram(2)[:-1])
    code, _, err = command("--schema", TELEGRAMS, broken, "--to", to, "--overwrite")
    assert code == 1 and err.startswith("Truncated: ") and "Traceback" not in err
    assert pq.read_table(to)["number"].to_pylist() == [1, 2]

    code, _, err = command("--schema", TELEGRAMS, source, "--to", to, "--overwrite", "--column", "after")
    assert code == 0 and pq.read_table(to).to_pylist() == [{"after": 2}, {"after": 3}]
    code, _, err = command("--schema", TELEGRAMS, source, "--to", to, "--overwrite", "--column", "nope")
    assert code == 2 and "no such column" in err
    wrong = tmp_path / "wrong.ksy"
    wrong.write_text("meta: {id: wrong}\nseq: [{id: a, type: u3}]\n")
    code, _, err = command("--schema", wrong, source, "--to", tmp_path / "w.parquet")
    assert code == 1 and err.startswith("SchemaError: ") and "u3" in err
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == []


def test_rows_are_printed_without_a_target(tmp_path: Path, golden: Golden) -> None:
    source, to = tmp_path / "t.bin", tmp_path / "t.csv"
    source.write_bytes(telegram(1) + telegram(2))
    given = ("--schema", TELEGRAMS, source, "--column", "number", "--column", "after")
    printed = '{"number": 1, "after": 2}\n{"number": 2, "after": 3}\n'
    assert command(*given) == (0, printed, "")
    assert command(*given, "--to", "-", "--format", "jsonl") == (0, printed, "")
    code, out, err = command(*given, "--format", "csv")
    assert (code, err) == (0, "") and command(*given, "--to", to)[0] == 0
    assert out == to.read_text() == '"number","after"\n1,2\n2,3\n'

    source.write_bytes(telegram(1) + telegram(2)[:-1])
    code, out, err = command(*given, "--on-error", "skip")
    assert (code, out) == (1, printed.partition("\n")[0] + "\n")
    golden(err)
    for options, said in (
        (["--format", "parquet"], "needs --to"),
        (["--overwrite"], "needs --to"),
        (["--compression", "snappy"], "applies to Parquet only"),
        (["--table", "t"], "applies to DuckDB only"),
    ):
        code, out, err = command(*given, *options)
        assert code == 2 and said in err and not out
    assert not Path("-").exists()


def test_what_a_terminal_would_obey_is_escaped_in_json_lines(
    made: Callable[[str], kodec.formats.Format], tmp_path: Path, golden: Golden
) -> None:
    reader = made("seq: [{id: a, type: str, size-eos: true}]\n").scan("\x1b[2J\x9bé\n".encode(), ".")
    write_rows(reader, tmp_path / "t.jsonl")
    text = (tmp_path / "t.jsonl").read_text("utf-8")
    golden(text)


def test_a_file_made_meanwhile_is_kept_and_one_replaced_keeps_its_mode(tmp_path: Path) -> None:
    source, to = tmp_path / "t.bin", tmp_path / "t.parquet"
    source.write_bytes(telegram(1))
    to.write_bytes(b"another process's")
    with pytest.raises(FileExistsError):
        write_rows(kodec.formats.load_schema(TELEGRAMS).scan(source), to)
    assert to.read_bytes() == b"another process's"
    to.chmod(0o640)
    assert write_rows(kodec.formats.load_schema(TELEGRAMS).scan(source), to, overwrite=True) == 1
    assert stat.S_IMODE(to.stat().st_mode) == 0o640
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


@pytest.mark.skipif(os.name == "nt", reason="no locks of this kind")
def test_the_hidden_file_of_a_killed_scan_goes_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    source, to = tmp_path / "t.bin", tmp_path / "t.parquet"
    source.write_bytes(telegram(1))
    code = (
        "import sys, time, pathlib; from kodec.formats import output;"
        "held = output._begin(pathlib.Path(sys.argv[1])); print('there', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(to)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"there\n"
        (hidden,) = (each for each in tmp_path.iterdir() if each.name.startswith("."))
        beside = tmp_path / ".t.parquet.notes"
        beside.touch()
        try:
            write_rows(kodec.formats.load_schema(TELEGRAMS).scan(source), to)
            assert hidden.exists()
        finally:
            other.kill()
    write_rows(kodec.formats.load_schema(TELEGRAMS).scan(source), to, overwrite=True)
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == [beside.name]
