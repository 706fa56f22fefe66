"""Makes inputs, has Kafka and kodec read them side by side in some processes, and counts what came of it."""

from __future__ import annotations

import multiprocessing
import queue
import random
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from typing import Any

import compare
import jvm
import known
import logs
from judge import Judge, Question
from mutate import KINDS, mutate

import kodec

__all__ = ["BLOCK", "UNEXPLAINED", "Tally", "bases", "outcome", "questions", "run"]

BLOCK = 500
BASES = 400
EXPLAINED, UNEXPLAINED = "explained", "UNEXPLAINED"
_RULES = frozenset(rule.name for rule in known.RULES)
COLUMNS = (compare.SAME, compare.REFUSED_BOTH, EXPLAINED, UNEXPLAINED)


@dataclass(slots=True)
class Tally:
    """What was compared: inputs by kind and outcome, explained differences by rule, failures.

    A failure is its name, the input and the text.
    """

    inputs: int = 0
    written: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, bytes, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.inputs += other.inputs
        self.written += other.written
        self.outcomes += other.outcomes
        self.rules += other.rules
        self.failures += other.failures

    def table(self) -> str:
        """Inputs by kind of mutation and outcome, and differences by rule."""
        width = max(map(len, KINDS)) + 2
        lines = ["".join([f"{'inputs':<{width}}", *(f"{name:>13}" for name in COLUMNS)])]
        for kind in (*KINDS, "all"):
            counts = [
                sum(n for (k, o), n in self.outcomes.items() if o == column and kind in (k, "all"))
                for column in COLUMNS
            ]
            lines.append("".join([f"{kind:<{width}}", *(f"{count:>13,}" for count in counts)]))
        lines += ["", f"{'explained by':<45}{'':>7}"]
        lines += [f"{rule.name:<45}{self.rules[rule.name]:>7,}" for rule in known.RULES]
        lines += [
            "",
            f"{self.written:,} batches written by kodec and by Kafka, each read by both as it was meant",
        ]
        return "\n".join(lines)


def questions(seed: str, block: int, bases: list[logs.Base]) -> Iterator[tuple[str, Question]]:
    """The inputs of a block, with the kind of each: the same for the same seed, block and bases."""
    dice = random.Random(f"{seed}/{block}")
    for _ in range(BLOCK):
        kind, data = mutate(dice, dice.choice(bases)[1], dice.choice(bases)[1])
        yield kind, Question(data, checked=dice.random() < 0.9, from_file=dice.random() < 0.02)


def bases(seed: str, judge: Judge) -> list[logs.Base]:
    """What the mutations start from: generated logs and short runs of real ones."""
    made = logs.base_logs(random.Random(f"{seed}/bases"), BASES, judge)
    return made + logs.real_logs(jvm.ROOT / "tests" / "data")


def outcome(question: Question, answer: bytes) -> tuple[str, str]:
    """`SAME`, `REFUSED_BOTH`, the name of a rule, or `UNEXPLAINED`; and the difference in words."""
    found = compare.compare(question, answer)
    if isinstance(found, str):
        return found, ""
    rule = known.explain(found)
    return (rule.name if rule else UNEXPLAINED), str(found)


def judge_block(block: int, asked: list[tuple[str, Question]], answers: list[bytes | None]) -> Tally:
    """What kodec makes of the inputs beside Kafka's answers."""
    tally = Tally(inputs=len(asked))
    for index, ((kind, question), answer) in enumerate(zip(asked, answers, strict=True)):
        name = f"block {block} input {index} ({kind})"
        if answer is None:
            verdict, text = UNEXPLAINED, "Kafka's process ended over it"
        else:
            verdict, text = outcome(question, answer)
            if verdict == compare.SAME and index % 16 == 0 and not compare.front_door(question, answer):
                verdict, text = UNEXPLAINED, "read_records does not give the rows of read_batches"
        if verdict in _RULES:
            tally.rules[verdict] += 1
            verdict = EXPLAINED
        tally.outcomes[kind, verdict] += 1
        if verdict == UNEXPLAINED:
            mode = f"checked={question.checked} from_file={question.from_file}"
            tally.failures.append((name, question.data, f"{mode}\n{text}"))
    return tally


def check_written(dice: random.Random, count: int, judge: Judge) -> Tally:
    """Write `count` batches with kodec and with Kafka; both must read both as they were meant."""
    tally = Tally()
    source = logs.plans(dice)
    for _ in range(count):
        plan = next(source)
        for writer, write in (("kodec", logs.by_kodec), ("Kafka", lambda plan: logs.by_kafka(plan, judge))):
            if writer == "kodec" and plan.horizon >= 0:
                continue
            tally.written += 1
            made = b""
            try:
                made = write(plan)
                (answer,) = judge.decode([Question(made)])
                assert answer is not None, "Kafka's process ended"
                found = compare.compare(Question(made), answer)
                assert found == compare.SAME, found
                rows = [
                    (row.offset, row.timestamp, row.timestamp_type, row.key, row.value, row.headers)
                    for row in kodec.read_records(made, control=True)
                ]
                assert rows == logs.expected(plan), f"rows {rows}"
            except (AssertionError, ValueError, kodec.errors.KodecError, struct.error) as error:
                tally.failures.append((f"written by {writer}", made, f"{plan}\n{error!r}"))
    return tally


def work(seed: str, version: str, blocks: range, results: Any, stop: Event) -> None:
    """One worker: its share of the blocks, each tally put into `results`; None at its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Judge(version) as judge:
            ground = bases(seed, judge)
            pending: list[tuple[str, Question]] = []
            before = -1
            for block in (*blocks, -1):
                answers = judge.receive() if pending else []
                written = Tally()
                asked: list[tuple[str, Question]] = []
                if block >= 0 and not stop.is_set():
                    written = check_written(random.Random(f"{seed}/{block}/written"), 2, judge)
                    asked = list(questions(seed, block, ground))
                    judge.send([question for _, question in asked])
                # Kafka reads the next block meanwhile
                if pending:
                    results.put(judge_block(before, pending, answers))
                results.put(written)
                pending, before = asked, block
                if not pending:
                    break
    except Exception as error:
        results.put(f"{type(error).__name__}: {error}")
    finally:
        results.put(None)


def run(inputs: int, seed: str, jobs: int, version: str = jvm.KAFKA, *, shown: bool = True) -> Tally:
    """Compare that many inputs in that many processes. Ctrl-C ends it with what was done.

    Raises jvm.Absent where Kafka cannot be run.
    """
    # compiled once, before the workers each want it
    jvm.command(jvm.SOURCES / "Judge.java", version)
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    stop = context.Event()
    blocks = -(-inputs // BLOCK)
    workers = [
        context.Process(
            target=work, args=(seed, version, range(number, blocks, jobs), results, stop), daemon=True
        )
        for number in range(jobs)
    ]
    for worker in workers:
        worker.start()
    total = Tally()
    begun = shown_at = time.monotonic()
    running = jobs
    while running:
        try:
            found = results.get(timeout=1)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers):
                raise RuntimeError("the workers ended without a word") from None
            continue
        except KeyboardInterrupt:
            print("stopping", file=sys.stderr)
            stop.set()
            continue
        if found is None:
            running -= 1
        elif isinstance(found, str):
            stop.set()
            total.failures.append(("a worker failed", b"", found))
        else:
            total.add(found)
            for name, _, text in found.failures if shown else ():
                print(f"unexplained: {name}: {text[:600]}", flush=True)
        if shown and time.monotonic() - shown_at > 5:
            shown_at = time.monotonic()
            rate = total.inputs / (shown_at - begun)
            print(
                f"{total.inputs:>10,} of {blocks * BLOCK:,} inputs, {rate:,.0f} a second, "
                f"{sum(total.rules.values()):,} explained, {len(total.failures):,} unexplained",
                flush=True,
            )
    for worker in workers:
        worker.join()
    return total
