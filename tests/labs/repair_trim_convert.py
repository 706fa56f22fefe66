"""Topics that kodec trims and converts, and what a consumer has to read of them afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_lab import Clients
from repair_writer import DAY, Read

SMALL = ("internal.segment.bytes=2048", "index.interval.bytes=256")
SOURCE = "d-mixed"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A topic to be trimmed by `options` of kodec trim.

    `settings` are those by which a broker does the same (it does when it starts again); none where it would
    need a request.
    """

    name: str
    what: str
    options: tuple[str, ...]
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Converted:
    """A topic that `source` becomes by `options` of kodec convert.

    `lost` is the lowest magic that it has gone through, `committed` whether only such records are left.
    """

    name: str
    what: str
    options: tuple[str, ...]
    source: str = SOURCE
    lost: int = 2
    committed: bool = False


TRIMMED = (
    Trimmed("d-offset", "records below an offset inside of a segment", ("--before-offset", "70")),
    Trimmed("d-size", "retention by size", ("--retention-bytes", "5000"), ("retention.bytes=5000",)),
    Trimmed(
        "d-time",
        "retention by time",
        ("--retention-ms", str(5 * DAY)),
        (f"retention.ms={5 * DAY}",),
    ),
    Trimmed("d-all", "retention by time: all segments", ("--retention-ms", "60000"), ("retention.ms=60000",)),
)
CONVERTED = (
    *(
        Converted(f"d-to-{codec}", f"v2, all batches to {codec}", ("--compression", codec))
        for codec in ("none", "gzip", "snappy", "lz4", "zstd")
    ),
    Converted("d-to-v1", "v2 to v1", ("--magic", "1", "--compression", "lz4"), lost=1),
    Converted("d-to-v0", "v2 to v0", ("--magic", "0", "--compression", "gzip"), lost=0),
    Converted("d-to-v0-none", "v2 to v0, not compressed", ("--magic", "0", "--compression", "none"), lost=0),
    Converted(
        "d-to-v1-committed",
        "v2 to v1, committed records only",
        ("--magic", "1", "--compression", "snappy", "--isolation", "read_committed"),
        lost=1,
        committed=True,
    ),
    Converted("d-v1-to-v2", "the converted v1 back to v2", ("--magic", "2"), "d-to-v1", lost=1),
    Converted("d-v0-to-v1", "the converted v0 to v1", ("--magic", "1"), "d-to-v0", lost=0),
)


def create(clients: Clients, now: int) -> None:
    """Create the topics; fill those that are trimmed. That which is converted is written elsewhere."""
    for case in TRIMMED:
        clients.do("topic", case.name, 1, *SMALL, *case.settings)
        clients.do("open", case.name, "lz4", "idempotent")
        for batch in range(40):
            at = now - (10 * DAY if batch < 20 or case.name == "d-all" else 0) + batch * 1000
            for number in range(4):
                text = f"{case.name} value {number} of batch {batch} {'and some more ' * (number + 3)}"
                clients.do("send", case.name, case.name, 0, at + number, f"k{number}".encode(), text.encode())
            clients.do("flush", case.name)
        clients.do("close", case.name)
    for name in (SOURCE, *(case.name for case in CONVERTED)):
        clients.do("topic", name, 1, *SMALL)


def expected(case: Converted, everything: list[Read], committed: list[Read]) -> dict[str, list[Read]]:
    """For each isolation level what is to be read, by what was read of the source."""
    if case.lost == 2:
        return {"read_uncommitted": everything, "read_committed": committed}
    rows = [row._replace(headers=()) for row in (committed if case.committed else everything)]
    if case.lost == 0:
        kind = "NoTimestampType" if "0" in case.options else "CreateTime"
        rows = [row._replace(timestamp=-1, timestamp_type=kind) for row in rows]
    # There are no transactions in messages.
    return {"read_uncommitted": rows, "read_committed": rows}


def below(rows: Iterable[Read], start: int) -> list[Read]:
    """The rows without those below `start`."""
    return [row for row in rows if row.offset >= start]
