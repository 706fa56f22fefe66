"""Changes texts and archives that others write, and reads them: a value or an error of kodec's, nothing else.

Usage: python -m tests.fuzz.foreign_texts [--seconds N] [--seed N] [--count N] [TARGET]...

A target is what reads one kind of text: manifests of backups and of remote storage, checkpoints, schemas,
answers of registries and testees, messages of editors, jars, vectors.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import random
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kodec.conformance.process import Failed, Testee
from kodec.conformance.suite import VERSION, from_folder
from kodec.formats.language_server import LanguageServer
from kodec.handoff.changes import manifest_of
from kodec.importer.definitions import BadDefinition, read_definitions
from kodec.log.files import checkpoints
from kodec.log.remote.manifest import parse_manifest
from kodec.log.remote.point import parse_point
from kodec.log.values.avro import parse
from kodec.log.values.avro_columns import AvroColumn
from kodec.log.values.avro_reader import AvroReader
from kodec.log.values.plain import json_line
from kodec.log.values.protobuf import compile_schema
from kodec.log.values.schema_registry import schema_of_answer
from kodec.log.values.schema_topic import SchemaTopic
from kodec.log.values.schemas import BadSchema, Schema
from kodec.operations import plan_backup
from kodec.runtime.errors import FormatError
from tests.stored_tiers import STORED

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
# What a text gets in the place of a part of it.
PARTS = [
    *(
        b"1e999",
        b"-1e999",
        b"NaN",
        b"Infinity",
        b"-1",
        b"0",
        b"1.5",
        b"true",
        b"null",
        b"{}",
        b"[]",
        b'""',
        b'"x"',
    ),
    *(
        b"9" * 30,
        b"9" * 5_000,
        b"[" * 200,
        b"{" * 200,
        b'{"a":' * 120,
        b"[[],[]]",
        b'"\\ud800"',
        b"\xff\xfe",
        b"\0",
    ),
    *(b"/*", b"*/", b"//", b"'", b'"', b"\\", b"\r\n", b",", b":", b"=", b"  ", b"-" * 40, b"\xef\xbb\xbf"),
]

IN_CI = 2_000


@dataclass(frozen=True)
class Target:
    """What is read: the texts to begin with, what reads one, and the errors that it may raise."""

    seeds: list[bytes]
    read: Callable[[bytes], object]
    errors: tuple[type[Exception], ...]


def changed(chance: random.Random, seeds: list[bytes]) -> bytes:
    """A text with some of its parts changed, cut, doubled, or taken from another one."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        end = min(len(data), at + chance.choice((0, 1, 1, 2, 5, 20)))
        kind = chance.random()
        if kind < 0.5:
            # numbers, words and names are replaced as a whole
            while at < end < len(data) and bytes((data[end],)).isalnum():
                end += 1
            data[at:end] = chance.choice(PARTS)
        elif kind < 0.7:
            data[at:end] = bytes(chance.randrange(256) for _ in range(end - at))
        elif kind < 0.85:
            del data[at:end]
        elif kind < 0.95:
            other = chance.choice(seeds)
            begin = chance.randint(0, len(other))
            data[at:end] = other[begin : begin + 40]
        else:
            del data[at:]
    return bytes(data)


def targets(folder: Path) -> Iterator[tuple[str, Target]]:
    """All of them; `folder` is for files."""
    plan_backup(LOGS, folder / "backup", topics=["orders", "compacted"]).apply()
    (point,) = (folder / "backup" / "points").iterdir()
    text = gzip.decompress(point.read_bytes())
    errors: tuple[type[Exception], ...] = (FormatError,)
    yield "backup manifest", Target([text], lambda data: parse_point(gzip.compress(data, 1), "m"), errors)
    yield "backup manifest, stored", Target([point.read_bytes()], lambda data: parse_point(data, "m"), errors)
    manifests = [path.read_bytes() for path in sorted(STORED.rglob("*.rsm-manifest"))]
    yield "tier manifest", Target(manifests, lambda data: parse_manifest(data, "m"), errors)

    file = folder / "file"

    def of_file(read: Callable[[Path], object], data: bytes) -> object:
        file.write_bytes(data)
        return read(file)

    quorum = b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"data_version":1}'
    texts: dict[str, tuple[Callable[[Path], object], list[bytes]]] = {
        "offsets": (checkpoints.read_offsets, [b"0\n2\na 0 7\nb-c 1 9\n", b"0\n0\n"]),
        "leader epochs": (checkpoints.read_leader_epochs, [b"0\n2\n0 0\n5 100\n"]),
        "offset ranges": (checkpoints.read_offset_ranges, [b"0\n1\n3 9\n"]),
        "partition metadata": (
            checkpoints.read_partition_metadata,
            [b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"],
        ),
        "meta.properties": (
            checkpoints.read_meta_properties,
            [b"#\n#Thu\nversion=1\ncluster.id=x\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n"],
        ),
        "clean shutdown": (checkpoints.read_clean_shutdown, [b'{"version":0,"brokerEpoch":9}', b""]),
        "quorum state": (checkpoints.read_quorum_state, [quorum]),
    }
    for name, (read, seeds) in texts.items():
        yield name, Target(seeds, partial(of_file, read), (FormatError, OSError))

    proto = (
        b'syntax = "proto3"; package a.b; import "google/protobuf/timestamp.proto"; // x\n'
        b"message M { /* y */ int32 a = 1; repeated M b = 2; map<string, E> c = 3; oneof o { bytes d = 4; "
        b"google.protobuf.Timestamp e = 5; } reserved 9; enum E { Z = 0; A = 1; } }"
    )
    yield (
        "proto",
        Target(
            [proto],
            lambda data: compile_schema(Schema("protobuf", data.decode("utf-8", "replace")), {}),
            (BadSchema,),
        ),
    )

    def avro(data: bytes) -> None:
        found = parse(Schema("avro", data.decode("utf-8", "replace")), {})
        for payload in (b"", b"\x02" * 40, b"\x01\xff" * 20):
            with suppress(ValueError):
                AvroReader(found).decode(payload)
        AvroColumn(found)

    fields: list[Any] = [
        {"name": "a", "type": ["null", "string"], "default": None, "aliases": ["b"]},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "A"}},
        {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "F"}}},
    ]
    schema = json.dumps({"type": "record", "name": "R", "namespace": "n", "fields": fields}).encode()
    yield "avro", Target([schema, b'"int"', b"string"], avro, (BadSchema,))
    yield "json", Target([schema, b"[1.5, -2e3]", b'{"a":"\\u00e9"}'], json_line, (ValueError,))
    answer = json.dumps(
        {
            "subject": "s",
            "id": 7,
            "schema": '"int"',
            "references": [{"name": "a", "subject": "b", "version": 1}],
        }
    ).encode()
    yield "registry", Target([answer], lambda data: schema_of_answer(data, "s", None), (BadSchema,))

    def topic(data: bytes) -> None:
        import kodec

        made = folder / "_schemas-0"
        made.mkdir(exist_ok=True)
        key, _, value = data.partition(b"\n")
        records = [kodec.Record(offset=0, key=key, value=value)]
        (made / f"{0:020}.log").write_bytes(kodec.encode(records))
        SchemaTopic(kodec.PartitionLog(made))

    key = b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}'
    yield (
        "schema topic",
        Target([key + b"\n" + answer, b'{"keytype":"CONFIG","subject":"s"}\n{"alias":"t"}'], topic, ()),
    )

    def editor(data: bytes) -> None:
        texts = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(each), each) for each in data.split(b"\n\n"))
        with suppress(ValueError):
            LanguageServer(io.BytesIO(texts), io.BytesIO()).run()

    uri = {"uri": "file:///tmp/x.ksy"}
    ksy = "meta: {id: x}\nseq: [{id: a, type: b}]\ntypes: {b: {seq: [{id: c, type: u1}]}}\n"
    messages = [
        {"id": 1, "method": "initialize", "params": {"rootUri": None}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {**uri, "text": ksy, "version": 1}}},
        *(
            {
                "id": 2,
                "method": f"textDocument/{name}",
                "params": {"textDocument": uri, "position": {"line": 1, "character": 20}},
            }
            for name in ("hover", "definition", "completion", "references")
        ),
    ]
    yield "language server", Target(["\n\n".join(map(json.dumps, messages)).encode()], editor, ())

    definition = json.dumps(
        {
            "apiKey": 1,
            "type": "request",
            "name": "XRequest",
            "validVersions": "0-2",
            "flexibleVersions": "2+",
            "fields": [
                {
                    "name": "A",
                    "type": "[]B",
                    "versions": "0+",
                    "fields": [{"name": "C", "type": "int32", "versions": "1+"}],
                }
            ],
        }
    ).encode()

    def jar(data: bytes) -> object:
        with zipfile.ZipFile(folder / "x.jar", "w") as archive:
            archive.writestr("common/message/XRequest.json", data)
        return read_definitions(folder / "x.jar")

    yield "definition", Target([definition], jar, (BadDefinition,))
    jar(definition)
    whole = (folder / "x.jar").read_bytes()

    def damaged(data: bytes) -> object:
        (folder / "x.jar").write_bytes(data)
        return read_definitions(folder / "x.jar")

    yield "jar", Target([whole], damaged, (BadDefinition, OSError, zipfile.BadZipFile))
    vectors = (ROOT / "tests/data/samples").parent
    sample = json.dumps(
        {
            "vectors_version": VERSION,
            "vectors": [
                {
                    "id": "a",
                    "type": "t",
                    "tests": "x",
                    "must": "accept",
                    "origin": {"kind": "made"},
                    "bytes": "00",
                    "value": {"a": 1},
                }
            ],
        }
    ).encode()
    assert vectors.is_dir()

    def suite(data: bytes) -> object:
        (folder / "vectors").mkdir(exist_ok=True)
        (folder / "vectors" / "x.vectors.json").write_bytes(data)
        return from_folder(folder / "vectors")

    yield "vectors", Target([sample], suite, (ValueError,))
    testee = Testee.__new__(Testee)
    testee._number = 1
    yield "testee", Target([b'{"id": 1, "bytes": "00"}'], testee._answer, (Failed,))
    kit = json.dumps(
        {"kit_version": 1, "format_version": "1", "files": {"schemas/x.ksy": {"sha256": "00"}}}
    ).encode()

    def handoff(data: bytes) -> object:
        (folder / "MANIFEST.json").write_bytes(data)
        return manifest_of(folder, folder)

    yield "kit", Target([kit], handoff, (ValueError,))


def tried(
    target: Target, chance: random.Random, until: Callable[[int], bool]
) -> tuple[int, int, bytes | None]:
    """How many texts were read and refused; and the first that raised something else, or None."""
    read = refused = 0
    while not until(read + refused):
        data = changed(chance, target.seeds)
        try:
            target.read(data)
            read += 1
        except target.errors:
            refused += 1
        except Exception:
            return read, refused, data
    return read, refused, None


def _late(end: float, most: int, count: int) -> bool:
    return count >= most or time.monotonic() > end


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--count", type=int, default=1 << 60, help="at most this many texts of each target")
    parser.add_argument("target", nargs="*")
    given, failed = parser.parse_args(), 0
    seed, most = given.seed, given.count
    if seed is None and os.environ.get("CI"):
        # the same texts each time: what fails is the commit's
        seed, most = 1, min(most, IN_CI)
    elif seed is None:
        seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kodec-fuzz-") as folder:
        found = [each for each in targets(Path(folder)) if not given.target or each[0] in given.target]
        for name, target in found:
            end = time.monotonic() + given.seconds / len(found)
            counts = tried(target, random.Random(f"{name}{seed}"), partial(_late, end, most))
            print(f"{name}: {counts[0]} read, {counts[1]} refused", flush=True)
            if counts[2] is not None:
                failed = 1
                print(f"{name}: {counts[2]!r}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
