"""Files of any format in an object store: the same rows and objects as from a disk."""

from __future__ import annotations

from pathlib import Path

import pytest

import kodec
import kodec.formats.schema
from kodec.cli.app import run
from kodec.errors import ArgumentError, ReadFailed
from kodec.formats.several import files_of
from kodec.stores.storage import path_of
from tests.log.stores import Server

SCHEMA = """
meta: {id: x}
seq: [{id: all, type: row, repeat: eos}]
types: {row: {seq: [{id: n, type: u2be}]}}
"""
FILES = {
    "a.bin": b"\0\1",
    "b.bin": b"\0\2\0\3",
    "more/c.bin": b"\0\4",
    "more/d.txt": b"no",
    "more/e/f.bin": b"",
}


@pytest.fixture(autouse=True)
def objects_of_the_store(server: Server) -> None:
    server.objects.update({f"some/{name}": data for name, data in FILES.items()})


@pytest.fixture
def format(tmp_path: Path) -> kodec.formats.Format:
    path = tmp_path / "x.ksy"
    path.write_text(SCHEMA)
    return kodec.formats.load_schema(path)


def test_an_object_is_read_as_a_file(server: Server, format: kodec.formats.Format) -> None:
    for url in ("s3://logs/some/b.bin", path_of("s3://logs/some/b.bin"), f"{server.web}/some/b.bin"):
        assert [each.n for each in format.read(url).all] == [2, 3]
        assert format.scan(url).read_all().to_pydict() == {"n": [2, 3]}


def test_a_large_object_is_mapped(
    server: Server, format: kodec.formats.Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kodec.formats.schema, "MAPPED_BYTES", 1000)
    data = b"\0\7" * 5000
    server.objects["some/large"] = data
    assert len(format.read("s3://logs/some/large").all) == 5000
    assert sum(format.scan("s3://logs/some/large").read_all()["n"].to_pylist()) == 35000


PATTERNS = {
    "*.bin": ["a.bin", "b.bin"],
    "**/*.bin": ["a.bin", "b.bin", "more/c.bin", "more/e/f.bin"],
    "m*/*": ["more/c.bin", "more/d.txt"],
    "more/**/*.bin": ["more/c.bin", "more/e/f.bin"],
    "[ab].bin": ["a.bin", "b.bin"],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_name_the_same_objects_as_files(pattern: str, server: Server, tmp_path: Path) -> None:
    for name, data in FILES.items():
        (tmp_path / "some" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "some" / name).write_bytes(data)
    here = [
        str(Path(each).relative_to(tmp_path / "some")) for each in files_of([tmp_path / "some" / pattern])
    ]
    there = [each.removeprefix("s3://logs/some/") for each in files_of([f"s3://logs/some/{pattern}"])]
    assert sorted(here) == sorted(there) == PATTERNS[pattern]


def test_many_objects_are_one_table(server: Server, format: kodec.formats.Format) -> None:
    reader = kodec.formats.scan_files(format, ["s3://logs/some/**/*.bin"])
    assert reader.read_all().to_pydict() == {
        "path": [f"s3://logs/some/{each}" for each in ("a.bin", "b.bin", "b.bin", "more/c.bin")],
        "n": [1, 2, 3, 4],
    }


def test_what_is_not_there_is_an_error(server: Server, format: kodec.formats.Format) -> None:
    for wrong in ("s3://logs/some/none.bin", "s3://logs/some/none*"):
        with pytest.raises(FileNotFoundError, match="none"):
            kodec.formats.scan_files(format, [wrong])
    with pytest.raises(IsADirectoryError):
        kodec.formats.scan_files(format, ["s3://logs/some"])
    with pytest.raises(FileNotFoundError):
        format.read("s3://logs/some/none.bin")
    with pytest.raises(ArgumentError, match="hdfs"):
        format.read("hdfs://host/x")


def test_an_object_that_cannot_be_read_is_a_problem_and_no_fewer_rows(
    server: Server, format: kodec.formats.Format
) -> None:
    server.fault = lambda method, key, number: (403, "AccessDenied") if key.endswith("b.bin") else None
    reader = kodec.formats.scan_files(format, ["s3://logs/some/*.bin"], on_error="skip")
    assert reader.read_all()["n"].to_pylist() == [1]
    (problem,) = reader.problems
    assert problem.path == "s3://logs/some/b.bin" and isinstance(problem.error, ReadFailed)
    with pytest.raises(ReadFailed):
        kodec.formats.scan_files(format, ["s3://logs/some/*.bin"]).read_all()


def test_the_commands(
    server: Server, format: kodec.formats.Format, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema, to = str(tmp_path / "x.ksy"), tmp_path / "out.csv"
    assert run(["scan", "--schema", schema, "s3://logs/some/*.bin", "--to", str(to), "--column", "n"]) == 0
    rows = [line.rpartition(",")[2] for line in to.read_text().splitlines()]
    assert rows == ['"n"', "1", "2", "3"]
    again = ["scan", "--schema", schema, "s3://logs/some/a.bin", "--to", str(to), "--overwrite"]
    assert run(again) == 0
    capsys.readouterr()
    assert run(["dump", "--schema", schema, "s3://logs/some/a.bin"]) == 0
    assert "n: 1" in capsys.readouterr().out


def test_links_between_folders_are_not_followed_each_way(tmp_path: Path) -> None:
    """Two folders with two links to each other have 2^40 ways, which no limit of the system shortens."""
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.bin").touch()
        for number in range(2):
            (tmp_path / name / f"link{number}").symlink_to(tmp_path / other)
    found = files_of([f"{tmp_path}/a/**/*.bin"])
    assert {Path(each).name for each in found} == {"a.bin", "b.bin"} and len(found) < 5
