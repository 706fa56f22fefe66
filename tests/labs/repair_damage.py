"""What a crash leaves of a broker's log: blocks lost, nonsense appended, wrong files next to it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kafka_lab import CODECS, Clients

import kodec
from kodec.log.files.listing import SegmentFiles, list_partition

PAGE = 512
HIDES = "a broker keeps it, reads its offset as the end of the log, and hides the records above them"


@dataclass(frozen=True, slots=True)
class Damage:
    """A topic that is damaged, and how.

    `forgotten`: the recovery point is lost too, so that all segments are read. `fatal`: a broker does not
    start with it. `hides` shows what a broker makes of it that does not see it. In both cases all that was
    acknowledged is to be read.
    """

    name: str
    what: str
    do: Callable[[Path], None]
    forgotten: bool = False
    fatal: bool = False
    hides: str = ""


def _segments(folder: Path) -> list[SegmentFiles]:
    return list(list_partition(folder).segments)


def _last(folder: Path) -> Path:
    return _segments(folder)[-1].log


def _closed(folder: Path) -> Path:
    """A segment amid the last ones, after the recovery point."""
    return _segments(folder)[-3].log


def _used(log: Path) -> int:
    """Where the last entry ends: a broker may have allocated more."""
    last = list(kodec.read_batches(log))[-1]
    return last.position + last.size


def _cut(log: Path, size: int) -> None:
    with log.open("r+b") as file:
        file.truncate(size)


def _change(log: Path, at: int, data: bytes) -> None:
    with log.open("r+b") as file:
        file.seek(at)
        file.write(data)


def _noise_bytes(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def _nothing(folder: Path) -> None:
    pass


def _cut_last_entry(folder: Path) -> None:
    log = _last(folder)
    _cut(log, _used(log) - 7)


def _cut_in_header(folder: Path) -> None:
    log = _last(folder)
    _cut(log, list(kodec.read_batches(log))[-1].position + 15)


def _cut_half(folder: Path) -> None:
    log = _last(folder)
    _cut(log, _used(log) // 2)


def _cut_all(folder: Path) -> None:
    _cut(_last(folder), 0)


def _zero_last_page(folder: Path) -> None:
    log = _last(folder)
    at = (_used(log) - 1) // PAGE * PAGE
    _change(log, at, bytes(_used(log) - at))


def _zero_middle_page(folder: Path) -> None:
    log = _closed(folder)
    _change(log, PAGE, bytes(PAGE))


def _flip_in_closed(folder: Path) -> None:
    log = _closed(folder)
    at = _used(log) // 2
    _change(log, at, bytes([log.read_bytes()[at] ^ 4]))


def _cut_closed(folder: Path) -> None:
    log = _closed(folder)
    _cut(log, _used(log) * 2 // 3)


def _cut_closed_between(folder: Path) -> None:
    log = _closed(folder)
    _cut(log, list(kodec.read_batches(log))[-1].position)


def _empty_closed(folder: Path) -> None:
    _cut(_closed(folder), 0)


def _noise(folder: Path) -> None:
    log = _last(folder)
    _cut(log, _used(log))
    _change(log, _used(log), _noise_bytes(333))


def _zeros(folder: Path) -> None:
    log = _last(folder)
    _cut(log, _used(log) + 3 * PAGE)


def _long_entry(folder: Path) -> None:
    log = _last(folder)
    last = list(kodec.read_batches(log))[-1]
    head = last.next_offset.to_bytes(8, "big") + (10**6).to_bytes(4, "big")
    _change(log, _used(log), head + bytes(last.data[12:60]))


def _wrong_entry(folder: Path) -> None:
    """A whole entry with the next offset, in which one bit is wrong."""
    log = _last(folder)
    data = bytearray(list(kodec.read_batches(log))[-1].data)
    data[:8] = list(kodec.read_batches(log))[-1].next_offset.to_bytes(8, "big")
    data[-3] ^= 1
    _change(log, _used(log), bytes(data))


def _old_entry(folder: Path) -> None:
    """An entry that already exists: right by its checksum, but its offset is not the next one."""
    log = _last(folder)
    _change(log, _used(log), bytes(next(iter(kodec.read_batches(log))).data))


def _without(*suffixes: str) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        for path in folder.iterdir():
            if path.name.endswith(suffixes):
                path.unlink()

    return do


def _noise_in(*suffixes: str) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        for path in folder.iterdir():
            if path.name.endswith(suffixes):
                path.write_bytes(_noise_bytes(max(path.stat().st_size, 100) | 1))

    return do


def _noise_indexes(folder: Path) -> None:
    _noise_in(".index", ".timeindex")(folder)
    for path in folder.glob("*.txnindex"):
        # Their version as it is: with another one a broker does not start.
        path.write_bytes(path.read_bytes()[:2] + _noise_bytes(path.stat().st_size))


def _txnindex_version(folder: Path) -> None:
    for path in folder.glob("*.txnindex"):
        # Of the two bytes Kafka looks at the first alone.
        _change(path, 0, (0x1A00).to_bytes(2, "big"))


def _lost_log(folder: Path) -> None:
    """The last log is gone, its indexes are there."""
    _last(folder).unlink()


def _swap(folder: Path) -> None:
    """A cleaner was killed when it had its new segment in place of two old ones, not yet by its name."""
    one, other = _segments(folder)[-4:-2]
    one.log.with_name(one.log.name + ".swap").write_bytes(one.log.read_bytes() + other.log.read_bytes())
    one.log.rename(one.log.with_name(one.log.name + ".deleted"))


def _cleaned(folder: Path) -> None:
    """A cleaner was killed while it wrote."""
    log = _closed(folder)
    log.with_name(log.name + ".cleaned").write_bytes(log.read_bytes()[:-9])


DAMAGES = (
    Damage("b-killed", "the kill alone", _nothing),
    Damage("b-forgotten", "the kill, and the recovery point lost", _nothing, forgotten=True),
    Damage("b-cut-entry", "blocks lost: the end of the last entry", _cut_last_entry),
    Damage("b-cut-header", "blocks lost: the log ends in an entry's header", _cut_in_header),
    Damage("b-cut-half", "blocks lost: half of the last segment", _cut_half),
    Damage("b-cut-all", "blocks lost: all of the last segment", _cut_all),
    Damage("b-zero-end", "blocks lost: zeros in the last page", _zero_last_page),
    Damage("b-zero-page", "blocks lost: zeros in a page of a closed segment", _zero_middle_page),
    Damage("b-cut-closed", "blocks lost: the end of a closed segment", _cut_closed),
    Damage("b-cut-between", "blocks lost: the last entry of a closed segment", _cut_closed_between),
    Damage("b-empty-closed", "blocks lost: all of a closed segment", _empty_closed),
    Damage("b-lost-log", "blocks lost: the last log, not its indexes", _lost_log),
    Damage("b-flip", "a bit of a closed segment flipped", _flip_in_closed),
    Damage("b-noise", "garbage appended: random bytes", _noise),
    Damage("b-zeros", "garbage appended: zeros", _zeros),
    Damage("b-long", "garbage appended: a header that claims a megabyte", _long_entry),
    Damage("b-wrong", "garbage appended: an entry with a wrong checksum", _wrong_entry),
    Damage("b-old", "garbage appended: a copy of an existing entry", _old_entry, hides=HIDES),
    Damage("b-no-indexes", "indexes missing", _without(".index", ".timeindex", ".txnindex"), forgotten=True),
    Damage("b-no-snapshots", "producer snapshots missing", _without(".snapshot"), forgotten=True),
    Damage("b-no-epochs", "leader epochs missing", _without("leader-epoch-checkpoint"), forgotten=True),
    Damage("b-noise-indexes", "noise in the indexes", _noise_indexes, forgotten=True),
    Damage("b-txnindex-version", "transaction indexes of a future version", _txnindex_version, fatal=True),
    Damage("b-noise-snapshots", "noise in the producer snapshots", _noise_in(".snapshot"), forgotten=True),
    Damage("b-swap", "an interrupted replacement of segments, to complete", _swap),
    Damage("b-cleaned", "an interrupted replacement of segments, to roll back", _cleaned),
)
SETTINGS = ("internal.segment.bytes=2048", "index.interval.bytes=256")


def write(clients: Clients, topics: list[str], tag: str, now: int, *, leave_open: bool) -> None:
    """Write the same to partition 0 of all topics: all codecs, an idempotent producer, transactions.

    With `leave_open` a transaction stays open.
    """
    for codec in CODECS:
        clients.do("open", codec, codec, "plain")
    clients.do("open", "idempotent", "lz4", "idempotent")
    for name in ("one", "two"):
        clients.do("open", name, "none" if name == "one" else "zstd", f"b-{name}")

    def send(sender: str, text: str, count: int, at: int) -> None:
        for topic in topics:
            for number in range(count):
                key = None if number == 1 else f"k{number}".encode()
                value = (
                    None if number == 2 else f"{tag} {text} value {number} {'of some length ' * 3}".encode()
                )
                fields = (b"h", text.encode()) if number % 2 else ()
                clients.do("send", sender, topic, 0, at + number, key, value, *fields)
        clients.do("flush", sender)

    for turn in range(6):
        at = now + turn * 1000
        send(CODECS[turn % 5], f"plain {turn}", 4, at)
        send("idempotent", f"idempotent {turn}", 3, at + 100)
        clients.do("begin", "one")
        clients.do("begin", "two")
        send("one", f"one {turn}", 3, at + 200)
        send("two", f"two {turn}", 3, at - 5000)
        clients.do("end", "one", "commit")
        send(CODECS[(turn + 2) % 5], f"between {turn}", 2, at + 400)
        clients.do("end", "two", "abort")
    if leave_open:
        clients.do("begin", "one")
        send("one", "open", 3, now + 9000)
        send("gzip", "behind", 3, now + 9100)
    else:
        clients.do("close", "one")
    for name in (*CODECS, "idempotent", "two"):
        clients.do("close", name)
