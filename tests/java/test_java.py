"""Generated Java against the generated Python modules: values, errors, rows; also of damaged bytes."""

from __future__ import annotations

import json
import random
import re
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kodec.generated.log import message_set, offset_index, record_batch
from kodec.generator.driver import load, render_all
from kodec.generator.modules import Modules
from kodec.generator.problems import SchemaError
from kodec.generator.targets.java.names import Names, component
from kodec.generator.targets.python.index import ModelIndex
from kodec.runtime.compression import compress, decompress
from kodec.runtime.errors import CrcMismatch, FormatError, LimitExceeded, Malformed, Truncated, Unsupported
from kodec.runtime.fields import ReadOptions
from kodec.runtime.streams import StreamNode
from tests.java.conftest import ROOT, Ask
from tests.log.next_format.test_next_format import EDITS
from tests.vectors import right

KINDS = {
    Truncated: "TRUNCATED",
    Malformed: "MALFORMED",
    CrcMismatch: "CRC_MISMATCH",
    Unsupported: "UNSUPPORTED",
    LimitExceeded: "LIMIT_EXCEEDED",
}
LOGS = sorted((ROOT / "tests" / "data").glob("kafka-*/logs/*/*.log"))
# of one vector: every byte where it is short; each costs a question to Java
MOST_CUTS = 32
# of libraries, whose words for what is wrong are their own
_OTHER_WORDS = ("gzip: ", "snappy: ", "lz4: ", "zstd: ")


def test_the_committed_jar_has_these_classes(classes: Path, javac: str) -> None:
    found = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True)
    version = (found.stdout + found.stderr).partition(".")[0].strip()
    with zipfile.ZipFile(ROOT / "src" / "kodec" / "pipeline" / "jvm" / "kodec-spark.jar") as jar:
        if f"Created-By: {version}" not in jar.read("META-INF/MANIFEST.MF").decode().splitlines():
            pytest.skip("it was compiled with another javac, whose bytes are others")
        names = [name for name in jar.namelist() if name.endswith(".class")]
        assert len(names) > 50
        assert [name for name in names if (classes / name).read_bytes() != jar.read(name)] == []


# -- what a value is in both ---------------------------------------------------------------------------


class Bits(str):
    """The bits of a number; of a NaN also the quiet ones, which Java makes where it widens a float."""

    __slots__ = ("quiet",)

    def __new__(cls, bits: int) -> Bits:
        made = super().__new__(cls, f"{bits:x}")
        made.quiet = f"{bits | 1 << 51:x}" if bits << 1 & ALL > INFINITE else str(made)
        return made

    def __eq__(self, other: object) -> bool:
        return other in (str(self), self.quiet)

    __hash__ = str.__hash__


ALL, INFINITE = (1 << 64) - 1, 0x7FF << 53


def plain(value: Any) -> Any:
    """A value of the Python modules as Dump.java prints it."""
    if is_dataclass(value):
        # a number that is peeked at before a field is read is not shown, and is no field
        own = [each.name for each in fields(value) if each.repr and each.name not in value._parameters]
        return {component(name.rstrip("_")): plain(getattr(value, name)) for name in own}
    match value:
        case bool() | None | str():
            return value
        case int():  # an unsigned number of 64 bits is the `long` with the same bits
            return int(value) if value < 1 << 63 else value - (1 << 64)
        case float():
            return Bits(struct.unpack("<Q", struct.pack("<d", value))[0])
        case bytes():
            return value.hex()
        case UUID():
            return str(value)
        case tuple((int() as tag, bytes() as data)):
            return {"tag": tag, "data": data.hex()}
        case list():
            return [plain(each) for each in value]
    raise TypeError(value)


def merged(value: Any) -> Any:
    """What Java gives, with the two components of a compressible field as the one that Python has."""
    if isinstance(value, list):
        return [merged(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, each in value.items():
        if f"{name}Stored" in value:
            stored = value[f"{name}Stored"]
            found[name] = merged(each if stored is None else stored)
        elif name.endswith("Inner") and name[:-5] in value:
            continue
        elif f"{name}Inner" in value and value[f"{name}Inner"] is not None:
            found[name] = merged(value[f"{name}Inner"])
        elif not (name.endswith("Stored") and name[:-6] in value):
            found[name] = merged(each)
    return found


def expected(kind: Any, data: bytes, check_crc: bool, **known: Any) -> dict[str, Any]:
    """What Python gives: a value, or an error."""
    try:
        return {"value": plain(kind.from_bytes(data, opt=ReadOptions(check_crc=check_crc), **known))}
    except FormatError as error:
        inside = -1 if error.at_inside is None else error.at_inside
        return {
            "error": KINDS[type(error)],
            "path": error.path,
            "at": error.at,
            "inside": inside,
            "text": str(error),
        }


def assert_same(java: dict[str, Any], python: dict[str, Any], what: str) -> None:
    if "value" in java:
        java = {"value": merged(java["value"])}
    if "error" in python:
        # each names its own way to allow them
        python["text"] = python["text"].replace(
            "bytes follow the object (`exact=False` allows them)",
            "bytes are left over after the field's content",
        )
    if "error" in python and any(word in python["text"] for word in _OTHER_WORDS):
        if any(word in python["text"] for word in ("gzip: ", "snappy: ")) and java.get("error") in (
            "MALFORMED",
            "TRUNCATED",
        ):
            # the JDK looks at the magic before it looks whether the header is whole, and the library for
            # snappy does not say of what ends too early that it does
            java["error"] = python["error"]
        java, python = ({key: each.get(key) for key in ("error", "path")} for each in (java, python))
    assert java == python, what


# -- vectors -------------------------------------------------------------------------------------------


@cache
def model_of(folder: str) -> Any:
    return load(ROOT / folder)


@cache
def documents(folder: str) -> dict[str, Any]:
    return {
        path: json.loads(text)
        for path, text in render_all(ROOT / folder, targets=["vectors"]).modules.items()
    }


def types(folder: str, package: str) -> Iterator[tuple[str, str, str, list[dict[str, Any]]]]:
    """The path of each schema, each type's Python class and Java class, and its vectors."""
    model = model_of(folder)
    back = ModelIndex(model)
    names = Names(model, package)
    for path, document in documents(folder).items():
        schema = model.schema(document["schema"])
        top = f"{names.package(schema)}.{names.tops[schema.id]}"
        for name in dict.fromkeys(each["type"] for each in document["vectors"]):
            nested = top if name == schema.root.name else f"{top}${names.types[name]}"
            path = path.removesuffix(".vectors.json")
            yield path, back.classes[name], nested, right(document, name)[:12]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("folder", "package"),
    [
        ("schemas", "org.kodec.kafka"),
        ("tests/generator/formats", "formats"),
        ("tests/java/hostile", "hostile"),
    ],
)
def test_vectors_are_read_as_python_reads_them(ask: Ask, folder: str, package: str) -> None:
    questions: list[list[str]] = []
    wanted: list[dict[str, Any]] = []
    shuffled = random.Random(7)
    model = model_of(folder)
    with Modules(model) as modules:
        for path, name, java, vectors in types(folder, package):
            schema = next(each for each in model.schemas if each.path == f"{path}.ksy")
            kind = getattr(modules.of(schema), name)
            if issubclass(kind, StreamNode):
                continue  # no records: tests/languages compares them
            for vector in vectors:
                version = vector.get("version")
                more = [] if version is None else [str(version)]
                known = {} if version is None else {"version": version}
                data = bytes.fromhex(vector["bytes"])
                damaged = []
                for _ in range(6 if data else 0):
                    changed = bytearray(data)
                    changed[shuffled.randrange(len(data))] = shuffled.randrange(256)
                    damaged.append(bytes(changed))
                cuts = [data[:size] for size in range(0, len(data), 1 + len(data) // MOST_CUTS)]
                for index, each in enumerate((data, *damaged, *cuts)):
                    check = "01"[index % 2]
                    questions.append(["read", java, check, *more, each.hex()])
                    wanted.append(expected(kind, each, check == "1", **known))
    assert questions
    for words, answer, python in zip(questions, ask(questions), wanted, strict=True):
        assert_same(answer, python, " ".join(words))


# -- real logs -----------------------------------------------------------------------------------------


def batches() -> Iterator[tuple[str, bytes]]:
    """Batches of every real log, those of each size and codec once."""
    seen = set()
    for path in LOGS:
        data, at = path.read_bytes(), 0
        while len(data) - at >= 61:
            size = int.from_bytes(data[at + 8 : at + 12], "big") + 12
            if size <= 12:
                break
            batch = data[at : at + size]
            what = (path.parts[-4], path.parent.name, size)
            if what not in seen and len(batch) == size < 20_000:
                seen.add(what)
                yield f"{path.parts[-4]}/{path.parent.name}", batch
            at += size


def named(batch: bytes) -> tuple[str, Any]:
    if batch[16] == 2:
        return "org.kodec.kafka.log.RecordBatch", record_batch.RecordBatch
    return "org.kodec.kafka.log.MessageSet$Entry", message_set.Entry


def test_batches_of_real_logs_are_read_as_python_reads_them(ask: Ask) -> None:
    found = list(batches())
    assert {data[16] for _, data in found} == {0, 1, 2} and len(found) > 100
    questions, wanted = [], []
    shuffled = random.Random(11)
    for where, data in found:
        java, kind = named(data)
        changes = [data]
        for _ in range(3):
            changed = bytearray(data)
            changed[shuffled.randrange(len(data))] ^= 1 << shuffled.randrange(8)
            changes.append(bytes(changed))
        for each in changes:
            for check in ("1", "0"):
                questions.append(["read", java, check, each.hex()])
                wanted.append((where, expected(kind, each, check == "1")))
    for words, answer, (where, python) in zip(questions, ask(questions), wanted, strict=True):
        assert_same(answer, python, f"{where} {' '.join(words)}")


def test_batches_of_real_logs_are_written_as_they_were_and_compressed_ones_so_that_python_reads_them(
    ask: Ask,
) -> None:
    found = [(data, *named(data)) for _, data in batches()]
    found = [each for each in found if "value" in expected(each[2], each[0], True)]
    answers = ask([["write", java, "1", data.hex()] for data, java, _ in found])
    codecs = set()
    for (data, _, kind), answer in zip(found, answers, strict=True):
        codec = data[22] & 7 if data[16] == 2 else data[17] & 7
        codecs.add((data[16], codec))
        written = bytes.fromhex(answer["value"])
        if codec == 0:
            assert written == data
        else:
            # what a library makes of the same content differs, and with it the length and the checksum
            first, second = (without_sizes(kind.from_bytes(each)) for each in (written, data))
            assert first == second
    assert codecs == {(magic, codec) for magic in (0, 1, 2) for codec in range(4)} | {(2, 4)}


def without_sizes(value: Any) -> Any:
    found = plain(value)
    for each in (found, found.get("message", {})):
        for name in ("lenBatch", "lenValue", "crc"):
            each.pop(name, None)
    return found


def test_a_batch_that_is_cut_short_is_told_alike_at_every_byte(ask: Ask) -> None:
    chosen = {}
    for _, data in batches():
        codec = data[22] & 7 if data[16] == 2 else data[17] & 7
        if len(data) < 1_500:
            chosen[data[16], codec] = data
    assert len(chosen) >= 9
    answers = ask([["cuts", named(data)[0], "1", data.hex()] for data in chosen.values()])
    for data, answer in zip(chosen.values(), answers, strict=True):
        kind = named(data)[1]
        for size, said in enumerate(answer["cuts"]):
            assert said == expected(kind, data[:size], True).get("text", ""), size


def test_a_segment_is_read_whole(ask: Ask) -> None:
    from kodec.generated.log.log_segment import LogSegment

    logs = [path.read_bytes() for path in LOGS if 0 < path.stat().st_size < 8_000]
    questions = [["read", "org.kodec.kafka.log.LogSegment", "1", data.hex()] for data in logs]
    for data, answer in zip(logs, ask(questions), strict=True):
        assert_same(answer, expected(LogSegment, data, True), data[:40].hex())


# -- rows ----------------------------------------------------------------------------------------------


def rows_of(data: bytes) -> Any:
    """The rows of a batch by the careful reader; None if that refuses it."""
    try:
        batch = record_batch.RecordBatch.from_bytes(data, opt=ReadOptions(verify=False))
    except FormatError:
        return None
    head, _ = record_batch.read_record_batch_head(data, 0, len(data))
    stored = head.records if isinstance(head.records, bytes) else b""
    codec = record_batch.codec_of_record_batch(head)
    content = stored if codec == "none" or not stored else decompress(codec, stored, limit=1 << 24)
    assert len(batch.records) == (head.num_records or 0)
    return [
        [
            row.offset,
            row.timestamp,
            row.timestamp_type,
            None if row.key is None else row.key.hex(),
            None if row.value is None else row.value.hex(),
            [
                [key.encode("utf-8", "surrogateescape").hex(), None if value is None else value.hex()]
                for key, value in row.headers
            ],
        ]
        for row in record_batch.read_record_batch_rows(head, content)
    ]


def fits(rows: Any) -> bool:
    return rows is None or all(abs(number) < 2**63 for row in rows for number in row[:2])


def test_rows_by_the_fast_path_are_those_of_the_careful_one(ask: Ask) -> None:
    shuffled = random.Random(13)
    cases = []
    for _, data in batches():
        if data[16] != 2:
            continue
        cases.append(data)
        for _ in range(8):
            # damage that the checksum does not show
            changed = bytearray(data)
            for _ in range(shuffled.choice((1, 1, 3))):
                changed[shuffled.randrange(21, len(data))] ^= 1 << shuffled.randrange(8)
            changed[17:21] = record_batch.checksum_of_record_batch(bytes(changed), 0, len(data))[1].to_bytes(
                4, "big"
            )
            cases.append(bytes(changed))
    answers = ask([["rows", "KafkaRows", "batch", data.hex()] for data in cases])
    refused = 0
    for data, answer in zip(cases, answers, strict=True):
        rows = rows_of(data)
        if not fits(rows):
            rows = None
        refused += rows is None
        given = None if "error" in answer else answer["value"]
        assert given == rows, data.hex()
    assert 50 < refused < len(cases)


def test_messages_and_index_entries_are_rows(ask: Ask) -> None:
    cases: list[tuple[str, bytes, Any]] = []
    for path in LOGS:
        data = path.read_bytes()
        if len(data) > 20_000 or len(data) < 20 or data[16] == 2:
            continue
        rows = list(message_set.read_entry_rows(data, 0, len(data), opt=ReadOptions()))
        if rows and rows[-1][1] == len(data):
            wanted = [
                [
                    row.offset,
                    row.timestamp,
                    row.timestamp_type,
                    None if row.key is None else row.key.hex(),
                    None if row.value is None else row.value.hex(),
                ]
                for row, _ in rows
            ]
            cases.append(("messages", data, wanted))
        index = path.with_suffix(".index")
        if index.exists() and index.stat().st_size < 20_000:
            entries = offset_index.OffsetIndex.from_bytes(index.read_bytes()).entries
            pairs = [[entry.relative_offset, entry.ofs_batch] for entry in entries]
            cases.append(("index", index.read_bytes(), pairs))
    assert {method for method, _, _ in cases} == {"messages", "index"}
    answers = ask([["rows", "KafkaRows", method, data.hex()] for method, data, _ in cases])
    for (_, data, wanted), answer in zip(cases, answers, strict=True):
        assert answer == {"value": wanted}, data[:40].hex()


# -- codecs --------------------------------------------------------------------------------------------


def test_codecs_give_what_they_give_in_python(ask: Ask) -> None:
    shuffled = random.Random(17)
    payloads = [b"x", b"abc" * 30_000, shuffled.randbytes(70_000), bytes(300_000)]
    cases = []
    for codec in ("none", "gzip", "snappy", "lz4", "lz4_legacy", "zstd"):
        whole = [compress(codec, payload) for payload in payloads]
        whole += [whole[0] + whole[1]] if codec in ("gzip", "zstd", "snappy") else []
        for data in whole:
            limits = [1 << 20, 299_999, 90_000, 1, 0]
            cases += [(codec, data, limit) for limit in limits]
        small = whole[0] if len(whole[0]) > 12 else whole[1]
        for _ in range(60):
            changed = bytearray(small[:200])
            changed[shuffled.randrange(len(changed))] ^= 1 << shuffled.randrange(8)
            cases.append((codec, bytes(changed), 1 << 20))
        cases += [(codec, small[:size], 1 << 20) for size in range(0, len(small[:200]), 3)]
    answers = ask([["codec", codec, str(limit), data.hex()] for codec, data, limit in cases])
    for (codec, data, limit), answer in zip(cases, answers, strict=True):
        what = f"{codec} {limit} {data[:60].hex()}"
        try:
            python = {"value": decompress(codec, data, limit=limit).hex()}
        except FormatError as error:
            if codec == "gzip" and isinstance(error, (Malformed, Truncated)):
                assert answer["error"] in ("MALFORMED", "TRUNCATED"), what
            else:
                assert answer.get("error") == KINDS[type(error)], what
            continue
        if codec == "none" and len(data) > limit:
            continue
        assert answer == python, what


STORED = re.compile(r"Stored (\w+)_STORED = Stored\.(\w+);")


def test_how_numbers_are_stored_is_what_python_says(ask: Ask) -> None:
    kinds = {"RecordBatch": record_batch.RecordBatch, "OffsetIndex": offset_index.Entry}
    for name, python in kinds.items():
        text = (ROOT / "generated" / "java" / "org" / "kodec" / "kafka" / "log" / f"{name}.java").read_text()
        found = {field.lower(): kind for field, kind in STORED.findall(text)}
        assert found == {
            field: {"b": "S1", "h": "S2BE", "i": "S4BE", "q": "S8BE", "I": "U4BE"}[form[1]]
            for field, (_, form) in python.PLACES.items()
            if form
        }
    questions, wanted = [], []
    for code, sign in (("bhiq", "S"), ("BHIQ", "U")):
        for each in code:
            width = struct.calcsize(f"={each}")
            for order, end in ((">", "BE"), ("<", "LE")):
                kind = f"{sign}{width}" + ("" if width == 1 else end)
                for data in (bytes(range(0x81, 0x81 + width)), b"\xff" * width, b"\x7f" + bytes(width - 1)):
                    (value,) = struct.unpack(order + each, data)
                    most = (1 << 8 * width - each.islower()) - 1
                    questions.append(("stored", kind, data.hex()))
                    # Java's numbers of 64 bits have a sign
                    wanted.append(
                        [*(n - (1 << 64) if n >> 63 > 0 else n for n in (value, most)), width, data.hex()]
                    )
    assert [answer["value"] for answer in ask(questions)] == wanted


# -- what has no role --------------------------------------------------------------------------------------


def test_numbers_and_flags_of_a_head_without_a_role_are_listed(tmp_path: Path) -> None:
    for name in ("log/record_batch", "log/record", "log/log_segment", "log/message_set"):
        (tmp_path / "schemas" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "schemas" / f"{name}.ksy", tmp_path / "schemas" / f"{name}.ksy")
    shutil.copytree(ROOT / "schemas" / "primitives", tmp_path / "schemas" / "primitives")
    EDITS["two fields, two magics and a flag"].apply(tmp_path)
    made = render_all(tmp_path / "schemas", targets=["java"], options={"package": "org.x"}).modules
    text = made["java/org/x/log/RecordBatch.java"]
    assert re.findall(r"new HeadField\((.*)\)[,)]", text) == [
        '"region", int.class, List.of(4), rows -> rows.headRegion',
        '"traceId", long.class, List.of(3, 4), rows -> rows.headTraceId',
        '"isMirrored", boolean.class, List.of(2, 3, 4), rows -> rows.headAttributesIsMirrored ? 1 : 0',
    ]


# -- what the target refuses -------------------------------------------------------------------------------


def made(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.ksy").write_text(f"meta:\n  id: x\n  endian: be\n{text}")
    render_all(tmp_path, targets=["java"])


def test_names_that_java_cannot_tell_apart_are_a_problem(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="are both `a1` in Java"):
        made(tmp_path, "seq:\n  - {id: a_1, type: u1}\n  - {id: a1, type: u1}\n")


def test_what_java_does_not_have_of_streams_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="it cannot be read from streams in Java: its process"):
        made(tmp_path, "seq:\n  - {id: a, size: 1, process: ours}\n")


def test_a_package_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text("meta:\n  id: x\nseq:\n  - {id: a, type: u1}\n")
    with pytest.raises(ValueError, match="not the name of a Java package"):
        render_all(tmp_path, targets=["java"], options={"package": "a b"})


def test_no_fact_of_the_wire_is_in_the_runtime() -> None:
    text = "".join(path.read_text() for path in (ROOT / "runtime" / "java").rglob("*.java"))
    assert "org.kodec.kafka" not in text and "magic 2" not in text
