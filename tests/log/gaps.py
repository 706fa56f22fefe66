"""Logs in which offsets are in no segment: each cause that leaves such bytes, and which of them are lost.

The table is the same for all readers: `verify` and `records` (tests/log/directories/test_gaps.py),
the Spark source in Python and `export` (tests/pipeline/test_gaps.py), the one in Java
(tests/java/test_gaps.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import kodec

OWNER = "topic-0"
START = 1_700_000_000_000
Lost = tuple[tuple[int, int], ...]


class Cause(NamedTuple):
    """What happened to a log, and the offsets (first, last) that are lost of it.

    `damaged`: batches of it are damaged too, which readers report before they come to the gap.
    """

    name: str
    make: Callable[[Path], None]
    lost: Lost
    damaged: bool = False


def batch(offsets: Iterable[int], *, magic: int = 2, compression: str = "none") -> bytes:
    """A batch, or messages, with these offsets; a batch of magic 2 reaches from the first to the last."""
    records = [
        kodec.Record(offset=each, key=b"k", value=b"%d" % each, timestamp=START if magic else -1)
        for each in offsets
    ]
    return kodec.encode(records, magic=magic, compression=compression)


def dense(folder: Path, *, magic: int = 2, compression: str = "none") -> None:
    """Five segments of ten records in two batches; the last is the active one. Never compacted."""
    for base in range(0, 50, 10):
        parts = (range(base, base + 5), range(base + 5, base + 10))
        segment(folder, base, *(batch(part, magic=magic, compression=compression) for part in parts))


def segment(folder: Path, base: int, *batches: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    log(folder, base).write_bytes(b"".join(batches))


def log(folder: Path, base: int) -> Path:
    return folder / f"{base:020d}.log"


def checkpoint(folder: Path, name: str, *entries: tuple[str, int]) -> None:
    lines = "".join(f"{owner} {offset}\n" for owner, offset in entries)
    (folder.parent / name).write_text(f"0\n{len(entries)}\n{lines}")


def made(*steps: Callable[[Path], object], **options: object) -> Callable[[Path], None]:
    """The dense log, and what then happens to it."""

    def make(folder: Path) -> None:
        dense(folder, **options)  # type: ignore[arg-type]
        for step in steps:
            step(folder)

    return make


def delete(*bases: int) -> Callable[[Path], None]:
    return lambda folder: [log(folder, base).unlink() for base in bases] and None


def empty(*bases: int) -> Callable[[Path], None]:
    return lambda folder: [log(folder, base).write_bytes(b"") for base in bases] and None


def replace(base: int, *batches: bytes) -> Callable[[Path], None]:
    return lambda folder: segment(folder, base, *batches)


def cleaned(offset: int, owner: str = "topic 0") -> Callable[[Path], None]:
    return lambda folder: checkpoint(folder, "cleaner-offset-checkpoint", (owner, offset))


def started(offset: int) -> Callable[[Path], None]:
    return lambda folder: checkpoint(folder, "log-start-offset-checkpoint", ("topic 0", offset))


def omitted(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "kodec-omitted-offsets").write_text(text)


def spoilt(folder: Path) -> None:
    (folder.parent / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 0 many\n")


def waits_for_deletion(base: int, data: bytes | None = None) -> Callable[[Path], None]:
    def rename(folder: Path) -> None:
        path = log(folder, base).rename(folder / f"{base:020d}.log.deleted")
        if data is not None:
            path.write_bytes(data)

    return rename


def flip(base: int, at: int, bit: int) -> Callable[[Path], None]:
    """Flip a bit of a log; `at` counts from the end where it is negative."""

    def change(folder: Path) -> None:
        data = bytearray(log(folder, base).read_bytes())
        data[at] ^= bit
        log(folder, base).write_bytes(data)

    return change


# of a segment of two batches with five records each, of equal size: where the second one starts
_SECOND = len(batch(range(30, 35)))
HOLES = batch([30, 31, 32, 34]), batch(range(35, 40))
JUMPS = batch([30, 31]), batch([33, 34]), batch(range(35, 40))

CAUSES = [
    # nothing shows that compaction was there
    Cause("nothing happened", made(), ()),
    Cause("a segment was deleted", made(delete(20)), ((20, 29),)),
    Cause("two neighbours were deleted", made(delete(10, 20)), ((10, 29),)),
    Cause("a power loss has emptied a closed segment", made(empty(10)), ((10, 19),)),
    Cause("one was emptied and another deleted", made(empty(10), delete(30)), ((10, 19), (30, 39))),
    Cause("the first one was emptied", made(empty(0)), ((0, 9),)),
    Cause("all closed ones were emptied", made(empty(0, 10, 20, 30)), ((0, 9), (10, 19), (20, 29), (30, 39))),
    Cause(
        "the last offset before the next segment is missing",
        made(replace(10, batch(range(10, 19)))),
        ((19, 19),),
    ),
    Cause("of v0, a segment was deleted", made(delete(20), magic=0), ((20, 29),)),
    Cause("of v1 in gzip, a segment was deleted", made(delete(20), magic=1, compression="gzip"), ((20, 29),)),
    Cause(
        "one message of v0 is behind the gap",
        made(delete(20), replace(30, batch(range(30, 35), magic=0), batch(range(35, 40)))),
        ((20, 29),),
    ),
    # what batches show
    Cause("compaction left a batch with holes behind the gap", made(delete(20), replace(30, *HOLES)), ()),
    Cause("compaction left a gap between batches after it", made(delete(20), replace(30, *JUMPS)), ()),
    Cause("the same in messages of v0", made(delete(20), replace(30, batch([30, 33, 39], magic=0))), ()),
    Cause(
        "compaction left nothing of the start of the next one", made(delete(20), replace(30, HOLES[1])), ()
    ),
    Cause(
        "the same where the segment has no other batch",
        made(delete(20), replace(30, batch(range(33, 40)))),
        (),
    ),
    Cause(
        "batches with holes before the gap: compaction did not come so far",
        made(replace(10, batch([10, 12]), batch([14, 19])), delete(20)),
        ((20, 29),),
    ),
    Cause(
        "batches with holes before the gap, and behind it",
        made(replace(10, batch([10, 12]), batch([14, 19])), delete(20), replace(30, *HOLES)),
        (),
    ),
    Cause(
        "compaction left all but the first offset of the next one",
        made(delete(20), replace(30, batch(range(31, 35)), batch(range(35, 40)))),
        (),
    ),
    Cause(
        "a batch between gaps whose checksum is wrong",
        made(delete(20), replace(30, *JUMPS), flip(30, len(JUMPS[0]) + 70, 0x01)),
        ((20, 29),),
        damaged=True,
    ),
    Cause(
        "a bit has changed the offset of a batch, which the next one contradicts",
        made(delete(20), flip(30, 7, 0x01)),
        ((20, 29),),
        damaged=True,
    ),
    Cause(
        "a batch with holes between two gaps: compaction came up to it",
        made(delete(10), replace(20, batch([20, 22, 29])), delete(30)),
        ((30, 39),),
    ),
    Cause(
        "a batch with holes whose checksum is wrong",
        made(delete(20), flip(30, 26, 0x08)),
        ((20, 29),),
        damaged=True,
    ),
    Cause(
        "a bit has changed the offset of the last batch of all",
        made(delete(20), flip(40, _SECOND + 5, 0x01)),
        ((20, 29),),
    ),
    Cause(
        "compaction left a batch with holes behind a gap of one offset",
        made(replace(10, batch(range(10, 19))), replace(30, *HOLES)),
        (),
    ),
    Cause(
        "a bit has changed the offset of the last batch of a segment to that of the next one",
        made(delete(20), replace(30, batch(range(30, 35)), batch(range(36, 41)))),
        ((20, 29),),
        damaged=True,
    ),
    # checkpoints
    Cause("compacted up to the end of the gap", made(delete(20), cleaned(30)), ()),
    Cause("compacted up to the last offset but one of the gap", made(delete(20), cleaned(29)), ((29, 29),)),
    Cause("compacted up to the start of the gap", made(delete(20), cleaned(20)), ((20, 29),)),
    Cause("compacted up to the middle of the gap", made(delete(20), cleaned(25)), ((25, 29),)),
    Cause("compacted up to a gap, and one behind it", made(delete(10, 30), cleaned(20)), ((30, 39),)),
    Cause("compacted up to the end of the log", made(delete(20), cleaned(50)), ()),
    Cause(
        "the checkpoint is of a longer log that was there before", made(delete(20), cleaned(51)), ((20, 29),)
    ),
    Cause("the checkpoint is of another partition", made(delete(20), cleaned(40, "topic 1")), ((20, 29),)),
    Cause("the checkpoint cannot be read", made(delete(20), spoilt), ((20, 29),)),
    Cause("compaction has emptied closed segments", made(empty(0, 10, 20), cleaned(40)), ()),
    Cause("one is emptied behind what is compacted", made(empty(0, 30), cleaned(20)), ((30, 39),)),
    # deleted at the start
    Cause("DeleteRecords came up to the end of the gap", made(delete(20), started(30)), ()),
    Cause("DeleteRecords came into the gap", made(delete(20), started(25)), ((25, 29),)),
    Cause("retention has deleted the oldest", made(delete(0, 10)), ()),
    # replaced a moment ago
    Cause("a cleaner has replaced what waits for its deletion", made(waits_for_deletion(20)), ()),
    Cause(
        "what waits for its deletion begins within the gap",
        made(
            replace(20, batch(range(25, 30))),
            lambda folder: log(folder, 20).rename(folder / f"{25:020d}.log.deleted"),
        ),
        ((20, 29),),
    ),
    Cause(
        "a cleaner has replaced the first one",
        made(
            waits_for_deletion(0),
            replace(0, batch(range(5))),
        ),
        (),
    ),
    Cause("what waits for its deletion is empty", made(waits_for_deletion(20, b"")), ((20, 29),)),
    Cause(
        "what waits for its deletion has a part",
        made(waits_for_deletion(20, batch(range(20, 25)))),
        ((25, 29),),
    ),
    # converted
    Cause("a conversion has left it out", made(delete(20), omitted("0\n1\n20 29\n")), ()),
    Cause("a conversion has left out a part", made(delete(20), omitted("0\n2\n3 4\n20 24\n")), ((25, 29),)),
    Cause("a conversion has left it out in parts", made(delete(20), omitted("0\n2\n20 20\n21 29\n")), ()),
    Cause("a conversion has left out another part", made(delete(20), omitted("0\n1\n21 29\n")), ((20, 29),)),
    Cause(
        "a conversion has left gaps inside segments, and one between them is lost",
        made(delete(20), replace(30, batch([30, 33, 39], magic=0)), omitted("0\n0\n")),
        ((20, 29),),
    ),
    Cause("what a conversion says cannot be read", made(delete(20), omitted("20 29\n")), ((20, 29),)),
    Cause(
        "the same, and a batch with holes would explain it",
        made(delete(20), replace(30, *HOLES), omitted("20 29\n")),
        ((20, 29),),
    ),
    # damage next to it
    Cause(
        "a batch is damaged before the gap, and a good one follows it",
        made(delete(20), flip(10, 70, 0x01)),
        ((20, 29),),
        damaged=True,
    ),
    Cause("the end of the segment before is damaged", made(delete(20), flip(10, -1, 0x01)), (), damaged=True),
]
