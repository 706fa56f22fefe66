"""The inputs that are kept in the repository with Kafka's answers, so that they are checked without Java.

A file holds the inputs of one outcome: a byte (1: checksums verified, 2: through a file), int32 length and
input, int32 length and Kafka's answer as judge.py describes it, again and again.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from pathlib import Path

import compare
import jvm
import known
from campaign import BLOCK, bases, outcome, questions
from judge import Judge, Question, items

__all__ = ["FOLDER", "Kept", "expected", "make", "read"]

FOLDER = jvm.ROOT / "tests" / "data" / "differential"
_MOST = {compare.SAME: 120, compare.REFUSED_BOTH: 200}
_MOST_OF_A_RULE = 8
_LARGEST = 420
_LENGTH = struct.Struct(">i")

Kept = tuple[Question, bytes]
"""An input and Kafka's answer."""


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def expected() -> dict[str, str]:
    """The outcome that each file stands for, by its name without suffix."""
    names = [compare.SAME, compare.REFUSED_BOTH, *(rule.name for rule in known.RULES)]
    return {_slug(name): name for name in names}


def read(path: Path) -> list[Kept]:
    """The inputs in a file."""
    data = path.read_bytes()
    found: list[Kept] = []
    at = 0
    while at < len(data):
        flags = data[at]
        (size,) = _LENGTH.unpack_from(data, at + 1)
        at += 5 + size
        question = Question(data[at - size : at], bool(flags & 1), bool(flags & 2))
        (size,) = _LENGTH.unpack_from(data, at)
        at += 4 + size
        found.append((question, data[at - size : at]))
    return found


def _pack(kept: list[Kept]) -> bytes:
    parts: list[bytes] = []
    for question, answer in kept:
        flags = question.checked | question.from_file << 1
        parts += (
            bytes((flags,)), _LENGTH.pack(len(question.data)), question.data,
            _LENGTH.pack(len(answer)), answer,
        )  # fmt: skip
    return b"".join(parts)


def _saved(folder: Path) -> list[Question]:
    """Failing inputs of an earlier run, as campaign.save left them."""
    found = []
    for path in sorted(folder.glob("*.bin")):
        text = path.with_suffix(".txt").read_text()
        found.append(Question(path.read_bytes(), "checked=True" in text, "from_file=True" in text))
    return found


def make(inputs: int, seed: str, folders: list[Path]) -> str:
    """Put together what is there, what is saved in `folders`, and a choice among `inputs` new ones.

    Of these, small ones of each outcome are taken that differ in kind and error. Returns how many there are.
    """
    chosen: dict[str, dict[object, Kept]] = defaultdict(dict)
    older = [question for path in sorted(FOLDER.glob("*.bin")) for question, _ in read(path)]
    with Judge() as judge:
        older += [question for folder in folders for question in _saved(folder) if len(question.data) < 1000]
        for question, answer in zip(older, judge.decode(older), strict=True):
            if answer is not None:
                chosen[outcome(question, answer)[0]][question] = question, answer
        ground = bases(seed, judge)
        for block in range(-(-inputs // BLOCK)):
            asked = list(questions(seed, block, ground))
            answers = judge.decode([question for _, question in asked])
            for (kind, question), answer in zip(asked, answers, strict=True):
                if answer is None or len(question.data) > _LARGEST or len(answer) > 2 * _LARGEST:
                    continue
                name, text = outcome(question, answer)
                kept = chosen[name]
                likeness = re.sub(r"[-\d]+|b['\"].*", "", text), *(
                    (item.kind, re.sub(r"[-\d]+", "", item.error)) for item in items(answer)
                )  # fmt: skip
                key = (kind, likeness, question.data[16:17] if name == compare.SAME else question.checked)
                if key not in kept and len(kept) < _MOST.get(name, _MOST_OF_A_RULE):
                    kept[key] = question, answer
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.bin"):
        path.unlink()
    lines = []
    for slug, name in expected().items():
        data = _pack(list(chosen[name].values()))
        (FOLDER / f"{slug}.bin").write_bytes(data)
        lines.append(f"{len(chosen[name]):>5} {len(data):>8,} bytes  {name}")
    return "\n".join(lines)
