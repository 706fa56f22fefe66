"""`kodec import-kafka`: definitions to schemas that generate, and what stays when they are imported again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kodec.cli.main import main
from kodec.conformance.suite import from_folder
from kodec.generator.driver import generate
from kodec.importer.definitions import BadDefinition, read_definitions
from kodec.importer.plan import plan_import
from kodec.importer.schemas import snake
from kodec.importer.text import tree_of
from kodec.importer.upgrade import plan_upgrade
from tests.data import ROOT
from tests.golden import Golden

PRIMITIVES = ROOT / "schemas/primitives"
SUITE = ROOT / "tools/update_from_release.py"
ENTRY = "common/message/GroupThingValue.json"


def definition(*more: dict[str, Any], **changes: Any) -> str:
    fields: list[dict[str, Any]] = [
        {"name": "GroupId", "type": "string", "versions": "0+", "about": "prose // stays there"},
        {"name": "Epoch", "type": "int32", "versions": "1+", "ignorable": True, "default": "-1"},
        {"name": "Members", "type": "[]Member", "versions": "0+", "nullableVersions": "2+", "fields": [
            {"name": "MemberId", "type": "string", "versions": "0+", "nullableVersions": "0+"},
            {"name": "Joined", "type": "bool", "versions": "2+"},
        ]},
        {"name": "Hosts", "type": "[]string", "versions": "3+", "taggedVersions": "3+", "tag": 0},
        {"name": "Load", "type": "float64", "versions": "0-1"},
        *more,
    ]  # fmt: skip
    document: dict[str, Any] = {
        "apiKey": 7, "type": "coordinator-value", "name": "GroupThingValue", "validVersions": "0-3",
        "flexibleVersions": "2+", "fields": fields,
    }  # fmt: skip
    return "// a comment\n" + json.dumps(document | changes, indent=1).replace(
        '"fields": [', '// one "more"\n"fields": [', 1
    )


def jar(folder: Path, text: str, release: str = "4.4.0") -> Path:
    path = folder / f"kafka-group-coordinator-{release}.jar"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(ENTRY, text)
        file.writestr("META-INF/other.json", "not JSON")
    return path


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    folder = tmp_path / "schemas"
    (folder / "primitives").mkdir(parents=True)
    for path in PRIMITIVES.glob("*.ksy"):
        (folder / "primitives" / path.name).write_bytes(path.read_bytes())
    return folder


def made(schemas: Path) -> Path:
    return schemas / "messages" / "group_thing_value.ksy"


def test_a_definition_becomes_a_schema_that_generates(tmp_path: Path, schemas: Path) -> None:
    plan_import(jar(tmp_path, definition()), schemas).apply()
    text = made(schemas).read_text()
    assert "prose" not in text and "topic: __consumer_offsets" in text
    # what a message, a struct or a field means is for people to write: without `doc`, nobody has yet
    tree = tree_of(text, "made")
    assert "doc" not in tree and "doc" not in tree["types"]["member"]
    assert not any("doc" in each for each in tree["seq"])
    # and what other keys say is not written
    assert "-names: PascalCase" in text and "-orig-id" not in text and "-derive" not in text
    assert "kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupThingValue.json" in text
    assert "-nullable: 2-3" in text and "-tags:" in text and len(text.splitlines()) < 80
    generate(schemas, tmp_path / "out_of_definitions")
    module = (tmp_path / "out_of_definitions" / "messages" / "group_thing_value.py").read_text()
    assert '"epoch": range(1, 4)' in module and 'KIND: ClassVar[str] = "coordinator-value"' in module


def test_a_second_import_changes_nothing(tmp_path: Path, schemas: Path) -> None:
    source = jar(tmp_path, definition())
    plan_import(source, schemas).apply()
    plan = plan_import(source, schemas)
    assert (plan.changes, plan.unchanged) == ((), 1)
    # and nothing is written that follows from something else
    assert plan_upgrade(schemas).changes == ()


def test_what_people_wrote_stays(tmp_path: Path, schemas: Path) -> None:
    plan_import(jar(tmp_path, definition()), schemas).apply()
    text = made(schemas).read_text()
    text = text.replace(
        "  - {id: epoch, type: s4, if: version >= 1, -ignorable: true, -default: -1}\n",
        "  - id: group_epoch\n    -orig-id: Epoch\n    type: s4\n    if: version >= 1\n    -ignorable: true\n"
        "    -default: -1\n    -column: false\n    doc: |\n      Said by\n      a person.\n",
    )
    # and wherever else an import leaves it to people: the message, a struct and a field of it, a tagged field
    for line, doc in {
        "doc-ref: https": "doc: Of the message.\n",
        "    params:\n": "    doc: Of a struct.\n",
    }.items():
        assert text.count(line) == 1
        text = text.replace(line, doc + line)
    text = text.replace(
        "            -versions: 3+\n", "            -versions: 3+\n            doc: Of a tag.\n"
    )
    joined = "{id: joined, type: bool8, if: version >= 2}"
    version = "{id: version, type: s2, valid: {min: 0, max: 3}}"
    assert joined in text and version in text
    lines = "id: joined\n        type: bool8\n        if: version >= 2\n        doc: Of a field in it."
    text = text.replace(joined, lines)
    lines = "id: version\n    type: s2\n    valid: {min: 0, max: 3}\n    -default: 1\n    doc: Ours."
    text = text.replace(version, lines)
    made(schemas).write_text(text)
    assert plan_import(jar(tmp_path, definition()), schemas).changes == ()
    newer = definition({"name": "Rack", "type": "string", "versions": "3+", "taggedVersions": "3+", "tag": 1})
    (change,) = plan_import(jar(tmp_path, newer, "4.5.0"), schemas).changes
    assert change.kind == "changed" and "blob/4.4.0/" in change.after
    assert "id: group_epoch" in change.after and "Said by\n      a person." in change.after
    assert [line.strip() for line in change.after.splitlines() if "doc: Of " in line] == [
        "doc: Of the message.", "doc: Of a struct.", "doc: Of a field in it.", "doc: Of a tag.",
    ]  # fmt: skip
    assert "-column: false" in change.after and "-default: 1\n    doc: Ours." in change.after
    added = [line for line in change.diff().splitlines() if line.startswith("+")]
    assert any("id: rack" in line for line in added)


def test_the_verb_is_a_dry_run_at_first(
    tmp_path: Path, schemas: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    source = jar(tmp_path, definition())
    arguments = ["import-kafka", str(source), "--schemas", str(schemas)]
    assert main(arguments) == 3
    assert not made(schemas).exists() and "1 file would be written" in capsys.readouterr().out
    assert main([*arguments, "--apply"]) == 0
    assert made(schemas).is_file()
    assert main(arguments) == 0
    golden(capsys.readouterr().out)
    assert main([*arguments, "--only", "Nothing"]) == 1
    assert main(["import-kafka", str(tmp_path / "none.jar")]) == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"fields": [{"name": "A", "type": "int99", "versions": "0+"}]}, "unknown type `int99`"),
        ({"fields": [{"name": "A b", "type": "int8", "versions": "0+"}]}, "`A b` is not a name"),
        ({"fields": [{"name": "A", "type": "int8", "versions": "x"}]}, "not a version range"),
        ({"fields": [{"name": "A", "type": "int8", "versions": "0+", "default": "x"}]}, "`x` is no int8"),
        ({"fields": [{"name": "A", "type": "int8", "versions": "0+", "tag": 1}]}, "go together"),
        (
            {"fields": [{"name": "A", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 1}]},
            "not flexible",
        ),
        ({"fields": [{"name": "A", "type": "A", "versions": "0+", "fields": [
            {"name": "A", "type": "A", "versions": "0+"}]}]}, "holds itself"),
    ],
)  # fmt: skip
def test_what_a_schema_cannot_say_is_told(
    changes: dict[str, Any], reason: str, tmp_path: Path, schemas: Path
) -> None:
    with pytest.raises(BadDefinition, match=reason):
        plan_import(jar(tmp_path, definition(**changes)), schemas)
    assert not made(schemas).exists()


def test_a_message_that_no_version_has_is_left_out(tmp_path: Path) -> None:
    assert read_definitions(jar(tmp_path, definition(validVersions="none"))) == []


def test_a_tag_may_stand_in_quotes(tmp_path: Path) -> None:
    quoted = {"name": "Rack", "type": "string", "versions": "3+", "taggedVersions": "3+", "tag": "1"}
    (message,) = read_definitions(jar(tmp_path, definition(quoted)))
    assert [each.tag for each in message.root.fields if each.name == "Rack"] == [1]
    for wrong in ("x", "-1", "", "1" * 10):
        with pytest.raises(BadDefinition, match="is not a tag"):
            read_definitions(jar(tmp_path, definition(quoted | {"tag": wrong})))


def test_names() -> None:
    names = {"TopicId": "topic_id", "KRaftVersion": "kraft_version", "groupInstanceId": "group_instance_id"}
    names |= {"LastKnownELR": "last_known_elr", "SASLMechanism": "sasl_mechanism", "Isr": "isr"}
    assert {name: snake(name) for name in names} == names


def test_comments_stay_at_their_lines(tmp_path: Path, schemas: Path) -> None:
    plan_import(jar(tmp_path, definition()), schemas).apply()
    text = made(schemas).read_text()
    written = {
        "  - {id: epoch, ": "  # why there is one\n  # at all\n  - {id: epoch, ",
        "if: version <= 1}\n": "if: version <= 1}  # of what?\n",
        "\nseq:\n": "\nseq:\n  # the 'first' one\n",
    }
    for line, commented in written.items():
        assert text.count(line) == 1
        text = text.replace(line, commented)
    doc = "doc: |\n  Text with a # in it.\n  # and one at the start\n"
    text = text.replace("doc-ref: ", f"{doc}doc-ref: ", 1) + "# the end\n"
    made(schemas).write_text(text)
    newer = json.loads(definition().split("\n", 1)[1].replace('// one "more"', ""))
    # the message is longer by a field, and one that has a comment is gone
    newer["fields"] = [each for each in newer["fields"] if each["name"] != "Load"]
    newer["fields"].append(
        {"name": "Rack", "type": "string", "versions": "3+", "taggedVersions": "3+", "tag": 1}
    )
    (change,) = plan_import(jar(tmp_path, json.dumps(newer), "4.5.0"), schemas).changes
    for line in ("  - {id: epoch, ", "\nseq:\n"):
        assert written[line] in change.after
    assert doc in change.after and change.after.endswith("# the end\n")
    assert change.lost == ("# of what?",)
    assert change.after.count("#") == text.count("#") - 1


def test_lost_comments_are_said(
    tmp_path: Path, schemas: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    plan_import(jar(tmp_path, definition()), schemas).apply()
    text = made(schemas).read_text()
    made(schemas).write_text(text.replace("if: version <= 1}\n", "if: version <= 1}  # of what?\n"))
    text = definition().replace("float64", "int64")
    source = jar(tmp_path, text, "4.5.0")
    assert main(["import-kafka", str(source), "--schemas", str(schemas)]) == 3
    golden(capsys.readouterr().err)


def test_what_a_folder_lacks_of_primitives_comes_with_it(tmp_path: Path) -> None:
    plan = plan_import(jar(tmp_path, definition()), tmp_path / "new")
    plan.apply()
    there = {path.name for path in (tmp_path / "new" / "primitives").iterdir()}
    assert there >= {"text.ksy", "nullable_text.ksy", "unsigned_varint.ksy"}
    assert {change.message for change in plan.changes} - {"GroupThingValue"} == {
        name.removesuffix(".ksy") for name in there
    }
    generate(tmp_path / "new", tmp_path / "out_of_nothing")
    assert plan_import(jar(tmp_path, definition()), tmp_path / "new").changes == ()
    # one that is there stays as it is
    (tmp_path / "new" / "primitives" / "text.ksy").write_text("# ours\n")
    made(tmp_path / "new").unlink()
    (change,) = plan_import(jar(tmp_path, definition()), tmp_path / "new").changes
    assert change.message == "GroupThingValue"


def test_keys_that_definitions_do_not_call_keys_are_named(
    tmp_path: Path, schemas: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    """As in all jars before Kafka 4.1."""
    source = jar(tmp_path, definition(type="data", name="GroupThingKey", validVersions="7"), "3.9.1")
    assert main(["import-kafka", str(source), "--schemas", str(schemas)]) == 3
    said = capsys.readouterr().err
    golden(said)
    assert "GroupThingKey" in said
    assert main(["import-kafka", str(jar(tmp_path, definition())), "--schemas", str(schemas)]) == 3
    assert "keys" not in capsys.readouterr().err


def lying_jar(folder: Path, size: int) -> Path:
    """A jar whose headers say of an entry that it has 100 bytes."""
    path = folder / "kafka-group-coordinator-4.4.0.jar"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(ENTRY, b" " * size)
    data = path.read_bytes()
    assert data.count(struct.pack("<I", size)) == 2
    path.write_bytes(data.replace(struct.pack("<I", size), struct.pack("<I", 100)))
    return path


def test_a_header_that_lies_about_the_size_costs_no_memory(tmp_path: Path) -> None:
    source = lying_jar(tmp_path, 64 << 20)
    tracemalloc.start()
    with pytest.raises(BadDefinition, match=r"damaged|larger"):
        read_definitions(source)
    assert tracemalloc.get_traced_memory()[1] < 6 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_entry_compressed_as_no_jar_has_it(tmp_path: Path, method: int) -> None:
    path = tmp_path / "kafka-clients-4.4.0.jar"
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr(ENTRY, definition())
    with pytest.raises(BadDefinition, match="compressed as no entry"):
        read_definitions(path)


def test_all_definitions_of_a_jar_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kodec.importer.definitions.MOST_IN_JAR", 100)
    with pytest.raises(BadDefinition, match="its definitions are larger than 100 bytes"):
        read_definitions(jar(tmp_path, definition()))


def test_a_name_in_front_of_an_entry_that_is_not_utf_8(tmp_path: Path) -> None:
    path = jar(tmp_path, definition())
    data = bytearray(path.read_bytes())
    # in the header in front of the entry: the flag that says that names are UTF-8, and a byte of the name
    data[7] |= 0x08
    data[30] = 0xFF
    path.write_bytes(data)
    with pytest.raises(BadDefinition, match="damaged"):
        read_definitions(path)


def test_damaged_entries_of_any_kind_are_our_error(tmp_path: Path) -> None:
    """Every byte of a jar changed: definitions, or an error that shows which file it is."""
    data = jar(tmp_path, definition()).read_bytes()
    path = tmp_path / "broken.jar"
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        with contextlib.suppress(BadDefinition, zipfile.BadZipFile):
            read_definitions(path)


def test_half_a_character_is_an_error(
    tmp_path: Path, schemas: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    field = {"name": "Text", "type": "string", "versions": "0+", "default": "\ud800"}
    for text in (definition(field), definition(field | {"default": "a", "about": "\udfff"})):
        assert main(["import-kafka", str(jar(tmp_path, text)), "--schemas", str(schemas), "--apply"]) == 1
        assert "half a character" in capsys.readouterr().err
        assert not made(schemas).exists()


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    """A FIFO among the files would wait for ever."""
    jar(tmp_path, definition())
    for name in ("a.json", "b.jar"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "c.json").mkdir()
    assert [each.name for each in read_definitions(tmp_path)] == ["GroupThingValue"]
    with pytest.raises(BadDefinition, match="regular file"):
        read_definitions(tmp_path / "b.jar")


def test_a_new_release_becomes_a_suite_in_one_command(tmp_path: Path, schemas: Path, golden: Golden) -> None:
    plan_import(jar(tmp_path, definition()), schemas).apply()
    newer = definition(
        {"name": "Reason", "type": "string", "versions": "4+", "nullableVersions": "4+", "ignorable": True},
        validVersions="0-4",
    )
    command = [sys.executable, str(SUITE), str(jar(tmp_path, newer, "4.5.0")), str(tmp_path / "kit")]
    options = ["--schemas", str(schemas), "--version", "4.5.0"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert done.stdout == (tmp_path / "kit" / "CHANGELOG.md").read_text()
    golden(re.sub("Since [0-9a-f]{12}", "Since COMMIT", done.stdout))
    suite = from_folder(tmp_path / "kit" / "vectors")
    newest = [
        each.value for each in suite.vectors if each.id.startswith("group_thing_value@4/") and each.value
    ]
    assert newest and all("reason" in value for value in newest)
