"""One foreign schema read by stock ksc's Python and by ours, on the same bytes.

The comparison walks ksc's objects: every field, parameter and instance that they have must be there, and the
same, in ours. Where one of both refuses what the other reads, a rule has to explain it by what is there, not
by the words of an error. Rules are not enough for a corpus: there each member to which one applies is listed
as well (`exceptions.yaml`).
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import dis
import enum
import importlib
import io
import keyword
import linecache
import math
import random
import re
import signal
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from kaitaistruct import KaitaiStream, KaitaiStruct

from kodec.generator.passes.common import refs
from kodec.generator.schema.expression_types import types_in
from kodec.generator.schema.model import Bits, Field, Model, Struct
from kodec.generator.targets.python.names import attribute
from kodec.runtime.errors import EncodeError, FormatError, LimitExceeded, Malformed, Unsupported
from kodec.runtime.fields import ReadOptions
from kodec.runtime.streams import StreamNode

__all__ = [
    "ASKS_REFUSED",
    "BITS_OF_BOTH_ORDERS",
    "Finding",
    "NoOracle",
    "Note",
    "Reader",
    "Tally",
    "Twin",
    "inputs",
    "judge",
    "keeping",
    "led",
    "mended",
    "mixes_bits",
    "same",
    "work",
]

# elements that may be empty need as many bytes after them, and what was after a layout is not written back
WITHOUT_BYTES = "bytes present"
NODES = 8000
# of bytes that are also cut and changed
LARGEST = 100_000
DEPTH = 12
# of ksc for one value, where its reader asks nothing of a stream
PATIENCE = 3.0
# what a reader of ksc may ask of its streams for the whole or for an instance: so often, and so often a byte
STEPS, STEPS_OF_BYTE = 100_000, 20
# as many times as much for all the instances of one input
INSTANCES = 10
# of the work for a schema, an input counts as many values at least
INPUT = 100
OPTIONS = ReadOptions(elements=20_000, decompressed_bytes=1 << 20)
MOST_SHIFT = 128
# encodings of which kodec keeps invalid bytes (docs/kaitai-differences.md), as ksc's Python spells them
KEPT = re.compile(r"""\.decode\((u"(?:ASCII|UTF-8)")\)""")
ESCAPED = "text that is not of its encoding"
NO_CASE = "a list in which a switch has no case"
# ksc is run as JavaScript, which has no other numbers: `24000.` is 24000 there
WHOLE = "a float that ksc writes as a whole number"
ROTATED = "a rotation by more than 8 bits"
ABSENT_INSTANCE = "an absent instance"
ASKS_REFUSED = "an instance that ksc refuses"
BITS_OF_BOTH_ORDERS = "bits of both orders in one byte"
ABSENT = "an expression needs it, and it is not there"


@dataclasses.dataclass(frozen=True, order=True)
class Note:
    """A member that one of both does not give, and the rule that says why: stricter is ours, laxer ksc's."""

    side: str
    member: str
    why: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """What came of one input: agree, stricter, laxer, wrong or crash, why, and what rules explain.

    Attributes:
        both: where ours failed and where ksc's did, where both refuse the whole.
        refused: the instances that both refuse.
        values: how many values were compared.
        members: the members that were compared, by ksc's class.
        cut: whether there were more values than are compared.
    """

    verdict: str
    reason: str = ""
    notes: tuple[Note, ...] = ()
    both: Note | None = None
    refused: tuple[Note, ...] = ()
    values: int = 0
    members: frozenset[str] = frozenset()
    cut: bool = False


class NoOracle(Exception):
    """What ksc made cannot be imported."""


class Endless(Exception):
    """ksc's reader does not end: it repeats elements without bytes for ever."""


class _Work:
    """How often ksc's readers have asked their streams, and how many values were compared.

    It is counted, and no time is taken, so that a run finds the same again.
    """

    def __init__(self) -> None:
        self.done = 0
        self.each = STEPS
        self._most = sys.maxsize

    def step(self) -> None:
        self.done += 1
        if self.done > self._most:
            raise Endless

    @contextlib.contextmanager
    def bounded(self) -> Iterator[None]:
        """For one reader of ksc, or one instance. Raises: Endless."""
        self._most = self.done + self.each
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self._most = sys.maxsize


work = _Work()


def _stop(number: int, frame: object) -> None:
    raise Endless


signal.signal(signal.SIGVTALRM, _stop)
_stock_is_eof, _stock_read = KaitaiStream.is_eof, KaitaiStream._read_bytes_not_aligned


def _is_eof(stream: KaitaiStream) -> Any:
    work.step()
    return _stock_is_eof(stream)


def _read(stream: KaitaiStream, size: int) -> Any:
    work.step()
    return _stock_read(stream, size)


KaitaiStream.is_eof, KaitaiStream._read_bytes_not_aligned = _is_eof, _read


class _Keeping:
    """How `mended` modules of ksc decode text: as stock ones, or keeping invalid bytes as kodec does."""

    keeps = False
    rotated = False

    def __call__(self, error: UnicodeError) -> Any:
        if self.keeps:
            return codecs.lookup_error("surrogateescape")(error)
        raise error


_keeping = _Keeping()
codecs.register_error("kept", _keeping)
_stock_rotate = KaitaiStream.process_rotate_left


def _rotate(data: bytes, amount: int, size: int) -> Any:
    """As ksc's Python rotates, which loses bits where it is by more than a byte: kept here, and noted."""
    if not 0 <= amount <= 8:
        _keeping.rotated = True
    return _stock_rotate(data, amount % 8, size)


KaitaiStream.process_rotate_left = staticmethod(_rotate)


@contextlib.contextmanager
def keeping() -> Iterator[None]:
    """Have `mended` modules of ksc keep invalid text."""
    _keeping.keeps = True
    try:
        yield
    finally:
        _keeping.keeps = False


_WORDS = "|".join(each for each in keyword.kwlist if each not in ("None", "True", "False"))
_RESERVED = re.compile(rf"(?<=[a-zA-Z_]\.)(?:{_WORDS})\b|^ +(?:{_WORDS})(?= = \d+$)", re.MULTILINE)


def mended(folder: Path) -> None:
    """Have the modules of ksc in a folder be imported, and keep the bytes of invalid text when asked to.

    ksc writes names that Python reserves, and backslashes in documentation. It refuses text that is not of
    its encoding, so the rest of its objects could not be compared.
    """
    for path in folder.glob("*.py"):
        text = KEPT.sub(r'.decode(\1, "kept")', path.read_text("utf-8"))
        text = _RESERVED.sub(r"\g<0>_", text).replace(r"\N", r"\\N").replace(r"\U", r"\\U")
        path.write_text(text, "utf-8")


@dataclasses.dataclass(frozen=True)
class Twin:
    """An object of each side, as an argument of a type."""

    mine: Any
    theirs: Any


class _Differs(Exception):
    """Where, and how."""


class _Enough(Exception):
    """More values than are compared."""


class Reader:
    """Both readers of one schema.

    Attributes:
        mixes_bits: whether bits of both orders may share a byte (`mixes_bits`).
    """

    def __init__(self, ours: type, theirs: type, arguments: dict[str, Any] | None = None) -> None:
        self.ours = ours
        self.theirs = theirs
        self.arguments = arguments or {}
        # with `ks-debug` a reader of ksc waits to be asked
        self.debug = hasattr(theirs, "SEQ_FIELDS")
        self.mixes_bits = False

    @classmethod
    def load(
        cls,
        package: Path,
        module: str,
        name: str,
        ksc: Path,
        stock: str,
        arguments: dict[str, Any] | None = None,
    ) -> Reader:
        """The classes from the folders of generated modules; raises what an import raises."""
        sys.path[:0] = [str(package.parent), str(ksc)]
        found = importlib.import_module(f"{package.name}.{module}")
        # a module of Python may have the name of one of ksc's, such as gzip
        other = sys.modules.get(stock)
        if other is not None and str(ksc) not in str(getattr(other, "__file__", "")):
            del sys.modules[stock]
        try:
            stock_module = importlib.import_module(stock)
        except Exception as error:
            raise NoOracle(f"ksc's module: {type(error).__name__}: {error}") from error
        finally:
            if other is not None:
                sys.modules[stock] = other
        title = "".join(part.capitalize() for part in stock.split("_"))
        return cls(getattr(found, name), getattr(stock_module, title), arguments)

    def read_ours(self, data: bytes) -> Any:
        given = [self._side(value, "mine") for value in self.arguments.values()]
        return self.ours.from_bytes(data, *given, opt=OPTIONS, exact=False)  # type: ignore[attr-defined]  # generated

    def _side(self, value: Any, side: str) -> Any:
        if isinstance(value, list):
            return [self._side(each, side) for each in value]
        return getattr(value, side) if isinstance(value, Twin) else value

    def read_theirs(self, data: bytes) -> Any:
        """Raises: whatever ksc's Python does; Endless."""
        work.each = STEPS + STEPS_OF_BYTE * len(data)
        with work.bounded():
            given = [self._side(value, "theirs") for value in self.arguments.values()]
            found = self.theirs(*given, KaitaiStream(io.BytesIO(data)))
            if self.debug:
                found._read()
            return found

    def judge(self, data: bytes, nodes: int = NODES) -> Finding:
        """Both readers on the same bytes; no more than a number of values are compared."""
        _keeping.rotated = False
        found = self._judge(data, nodes)
        if found.verdict == "agree" and _keeping.rotated:
            found = dataclasses.replace(found, notes=(*found.notes, Note("laxer", "", ROTATED)))
        if found.verdict == "wrong" and self.mixes_bits:
            # what follows such a byte is at another place, too
            return Finding("laxer", found.reason, (Note("laxer", "", BITS_OF_BOTH_ORDERS),))
        return found

    def _judge(self, data: bytes, nodes: int) -> Finding:
        mine = theirs = None
        my_error: FormatError | None = None
        their_error: Exception | None = None
        try:
            mine = self.read_ours(data)
        except FormatError as error:
            my_error = error
        except Exception as error:
            return Finding("crash", _said(error))
        try:
            theirs = self.read_theirs(data)
        except Exception as error:
            their_error = error
        if isinstance(their_error, UnicodeDecodeError) and not _keeping.keeps:
            # the same again with a reader that keeps such bytes: everything else has to be equal
            found = self._kept(data, nodes)
            if found is not None:
                verdict = "laxer" if found.verdict == "agree" and found.both is None else found.verdict
                return dataclasses.replace(found, verdict=verdict)
        if my_error is not None and their_error is not None:
            places = f"{_place(my_error.path)} / {_where(their_error)}"
            return Finding("agree", both=Note("both", places, "both refuse the sample"))
        if my_error is not None:
            why = why_stricter(my_error) or (ABSENT_INSTANCE if _absent_at(my_error, theirs) else None)
            note = Note("stricter", _place(my_error.path), why or "")
            return Finding("stricter" if why else "wrong", f"refused: {my_error}", (note,) if why else ())
        comparison = _Comparison(nodes)
        cut = False
        if their_error is not None:
            why = why_laxer(their_error, mine)
            note = Note("laxer", _where(their_error), why or "")
            reason = f"ksc refuses {note.member}: {_said(their_error)}"
            return Finding("laxer" if why else "wrong", reason, (note,) if why else ())
        try:
            comparison.same(mine, theirs, "")
        except _Differs as error:
            if isinstance(error.__cause__, UnicodeDecodeError) and not _keeping.keeps:
                # an expression of an instance compares such bytes
                found = self._kept(data, nodes)
                if found is not None and found.verdict == "agree":
                    return dataclasses.replace(found, verdict="laxer")
            return Finding("wrong", str(error))
        except _Enough:
            cut = True
        except Exception as error:
            return Finding("crash", _said(error))
        if any(note.why == ESCAPED for note in comparison.notes) and not _keeping.keeps:
            found = self._kept(data, nodes)
            if found is not None:
                return found
        return Finding(
            "agree",
            notes=tuple(sorted(comparison.notes)),
            refused=tuple(sorted(comparison.both)),
            values=comparison.nodes,
            members=frozenset(comparison.members_seen),
            cut=cut,
        )

    def _kept(self, data: bytes, nodes: int) -> Finding | None:
        """The comparison with ksc's reader keeping invalid text; None where its module cannot (`mended`)."""
        with keeping():
            found = self._judge(data, nodes)
        unkept = found.both is None and any(note.why == ESCAPED for note in found.notes)
        return None if unkept else found

    def written(self, data: bytes) -> Finding:
        """The result of writing what was read, with all its instances."""
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
            if isinstance(error, LimitExceeded) and error.limit == WITHOUT_BYTES:
                return Finding("refused", str(error))
            return Finding("differs", str(error))
        return Finding("differs", f"{len(data)} -> {len(made)} bytes")

    def edited(self, data: bytes, drawn: random.Random) -> Finding | None:
        """The result of writing what was read with one field changed; None if no field can be changed."""
        try:
            value = self.read_ours(data)
        except FormatError:
            return None
        node, name = _changeable(value, drawn)
        if node is None:
            return None
        place = f"{type(node).__qualname__}.{name} = {_change(node, name, drawn)!r:.40}"
        follows = node._follows if isinstance(node, StreamNode) else getattr(node, "_computed", ())
        try:
            made = value.to_bytes()
        except EncodeError as error:
            return Finding("refused", str(error))
        except Exception as error:
            return Finding("crash", f"{place}: {_said(error)}")
        try:
            again = self.read_ours(made)
        except FormatError as error:
            return Finding("differs", f"{place}: {error}: {data.hex()[:200]}")
        if again == value or same(again, value):
            return Finding("read again equal", place)
        # a writer computes what follows from fields that are present, whatever it holds
        computed = name in follows and again.to_bytes() == made
        return Finding("computed" if computed else "differs", f"{place}: {data.hex()[:200]}")


def _changeable(value: Any, drawn: random.Random) -> tuple[Any, str]:
    """A field of plain content in an object, or in one within it, and the object that has it; or None."""
    found = [
        (node, name)
        for node in _nodes(value)
        for name in _read_fields(type(node))
        if isinstance(content := getattr(node, name), (int, float))
        or (isinstance(content, (str, bytes)) and content)
    ]
    return drawn.choice(found) if found else (None, "")


def _change(node: Any, name: str, drawn: random.Random) -> Any:
    """Put another value of the same size into a field."""
    old = getattr(node, name)
    new: Any
    if isinstance(old, bool):
        new = not old
    elif isinstance(old, float):
        new = 0.5 if old != 0.5 else 2.0
    elif isinstance(old, int):
        new = drawn.choice((old + 1, old - 1, 0 if old else 1))
    elif isinstance(old, str):
        new = "".join(drawn.choice("abz09") for _ in old)
    else:
        new = drawn.randbytes(len(old))
    setattr(node, name, new)
    return new


def _read_fields(kind: type) -> list[str]:
    """The fields that a class reads, without its parameters."""
    names = [spec.name for spec in dataclasses.fields(kind)]  # type: ignore[arg-type]  # generated
    if not issubclass(kind, StreamNode):
        return names
    steps = dis.get_instructions(kind._read)
    return [name for name in names if name in {each.argval for each in steps if each.opname == "STORE_ATTR"}]


# -- rules ----------------------------------------------------------------------------------------


def why_stricter(error: FormatError) -> str | None:
    """The rule of docs/kaitai-differences.md by which we refuse what ksc reads; None if there is none."""
    have = error.have
    match error:
        case LimitExceeded(limit="bytes present") if error.need > have:  # type: ignore[operator]  # numbers
            return "a count beyond the bytes"
        case LimitExceeded(limit="depth" | "elements" | "decompressed_bytes" as limit):
            return f"the limit `{limit}`"
        case Malformed(reason="bytes are left over after the field's content"):
            return "bytes are left over"
        case Malformed(reason="negative count") if isinstance(have, int) and have < 0:
            return "a negative count"
        case Malformed(reason="an expression shifts by too many bits") if (
            isinstance(have, int) and abs(have) > MOST_SHIFT
        ):
            return "a shift by more than 128 bits"
        case Malformed() if error.reason.startswith("an expression needs a ") and re.match(
            r"[A-Z]\w*$", str(have)
        ):
            return "a cast to another type"
        case Malformed() if re.match("an expression needs element -", error.reason):
            return "a negative index"
        case Malformed(reason="an argument is not there"):
            return "an absent argument"
        case Unsupported(reason="bits of the byte before were left when an instance was read"):
            return "bits behind an instance"
    return None


def mixes_bits(model: Model) -> bool:
    """Whether bits of both orders may share a byte, the order of which is undefined: those of one order do
    not fill one, as far as a schema shows, and others may follow.
    """
    structs = [struct for schema in model.schemas for struct in schema.structs]
    orders = {kind.endian for struct in structs for each in struct.fields for kind in _bits(each)}
    # what holds a type may go on with bits
    held = {each.target for struct in structs for spec in struct.fields for each in refs(spec.type)}
    return len(orders) > 1 and any(_leaves_bits(struct, struct.name in held) for struct in structs)


def _leaves_bits(struct: Struct, goes_on: bool) -> bool:
    """Whether bits of one order that are not whole bytes, or may not be, come before those of the other."""
    whole, order = True, ""
    bits = 0
    for spec in struct.fields:
        kinds = _bits(spec)
        if not kinds:
            whole, bits = True, 0  # anything else begins at a whole byte
        for kind in kinds:
            if kind.endian != order and not (whole and bits % 8 == 0):
                return True
            if kind.endian != order:
                whole, order, bits = True, kind.endian, 0
            bits += kind.width
            sure = spec.repeat is None and spec.condition is None and spec.type is kind
            whole = whole and (kind.width % 8 == 0 or sure)
    return goes_on and not (whole and bits % 8 == 0)


def _bits(spec: Field) -> list[Bits]:
    return [each for each in types_in(spec.type) if isinstance(each, Bits)]


def why_laxer(error: BaseException, mine: Any) -> str | None:
    """The rule by which ksc refuses what we read as `mine`; None if there is none."""
    match error:
        case UnicodeDecodeError() if _has(mine, lambda value: isinstance(value, str) and _escaped(value)):
            return ESCAPED
        case IndexError() if "self._raw_" in _line(error) or "_io__raw_" in _line(error):
            return NO_CASE
        case AttributeError(name="is_eof") if not isinstance(error.obj, KaitaiStream):
            return "a type to which ksc passes something else than a stream"
        case AttributeError(name="_is_le"):
            return "a byte order that is not known yet"
        case AttributeError() if isinstance(error.obj, KaitaiStruct) and _absent_in(mine, error):
            return "a value that is absent"
        case TypeError() if _has(mine, lambda value: value is None):
            return "a value that is absent"
        case RecursionError() | MemoryError() | OverflowError() | Endless():
            return f"ksc's {type(error).__name__}"
    if type(error).__name__ == "UndecidedEndiannessError":
        return "a byte order for which there is no case"
    return None


def _escaped(text: str) -> bool:
    return any("\udc80" <= sign <= "\udcff" for sign in text)


def _absent_in(mine: Any, error: AttributeError) -> bool:
    """Whether a field that ksc's object lacks is absent in ours."""
    name = attribute(error.name or "")
    kinds = [*_nodes(mine)]
    return any(hasattr(each, name) and getattr(each, name) is None for each in kinds)


def _nodes(value: Any) -> Iterator[Any]:
    """The objects in a value, by their fields: instances are not read."""
    todo = [value]
    for _ in range(NODES):
        if not todo:
            return
        at = todo.pop()
        if isinstance(at, list):
            todo += at
        elif dataclasses.is_dataclass(at):
            yield at
            todo += [getattr(at, spec.name) for spec in dataclasses.fields(at) if spec.compare]


def _has(value: Any, test: Callable[[Any], bool]) -> bool:
    """Whether a field in a value, or what an instance gave that was read, is so."""
    if test(value) or (isinstance(value, list) and any(map(test, value))):
        return True
    for node in _nodes(value):
        values = [getattr(node, spec.name) for spec in dataclasses.fields(node)]
        values += list((getattr(node, "_values", None) or {}).values())
        for each in values:
            if any(map(test, each)) if isinstance(each, list) else test(each):
                return True
    return False


def _frames(trace: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _inner(error: BaseException) -> tuple[FrameType, int] | None:
    """The innermost frame of ksc's generated code."""
    found = None
    for frame, line in _frames(error.__traceback__):
        if isinstance(frame.f_locals.get("self"), KaitaiStruct):
            found = frame, line
    return found


def _line(error: BaseException) -> str:
    found = _inner(error)
    return "" if found is None else linecache.getline(found[0].f_code.co_filename, found[1] or 0)


def _where(error: BaseException) -> str:
    """The member at which ksc's code failed: its class, and the field of the line, or the instance."""
    found = _inner(error)
    if found is None:
        return ""
    frame, _ = found
    name = frame.f_code.co_name
    if name == "_read" or name == "__init__":
        assigned = re.match(r"\s*self\.(?:_raw_+|_unnamed)?(\w+?)(?:\.append\(| = )", _line(error))
        name = assigned[1] if assigned else name
    return f"{type(frame.f_locals['self']).__qualname__}.{name}"


def _place(path: str) -> str:
    """The end of the path of an error, without the indexes of lists."""
    return ".".join(re.sub(r"\[\d+\]", "", path).split(".")[-2:])


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
    """Two objects walked side by side: the members of ksc's, in the order in which it reads them."""

    def __init__(self, most: int = NODES) -> None:
        self.most = most
        self.nodes = 0
        self.most_work = work.done + INSTANCES * work.each
        # pairs of objects, which are kept: the id of one that is gone may be that of another
        self.seen: dict[tuple[int, int], tuple[Any, Any]] = {}
        self.partners: dict[int, Any] = {}
        # the class of ours for each of ksc's, and the other way round
        self.kinds: dict[type, type] = {}
        self.notes: set[Note] = set()
        self.both: set[Note] = set()
        self.members_seen: set[str] = set()
        # instances that ksc has refused, by object
        self.refused: set[tuple[int, str]] = set()

    def same(self, mine: Any, theirs: Any, path: str) -> None:
        self.nodes += 1
        work.done += 1
        if self.nodes > self.most or work.done > self.most_work:
            raise _Enough
        if isinstance(theirs, KaitaiStream):
            if (mine.pos, mine.size) != (theirs.pos(), theirs.size()):
                raise _Differs(f"{path}: a stream of {mine.size} bytes != one of {theirs.size()}")
        elif dataclasses.is_dataclass(mine):
            if not (isinstance(theirs, KaitaiStruct) or type(theirs) is type(mine)):
                raise _Differs(f"{path}: {_short(mine)} != {_short(theirs)}")
            if (id(mine), id(theirs)) in self.seen or path.count(".") > 2 * DEPTH:
                return
            self.seen[id(mine), id(theirs)] = mine, theirs
            self.placed(mine, theirs, path)
            self.members(mine, theirs, path)
        elif isinstance(mine, list):
            if isinstance(theirs, list) and len(theirs) < len(mine):
                # elements of a switch that have no case: ksc leaves them out
                mine = [each for each in mine if each is not None]
                self.notes.add(Note("laxer", _place(path), NO_CASE))
            if not isinstance(theirs, list) or len(mine) != len(theirs):
                raise _Differs(f"{path}: {_short(mine)} != {_short(theirs)}")
            for index, (first, second) in enumerate(zip(mine, theirs, strict=True)):
                self.same(first, second, f"{path}[{index}]")
        elif isinstance(mine, float) and type(theirs) is int and mine == theirs:
            self.notes.add(Note("laxer", _place(path), WHOLE))
        elif not _equal(mine, theirs):
            raise _Differs(f"{path}: {_short(mine)} != {_short(theirs)}")

    def placed(self, mine: Any, theirs: Any, path: str) -> None:
        """That both are of one type, in the same stream at the same place, and have the same parent."""
        pair = type(mine), type(theirs)
        if pair != (self.kinds.setdefault(pair[1], pair[0]), self.kinds.setdefault(pair[0], pair[1])):
            raise _Differs(f"{path}: {pair[0].__qualname__} != {pair[1].__qualname__}")
        if not (isinstance(mine, StreamNode) and isinstance(theirs, KaitaiStruct)):
            return
        self.partners[id(mine)] = theirs
        known = self.partners.get(id(mine._parent), theirs._parent)
        if (mine._parent is None) != (theirs._parent is None) or known is not theirs._parent:
            raise _Differs(f"{path}._parent: {_short(mine._parent)} != {_short(theirs._parent)}")
        if mine._io is not None:
            self.same(mine._io, theirs._io, f"{path}._io")

    def members(self, mine: Any, theirs: Any, path: str) -> None:
        """Every field, parameter and instance of ksc's object; then that ours has no others."""
        fields, instances = _members(theirs)
        for name in fields:
            if not hasattr(mine, attribute(name)):
                raise _Differs(f"{path}.{name}: ksc has it, ours has not")
            self.same(getattr(mine, attribute(name)), getattr(theirs, name), f"{path}.{name}")
            self.members_seen.add(f"{type(theirs).__qualname__}.{name}")
        known = {attribute(name) for name in fields}
        for spec in dataclasses.fields(mine):
            first = getattr(mine, spec.name)
            absent = None if isinstance(mine, StreamNode) else spec.default
            if spec.name not in known and first != absent:
                raise _Differs(f"{path}.{spec.name}: {_short(first)}, ksc has none")
        for name in instances:
            self.instance(mine, theirs, name, f"{path}.{name}")

    def instance(self, mine: Any, theirs: Any, name: str, path: str) -> None:
        if not hasattr(type(mine), attribute(name)):
            raise _Differs(f"{path}: ksc has it, ours has not")
        failed: FormatError | None = None
        first = second = None
        try:
            first = getattr(mine, attribute(name))
        except FormatError as error:
            failed = error
        member = f"{type(theirs).__qualname__}.{name}"
        try:
            with work.bounded():
                second = getattr(theirs, name)
        except Exception as error:
            _forget_halves(error)
            if isinstance(mine, StreamNode) and isinstance(theirs, KaitaiStruct):
                # one without a position leaves the stream where it failed
                theirs._io.seek(mine._io.pos)
            why = None if failed is not None else why_laxer(error, first) or self.asks_refused(theirs, name)
            self.refused.add((id(theirs), name))
            if failed is None and why is None:
                raise _Differs(f"{path}: ksc refuses: {_said(error)}, ours is {_short(first)}") from error
            if why is not None:
                self.notes.add(Note("laxer", member, why))
            if failed is not None:
                self.both.add(Note("both", member, "both refuse the instance"))
            return
        if failed is not None:
            why = why_stricter(failed) or (ABSENT_INSTANCE if _absent(failed, theirs) else None)
            if why is None:
                raise _Differs(f"{path}: refused: {failed}")
            self.notes.add(Note("stricter", member, why))
            return
        try:
            self.same(first, second, path)
            if second is not None:
                self.members_seen.add(member)
            return
        except _Differs:
            # ksc has read again what it refused before, from where the stream stands now
            why = self.asks_refused(theirs, name)
            if why is None:
                raise
            self.refused.add((id(theirs), name))
            self.notes.add(Note("laxer", member, why))
            return

    def asks_refused(self, theirs: Any, name: str) -> str | None:
        """The rule for an instance whose expression asks for one of its object that ksc has refused."""
        found = getattr(type(theirs), name, None)
        asked = found.fget.__code__.co_names if isinstance(found, property) and found.fget else ()
        return ASKS_REFUSED if any((id(theirs), each) in self.refused for each in asked) else None


def _equal(mine: Any, theirs: Any) -> bool:
    """Whether two plain values are the same: kinds of numbers, names of enums, and bits of floats too."""
    if isinstance(theirs, enum.Enum):
        named = isinstance(mine, enum.Enum) and mine.name.lower().strip("_") == theirs.name.lower().strip("_")
        return named and mine == (theirs if isinstance(theirs, int) else theirs.value)
    if isinstance(mine, enum.Enum):
        return False  # ksc has no member for the number
    if isinstance(mine, float) and isinstance(theirs, float):
        both_nan = math.isnan(mine) and math.isnan(theirs)
        return both_nan or struct.pack(">d", mine) == struct.pack(">d", theirs)
    plain = bool, int, float, str, bytes
    kinds = {next((each for each in plain if isinstance(value, each)), None) for value in (mine, theirs)}
    return len(kinds) == 1 and bool(mine == theirs)


def _members(value: Any) -> tuple[list[str], list[str]]:
    """The fields (with parameters) and the instances of ksc's object; those of ours, where it is one."""
    if isinstance(value, StreamNode):
        fields = [spec.name for spec in dataclasses.fields(value)]
    elif dataclasses.is_dataclass(value):
        return [spec.name for spec in dataclasses.fields(value)], []
    else:
        fields = [name for name in vars(value) if name[0] != "_" or name.startswith("_unnamed")]
    kind = type(value)
    own = [name for each in kind.__mro__ for name, found in vars(each).items() if isinstance(found, property)]
    return fields, [name for name in dict.fromkeys(own) if name[0] != "_"]


def _absent(failed: FormatError, theirs: Any) -> bool:
    """Whether an expression needed an instance that is absent, which ksc's Python takes for None."""
    name = failed.path.rpartition(".")[2]
    found = getattr(type(theirs), name, None)
    return failed.reason == ABSENT and isinstance(found, property) and getattr(theirs, name) is None


def _absent_at(failed: FormatError, theirs: Any) -> bool:
    """`_absent` for an error with a path from the root, of an object on it that has such an instance."""
    found = False
    for step in re.findall(r"[^.\[\]]+", failed.path):
        found = found or _absent(failed, theirs) or _absent(failed, getattr(theirs, "_parent", None))
        try:
            theirs = theirs[int(step)] if step.isdigit() else getattr(theirs, step)
        except (AttributeError, IndexError, TypeError):
            break
    return found


def _forget_halves(error: BaseException) -> None:
    """Have ksc's objects read again the instances that `error` ended, from where their streams stood before.

    ksc keeps what it had of them, such as the first elements of a list, and gives that to who asks next;
    and it leaves the stream where it failed.
    """
    for frame, _ in reversed([*_frames(error.__traceback__)]):
        code, given = frame.f_code, frame.f_locals.get("self")
        # Ours keep nothing of what failed, and have slots.
        if hasattr(given, "__dict__") and isinstance(getattr(type(given), code.co_name, None), property):
            vars(given).pop(f"_m_{code.co_name}", None)
            if "_pos" in frame.f_locals:
                frame.f_locals.get("io", given._io).seek(frame.f_locals["_pos"])


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
            for name in (name for names in _members(at) for name in names):
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


def inputs(bases: list[tuple[bytes, int, int]], seed: str) -> Iterator[tuple[str, bytes]]:
    """The bytes to read: each base, changed and cut so many times; more often if it is short."""
    draw = random.Random(seed)
    for base, changes, cuts in bases:
        yield "whole", base
        for cut in _cuts(len(base), draw, cuts):
            yield "cut", base[:cut]
        for _ in range(changes):
            changed = bytearray(base)
            for _ in range(draw.choice((1, 1, 1, 2, 4))):
                if changed:
                    changed[draw.randrange(min(len(changed), 4096))] = draw.choice(
                        (0, 1, 255, 127, 128, draw.randrange(256))
                    )
            yield "changed", bytes(changed)


def _cuts(size: int, draw: random.Random, most: int) -> list[int]:
    if size <= 1.6 * most:
        return list(range(size))
    return sorted(draw.sample(range(size), most if size < 4096 else min(most, 12)))


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


@dataclasses.dataclass
class Tally:
    """What came of all inputs of a schema.

    Attributes:
        verdicts: how many inputs came to which; those that both refuse are apart.
        reasons: what is wrong, or not written back.
        back: what came of writing back.
        edited: what came of writing with a field changed.
        notes: what rules explain.
        members: the members that were compared.
        values: how many values were.
    """

    verdicts: Counter[str] = dataclasses.field(default_factory=Counter)
    reasons: list[str] = dataclasses.field(default_factory=list)
    back: Counter[str] = dataclasses.field(default_factory=Counter)
    edited: Counter[str] = dataclasses.field(default_factory=Counter)
    notes: set[Note] = dataclasses.field(default_factory=set)
    members: set[str] = dataclasses.field(default_factory=set)
    values: int = 0

    def __iadd__(self, other: Tally) -> Tally:
        self.verdicts += other.verdicts
        self.reasons += other.reasons
        self.back += other.back
        self.edited += other.edited
        self.notes |= other.notes
        self.members |= other.members
        self.values += other.values
        return self


def judge(
    reader: Reader,
    sample: bytes | None,
    seed: str,
    most_work: int,
    others: Sequence[bytes] = (),
    *,
    inner: bool = False,
    edits: int = 0,
) -> Tally:
    """Both readers on a test's own bytes (generated ones without it) and on others; cut and changed too.

    Of an `inner` type there are only the others, and less of each. No more inputs are read when so much
    `work` is done. In each whole input so many fields are changed, one at a time (`edits`).
    """
    tally = Tally()
    stop = work.done + most_work
    bases = [(each, 5, 5) if inner else (each, 8, 20) for each in others if len(each) <= LARGEST]
    bases += [(each, 0, 0) for each in others if len(each) > LARGEST]
    if sample is not None:
        bases.insert(0, (sample, 20, 40))
    elif not inner:
        bases += [(led(reader, base), 4, 40) for base in _made(random.Random(seed))]
    for what, data in inputs(bases, seed):
        found = reader.judge(data)
        tally.verdicts["both refuse" if found.both is not None else found.verdict] += 1
        tally.verdicts["cut short"] += found.cut
        tally.notes.update(found.notes)
        tally.members |= found.members
        tally.values += found.values
        if data is sample:
            tally.notes.update(found.refused if found.both is None else (found.both,))
        if found.verdict in ("wrong", "crash") and len(tally.reasons) < 5:
            tally.reasons.append(f"{found.verdict} on {what} bytes: {found.reason}")
        if what != "cut" and found.verdict in ("agree", "laxer"):
            made = reader.written(data)
            tally.back[made.verdict] += 1
            if what == "whole" and made.verdict in ("refused", "differs", "crash"):
                tally.reasons.append(f"written back: {made.verdict}: {made.reason}")
            elif made.verdict == "crash":
                tally.reasons.append(f"written back: crash: {made.reason}")
        for index in range(edits if what == "whole" and found.verdict == "agree" else 0):
            changed = reader.edited(data, random.Random(f"{seed}{index}"))
            if changed is not None:
                tally.edited[changed.verdict] += 1
                if changed.verdict in ("differs", "crash"):
                    tally.reasons.append(f"edited: {changed.verdict}: {changed.reason}")
        work.done += INPUT
        if work.done > stop:
            tally.verdicts["ended early"] += 1
            break
    return tally
