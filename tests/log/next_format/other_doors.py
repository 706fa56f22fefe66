"""Asks doors about a log whose indexes have two more columns, and whose producer snapshots a version 2.

It runs in a copy of the tree whose schemas were edited: `other_doors.py DEFAULT`, see `test_other_files`;
`DEFAULT` is the version of the snapshots that are written. Prints what differs as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import kodec
from kodec.log.remote.cut import cut_index
from kodec.log.remote.manifest import Piece
from kodec.log.writing.writer import LogWriter
from tests.log import wire
from tests.log.next_format.doors import (
    ASKED,
    NAME,
    PROBLEMS,
    batches_of,
    door,
    log_of,
    run,
    same,
    stored,
    whole,
)
from tests.log.next_format.packing import START, Packer

INDEXES = {"index": ">iqiH", "timeindex": ">qqiH", "txnindex": ">hqqqqqH"}
"""The entries: `checked`, by default 7, stands after the key; `marked`, by default 3, at the end."""
CHECKED = {"index": 1, "timeindex": 1, "txnindex": 2}
ENTRY = {1: ">qhiqiqiq", 2: ">qhqiqiqiq"}


def entries(folder: Path, kind: str) -> list[tuple[int, ...]]:
    """The entries of all indexes of a kind, by `struct`."""
    data = b"".join(path.read_bytes() for path in sorted(folder.glob(f"*.{kind}")))
    return list(struct.iter_unpack(INDEXES[kind], data))


def snapshot(version: int, rows: list[tuple[int, ...]], cluster: int = 0) -> bytes:
    """A producer snapshot, by `struct`."""
    rest = struct.pack(">i", len(rows)) + (struct.pack(">i", cluster) if version > 1 else b"")
    rest += b"".join(struct.pack(ENTRY[version], *row) for row in rows)
    return struct.pack(">hI", version, wire.crc32c(rest)) + rest


def unpacked(data: bytes) -> tuple[int, int | None, list[tuple[int, ...]]]:
    """The version, the cluster and the entries of a snapshot, by `struct`."""
    version, crc = struct.unpack_from(">hI", data)
    assert crc == wire.crc32c(data[6:])
    start = 10 if version == 1 else 14
    cluster = None if version == 1 else struct.unpack_from(">i", data, 10)[0]
    return version, cluster, sorted(struct.iter_unpack(ENTRY[version], data[start:]))


def index_doors(root: Path, batches: list[bytes]) -> None:
    folder = root / NAME
    with door("reindex"):
        same("reindex", run("reindex", folder, "--apply", "--index-interval-bytes", 0)[0], 0)
        for kind, at in CHECKED.items():
            found = entries(folder, kind)
            same(f"defaults of {kind}", {(row[at], row[-1]) for row in found}, {(7, 3)})
        starts = set()
        for path in folder.glob("*.log"):
            data, at = path.read_bytes(), 0
            while at < len(data):
                starts.add(at)
                at += 12 + struct.unpack_from(">i", data, at + 8)[0]
        found = entries(folder, "index")
        same("entries", len(found) > len(batches) - 4 and {row[2] for row in found} <= starts, True)
    with door("writer"):
        to = root.parent / "written" / NAME
        to.parent.mkdir()
        with LogWriter(to, config=kodec.LogConfig(index_interval_bytes=0)) as writer:
            for batch in stored(folder):
                writer.append(batch.data, keep_offsets=True)
        for kind, at in CHECKED.items():
            rows = entries(to, kind)
            same(f"writer: {kind}", {(row[at], row[-1]) for row in rows}, {(7, 3)})
    for change in (False, True):
        if change:
            # values that nobody here gives a meaning
            for kind, at in CHECKED.items():
                for path in folder.glob(f"*.{kind}"):
                    rows = [list(row) for row in struct.iter_unpack(INDEXES[kind], path.read_bytes())]
                    for row in rows:
                        row[at], row[-1] = -9, 8
                    path.write_bytes(b"".join(struct.pack(INDEXES[kind], *row) for row in rows))
        read_doors(folder)
    with door("cut_index"):
        log = sorted(folder.glob("*.log"))[0]
        for kind, at in CHECKED.items():
            data = log.with_suffix(f".{kind}").read_bytes()
            cut = cut_index(kind, data, 0, 8, 1 << 20, Piece(0, 1 << 20), (1 << 50, 12))
            rows = list(struct.iter_unpack(INDEXES[kind], cut))
            wanted = {(-9, 8), (7, 3)} if kind == "timeindex" else {(-9, 8)}
            same(f"cut {kind}", {(row[at], row[-1]) for row in rows}, wanted)
    with door("a wrong entry"):
        index = sorted(folder.glob("*.index"))[0]
        before = index.read_bytes()
        size = struct.calcsize(INDEXES["index"])
        row = list(struct.unpack_from(INDEXES["index"], before, 2 * size))
        row[2] += 1
        index.write_bytes(before[: 2 * size] + struct.pack(INDEXES["index"], *row) + before[3 * size :])
        code, out, _ = run("verify", root)
        same("wrong", (code, f"{index.name}: byte {2 * size}: position" in out or out), (1, True))
        index.write_bytes(before)


def read_doors(folder: Path) -> None:
    root = folder.parent
    records = list(kodec.read_records(folder))
    with door("verify"):
        code, out, err = run("verify", root)
        same("verify", (code, out[-500:] + err if code else ""), (0, ""))
    with door("find"):
        wanted = {record.offset for record in records}
        for offset in range(max(wanted) + 1):
            code, out, _ = run("find", root, "--json", "--offset", offset)
            found = [json.loads(line)["offset"] for line in out.splitlines()]
            same(f"find --offset {offset}", (code, found), (0, [offset]) if offset in wanted else (1, []))
        log = kodec.PartitionLog(folder)
        for time in range(START, START + 60, 7):
            same(
                f"time {time}",
                log.find_timestamp(time),
                kodec.PartitionLog(folder).find_timestamp(time, use_index=False),
            )
        same(
            "transactions",
            list(log.records(isolation="read_committed")),
            list(kodec.PartitionLog(folder).records(isolation="read_committed", use_index=False)),
        )
    with door("dump and explain"):
        for kind, at in CHECKED.items():
            for path in sorted(folder.glob(f"*.{kind}")):
                code, out, err = run("dump", path, "--json")
                same(f"dump {kind}", (code, err), (0, ""))
                rows = [json.loads(line) for line in out.splitlines()]
                packed = list(struct.iter_unpack(INDEXES[kind], path.read_bytes()))
                same(
                    f"dump {kind}",
                    [(row["checked"], row["marked"]) for row in rows],
                    [(row[at], row[-1]) for row in packed],
                )
                same(f"explain {kind}", run("explain", path)[0], 0)
    for verb, *words in (
        ("compact", "--apply"),
        ("redact", "--key", "key-3", "--roll", "--apply"),
        ("recover", "--from-start", "--apply"),
    ):
        with door(verb), tempfile.TemporaryDirectory() as place:
            copy = Path(shutil.copytree(root, Path(place) / "logs"))
            target = copy if verb == "recover" else copy / NAME
            code, _, err = run(verb, target, *words)
            same(verb, (code, err[-300:] if code else ""), (0, ""))
            code, out, _ = run("verify", copy)
            same(f"verify after {verb}", (code, out[-500:] if code else ""), (0, ""))
    for verb, *words in (("convert", "--magic", 2, "--apply"), ("salvage", "--apply")):
        with door(verb), tempfile.TemporaryDirectory() as place:
            code, _, err = run(verb, folder, "--to", Path(place) / "to", *words)
            same(verb, (code, err[-300:] if code else ""), (0, ""))
    with door("backup"), tempfile.TemporaryDirectory() as place:
        code, _, err = run("backup", root, "--to", Path(place) / "to")
        same("backup", (code, err[-300:] if code else ""), (0, ""))


def snapshot_doors(root: Path, default: int) -> None:
    folder = root / NAME
    log = kodec.PartitionLog(folder)
    end = log.end_offset
    path = folder / f"{end:020d}.snapshot"
    with door("writer of snapshots"):
        with LogWriter(folder) as writer:
            writer.append([kodec.Record(value=b"last")])
        end += 1
        path = folder / f"{end:020d}.snapshot"
        version, cluster, rows = unpacked(path.read_bytes())
        same("written", (version, cluster), (default, 0 if default == 2 else None))
        same("producers", [row[0] for row in rows], [7, 9])
    # the entries by version: `checked` comes third in version 2
    plain = [(*row[:2], *row[-6:]) for row in rows]
    for version in (1, 2):
        mine = [(*row[:2], *([40 + n] if version == 2 else []), *row[2:]) for n, row in enumerate(plain)]
        path.write_bytes(snapshot(version, mine, 5))
        with door(f"read version {version}"):
            code, out, err = run("producers", root, "--json")
            found = [json.loads(line) for line in out.splitlines()]
            same("producers", (code, err, [each["producerId"] for each in found]), (0, "", [7, 9]))
            code, out, err = run("dump", path, "--json")
            same("dump", (code, err, len(out.splitlines())), (0, "", 2))
            if version == 2:
                same("dump", [json.loads(line)["checked"] for line in out.splitlines()], [40, 41])
            code, out, err = run("verify", root)
            same("verify", (code, out[-400:] if code else ""), (0, ""))
            same("explain", run("explain", path)[0], 0)
        with door(f"verify version {version}"):
            # the state is that of the second entry, whose sequence is wrong
            wrong = [list(row) for row in mine]
            wrong[1][-6] += 1
            path.write_bytes(snapshot(version, [tuple(row) for row in wrong], 5))
            code, out, _ = run("verify", root, "--json")
            at = (10 if version == 1 else 14) + struct.calcsize(ENTRY[version])
            lines: list[Any] = [json.loads(line) for line in out.splitlines()]
            found = [each for each in lines if each.get("file", "").endswith(".snapshot")]
            same("position", (code, [each["byte"] for each in found]), (1, [at]))
        newest = max(version, default)
        checked = [40, 41] if version == 2 else [7, 7]
        wanted = [(*row[:2], *([checked[n]] if newest == 2 else []), *row[2:]) for n, row in enumerate(plain)]
        kept = (newest, (5 if version == 2 else 0) if newest == 2 else None, wanted)
        with door(f"recover version {version}"):
            # the snapshot is rewritten: a field that batches tell is wrong, the others stay
            code, _, err = run("recover", root, "--from-start", "--apply")
            same("recover", (code, err[-300:] if code else ""), (0, ""))
            same("recovered", unpacked(path.read_bytes()), kept)
        with door(f"append to version {version}"), tempfile.TemporaryDirectory() as place:
            # a later snapshot has what the one has with which the writer began
            path.write_bytes(snapshot(version, mine, 5))
            copy = Path(shutil.copytree(folder, Path(place) / NAME))
            with LogWriter(copy) as writer:
                writer.append([kodec.Record(value=b"more")])
            later = copy / f"{end + 1:020d}.snapshot"
            same("appended", unpacked(later.read_bytes()), kept)


def ask(root: Path, default: int) -> None:
    batches = batches_of(Packer([]), [2])
    index_doors(log_of(root / "new", batches), batches)
    snapshot_doors(log_of(root / "snapshots", batches), default)
    same("read", whole(root / "new" / NAME) == b"".join(batches), True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        ask(Path(place), int(sys.argv[1]))
    print(json.dumps({"backend": kodec.backend(), "asked": len(ASKED), "problems": PROBLEMS}))
    os._exit(0)
