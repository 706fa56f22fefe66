"""Damaged logs, what is good in them, and what a broker serves of what `kodec salvage` has made of them."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import repair_judges as judges
from kafka_lab import LEGACY_CODECS, Clients, Unusable
from kafka_reads_ours import Differs
from repair_writer import Read

import kodec
from kodec.log.files.listing import list_partition
from kodec.log.omissions import Omissions

SMALL = ("internal.segment.bytes=2048", "index.interval.bytes=256")


class Hole(NamedTuple):
    """Bytes of a segment that were harmed, `end` not included."""

    log: Path
    start: int
    end: int


class Whole(NamedTuple):
    """A batch of a log before its damage: where it is, its offsets, and whether it ends a transaction."""

    log: Path
    start: int
    end: int
    first: int
    last: int
    is_control: bool


Harm = Callable[[list[Whole]], list[Hole]]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A topic whose log is damaged by `harm`, which returns what it hit.

    `magic` and `codec` are those of a line that keeps old formats; a topic of the newest one has all codecs,
    an idempotent producer and transactions. `ends` says that the ends of transactions are among what is lost.
    """

    name: str
    what: str
    harm: Harm
    magic: int = 2
    codec: str = ""
    ends: bool = False


# -- harm ---------------------------------------------------------------------------------------------


def _write(log: Path, at: int, data: bytes) -> Hole:
    with log.open("r+b") as file:
        file.seek(at)
        file.write(data)
    return Hole(log, at, at + len(data))


def _plain(batches: list[Whole], part: float) -> Whole:
    """A batch with records, so far in the log."""
    data = [each for each in batches if not each.is_control]
    return data[int(len(data) * part)]


def _flip(batches: list[Whole]) -> list[Hole]:
    found = _plain(batches, 0.4)
    at = found.end - 3
    return [_write(found.log, at, bytes([found.log.read_bytes()[at] ^ 4]))]


def _first(batches: list[Whole]) -> list[Hole]:
    found = batches[0]
    return [_write(found.log, found.start, bytes(found.end - found.start))]


def _noise(batches: list[Whole]) -> list[Hole]:
    """Nonsense over three batches, from the middle of the first of them."""
    at = batches.index(_plain(batches, 0.5))
    while any(each.is_control or each.log != batches[at].log for each in batches[at : at + 3]):
        at += 1
    start = (batches[at].start + batches[at].end) // 2
    return [_write(batches[at].log, start, random.Random(7).randbytes(batches[at + 2].end - 5 - start))]


def _zeros(batches: list[Whole]) -> list[Hole]:
    """The header of a batch, its length too: the next one is to be found by what it is."""
    found = _plain(batches, 0.6)
    return [_write(found.log, found.start, bytes(17))]


def _cut_out(batches: list[Whole]) -> list[Hole]:
    """A batch and half of the next one are not there any more: what follows has moved."""
    at = batches.index(_plain(batches, 0.3))
    while any(each.is_control or each.log != batches[at].log for each in batches[at : at + 3]):
        at += 1
    start, end = batches[at].start, (batches[at + 1].start + batches[at + 1].end) // 2
    log = batches[at].log
    data = log.read_bytes()
    log.write_bytes(data[:start] + data[end:])
    return [Hole(log, start, end)]


def _lost_segment(batches: list[Whole]) -> list[Hole]:
    log = sorted({each.log for each in batches})[2]
    return [Hole(log, 0, _gone(log))]


def _gone(log: Path) -> int:
    size = log.stat().st_size
    for path in log.parent.glob(f"{log.stem}.*"):
        path.unlink()
    return size


def _torn(batches: list[Whole]) -> list[Hole]:
    found = batches[-1]
    with found.log.open("r+b") as file:
        file.truncate(found.end - 7)
    return [Hole(found.log, found.end - 7, found.end)]


def _lost_end(batches: list[Whole]) -> list[Hole]:
    found = [each for each in batches if each.is_control][-1]
    return [_write(found.log, found.start + 20, b"\xff\xff")]


def _several(batches: list[Whole]) -> list[Hole]:
    return [*_flip(batches), *_first(batches), *_zeros(batches)]


CASES = (
    Salvaged("f-flip", "a bit flipped", _flip),
    Salvaged("f-first", "the first batch of the log is zeros", _first),
    Salvaged("f-noise", "noise over three batches", _noise),
    Salvaged("f-header", "zeros over the header of a batch", _zeros),
    Salvaged("f-cut", "one and a half batches cut out, so later bytes have moved", _cut_out),
    Salvaged("f-segment", "a segment in the middle is missing", _lost_segment, ends=True),
    Salvaged("f-torn", "the end of the last batch is missing", _torn, ends=True),
    Salvaged("f-marker", "the end of the last transaction is lost", _lost_end, ends=True),
    Salvaged("f-several", "damage at three places in several segments", _several),
)
# For a line that keeps these formats.
OLD = tuple(
    Salvaged(
        f"f-v{magic}-{codec}", f"messages v{magic} in {codec}, damage at three places", _several, magic, codec
    )
    for magic in (0, 1)
    for codec in LEGACY_CODECS
)


# -- what is to be served -----------------------------------------------------------------------------


def _batches(folder: Path) -> list[Whole]:
    """All batches, in the order of the log; an old message that is not compressed is one."""
    found = []
    for segment in list_partition(folder).segments:
        for each in kodec.read_batches(segment.log):
            # A wrapper says its last offset only.
            first = min(record.offset for record in each.records(control=True))
            end = each.position + each.size
            found.append(Whole(segment.log, each.position, end, first, each.last_offset, each.is_control))
    return found


def damage(case: Salvaged, folder: Path) -> set[int]:
    """Damage a log. Returns the offsets that are lost by that, and no others."""
    batches = _batches(folder)
    holes = case.harm(batches)
    hit = [
        each
        for each in batches
        if any(each.log == hole.log and each.start < hole.end and hole.start < each.end for hole in holes)
    ]
    if any(each.is_control for each in hit) != case.ends:
        raise Unusable(f"{case.name}: the damage is not where it is to be")
    return {offset for each in hit for offset in range(each.first, each.last + 1)}


def salvage(case: Salvaged, source: Path, root: Path, lost: set[int]) -> list[int]:
    """Have `kodec salvage` write the log of `source` into `root`, and hold its report against what is lost.

    Returns the end of the new log, and the first and last offset of each of its gaps. Raises: Differs.
    """
    from repair_checks import kodec_command

    before = {path.name: path.read_bytes() for path in source.iterdir()}
    printed = kodec_command("salvage", source, "--to", root, "--apply", "--json", left_out=True)
    # a second line lists what is left out
    told = json.loads(printed.splitlines()[0])
    if {path.name: path.read_bytes() for path in source.iterdir()} != before:
        raise Differs("the source was changed")
    folder = root / source.name
    kept = {offset for each in _batches(folder) for offset in range(each.first, each.last + 1)}
    if kept & lost:
        raise Differs(f"kept, though it is damaged: {sorted(kept & lost)[:5]}")
    end = max(kept) + 1
    said: set[int] = set()
    for each in told["missing"]:
        if each["firstOffset"] is not None:
            last = each["lastOffset"]
            said.update(range(each["firstOffset"], max(lost) + 1 if last is None else last + 1))
    # Of a segment that is missing nothing is reported about its bytes: `verify` tells the gap.
    if case.harm is not _lost_segment and not lost <= said:
        raise Differs(f"not reported: {sorted(lost - said)[:5]}")
    if said & kept:
        raise Differs(f"reported, and kept: {sorted(said & kept)[:5]}")
    if told["endOffset"] != end:
        raise Differs(f"endOffset {told['endOffset']}, the log ends at {end}")
    edges = {offset for offset in lost if not {offset - 1, offset + 1} <= lost}
    return [end, *sorted(edges)]


def expected(
    before: dict[str, list[Read]], lost: set[int], folder: Path, *, ends: bool
) -> dict[str, list[Read]]:
    """What a consumer is to read in each isolation level, by what it read before the damage.

    Where the end of a transaction is lost, what is decided is another matter: kodec shows what it has to be.
    """
    rows = {level: [row for row in before[level] if row.offset not in lost] for level in judges.LEVELS}
    if ends:
        with kodec.PartitionLog(folder) as log:
            decided = {
                record.offset for record in log.records(isolation="read_committed", omissions=Omissions())
            }
        rows["read_committed"] = [row for row in rows["read_uncommitted"] if row.offset in decided]
    return rows


def fetch_at_gaps(clients: Clients, topic: str, edges: list[int], rows: list[Read]) -> None:
    """See that a consumer which asks for an offset in a gap gets the next one there is. Raises: Differs."""
    end, *asked = edges
    offsets = [row.offset for row in rows]
    for offset in asked:
        if offset >= end:
            continue
        need = min((each for each in offsets if each >= offset), default=end)
        have = int(clients.do("first", topic, offset))
        if have != need:
            raise Differs(f"asked for offset {offset}, a consumer got {have} instead of {need}")


# -- topics -------------------------------------------------------------------------------------------


def create_old(clients: Clients, versions: dict[int, str | None]) -> None:
    for case in OLD:
        version = f"message.format.version={versions[case.magic]}"
        clients.do("topic", case.name, 1, "segment.bytes=2048", "index.interval.bytes=256", version)
        clients.do("open", case.name, case.codec, "plain")
        for batch in range(30):
            for number in range(4):
                text = f"{case.name} value {number} of batch {batch} {'and some more ' * (number + 3)}"
                at = 1_700_000_000_000 + batch * 10 + number
                clients.do("send", case.name, case.name, 0, at, f"k{number}".encode(), text.encode())
            clients.do("flush", case.name)
        clients.do("close", case.name)


def aside(folder: Path, root: Path) -> Path:
    """Put a topic-partition's folder out of a log directory, into another one."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.move(folder, root / folder.name)
    return root / folder.name
