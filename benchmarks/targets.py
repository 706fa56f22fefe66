"""The targets of the figures, and whether they are reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from benchmarks.corpora import CASES, Case
from benchmarks.measure import ALONE, Figures, ratio

__all__ = ["TARGETS", "Target", "Verdict", "verdicts"]


class _Result(Protocol):
    @property
    def direction(self) -> str: ...
    @property
    def case(self) -> Case: ...
    @property
    def raw_bytes(self) -> float: ...
    def of(self, name: str) -> Figures | None: ...


@dataclass(frozen=True, slots=True)
class Target:
    """A target for one figure of one reader in one case.

    Attributes:
        direction, case, who: what it is a figure of.
        base: whose rate it is a multiple of; `records` or `bytes` for a rate on its own, a second; a name of
            `ALONE` for the time as a multiple of the codec's, which is to be no more.
        wanted: the figure.
    """

    direction: str
    case: Case
    who: str
    base: str
    wanted: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a target was reached, and with which figure."""

    what: str
    who: str
    wanted: str
    found: str
    met: bool

    COLUMNS: ClassVar[tuple[str, ...]] = ("target", "who", "wanted", "measured", "")

    @property
    def cells(self) -> tuple[str, ...]:
        return self.what, self.who, self.wanted, self.found, "met" if self.met else "not met"


def _plain(direction: str, who: str, base: str, **wanted: float) -> list[Target]:
    return [Target(direction, Case(workload), who, base, value) for workload, value in wanted.items()]


def _packed(direction: str, who: str, base: str, **wanted: float) -> list[Target]:
    return [Target(direction, Case("W2", codec=codec), who, base, value) for codec, value in wanted.items()]


_CODECS = dict.fromkeys(("gzip", "snappy", "lz4", "zstd"), 1.15)
_COLUMNS, _OBJECTS, _PURE = "kodec-columns", "kodec", "kodec-pure"

TARGETS = (
    *_plain("decode", _COLUMNS, "records", W1=40e6, W2=20e6, W3=9e6),
    *_plain("decode", _COLUMNS, "bytes", W4=2.6e9),
    *_plain("decode", _COLUMNS, "kafka-python", W2=100),
    *_plain("decode", _COLUMNS, "aiokafka", W2=5),
    *_plain("decode", _COLUMNS, "ksc", W2=1000),
    *_packed("decode", _COLUMNS, "aiokafka", gzip=3, snappy=2, lz4=3, zstd=2),
    *_packed("decode", _COLUMNS, ALONE["decode"], **_CODECS),
    *_plain("decode", _OBJECTS, "aiokafka", W1=1.25, W2=1.5, W3=1.4, W4=5),
    *_plain("key-value", _OBJECTS, "aiokafka", W1=1.5, W2=1.9, W3=1.6, W4=5),
    *_plain("iterate", _OBJECTS, "aiokafka", W1=1.9, W2=1.9, W3=1.9, W4=1.9),
    *_plain("decode", _PURE, "kafka-python", W1=3.5, W2=3.5, W3=2.5),
    *(Target("decode", case, _PURE, "kafka-python", 1) for case in CASES if case.magic != 2),
    *_plain("decode", _PURE, "aiokafka", W4=1),
    *_plain("decode", _PURE, "ksc", W2=30),
    *_plain("encode", _COLUMNS, "aiokafka", W1=3, W2=3, W3=3, W4=2),
    *_packed("encode", _COLUMNS, ALONE["encode"], **_CODECS),
)


def verdicts(results: Sequence[_Result]) -> list[Verdict]:
    """Which targets were reached, of those for which there are figures."""
    made = []
    for target in TARGETS:
        result = next(
            (each for each in results if (each.direction, each.case) == (target.direction, target.case)), None
        )
        ours = None if result is None else result.of(target.who)
        if result is None or ours is None:
            continue
        what, wanted = f"{target.direction} {target.case.name}", target.wanted
        if target.base in ("records", "bytes"):
            rate = ours.rate * (result.raw_bytes if target.base == "bytes" else 1)
            unit, scale = ("GB/s", 1e9) if target.base == "bytes" else ("M records/s", 1e6)
            shown = f"{wanted / scale:g} {unit}", f"{rate / scale:.1f} {unit}"
            made.append(Verdict(what, target.who, *shown, rate >= wanted))
            continue
        base = result.of(target.base)
        if base is None:
            continue
        if base.gives == "bytes":
            found = ratio(base, ours)[0]
            shown = f"at most {wanted:g}x the time of {base.name}", f"{found:.2f}x"
            made.append(Verdict(what, target.who, *shown, found <= wanted))
        else:
            found = ratio(ours, base)[0]
            shown = f"{wanted:g}x {base.name}", f"{found:.2f}x"
            made.append(Verdict(what, target.who, *shown, found >= wanted))
    return made
