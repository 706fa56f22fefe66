"""Calls the classes of the kernels in random order: tests/fuzz/kernel_calls.py [--examples N] [--steps N].

Whatever is called, with whatever arguments, the answer is a value or one of a few errors; what was given
stays as it was. It runs in a process of its own, as what it looks for would end it.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import random
from array import array
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import kodec
from kodec.generated.kernels import message_set, record_batch
from kodec.log.backends.native.order import LAYOUT
from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError
from kodec.runtime.native.bindings import Flattened, in_order, murmur2

MODULES = (record_batch, message_set)
REFUSALS = (ValueError, TypeError, OverflowError, BufferError, IndexError, KeyError, AttributeError)
KINDS = {"timestamp_type": {int(kind): kind for kind in kodec.TimestampType}}
SLOTS: dict[Any, Any] = {record_batch: None, message_set: {"headers": ()}}
ENOUGH = 16


def records(count: int) -> list[kodec.Record]:
    return [
        kodec.Record(
            offset=at,
            timestamp=1000 + at,
            key=b"k%d" % at if at % 2 else None,
            value=bytes(at * 7 % 90),
            headers=(("h", b"x"), ("", None))[: at % 3],
        )
        for at in range(count)
    ]


def logs() -> list[bytes]:
    found = [b"", b"\0" * 40, random.Random(1).randbytes(300)]
    for magic in (0, 1, 2):
        for codec in ("none", "gzip", "snappy", "lz4"):
            rows = records(9)
            for row in rows:
                row.headers = row.headers if magic == 2 else ()
                row.timestamp = row.timestamp if magic else -1
            whole = kodec.encode(rows, magic=magic, compression=codec, batch_records=4)
            broken = bytearray(whole)
            broken[len(whole) * 2 // 3] ^= 0x11
            # compressed by a codec that there is not, and by another than it is
            other = bytearray(whole)
            other[22 if magic == 2 else 17] ^= 0x07
            found += [whole, whole[:-5], bytes(broken), bytes(other)]
    return found


LOGS = logs()
CONTENTS = [b"", b"\0", LOGS[3], LOGS[5], *(data[61:] for data in LOGS if len(data) > 61 and data[16] == 2)]
BATCHES = [
    *pa.Table.to_batches(kodec.read_table(kodec.encode(records(30)))),
    *pa.Table.to_batches(kodec.read_table(kodec.encode(records(30))).slice(7, 11)),
    pa.record_batch({"offset": [1, 2]}),
    pa.record_batch({"offset": ["a"], "timestamp": [1], "key": [b""], "value": [b""], "headers": [[]]}),
    pa.record_batch({"nothing": pa.nulls(3)}),
]
BATCHES.append(BATCHES[0].drop_columns(["headers"]))

numbers = st.one_of(
    st.integers(0, 12), st.integers(-(2**65), 2**65), st.sampled_from([0, 61, 2**31, 2**63 - 1])
)
names = st.one_of(
    st.sampled_from([*record_batch.COLUMNS, *record_batch.HEADS, *message_set.HEADS]), st.text(max_size=3)
)
GOOD = [log for log in LOGS if len(log) > 100 and len(list(kodec.read_records(log, on_error="skip"))) == 9]
data = st.one_of(st.sampled_from(GOOD), st.sampled_from(LOGS)).flatmap(
    lambda log: st.sampled_from([log, bytearray(log), memoryview(log), memoryview(log)[len(log) // 3 :]])
)
anything = st.one_of(numbers, names, data, st.none(), st.sampled_from(BATCHES), st.sampled_from(CONTENTS))


class Plain:
    __slots__ = record_batch.COLUMNS


class More(kodec.Record):
    pass


def take_headers_away(objects: Any) -> None:
    for each in objects.items:
        each.headers = ()


class Loud:
    """A value that, when it is dropped, calls whatever there is."""

    def __init__(self, machine: KernelCalls, call: tuple[Any, ...]) -> None:
        self.machine = machine
        self.call = call

    def __del__(self) -> None:
        self.machine.ask(*self.call)


class KernelCalls(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.objects: list[Any] = []
        self.given: list[Any] = []
        self.views: list[tuple[memoryview, bytes]] = []
        self.lists: list[tuple[list[Any], list[Any]]] = []
        self.behind: list[Any] = []

    # -- what there is ----------------------------------------------------------------------------

    def ask(self, function: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except REFUSALS:
            return None
        except pa.ArrowException:
            return None

    def add(self, item: Any) -> None:
        """Another object; the first eight, one of each, stay."""
        if item is not None:
            self.objects = [*self.objects[:8], *self.objects[8:][-ENOUGH:], item]

    def pick(self, number: int, *able: str) -> Any:
        """One of the objects: of those that have one of these methods, where some are named."""
        fitting = [each for each in self.objects if not able or any(hasattr(each, name) for name in able)]
        return fitting[number % len(fitting)] if fitting else None

    @initialize()
    def one_of_each(self) -> None:
        for module in MODULES:
            self.add(module.Rows())
            self.add(module.Objects(module.Shape(kodec.Record, KINDS, SLOTS[module])))
            self.add(module.Heads(check=True))
            self.add(module.Writer())

    # -- making -----------------------------------------------------------------------------------

    @rule(
        module=st.sampled_from(MODULES),
        columns=st.one_of(
            st.none(), st.lists(st.sampled_from(record_batch.COLUMNS), unique=True), st.lists(names)
        ),
        options=st.fixed_dictionaries(
            {},
            optional={
                "check": st.booleans(),
                "everything": st.booleans(),
                "stop_at_hidden": st.booleans(),
                "rows": numbers,
                "nbytes": numbers,
                "unit_bytes": numbers,
                "elements": numbers,
                "bounds": st.dictionaries(
                    names, st.tuples(st.one_of(st.none(), numbers), st.none()), max_size=2
                ),
            },
        ),
    )
    def make_rows(self, module: Any, columns: Any, options: dict[str, Any]) -> None:
        self.add(self.ask(module.Rows, columns, **options))

    @rule(module=st.sampled_from(MODULES), check=st.booleans(), limit=numbers)
    def make_heads(self, module: Any, check: bool, limit: int) -> None:
        self.add(self.ask(module.Heads, check=check, unit_bytes=limit))

    @rule(
        module=st.sampled_from(MODULES),
        other=st.sampled_from(MODULES),
        elements=numbers,
        cls=st.sampled_from([kodec.Record, More, Plain, int]),
        kinds=st.sampled_from([None, KINDS, {"key": {}}]),
        others=st.sampled_from([None, {"headers": ()}, {"value": 1}]),
    )
    def make_objects(
        self, module: Any, other: Any, elements: int, cls: type, kinds: Any, others: Any
    ) -> None:
        shape = self.ask(module.Shape, cls, kinds, others)
        if shape is not None:
            self.add(self.ask(other.Objects, shape, elements=elements))
            self.add(self.ask(module.Objects, shape))

    @rule(module=st.sampled_from(MODULES))
    def make_writer(self, module: Any) -> None:
        self.add(module.Writer())

    @rule(number=st.integers(0, 100), arguments=st.lists(anything, max_size=3))
    def initialise_again(self, number: int, arguments: list[Any]) -> None:
        item = self.pick(number)
        if item is not None:
            self.ask(item.__init__, *arguments)

    # -- calling ----------------------------------------------------------------------------------

    @rule(
        number=st.integers(0, 100),
        method=st.sampled_from(
            [
                "run",
                "next",
                "rows",
                "cut",
                "values",
                "add",
                "take",
                "load",
                "set",
                "get",
                "unit",
                "forget",
                "size_of_last",
                "content",
                "where",
                "head",
                "items",
                "nbytes",
                "not_ascii",
                "__len__",
                "__arrow_c_array__",
            ]
        ),
        arguments=st.lists(anything, max_size=4),
    )
    def call(self, number: int, method: str, arguments: list[Any]) -> None:
        found = self.ask(getattr, self.pick(number), method)
        self.keep(self.ask(found, *arguments) if callable(found) else found)
        if method == "add":
            self.look_again()

    @rule(
        number=st.integers(0, 100),
        log=data,
        start=st.sampled_from([0, 0, 0, 1]),
        content=st.sampled_from(CONTENTS),
        watched=st.booleans(),
    )
    def read(self, number: int, log: Any, start: int, content: bytes, watched: bool) -> None:
        """As a reader would, with the right content and with any other."""
        item = self.pick(number, "run", "next")
        method = getattr(item, "run", None) or item.next
        at = start
        for _ in range(4):
            done = self.ask(method, log, at, len(log))
            self.ask(getattr, item, "content")
            self.keep(getattr(item, "items", None))
            if watched:
                self.keep(self.ask(getattr(item, "values", None), "offset", 0))
            if done is None:
                return
            status, at = done
            assert status in record_batch.STATUSES and start <= at <= len(log)
            if status == "compressed" and hasattr(item, "content"):
                codec, first, size = item.content
                assert first + size <= len(log)
                try:
                    right = decompress(codec, bytes(log[first : first + size]), limit=1 << 20)
                except FormatError:
                    right = content
                self.ask(item.rows, content)
                self.ask(item.rows, right)
                self.keep(getattr(item, "items", None))
                at = sum(item.unit)

    @rule(number=st.integers(0, 100), column=st.sampled_from(record_batch.COLUMNS), first=st.integers(0, 5))
    def look(self, number: int, column: str, first: int) -> None:
        self.keep(self.ask(self.pick(number, "values").values, column, first))

    @rule(number=st.integers(0, 100))
    def look_where_it_was(self, number: int) -> None:
        """What a view was of can be asked for another."""
        if self.views:
            view = self.views[number % len(self.views)][0]
            self.behind.append(view.obj)

    @rule(number=st.integers(0, 100))
    def look_behind(self, number: int) -> None:
        if self.behind:
            self.keep(self.ask(memoryview, self.behind[number % len(self.behind)]))

    @rule(
        number=st.integers(0, 100),
        batch=st.sampled_from(BATCHES),
        rows=st.tuples(numbers, numbers),
        packed=st.booleans(),
    )
    def write(self, number: int, batch: Any, rows: tuple[int, int], packed: bool) -> None:
        item = self.pick(number, "load")
        self.ask(item.load, batch)
        self.ask(item.rows, *rows)
        self.ask(item.rows, 0, batch.num_rows)
        self.ask(item.rows, 5, 18)
        self.ask(item.unit, b"abc" if packed else None)
        self.keep(self.ask(item.take))

    @rule(number=st.integers(0, 100), second=st.integers(0, 100), log=data)
    def drop_something_loud(self, number: int, second: int, log: Any) -> None:
        """A value in an object that will be filled again runs code when it is dropped."""
        item = self.pick(number, "items")
        for found in item.items:
            other = self.pick(second)
            for name in ("next", "run", "take", "forget"):
                method = getattr(other, name, None)
                if method is not None:
                    found.value = Loud(
                        self, (method, log, 0, len(log)) if name in ("next", "run") else (method,)
                    )
                    break
            loud = Loud(self, (take_headers_away, item))
            found.headers = ((loud, b"x"),) if second % 2 else (("h", loud), ("i", b""))
        self.ask(getattr(item, "next", str), log, 0, len(log))
        self.ask(getattr(item, "size_of_last", str), second)

    @rule(lists=st.lists(st.one_of(st.lists(numbers, max_size=3), st.none(), st.just("ab")), max_size=4))
    def flatten(self, lists: list[Any]) -> None:
        found = Flattened(iter(lists))
        expected = [item for each in lists if each is not None for item in each]
        got = []
        for _ in range(30):
            try:
                got.append(next(found))
            except StopIteration:
                break
            except TypeError:
                continue
        assert got == expected

    @rule(
        log=data,
        place=st.tuples(numbers, numbers),
        layout=st.one_of(st.just(LAYOUT), st.lists(numbers, min_size=9, max_size=9)),
        changed=st.tuples(st.integers(0, 8), st.one_of(st.none(), numbers)),
        bounds=st.tuples(numbers, numbers),
        gaps=st.booleans(),
    )
    def order(
        self,
        log: Any,
        place: tuple[int, int],
        layout: Any,
        changed: tuple[int, int | None],
        bounds: tuple[int, int],
        gaps: bool,
    ) -> None:
        at, number = changed
        layout = [number if number is not None and i == at else each for i, each in enumerate(layout)]
        for first, end in (place, (0, len(log))):
            found = self.ask(in_order, log, first, end, layout, *bounds, gaps)
            assert found is None or first <= found[0] <= end

    @rule(log=data, places=st.lists(st.integers(-2, 90), max_size=6), first=numbers, count=numbers)
    def hashes(self, log: Any, places: list[int], first: int, count: int) -> None:
        offsets = array("i", places)
        for start, many in ((first, count), (0, max(len(places) - 1, 0))):
            found = self.ask(murmur2, log, offsets, start, many, 7)
            assert found is None or len(found) == 4 * many

    # -- what was given ---------------------------------------------------------------------------

    def keep(self, found: Any) -> None:
        if isinstance(found, memoryview):
            self.views.append((found, bytes(found)))
        elif isinstance(found, list):
            self.lists.append((found, [getattr(each, "offset", None) for each in found]))
        elif type(found) is record_batch.Columns:
            self.given.append(found)

    def look_again(self) -> None:
        self.views = [(view, bytes(view)) for view, _ in self.views]

    @rule(number=st.integers(0, 100))
    def change_view(self, number: int) -> None:
        if self.views:
            view, before = self.views.pop(number % len(self.views))
            assert len(before) == view.nbytes
            if len(view):
                view[0] = view[-1]
            self.look_again()

    @rule(number=st.integers(0, 100))
    def convert(self, number: int) -> None:
        if self.given:
            columns = self.given[number % len(self.given)]
            made = self.ask(pa.array, columns)
            if made is not None:
                made.validate()
                made.to_pylist() if not made.type.get_field_index("headers") >= 0 else None

    @rule(which=st.integers(0, 100), what=st.sampled_from(["given", "views", "lists", "behind"]))
    def drop(self, which: int, what: str) -> None:
        there = getattr(self, what)
        if there:
            there.pop(which % len(there))

    @rule()
    def collect(self) -> None:
        gc.collect()

    @invariant()
    def nothing_given_changed(self) -> None:
        for held, offsets in self.lists:
            assert [getattr(each, "offset", None) for each in held] == offsets
        for view, before in self.views:
            assert bytes(view) == before

    def teardown(self) -> None:
        self.objects.clear()
        for view, _ in self.views:
            bytes(view)


def main() -> None:
    faulthandler.enable()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=300)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        KernelCalls,
        settings=settings(
            max_examples=options.examples,
            stateful_step_count=options.steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(f"{options.examples} runs of up to {options.steps} calls")


if __name__ == "__main__":
    main()
