"""The kit: what is in it, that it is the same each time, and what it reports about an earlier one."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kodec.cli.main import main
from kodec.conformance.suite import from_folder, from_schemas
from kodec.generator.driver import generate
from kodec.handoff import make_kit, write_folder, write_zip
from tests.golden import Golden

TOY = """\
meta: {id: order, title: Order, endian: be}
-versions: 0-0
doc: An order.
seq:
- {id: version, type: s2, valid: {min: 0, max: 0}}
- {id: number, type: s4, doc: Its number.}
"""
NEWER = TOY.replace("0-0", "0-1").replace("max: 0", "max: 1") + (
    "- {id: note, size: 2, if: version >= 1, -since: 1, doc: A note.}\n"
)


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    folder = tmp_path / "orders"
    (folder / "examples" / "go").mkdir(parents=True)
    (folder / "order.ksy").write_text(TOY)
    (folder / "examples" / "go" / "main.go").write_text("package main\n")
    (folder / "examples" / ".hidden").write_text("no")
    return folder


def test_everything_of_a_schema_is_in_it(schemas: Path) -> None:
    kit = make_kit(schemas, name="Orders", version="7")
    for path in (
        "README.md", "README.html", "CHANGELOG.md", "MANIFEST.json", "schemas/order.ksy", "model/model.json",
        "model/model.schema.json", "pages/order.md", "pages/order.html", "pages/index.html",
        "vectors/order.vectors.json",
        "vectors/vectors.schema.json", "code/go/order.go", "code/go/runtime.go", "code/python/order.py",
        "code/java/formats/Order.java", "code/java/org/kodec/runtime/Input.java", "examples/go/main.go",
    ):  # fmt: skip
        assert path in kit.files
    assert not any("hidden" in path for path in kit.files)
    manifest = json.loads(kit.files["MANIFEST.json"])
    assert (manifest["name"], manifest["format_version"]) == ("Orders", "7")
    assert manifest["files"] == {
        path: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for path, data in kit.files.items()
        if path != "MANIFEST.json"
    }
    jsonschema.validate(
        json.loads(kit.files["model/model.json"]), json.loads(kit.files["model/model.schema.json"])
    )
    assert b'href="order.html' in kit.files["pages/index.html"]


VECTORS = """{"vectors_version": 2, "schema": "order", "vectors": [
{"id": "order/observed/1", "type": "order", "tests": "one", "origin": {"kind": "constructed"},
 "must": "accept", "bytes": "000000000001", "value": {"version": 0, "number": 1}, "encodes": "same"}]}
"""


def test_vectors_beside_schemas_are_in_the_kit_and_in_what_is_generated(
    schemas: Path, tmp_path: Path
) -> None:
    (schemas / "sub").mkdir()
    for name in ("seen.vectors.json", "sub/seen.vectors.json"):
        (schemas / name).write_text(VECTORS)
    (schemas / "sub" / "seen.vectors.json").write_text(VECTORS.replace("observed/1", "observed/2"))
    kit = make_kit(schemas, targets=["python"])
    out = tmp_path / "out"
    generate(schemas, out, targets=["vectors"])
    for name in ("seen.vectors.json", "sub/seen.vectors.json"):
        text = (out / name).read_text()
        assert kit.files[f"vectors/{name}"] == text.encode()
        made = json.loads(text)
        assert "@generated" in made.pop("//") and made == json.loads((schemas / name).read_text())
    assert {each.id for each in from_folder(out).vectors} == {
        each.id for each in from_schemas(schemas).vectors
    }
    # what is gone there goes here; what is generated beside the schemas replaces none of them
    (schemas / "sub" / "seen.vectors.json").unlink()
    assert [change.kind for change in generate(schemas, out, targets=["vectors"])] == ["stale"]
    generate(schemas, schemas, targets=["vectors"])
    assert (schemas / "seen.vectors.json").read_text() == VECTORS


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("order.vectors.json", VECTORS, "has the name of the vectors that are made of its schema"),
        ("seen.vectors.json", "[]", "is not a file of vectors"),
    ],
)
def test_vectors_that_cannot_be_copied_are_named(
    schemas: Path, tmp_path: Path, name: str, text: str, why: str
) -> None:
    (schemas / name).write_text(text)
    with pytest.raises(ValueError, match=why):
        make_kit(schemas, targets=["python"])
    with pytest.raises(ValueError, match=why):
        generate(schemas, tmp_path / "out", targets=["vectors"])
    assert not (tmp_path / "out").exists()


def test_the_same_schemas_give_the_same_bytes(schemas: Path, tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        write_zip(make_kit(schemas, targets=["go"]), tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    write_folder(make_kit(schemas, targets=["go"]), tmp_path / "kit")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        for name in archive.namelist():
            assert archive.read(name) == (tmp_path / "kit" / name).read_bytes()


@pytest.mark.parametrize("packed", [False, True])
def test_the_changelog_says_what_is_new(schemas: Path, tmp_path: Path, packed: bool, golden: Golden) -> None:
    old = make_kit(schemas, version="1", targets=["go"])
    before = tmp_path / ("old.zip" if packed else "old")
    (write_zip if packed else write_folder)(old, before)
    same = make_kit(schemas, version="2", targets=["go"], previous=before)
    assert b"- no schema has changed" in same.files["CHANGELOG.md"]
    (schemas / "order.ksy").write_text(NEWER)
    shutil.copy(schemas / "order.ksy", schemas / "second.ksy")
    (schemas / "second.ksy").write_text(NEWER.replace("id: order", "id: second"))
    text = make_kit(schemas, version="2", targets=["go"], previous=before).files["CHANGELOG.md"].decode()
    assert "Since 1:" in text and "`schemas/order.ksy`" in text
    golden(text)
    assert "Compatible" in text
    (schemas / "order.ksy").write_text(TOY.replace("type: s4", "type: s8"))
    text = make_kit(schemas, version="3", targets=["go"], previous=before).files["CHANGELOG.md"].decode()
    assert "Not compatible" in text and "number" in text


def test_what_a_language_cannot_express_is_named(schemas: Path) -> None:
    (schemas / "lines.ksy").write_text(
        "meta: {id: lines}\nseq:\n- {id: all, type: line, repeat: eos}\n"
        "types:\n  line:\n    seq:\n    - {id: text, type: str, terminator: 10, encoding: SHIFT_JIS}\n"
    )
    kit = make_kit(schemas)
    assert list(kit.without["rust"]) == ["lines.ksy"] and "java" not in kit.without
    assert "code/rust/src/order.rs" in kit.files and "code/java/formats/Lines.java" in kit.files
    assert "| rust | `lines.ksy` |" in kit.files["README.md"].decode()


def test_what_generate_has_written_stays(schemas: Path, tmp_path: Path) -> None:
    """It has a manifest too, which names files."""
    generate(schemas, tmp_path / "mine")
    before = {path: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    with pytest.raises(FileExistsError, match="is not a kit"):
        write_folder(make_kit(schemas, targets=["go"]), tmp_path / "mine")
    assert {path: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == before


@pytest.mark.parametrize(
    ("path", "said"), [("README.md", "was changed"), ("code/go/order_types.go", "belongs to no kit")]
)
def test_what_somebody_changed_in_a_kit_stays(schemas: Path, tmp_path: Path, path: str, said: str) -> None:
    kit = make_kit(schemas, targets=["go"])
    write_folder(kit, tmp_path / "kit")
    (tmp_path / "kit" / path).write_text("mine")
    newer = replace(kit, files={**kit.files, path: b"theirs"})
    with pytest.raises(FileExistsError, match=said):
        write_folder(newer, tmp_path / "kit")
    assert (tmp_path / "kit" / path).read_text() == "mine"
    assert (tmp_path / "kit" / "schemas" / "order.ksy").exists()


def test_a_folder_of_somebody_else_stays(schemas: Path, tmp_path: Path) -> None:
    kit = make_kit(schemas, targets=[])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    with pytest.raises(FileExistsError):
        write_folder(kit, tmp_path / "mine")
    write_folder(make_kit(schemas, targets=["go"]), tmp_path / "kit")
    (tmp_path / "kit" / "notes").write_text("mine")
    write_folder(kit, tmp_path / "kit")
    assert (tmp_path / "kit" / "notes").exists() and not (
        tmp_path / "kit" / "code" / "go" / "order.go"
    ).exists()


def test_an_archive_that_leads_outside_is_refused(schemas: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../MANIFEST.json", "{}")
    with pytest.raises(ValueError, match="cannot belong to a kit"):
        make_kit(schemas, targets=[], previous=tmp_path / "bad.zip")


def test_an_archive_that_unpacks_to_more_than_a_kit_is_refused(schemas: Path, tmp_path: Path) -> None:
    """784 kB became 750 MiB on disk; of a kit only its schemas and its manifest are read."""
    bad = tmp_path / "bad.zip"
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"schemas/{number}.ksy", bytes(30 << 20))
    with pytest.raises(ValueError, match="its schemas are more than 10000 files or 64 MiB"):
        make_kit(schemas, targets=[], previous=bad)
    old = make_kit(schemas, targets=[])
    write_zip(old, bad)
    with zipfile.ZipFile(bad, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("code/large", bytes(100 << 20))
    written: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        extracted = zipfile.ZipFile.extractall

        def noted(self: Any, path: Any, members: Any) -> None:
            written.extend(each.filename for each in members)
            extracted(self, path, members)

        patch.setattr(zipfile.ZipFile, "extractall", noted)
        make_kit(schemas, targets=[], previous=bad)
    assert written and "code/large" not in written


def test_the_command(schemas: Path, tmp_path: Path) -> None:
    words = ["handoff", "--schemas", str(schemas)]
    out = str(tmp_path / "kit")
    assert main([*words, "--to", out, "--option", "go.package=orders"]) == 0
    assert "package orders" in (tmp_path / "kit" / "code" / "go" / "order.go").read_text()
    assert main(words) == 2
    assert main([*words, "--to", out, "--target", "vectors"]) == 2
