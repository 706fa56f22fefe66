"""Random histories of segments in remote storage, and which segment Kafka's own cache returns for each
offset.

    python tests/labs/remote_segments.py [--histories N] [--seed N] [--record FILE]

`--record` writes histories with Kafka's answers, for tests that have no Java. Exit code: 0 where kodec and
Kafka agree, 1 where not, 2 where Kafka's classes cannot be run.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kafka_lab import CACHE, GENERATIONS, Toolbox, Unusable, say, work_of

from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.remote.lineage import CopiedSegment, CopyState, RemoteSegments

RECORDED = Path(__file__).resolve().parent.parent / "data" / "remote-segments.txt.gz"


def history(chance: random.Random) -> Iterator[str]:
    """Events and questions: leaders that copy overlapping segments, fail, delete, and repeat themselves."""
    yield "new"
    ids: list[str] = []
    ends: list[int] = []
    epoch = chance.randrange(3)
    starts = {epoch: 0}
    reached = 0
    for _ in range(chance.randrange(2, 14)):
        what = chance.random()
        if what < 0.25:
            epoch += chance.randrange(1, 3)
            # an unclean election begins below what was copied
            starts[epoch] = max(reached - chance.choice([0, 0, 0, 5, 12]), 0)
        if what < 0.75 or not ids:
            first = max(chance.choice([reached, reached, reached - 7, reached - 15, starts[epoch]]), 0)
            last = first + chance.randrange(1, 20)
            inside = _epochs(starts, first, last)
            name = base64.urlsafe_b64encode(chance.randbytes(16)).rstrip(b"=").decode()
            ids.append(name)
            ends.append(last)
            yield f"begin {name} {first} {last} " + ",".join(f"{each}:{at}" for each, at in inside)
            if chance.random() < 0.85:
                yield f"change {name} 1"
                reached = max(reached, last + 1)
        else:
            for state in chance.choice([[2], [2, 3], [2, 2], [3], [1], [1, 1]]):
                yield f"change {chance.choice(ids)} {state}"
        if chance.random() < 0.3:
            yield from _questions(starts, max(ends) + 3, chance, 12)
    yield from _questions(starts, max(ends) + 3, chance, 60)


def _epochs(starts: dict[int, int], first: int, last: int) -> list[tuple[int, int]]:
    """The epochs of a segment, ascending, with offsets in it."""
    found: list[tuple[int, int]] = []
    for epoch, start in sorted(starts.items()):
        at = max(start, first)
        if at > last:
            continue
        while found and found[-1][1] >= at:
            found.pop()
        found.append((epoch, at))
    return found


def _questions(starts: dict[int, int], end: int, chance: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        yield f"at {chance.choice([*starts, max(starts) + 1])} {chance.randrange(end)}"


def ours(lines: Iterable[str]) -> list[str]:
    """The answers of kodec."""
    found: list[str] = []
    segments = RemoteSegments()
    for line in lines:
        event, *words = line.split(" ")
        if event == "new":
            segments = RemoteSegments()
        elif event == "begin":
            pairs = (each.split(":") for each in words[3].split(","))
            epochs = tuple(LeaderEpoch(int(epoch), int(at)) for epoch, at in pairs)
            segments.begin(CopiedSegment(words[0], int(words[1]), int(words[2]), epochs))
        elif event == "change":
            segments.change(words[0], CopyState(int(words[1])))
        else:
            at = segments.at(int(words[0]), int(words[1]))
            found.append("-" if at is None else at.segment_id)
    return found


def kafkas(tools: Toolbox, lines: list[str]) -> list[str]:
    """The answers of Kafka's `RemoteLogMetadataCache`. Raises Unusable."""
    done = subprocess.run(
        tools.command("org.apache.kafka.server.log.remote.metadata.storage.RemoteSegments"),
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unusable(f"Kafka's cache failed: {done.stderr[-2000:]}")
    return done.stdout.split()


def recorded(path: Path = RECORDED) -> tuple[list[str], list[str]]:
    """Histories, and Kafka's answers."""
    text = gzip.decompress(path.read_bytes()).decode()
    lines, _, answers = text.partition("\n\n")
    return lines.split("\n"), answers.split()


def make(repository: Path | None, histories: int, seed: int, record: Path | None = None) -> int:
    """Compare histories. Returns the number of questions. Raises Unusable, also where an answer differs."""
    work = work_of(GENERATIONS["4.3"])
    work.mkdir(parents=True, exist_ok=True)
    tools = Toolbox(work, repository, GENERATIONS["4.3"])
    tools.prepare()
    chance = random.Random(seed)
    lines = [line for _ in range(histories) for line in history(chance)]
    answers, own = kafkas(tools, lines), ours(lines)
    questions = [number for number, line in enumerate(lines) if line.startswith("at ")]
    for number, kafka, kodec in zip(questions, answers, own, strict=True):
        if kafka != kodec:
            begin = max(at for at in range(number) if lines[at] == "new")
            events = [line for line in lines[begin:number] if not line.startswith("at ")]
            raise Unusable("\n".join([*events, f"{lines[number]}: Kafka {kafka}, kodec {kodec}"]))
    if record is not None:
        text = "\n".join(lines) + "\n\n" + "\n".join(answers) + "\n"
        record.write_bytes(gzip.compress(text.encode(), mtime=0))
    return len(questions)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--record", type=Path)
    parser.add_argument("--maven-repository", type=Path, default=CACHE / "maven-repository")
    options = parser.parse_args()
    say(f"seed {options.seed}")
    try:
        count = make(options.maven_repository, options.histories, options.seed, options.record)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2 if "Kafka's cache failed" in str(error) else 1
    say(f"{options.histories} histories, {count} questions: kodec and Kafka agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
