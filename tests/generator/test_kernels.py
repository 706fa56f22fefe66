"""Native kernels of schemas that are not Kafka's give what the generated Python readers give."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import re
import shlex
import shutil
import struct
import subprocess
import sys
import sysconfig
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import crc32c
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kodec.generator.driver import generate
from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.native import include_dir
from tests.data import TESTS

from .compilers import CC, CORES, ROOT, STRICT, assert_strict, compile_all, needs_cc

FORMATS = TESTS / "generator/formats_rows"
PRIMITIVES = [
    ROOT / "schemas" / "primitives" / f"{name}.ksy" for name in ("varint", "varlong", "unsigned_varint")
]
NO_CHECK = ReadOptions(check_crc=False)
PACKAGE = "kodec_rows_made"
KERNELS = ["weather", "telegrams"]


def schemas(folder: Path) -> Path:
    """A folder with the schemas of this test and those they import."""
    folder.mkdir(parents=True)
    for path in (*FORMATS.glob("*.ksy"), *PRIMITIVES):
        shutil.copy(path, folder)
    return folder


def package(folder: Path, name: str) -> Callable[[str], ModuleType]:
    """Import modules of a folder that was generated, as `kodec_rows_made.<its name>`."""
    for full, path in ((PACKAGE, folder.parent), (name, folder), (f"{name}.kernels", folder / "kernels")):
        if full not in sys.modules:
            spec = importlib.machinery.ModuleSpec(full, None, is_package=True)
            spec.submodule_search_locations = [str(path)]
            sys.modules[full] = importlib.util.module_from_spec(spec)
    return lambda module: importlib.import_module(f"{name}.{module}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], ModuleType]]:
    """`made("kernels.weather")` is a module that was generated, and compiled."""
    if not CC:
        pytest.skip("no C compiler: gcc, clang, cc or ziglang")
    root = tmp_path_factory.mktemp("rows")
    generate(schemas(root / "schemas"), root / "made", kernels=KERNELS)
    compile_all(root / "made" / "kernels", KERNELS)
    yield package(root / "made", f"{PACKAGE}.made")
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


# -- reading by a kernel, and by the Python readers -------------------------------------------------

Rows = list[dict[str, Any]]


def plain(value: Any) -> Any:
    """A value that compares as its bits do: NaN is NaN, and 0.0 is not -0.0."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    return {name: plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def listed(column: Any) -> list[Any]:
    """The values of a column; of text the bytes, of times the numbers."""
    if pa.types.is_string(column.type):
        # as it was stored, be it UTF-8 or not
        column = column.cast(pa.binary())
    if not pa.types.is_list(column.type):
        column.validate(full=True)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_list(column.type):
        items = column.values
        fields = {field.name: listed(items.field(index)) for index, field in enumerate(items.type)}
        rows = [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]
        bounds = column.offsets.to_pylist()
        return [rows[start:stop] for start, stop in pairwise(bounds)]
    return list(column.to_pylist())


def table(rows: Any) -> Rows:
    """What a kernel gathered, which Arrow finds nothing wrong with."""
    count, not_ascii = len(rows), rows.not_ascii
    found = pa.array(rows.take())
    found.validate()
    assert len(found) == count
    columns = {field.name: listed(column) for field, column in zip(found.type, found.flatten(), strict=True)}
    if not columns:
        return [{}] * count
    texts = [*columns.get("note", []), *columns.get("text", [])]
    texts += [item["name"] for items in columns.get("samples", []) for item in items]
    assert not_ascii or all(text.isascii() for text in texts)
    return [plain(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def native(module: Any, data: bytes, **options: Any) -> tuple[Rows, str, int]:
    """The rows, why the kernel stopped, and where."""
    rows, at, found = module.Rows(**options), 0, []
    while True:
        status, at = rows.run(data, at, len(data))
        if status == "full":
            found += table(rows)
            continue
        if status != "compressed":
            return found + table(rows), status, at
        codec, start, size = rows.content
        try:
            content = decompress(codec, data[start : start + size], limit=1 << 20)
        except FormatError:
            return found + table(rows), "content", at
        status = rows.rows(content)
        if status != "ok":
            return found + table(rows), status, at
        start, size = rows.unit
        at = start + size


def pure(module: Any, data: bytes, options: ReadOptions = ReadOptions()) -> tuple[Rows, bool, int]:
    """The rows that can be columns, whether all is well, and where the first unit is that is not."""
    read, columns = read_weather_rows, weather_rows
    if not hasattr(module, "read_weather"):
        read, columns = read_telegram, telegram_rows
    found: Rows = []
    at = 0
    while at < len(data):
        try:
            unit, end = read(module, data, at, options)
            rows = columns(unit)
        except (FormatError, OverflowError):
            return found, False, at
        found += rows
        at = end
    return found, True, at


def read_weather_rows(module: Any, data: bytes, at: int, options: ReadOptions) -> tuple[Any, int]:
    head, end = module.read_weather_head(data, at, len(data), options)
    if head.flags.is_test:
        return head, end  # such rows are passed over unread
    return cast("tuple[Any, int]", module.read_weather(data, at, len(data), options))


def read_telegram(module: Any, data: bytes, at: int, options: ReadOptions) -> tuple[Any, int]:
    return cast("tuple[Any, int]", module.read_telegram(data, at, len(data), options))


def fits(value: int, bits: int = 64, *, signed: bool = True) -> int:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    if not low <= value < high:
        raise OverflowError
    return value


SAME = (
    *(
        "a1",
        "a2",
        "a4",
        "a8",
        "b1",
        "b2",
        "b4",
        "b8",
        "c2",
        "c4",
        "c8",
        "d2",
        "d4",
        "d8",
        "e4",
        "e8",
        "g4",
        "g8",
    ),
    *("is_wet", "level", "wide", "v32", "v64", "w32", "station", "remark", "extra", "gust", "chill", "tail"),
)


def weather_rows(unit: Any) -> Rows:
    """The rows of a block, by the rules of the schema's `-row` written again."""
    found: Rows = []
    for r in [] if unit.flags.is_test else unit.readings:
        row = {name: getattr(r, name) for name in SAME}
        row |= {name: int(getattr(r, name)) for name in ("sky", "code", "before")}
        row |= {"note": r.note.encode("utf-8", "surrogateescape")}
        row |= {"x": r.point.x, "label": r.point.label, "y": r.point.y}
        row["samples"] = [
            {
                "depth": s.depth,
                "heat": s.heat,
                "turns": s.turns,
                "is_odd": s.is_odd,
                "rest": s.rest,
                "name": s.name.encode("utf-8", "surrogateescape"),
                "raw": s.raw,
            }
            for s in r.samples
        ]
        row["time"] = fits(unit.base_time + r.delta)
        row["sum"] = fits(r.v64 + unit.span)
        row["difference"] = fits(r.v64 - r.v32)
        row["product"] = fits(r.v32 * r.b4)
        row["quotient"] = r.v64 // 7
        row["remainder"] = r.v64 % 7
        row["up"] = r.v32 << 5
        row["down"] = r.v64 >> 3
        row["both"] = r.v32 & 0xFF
        row["either"] = r.v32 | r.a4
        row["one"] = r.v32 ^ r.a4
        row["minus"] = -r.v32
        row["inverse"] = ~r.v64
        row["less"] = int(r.v32 < r.v64 or r.v32 == 3)
        row["small"] = fits(r.v32 if -5 <= r.v32 <= 5 else 9, 8)
        row["is_clear"] = unit.flags.season if r.sky == 0 else 4
        row["unsigned"] = fits(fits(r.a8) + 1)
        found.append(plain(row))
    return found


def telegram_rows(t: Any) -> Rows:
    row = {"number": t.number, "urgency": t.urgency, "sender": t.sender, "after": t.number + 1}
    row["text"] = t.text.encode("ascii", "surrogateescape")
    row["cost"] = t.cost
    return [] if t.kind == 9 else [row]


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def unsigned(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, 2**bits - 1)


FLOAT = st.floats(width=32)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


@st.composite
def readings(draw: st.DrawFn, weather: Any) -> Any:
    is_wet, level, sky = draw(st.booleans()), draw(unsigned(4)), draw(st.sampled_from([0, 1, 2, 5, 7]))
    numbers = {name: draw(unsigned(8 * int(name[1]))) for name in ("a1", "a2", "a4", "c2", "c4")}
    numbers |= {name: draw(signed(8 * int(name[1]))) for name in ("b1", "b2", "b4", "b8", "d2", "d4", "d8")}
    numbers |= {"c8": draw(unsigned(64)), "a8": draw(st.one_of(st.integers(0, 2**63 - 2), unsigned(64)))}
    return weather.Reading(
        delta=draw(unsigned(32)),
        **numbers,
        e4=draw(FLOAT),
        g4=draw(FLOAT),
        e8=draw(st.floats()),
        g8=draw(st.floats()),
        is_wet=is_wet,
        level=level,
        sky=sky,
        wide=draw(unsigned(24)),
        v32=draw(st.one_of(st.integers(-6, 6), signed(32))),
        v64=draw(st.one_of(st.integers(-(2**61), 2**61), signed(64))),
        w32=draw(unsigned(32)),
        station=draw(st.binary(min_size=3, max_size=3)),
        code=draw(unsigned(16)),
        note=draw(TEXT),
        remark=draw(st.none() | st.binary(max_size=200)),
        extra=draw(signed(32)) if is_wet else -7,
        gust=draw(st.floats()) if level > 7 else 0.5,
        chill=draw(FLOAT) if level > 3 else -2.25,
        before=draw(unsigned(8)) if level > 5 else 5,
        tail=draw(st.binary(min_size=level, max_size=level)) if sky else None,
        point=weather.Point(
            draw(signed(16)), draw(st.binary(min_size=2, max_size=2)), draw(st.integers(-9000, 9000))
        ),
        samples=draw(st.lists(samples(weather), max_size=3)),
    )


def samples(weather: Any) -> st.SearchStrategy[Any]:
    return st.builds(
        weather.Sample,
        depth=unsigned(16),
        heat=FLOAT,
        turns=signed(32),
        is_odd=st.booleans(),
        rest=unsigned(7),
        name=TEXT,
        raw=st.none() | st.binary(max_size=100),
    )


@st.composite
def blocks(draw: st.DrawFn, weather: Any) -> Any:
    flags = weather.Flags(
        spare=draw(unsigned(3)),
        is_test=draw(st.sampled_from([False, False, True])),
        season=draw(unsigned(2)),
        compression=draw(st.sampled_from([0, 0, 1, 2, 3])),
        checks=draw(st.integers(0, 15)),
    )
    return weather.Weather(
        serial=draw(unsigned(64)),
        flags=flags,
        place=draw(st.binary(min_size=6, max_size=6)),
        base_time=draw(st.one_of(st.integers(0, 2**60), signed(64))),
        span=draw(unsigned(32)),
        scale=draw(st.floats()),
        lowest=draw(FLOAT),
        reserved=draw(unsigned(32)),
        readings=draw(st.lists(readings(weather), max_size=4)),
    )


def some_blocks(weather: Any) -> bytes:
    """Two blocks that hold something of everything, the second one compressed."""
    sample = weather.Sample(depth=7, heat=0.5, turns=-3, is_odd=True, rest=5, name="\u20ac", raw=b"raw")
    full = weather.Reading(
        delta=5, a8=9, is_wet=True, level=15, sky=1, v32=-9, v64=77, note="n\xf6te", remark=b"r", extra=1,
        gust=1.5, chill=2.5, before=1, tail=bytes(15), samples=[sample, weather.Sample()],
    )  # fmt: skip
    plain_block = weather.Weather(serial=2**64 - 1, span=9, readings=[full, weather.Reading(v32=4)])
    packed = weather.Weather(flags=weather.Flags(compression=1, season=3), readings=[weather.Reading(), full])
    return bytes(plain_block.to_bytes() + packed.to_bytes())


SETTINGS = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@SETTINGS
@given(st.data())
def test_rows_are_those_of_the_python_reader(made: Callable[[str], ModuleType], data: st.DataObject) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    units = [unit.to_bytes() for unit in data.draw(st.lists(blocks(weather), max_size=3))]
    whole = b"".join(units)
    expected, fine, stop = pure(weather, whole)
    found, status, at = native(kernel, whole, rows=data.draw(st.sampled_from([1, 2, 32768])))
    assert (found, status == "end", at) == (expected, fine, stop)
    columns = data.draw(st.lists(st.sampled_from(kernel.COLUMNS), unique=True))
    some, status, at = native(kernel, whole, columns=columns)
    assert (status == "end", at) == (fine, stop)
    assert some == [{name: row[name] for name in columns} for row in expected]


def test_every_column_is_there(made: Callable[[str], ModuleType]) -> None:
    kernel = made("kernels.weather")
    found, status, _ = native(kernel, some_blocks(made("weather")))
    assert status == "end" and len(found) == 4
    assert set(found[0]) == set(kernel.COLUMNS) and len(kernel.COLUMNS) == 55
    kinds = pa.array(kernel.Rows().take()).type
    shown = {field.name: str(field.type) for field in kinds}
    assert shown["time"] == "timestamp[us, tz=UTC]" and shown["small"] == "int8" and shown["less"] == "uint8"
    assert [shown[name] for name in ("a1", "a2", "a4", "a8", "wide")] == [
        "uint8", "uint16", "uint32", "uint64", "uint32",
    ]  # fmt: skip
    assert [shown[name] for name in ("b1", "b2", "b4", "b8", "v32", "v64", "w32")] == [
        "int8", "int16", "int32", "int64", "int32", "int64", "uint32",
    ]  # fmt: skip
    assert [shown[name] for name in ("e4", "g8", "is_wet", "note", "remark")] == [
        "float", "double", "bool", "string", "binary",
    ]  # fmt: skip
    assert [field.name for field in kinds if field.nullable] == ["remark", "tail"]
    assert shown["samples"].startswith("list<item: struct<depth: uint16 not null, heat: float not null")


def assert_like_pure(module: Any, kernel: Any, data: bytes, *, check: bool) -> None:
    """The same rows up to the first unit that is refused; what the kernel takes, the reader takes."""
    expected, fine, stop = pure(module, data, ReadOptions(check_crc=check))
    found, status, at = native(kernel, data, check=check)
    assert (found, status == "end", at) == (expected, fine, stop), status
    assert status in kernel.STATUSES or status == "content"


def test_a_log_that_is_cut_at_any_byte(made: Callable[[str], ModuleType]) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    whole = some_blocks(weather)
    for end in range(len(whole)):
        assert_like_pure(weather, kernel, whole[:end], check=True)


def test_a_flipped_bit_in_any_byte(made: Callable[[str], ModuleType]) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    whole = some_blocks(weather)
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 1 << at * 5 % 8
        assert_like_pure(weather, kernel, bytes(data), check=at % 2 == 0)


@SETTINGS
@given(st.data())
def test_any_damage_with_its_checksum_right(made: Callable[[str], ModuleType], data: st.DataObject) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    whole = bytearray(weather.Weather(readings=[data.draw(readings(weather))]).to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole)))
        whole[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    if len(whole) > 16 and data.draw(st.booleans()):
        struct.pack_into("<I", whole, 8, len(whole) - 12)
    if len(whole) > 16:
        struct.pack_into(">I", whole, 12, zlib.crc32(whole[16:]))
    assert_like_pure(weather, kernel, bytes(whole), check=True)
    assert_like_pure(weather, kernel, bytes(whole), check=False)


@SETTINGS
@given(st.binary(max_size=300), st.integers(0, 3))
def test_any_bytes_as_rows(made: Callable[[str], ModuleType], content: bytes, count: int) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    block = bytearray(weather.Weather(readings=content, num_readings=count).to_bytes())
    assert_like_pure(weather, kernel, bytes(block), check=True)


def test_blocks_that_are_not_for_users(made: Callable[[str], ModuleType]) -> None:
    weather, kernel = made("weather"), made("kernels.weather")

    def block(number: int, *, is_test: bool) -> bytes:
        made = weather.Weather(flags=weather.Flags(is_test=is_test), readings=[weather.Reading(a1=number)])
        return bytes(made.to_bytes())

    data = block(1, is_test=False) + block(2, is_test=True) + block(3, is_test=False)
    assert [row["a1"] for row in native(kernel, data)[0]] == [1, 3]
    assert [row["a1"] for row in native(kernel, data, everything=True)[0]] == [1, 2, 3]
    found, status, at = native(kernel, data, stop_at_hidden=True)
    assert ([row["a1"] for row in found], status, at) == ([1], "hidden", len(block(1, is_test=False)))


def test_blocks_outside_of_the_bounds_are_passed_over(made: Callable[[str], ModuleType]) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    deltas = [weather.Reading(delta=delta) for delta in (0, 5, 9)]
    data = weather.Weather(base_time=1000, span=9, readings=deltas).to_bytes()
    junk = bytearray(weather.Weather(base_time=2000, span=9, readings=deltas).to_bytes())
    junk[-1] ^= 1
    whole = bytes(data + junk)
    for first, last in ((None, None), (1005, 1999), (1006, 1006), (2010, None), (1009, 1009), (None, 1000)):
        found, status, _ = native(kernel, whole, bounds={"time": (first, last)})
        low, high = first or 0, 5000 if last is None else last
        assert [row["time"] for row in found] == [time for time in (1000, 1005, 1009) if low <= time <= high]
        # the last value of a block with fewer rows than values may be wrong: only its first one is sure
        assert status == ("checksum" if high >= 2000 else "end")
    dense = bytearray(weather.Weather(base_time=2000, span=2, readings=[deltas[0]] * 3).to_bytes())
    dense[-1] ^= 1
    assert native(kernel, bytes(data + dense), bounds={"time": (2003, None)})[1] == "end"
    found, _, _ = native(kernel, bytes(data), bounds={"v32": (1, None)})
    assert found == []
    with pytest.raises(ValueError, match="not a column of whole numbers"):
        kernel.Rows(bounds={"note": (1, 2)})


def test_limits_of_elements_and_sizes(made: Callable[[str], ModuleType]) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    reading = weather.Reading(samples=[weather.Sample()] * 3)
    data = bytes(weather.Weather(readings=[reading] * 2).to_bytes())
    for elements, status in ((8, "end"), (7, "limit"), (2, "limit"), (1, "limit")):
        assert native(kernel, data, elements=elements)[1] == status
    assert native(kernel, data, unit_bytes=len(data))[1] == "end"
    assert native(kernel, data, unit_bytes=len(data) - 1)[1] == "limit"


def test_heads_are_a_table(made: Callable[[str], ModuleType]) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    whole = bytearray(some_blocks(weather))
    first = weather.read_weather_head(bytes(whole), 0, len(whole))[1]
    whole[-1] ^= 1
    heads = kernel.Heads(check=True)
    assert heads.run(bytes(whole), 0, len(whole), 100) == ("end", len(whole))
    rows = pa.array(heads.take()).to_pylist()
    assert [row["position"] for row in rows] == [100, 100 + first]
    assert [row["size"] for row in rows] == [first, len(whole) - first]
    assert [row["checksum_ok"] for row in rows] == [True, False]
    for row, at in zip(rows, (0, first), strict=True):
        unit, _ = weather.read_weather_head(bytes(whole), at, len(whole), NO_CHECK)
        assert (row["serial"], row["span"], row["scale"]) == (unit.serial, unit.span, unit.scale)
        assert (row["compression"], row["is_test"], row["season"]) == (
            unit.flags.compression,
            False,
            unit.flags.season,
        )
        assert (row["time_first"], row["time_last"]) == (unit.base_time, unit.base_time + unit.span)


# -- rows without a container -----------------------------------------------------------------------


def telegram(number: int, text: bytes, *, urgency: int = 0, kind: int = 1, cost: int = 0) -> bytes:
    data = struct.pack(">IBb4s", number, kind, urgency, b"KDEC")
    data += struct.pack("<H", cost) + struct.pack(">H", len(text)) + text
    return data + struct.pack(">I", crc32c.crc32c(data))


def test_a_list_of_rows_without_a_container(made: Callable[[str], ModuleType]) -> None:
    telegrams, kernel = made("telegrams"), made("kernels.telegrams")
    data = telegram(1, b"one", cost=513) + telegram(2, b"test", kind=9) + telegram(2**32 - 1, b"", urgency=5)
    assert kernel.COLUMNS == ("number", "urgency", "sender", "cost", "text", "after")
    found, status, at = native(kernel, data)
    assert (status, at) == ("end", len(data))
    assert found == [
        {"number": 1, "urgency": 0, "sender": b"KDEC", "cost": 513, "text": b"one", "after": 2},
        {"number": 2**32 - 1, "urgency": 5, "sender": b"KDEC", "cost": 0, "text": b"", "after": 2**32},
    ]
    for end in range(len(data)):
        assert_like_pure(telegrams, kernel, data[:end], check=True)
    for at in range(len(data)):
        hit = bytearray(data)
        hit[at] ^= 1 << at % 8
        assert_like_pure(telegrams, kernel, bytes(hit), check=at % 3 > 0)
    for bounds, numbers in (((2, None), [2**32 - 1]), ((None, 1), [1]), ((2, 2), [])):
        assert [row["number"] for row in native(kernel, data, bounds={"number": bounds})[0]] == numbers


def test_a_field_more_is_a_column_more(tmp_path: Path) -> None:
    before = schemas(tmp_path / "before")
    after = schemas(tmp_path / "after")
    field = "      - {id: hops, type: s8le}\n      - id: len_text\n"
    text = (after / "telegrams.ksy").read_text().replace("      - id: len_text\n", field)
    (after / "telegrams.ksy").write_text(text.replace("        - cost\n", "        - cost\n        - hops\n"))
    for folder in (before, after):
        generate(folder, folder / "made", kernels=["telegrams"])
    names = []
    for folder in (before, after):
        module = (folder / "made/kernels/telegrams.c").read_text()
        names.append(re.findall(r'\{"(\w+)"', module.partition("columns[] = {")[2]))
    assert names[0][:6] == ["number", "urgency", "sender", "cost", "text", "after"]
    assert names[1][:7] == ["number", "urgency", "sender", "cost", "hops", "text", "after"]
    core = (after / "made/kernels/telegrams_core.c").read_text()
    assert '&c->hops, "l", "hops"' in core and "u->hops = (int64_t)kd_load_u8le(p" in core


def test_many_rows_at_once(made: Callable[[str], ModuleType]) -> None:
    weather, kernel = made("weather"), made("kernels.weather")
    rows = [weather.Reading(delta=at, level=at % 16, note="x" * (at % 3)) for at in range(20_000)]
    data = bytes(weather.Weather(readings=rows).to_bytes())
    found, status, _ = native(kernel, data, columns=["time", "level", "note"])
    assert status == "end"
    assert found == [{"time": r.delta, "level": r.level, "note": r.note.encode()} for r in rows]


@needs_cc
def test_modules_compile_without_a_warning(made: Callable[[str], ModuleType]) -> None:
    modules = [Path(str(made(f"kernels.{name}").__file__)).with_name(f"{name}.c") for name in KERNELS]
    modules += [core.with_name(core.name.replace("_core.c", ".c")) for core in CORES]
    headers = sysconfig.get_paths()["include"]
    for module in modules:
        line = [*CC[0], *STRICT, f"-I{include_dir()}", f"-isystem{headers}", str(module)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), f"{shlex.join(line)}\n{done.stderr}"


@needs_cc
def test_cores_of_other_schemas_are_plain_c(made: Callable[[str], ModuleType]) -> None:
    module = made("kernels.weather").__file__
    assert module is not None
    for core in Path(module).parent.glob("*_core.c"):
        assert_strict(core)
