"""Asks every door about a log of newer magics, beside the same log in magic 2; prints what differs as JSON.

It runs in a copy of the tree whose schema was edited: `doors.py ADDED FLAG MAGICS`, see `test_next_format`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kodec
from kodec.cli.main import main
from kodec.log.writing.writer import LogWriter
from tests.log import wire
from tests.log.next_format.packing import GZIP, START, TRANSACTIONAL, Added, Packer

PROBLEMS: list[str] = []
NAME = "orders-0"


@contextlib.contextmanager
def door(name: str) -> Iterator[None]:
    """What goes wrong inside is a problem of the door."""
    try:
        yield
    except SystemExit as error:
        PROBLEMS.append(f"{name}: exit {error.code}")
    except Exception:
        PROBLEMS.append(f"{name}: {traceback.format_exc()[-1500:]}")


ASKED: list[str] = []


def same(name: str, found: object, wanted: object) -> None:
    ASKED.append(name)
    if found != wanted:
        PROBLEMS.append(f"{name}: have {str(found)[:700]}, need {str(wanted)[:700]}")


def run(*words: object) -> tuple[int, str, str]:
    """The exit code of a command, its output and its messages."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def batches_of(packer: Packer, magics: list[int]) -> list[bytes]:
    """A log with plain, compressed, transactional, sparse and idempotent batches, each in the next magic."""
    turn = iter(magics * 20)
    old = [(b"key-%d" % number, b"value-%d" % number) for number in range(4)]
    made = [
        wire.message(0, *old[0], magic=0),
        wire.message(1, *old[1], magic=1, time=START),
        wire.wrapper(3, b"".join(wire.message(n, *old[2 + n], time=START + n) for n in range(2)), time=START),
    ]
    offset = 4

    def add(count: int, **more: Any) -> None:
        nonlocal offset
        records = [
            (b"key-%d" % ((offset + n) % 7), None if (offset + n) % 11 == 10 else b"value-%d" % (offset + n))
            for n in range(count)
        ]
        made.append(packer.batch(next(turn), offset, records, **more))
        offset += max(more.get("deltas") or [count - 1]) + 1

    for epoch in range(3):
        add(4, epoch=epoch)
        add(5, codec=GZIP, epoch=epoch)
        add(3, producer=(7, 0, 3 * epoch), flags=TRANSACTIONAL, epoch=epoch)
        made.append(packer.marker(next(turn), offset, 7, commit=epoch != 1, epoch=epoch))
        offset += 1
        add(2, deltas=[0, 3], epoch=epoch)
        add(1, producer=(9, 2, epoch), epoch=epoch)
    add(4, epoch=2)
    return made


def whole(folder: Path) -> bytes:
    """The bytes of a log."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def stored(folder: Path) -> list[Any]:
    """The batches of a log."""
    return list(kodec.read_batches(whole(folder)))


def log_of(root: Path, batches: list[bytes], closed: int = 15) -> Path:
    """A log directory: two segments, the first one with `closed` batches."""
    folder = root / NAME
    folder.mkdir(parents=True)
    for part in (batches[:closed], batches[closed:]):
        base = int.from_bytes(part[0][:8], "big")
        (folder / f"{base:020d}.log").write_bytes(b"".join(part))
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    (folder / "leader-epoch-checkpoint").write_text("0\n3\n0 4\n1 22\n2 40\n")
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    code, _, err = run("reindex", folder, "--apply")
    assert code == 0, err
    return root


def facts(batch: Any) -> tuple[Any, ...]:
    """What batches of both logs have in common."""
    return (
        *(batch.base_offset, batch.last_offset, batch.count, batch.codec, batch.base_timestamp),
        *(batch.max_timestamp, batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch),
        *(batch.base_sequence, batch.last_sequence, batch.is_transactional, batch.is_control, batch.crc_ok),
        *(batch.delete_horizon, str(batch.timestamp_type)),
    )


def read_doors(new: Path, old: Path, packer: Packer, magics: list[int]) -> None:
    for control in (False, True):
        with door("read_records"):
            same(
                "read_records",
                list(kodec.read_records(new / NAME, control=control)),
                list(kodec.read_records(old / NAME, control=control)),
            )
    for isolation in ("read_committed", "read_uncommitted"):
        with door(isolation):
            logs = [kodec.PartitionLog(root / NAME) for root in (new, old)]
            rows = [list(log.records(isolation=isolation)) for log in logs]
            same(isolation, *rows)
    with door("read_batches"):
        pairs = [stored(root / NAME) for root in (new, old)]
        same("read_batches", *([facts(each) for each in part] for part in pairs))
        for batch in pairs[0]:
            wanted = {
                each.name: packer.values[each.name] if batch.magic in each.magics else None
                for each in packer.added
            }
            same(
                f"extra of magic {batch.magic}",
                {name: batch.extra[name] for name in wanted},
                wanted,
            )
            if packer.flag:
                same(f"flag of magic {batch.magic}", bool(batch.extra["is_mirrored"]), batch.magic > 2)
        same("magics", {each.magic for each in pairs[0]}, {0, 1, *magics})
    with door("read_table"):
        same("read_table", *(kodec.read_table(root / NAME).to_pylist() for root in (new, old)))
        same("count_rows", *(kodec.count_rows(root / NAME) for root in (new, old)))
    with door("read_batch_table"):
        tables = [kodec.read_batch_table(whole(root / NAME)).to_pylist() for root in (new, old)]
        own = {"position", "size", "magic", "crc", "is_mirrored", *(each.name for each in packer.added)}
        same(
            "batches", *([{k: v for k, v in row.items() if k not in own} for row in part] for part in tables)
        )
        for each in packer.added:
            same(
                f"column {each.name}",
                [row[each.name] for row in tables[0]],
                [packer.values[each.name] if row["magic"] in each.magics else None for row in tables[0]],
            )
        if packer.flag:
            flags = [bool(row["is_mirrored"]) for row in tables[0]]
            same("column", flags, [row["magic"] > 2 for row in tables[0]])
    for verb, *words in (
        ("find", "--count"),
        ("find", "--count", "--key", "key-3"),
        ("find", "--json", "--isolation", "read_committed"),
        ("find", "--json", "--last", "3"),
        ("find", "--json", "--producer", "9"),
        ("epochs", "--json"),
        ("producers", "--json"),
        ("transactions", "--json"),
    ):
        with door(verb):
            results = [run(verb, root, *words) for root in (new, old)]
            texts = [
                (code, out.replace(str(root), "ROOT"), err.replace(str(root), "ROOT"))
                for (code, out, err), root in zip(results, (new, old), strict=True)
            ]
            same(f"{verb} {' '.join(words)}", *texts)
    end = kodec.PartitionLog(old / NAME).end_offset
    with door("find --offset"):
        wanted = {record.offset for record in kodec.read_records(old / NAME)}
        for offset in range(0, end, 3):
            code, out, _ = run("find", new, "--json", "--offset", offset)
            found = [json.loads(line)["offset"] for line in out.splitlines()]
            same(f"find --offset {offset}", (code, found), (0, [offset]) if offset in wanted else (1, []))
    with door("segments"):
        for at in range(end):
            log = kodec.PartitionLog(new / NAME)
            same(f"from {at}", next(log.records(at)), next(kodec.PartitionLog(old / NAME).records(at)))
    with door("dump"):
        code, out, err = run("dump", new / NAME, "--batches", "--json")
        lines = [json.loads(line) for line in out.splitlines()]
        same("dump", (code, err), (0, ""))
        for each in packer.added:
            found = [line for line in lines if line["magic"] in each.magics]
            name = "".join(part.title() if n else part for n, part in enumerate(each.name.split("_")))
            same(f"dump {name}", {line.get(name) for line in found}, {packer.values[each.name]})
    for root in (new, old):
        with door("verify"):
            code, out, err = run("verify", root)
            same("verify", (code, "problem" in out.replace("no problem", "")), (0, False))
            if code:
                PROBLEMS.append(out[-700:] + err[-700:])
        with door("ls"):
            same("ls", run("ls", root)[0], 0)
            same("inventory", run("inventory", root)[0], 0)
            same("report", run("report", root, "--to", root.parent / "r.html", "--overwrite")[0], 0)
            same("explain", run("explain", next((root / NAME).glob("*.log")))[0], 0)
    with door("export"):
        for root in (new, old):
            code, _, err = run(
                "export",
                root,
                "--to",
                root.parent / f"x-{root.name}",
                "--format",
                "jsonl",
                "--engine",
                "local",
            )
            same("export", (code, err[-300:] if code else ""), (0, ""))
        rows = [
            sorted(
                line
                for path in (root.parent / f"x-{root.name}").rglob("*.jsonl*")
                for line in path.read_text().splitlines()
            )
            for root in (new, old)
        ]
        same("export", *rows)


def extras(path: Path) -> dict[int, tuple[int, dict[str, Any], bool, int, bytes]]:
    """By base offset: magic, what kodec gives no meaning, transaction, producer."""
    return {
        batch.base_offset: (batch.magic, dict(batch.extra), batch.is_transactional, batch.producer_id, b"")
        for batch in stored(path)
    }


def write_doors(new: Path, old: Path, packer: Packer, root: Path, magics: list[int]) -> None:
    newest = max(magics)
    data = whole(new / NAME)
    with door("writer"):
        (root / "w").mkdir()
        (root / "w2").mkdir()
        with LogWriter(root / "w" / NAME) as writer:
            for batch in stored(new / NAME):
                writer.append(batch.data, keep_offsets=True)
        same("writer", whole(root / "w" / NAME) == data, True)
        with LogWriter(root / "w2" / NAME, leader_epoch=5) as writer:
            for batch in stored(new / NAME):
                writer.append(batch)
        found = stored(root / "w2" / NAME)
        given = stored(new / NAME)
        same("appended", [dict(each.extra) for each in found], [dict(each.extra) for each in given])
        same("epochs", {each.partition_leader_epoch for each in found if each.is_list}, {5})
    with door("edit and load"):
        code, lines, err = run("dump", new / NAME, "--edit-format")
        same("dump --edit-format", (code, err), (0, ""))
        (root / "lines").write_text(lines)
        code, _, err = run("load", root / "lines", "--to", root / "loaded", "--apply")
        same("load", (code, err[-500:] if code else ""), (0, ""))
        same("load", b"".join(map(whole, (root / "loaded").iterdir())) == data, True)
    for verb, words in (("compact", ("--apply",)), ("redact", ("--key", "key-3", "--apply"))):
        with door(verb):
            copy, plain = root / verb / "new", root / verb / "old"
            shutil.copytree(new, copy)
            shutil.copytree(old, plain)
            results = [run(verb, each / NAME, *words) for each in (copy, plain)]
            same(verb, *(code for code, _, _ in results))
            same(
                f"records after {verb}",
                *(list(kodec.read_records(each / NAME, control=True)) for each in (copy, plain)),
            )
            before, after = extras(new / NAME), extras(copy / NAME)
            same(f"headers after {verb}", {k: v for k, v in before.items() if k in after}, after)
            same(f"verify after {verb}", run("verify", copy)[0], run("verify", plain)[0])
    with door("salvage"):
        code, _, err = run("salvage", new / NAME, "--to", root / "salvaged", "--apply")
        same("salvage", (code, err[-300:] if code else ""), (0, ""))
        same("salvage", whole(root / "salvaged" / NAME) == data, True)
    with door("recover"):
        copy = root / "torn"
        shutil.copytree(new, copy)
        last = sorted((copy / NAME).glob("*.log"))[-1]
        good = last.read_bytes()
        last.write_bytes(good + packer.batch(newest, 500, [(b"k", b"v")])[:-3])
        run("recover", copy, "--apply")
        same("recover", last.read_bytes() == good, True)
    with door("convert"):
        for magic in (2, 1):
            code, out, err = run(
                "convert", new / NAME, "--to", root / f"c{magic}", "--magic", magic, "--apply"
            )
            text = out + err
            if packer.added or packer.flag:
                wanted = magic == 1 or bool(packer.added)
                same(f"convert --magic {magic}: loss", "lose a field or flag" in text, wanted)
            found = stored(root / f"c{magic}" / NAME)
            same("converted", {each.magic for each in found}, {magic})
            if magic == 2:
                theirs = stored(old / NAME)
                same(
                    "converted",
                    [facts(each) for each in found if each.base_offset >= 4],
                    [facts(each) for each in theirs if each.is_list],
                )
        code, out, _ = run("convert", old / NAME, "--to", root / "up", "--magic", newest, "--apply")
        same("convert up", code, 0)
        same("convert up", {each.magic for each in stored(root / "up" / NAME)}, {newest})
        same(
            "convert up",
            list(kodec.read_records(root / "up" / NAME, control=True)),
            list(kodec.read_records(root / "c2" / NAME, control=True)),
        )
    with door("encode"):
        records = list(kodec.read_records(root / "c2" / NAME))
        extra = {each.name: packer.values[each.name] for each in packer.added if newest in each.magics}
        for codec in ("none", "gzip", "zstd"):
            made = kodec.encode(
                records,
                magic=newest,
                compression=codec,
                extra=extra,
                producer_id=3,
                producer_epoch=1,
                base_sequence=0,
            )
            (batch,) = kodec.read_batches(made)
            same("encode", (batch.magic, batch.records()), (newest, records))
            same("encode", {name: batch.extra[name] for name in extra}, extra)
            table = kodec.read_table(root / "c2" / NAME)
            made_too = kodec.encode_table(
                table,
                magic=newest,
                compression=codec,
                extra=extra,
                producer_id=3,
                producer_epoch=1,
                base_sequence=0,
            )
            same(f"encode_table {codec}", made_too == made, True)
            changed = batch.records()
            changed[0].value = b"another"
            (again,) = kodec.read_batches(kodec.encode(changed, like=batch))
            same("encode like", again.records(), changed)
            same("encode like", (again.extra, facts(again)), (batch.extra, facts(batch)))
    with door("backup"):
        code, _, err = run("backup", new, "--to", root / "backup")
        same("backup", (code, err[-300:] if code else ""), (0, ""))


def unknown_doors(old: Path, packer: Packer, root: Path, magics: list[int]) -> None:
    """A magic that nobody knows is named by all."""
    strange = root / "strange"
    shutil.copytree(old, strange)
    path = sorted((strange / NAME).glob("*.log"))[-1]
    data = bytearray(path.read_bytes())
    size = 12 + struct.unpack_from(">i", data, 8)[0]
    data[size + 16] = max(magics) + 1
    path.write_bytes(data)
    for verb, *words in (
        ("ls",),
        ("dump",),
        ("find", "--count"),
        ("find", "--offset", "41"),
        ("verify",),
        ("epochs",),
        ("producers",),
        ("inventory",),
        ("compact",),
        ("convert", "--to", root / "u1", "--magic", "2"),
        ("salvage", "--to", root / "u2"),
        ("export", "--to", root / "u3", "--engine", "local"),
        ("backup", "--to", root / "u4"),
    ):
        with door(f"unknown magic: {verb}"):
            place = strange / NAME if verb in ("dump", "convert", "salvage", "compact") else strange
            code, out, err = run(verb, place, *words)
            told = "magic" in out + err or "unknown message format" in out + err
            same(f"unknown magic: {verb}: exit code above 0, and it is named", (code > 0, told), (True, True))
            if not told or not code:
                PROBLEMS.append((out + err)[-500:])


def ask(root: Path, added: list[Added], flag: int, magics: list[int]) -> None:
    values = {each.name: number for number, each in enumerate(added, 3)}
    packer, plain = Packer(added, flag, values), Packer([])
    new = log_of(root / "new", batches_of(packer, magics))
    old = log_of(root / "old", batches_of(plain, [2]))
    read_doors(new, old, packer, magics)
    write_doors(new, old, packer, root, magics)
    unknown_doors(old, packer, root, magics)


if __name__ == "__main__":
    given, flag_bit, known = (json.loads(word) for word in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        ask(Path(folder), [Added(*each[:3], tuple(each[3])) for each in given], flag_bit, known)
    print(json.dumps({"backend": kodec.backend(), "asked": len(ASKED), "problems": PROBLEMS}))
    os._exit(0)
