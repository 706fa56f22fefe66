"""Our dataclasses against the standard ones: made from the same statements, they behave the same."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from types import ModuleType

import pytest

from kodec.runtime import dataclass as ours
from tests.golden import Golden

SOURCE = """
from __future__ import annotations
from typing import ClassVar

@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    made: list[int] = field(default_factory=list, hash=False)
    KIND: ClassVar[str] = "point"

@dataclass(slots=True)
class Counter:
    number: int = 0
    hidden: int = field(default=1, repr=False, compare=False)
    later: str = field(init=False, default="x")
    unset: str = field(init=False)

    def __post_init__(self) -> None:
        self.number += 1

@dataclass(slots=True)
class Longer(Counter):
    more: tuple[int, ...] = ()
    number: int = 5

@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    b: int = 1
    a: int

@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Hashed:
    key: bytes | None
    value: float = 0.0

@dataclass(frozen=True)
class Open:
    x: int = 1

@dataclass
class Empty:
    pass

@dataclass(slots=True)
class Own:
    x: int = 1
    def __eq__(self, other: object) -> bool:
        return True
    def __hash__(self) -> int:
        return 7
    def __repr__(self) -> str:
        return "own"

class Base:
    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)
    def __repr__(self) -> str:
        return "base"

@dataclass(slots=True, eq=False, repr=False)
class Kept(Base):
    x: int = 1

@dataclass(frozen=True, eq=False)
class Identity:
    x: int = 1
"""
NAMES = ("Point", "Counter", "Longer", "Named", "Hashed", "Open", "Empty", "Own", "Kept", "Identity")


def module(name: str, made_by: ModuleType) -> ModuleType:
    found = ModuleType(name)
    sys.modules[name] = found
    vars(found).update(dataclass=made_by.dataclass, field=made_by.field)
    exec(compile(SOURCE, name, "exec"), vars(found))
    return found


OURS, THEIRS = module("made_by_us", ours), module("made_by_python", dataclasses)
CALLS = [
    (), (1,), (1, 3), (1, 3, [4]), (1, 2, 3, 4), {"x": 1}, {"x": 1, "y": 5}, {"a": 1}, {"a": 1, "b": 2},
    {"key": b"k"}, {"key": None, "value": 2.5}, {"number": 3, "more": (1,)}, {"unknown": 1},
]  # fmt: skip


def outcome(kind: type, call: object) -> object:
    try:
        made = kind(**call) if isinstance(call, dict) else kind(*call)
    except TypeError as error:
        return str(error)
    try:
        hashed: object = hash(made) == hash(copy.copy(made))
    except TypeError as error:
        hashed = str(error)
    return [
        repr(made), made == copy.copy(made), made == object(), hashed, hasattr(made, "__dict__"),
        pickle.loads(pickle.dumps(made)) == made,
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_objects_are_the_same(name: str) -> None:
    for call in CALLS:
        if name in ("Counter", "Longer"):  # a field without a value has no copy and no repr
            continue
        assert outcome(getattr(OURS, name), call) == outcome(getattr(THEIRS, name), call), call


@pytest.mark.parametrize("name", NAMES)
def test_classes_are_the_same(name: str) -> None:
    mine, theirs = getattr(OURS, name), getattr(THEIRS, name)
    assert str(inspect.signature(mine)) == str(inspect.signature(theirs))
    assert mine.__match_args__ == theirs.__match_args__
    # ours is a dict of each name to its docstring, for `help`
    assert tuple(getattr(mine, "__slots__", ())) == getattr(theirs, "__slots__", ())
    shown = ("name", "type", "init", "repr", "compare", "kw_only", "default_factory")
    assert dataclasses.is_dataclass(mine) and ours.is_dataclass(mine)
    assert [[getattr(each, at) for at in shown] for each in dataclasses.fields(mine)] == [
        [getattr(each, at) for at in shown] for each in dataclasses.fields(theirs)
    ]
    for kind in (mine, theirs):
        assert [each.name for each in ours.fields(kind)] == [each.name for each in dataclasses.fields(kind)]
        assert [each.default is ours.MISSING for each in ours.fields(kind)] == [
            each.default is dataclasses.MISSING for each in dataclasses.fields(kind)
        ]


def test_after_init_and_without_a_value(golden: Golden) -> None:
    for made in (OURS, THEIRS):
        counter = made.Counter(1, 2)
        assert (counter.number, counter.hidden, counter.later) == (2, 2, "x")
        assert not hasattr(counter, "unset")
        longer = made.Longer()
        assert (longer.number, longer.more) == (6, ())
        counter.unset = longer.unset = "y"
        golden(repr(counter))
        golden(repr(longer))
        assert counter != longer
        with pytest.raises(TypeError, match="unhashable"):
            hash(counter)


def test_frozen_objects_stay() -> None:
    for made in (OURS, THEIRS):
        for value in (made.Point(1), made.Open()):
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
                value.x = 2
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
                del value.x


@pytest.mark.parametrize("replace", [ours.replace, dataclasses.replace])
def test_a_copy_with_changes(replace) -> None:
    assert replace(OURS.Point(1, 3), x=2) == OURS.Point(2, 3)
    assert dataclasses.asdict(OURS.Point(1)) == {"x": 1, "y": 2, "made": []}
    with pytest.raises(TypeError, match="nothing"):
        replace(OURS.Point(1), nothing=1)
    # the standard library: a ValueError before Python 3.13
    error = TypeError if replace is ours.replace or sys.version_info >= (3, 13) else ValueError
    with pytest.raises(error, match="init=False"):
        replace(OURS.Counter(), later="z")


def test_a_standard_dataclass_may_extend_one_of_ours() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class More(OURS.Point):
        z: int = 9

    assert repr(More(1)).endswith("More(x=1, y=2, made=[], z=9)")


def test_a_value_that_holds_itself(golden: Golden) -> None:
    point = OURS.Point(1)
    point.made.append(point)
    golden(repr(point))


def test_the_standard_module_is_not_imported_to_make_and_use_one() -> None:
    code = (
        "import sys; from kodec.runtime.fields import ReadOptions;"
        "from kodec.runtime.dataclass import replace;"
        "assert replace(ReadOptions(), depth=3) == ReadOptions(depth=3); repr(ReadOptions());"
        "print('dataclasses' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
