"""Topics for the broker's log cleaner and for kodec compact, and what the two make of them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lab_records
import repair_judges as judges
from kafka_lab import CODECS, LEGACY_CODECS, Clients, wait_for
from kafka_reads_ours import Differs
from make_logs import cleaned_up_to
from raw_produce import RawProducer
from repair_writer import DAY

import kodec
from kodec import LogConfig, LogDirectoryWriter
from kodec.log.files.checkpoints import read_offsets, write_offsets

HOUR = 3_600_000
SEGMENT = 16_384
# Of the lab's brokers: log.index.size.max.bytes.
MAX_INDEX = 4096
ON = ("cleanup.policy=compact", "min.cleanable.dirty.ratio=0.01")
OFF = ("cleanup.policy=delete",)


@dataclass(frozen=True, slots=True)
class Compacted:
    """A topic for the cleaner.

    `write` gets the clients, the topic and a time, one hour ago. `settings` are there from the start,
    `later` come with the cleaning; `arguments` say the same to plan_compaction.
    """

    name: str
    what: str
    write: Callable[[Clients, str, int], None]
    settings: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)
    # What lies after the part that can be cleaned stays uncleanable.
    blocked: bool = False
    # Cleaned by the broker already before both go on from there.
    before: bool = False
    # Messages of this magic, put into the broker's log directory by us.
    magic: int = 2


def _value(number: int) -> bytes:
    return random.Random(number).randbytes(200).hex().encode() + b" value %d" % number


def _send(
    clients: Clients, sender: str, topic: str, first: int, count: int, at: int, keys: int = 15, tag: str = "k"
) -> None:
    for number in range(first, first + count):
        value = None if number % 11 == 5 else _value(number)
        clients.do("send", sender, topic, 0, at + number * 10, f"{tag}{number * 7 % keys}".encode(), value)
    clients.do("flush", sender)


def _plain(codec: str) -> Callable[[Clients, str, int], None]:
    def write(clients: Clients, topic: str, now: int) -> None:
        clients.do("open", topic, codec, "plain")
        # Keys become more, so that some of the first stay.
        for batch in range(30):
            _send(clients, topic, topic, batch * 6, 6, now, keys=10 + batch * 2)
        clients.do("close", topic)

    return write


def _keyless(clients: Clients, topic: str, now: int) -> None:
    clients.do("open", topic, "none", "plain")
    for batch in range(24):
        _send(clients, topic, topic, batch * 6, 5, now)
        clients.do("send", topic, topic, 0, now + batch, None, _value(batch))
        clients.do("flush", topic)
    clients.do("close", topic)


def _idempotent(clients: Clients, topic: str, now: int) -> None:
    """The first producers' records are all superseded by the last one's; their last batches have to stay."""
    for producer in range(4):
        name = f"{topic}-{producer}"
        clients.do("open", name, CODECS[producer], "idempotent")
        for batch in range(8):
            _send(clients, name, topic, batch * 5, 5, now + producer * 1000, keys=5 if producer < 3 else 25)
        clients.do("close", name)


def _long_ago(clients: Clients, topic: str, now: int) -> None:
    _idempotent(clients, topic, now - 3 * DAY)


def _with_an_open_one(clients: Clients, topic: str, now: int) -> None:
    _transactions(clients, topic, now)
    name = f"{topic}-open"
    clients.do("open", name, "none", name)
    clients.do("begin", name)
    _send(clients, name, topic, 400, 4, now + 20_000)


def _transactions(clients: Clients, topic: str, now: int) -> None:
    a, b = names = [f"{topic}-a", f"{topic}-b"]
    for name, codec in zip(names, ("none", "lz4"), strict=True):
        clients.do("open", name, codec, name)
    clients.do("open", topic, "none", "plain")
    for turn in range(12):
        at = now + turn * 1000
        clients.do("begin", a)
        _send(clients, a, topic, turn * 20, 5, at)
        clients.do("begin", b)
        _send(clients, b, topic, turn * 20 + 5, 5, at, tag="b")
        _send(clients, topic, topic, turn * 20 + 10, 3, at)
        clients.do("end", a, "commit" if turn % 4 else "abort")
        _send(clients, b, topic, turn * 20 + 13, 2, at)
        clients.do("end", b, "abort" if turn % 3 else "commit")
    for name in (a, b, topic):
        clients.do("close", name)


def _lagging(clients: Clients, topic: str, now: int) -> None:
    clients.do("open", topic, "none", "plain")
    for batch in range(30):
        _send(clients, topic, topic, batch * 6, 6, now - (10 * HOUR if batch < 18 else 0))
    clients.do("close", topic)


def _nothing(clients: Clients, topic: str, now: int) -> None:
    pass


CASES = (
    *(Compacted(f"c-{codec}", f"duplicates and tombstones in {codec}", _plain(codec)) for codec in CODECS),
    Compacted("c-keyless", "records without a key among them", _keyless),
    Compacted("c-idempotent", "idempotent producers of the last hour: empty batches stay", _idempotent),
    Compacted("c-long-ago", "idempotent producers that have expired", _long_ago),
    Compacted(
        "c-transactions", "transactions: committed, aborted, one open", _with_an_open_one, blocked=True
    ),
    Compacted("c-append.time", "LogAppendTime", _plain("none"), ("message.timestamp.type=LogAppendTime",)),
    Compacted(
        "c-lag",
        "min.compaction.lag.ms: the younger segments stay",
        _lagging,
        later=(f"min.compaction.lag.ms={5 * HOUR}",),
        arguments={"min_compaction_lag_ms": 5 * HOUR},
        blocked=True,
    ),
    Compacted(
        "c-merge",
        "segments of 4 KiB become larger ones",
        _plain("none"),
        ("internal.segment.bytes=4096",),
        (f"internal.segment.bytes={SEGMENT}",),
    ),
    Compacted(
        "c-again",
        "cleaned before by the broker; expired tombstones and markers",
        _transactions,
        ("delete.retention.ms=1",),
        arguments={"delete_retention_ms": 1},
        before=True,
    ),
    Compacted("c-v0", "messages v0 of all codecs, which become v2", _nothing, magic=0),
    Compacted("c-v1", "messages v1 of all codecs, which become v2", _nothing, magic=1),
)
# For a line that keeps these formats, by their codec and magic.
OLD = {
    f"e-v{magic}-{codec}": (
        Compacted(f"e-v{magic}-{codec}", f"messages v{magic} in {codec}", _plain(codec)),
        magic,
    )
    for magic in (0, 1)
    for codec in LEGACY_CODECS
}


def create(clients: Clients, now: int) -> None:
    """Create and fill the topics; no cleaner is to touch them yet."""
    for case in CASES:
        size = (
            ()
            if any("segment.bytes" in each for each in case.settings)
            else (f"internal.segment.bytes={SEGMENT}",)
        )
        clients.do("topic", case.name, 1, *OFF, *size, *case.settings)
        case.write(clients, case.name, now)
        _fill(clients, case, now)


def _fill(clients: Clients, case: Compacted, now: int) -> None:
    """Fill a segment with new keys, so that the active one supersedes nothing."""
    if case.magic == 2:
        name = f"{case.name}-fill"
        clients.do("open", name, "none", "plain")
        for batch in range(8):
            _send(clients, name, case.name, batch * 6, 6, now + 30_000, keys=1000, tag="fill")
        clients.do("close", name)


def clean_before(clients: Clients, logs: Path, now: int) -> None:
    """Have the broker clean some topics, then write more to them."""
    for case in CASES:
        if case.before:
            clients.do("alter", case.name, *ON)
            wait_for_cleaner(logs, case.name, 0)
            clients.do("alter", case.name, *OFF)
            name = f"{case.name}-later"
            clients.do("open", name, "none", "plain")
            for batch in range(20):
                _send(clients, name, case.name, 900 + batch * 6, 6, now)
            for batch in range(8):
                _send(clients, name, case.name, batch * 6, 6, now, keys=1000, tag="more")
            clients.do("close", name)


def create_old(clients: Clients, versions: dict[int, str | None], now: int) -> None:
    """The same for topics in formats that the broker keeps."""
    for case, magic in OLD.values():
        version = f"message.format.version={versions[magic]}"
        clients.do("topic", case.name, 1, *OFF, f"segment.bytes={SEGMENT}", version)
        case.write(clients, case.name, now)
        _fill(clients, case, now)


def place_old(logs: Path) -> None:
    """Put segments of magic 0 and 1 in the place of the empty ones of a broker that is down."""
    marks = logs / "replication-offset-checkpoint"
    old = {case.name for case in CASES if case.magic < 2}
    # The broker has noted that these are empty.
    write_offsets(marks, {key: at for key, at in read_offsets(marks).items() if key.topic not in old})
    with LogDirectoryWriter(logs, config=LogConfig(segment_bytes=SEGMENT)) as directory:
        for case in CASES:
            if case.magic == 2:
                continue
            for path in (logs / f"{case.name}-0").iterdir():
                if path.name != "partition.metadata":
                    path.unlink()
            writer = directory.partition(case.name, 0)
            for batch in range(38):
                keys = 10 + batch if batch < 30 else 1000
                records = [
                    lab_records.record(
                        -1 if case.magic == 0 else lab_records.START + number,
                        f"k{number * 7 % keys}",
                        None if number % 11 == 5 else _value(number),
                    )
                    for number in range(batch * 6, batch * 6 + 6)
                ]
                codec = LEGACY_CODECS[batch % len(LEGACY_CODECS)]
                writer.append(records, magic=case.magic, compression=codec)


def start_cleaning(clients: Clients) -> None:
    for case in CASES:
        clients.do("alter", case.name, *ON, *case.later)


def wait_for_cleaner(logs: Path, topic: str, before: int) -> int:
    """Wait until the cleaner went past `before` and the old files are gone; the offset that it has noted."""
    folder = logs / f"{topic}-0"

    def settled() -> bool:
        waste = [path for path in folder.iterdir() if path.suffix in {".deleted", ".cleaned", ".swap"}]
        return not waste and cleaned_up_to(logs, topic) > before

    wait_for(f"the cleaner to rewrite {topic}", settled, 60)
    return cleaned_up_to(logs, topic)


# ------------------------------------------------------------------ the same by kodec


def compact(case: Compacted, folder: Path, now: int, *, keep_format: bool = False) -> None:
    """kodec compact --apply at the moment at which the broker did it."""
    kodec.operations.plan_compaction(
        folder,
        segment_bytes=SEGMENT,
        max_index_bytes=MAX_INDEX,
        keep_format=keep_format,
        now=now,
        **case.arguments,
    ).apply()


def moment(case: Compacted, cleaned: Path, before: Path) -> int | None:
    """When the broker has cleaned, by the delete horizons that it wrote; None if there are no new ones."""
    known = {horizon for horizon in _horizons(before) if horizon is not None}
    new = {horizon for horizon in _horizons(cleaned) if horizon is not None} - known
    retention = case.arguments.get("delete_retention_ms", DAY)
    if len(new) > 1:
        raise Differs(f"horizons of several cleanings: {sorted(new)}")
    return new.pop() - retention if new else None


def _horizons(folder: Path) -> list[int | None]:
    return [batch.delete_horizon for batch in batches(folder)]


def batches(folder: Path) -> list[kodec.Batch]:
    with kodec.PartitionLog(folder) as log:
        return list(log.batches())


_FACTS = (
    "base_offset", "last_offset", "count", "magic", "codec", "timestamp_type", "base_timestamp",
    "max_timestamp", "partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence",
    "is_transactional", "is_control", "delete_horizon",
)  # fmt: skip


def facts(batch: kodec.Batch) -> tuple[object, ...]:
    """All that a batch says but its compressed bytes: header fields, and the records."""
    head = tuple(getattr(batch, name, None) for name in _FACTS)
    records = tuple(
        (one.offset, one.timestamp, one.key, one.value, tuple(one.headers))
        for one in batch.records(control=True)
    )
    return (*head, records)


def compare(ours: Path, theirs: Path) -> str:
    """Compare two compacted folders; which kinds of files are the same byte by byte. Raises: Differs."""
    if judges.bases_of(ours) != judges.bases_of(theirs):
        raise Differs(f"segments {judges.bases_of(ours)}, Kafka's {judges.bases_of(theirs)}")
    for base in judges.bases_of(theirs):
        one, other = (list(kodec.read_batches(folder / f"{base:020}.log")) for folder in (ours, theirs))
        for have, need in zip(one, other, strict=False):
            if facts(have) != facts(need):
                what = [name for name in _FACTS if getattr(have, name, None) != getattr(need, name, None)]
                raise Differs(f"segment {base}, offset {need.base_offset}: {', '.join(what) or 'records'}")
            if have.codec == "none" and have.data != need.data:
                raise Differs(f"segment {base}, offset {need.base_offset}: other bytes")
        if len(one) != len(other):
            raise Differs(f"segment {base}: {len(one)} batches, Kafka's {len(other)}")
    same = [kind for kind in judges.LOG_FILES if not judges.compare_files(ours, theirs, (kind,))]
    return "the same bytes: " + ", ".join(same)


def roll(port: int, topic: str) -> None:
    """Produce records with new keys until two segments are full."""
    with RawProducer("127.0.0.1", port) as producer:
        for batch in range(12):
            records = [
                lab_records.record(lab_records.START, f"new-{batch}-{number}", _value(number))
                for number in range(8)
            ]
            producer.produce(7, topic, kodec.encode(records, base_offset=0))


def copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
