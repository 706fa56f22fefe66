"""A log with transactions, and each way in which its transaction indexes may not agree with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kodec.generated.log.transaction_index import Entry, TransactionIndex
from tests.log.made import START, batch, make, marker

__all__ = ["CAUSES", "COMMITTED", "VALUES", "make_log"]

COMMITTED = [0, 1, 9, 10]
"""The offsets that `read_committed` reads."""
VALUES = {b"a": b"A", b"b": b"GOOD", b"d": b"D", b"e": b"E"}
"""The committed value of each key."""
_ABORTED = [(8, 3, 4), (7, 5, 7), (8, 6, 8)]


def _of(*entries: tuple[int, int, int]) -> bytes:
    """An index with these entries: producer, first and last offset."""
    made = [Entry(0, producer, first, last, last + 1) for producer, first, last in entries]
    return TransactionIndex(made).to_bytes()


def _to_all(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        for path in sorted(folder.glob("*.txnindex")):
            path.write_bytes(change(path.read_bytes()))

    return changed


def _missing(folder: Path) -> None:
    for path in folder.glob("*.txnindex"):
        path.unlink()


def _put(*indexes: bytes) -> Callable[[Path], None]:
    """These indexes, of the segments that have one, in their order."""

    def put(folder: Path) -> None:
        for path, data in zip(sorted(folder.glob("*.txnindex")), indexes, strict=True):
            path.write_bytes(data)

    return put


CAUSES: dict[str, Callable[[Path], None]] = {
    "right": lambda _: None,
    "torn": _to_all(lambda data: data[: len(data) - 17]),
    "cut before its first entry": _to_all(lambda data: data[:20]),
    "empty": _to_all(lambda _: b""),
    "missing": _missing,
    "zeros": _to_all(lambda data: bytes(len(data))),
    "noise": _to_all(lambda data: b"\xa5" * len(data)),
    "of another log": _put(_of((99, 0, 1)), _of((99, 6, 7), (98, 6, 8))),
    "of the other segment": _put(_of((7, 5, 7), (8, 6, 8)), _of((8, 3, 4))),
    "an entry is missing": _put(_of(), _of((7, 5, 7))),
    "an entry too many": _put(_of((7, 0, 2), (8, 3, 4)), _of((7, 5, 7), (8, 6, 8))),
    "first offsets too high": _put(_of((8, 4, 4)), _of((7, 7, 7), (8, 7, 8))),
    "first offsets too low": _put(_of((8, 0, 4)), _of((7, 0, 7), (8, 3, 8))),
    "another producer": _put(_of((7, 3, 4)), _of((8, 5, 7), (7, 6, 8))),
}
"""What to do to the indexes in a folder, by what they are then."""


def make_log(root: Path, cause: str) -> Path:
    """The log of `c-0` below a log directory, with indexes that have a fault; returns its folder.

    Of three aborted transactions one begins in the first segment and ends in the second. Keys that are
    committed are written again in aborted ones.
    """

    def sent(offset: int, producer: int, key: bytes, value: bytes) -> bytes:
        return batch(offset, [(key, value)], producer=(producer, 0, 0), transactional=True)

    first = [
        batch(0, [(b"a", b"A"), (b"b", b"GOOD")], producer=(7, 0, 0), transactional=True),
        marker(2, 7, commit=True),
        sent(3, 8, b"b", b"BAD"),
        marker(4, 8, commit=False),
        sent(5, 7, b"a", b"BAD"),
    ]
    second = [sent(6, 8, b"b", b"BAD"), marker(7, 7, commit=False), marker(8, 8, commit=False)]
    third = [batch(9, [(b"d", b"D")]), batch(10, [(b"e", b"E")])]
    folder = make(root / "c-0", [(0, first), (6, second), (9, third)], modified=START, aborted=_ABORTED)
    CAUSES[cause](folder)
    return folder
