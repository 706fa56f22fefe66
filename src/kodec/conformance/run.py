"""The suite against a testee: the requests for each vector, and the check of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from kodec.conformance.known import Known
from kodec.conformance.process import Failed, Limits, Testee
from kodec.conformance.result import BROKEN, Result
from kodec.conformance.same import difference
from kodec.conformance.suite import CODES, Suite, Vector

__all__ = ["BROKEN", "CHECKS", "PROTOCOL", "Report", "Result", "run"]

PROTOCOL = 1
CHECKS = ("decode", "refuse", "may", "encode", "round_trip", "refuse_value", "instances")
"""The kinds of vectors: bytes with a value, without, or optional; values, both, invalid values; instances."""
_WRITES = ("encode", "round_trip")
_IN_A_ROW = 20


@dataclass(frozen=True, slots=True)
class Report:
    """A testee's description of itself, every result, and known failures that did not occur."""

    suite: str
    testee: dict[str, Any]
    results: tuple[Result, ...]
    unexpected: tuple[str, ...]
    gave_up: str | None = None
    starts: int = 0

    def count(self, check: str | None = None, outcome: str | None = None) -> int:
        """The number of results of a check and outcome."""
        return sum(
            (check is None or result.check == check) and (outcome is None or result.outcome == outcome)
            for result in self.results
        )

    @property
    def failures(self) -> list[Result]:
        """Failed results that are not known."""
        return [result for result in self.results if result.outcome in ("failed", *BROKEN)]

    @property
    def is_right(self) -> bool:
        return not self.failures and not self.unexpected and self.gave_up is None


def run(
    suite: Suite, command: Sequence[str], limits: Limits | None = None, known: Known | None = None
) -> Report:
    """Run every vector. Raises Failed if the testee does not describe itself; OSError."""
    known = known or Known()
    with Testee(command, limits or Limits()) as testee:
        says = testee.ask({"do": "hello"})
        _require_hello(says)
        checks = _Checks(testee, says)
        results: list[Result] = []
        for result in chain.from_iterable(map(checks.of, suite.vectors)):
            results.append(result)
            if checks.broken >= _IN_A_ROW:
                break
        gave_up = None
        if checks.broken >= _IN_A_ROW:
            gave_up = f"{_IN_A_ROW} requests in a row had no answer, the last of {results[-1].vector.id}"
        unexpected = () if gave_up else tuple(known.unexpected(results))
        judged = tuple(map(known.judged, results))
        return Report(suite.name, says, judged, unexpected, gave_up, testee.starts)


def _require_hello(says: dict[str, Any]) -> None:
    if says.get("protocol") != PROTOCOL:
        raise Failed("protocol", f"the testee speaks protocol {says.get('protocol')!r}, not {PROTOCOL}")
    for key, kind in (("name", str), ("language", str), ("version", str), ("does", list)):
        if not isinstance(says.get(key), kind):
            raise Failed("protocol", f"the answer to `hello` has no {key}")
    if not isinstance(says.get("reads", []), list):
        raise Failed("protocol", "`reads` in the answer to `hello` is not a list")


@dataclass
class _Checks:
    testee: Testee
    says: dict[str, Any]
    broken: int = field(default=0)

    def of(self, vector: Vector) -> Iterator[Result]:
        """The results of all checks of a vector that the testee has verbs for."""
        for check, verb in _checks_of(vector):
            if verb not in self.says["does"]:
                continue
            types = self.says.get("types")
            if isinstance(types, list) and vector.type not in types:
                yield Result(vector, check, "unsupported", "not one of its types")
                continue
            if verb in _WRITES and vector.type in self.says.get("reads", ()):
                yield Result(vector, check, "unsupported", "a type that it only reads")
                continue
            if vector.arguments is not None and "arguments" not in self.says["does"]:
                yield Result(vector, check, "unsupported", "a type with arguments")
                continue
            try:
                yield self._checked(vector, check)
                self.broken = 0
            except Failed as failed:
                self.broken += 1
                yield Result(vector, check, failed.outcome, str(failed))
                if self.broken >= _IN_A_ROW:
                    return

    def _checked(self, vector: Vector, check: str) -> Result:
        if check in ("decode", "refuse", "may"):
            answer = self._ask("decode", vector, bytes=vector.data)
        elif check == "round_trip":
            answer = self._ask("round_trip", vector, bytes=vector.data)
        elif check == "instances":
            names = {path: list(named) for path, named in (vector.instances or {}).items()}
            answer = self._ask("decode", vector, bytes=vector.data, instances=names)
        else:
            answer = self._ask("encode", vector, value=vector.value)
        if "unsupported" in answer:
            return Result(vector, check, "unsupported", str(answer["unsupported"]))
        wrong = getattr(self, f"_{check}")(vector, answer)
        return Result(vector, check, "passed" if wrong is None else "failed", wrong or "")

    def _ask(self, verb: str, vector: Vector, **more: Any) -> dict[str, Any]:
        request: dict[str, Any] = {"do": verb, "type": vector.type}
        if vector.version is not None:
            request["version"] = vector.version
        if vector.arguments is not None:
            request["arguments"] = vector.arguments
        if vector.exact and verb == "decode":
            request["exact"] = True
        if vector.limit is not None:
            request["limit"] = vector.limit
        return self.testee.ask({**request, **more})

    # -- the error of an answer; None if it is right -----------------------------------------

    def _decode(self, vector: Vector, answer: dict[str, Any]) -> str | None:
        if "error" in answer:
            return f"refused: {_error_text(answer['error'])}"
        if "value" not in answer:
            return "neither a value nor an error"
        return difference(vector.value, answer["value"], vector.lacking)

    def _refuse(self, vector: Vector, answer: dict[str, Any]) -> str | None:
        if "error" not in answer:
            return "accepted" if "value" in answer else "neither a value nor an error"
        return _wrong_error(vector.error or {}, answer["error"])

    def _may(self, vector: Vector, answer: dict[str, Any]) -> str | None:
        if "error" in answer or vector.value is None:
            return None if "error" in answer or "value" in answer else "neither a value nor an error"
        return self._decode(vector, answer)

    def _encode(self, vector: Vector, answer: dict[str, Any]) -> str | None:
        if "error" in answer:
            return f"refused: {_error_text(answer['error'])}"
        if not isinstance(answer.get("bytes"), str):
            return "neither bytes nor an error"
        if vector.encodes == "same":
            return _other_bytes(vector.data or "", answer["bytes"])
        return self._reads_back(vector, answer["bytes"])

    def _reads_back(self, vector: Vector, data: str) -> str | None:
        """Read written bytes again: sizes and checksums that the vector leaves out may have any value."""
        answer = self._ask("decode", vector, bytes=data)
        value = answer.get("value")
        if not isinstance(value, dict):
            return f"its own output cannot be read: {_error_text(answer.get('error'))}"
        known_fields = {name: member for name, member in value.items() if name in vector.value}
        return difference(vector.value, known_fields, vector.lacking)

    def _round_trip(self, vector: Vector, answer: dict[str, Any]) -> str | None:
        if "encode_error" in answer:
            return f"not written: {_error_text(answer['encode_error'])}"
        wrong = self._decode(vector, answer)
        return wrong if wrong is not None else _other_bytes(vector.data or "", str(answer.get("bytes")))

    def _instances(self, vector: Vector, answer: dict[str, Any]) -> str | None:
        wrong = self._decode(vector, answer)
        instances = answer.get("instances")
        if wrong is not None or not isinstance(instances, dict):
            return wrong or "no instances"
        expected = vector.instances or {}
        for path, name in ((path, name) for path, names in expected.items() for name in names):
            where = f"{path}.{name}".removeprefix(".")
            of = instances.get(path)
            have, right = of.get(name) if isinstance(of, dict) else None, expected[path][name]
            if not isinstance(have, dict) or not have.keys() & {"value", "error"}:
                return f"{where}: neither a value nor an error"
            if "error" in right:
                if "error" not in have:
                    return f"{where}: accepted"
                wrong = _wrong_error(right["error"], have["error"])
            elif "error" in have:
                return f"{where}: refused: {_error_text(have['error'])}"
            else:
                wrong = difference(right["value"], have["value"], vector.lacking, where)
            if wrong is not None:
                return wrong if wrong.startswith(where) else f"{where}: {wrong}"
        return None

    def _refuse_value(self, vector: Vector, answer: dict[str, Any]) -> str | None:
        if "error" not in answer:
            return f"written as {str(answer.get('bytes'))[:80]}"
        return _wrong_error(vector.error or {}, answer["error"])


def _checks_of(vector: Vector) -> Iterator[tuple[str, str]]:
    """(check, verb) of a vector."""
    if vector.data is None and vector.must == "refuse":
        yield "refuse_value", "encode"
    if vector.data is not None:
        yield {"accept": "decode"}.get(vector.must, vector.must), "decode"
    if vector.encodes is not None and vector.must == "accept":
        yield "encode", "encode"
    if vector.encodes == "same" and vector.must == "accept":
        yield "round_trip", "round_trip"
    if vector.instances is not None:
        yield "instances", "instances"


def _wrong_error(expected: dict[str, Any], actual: Any) -> str | None:
    """The difference of an error from the vector's; parts that an answer leaves out are not compared."""
    if not isinstance(actual, dict):
        return f"no error: {actual!r:.80}"
    if "code" in actual and actual["code"] not in CODES:
        return f"code {actual['code']!r:.80} is not one of {', '.join(CODES)}"
    for key in ("code", "path", "at"):
        if key in actual and key in expected and actual[key] != expected[key]:
            return f"error has {key} {actual[key]!r:.80}, not {expected[key]!r}"
    return None


def _other_bytes(expected: str, actual: str) -> str | None:
    if expected == actual:
        return None
    position = next(
        (i // 2 for i, (a, b) in enumerate(zip(expected, actual, strict=False)) if a != b),
        min(len(expected), len(actual)) // 2,
    )
    shown = slice(2 * position, 2 * position + 32)
    return f"other bytes from byte {position} on: {actual[shown]}, not {expected[shown]}"


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return f"{error!r:.80}"
    return ", ".join(f"{key} {error[key]!r:.80}" for key in ("code", "path", "at") if key in error)
