"""Schemas in several folders, and in folders whose names are none of Python's."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from kodec.cli.app import run
from kodec.formats import load_schema
from kodec.formats.explain import Explainer
from kodec.generator.driver import generate, load
from kodec.generator.problems import SchemaError
from tests.generator.conftest import package, write

MESH = (
    "meta: {id: mesh, endian: le, imports: [/common/point, ../my-files/tag, ../import/word]}\n"
    "seq:\n- {id: n, type: u1}\n- {id: points, type: point, repeat: expr, repeat-expr: n}\n"
    "- {id: t, type: tag}\n- {id: w, type: word}\n"
)
SCHEMAS = {
    "3d/mesh.ksy": MESH,
    "my-files/tag.ksy": "meta: {id: tag}\nseq: [{id: v, type: u1}]\n",
    "import/word.ksy": "meta: {id: word}\nseq: [{id: v, type: u1}]\n",
}
LIBRARY = {
    "common/point.ksy": "meta: {id: point, imports: [coord]}\n"
    "seq: [{id: x, type: coord}, {id: y, type: coord}]\n",
    "common/coord.ksy": "meta: {id: coord, endian: le}\nseq: [{id: v, type: u2}]\n",
    "common/unused.ksy": "meta: {id: unused}\nseq: [{id: v, type: nonsense}]\n",
}
DATA = bytes([1, 1, 0, 2, 0, 7, 8])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path / "schemas", SCHEMAS), write(tmp_path / "library", LIBRARY)


def test_imports_are_found_in_the_import_path(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """What they import is made too; what nobody imports is not even read."""
    schemas, library = folders
    with pytest.raises(SchemaError, match=r"mesh\.ksy:1:40: meta/imports: `/common/point`: there is no"):
        load(schemas)
    generate(schemas, tmp_path / "out", import_path=[library])
    made = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.py")}
    assert {each for each in made if "__init__" not in each} == {
        "_3d/mesh.py",
        "my_files/tag.py",
        "import_/word.py",
        "common/point.py",
        "common/coord.py",
    }
    mesh = importlib.import_module(f"{package(tmp_path / 'out')}._3d.mesh").Mesh.from_bytes(DATA)
    assert (mesh.points[0].y.v, mesh.t.v, mesh.w.v, mesh.to_bytes()) == (2, 7, 8, DATA)


def test_the_schema_folder_comes_first(folders: tuple[Path, Path]) -> None:
    schemas, library = folders
    write(schemas, {"common/coord.ksy": "meta: {id: coord}\nseq: [{id: v, type: u1}]\n"})
    coord = load(schemas, import_path=[library]).schema("coord")
    assert coord.path == "common/coord.ksy" and coord.root.place.file == "schemas/common/coord.ksy"


def test_a_problem_in_the_import_path_has_the_path_of_its_file(folders: tuple[Path, Path]) -> None:
    schemas, library = folders
    (library / "common/coord.ksy").write_text("meta: {id: coord}\nseq: [{id: v, type: u3}]\n")
    with pytest.raises(SchemaError) as caught:
        load(schemas, import_path=[library])
    (problem,) = caught.value.problems
    assert Path(problem.place.file) == library / "common/coord.ksy"


def test_no_import_leads_out_of_a_folder(folders: tuple[Path, Path], tmp_path: Path) -> None:
    schemas, library = folders
    write(tmp_path, {"secret.ksy": "meta: {id: secret}\n"})
    write(schemas, {"x.ksy": "meta: {id: x, imports: [../secret, /../secret]}\n"})
    with pytest.raises(SchemaError) as caught:
        load(schemas, import_path=[library])
    assert [each.text.partition(":")[0] for each in caught.value.problems] == ["`../secret`", "`/../secret`"]


def test_files_are_read_with_an_import_path(
    folders: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    schemas, library = folders
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    schema = schemas / "3d/mesh.ksy"
    assert load_schema(schema, import_path=[library]).scan(DATA).read_all().to_pylist() == [
        {"x.v": 1, "y.v": 2}
    ]
    # one name is no list of letters
    assert load_schema(schema, import_path=str(library)).scan(DATA, columns="x.v").read_all().to_pylist() == [
        {"x.v": 1}
    ]
    assert Explainer(schema, str(library)).explain(DATA).error is None  # type: ignore[arg-type]
    found = Explainer(schema, [library]).explain(DATA)
    (field,) = found.areas[0].parts[-1].fields
    assert found.error is None and (field.path, field.value) == ("w.v", 8)
    (tmp_path / "data").write_bytes(DATA)
    assert run(["explain", "--schema", str(schema), "-I", str(library), str(tmp_path / "data")]) == 0
    assert "points[0].y.v = 2" in capsys.readouterr().out
    out = tmp_path / "cli"
    assert run(["generate", "--schemas", str(schemas), "--to", str(out), "-I", str(library)]) == 0
    assert (out / "_3d/mesh.py").is_file()


@pytest.mark.parametrize("folder", ["a\nimport os", ".hidden", "ümlaut", "a;b"])
def test_folders_that_no_first_line_can_hold_are_refused(folder: str, tmp_path: Path) -> None:
    if sys.platform == "win32" and "\n" in folder:
        pytest.skip("no such name on Windows")
    write(tmp_path / "schemas", {f"{folder}/x.ksy": "meta: {id: x}\nseq: [{id: a, type: u1}]\n"})
    with pytest.raises(SchemaError, match="in the file's path is not a name"):
        generate(tmp_path / "schemas", tmp_path / "out")


OPAQUE = (
    "meta: {id: outer, ks-opaque-types: true}\nseq:\n- {id: a, type: inner(2)}\n"
    "- {id: b, type: {switch-on: 'a.v[0]', cases: {1: own, 2: other::part}}}\n"
    "types:\n  own: {seq: [{id: w, type: u1}]}\n"
)
OUTSIDE = {
    "x/outer.ksy": OPAQUE,
    "x/inner.ksy": "meta: {id: inner}\nparams: [{id: n, type: u1}]\nseq: [{id: v, size: n}]\n",
    "other.ksy": "meta: {id: other}\nseq: []\ntypes: {part: {seq: [{id: z, terminator: 0}]}}\n",
}


def test_opaque_types_are_schemas_beside_it(tmp_path: Path) -> None:
    schemas = write(tmp_path / "schemas", {**OUTSIDE, "x/other.ksy": OUTSIDE["other.ksy"]})
    (schemas / "other.ksy").unlink()
    found = load_schema(schemas / "x/outer.ksy").read(b"\2!zz\0")
    assert (found.a.v, found.b.z, found.to_bytes()) == (b"\2!", b"zz", b"\2!zz\0")
    # a folder of the import path may have one too
    (library := tmp_path / "library" / "x").mkdir(parents=True)
    (schemas / "x/other.ksy").rename(library / "other.ksy")
    assert load_schema(schemas / "x/outer.ksy", import_path=[library.parent]).read(b"\1!w").b.w == ord("w")


def test_an_opaque_type_without_a_schema_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path / "schemas", {"outer.ksy": OPAQUE})
    with pytest.raises(SchemaError, match=r"unknown type `inner`\n +inner\.ksy beside this file: an opaque"):
        load(tmp_path / "schemas")


@pytest.mark.parametrize(
    "near, far, found",
    [
        (["common/v"], ["common/v"], ["near"]),
        (["x/common/v"], ["common/v"], ["near"]),
        (["common/v"], ["common/v", "common/w"], ["near", "far"]),
        ([], ["common/v"], ["far"]),
        (["x/y/common/v", "common/v"], ["common/v"], ["near"]),
    ],
)
def test_files_around_the_schema_come_before_the_import_path(
    near: list[str], far: list[str], found: list[str], tmp_path: Path
) -> None:
    for place, names in (("near", near), ("far", far)):
        for name in names:
            file = tmp_path / place / f"{name}.ksy"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"meta: {{id: {file.stem}}}\nseq: [{{id: {place}, type: u1}}]\n")
    own = tmp_path / "near" / "x" / "y" / "m.ksy"
    own.parent.mkdir(parents=True, exist_ok=True)
    names = ["v", "w"][: len(found)]
    fields = ", ".join(f"{{id: {name}, type: {name}}}" for name in names)
    imports = ", ".join(f"/common/{name}" for name in names)
    own.write_text(f"meta: {{id: m, imports: [{imports}]}}\nseq: [{fields}]\n")
    read = load_schema(own, import_path=[tmp_path / "far"]).read(b"\x01" * len(names))
    for name, place in zip(names, found, strict=True):
        assert getattr(getattr(read, name), place) == 1
