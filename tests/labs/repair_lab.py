"""Gives logs that kodec wrote, recovered, compacted, trimmed and converted to a real broker, and compares."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import repair_compaction
import repair_damage
import repair_judges as judges
import repair_salvage
import repair_table
import repair_trim_convert
import repair_writer
from kafka_lab import GENERATIONS, Cluster, Refused, Toolbox, kafka_version, step, wait_for
from kafka_reads_ours import Differs
from make_logs import cleaned_up_to
from repair_checks import (
    Lab,
    Verdicts,
    append_at,
    ask_dump,
    clean_by_broker,
    compact,
    compare_rebuilt,
    compare_recovered,
    compare_with_scripts,
    convert,
    create_for_a,
    damage,
    lab_now,
    no_complaints,
    open_ours,
    recover,
    salvage,
    serve,
    start_fails,
    strip,
    trim,
    unchanged,
    write_ours,
)
from repair_judges import LEVELS
from repair_table import (
    AGAIN,
    APPENDS,
    BROKER,
    CLEANS,
    CONSUMER,
    NO_NOTE,
    RECOVERS,
    STARTS,
)
from repair_writer import Read

SETTINGS = "metadata.log.dir={metadata}\n"
# A line whose topics can be kept in v0 and v1.
OLD_LINE = "2.8"
BLOCKED = "nothing is left to clean"
SMALL_ROUND = ("b-forgotten", "b-cut-entry", "b-zero-end", "b-flip", "b-noise", "b-no-indexes", "b-swap")
VERBOSE = ("kafka.log", "org.apache.kafka.storage.internals.log")


Rows = dict[tuple[str, str], list[Read]]


class Rounds:
    """All that is done with the broker, in its order: each start of the broker is a method.

    `small`: some damages only, no compaction, trim or conversion.
    """

    def __init__(self, lab: Lab, verdicts: Verdicts, *, small: bool = False) -> None:
        self.lab = lab
        self.verdicts = verdicts
        self.damages = [case for case in repair_damage.DAMAGES if not small or case.name in SMALL_ROUND]
        self.damaged = [case.name for case in self.damages]
        self.compacted = [] if small else [case.name for case in repair_compaction.CASES]
        self.others = [] if small else list(repair_table.PURPOSES["D"])
        self.salvaged = [] if small else [case.name for case in repair_salvage.CASES]
        # What was acknowledged, and what was read of the broker's own work.
        self.acknowledged: Rows = {}
        self.theirs: Rows = {}

    def _read(self, topics: Iterable[str]) -> Rows:
        return {
            (topic, isolation): self.lab.rows(topic, isolation).get(0, [])
            for topic in topics
            for isolation in LEVELS
        }

    def run(self) -> None:
        self.create()
        ours = write_ours(self.lab, self.created)
        self.crash()
        self.let_the_broker(ours)
        self.open_recovered(ours)
        self.open_rewritten()
        self.open_salvaged()
        open_ours(self.lab, self.verdicts, ours)

    def run_small(self) -> None:
        """Parts A and B with three starts of the broker."""
        clients = self.lab.cluster.clients
        create_for_a(self.lab)
        for name in (*self.damaged, repair_writer.KILLED.name):
            clients.do("topic", name, 1, *repair_damage.SETTINGS)
        ours = write_ours(self.lab, self.lab.logs, epochs=())
        repair_damage.write(clients, self.damaged, "first", lab_now(), leave_open=False)
        self.crash(start=False)
        self.let_the_broker(ours)
        self.open_recovered(ours)

    def create(self) -> None:
        """The broker creates all topics and writes some of them; stopped in order."""
        lab, clients = self.lab, self.lab.cluster.clients
        with step("Creating topics, having the broker write"):
            create_for_a(lab)
            for name in self.damaged:
                clients.do("topic", name, 1, *repair_damage.SETTINGS)
            clients.do("topic", repair_writer.KILLED.name, 1, *repair_damage.SETTINGS)
            repair_compaction.create(clients, lab_now())
            repair_trim_convert.create(clients, lab_now())
            for name in self.salvaged:
                clients.do("topic", name, 1, *repair_salvage.SMALL)
            source = repair_trim_convert.SOURCE
            # Apart: a producer keeps a batch for each topic that it writes to.
            for topics in ([*self.damaged, source], self.salvaged):
                repair_damage.write(clients, topics, "first", lab_now(), leave_open=False)
            # The markers of what was ended are written in the background.
            time.sleep(1)
        with step("C: having the broker clean some topics before"):
            repair_compaction.clean_before(clients, lab.logs, lab_now())
        self.acknowledged |= self._read([each.name for each in repair_trim_convert.TRIMMED])
        self.acknowledged |= self._read(self.salvaged)
        lab.cluster.broker.stop()
        repair_compaction.place_old(lab.logs)
        self.created = lab.keep("created")

    def crash(self, *, start: bool = True) -> None:
        """The broker, to be started first or not, writes more and is killed; its directory is damaged."""
        lab = self.lab
        if start:
            lab.cluster.start()
        with step("B: having the broker write more, killing it"):
            repair_damage.write(
                lab.cluster.clients, self.damaged, "second", lab_now() + 60_000, leave_open=True
            )
            time.sleep(1)
            source = [repair_trim_convert.SOURCE] if self.others else []
            self.acknowledged |= self._read([*self.damaged, *source])
            lab.cluster.broker.kill()
        self.crashed = lab.keep("crashed")
        self.ours = lab.work / "kept" / "ours"
        shutil.copytree(self.crashed, self.ours)
        damage(self.damages, self.crashed, fatal=False)
        damage(self.damages, self.ours, fatal=True)

    def let_the_broker(self, ours: repair_writer.OurDirectory) -> None:
        """The broker recovers what is damaged, makes what our logs lack, cleans what is compacted."""
        lab = self.lab
        with step("B: looking whether the broker starts with what it should not start with"):
            for case in self.damages:
                if case.fatal:
                    with self.verdicts.judged("B", case.name, STARTS):
                        start_fails(lab, self.ours)
        strip(ours.root, self.crashed)
        with step("A, B: letting the broker recover"):
            lab.open(self.crashed)
        if self.compacted:
            with step("C: letting the broker clean"):
                clean_by_broker(lab)
        with step("B, C: reading"):
            self.theirs = self._read([*self.damaged, *self.compacted])
        lab.cluster.broker.stop()
        self.kafkas = lab.keep("kafkas")
        compare_rebuilt(self.verdicts, ours.root, self.kafkas)

    def open_recovered(self, written: repair_writer.OurDirectory) -> None:
        """What kodec has recovered: the broker's damaged logs, and one of ours; and what LogWriter wrote.

        No note says that the directory was closed in order, so the broker reads all of it.
        """
        lab, verdicts = self.lab, self.verdicts
        killed = repair_writer.KILLED.name
        with step("B: kodec recovers"):
            for folder in written.root.glob("a-*"):
                repair_compaction.copy(folder, self.ours / folder.name)
            told = repair_writer.killed(self.ours / f"{killed}-0", 200)
            recover(self.ours, [*self.damaged, killed])
        for case in self.damages:
            name = f"{case.name}-0"
            if case.hides:
                try:
                    compare_recovered(self.ours / name, self.kafkas / name)
                except Differs:
                    verdicts.note("B", case.name, RECOVERS, "differs", case.hides)
                else:
                    verdicts.note("B", case.name, RECOVERS, "failed", "the broker sees it")
            else:
                verdicts.take(
                    "B",
                    case.name,
                    RECOVERS,
                    partial(compare_recovered, self.ours / name, self.kafkas / name),
                )
        ask_dump(lab, verdicts, "B", self.ours, [*self.damaged, killed])
        with step("B: opening it"):
            lab.open(self.ours)
        with step("B: reading"):
            for case in self.damages:
                theirs = self.acknowledged if case.fatal or case.hides else self.theirs
                with verdicts.judged("B", case.name, CONSUMER):
                    for isolation in LEVELS:
                        rows = lab.rows(case.name, isolation).get(0, [])
                        judges.compare_rows(rows, theirs[case.name, isolation])
            with verdicts.judged("B", killed, CONSUMER):
                self._compare_killed(told)
            wrong = {}
            for topic in repair_table.PURPOSES["A"]:
                try:
                    compare_with_scripts(lab, written, topic)
                except Differs as error:
                    wrong[topic] = error
        lab.cluster.broker.stop()
        said = lab.said()
        for name in (*self.damaged, killed):
            with verdicts.judged("B", name, BROKER):
                no_complaints(said, name, clean=False)
        for topic in repair_table.PURPOSES["A"]:
            with verdicts.judged("A", topic, NO_NOTE):
                if topic in wrong:
                    raise wrong[topic]
                no_complaints(said, topic, clean=False)
                unchanged(written.root, lab.logs, topic)

    def _compare_killed(self, told: int) -> None:
        """All that was appended before the kill is there, and no more than what was to be."""
        with tempfile.TemporaryDirectory(dir=self.lab.work) as folder:
            name = repair_writer.KILLED.name
            rows = self.lab.rows(name, "read_committed").get(0, [])
            for script in repair_writer.endless(Path(folder) / f"{name}-0"):
                if len(script.written) >= max(len(rows), told):
                    judges.compare_rows(rows, script.rows("read_committed"))
                    return

    def open_rewritten(self) -> None:
        """What kodec has compacted, trimmed and converted, in a directory that was closed in order."""
        lab, verdicts = self.lab, self.verdicts
        root = lab.work / "kept" / "rewritten"
        shutil.copytree(self.created, root)
        with step("C: kodec compacts"):
            compact(verdicts, root, self.kafkas)
        with step("D: kodec trims and converts"):
            starts = trim(verdicts, root, self.kafkas)
            convert(lab, root)
        ask_dump(lab, verdicts, "C", root, self.compacted, self.kafkas)
        ask_dump(lab, verdicts, "D", root, self.others)
        with step("C, D: opening it"):
            lab.open(root)
        with step("C, D: reading"):
            for name in self.compacted:
                with verdicts.judged("C", name, CONSUMER):
                    for isolation in LEVELS:
                        judges.compare_rows(
                            lab.rows(name, isolation).get(0, []), self.theirs[name, isolation]
                        )
            self._read_others(starts)
        said = lab.said()
        with step("C: letting the broker clean once more"):
            self._clean_once_more()
        # Among it is what the cleaner does.
        lab.said()
        lab.cluster.broker.stop()
        said += lab.said()
        for part, topics in (("C", self.compacted), ("D", self.others)):
            for name in topics:
                with verdicts.judged(part, name, BROKER):
                    no_complaints(said, name, clean=True)
                    if part == "D":
                        unchanged(root, lab.logs, name)

    def open_salvaged(self) -> None:
        """What is good in damaged logs, in a directory that was not closed in order."""
        lab, verdicts = self.lab, self.verdicts
        root = lab.work / "kept" / "salvaged"
        shutil.copytree(self.created, root)
        (root / ".kafka_cleanshutdown").unlink()
        with step("F: kodec salvages"):
            edges, lost = salvage(verdicts, repair_salvage.CASES, root)
        ask_dump(lab, verdicts, "F", root, self.salvaged)
        with step("F: opening it"):
            lab.open(root)
        with step("F: reading"):
            for case in repair_salvage.CASES:
                before = {level: self.acknowledged[case.name, level] for level in LEVELS}
                serve(lab, verdicts, case, root, before, lost.get(case.name, set()), edges.get(case.name))
        lab.cluster.broker.stop()
        said = lab.said()
        for name in self.salvaged:
            with verdicts.judged("F", name, BROKER):
                no_complaints(said, name, clean=False)
                unchanged(root, lab.logs, name)

    def _read_others(self, starts: dict[str, int]) -> None:
        lab = self.lab
        expected: dict[str, dict[str, list[Read]]] = {}
        for name, start in starts.items():
            expected[name] = {
                isolation: repair_trim_convert.below(self.acknowledged[name, isolation], start)
                for isolation in LEVELS
            }
        source = [self.acknowledged[repair_trim_convert.SOURCE, isolation] for isolation in LEVELS]
        for case in repair_trim_convert.CONVERTED:
            expected[case.name] = repair_trim_convert.expected(case, *source)
        for name, rows in expected.items():
            # A consumer comes past the last message of an old format only when another one follows.
            with self.verdicts.judged("D", name, APPENDS):
                of = name if name in starts else repair_trim_convert.SOURCE
                append_at(lab, name, judges.end_of(self.created / f"{of}-0"))
            with self.verdicts.judged("D", name, CONSUMER):
                for isolation in LEVELS:
                    judges.compare_rows(lab.rows(name, isolation).get(0, [])[:-1], rows[isolation])

    def _clean_once_more(self) -> None:
        lab = self.lab
        noted = {}
        for name in self.compacted:
            noted[name] = cleaned_up_to(lab.logs, name)
            repair_compaction.roll(lab.cluster.broker.port, name)
        for case in repair_compaction.CASES:
            if case.blocked:
                self.verdicts.note("C", case.name, AGAIN, "impossible", BLOCKED)
                continue
            with self.verdicts.judged("C", case.name, AGAIN):
                repair_compaction.wait_for_cleaner(lab.logs, case.name, noted[case.name])
                for isolation in LEVELS:
                    before = _comparable(case, self.theirs[case.name, isolation])
                    rows = _comparable(case, lab.rows(case.name, isolation).get(0, []))
                    judges.compare_rows(rows[: len(before)], before)


def _comparable(case: repair_compaction.Compacted, rows: list[Read]) -> list[Read]:
    """What a second cleaning may not change."""
    if case.before:
        # The time of its tombstones is over at once.
        rows = [row for row in rows if row.value is not None]
    if case.magic == 0:
        # What was in the active segment becomes v2 only now.
        rows = [row._replace(timestamp_type="") for row in rows]
    return rows


def judge(work: Path, repository: Path | None, *, small: bool = False) -> Verdicts:
    """All verdicts, or those of a small round. Raises: Unusable."""
    tools = Toolbox(work, repository, GENERATIONS["4.3"])
    tools.prepare()
    verdicts = Verdicts()
    shutil.rmtree(work / "kept", ignore_errors=True)
    settings = SETTINGS.format(metadata=(work / "metadata").as_posix())
    with Cluster(tools, settings, VERBOSE) as cluster:
        rounds = Rounds(Lab(cluster), verdicts, small=small)
        if small:
            rounds.run_small()
        else:
            rounds.run()
    return verdicts


def _cleans(lab: Lab, topic: str) -> bool:
    """Have the broker clean a topic; False while it does not know it yet after its start."""
    try:
        lab.cluster.clients.do("alter", topic, *repair_compaction.ON)
    except Refused:
        return False
    return True


def _knows(lab: Lab, topic: str) -> bool:
    """Whether a broker that has just started serves a topic."""
    try:
        lab.cluster.clients.do("first", topic, 0)
    except Refused:
        return False
    return True


def _wait_for_topics(lab: Lab, cases: list[repair_compaction.Compacted]) -> None:
    """Wait until a broker that has just started knows the topics, and have it clean them."""
    for case in cases:
        wait_for(f"the broker to know {case.name}", partial(_cleans, lab, case.name), 30)


def judge_old(work: Path, repository: Path | None, verdicts: Verdicts) -> None:
    """Compaction in formats v0 and v1 by the line that keeps them. Raises: Unusable."""
    tools = Toolbox(work, repository, GENERATIONS[OLD_LINE])
    tools.prepare()
    cases = [case for case, _ in repair_compaction.OLD.values()]
    shutil.rmtree(work / "kept", ignore_errors=True)
    with Cluster(tools) as cluster:
        lab = Lab(cluster)
        with step("E: having the broker write old formats"):
            repair_compaction.create_old(cluster.clients, tools.generation.formats, lab_now())
        cluster.broker.stop()
        root = lab.keep("created")
        cluster.start()
        with step("E: letting the broker clean"):
            _wait_for_topics(lab, cases)
            for case in cases:
                repair_compaction.wait_for_cleaner(lab.logs, case.name, 0)
        cluster.broker.stop()
        theirs = lab.keep("kafkas")
        with step("E: kodec compacts, keeping the format"):
            for case in cases:
                folder, cleaned = (each / f"{case.name}-0" for each in (root, theirs))
                repair_compaction.compact(case, folder, lab_now(), keep_format=True)
                verdicts.take("E", case.name, CLEANS, partial(repair_compaction.compare, folder, cleaned))
        with step("E: opening it"):
            lab.open(root)
            _wait_for_topics(lab, cases)
            rows = {case.name: [lab.rows(case.name, level) for level in LEVELS] for case in cases}
        cluster.broker.stop()
        with step("E: opening the broker's own"):
            lab.open(theirs)
            _wait_for_topics(lab, cases)
            for case in cases:
                with verdicts.judged("E", case.name, CONSUMER):
                    for level, read in zip(LEVELS, rows[case.name], strict=True):
                        judges.compare_rows(read.get(0, []), lab.rows(case.name, level).get(0, []))
        cluster.broker.stop()


def judge_old_salvage(work: Path, repository: Path | None, verdicts: Verdicts) -> None:
    """Salvage of logs in formats v0 and v1 by the line that keeps them. Raises: Unusable."""
    tools = Toolbox(work, repository, GENERATIONS[OLD_LINE])
    tools.prepare()
    shutil.rmtree(work / "kept", ignore_errors=True)
    with Cluster(tools) as cluster:
        lab = Lab(cluster)
        with step("F: having the broker write old formats"):
            repair_salvage.create_old(cluster.clients, tools.generation.formats)
            before = {
                case.name: {level: lab.rows(case.name, level).get(0, []) for level in LEVELS}
                for case in repair_salvage.OLD
            }
        cluster.broker.stop()
        root = lab.keep("created")
        (root / ".kafka_cleanshutdown").unlink()
        with step("F: kodec salvages"):
            edges, lost = salvage(verdicts, repair_salvage.OLD, root)
        with step("F: opening it"):
            lab.open(root)
            for case in repair_salvage.OLD:
                wait_for(f"the broker to know {case.name}", partial(_knows, lab, case.name), 30)
        with step("F: reading"):
            for case in repair_salvage.OLD:
                name = case.name
                serve(lab, verdicts, case, root, before[name], lost.get(name, set()), edges.get(name))
        cluster.broker.stop()


def make(works: dict[str, Path], repository: Path | None, results: Path) -> list[str]:
    """Run all, save the results and, next to them, the page. Returns what failed. Raises: Unusable.

    `works` has a work directory for each generation.
    """
    verdicts = judge(works["4.3"], repository)
    judge_old(works[OLD_LINE], repository, verdicts)
    judge_old_salvage(works[OLD_LINE], repository, verdicts)
    found = repair_table.results_of(kafka_version(), kafka_version(GENERATIONS[OLD_LINE]), verdicts.rows)
    repair_table.save(found, results)
    results.with_suffix(".md").write_text(repair_table.page(found), encoding="utf-8")
    return [
        f"{row['part']}, {row['case']}, {row['judge']}: {row['reason']}"
        for row in found["verdicts"]
        if row["state"] == "failed"
    ]
