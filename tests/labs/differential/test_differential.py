"""kodec and Kafka's own classes make the same of valid and broken bytes, or a named rule says why not."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import campaign
import compare
import corpus
import jvm
import known
import logs
import pytest
from judge import END, Item, Judge, Question
from mutate import KINDS, mutate

import kodec

pytestmark = pytest.mark.thorough

DIFFERENCES = jvm.ROOT / "docs" / "differences.md"
INPUTS = 40_000


def test_every_outcome_has_kept_inputs() -> None:
    assert {path.stem for path in corpus.FOLDER.iterdir()} == set(corpus.expected())
    assert sum(path.stat().st_size for path in corpus.FOLDER.iterdir()) < 1 << 20


@pytest.mark.parametrize("slug", corpus.expected())
def test_kept_inputs(slug: str) -> None:
    """Needs no Java: Kafka's answers are kept too."""
    kept = corpus.read(corpus.FOLDER / f"{slug}.bin")
    assert kept
    for index, (question, answer) in enumerate(kept):
        name, text = campaign.outcome(question, answer)
        assert name == corpus.expected()[slug], f"input {index}: {text}"
        if name == compare.SAME:
            assert compare.front_door(question, answer), f"input {index}"


def test_the_rules_stand_in_the_documentation() -> None:
    text = DIFFERENCES.read_text()
    assert text.count(known.HEADING) == 1
    assert text.endswith(known.render()), "run.py --section prints it"
    assert len({rule.name for rule in known.RULES}) == len(known.RULES)


def test_a_difference_is_not_explained_away() -> None:
    """Rows that Kafka's answer does not hold, and an end if there is none, are unexplained."""
    (question, answer), *_ = corpus.read(corpus.FOLDER / "same-rows.bin")
    assert campaign.outcome(question, answer)[0] == compare.SAME
    other = next(
        kept
        for asked, kept in corpus.read(corpus.FOLDER / "same-rows.bin")[1:]
        if asked.data != question.data
    )
    assert campaign.outcome(question, other)[0] == campaign.UNEXPLAINED
    assert campaign.outcome(question, bytes((END,)))[0] == campaign.UNEXPLAINED


def test_a_crash_of_ours_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise IndexError("ours")

    question, answer = corpus.read(corpus.FOLDER / "both-refuse.bin")[0]
    monkeypatch.setattr(kodec, "read_batches", lambda *_, **__: iter_of(broken))
    found = compare.compare(question, answer)
    assert isinstance(found, compare.Difference) and found.kodec.kind == compare.CRASHED
    assert isinstance(found.kafka, Item) and known.explain(found) is None


def iter_of(call: object) -> object:
    class Reader:
        def __next__(self) -> None:
            call()

    return Reader()


def test_mutations_are_the_same_for_the_same_seed() -> None:
    plan = next(logs.plans(random.Random(1)))
    log = logs.by_kodec(plan)
    ground = [("a", log), ("b", log + log)]
    once, twice = list(campaign.questions("s", 3, ground)), list(campaign.questions("s", 3, ground))
    assert once == twice != list(campaign.questions("s", 4, ground))
    assert {mutate(random.Random(number), log, log)[0] for number in range(2000)} == set(KINDS)


@pytest.fixture(scope="module")
def java() -> None:
    """Skips where Kafka's classes cannot be run."""
    try:
        jvm.command(jvm.SOURCES / "Judge.java")
    except jvm.Absent as error:
        pytest.skip(f"Kafka's classes cannot be run here: {error}")


def test_many_inputs(java: None) -> None:
    tally = campaign.run(INPUTS, "ci", 2, shown=False)
    assert tally.inputs == INPUTS
    assert not tally.failures, "\n".join(f"{name}: {text}" for name, _, text in tally.failures[:5])
    assert tally.outcomes[KINDS[0], compare.SAME] == sum(
        count for (kind, _), count in tally.outcomes.items() if kind == KINDS[0]
    )
    assert sum(count for (_, name), count in tally.outcomes.items() if name == compare.SAME) > INPUTS // 5
    assert tally.written > INPUTS // campaign.BLOCK


def test_kafka_still_answers_the_kept_inputs_so(java: None) -> None:
    """Two kept answers may differ in which of two allocations failed first; rows may not."""
    for slug in corpus.expected():
        kept = corpus.read(corpus.FOLDER / f"{slug}.bin")
        with Judge() as judge:
            answers = judge.decode([question for question, _ in kept])
        for (question, _), answer in zip(kept, answers, strict=True):
            assert answer is not None
            assert campaign.outcome(question, answer)[0] == corpus.expected()[slug]


def test_the_judge_survives_what_kills_it(java: None) -> None:
    plan = next(logs.plans(random.Random(2)))
    question = Question(logs.by_kodec(plan))
    with Judge() as judge:
        (before,) = judge.decode([question])
        assert judge._process is not None
        # Stopped first: it may answer before it is killed.
        judge._process.send_signal(signal.SIGSTOP)
        judge.send([question, question])
        judge._process.kill()
        judge._process.wait()
        answers = judge.receive()
    assert judge.died == 1 and answers == [before, before]


def test_nothing_is_left_running(java: None) -> None:
    """A driver that is killed takes its JVM with it."""
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import judge, os, signal\n"
        "held = judge.Judge().__enter__()\n"
        "held.decode([judge.Question(b'')])\n"
        "print(held._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    for _ in range(100):
        if not _runs(pid):
            return
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.1)"], check=True)
    raise AssertionError(f"process {pid} still runs")


def _runs(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.is_file() and state.read_text().split()[2] != "Z"


def test_the_command_says_what_is_missing() -> None:
    command = [sys.executable, str(Path(__file__).parent / "run.py"), "--inputs", "1", "--kafka", "0.0.0"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": "", "JAVA_HOME": ""}
    )
    assert done.returncode == 2 and "is not on PATH" in done.stderr


def test_a_jar_that_is_not_pinned_is_refused(tmp_path: Path) -> None:
    name = next(each for each in jvm.pinned() if each.startswith("kafka-clients-"))
    (tmp_path / name).write_bytes(b"another one")
    with pytest.raises(jvm.WrongJar, match="do not use it"):
        jvm.require_pinned(tmp_path)
    (tmp_path / name).rename(tmp_path / "kafka-clients-99.jar")
    with pytest.raises(jvm.WrongJar, match="look at it"):
        jvm.require_pinned(tmp_path)
    for version in (jvm.KAFKA, jvm.OTHER_KAFKA):
        assert f"kafka-clients-{version}.jar" in jvm.pinned()
