"""Counts records and bytes over time, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Amount", "Span", "Timeline"]

_FINEST = 60_000
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_WIDTHS = tuple(
    [count * _MINUTE for count in (1, 5, 15)]
    + [count * _HOUR for count in (1, 3, 6, 12)]
    + [count * _DAY for count in (1, 7, 30, 90, 365)]
)
_ODD = 1_000
"""A chart may leave out one of this many records, as a few wrong timestamps would hide all others."""


class Amount(NamedTuple):
    """Records and bytes of batches."""

    records: int
    bytes: int


class Span(NamedTuple):
    """Records from `start` to the start of the next span, in ms since 1970-01-01 UTC."""

    start: int
    records: int
    bytes: int


class Timeline:
    """Records and stored bytes by the largest timestamps of their batches.

    Attributes:
        width: of each step, in ms: as small as `MOST` steps allow.
        timeless: records and bytes without a timestamp.
    """

    MOST = 1_024

    def __init__(self) -> None:
        self.width = _FINEST
        self.timeless = Amount(0, 0)
        self._steps: dict[int, Amount] = {}

    def take(self, table: pa.RecordBatch) -> None:
        """Add the batches with these headers; a wrapper of magic 0 or 1 counts as one record."""
        import pyarrow as pa
        import pyarrow.compute as pc

        times = table["max_timestamp"].cast(pa.int64())
        rows = pa.table(
            {
                # -1 for none: a negative number divided goes to 0
                "step": pc.if_else(pc.less(times, 0), -1, pc.divide(times, self.width)),
                "records": pc.fill_null(table["count"], 1),
                "bytes": table["size"],
            }
        )
        for row in rows.group_by("step").aggregate([("records", "sum"), ("bytes", "sum")]).to_pylist():
            self._add(row["step"], Amount(row["records_sum"], row["bytes_sum"]))
        self._bound()

    def merge(self, other: Timeline) -> None:
        """Add the counts of another one."""
        self.timeless = _sum(self.timeless, other.timeless)
        while self.width < other.width:
            self._coarsen()
        for step, amount in other._steps.items():
            self._add(step * other.width // self.width, amount)
        self._bound()

    def _add(self, step: int, amount: Amount) -> None:
        if step < 0:
            self.timeless = _sum(self.timeless, amount)
        else:
            self._steps[step] = _sum(self._steps.get(step, Amount(0, 0)), amount)

    def _bound(self) -> None:
        while len(self._steps) > self.MOST:
            self._coarsen()

    def _coarsen(self) -> None:
        steps, self._steps = self._steps, {}
        self.width *= 2
        for step, amount in steps.items():
            self._add(step // 2, amount)

    def usual(self) -> tuple[int, int] | None:
        """The time span of nearly all records, in ms; None if no record has a time."""
        total = sum(amount.records for amount in self._steps.values())
        if not total:
            return None
        ends = []
        for steps in (sorted(self._steps), sorted(self._steps, reverse=True)):
            passed = 0
            for step in steps:
                passed += self._steps[step].records
                if passed * _ODD > total:
                    ends.append(step)
                    break
        return ends[0] * self.width, (ends[1] + 1) * self.width

    def spans(self, first: int, last: int, most: int) -> list[Span]:
        """The time from `first` to `last` in about `most` spans of one width or fewer, empty ones too."""
        width = next(
            (
                candidate
                for candidate in _WIDTHS
                if candidate >= self.width and (last - first) <= candidate * most
            ),
            None,
        )
        if width is None:
            width = max(self.width, -(-(last - first) // most))
        start = first - first % width
        amounts = [Amount(0, 0)] * (-(-(last - start) // width))
        for time, amount in self._within(first, last):
            amounts[(time - start) // width] = _sum(amounts[(time - start) // width], amount)
        return [Span(start + width * number, *amount) for number, amount in enumerate(amounts)]

    def between(self, first: int, last: int) -> Amount:
        """The records from `first` on and before `last`, by whole steps."""
        return _sum(Amount(0, 0), *(amount for _, amount in self._within(first, last)))

    def _within(self, first: int, last: int) -> Iterator[tuple[int, Amount]]:
        for step, amount in self._steps.items():
            if first <= step * self.width < last:
                yield step * self.width, amount


def _sum(*amounts: Amount) -> Amount:
    return Amount(sum(amount.records for amount in amounts), sum(amount.bytes for amount in amounts))
