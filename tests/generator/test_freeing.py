"""Objects of streamed schemas are freed when nobody has them, and stay while somebody has a part of them."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from kodec.runtime import streams
from kodec.runtime.errors import EncodeError, Malformed, Truncated
from kodec.runtime.native import native_module

SCHEMA = """
meta: {id: x}
seq:
- {id: n, type: u1}
- {id: rows, type: row, repeat: expr, repeat-expr: n}
types:
  row:
    seq:
    - {id: size, type: u1}
    - {id: body, size: size, type: body}
  body:
    seq: [{id: a, type: u1}, {id: b, size-eos: true}]
    instances:
      up: {value: _parent.size + _root.n}
      first: {pos: 0, type: u1, io: _root._io}
      part: {pos: 0, type: part}
  part: {seq: [{id: c, type: u1}, {id: d, type: inner}]}
  inner: {seq: [{id: e, size: _parent.c & 1}]}
"""
DATA = b"\2\3abc\2de"


@pytest.fixture(autouse=True, params=["native", "pure"])
def _reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(streams, "native_module", lambda _: None)
    elif native_module("streams") is None:
        pytest.skip("the native reader was not built here, or KODEC_PURE=1")


@pytest.fixture
def x(codec: Callable[[dict[str, str]], ModuleType]) -> Any:
    """The class of the schema's outermost type."""
    return codec({"x.ksy": SCHEMA}).X


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def used(found: Any) -> Any:
    """Ask for all instances, and for what is around each object."""
    for row in found.rows:
        assert row._parent is row._root is found
        assert (row.body.up, row.body.first) == (row.size + found.n, found.n)
        assert row.body.part.d._parent._parent is row.body
    return found


def left_to_the_collector(x: Any) -> list[object]:
    """What the collector finds of the schema's objects and of their streams: others leave theirs late."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    owners = (x.__module__, "kodec.runtime.streams", "kodec.runtime.errors")
    try:
        gc.collect()
        found = [each for each in gc.garbage if type(each).__module__.startswith(owners)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    return found


def test_the_collector_is_asked(x: Any) -> None:
    found = x.from_bytes(DATA)
    found.n = [found]
    del found
    assert left_to_the_collector(x)


def test_nothing_is_left_to_the_collector(x: Any) -> None:
    used(x.from_bytes(DATA)).to_bytes()
    gc.collect()
    found = used(x.from_bytes(DATA))
    gone = [weakref.ref(each) for each in (found, found.rows[1], found.rows[0].body.part.d)]
    del found
    assert [each() for each in gone] == [None] * 3
    with pytest.raises(Truncated):
        x.from_bytes(b"\2\3abc\2\1")
    assert not left_to_the_collector(x)


PARTS: dict[str, Callable[[Any], Any]] = {
    "an object": lambda found: found.rows[1],
    "an object of that": lambda found: found.rows[1].body,
    "an object that an instance has": lambda found: found.rows[1].body.part.d,
    "a list": lambda found: found.rows,
    "an iterator of a list": lambda found: iter(found.rows),
    "two objects": lambda found: [found.rows[1].body, found.rows[0]],
}


@pytest.mark.parametrize("part", PARTS)
def test_what_is_around_a_part_stays(part: str, x: Any) -> None:
    found = x.from_bytes(DATA)
    gone = weakref.ref(found)
    have = PARTS[part](found)
    del found
    for each in (have,) if hasattr(have, "_root") else have:
        root = each._root
        assert root is gone() and used(root).to_bytes() == DATA
    del have, each, root
    # the next reading looks whether somebody still has a part
    x.from_bytes(b"\0")
    assert gone() is None


def test_a_part_that_is_kept_for_long_holds_what_is_around_it(x: Any) -> None:
    found = x.from_bytes(DATA)
    gone = weakref.ref(found)
    row = found.rows[1]
    del found
    for _ in range(9):
        x.from_bytes(b"\0")
    assert not streams._staying
    assert row._root is gone() and used(row._root).to_bytes() == DATA
    del row
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_the_collector_looks_too(x: Any) -> None:
    found = x.from_bytes(DATA)
    gone = weakref.ref(found)
    row = found.rows[1]
    del found
    gc.collect()
    assert row._root is gone()
    del row
    gc.collect()
    assert gone() is None


def test_a_part_that_was_taken_out_stays_with_what_it_holds(x: Any) -> None:
    found = x.from_bytes(DATA)
    row = found.rows.pop()
    body = row.body
    assert (body.up, row._parent) == (4, found)
    del row
    assert (body.up, body._parent._parent) == (4, found)


def test_without_the_whole_a_part_that_was_taken_out_says_so(x: Any) -> None:
    found = x.from_bytes(DATA)
    row = found.rows.pop()
    del found
    assert (row.size, row.body.a, row.body._parent) == (2, 100, row)
    for act in (lambda: row._parent, lambda: row._root, lambda: row.body.up, lambda: row.body.first):
        with pytest.raises(Malformed, match=r"_(parent|root): it was freed"):
            act()
    with pytest.raises(EncodeError, match="it was freed"):
        row.to_bytes()


def test_new_objects_are_freed_and_stay_too(x: Any) -> None:
    kinds = sys.modules[x.__module__]
    found = x(n=1, rows=[kinds.Row(size=2, body=kinds.Body(a=1, b=b"b"))])
    assert found.to_bytes() == b"\1\2\1b"
    body = found.rows[0].body
    del found
    assert body._root.to_bytes() == b"\1\2\1b" and body.up == 3


def test_elements_that_are_read_one_by_one_hold_what_is_around_them(x: Any) -> None:
    rows = list(x.each_of(DATA, "rows"))
    assert [each.body.up for each in rows] == [5, 4] and rows[0]._parent is rows[1]._root
    gone = weakref.ref(rows[0]._parent)
    del rows
    assert gone() is None


@pytest.mark.parametrize("way", [copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_copies_hold_what_is_around_them(way: Callable[[Any], Any], x: Any) -> None:
    found = x.from_bytes(DATA)
    again = way(found.rows[1].body)
    shallow = copy.copy(found.rows[0])
    assert shallow._parent is shallow._root is found
    del found
    assert (again.up, again._root.to_bytes(), shallow.body.up) == (4, DATA, 5)


def test_a_subclass_with_an_end_of_its_own(x: Any) -> None:
    ends = []

    class Own(x):  # type: ignore[misc]
        def __del__(self) -> None:
            ends.append(self.n)
            super().__del__()

    row = used(Own.from_bytes(DATA)).rows[1]
    assert ends == [2] and row._root.n == 2 and row.body.up == 4
    del row
    gc.collect()
    assert ends == [2]


def test_deep_objects_are_freed(codec: Callable[[dict[str, str]], ModuleType]) -> None:
    text = "meta: {id: x}\nseq: [{id: n, type: u1}, {id: x, type: x, if: n > 0}]\n"
    kind: Any = codec({"x.ksy": text}).X
    found = kind.from_bytes(b"\1" * 90 + b"\0")
    gone = weakref.ref(found.x.x.x)
    inner = found.x.x.x.x
    del found
    assert inner._parent is gone()
    inner = None
    gc.collect()
    assert gone() is None


def test_cycles_that_users_make_are_collected(x: Any) -> None:
    """Of objects that hold numbers and bytes alone, too, which the collector does not look at."""
    found = x.from_bytes(DATA)
    inner = found.rows[0].body.part.d
    gone = weakref.ref(inner)
    inner.e = [inner]
    del found, inner
    x.from_bytes(b"\0")
    assert gone() is not None
    for _ in range(4):
        gc.collect()
    assert gone() is None


def test_threads_that_keep_parts(x: Any) -> None:
    problems: list[BaseException] = []

    def work() -> None:
        try:
            for number in range(200):
                found = x.from_bytes(DATA)
                body = found.rows[number % 2].body
                del found
                assert body.up == body._parent.size + 2
        except BaseException as error:
            problems.append(error)

    before = gc.get_threshold()
    gc.set_threshold(20, 2, 2)
    gc.enable()
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        gc.set_threshold(*before)
    assert not problems


def test_memory_of_many_reads() -> None:
    """In a process of its own: what others allocate does not count there."""
    code = f"""
import gc, pickle, tracemalloc
from kodec.formats.cache import modules_of
kind = modules_of({{"x.ksy": {SCHEMA!r}.encode()}}, streams=True).module("x").X
data = bytes([200]) + b"\\3abc" * 200
def read():
    found = kind.from_bytes(data)
    for row in found.rows:
        row.body.up, row.body.part.d
read()
gc.collect()
gc.disable()
tracemalloc.start()
for _ in range(30):
    read()
print(tracemalloc.get_traced_memory()[0])
row = kind.from_bytes(data).rows[1]
again = pickle.loads(pickle.dumps(row))
assert row.body.up == again.body.up == 203 and row._root == again._root and row._root.n == 200
"""
    for pure in ("", "1"):
        said = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={**os.environ, "KODEC_PURE": pure},
        )
        # nothing but what the loop's variable kept at the end
        assert int(said.stdout) < 500_000 and said.stderr == b""
