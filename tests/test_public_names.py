"""What people see who explore kodec in Python: names, `help`, suggestions, and tables in notebooks."""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import pkgutil
import pydoc
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kodec
import kodec.generated
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.near import meant
from kodec.runtime.public import published
from kodec.runtime.shown import MOST_ROWS, MOST_TEXT, brief, html_of, table
from tests.golden import Golden

ROOT = Path(__file__).parent.parent
LOGS = ROOT / "tests/data/kafka-4.3.1/logs"
ORDERS = LOGS / "orders-0"
SEGMENT = ORDERS / "00000000000000000000.log"
SCHEMA = next((ROOT / "tests/generator/formats").rglob("sensor_log.ksy"))
MODULES = [kodec, *(getattr(kodec, name) for name in kodec._MODULES)]


def classes_and_functions() -> Iterator[tuple[str, str, Any]]:
    for module in MODULES:
        for name in module.__all__:
            if inspect.isclass(found := getattr(module, name)) or inspect.isfunction(found):
                yield module.__name__, name, found


NAMES = list(classes_and_functions())


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_dir_of_a_module_has_its_public_names(module: Any) -> None:
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_a_name_is_of_the_module_that_people_import_it_from() -> None:
    assert len(NAMES) > 150
    for module, name, found in NAMES:
        assert (found.__module__, found.__qualname__) == (module, name)
        assert pickle.loads(pickle.dumps(found)) is found
    assert repr(kodec.Record) == "<class 'kodec.Record'>"


def test_annotations_of_such_classes_are_found() -> None:
    for _, name, found in NAMES:
        if inspect.isclass(found) and name != "TableReader":  # of pyarrow, which is imported on demand
            typing.get_type_hints(found)
    assert typing.get_type_hints(kodec.Record)["timestamp_type"] is kodec.TimestampType
    assert typing.get_type_hints(kodec.results.Omission)["cause"] is kodec.results.Cause


def test_an_error_is_of_the_public_module_even_before_that_is_imported() -> None:
    code = (
        "import sys, kodec.runtime.errors as e; print(e.Malformed.__module__, 'kodec.errors' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "kodec.errors False\n"


def test_the_pipeline_is_there_and_costs_nothing_before() -> None:
    code = """
import sys, kodec
early = [name for name in ("kodec.pipeline", "kodec.runtime.public", "typing") if name in sys.modules]
kodec.pipeline.export
kodec.read_records
print([each for each in early if each != "typing"], "pyspark" in sys.modules, "html" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] False False\n"


def test_dir_of_an_object_has_no_private_names() -> None:
    log = kodec.PartitionLog(ORDERS)
    objects = [log, log.segments[0], kodec.LogDirectory(LOGS), kodec.Record(), kodec.TopicPartition("t", 0)]
    objects += [next(iter(kodec.read_batches(SEGMENT))), kodec.formats.load_schema(SCHEMA)]
    for each in objects:
        private = [name for name in dir(each) if name[:1] == "_" and name[:2] != "__"]
        assert set(private) <= {"_repr_html_"} if private else True, each
        assert len([name for name in dir(each) if name[:1] != "_"]) > 2


# -- help ---------------------------------------------------------------------------------------------


def generated() -> Iterator[type]:
    for each in pkgutil.walk_packages(kodec.generated.__path__, "kodec.generated."):
        if ".kernels" not in each.name and ".columns" not in each.name:
            module = importlib.import_module(each.name)
            for found in vars(module).values():
                is_own = inspect.isclass(found) and found.__module__ == module.__name__
                if is_own and hasattr(found, "from_bytes") and hasattr(found, "__dataclass_params__"):
                    yield found


def helped(thing: Any) -> str:
    return pydoc.plain(pydoc.render_doc(thing))


def test_help_of_every_generated_class_shows_what_its_fields_mean() -> None:
    found = list(generated())
    assert len(found) > 150
    for cls in found:
        text = helped(cls)
        source = inspect.getsource(cls)
        documented = re.findall(r'^    (\w+): (?!ClassVar).*\n    """([^"\n]{1,20})', source, re.MULTILINE)
        for name, start in documented:
            assert re.search(rf"^ \|  {name}\n \|      {re.escape(start)}", text, re.MULTILINE), (cls, name)
        for name in ("from_bytes", "to_bytes"):
            # with its parameters and its docstring, natively and in Python
            pattern = rf"^ \|  {name}\(.*\n \|      \w"
            assert re.search(pattern, text, re.MULTILINE), (cls, name)
        assert "_kodec_fields" not in text and "bound method" not in text


def test_help_without_a_source() -> None:
    names: dict[str, Any] = {"dataclass": dataclass, "__name__": "nowhere"}
    exec('@dataclass(slots=True)\nclass Made:\n    a: int = 0\n    """Lost."""', names)
    made = names["Made"]
    assert re.search(r"^ \|  a$", helped(made), re.MULTILINE) and made(5).a == 5
    assert "Lost" not in helped(made)


def test_help_of_modules_and_functions() -> None:
    for module in MODULES:
        assert "__getattr__" not in helped(module).partition("FILE")[0]
    assert "encode(records: " in helped(kodec.encode) and "like: " in helped(kodec.encode)
    assert "A message without versions" not in helped(kodec.errors.Malformed)


# -- notebooks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    name: str
    size: int = 0


@dataclass(frozen=True)
class Report:
    title: str
    rows: list[Row]
    options: object = None
    found: int | None = None
    secret: str = field(default="hidden", repr=False)
    names: tuple[str, ...] = ()


HOSTILE = "<script>alert(1)</script>&\"'"


def test_html_is_escaped() -> None:
    report = Report(HOSTILE, [Row(HOSTILE)], names=(HOSTILE,))
    shown = html_of(report) + table([HOSTILE], [[HOSTILE]], HOSTILE)
    assert "<script" not in shown and "hidden" not in shown and "options" not in shown
    assert shown.count("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;") == 6


def test_html_and_reprs_are_bounded() -> None:
    many = Report("x" * 10**6, [Row("y" * 10**6)] * 10_000, names=("z",) * 10**6)
    assert len(html_of(many)) < MOST_ROWS * (MOST_TEXT + 100) + 1000
    assert f"the first {MOST_ROWS} of 10,000" in html_of(many)
    assert "the first 50<" in table(("a",), ((n,) for n in iter(int, 1)))
    assert len(brief(many)) < 3 * MOST_TEXT
    nested = Report("outer", [], options=None, found=None, names=(many,))  # type: ignore[arg-type]
    assert len(html_of(nested)) < 5 * MOST_TEXT + 500


def test_plans_and_reports_have_a_short_repr_and_a_table(golden: Golden) -> None:
    plan = kodec.operations.plan_trim(ORDERS, retention_bytes=0)
    assert repr(plan).startswith("<TrimPlan path=")
    golden(repr(plan))
    assert "options" not in repr(plan) and "fingerprint" not in repr(plan)
    shown = plan._repr_html_()  # type: ignore[attr-defined]
    assert "<caption>TrimPlan</caption>" in shown
    golden(shown)
    report = kodec.operations.plan_compaction(LOGS / "compacted-0", from_start=True).preview()
    assert repr(report).startswith("<CompactionReport topic_partition=compacted-0") and "options" not in repr(
        report
    )
    overview = kodec.repair.survey(kodec.PartitionLog(ORDERS))
    assert "<td>records</td><td>421</td>" in overview._repr_html_()  # type: ignore[attr-defined]


def test_tables_of_partitions_segments_and_types(golden: Golden) -> None:
    logs = kodec.LogDirectory(LOGS)
    count = len(logs.topic_partitions)
    assert repr(logs) == f"<LogDirectory {LOGS}: {count} topic-partitions>"
    assert "<td>orders</td><td>0</td>" in logs._repr_html_()
    assert "<td>199</td><td>14548</td>" in kodec.PartitionLog(ORDERS)._repr_html_()
    format = kodec.formats.load_schema(SCHEMA)
    golden(repr(format))
    assert "<td>sensor_log" in format._repr_html_()


# -- suggestions --------------------------------------------------------------------------------------


def test_what_is_near(golden: Golden) -> None:
    assert meant("ofset", ["offset", "key"]) == "; did you mean offset?"
    golden(meant("ofset", ["offset"], "there are offset"))
    assert meant("nothing", ["offset"]) == "" and meant("nothing", ["offset"], "x") == "; x"
    assert meant("Ofset", ["OFFSET"]) == "; did you mean OFFSET?" and meant("x" * 10**6, ["offset"]) == ""
    assert meant(5, ["offset"]) == ""


def table_of_names(**chosen: Any) -> Any:
    return kodec.read_table(SEGMENT, **chosen)


def exported(**options: Any) -> Any:
    return kodec.pipeline.export(LOGS, "nowhere", kodec.pipeline.ExportOptions(**options))


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: kodec.read_tabel, "'kodec' has no attribute 'read_tabel'; did you mean read_table"),
    (lambda: kodec.verify, "; there is kodec.pipeline.verify and kodec.repair.verify"),
    (lambda: kodec.plan_trim, "; there is kodec.operations.plan_trim"),
    (lambda: kodec.repair.verfy, "'kodec.repair' has no attribute 'verfy'; did you mean verify"),
    (lambda: kodec.operations.plan_compction, "did you mean plan_compaction"),
    (lambda: kodec.formats.load_shema, "did you mean load_schema"),
    (lambda: kodec.errors.Malformd, "did you mean Malformed"),
    (lambda: kodec.results.LogReed, "did you mean LogRead"),
    (lambda: kodec.values.ValueDecodr, "did you mean ValueDecoder"),
    (lambda: kodec.pipeline.exprot, "did you mean export"),
    (lambda: kodec.LogDirectory(LOGS).partition("order", 0), "did you mean orders"),
    (lambda: kodec.read_table(LOGS, topics=["ordes"]), "no topic ordes; did you mean orders"),
    (lambda: kodec.operations.plan_backup(LOGS, "nowhere", topics=["ordes"]), "did you mean orders"),
    (lambda: table_of_names(columns=["ofset"]), "'ofset'; did you mean offset"),
    (lambda: table_of_names(on_error="skp"), "did you mean skip"),
    (lambda: kodec.RecordFilter(isolation="read_commited"), "did you mean read_committed"),  # type: ignore[arg-type]
    (lambda: kodec.encode([], compression="gzpi"), "did you mean gzip"),
    (lambda: kodec.encode([], compresion="gzip"), r"encode\(\) got .*'compresion'; did you mean compression"),
    (lambda: kodec.operations.ConvertOptions(compression="gzpi"), "did you mean gzip"),
    (lambda: kodec.values.ValueDecoder(None, "avor"), "did you mean avro"),  # type: ignore[arg-type]
    (lambda: exported(format="parqet"), "did you mean parquet"),
    (lambda: exported(topics=["ordes"]), "ordes; did you mean orders"),
    (lambda: kodec.formats.load_schema(SCHEMA).schema_of("blokcs"), "did you mean `blocks`"),
    (
        lambda: kodec.operations.explain_retention(kodec.PartitionLog(ORDERS), options={"retention.m": "1"}),
        "did you mean retention.ms",
    ),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_name_that_is_nearly_right(number: int) -> None:
    call, text = MISTAKES[number]
    with pytest.raises((AttributeError, TypeError, ValueError, LookupError), match=text):
        call()


def test_a_name_that_is_near_nothing_and_a_private_one() -> None:
    for module in MODULES:
        for name in ("zzzzzzzz", "__wrapped__", "_ipython_display_"):
            with pytest.raises(
                AttributeError, match=rf"^module '{module.__name__}' has no attribute '{name}'$"
            ):
                getattr(module, name)


def test_what_is_not_ours_is_published_as_it_is() -> None:
    assert published(os.fspath, "kodec") is os.fspath and os.fspath.__module__ == "posix"
    assert published(Path, "kodec").__module__.startswith("pathlib")
