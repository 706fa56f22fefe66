"""A record batch of a new magic takes its schema, and no line of Java.

The source in the JVM is built of what is generated of an edited schema, and asked about logs with batches of
several magics. They are packed here, from those of magic 2, and each answer must be that about the same log
in magic 2.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pyspark
import pytest

from kodec.cli.output import camel
from kodec.pipeline.spark import JAR
from kodec.runtime.crc import crc32c
from tests.data import ROOT
from tests.log.made import START, batch, marker
from tests.log.next_format.packing import HEADER, Added, Packer
from tests.log.next_format.test_next_format import EDITS, copy
from tests.pipeline.spark_cases import answers

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("javac") is None or not JAR.is_file(), reason="no JDK"),
]

HEAD = struct.calcsize(">" + "".join(code for _, code in HEADER))
CODECS = "none", "gzip", "snappy", "lz4", "zstd"
WRONG = {"torn", "torn-inside", "damaged", "wrong-head", "unknown", "short", "gap"}
OF_PLACE = "batchPosition", "batchSize", "magic", "file"


def built(root: Path) -> Path:
    """The source in the JVM of a tree, of which all Java is generated or as it is here."""
    parts = "runtime/java", "src/kodec/pipeline/jvm"
    own = [path for part in parts for path in (root / part).rglob("*.java")]
    classes, made = root / "classes", root / JAR.name
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    options = ["-proc:none", "-nowarn", "-cp", jars, "-sourcepath", root / "generated/java", "-d", classes]
    subprocess.run(["javac", *options, *own], check=True, capture_output=True)
    shutil.copytree(ROOT / "src/kodec/pipeline/jvm/META-INF", classes / "META-INF")
    with zipfile.ZipFile(made, "w") as file:
        for path in classes.rglob("*.*"):
            file.write(path, path.relative_to(classes))
    return made


def signed(data: bytes) -> bytes:
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]


def of_magic(data: bytes, magic: int, packer: Packer, number: int) -> bytes:
    """A batch of magic 2 as one of another magic, with its further fields in the header."""
    if magic == 2 or data[16] < 2:
        return data
    fields = packer.header(magic)
    codes = ">" + "".join(code for _, code in fields)
    values = dict.fromkeys((name for name, _ in fields), number % 10_000)
    values |= zip(
        (name for name, _ in HEADER),
        struct.unpack(">" + "".join(c for _, c in HEADER), data[:HEAD]),
        strict=True,
    )
    values |= {
        "magic": magic,
        "attributes": values["attributes"] | packer.flag,
        "len_batch": values["len_batch"] + struct.calcsize(codes) - HEAD,
    }
    made = bytearray(struct.pack(codes, *(values[name] for name, _ in fields)) + data[HEAD:])
    at = struct.calcsize(
        ">" + "".join(code for _, code in fields[: [name for name, _ in fields].index("crc")])
    )
    struct.pack_into(">I", made, at, crc32c(bytes(made[at + 4 :])))
    return bytes(made)


def emptied(data: bytes) -> bytes:
    """The header alone, as compaction leaves it."""
    return signed(data[:8] + struct.pack(">i", HEAD - 12) + data[12:57] + struct.pack(">i", 0))


def pairs(first: int, number: int = 10) -> list[tuple[bytes | None, bytes | None]]:
    return [(b"k%d" % (n % 7), b"value %d" % n) for n in range(first, first + number)]


def plain(base: int) -> list[bytes]:
    return [batch(n, pairs(n), codec=CODECS[n // 10 % 5]) for n in range(base, base + 100, 10)]


def transactions(base: int) -> Iterator[bytes]:
    """Of two producers, with markers; and batches of an idempotent one."""
    for n in range(base, base + 100, 10):
        match n // 10 % 5:
            case 3:
                yield marker(n, 7, commit=base != 100)
                yield marker(n + 1, 8, commit=False)
            case 4:
                yield batch(n, pairs(n), producer=(99, 3, n))
            case number:
                producer = 7 + number % 2, 1, n
                yield batch(n, pairs(n), codec=CODECS[number], producer=producer, transactional=True)


class Logs:
    """A log directory in some magics; `batches` has the position, the size and the magic of each one."""

    def __init__(self, root: Path, magics: Sequence[int], packer: Packer) -> None:
        self.root = root
        self.packer = packer
        self.magics = magics
        self.batches: dict[str, list[tuple[int, int, int]]] = {}
        self._numbers = count(3, 1_003)
        for topic in ("plain", *sorted(WRONG - {"gap"})):
            for base in (0, 100, 200):
                self.segment(topic, base, plain(base))
        for base in (0, 100, 200):
            self.segment("transactions", base, [*transactions(base)])
        old = [batch(n, pairs(n), magic=n // 10 % 2, codec=CODECS[n // 20]) for n in range(0, 40, 10)]
        self.segment("old", 0, [*old, *plain(0)[4:]])
        self.segment("old", 100, plain(100))
        compacted = plain(0)
        compacted[3] = emptied(compacted[3])
        del compacted[5]
        self.segment("compacted", 0, compacted)
        # what is missing before it is explained by what is missing in it
        self.segment(
            "compacted",
            150,
            [signed(each[:23] + struct.pack(">i", 12) + each[27:]) for each in plain(100)[5:8:2]],
        )
        for base in (0, 200):
            self.segment("gap", base, plain(base))
        last = of_magic(batch(300, pairs(300)), magics[-1], packer, 0)
        self.append("torn", 200, last[:-5])
        self.append("torn-inside", 100, last[: HEAD + 3])
        self.change("damaged", lambda size: size - 3, 1)
        self.change("wrong-head", lambda size: 24, 1)
        self.change("unknown", lambda size: 16, 64)
        # fewer bytes than the header of its magic has
        short = emptied(batch(300, pairs(300)))
        whole = magics[-1] > 2
        self.append(
            "short",
            200,
            short[:16] + bytes([magics[-1]]) + short[17:]
            if whole
            else short[:8] + b"\0\0\0\x29" + short[12:53],
        )

    def path(self, topic: str, base: int) -> Path:
        return self.root / topic / f"{topic}-0" / f"{base:020d}.log"

    def segment(self, topic: str, base: int, batches: Sequence[bytes]) -> None:
        path = self.path(topic, base)
        path.parent.mkdir(parents=True, exist_ok=True)
        data, places, entries = b"", [], b""
        for number, (each, magic) in enumerate(zip(batches, cycle(self.magics))):
            made = of_magic(each, magic, self.packer, next(self._numbers))
            offset = struct.unpack_from(">q", each)[0]
            last = offset if each[16] < 2 else offset + struct.unpack_from(">i", each, 23)[0]
            entries += struct.pack(">ii", last - base, len(data)) if number % 3 == 1 else b""
            places.append((len(data), len(made), made[16]))
            data += made
        path.write_bytes(data)
        path.with_suffix(".index").write_bytes(entries)
        self.batches[str(path)] = places

    def append(self, topic: str, base: int, data: bytes) -> None:
        with self.path(topic, base).open("ab") as file:
            file.write(data)

    def change(self, topic: str, at: Any, by: int) -> None:
        """Change a byte of the fifth batch of the second segment."""
        path = self.path(topic, 100)
        position, size, _ = self.batches[str(path)][5]
        data = bytearray(path.read_bytes())
        data[position + at(size)] ^= by
        path.write_bytes(data)


def starts(topic: str, name: str, offset: int) -> dict[str, str]:
    return {name: json.dumps({topic: {"0": offset}})}


def asked(topic: str) -> list[tuple[str, dict[str, str], str]]:
    """(how, options, where)."""
    small = {"maxPartitionBytes": "700"}
    where = [
        "true",
        "offset = 135",
        "offset between 88 and 121",
        "offset >= 255",
        f"timestamp >= timestamp_millis({START + 137})",
        "key = cast('k3' as binary)",
        "sequence > 150",
    ]
    few = [*(("whole", {}, each) for each in where[:2]), ("whole", small, "true"), ("count", {}, "true")]
    stream = "stream", {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "150"}, "true"
    if topic in WRONG:
        return [*few, stream] if topic == "unknown" else few
    return [
        *(("whole", {}, each) for each in where),
        *(("whole", small, each) for each in where[:3]),
        ("whole", starts(topic, "startingOffsets", 57) | starts(topic, "endingOffsets", 143), "true"),
        ("whole", {"startingTimestamp": str(START + 66)}, "true"),
        ("whole", {"kafka.isolation.level": "read_committed"}, "true"),
        ("whole", {"includeControlRecords": "true"}, "true"),
        ("whole", {"failOnDataLoss": "false"}, "true"),
        ("whole", {"maxRecordsPerPartition": "33"}, "true"),
        ("count", {}, "true"),
        stream,
    ]


@pytest.mark.parametrize("name", ["two fields, two magics and a flag", "fields at both ends"])
def test_a_log_in_several_magics_has_the_rows_of_one_in_magic_2(name: str, tmp_path: Path) -> None:
    edit = EDITS[name]
    jar = built(copy(tmp_path, edit.apply))
    added = [Added(each, code, before, magics) for each, _, _, before, magics, code in edit.added]
    packer = Packer(added, edit.flag)
    magics = [2, *(magic for magic in edit.magics for _ in range(2) if magic > 2)]
    old, new = Logs(tmp_path / "two", [2], packer), Logs(tmp_path / "all", magics, packer)
    topics = sorted(path.name for path in new.root.iterdir())
    questions = [(topic, *each) for topic in topics for each in asked(topic)]
    found = {}
    for logs, by in ((old, None), (new, jar)):
        whole = {"includeBatchMetadata": "true", "includeHeaders": "true"}
        cases = [
            {
                "path": str(logs.root / topic / f"{topic}-0"),
                "options": options | (whole if how == "whole" else {}),
                "where": where,
                "how": how,
            }
            for topic, how, options, where in questions
        ]
        found[logs], _ = answers(cases, by)
    rows = 0
    for question, one, other in zip(questions, found[old], found[new], strict=True):
        assert ("error" in one) == ("error" in other), (question, one, other)
        if "error" in one:
            text = [
                each["error"].splitlines()[0].replace(str(logs.root), "")
                for each, logs in ((one, old), (other, new))
            ]
            if question[0] == "unknown":
                known = ", ".join(map(str, (0, 1, *edit.magics[:-1])))
                assert "need 0, 1 or 2, have 66" in text[0]
                assert f"need {known} or {edit.magics[-1]}, have" in text[1]
            continue
        if question[1] == "whole":
            for each, logs in ((one, old), (other, new)):
                each["rows"] = [json.loads(row) for row in each["rows"]]
                for row in each["rows"]:
                    position, size, magic, file = (row.pop(name) for name in OF_PLACE)
                    for field in added if each is other else ():
                        # JSON of a row has no nulls
                        value = row.pop(camel(field.name), None)
                        assert (value is not None) == (magic in field.magics)
                    if edit.flag and each is other:
                        assert bool(row.pop("isMirrored", None)) == (magic > 2)
                    # of messages one was given for several
                    assert magic < 2 or (position, size, magic) in logs.batches[file]
        assert one["rows"] == other["rows"], question
        rows += len(other["rows"])
    assert rows > 5_000
    said = {topic for (topic, *_), each in zip(questions, found[new], strict=True) if "error" in each}
    assert said == WRONG - {"torn", "torn-inside"}
