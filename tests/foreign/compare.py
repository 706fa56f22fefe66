"""One foreign schema read by stock ksc's Python and by ours, on the same bytes."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import math
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kodec.runtime.errors import EncodeError, FormatError, KodecError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.streams import StreamNode

__all__ = ["Finding", "NoOracle", "Reader", "inputs", "judge", "led", "same"]

# what the documents say that we refuse and ksc does not look at
STRICTER = (
    "bytes are left over",
    "more elements than bytes",
    "without bytes",
    "nested too deep",
    "too many elements",
    "negative count",
    "shifts by too many bits",
    "an argument is not there",
    "bits of the byte before were left",
)
# what ksc's Python refuses and the documents say that we keep
# (IndexError: a switch without a case in a list, which the list of raw bytes then lacks; AttributeError: a
# field that is absent as the value of an instance, which is None here; UndecidedEndiannessError: a byte order
# that is known by no case, which we need only where a number is read)
LAXER = (
    "UnicodeDecodeError",
    "RecursionError",
    "MemoryError",
    "OverflowError",
    "IndexError",
    "Endless",
    "AttributeError",
    "UndecidedEndiannessError",
)
ABSENT = "an expression needs it, and it is not there"
# elements that may be empty need as many bytes behind them, and what was behind a layout is not written back
WITHOUT_BYTES = ("more elements than bytes", "more elements without bytes")
NODES = 4000
DEPTH = 12
PATIENCE = 3.0
OPTIONS = ReadOptions(elements=20_000, decompressed_bytes=1 << 20)


@dataclasses.dataclass(frozen=True)
class Finding:
    """What came of one input: agree, stricter, laxer, wrong or crash, and why."""

    verdict: str
    reason: str = ""


class NoOracle(Exception):
    """What ksc made cannot be imported."""


class Endless(Exception):
    """ksc's reader does not end: it repeats elements without bytes for ever."""


def _stop(number: int, frame: object) -> None:
    raise Endless


signal.signal(signal.SIGVTALRM, _stop)


class _Differs(Exception):
    """Where, and how."""


class _Enough(Exception):
    """More values than are compared."""


class Reader:
    """Both readers of one schema."""

    def __init__(self, ours: type, theirs: type) -> None:
        self.ours = ours
        self.theirs = theirs
        # with `ks-debug` a reader of ksc waits to be asked
        self.debug = hasattr(theirs, "SEQ_FIELDS")

    @classmethod
    def load(cls, package: Path, module: str, name: str, ksc: Path, stock: str) -> Reader:
        """The classes from the folders of generated modules; raises what an import raises."""
        sys.path[:0] = [str(package.parent), str(ksc)]
        found = importlib.import_module(f"{package.name}.{module}")
        try:
            stock_module = importlib.import_module(stock)
        except Exception as error:
            raise NoOracle(f"ksc's module: {type(error).__name__}: {error}") from error
        title = "".join(part.capitalize() for part in stock.split("_"))
        return cls(getattr(found, name), getattr(stock_module, title))

    def read_ours(self, data: bytes) -> Any:
        if issubclass(self.ours, StreamNode):
            return self.ours.from_bytes(data, opt=OPTIONS)
        return self.ours.from_bytes(data, OPTIONS, exact=False)  # type: ignore[attr-defined]  # generated

    def judge(self, data: bytes) -> Finding:
        mine = theirs = None
        my_error: BaseException | None = None
        their_error: BaseException | None = None
        try:
            mine = self.read_ours(data)
        except FormatError as error:
            my_error = error
        except Exception as error:
            return Finding("crash", _said(error))
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
            theirs = self.theirs.from_bytes(data)  # type: ignore[attr-defined]  # generated
            if self.debug:
                theirs._read()
        except Exception as error:
            their_error = error
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return self._verdict(mine, theirs, my_error, their_error)

    def _verdict(
        self, mine: Any, theirs: Any, my_error: BaseException | None, their_error: BaseException | None
    ) -> Finding:
        if my_error is not None and their_error is not None:
            return Finding("agree")
        if my_error is not None:
            known = any(text in str(my_error) for text in STRICTER)
            return Finding("stricter" if known else "wrong", f"refused: {my_error}")
        if their_error is not None:
            known = type(their_error).__name__ in LAXER
            return Finding("laxer" if known else "wrong", f"ksc refuses: {_said(their_error)}")
        try:
            _Comparison().same(mine, theirs, "")
        except _Differs as error:
            return Finding("wrong", str(error))
        except KodecError as error:
            return Finding("wrong", f"{type(error).__name__}: {error}")
        except _Enough:
            pass
        except Exception as error:
            return Finding("crash", _said(error))
        return Finding("agree")

    def written(self, data: bytes) -> Finding:
        """What comes of writing what was read, with all its instances."""
        try:
            value = self.read_ours(data)
        except FormatError:
            return Finding("unread")
        try:
            _touch(value)
            made = value.to_bytes()
        except _Enough:
            return Finding("unread")
        except EncodeError as error:
            return Finding("refused", str(error))
        except Exception as error:
            return Finding("crash", _said(error))
        if made == data:
            return Finding("same bytes")
        try:
            again = self.read_ours(made)
            if again == value or same(again, value):
                return Finding("same values", f"{len(data)} -> {len(made)} bytes")
        except FormatError as error:
            if any(text in str(error) for text in WITHOUT_BYTES):
                return Finding("refused", str(error))
            return Finding("differs", str(error))
        return Finding("differs", f"{len(data)} -> {len(made)} bytes")


def same(first: Any, second: Any) -> bool:
    """Whether two objects have the same values; a NaN is the same as another."""
    try:
        _Comparison().same(first, second, "")
    except (_Differs, FormatError):
        return False
    except _Enough:
        pass
    return True


class _Comparison:
    def __init__(self) -> None:
        self.nodes = 0
        self.seen: set[int] = set()

    def same(self, mine: Any, theirs: Any, path: str) -> None:
        self.nodes += 1
        if self.nodes > NODES:
            raise _Enough
        if isinstance(mine, StreamNode) or dataclasses.is_dataclass(mine):
            if id(mine) in self.seen or path.count(".") > 2 * DEPTH:
                return
            self.seen.add(id(mine))
            self.members(mine, theirs, path)
        elif isinstance(mine, list):
            if isinstance(theirs, list) and len(theirs) < len(mine):
                # elements of a switch that have no case: ksc leaves them out
                mine = [each for each in mine if each is not None]
            if not isinstance(theirs, (list, bytes)) or len(mine) != len(theirs):
                raise _Differs(f"{path}: {_short(mine)} != {_short(theirs)}")
            for index, (first, second) in enumerate(zip(mine, theirs, strict=True)):
                self.same(first, second, f"{path}[{index}]")
        elif isinstance(mine, float) and isinstance(theirs, (int, float)):
            if not (mine == theirs or (math.isnan(mine) and math.isnan(theirs))):
                raise _Differs(f"{path}: {mine} != {theirs}")
        else:
            theirs = theirs.value if isinstance(theirs, enum.Enum) else theirs
            if hasattr(theirs, "value") and type(theirs).__module__ not in ("builtins",):
                theirs = theirs.value  # a wire type that stands for its value
            text = isinstance(mine, str) and any("\udc80" <= sign <= "\udcff" for sign in mine)
            if mine != theirs and not text and not hasattr(mine, "pos"):
                raise _Differs(f"{path}: {_short(mine)} != {_short(theirs)}")

    def members(self, mine: Any, theirs: Any, path: str) -> None:
        for name in _names(mine):
            if isinstance(getattr(type(mine), name, None), property):
                self.instance(mine, theirs, name, f"{path}.{name}")
                continue
            first = getattr(mine, name)
            if not isinstance(mine, StreamNode) and not hasattr(theirs, name):
                default = next(each.default for each in dataclasses.fields(mine) if each.name == name)
                if first == default:
                    continue  # absent: layouts have the default
            second = (
                getattr(theirs, name, None)
                if hasattr(theirs, name)
                else getattr(theirs, name.rstrip("_"), None)
            )
            self.same(first, second, f"{path}.{name}")

    def instance(self, mine: Any, theirs: Any, name: str, path: str) -> None:
        failed: FormatError | None = None
        first = second = None
        try:
            first = getattr(mine, name)
        except FormatError as error:
            failed = error
        try:
            second = getattr(theirs, name if hasattr(type(theirs), name) else name.rstrip("_"))
        except Exception as error:
            _forget_halves(error)
            if failed is None and type(error).__name__ not in LAXER:
                raise _Differs(f"{path}: ksc refuses: {_said(error)}, ours is {_short(first)}") from error
            return
        if failed is not None:
            if any(text in str(failed) for text in STRICTER) or _absent(failed, theirs):
                return
            raise _Differs(f"{path}: refused: {failed}")
        self.same(first, second, path)


def _absent(failed: FormatError, theirs: Any) -> bool:
    """Whether an expression needed an instance that is absent, which ksc's Python takes for None."""
    name = failed.path.rpartition(".")[2]
    found = getattr(type(theirs), name, None)
    return ABSENT in str(failed) and isinstance(found, property) and getattr(theirs, name) is None


def _forget_halves(error: BaseException) -> None:
    """Have ksc's objects read again the instances that `error` ended.

    ksc keeps what it had of them, such as the first elements of a list, and gives that to who asks next.
    """
    trace = error.__traceback__
    while trace is not None:
        code, given = trace.tb_frame.f_code, trace.tb_frame.f_locals.get("self")
        # Ours keep nothing of what failed, and have slots.
        if hasattr(given, "__dict__") and isinstance(getattr(type(given), code.co_name, None), property):
            vars(given).pop(f"_m_{code.co_name}", None)
        trace = trace.tb_next


def _names(value: Any) -> Iterator[str]:
    for spec in dataclasses.fields(value):
        yield spec.name
    if isinstance(value, StreamNode):
        for name, found in inspect.getmembers(type(value)):
            if isinstance(found, property) and not name.startswith("_"):
                yield name


def _touch(value: Any) -> None:
    """Read every instance, up to a depth: an instance may hold an object like its own for ever."""
    todo = [(value, 0)]
    seen = 0
    while todo:
        at, depth = todo.pop()
        seen += 1
        if seen > NODES:
            raise _Enough
        if isinstance(at, list):
            todo += [(item, depth + 1) for item in at]
        elif isinstance(at, StreamNode) and depth < DEPTH:
            for name in _names(at):
                try:
                    todo.append((getattr(at, name), depth + 1))
                except FormatError:
                    continue


def _said(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}: {str(error)[:120]}{place}"


def _short(value: Any) -> str:
    return f"{value!r:.60}"


def inputs(sample: bytes | None, reader: Reader, seed: str) -> Iterator[tuple[str, bytes]]:
    """The bytes to read: the sample, cut, and changed; without one, bytes led past what must stand there."""
    draw = random.Random(seed)
    bases = [sample] if sample is not None else [led(reader, base) for base in _made(draw)]
    for base in bases:
        yield "whole", base
        for cut in _cuts(len(base), draw):
            yield "cut", base[:cut]
        for _ in range(20 if sample is not None else 4):
            changed = bytearray(base)
            for _ in range(draw.choice((1, 1, 1, 2, 4))):
                if changed:
                    changed[draw.randrange(min(len(changed), 4096))] = draw.choice(
                        (0, 1, 255, 127, 128, draw.randrange(256))
                    )
            yield "changed", bytes(changed)


def _cuts(size: int, draw: random.Random) -> list[int]:
    return list(range(size)) if size <= 64 else sorted(draw.sample(range(size), 40 if size < 4096 else 12))


def _made(draw: random.Random) -> Iterator[bytes]:
    yield bytes(512)
    yield bytes(range(256)) * 2
    yield b"".join(bytes([draw.choice((0, 0, 0, 1, 2, 4, 8, 255))]) for _ in range(512))
    yield draw.randbytes(512)
    yield b"".join(bytes([draw.choice((0, 1, 2, 3))]) for _ in range(2048))


def led(reader: Reader, base: bytes) -> bytes:
    """The bytes with what must stand in them put in, as far as our errors say it."""
    data = bytearray(base)
    for _ in range(24):
        try:
            reader.read_ours(bytes(data))
            break
        except FormatError as error:
            if (
                isinstance(error.need, bytes)
                and isinstance(error.have, bytes)
                and error.at + len(error.need) <= len(data)
            ):
                data[error.at : error.at + len(error.need)] = error.need
            else:
                break
        except Exception:
            break
    return bytes(data)


def judge(
    reader: Reader, sample: bytes | None, seed: str, seconds: float
) -> tuple[Counter[str], list[str], Counter[str]]:
    """The verdicts of all inputs, reasons of what is wrong, and what came of writing back."""
    verdicts: Counter[str] = Counter()
    back: Counter[str] = Counter()
    reasons: list[str] = []
    stop = time.process_time() + seconds
    for what, data in inputs(sample, reader, seed):
        found = reader.judge(data)
        verdicts[found.verdict] += 1
        if found.verdict in ("wrong", "crash") and len(reasons) < 5:
            reasons.append(f"{found.verdict} on {what} bytes: {found.reason}")
        if what != "cut" and found.verdict in ("agree", "laxer"):
            made = reader.written(data)
            back[made.verdict] += 1
            if what == "whole" and made.verdict in ("refused", "differs", "crash"):
                reasons.append(f"written back: {made.verdict}: {made.reason}")
            elif made.verdict == "crash":
                reasons.append(f"written back: crash: {made.reason}")
        if time.process_time() > stop:
            break
    return verdicts, reasons, back
