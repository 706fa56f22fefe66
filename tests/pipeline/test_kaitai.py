"""The Spark source `kaitai`. Its classes are called as Spark does; one test starts Spark."""

from __future__ import annotations

import errno
import os
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kodec
from kodec.kaitai import register
from kodec.kaitai.source import KaitaiDataSource, KaitaiReader
from kodec.runtime.errors import KodecError, Truncated
from tests.log.unreadable import unlisted

SCHEMA = """
meta: {id: x, endian: be}
seq: [{id: width, type: u1}, {id: all, type: row, size: width, repeat: eos}]
types:
  row:
    seq:
      - {id: a, type: u2}
      - {id: kind, type: u1, enum: kinds}
      - id: body
        type: {switch-on: kind, cases: {'kinds::one': one, 'kinds::two': two}}
  one: {seq: [{id: n, type: u4}]}
  two: {seq: [{id: list, type: u1, repeat: expr, repeat-expr: 4}]}
enums: {kinds: {1: one, 2: two}}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "x.ksy").write_text(SCHEMA)
    rows = [struct.pack(">HBI", number, 1 + number % 2, number) for number in range(1000)]
    (tmp_path / "one.bin").write_bytes(b"\7" + b"".join(rows))
    (tmp_path / "two.bin").write_bytes(b"\7" + b"".join(rows[:10]))
    return tmp_path


@pytest.fixture
def pushdown(spark: Any) -> Iterator[None]:
    """Spark offers filters to sources in Python, which is off by default."""
    name = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, "true")
    yield
    spark.conf.set(name, before)


def source(files: Path, path: str = "*.bin", **options: str) -> KaitaiDataSource:
    given = {"schema": str(files / "x.ksy"), "path": str(files / path), **options}
    return KaitaiDataSource(given)


def rows(given: KaitaiDataSource) -> tuple[int, list[dict[str, Any]]]:
    """The number of tasks, and the rows of all; a reader goes to workers as a pickle."""
    reader = given.reader(given.schema())
    tasks = reader.partitions()
    worker: KaitaiReader = pickle.loads(pickle.dumps(reader))
    batches = [batch for task in tasks for batch in worker.read(pickle.loads(pickle.dumps(task)))]
    return len(tasks), list(pa.Table.from_batches(batches).to_pylist())


def test_columns_have_types_of_spark(files: Path) -> None:
    assert source(files).schema().simpleString() == (
        "struct<a:bigint,kind:string,body:string,body.one.n:bigint,body.two.list:array<bigint>>"
    )
    nested = source(files, nested="true", enums="numbers", pathColumn="file").schema()
    assert nested.simpleString() == (
        "struct<file:string,a:bigint,kind:bigint,body:struct<one:struct<n:bigint>,two:struct<list:array<bigint>>>>"
    )


def test_files_of_rows_of_one_size_are_split(files: Path) -> None:
    tasks, found = rows(source(files, minRows="100", tasks="8", pathColumn="file"))
    assert tasks == 5
    assert [row["a"] for row in found if row["file"].endswith("one.bin")] == list(range(1000))
    assert len(found) == 1010 and found[1]["body.two.list"] == [0, 0, 0, 1] and found[0]["kind"] == "one"
    assert rows(source(files, tasks="8"))[0] == 2


def test_columns_and_conditions_are_for_the_reader(files: Path) -> None:
    given = source(files, columns="kind,a,_root.width", where="a >= 995", minRows="10", tasks="4")
    assert rows(given)[1] == [
        {"kind": ("one", "two")[number % 2], "a": number, "_root.width": 7} for number in range(995, 1000)
    ]


def test_a_plan_needs_no_schema(files: Path) -> None:
    from kodec.formats import load_schema

    load_schema(files / "x.ksy").save(files / "x.kodec")
    (files / "x.ksy").unlink()
    given = KaitaiDataSource({"schema": str(files / "x.kodec"), "path": str(files / "two.bin")})
    assert len(rows(given)[1]) == 10


def test_damage_names_the_file(files: Path) -> None:
    (files / "two.bin").write_bytes(b"\7" + bytes(10))
    with pytest.raises(Truncated, match=r"two\.bin"):
        rows(source(files))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"colums": "a"}, "there is none; options"),
        ({"minRows": "0"}, "at least 1"),
        ({"nested": "yes"}, "true or false"),
        ({"rows": "none"}, "has no `none`"),
        ({"where": "nope > 1"}, "has no `nope`"),
        ({"columns": "nope"}, "has no `nope`"),
    ],
)
def test_wrong_options_are_errors_before_a_task(files: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises((KodecError, ValueError), match=said):
        rows(source(files, **options))
    with pytest.raises(FileNotFoundError):
        rows(source(files, "*.none"))


@pytest.mark.thorough
def test_spark_reads_it(spark: Any, files: Path) -> None:
    from kodec.kaitai import register

    reader = register(spark).read.format("kaitai").option("schema", str(files / "x.ksy"))
    frame = reader.option("minRows", "100").option("pathColumn", "file").load(str(files / "*.bin"))
    assert frame.count() == 1010
    assert frame.where("kind = 'two'").select("a").agg({"a": "sum"}).collect()[0][0] == 250_025
    assert frame.select("`body.one.n`").where("`body.one.n` = 998").count() == 1


@pytest.mark.thorough
def test_no_query_changes_what_another_one_reads(spark: Any, files: Path, pushdown: None) -> None:
    from kodec.kaitai import register

    reader = register(spark).read.format("kaitai").option("schema", str(files / "x.ksy"))
    frame = reader.load(str(files / "*.bin"))
    assert frame.where("a = 3").count() == 2
    assert frame.where("a = 5").union(frame.where("a >= 998")).count() == 4
    assert frame.count() == 1010


@pytest.mark.thorough
def test_spark_still_answers_wrongly_if_a_source_in_python_applies_filters(
    spark: Any, pushdown: None
) -> None:
    """Why the source has no `pushFilters`. If this fails, Spark plans each query by itself: write it then."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo

    class Reader(DataSourceReader):
        wanted: tuple[int, ...] = (1, 2, 3)

        def pushFilters(self, filters: list[Any]) -> Iterator[Any]:
            for each in filters:
                if isinstance(each, EqualTo):
                    self.wanted = (each.value,)
                else:
                    yield each

        def read(self, partition: Any) -> Iterator[tuple[int]]:
            return iter([(each,) for each in self.wanted])

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers_with_filters"

        def schema(self) -> str:
            return "n bigint"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader()

    spark.dataSource.register(Source)
    frame = spark.read.format("numbers_with_filters").load()
    assert [frame.count(), frame.where("n = 2").count(), frame.count()] == [3, 1, 1]


@pytest.mark.parametrize("pattern", ["data", "data/*/*.bin", "data/**/*.bin"])
def test_a_list_of_files_leaves_out_no_folder(pattern: str, files: Path) -> None:
    """A folder that cannot be listed is an error, and so is a link that is not followed."""
    for name in ("one", "two"):
        (files / "data" / name).mkdir(parents=True)
        (files / f"{name}.bin").rename(files / "data" / name / "rows.bin")
    assert len(rows(source(files, pattern))[1]) == 1010
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    with pytest.MonkeyPatch.context() as patch:
        unlisted(patch, files / "data" / "two", denied)
        with pytest.raises(OSError, match="two"):
            rows(source(files, pattern))
    (files / "data" / "two").rename(files / "elsewhere")
    (files / "data" / "two").symlink_to(files / "elsewhere")
    if pattern == "data":
        with pytest.raises(OSError, match=r"a link to a folder is not followed.*two"):
            rows(source(files, pattern))
    else:
        assert len(rows(source(files, pattern))[1]) == 1010
        (files / "data" / "back").symlink_to(files / "data")
        assert len(rows(source(files, pattern))[1]) == 1010


def test_a_codec_of_ones_own_goes_to_the_workers(spark: Any, tmp_path: Path, own_codecs: None) -> None:
    body = bytes(reversed(struct.pack(">4I", *range(4))))
    (tmp_path / "one.bin").write_bytes(b"\7\x10" + body)
    (tmp_path / "pack.ksy").write_text(
        "{meta: {id: pack, endian: le}, enums: {packing: {0: none, 7: backwards}}, seq: ["
        "{id: kind, type: u1, enum: packing}, {id: len_body, type: u1, -derive: length_of(body)},"
        "{id: body, size: len_body, -codec: kind, -inner: table,"
        " type: {switch-on: kind, cases: {'packing::none': table}}}],"
        "types: {table: {seq: [{id: rows, type: row, repeat: eos}]}, row: {seq: [{id: n, type: u4be}]}}}"
    )
    # a function of no module goes to other processes by value
    codec = kodec.Codec(
        "backwards", lambda data, limit: bytes(data)[::-1], lambda data, level: bytes(data)[::-1]
    )
    kodec.register_codec(codec)
    register(spark)
    frame = spark.read.format("kaitai").option("schema", str(tmp_path / "pack.ksy"))
    rows = frame.option("rows", "body.table.rows").load(str(tmp_path / "one.bin")).collect()
    assert [row.n for row in rows] == [0, 1, 2, 3]
