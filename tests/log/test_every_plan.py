"""What `kodec.runtime.plan.Plan` promises, for each plan that there is: a new one needs a case here."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

import kodec
import kodec.importer
import kodec.log
from kodec.errors import StalePlan
from kodec.operations import (
    AdoptionPlan,
    BackupPlan,
    CompactionPlan,
    ConversionPlan,
    ConvertOptions,
    LoadPlan,
    PrunePlan,
    RebuildPlan,
    RedactionPlan,
    TrimPlan,
    log_lines,
    plan_adoption,
    plan_backup,
    plan_compaction,
    plan_conversion,
    plan_load,
    plan_prune,
    plan_rebuild,
    plan_redaction,
    plan_trim,
)
from kodec.repair import RecoveryPlan, SalvagePlan, plan_recovery, plan_salvage
from kodec.results import StepReport
from kodec.runtime.plan import Plan
from tests.importer.test_import import definition, jar
from tests.log.rebuild.test_rebuild import CLUSTER, formatted

from . import made
from .made import batch

AnyPlan = Plan[Any]
TOPIC_ID = UUID(int=7)


def logs(root: Path, name: str = "logs", value: bytes = b"v") -> Path:
    """A topic-partition's folder of four segments, in a log directory of its own."""
    keys = [(b"k%d" % (n % 3), value) for n in range(10)]
    return made.make(root / name / "topic-0", [(at * 10, [batch(at * 10, keys)]) for at in range(4)])


def torn(folder: Path) -> Path:
    append(folder, b"torn")
    return folder


def append(folder: Path, data: bytes) -> None:
    with (folder / f"{30:020d}.log").open("ab") as file:
        file.write(data)


def applied(plan: AnyPlan) -> AnyPlan:
    plan.apply()
    return plan


def take_records(root: Path) -> None:
    append(root / "logs" / "topic-0", batch(40, [(b"k", b"new")]))


def link(root: Path) -> AnyPlan:
    folder = torn(logs(root))
    (folder / f"{50:020d}.index").symlink_to(folder / f"{0:020d}.index")
    return plan_recovery(folder)


def recover(folder: Path) -> AnyPlan:
    return plan_recovery(folder, from_start=True)


# -- other plans than those of one folder -------------------------------------------------------------


def load(root: Path) -> AnyPlan:
    if not (root / "lines").exists():
        lines = log_lines(kodec.PartitionLog(logs(root)))
        (root / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))
    plan = plan_load("lines", lambda: (root / "lines").read_bytes().splitlines(keepends=True), root / "new")
    plan.preview()
    return plan


def edit_lines(root: Path) -> None:
    (root / "lines").write_text((root / "lines").read_text() + "\n")


def backup(root: Path) -> AnyPlan:
    if not (root / "logs").exists():
        logs(root)
        (root / "logs" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    return plan_backup(root / "logs", root / "backup")


def replace_directory(root: Path) -> None:
    (root / "logs" / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=x\n")


def prune(root: Path, keep: int = 1) -> AnyPlan:
    for number in (1, 2):
        backup(root).apply()
        append(root / "logs" / "topic-0", batch(30 + 10 * number, [(b"k", b"new")]))
    return plan_prune(root / "backup", keep=keep)


def adopt(root: Path, topic_id: UUID | None = TOPIC_ID) -> AnyPlan:
    if not (root / "broker").exists():
        logs(root)
        with kodec.LogDirectoryWriter(root / "broker", cluster_id=CLUSTER, node_id=1):
            pass
    ids = {} if topic_id is None else {"topic": topic_id}
    return plan_adoption(root / "logs", root / "broker", topic_ids=ids, retention_ms=-1)


def adopted(root: Path) -> AnyPlan:
    """A broker's log directory with the logs, where it has shut down cleanly since."""
    adopt(root).apply()
    (root / "broker" / ".kafka_cleanshutdown").touch()
    return adopt(root)


def rebuild(root: Path, **options: Any) -> AnyPlan:
    if not (root / "broker").exists():
        logs(root)
        formatted(root / "broker")
    return plan_rebuild(root / "logs", [root / "broker"], **{"hold_retention": True} | options)


def schemas(root: Path) -> AnyPlan:
    from kodec.importer.plan import plan_import

    return plan_import(jar(root, definition()), root / "schemas")


class Case(NamedTuple):
    """How the plans of a class are made, each in an empty folder.

    Attributes:
        plan: one with changes. outdate: changes what it was made from.
        unchanged: one without changes; None if the class has no such.
        refused: one with problems; None if the class has no such.
    """

    plan: Callable[[Path], AnyPlan]
    outdate: Callable[[Path], None]
    unchanged: Callable[[Path], AnyPlan] | None = None
    refused: Callable[[Path], AnyPlan] | None = None


def cases() -> Iterator[tuple[type, Case]]:
    from kodec.importer.plan import ImportPlan

    keys, none = kodec.RecordFilter(keys=b"k1"), kodec.RecordFilter(keys=b"none")
    gzip = ConvertOptions(compression="gzip")
    yield (
        RecoveryPlan,
        Case(
            lambda root: recover(torn(logs(root))),
            take_records,
            lambda root: recover(applied(recover(logs(root))).path),
            link,
        ),
    )
    yield (
        TrimPlan,
        Case(
            lambda root: plan_trim(logs(root), before_offset=25),
            take_records,
            lambda root: plan_trim(logs(root), before_offset=0),
        ),
    )
    yield (
        CompactionPlan,
        Case(
            lambda root: plan_compaction(logs(root)),
            take_records,
            lambda root: plan_compaction(applied(plan_compaction(logs(root))).path),
        ),
    )
    yield (
        RedactionPlan,
        Case(
            lambda root: plan_redaction(logs(root), keys),
            take_records,
            lambda root: plan_redaction(logs(root), none),
        ),
    )
    yield (
        ConversionPlan,
        Case(lambda root: plan_conversion(logs(root), root / "out" / "topic-0", gzip), take_records),
    )
    yield (
        SalvagePlan,
        Case(
            lambda root: plan_salvage(logs(root), root / "out" / "topic-0"),
            take_records,
            refused=lambda root: plan_salvage(
                logs(root), root / "out" / "topic-0", logs(root, "other", b"another")
            ),
        ),
    )
    yield LoadPlan, Case(load, edit_lines)
    yield BackupPlan, Case(backup, replace_directory)
    yield (
        PrunePlan,
        Case(prune, lambda root: backup(root).apply() and None, lambda root: prune(root, keep=9)),
    )
    yield (
        AdoptionPlan,
        Case(
            adopt,
            take_records,
            adopted,
            lambda root: adopt(root, None),
        ),
    )
    yield (
        RebuildPlan,
        Case(
            rebuild,
            take_records,
            lambda root: applied(rebuild(root)) and rebuild(root, topics=[]),
            lambda root: applied(rebuild(root)) and rebuild(root),
        ),
    )
    yield (
        ImportPlan,
        Case(
            schemas,
            lambda root: (
                (root / "schemas/messages").mkdir(parents=True)
                or (
                    (root / "schemas/messages/group_thing_value.ksy").write_text("meta: {id: other}\n")
                    and None
                )
            ),
            lambda root: applied(schemas(root)) and schemas(root),
        ),
    )


CASES = dict(cases())
of_each = pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)


def everything(root: Path) -> dict[str, bytes]:
    """All files but locks, and those by which a backup shows that it is running."""
    found = (path for path in root.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_every_plan_has_a_case() -> None:
    plans = set()
    for package in (kodec.log, kodec.importer):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, found in vars(importlib.import_module(each.name)).items():
                if isinstance(found, type) and found not in (Plan, StalePlan):
                    assert Plan in found.__mro__ or not name.endswith("Plan")
                    plans |= {found} if Plan in found.__mro__ else set()
    assert plans == CASES.keys() and len(plans) == 12


@of_each
def test_apply_reports_what_the_preview_has(kind: type, tmp_path: Path) -> None:
    plan = CASES[kind].plan(tmp_path)
    assert type(plan) is kind
    before = everything(tmp_path)
    plan.require_current()
    assert not plan.problems and plan.has_changes
    preview = plan.preview()
    assert everything(tmp_path) == before
    steps: list[Any] = []
    report = plan.apply(on_step=steps.append)
    assert report == preview
    assert everything(tmp_path) != before
    assert steps
    if isinstance(report, StepReport):
        assert report.steps == steps
        assert (preview.applied, report.applied) == (False, True)


@of_each
def test_a_stale_plan_changes_nothing(kind: type, tmp_path: Path) -> None:
    case = CASES[kind]
    plan = case.plan(tmp_path)
    case.outdate(tmp_path)
    before = everything(tmp_path)
    steps: list[Any] = []
    with pytest.raises(StalePlan):
        plan.require_current()
    with pytest.raises(StalePlan):
        plan.apply(on_step=steps.append)
    assert everything(tmp_path) == before and steps == []


@of_each
def test_a_plan_without_changes_changes_nothing(kind: Any, tmp_path: Path) -> None:
    unchanged = CASES[kind].unchanged
    if unchanged is None:
        assert kind.has_changes is Plan.has_changes, "these always make something new"
        return
    plan = unchanged(tmp_path)
    before = everything(tmp_path)
    assert not plan.has_changes and not plan.problems
    assert plan.apply() == plan.preview()
    assert everything(tmp_path) == before


@of_each
def test_a_plan_with_problems_changes_nothing(kind: Any, tmp_path: Path) -> None:
    refused = CASES[kind].refused
    if refused is None:
        assert kind.problems is Plan.problems
        return
    plan = refused(tmp_path)
    before = everything(tmp_path)
    assert plan.problems
    plan.preview()
    with pytest.raises(ValueError) as error:
        plan.apply()
    assert str(error.value) == "; ".join(plan.problems)
    assert everything(tmp_path) == before


def test_a_backup_that_is_stored_twice_has_each_log_once(tmp_path: Path) -> None:
    plan = backup(tmp_path)
    points = [plan.preview().point, plan.apply().point, plan.apply().point]
    assert [len(each.directories[0].partitions) for each in points] == [1, 1, 1]


def test_two_imports_into_one_folder(tmp_path: Path) -> None:
    first, second = schemas(tmp_path), schemas(tmp_path)

    def import_too(_: object) -> None:
        with pytest.raises(BlockingIOError, match="another program changes it"):
            second.apply()

    first.apply(on_step=import_too)
    with pytest.raises(StalePlan):
        second.apply()
