"""A testee of Kafka's own message classes, in a JVM: a judge of the vectors of those messages that it stores.

    python -m tests.languages.kafka_testee

Values go through the JSON of Kafka's converters; our generated classes only hold them, and read and write no
bytes. Batches and message sets are compared with Kafka's classes in tests/labs/differential.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kodec.conformance.testee import PythonTestee
from kodec.generator.driver import load
from kodec.generator.modules import Modules
from kodec.importer.definitions import MessageDef
from kodec.importer.places import place_of
from kodec.importer.schemas import snake
from kodec.log.messages.as_json import UNKNOWN, plain

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
sys.path[:0] = [str(ROOT / "tests" / "labs" / each) for each in ("messages", "differential")]

import jvm  # noqa: E402  # found by the path above
from contents import made  # noqa: E402
from message_judge import KAFKA, SOURCE, MessageJudge, Refused  # noqa: E402
from scale import stored  # noqa: E402

_LEFT_OVER = " bytes are left over"


class KafkaTestee:
    """Answers requests by Kafka's classes; `python` makes the objects that values are held in."""

    def __init__(self, judge: MessageJudge, python: PythonTestee) -> None:
        self._judge = judge
        self._python = python
        known = python.answer({"do": "hello"})["types"]
        messages = {snake(each.name): each for each in stored(jvm.jars(KAFKA, SOURCE.parent))}
        self._messages = {name: each for name, each in messages.items() if name in known}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, without its number."""
        if request["do"] == "hello":
            says = {"protocol": 1, "name": "kafka", "language": "Kafka's classes", "version": KAFKA}
            return says | {"does": ["decode", "encode", "round_trip"], "types": list(self._messages)}
        message = self._messages[request["type"]]
        try:
            if request["do"] == "encode":
                return self._encoded(message, request)
            return self._decoded(message, request)
        except Refused as refused:
            return {"error": {"reason": str(refused)}}

    def _decoded(self, message: MessageDef, request: dict[str, Any]) -> dict[str, Any]:
        frame = place_of(message).frame
        data = bytes.fromhex(request["bytes"])
        first = int.from_bytes(data[:2], "big", signed=True)
        version = {"given": request.get("version"), "number": 0}.get(frame, first)
        if version not in message.valid:
            return {"unsupported": "Kafka holds a version against its class's before it reads"}
        if frame == "number" and first != message.number:
            return {"unsupported": "Kafka chooses a key's class by its number"}
        try:
            again, document = self._judge.read(message.name, frame, data, version)
        except Refused as refused:
            rest = str(refused).partition(_LEFT_OVER)[0].rpartition(" ")[2]
            if request.get("exact") or _LEFT_OVER not in str(refused):
                raise
            again, document = self._judge.read(message.name, frame, data[: -int(rest)], version)
        value = made(self._python.classes[request["type"]], document, version)
        answer = {"value": self._python.shown(value)}
        return answer if request["do"] == "decode" else answer | {"bytes": again.hex()}

    def _encoded(self, message: MessageDef, request: dict[str, Any]) -> dict[str, Any]:
        try:
            value = self._python.object_of(request["type"], request["value"])
        except ValueError as error:
            return {"unsupported": f"no JSON for it: {error}"}
        version = request.get("version", getattr(value, "version", 0))
        if version not in message.valid:
            return {"unsupported": "Kafka holds a version against its class's before it writes"}
        document = plain(value, version)
        if UNKNOWN in json.dumps(document):
            return {"unsupported": "Kafka's JSON takes no unknown tags"}
        frame = place_of(message).frame
        return {"bytes": self._judge.write(message.name, frame, document, version).hex()}


def main() -> None:
    """Answer until the requests end."""
    model = load(SCHEMAS)
    with Modules(model) as modules, MessageJudge() as judge:
        testee = KafkaTestee(judge, PythonTestee(model, modules))
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps({"id": request["id"], **testee.answer(request)}), flush=True)


if __name__ == "__main__":
    main()
