"""Writes and reads random messages with Kafka's classes and with ours, and shows where they differ."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from contents import class_of, made, random_document, read, written
from message_judge import MessageJudge, Refused

from kodec.importer.definitions import MessageDef
from kodec.importer.places import place_of
from kodec.log.messages.as_json import plain
from kodec.runtime.errors import EncodeError, KodecError

__all__ = ["Tally", "compare", "run"]


@dataclass(slots=True)
class Tally:
    """What was done, how often, and where the two differ: the message, its version, what and how."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def run(judge: MessageJudge, messages: Iterable[MessageDef], package: str, rounds: int, seed: str) -> Tally:
    """Compare every version of each message, with `rounds` random contents."""
    tally = Tally()
    for message in messages:
        tally.counts["messages"] += 1
        for version in message.valid:
            tally.counts["versions"] += 1
            for number in range(rounds):
                rng = random.Random(f"{seed}/{message.name}/{version}/{number}")
                compare(judge, message, version, package, rng, tally)
    return tally


def compare(
    judge: MessageJudge, message: MessageDef, version: int, package: str, rng: random.Random, tally: Tally
) -> None:
    """One random content: written by both, read by both, with unknown tags, with fields to be dropped."""

    def fail(what: str, **facts: Any) -> None:
        shown = " ".join(f"{name}={value!r}" for name, value in facts.items())
        tally.failures.append(f"{message.name} v{version}: {what}: {shown}"[:4000])

    frame = place_of(message).frame
    kind = class_of(package, message)
    document = random_document(rng, message, version)
    value = made(kind, document, version)
    try:
        theirs = judge.write(message.name, frame, document, version)
    except Refused as refused:
        return fail("Kafka refuses", document=document, error=str(refused))
    try:
        ours = written(value, message, version)
    except KodecError as error:
        return fail("we refuse", document=document, error=error)
    tally.counts["written"] += 1
    if ours != theirs:
        return fail("bytes differ", ours=ours.hex(), theirs=theirs.hex(), document=document)
    try:
        back = read(kind, theirs, message, version)
    except KodecError as error:
        return fail("we cannot read Kafka's", data=theirs.hex(), error=error)
    tally.counts["read"] += 1
    if back != value:
        return fail("what we read differs", data=theirs.hex(), read=back, value=value)
    if version in message.flexible:
        _unknown(rng, value, version)
        tagged = written(value, message, version)
        try:
            again, shown = judge.read(message.name, frame, tagged, version)
        except Refused as refused:
            return fail("Kafka cannot read ours", data=tagged.hex(), error=str(refused))
        tally.counts["read by Kafka, with unknown tags"] += 1
        if again != tagged:
            return fail("Kafka writes it otherwise", ours=tagged.hex(), theirs=again.hex())
        if read(kind, tagged, message, version) != value:
            return fail("unknown tags are lost", data=tagged.hex())
    else:
        again, shown = judge.read(message.name, frame, theirs, version)
        tally.counts["read by Kafka"] += 1
        if again != theirs:
            return fail("Kafka writes it otherwise", ours=theirs.hex(), theirs=again.hex())
    mine, shown = (_known(each, _records(message)) for each in (plain(value, version), shown))
    if mine != shown:
        fail("shown otherwise", ours=mine, theirs=shown)
    _dropped(judge, message, version, kind, rng, tally, fail)
    return None


def _known(shown: Any, left_out: set[str]) -> Any:
    """Without what Kafka does not show: tags that it does not know, and records that are none."""
    if isinstance(shown, dict):
        return {name: _known(each, left_out) for name, each in shown.items() if name not in left_out}
    return [_known(each, left_out) for each in shown] if isinstance(shown, list) else shown


def _records(message: MessageDef) -> set[str]:
    structs = (message.root, *message.structs.values())
    named = {field.name for struct in structs for field in struct.fields if field.type == "records"}
    return {"unknownTaggedFields", *(name[:1].lower() + name[1:] for name in named)}


def _unknown(rng: random.Random, value: Any, version: int) -> None:
    """Put tags that no version knows into an object, and some of those in it."""
    if isinstance(value, list):
        for each in value:
            _unknown(rng, each, version)
        return
    if hasattr(value, "tagged_fields") and rng.random() < 0.7:
        numbers = sorted(rng.sample((20, 127, 128, 16383, 16384, 2**31 - 2), rng.randint(1, 3)))
        value.tagged_fields = [(number, rng.randbytes(rng.choice((0, 1, 130)))) for number in numbers]
    present = getattr(value, "IN_VERSIONS", {})
    for name in getattr(value, "NAMES", {}):
        if version in present.get(name, (version,)):
            _unknown(rng, getattr(value, name), version)


def _dropped(
    judge: MessageJudge,
    message: MessageDef,
    version: int,
    kind: Any,
    rng: random.Random,
    tally: Tally,
    fail: Any,
) -> None:
    """Values of newer versions in an older one: dropped where they may be, and refused by both elsewhere."""
    if version == message.valid.last:
        return
    newest = message.valid.last
    for dropped in (True, False):
        if dropped:
            document = random_document(rng, message, version, dropped=True)
        else:
            document = random_document(rng, message, newest)
        if place_of(message).frame == "own":
            document["version"] = version
        value = made(kind, document, version)
        theirs: bytes | None
        ours: bytes | None
        try:
            theirs = judge.write(message.name, place_of(message).frame, document, version, newest)
        except Refused as refused:
            theirs, why = None, str(refused)
            if "UnsupportedVersion" not in why and "NullPointer" not in why:
                fail("Kafka refuses a value of a newer version otherwise", document=document, error=why)
                return
        try:
            ours = written(value, message, version)
        except EncodeError as error:
            ours, mine = None, error
        tally.counts["in an older version: refused" if theirs is None else "in an older version"] += 1
        if (ours is None) != (theirs is None):
            said = why if theirs is None else repr(mine)
            fail("one of the two refuses it", document=document, kafka=theirs is None, error=said)
        elif ours != theirs:
            assert ours is not None and theirs is not None
            fail("bytes differ in an older version", ours=ours.hex(), theirs=theirs.hex(), document=document)
