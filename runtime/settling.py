"""What a writer computes of what it writes: sizes, counts and other fields that follow from content.

Bytes are written in passes. Where a size does not fit what is written, the field that it follows from is
changed, and all is written again, until nothing changes. Then every field is what it was before. Modules of
streamed schemas write so at once, others when their objects do not fit as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, NoReturn

from kodec.runtime.dataclass import fields, is_dataclass
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import DEFAULT_WRITE, WriteOptions

__all__ = ["Settling", "Solve", "choose", "doubted", "note", "noted", "settle", "settled", "teach", "want"]

_MOST_PASSES = 64

Solve = Callable[[Any], Iterable[Any]]
"""Of a size that is wanted: (object, member, what it has to be), and of a list the index; or None."""
Key = tuple[int, str]
"""A field of an object, by the object's identity."""
_Change = tuple[Any, str, Any, int | None]
"""An object, its field, what that becomes, and of a list the index of what does."""


class Settling:
    """What has changed in the objects that are being written.

    Attributes:
        journal: what fields were before they were changed.
        blank: the fields that were not given and are not computed yet, with what an error calls them.
        changes: the changes of this pass.
        doubtful: whether this pass left a check to the last one, which is `strict`.
        number: what is in numbers that are not known yet.
        lists: the lists in the place of those that are not known yet, by their identity.
        taught: by object and parameter, how what the parameter is computed of follows from it.
        notes: by object and field, lengths that objects do not have, as they are written.
    """

    __slots__ = ("blank", "changes", "doubtful", "journal", "lists", "notes", "number", "strict", "taught")

    def __init__(self) -> None:
        self.strict = False
        self.journal: dict[Key, tuple[Any, Any]] = {}
        self.blank: dict[Key, str] = {}
        self.number = 0
        self.lists: dict[int, list[int]] = {}
        self.taught: dict[Key, Solve] = {}
        self.notes: dict[Key, int] = {}
        self.begin()

    def begin(self) -> None:
        """Begin a pass."""
        self.doubtful = False
        self.changes: list[tuple[Key, object, object, str]] = []

    def resumes(self) -> bool:
        """Whether a pass that failed is worth another one, for more than what has changed."""
        return False

    def run(self, write: Callable[[], bytes]) -> bytes:
        """The bytes, in as many passes as it takes. Raises: EncodeError, FormatError."""
        before: list[Any] = []
        for _ in range(_MOST_PASSES):
            self.begin()
            try:
                data = write()
            except (EncodeError, FormatError):
                if self.resumes():
                    continue
                if not self.changes:
                    if self.try_another():
                        continue
                    raise
                data = b""
            if not self.changes and self.doubtful and not self.strict:
                self.strict = True
                continue
            if not self.changes:
                for path in self.blank.values():
                    raise EncodeError(path, "not given, and it does not follow from what is written")
                return data
            if self.changes == before:
                self._contradicted()
            before = self.changes
        return self._contradicted()

    def _contradicted(self) -> NoReturn:
        """Raise EncodeError for a field that several things want to be different."""
        for key, *_ in self.changes:
            names = list(dict.fromkeys(by for other, _, _, by in self.changes if other == key and by))
            if key in self.journal:
                node, old = self.journal[key]
                who = " and ".join(names)
                raise EncodeError(
                    f"{type(node).__name__}.{key[1]}", f"no value of it is right for {who}", have=old
                )
        raise EncodeError("", "what it is computed of changes with it")

    # -- which fields ---------------------------------------------------------------------------------

    def ways(self, found: Iterable[Any]) -> list[list[_Change]]:
        """Each way to have what is wanted: the fields that change, with what they become.

        Value instances and parameters follow from others. A list in `found` is of what changes together.
        """
        ways: dict[tuple[Any, ...], list[_Change]] = {}
        for each in found:
            for way in self._ways(each):
                ways.setdefault(tuple((id(node), name, at) for node, name, _, at in way), way)
        return list(ways.values())

    def _ways(self, found: Any) -> Iterator[list[_Change]]:
        if isinstance(found, list):
            parts = [list(self._ways(each)) for each in found]
            if all(len(part) == 1 for part in parts):
                yield [change for (way,) in parts for change in way]
        elif found is not None and found[0] is not None:
            node, name, value, *index = found
            solver = self.way_of(node, name)
            if solver is not None:
                for each in solver(value):
                    yield from self._ways(each)
            elif self.may_change(node, name):
                yield [(node, name, value, index[0] if index else None)]

    def way_of(self, node: Any, name: str) -> Solve | None:
        """How what a member is computed of follows from it; None of a field."""
        return self.taught.get((id(node), name))

    def may_change(self, node: Any, name: str) -> bool:
        """Whether a member is a field that follows from others."""
        return name in getattr(type(node), "_follows", ())

    def get(self, node: Any, field: str) -> Any:
        """The value of a field."""
        return getattr(node, field)

    def put(self, node: Any, field: str, value: Any) -> None:
        """Set a field."""
        setattr(node, field, value)

    # -- what they become -----------------------------------------------------------------------------

    def settle(
        self,
        name: str,
        wanted: Any,
        stated: Any,
        solve: Solve | None,
        reason: str,
        unit: str = "",
        of: str = "",
    ) -> None:
        """Have the field change from which `stated` follows, so that it is `wanted`.

        Raises: EncodeError where there is no such field, where there are several, or where it is of no use.
        """
        ways = [] if solve is None else self.ways(solve(wanted))
        need, have = f"{stated}{unit}" if unit else stated, f"{wanted}{unit}" if unit else wanted
        if len(ways) > 1:
            blank = [way for way in ways if any((id(each[0]), each[1]) in self.blank for each in way)]
            others = {key for key, _, _, by in self.changes if by != name}
            free = [way for way in ways if not any((id(each[0]), each[1]) in others for each in way)]
            ways = blank if len(blank) == 1 else free or ways
        if len(ways) > 1:
            names = sorted({f"`{field}`" for way in ways for _, field, _, _ in way})
            text = f"{reason}, and it follows from {' and '.join(names)}: set one of them to None"
            raise EncodeError(name, text, need=need, have=have)
        if not ways or not sum(self.change(*each, name) for each in ways[0]):
            hint = f", and it cannot be computed: set {of}" if of else ""
            raise EncodeError(name, reason + hint, need=need, have=have)

    def change(self, node: Any, field: str, value: Any, index: int | None, by: str) -> bool:
        """Set a field; False where it has the value already."""
        key = (id(node), field)
        old = self.get(node, field)
        new = value
        if index is not None:
            new = list(old)
            if not 0 <= index <= len(new):
                return False
            new[index : index + 1] = [value]
        if isinstance(old, int) and not isinstance(old, bool) and not isinstance(new, bool):
            new = _like(old, new)
        self.blank.pop(key, None)
        if new == old and type(new) is type(old):
            return False
        self.journal.setdefault(key, (node, old))
        self.put(node, field, new)
        self.changes.append((key, index, repr(value), by))
        return True

    def choose(self, name: str, value: object, on: object, cases: dict[type, Any], solve: Solve) -> None:
        """See that the case of an object's class is chosen, if one case alone has it; else change the field.

        `cases` are the values of such cases, by class.
        """
        wanted = cases.get(type(value))
        if wanted is None:
            return
        if on == wanted:
            self.satisfied(wanted, solve)
        else:
            self.settle(name, wanted, on, solve, f"a {type(value).__name__} has another case")

    def satisfied(self, need: object, solve: Solve | None) -> None:
        """A size is what it has to be: what it follows from is computed, if it was not given."""
        if self.blank and solve is not None:
            for way in self.ways(solve(need)):
                for node, field, _, _ in way:
                    self.blank.pop((id(node), field), None)

    def fill(self, node: Any, field: str, blank: object) -> None:
        """Put something into a field that was not given, until what it follows from is written."""
        key = (id(node), field)
        if key not in self.journal:
            self.journal[key] = node, None
            self.blank[key] = f"{type(node).__name__}.{field}"
        found = blank() if callable(blank) else list(blank) if isinstance(blank, list) else blank
        if found == []:
            self.lists[id(found)] = found
        self.put(node, field, self.number if type(found) is int else found)

    def try_another(self) -> bool:
        """Put another number where nothing is known yet: 0 may mean something of its own."""
        if self.number or not self.blank:
            return False
        self.number = 2
        for (_, field), (node, _) in self.journal.items():
            if (id(node), field) in self.blank and type(self.get(node, field)) is int:
                self.put(node, field, self.number)
        return True

    def restore(self) -> None:
        """Have all fields be what they were."""
        for (_, field), (node, old) in self.journal.items():
            self.put(node, field, old)


def _like(old: int, new: Any) -> Any:
    """A number as a member of the enum of what it replaces, where it has one."""
    kind = type(old)
    if kind is not int and isinstance(new, int):
        try:
            return kind(new)
        except ValueError:
            return new
    return new


# -- objects of layouts -------------------------------------------------------------------------------


class _Options(WriteOptions):
    """The options of a writer whose fields are computed."""

    __slots__ = ("state",)
    settling: ClassVar[bool] = True
    state: Settling


def settled(value: Any, write: Callable[..., None], opt: WriteOptions, *args: Any) -> bytes:
    """What `write` appends for `value`; sizes that do not fit it are computed. Raises: EncodeError."""
    out = bytearray()
    try:
        write(out, value, opt, *args)
        return bytes(out)
    except (EncodeError, TypeError):
        # a number may be None
        return _settled(Settling(), value, write, opt, args)


def noted(value: Any, name: str, write: Callable[..., None], *args: Any) -> int | None:
    """A length that an object does not have, as `write` computes it; None if it is not written.

    Raises: EncodeError.
    """
    state = Settling()
    _settled(state, value, write, DEFAULT_WRITE, args)
    return state.notes.get((id(value), name))


def _settled(
    state: Settling, value: Any, write: Callable[..., None], opt: WriteOptions, args: tuple[Any, ...]
) -> bytes:
    options = _Options(opt.level)
    object.__setattr__(options, "state", state)
    try:
        _fill(value, state)
        return state.run(partial(_written, write, value, options, args))
    finally:
        state.restore()


def _written(write: Callable[..., None], value: Any, opt: WriteOptions, args: tuple[Any, ...]) -> bytes:
    out = bytearray()
    write(out, value, opt, *args)
    return bytes(out)


def _fill(value: Any, state: Settling) -> None:
    """Put something into all fields that are None, and follow from others."""
    todo = [value]
    seen = set[int]()
    while todo:
        at = todo.pop()
        if isinstance(at, (list, tuple)):
            todo += at
        elif is_dataclass(at) and id(at) not in seen:
            seen.add(id(at))
            for field, blank in getattr(type(at), "_follows", {}).items():
                if getattr(at, field) is None:
                    state.fill(at, field, blank)
            todo += [getattr(at, each.name) for each in fields(at)]


def settle(
    opt: WriteOptions,
    name: str,
    wanted: int,
    stated: int,
    solve: Solve | None,
    reason: str,
    unit: str = "",
    of: str = "",
) -> None:
    """A size or a count is `stated`, and has to be `wanted`: compute what it follows from.

    `of` are the fields that it is computed of. Raises: EncodeError where nothing is computed.
    """
    if not isinstance(opt, _Options):
        Settling().settle(name, wanted, stated, None, reason, unit, of)
    elif wanted == stated:
        opt.state.satisfied(wanted, solve)
    else:
        opt.state.settle(name, wanted, stated, solve, reason, unit, of)


def choose(
    opt: WriteOptions, name: str, value: object, on: object, cases: dict[type, Any], solve: Solve
) -> None:
    """Compute what chooses a case, where one case alone has the class of an object."""
    if isinstance(opt, _Options):
        opt.state.choose(name, value, on, cases, solve)


def want(opt: WriteOptions, name: str, given: object, there: object, solve: Solve, *, optional: bool) -> None:
    """Compute the flag of a field: true where it has a value, false where an `optional` one is None."""
    if not isinstance(opt, _Options):
        return
    given, there = bool(given), bool(there)
    if given == there or not (given or optional):
        opt.state.satisfied(there, solve)
    else:
        reason = "given, but its condition does not hold" if given else "not given"
        opt.state.settle(name, given, there, solve, reason)


def doubted(opt: WriteOptions) -> bool:
    """Whether a field that breaks its rule may still be computed: then the last pass compares it."""
    if not isinstance(opt, _Options) or opt.state.strict:
        return False
    opt.state.doubtful = True
    return True


def note(opt: WriteOptions, value: object, name: str, size: int) -> None:
    """Note a length that is written."""
    if isinstance(opt, _Options):
        opt.state.notes[id(value), name] = size


def teach(opt: WriteOptions, node: object, ways: dict[str, Solve]) -> None:
    """Note for parameters of an object what they are computed of."""
    if isinstance(opt, _Options):
        opt.state.taught.update({(id(node), name): solve for name, solve in ways.items()})
