"""Feeds hostile bytes to what is generated, in each language, of schemas with hostile names and words.

    python -m tests.fuzz.hostile_languages --seconds 60            every language whose compiler is here
    python -m tests.fuzz.hostile_languages --seconds 60 go c       some

Every answer must be that of the generated Python: the same value, or a refusal by the format's error, in
bounded time and memory. C runs under sanitizers. Bytes are changed, cut and joined vectors; numbers at their
limits in the place of counts and lengths; parts that repeat and nest; compressed data that grows; any bytes.
Checksums and lengths in front of a part of them are made right.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import struct
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from kodec.conformance.same import difference
from kodec.generator.code.machine import Code, Machine
from kodec.generator.driver import load
from kodec.generator.modules import Modules
from kodec.generator.plan.streams import streams_of
from kodec.generator.schema.expression_types import Kinds
from kodec.runtime.compression import compress
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions
from tests.fuzz.languages import Types, alike, mutated
from tests.generator import any_name, test_hostile_languages
from tests.languages import c_testee, typescript_testee
from tests.languages.cases import CODES, Anything
from tests.languages.compilers import is_here
from tests.languages.protocol import Conversation
from tests.languages.stream_cases import planned, without_facts

LANGUAGES = {"c": "cc", "go": "go", "java": "javac", "rust": "cargo", "typescript": "node"}
LIMITS = ReadOptions(elements=1_000, depth=40, decompressed_bytes=1 << 16)
IN_CI = 2_000
_MOST = 1 << 15
_SECONDS, _MEMORY = 20.0, 1 << 30

# A field in each codec, lists of what takes bytes or none, numbers as lengths.
PACKED = """
meta: {id: z500, endian: be}
seq:
- {id: z501, type: u1, enum: z509}
- {id: z502, type: u4, -derive: length_of(z503)}
- id: z503
  size: z502
  type: {switch-on: z501, cases: {'z509::none': z504}}
  -codec: z501
  -inner: z504
types:
  z504: {-wire: list, seq: [{id: z505, type: z506, repeat: eos}]}
  z506:
    seq:
    - {id: z507, type: u4, -derive: length_of(z508)}
    - {id: z508, size: z507}
    - {id: z510, type: u4, -derive: count_of(z511)}
    - {id: z511, type: u2, repeat: expr, repeat-expr: z510}
enums: {z509: {0: none, 1: gzip, 2: snappy, 3: lz4, 4: zstd}}
"""
# Objects that hold each other, lists of objects without a byte, positions, and data that a process unpacks.
NESTED = """
meta: {id: z600, endian: le}
seq:
- {id: z601, type: u1}
- {id: z602, type: z610, if: z601 == 1}
- {id: z603, type: u4, if: z601 == 2}
- {id: z604, type: z620, repeat: expr, repeat-expr: z603, if: z601 == 2}
- {id: z605, size-eos: true, process: zlib, type: z630, if: z601 == 3}
- {id: z606, type: u8, if: z601 == 4}
- {id: z607, size: z606, if: z601 == 4}
types:
  z610:
    seq:
    - {id: z611, type: u1}
    - {id: z612, type: z610, repeat: expr, repeat-expr: z611 % 4}
    instances:
      z613: {pos: z611 * 3, type: z610}
      z614: {pos: 0, size-eos: true}
  z620: {}
  z630: {seq: [{id: z631, size-eos: true}]}
"""
NAMED = ("z000", "z100", "z200", "z300", "z400")
# Of what languages and the code in them have words for: every name of a schema becomes one.
WORDS = sorted({
    *test_hostile_languages.NAMES,
    *"""abstract arena as auto await become bool box char class clone code const constructor copy core crate
    data debug default delete do double drop dyn else end enum eq error errno eval extern fact false final
    find float fmt for format from func future get goto hash hasOwnProperty if impl import in index init
    inline input instanceof int interface io items iter kind len let limit linux list long loop macro map
    match max message min mod move mut native never new next none null object offset ok on option out output
    override package panic part path pos private prototype public range raw read reader ref register restrict
    result return self send set short signed sized some start static stdin stdout str stream string struct
    super switch symbol sync synchronized system tag text this thread throws to_bytes to_string trait
    transient try type typedef typeof undefined union unix unsafe unsigned use v vec version virtual void
    volatile where while with write writer yield y z""".lower().split(),
})  # fmt: skip


def put(folder: Path, names: Sequence[str] = NAMED) -> Path:
    """The schemas, those of these names among them, in a folder."""
    # Go has no number of 64 bits without a sign in such a type
    known = {
        name: text.replace("{id: z001, type: u8}", "{id: z001, type: s8}")
        for name, text in any_name.sources(names).items()
    }
    schemas = known | {"z500": PACKED, "z600": NESTED}
    # names of a streamed schema are refused where a language has them for its own
    streamed = {"z300", "z600"}
    plain = {name: text for name, text in schemas.items() if name not in streamed}
    words = [*WORDS, *(f"{word}_{number}" for number in range(1, 9) for word in WORDS)]
    called = next(any_name.rounds(plain, words, step=1))
    for name, text in any_name.sources(any_name.FIXED).items():
        _write(folder / f"{name}.ksy", text)
    for name, text in schemas.items():
        _write(folder / f"{name}.ksy", _worded(text if name in streamed else any_name.renamed(text, called)))
    test_hostile_languages.put(folder / "x")
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _worded(text: str) -> str:
    """A schema with hostile documentation of everything in it."""
    tree = yaml.safe_load(text)
    doc = "\n\n".join(test_hostile_languages.WORDS.values())
    tree["meta"]["title"] = " ".join(doc.split())

    def document(unit: dict[str, Any]) -> None:
        unit["doc"] = doc
        for each in (*unit.get("seq", ()), *unit.get("params", ()), *unit.get("instances", {}).values()):
            each["doc"] = doc
        for several in unit.get("enums", {}).values():
            for value, name in several.items():
                several[value] = {"id": name, "doc": doc}
        for inner in unit.get("types", {}).values():
            document(inner)

    document(tree)
    return yaml.safe_dump(tree, sort_keys=False)


# -- questions --------------------------------------------------------------------------------------


def _edges(kind: str) -> tuple[int, ...]:
    bits = 8 * struct.calcsize(kind)
    return (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << (bits - 1)) + 1


_NUMBERS = [
    *(struct.pack(f">{kind}", number) for kind in "BHIQ" for number in _edges(kind)),
    *(struct.pack(f"<{kind}", number) for kind in "HIQ" for number in _edges(kind)),
    *(b"\xff" * size + end for size in (1, 2, 4, 8, 9) for end in (b"\x00", b"\x01", b"\x0f", b"\x7f")),
]
"""Counts and lengths at their limits, also as varints."""


def _sealed_z000(data: bytearray) -> None:
    """The length of what follows, and the checksum of it."""
    if len(data) >= 53:
        data[8:12] = struct.pack("<I", len(data) - 12)
        data[12:16] = struct.pack(">I", zlib.crc32(data[16:]))


def _sealed_z500(data: bytearray) -> None:
    if len(data) >= 5:
        data[1:5] = struct.pack(">I", len(data) - 5)


_SEALS: dict[str, Callable[[bytearray], None]] = {"z000": _sealed_z000, "z500": _sealed_z500}


def _packed(codec: str, rows: bytes) -> bytes:
    data = rows if codec == "none" else compress(codec, rows)
    return struct.pack(">BI", ("none", "gzip", "snappy", "lz4", "zstd").index(codec), len(data)) + data


def _seeds() -> Iterator[tuple[str, None, bytes]]:
    """Bytes of which there are no vectors, as libraries compress differently, and bombs."""
    row = struct.pack(">I", 3) + b"abc" + struct.pack(">IHH", 2, 1, 2)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        for rows in (row, row * 50, b"\0" * 8_000, b"\0" * 80_000):
            yield "z500", None, _packed(codec, rows)
        if codec != "none":
            yield "z500", None, _packed(codec, compress(codec, b"\0" * 500_000))
    for codec, size in (("gzip", 8 << 20), ("zstd", 64 << 20), ("lz4", 4 << 20)):
        yield "z500", None, _packed(codec, b"\0" * size)
    yield "z000", None, bytes.fromhex(any_name.GZIP)
    yield "z600", None, b"\x01" + b"\x01" * 200
    yield "z600", None, b"\x01" + b"\x03" * 2_000
    yield "z600", None, b"\x02" + b"\xff" * 4
    yield "z600", None, b"\x04" + b"\xff" * 8 + b"abc"
    for size in (10, 60_000, 16 << 20):
        yield "z600", None, b"\x03" + zlib.compress(b"\0" * size)


def hostile(data: bytes, others: list[bytes], drawn: random.Random) -> bytes:
    """Bytes that a reader of `data` may stumble over."""
    found = bytearray(data)
    at = drawn.randrange(len(found) + 1)
    match drawn.randrange(8):
        case 0 | 1:
            number = drawn.choice(_NUMBERS)
            found[at : at + len(number)] = number
        case 2:
            part = found[at : at + drawn.randrange(1, 40)] or b"\x01"
            found[at:at] = part * drawn.choice((10, 100, _MOST // len(part)))
        case 3:
            found = bytearray(drawn.randbytes(drawn.randrange(200)))
        case 4:
            found = bytearray(drawn.choice((b"\0", b"\xff", b"\x01", b"\x80")) * drawn.randrange(2_000))
        case _:
            found = bytearray(mutated(data, others, drawn))
    return bytes(found[:_MOST])


class Questions(Types):
    """What testees are asked, and what the generated Python, or of streams the plan, answers."""

    def __init__(self, schemas: Path, modules: Modules, model: Any) -> None:
        super().__init__(schemas, modules, model)
        self.program = streams_of(model, Kinds(model))
        self.code = Code(self.program)
        self.streamed = {name for name, unit in self.program.units.items() if unit.streamed is not None}
        self.seeds += [each for each in _seeds() if each[0] in {one.id for one in model.schemas}]
        self.options = {"opt": LIMITS}

    def draw(self, drawn: random.Random) -> Iterator[dict[str, Any]]:
        """Without end; first all that there are bytes of."""
        of_type: dict[str, list[tuple[int | None, bytes]]] = {}
        for kind, version, data in self.seeds:
            of_type.setdefault(kind, []).append((version, data))
            yield self._request(kind, version, data)
        while True:
            kind = drawn.choice(sorted(of_type))
            version, data = drawn.choice(of_type[kind])
            found = bytearray(hostile(data, [each for _, each in of_type[kind]], drawn))
            if kind in _SEALS and drawn.random() < 0.8:
                _SEALS[kind](found)
            yield self._request(kind, version, bytes(found))

    def _request(self, kind: str, version: int | None, data: bytes) -> dict[str, Any]:
        # libraries compress differently
        verb = "decode" if kind in self.streamed or kind in _SEALS else "round_trip"
        limits = {"limit": LIMITS.decompressed_bytes, "elements": LIMITS.elements, "depth": LIMITS.depth}
        request = {"do": verb, "type": kind, "bytes": data.hex(), **limits}
        if kind in self.streamed:
            request["instances"] = True
        return request if version is None else {**request, "version": version}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["type"] not in self.streamed:
            found = super().answer(request)
            return {"value": found["value"]} if request["do"] == "decode" and "value" in found else found
        reader = Machine(self.code, bytes.fromhex(request["bytes"]), LIMITS)
        try:
            return {"value": planned(reader, reader.read(request["type"]))}
        except FormatError as error:
            return {"error": {"code": CODES[type(error).__name__], "path": error.path, "at": error.at}}


# -- testees ----------------------------------------------------------------------------------------


class Watched(Conversation):
    """A testee that is ended where it takes too long, or too much memory."""

    def __init__(self, command: list[str]) -> None:
        super().__init__(command)
        self.why = "it ended"
        self.most = 0
        self._asked: float | None = None
        threading.Thread(target=self._watch, daemon=True).start()

    def ask_all(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers. Raises AssertionError with the first request that has none."""
        found: list[dict[str, Any]] = []
        try:
            # one after another: what has no answer is then known
            for request in requests:
                self._asked = time.monotonic()
                found += self.ask([request])
        except (AssertionError, OSError, ValueError) as error:
            raise AssertionError(f"{self.why}: {str(requests[len(found)])[:4_000]}: {error!r:.200}") from None
        finally:
            self._asked = None
        return found

    def end(self) -> int:
        """Let it end; its exit code."""
        self._process.communicate(timeout=_SECONDS)
        return self._process.returncode

    def _watch(self) -> None:
        while self._process.poll() is None:
            asked = self._asked
            if asked is not None and time.monotonic() - asked > _SECONDS:
                self.why = f"no answer in {_SECONDS:g} s"
            elif (size := _resident(self.pid)) > _MEMORY:
                self.why = f"it takes {size >> 20} MiB"
            else:
                self.most = max(self.most, size)
                time.sleep(0.02)
                continue
            self._process.kill()


def _resident(pid: int) -> int:
    """The memory that a process takes, in bytes; 0 if the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) << 10


def build(language: str, schemas: Path, folder: Path) -> list[str]:
    """The command of a language's testee, with bounds that its runtime can keep to itself."""
    folder.mkdir(exist_ok=True)
    module = importlib.import_module(f"tests.languages.{language}_testee")
    # without optimization, which takes the compiler most of its time
    more = {"flags": ("-g0", "-O0", *c_testee.SANITIZED[2:])} if language == "c" else {}
    command: list[str] = module.build(schemas, folder, **more)
    match language:
        case "java":
            return [command[0], "-Xmx256m", *command[1:]]
        case "typescript":
            return [command[0], "--max-old-space-size=256", *command[1:]]
        case "c":
            # else what is freed stays for a while
            return ["env", "ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=1", *command]
    return command


def here() -> Iterator[str]:
    """The languages that can be built."""
    for language, program in LANGUAGES.items():
        if is_here(program) and (language != "typescript" or typescript_testee.node() is not None):
            yield language


def _is_known(language: str, request: dict[str, Any], wanted: dict[str, Any], found: dict[str, Any]) -> bool:
    """What is a library's: fzstd, with which Node before 22.15 reads zstd, takes some broken frames."""
    is_zstd = request["type"] == "z500" and request["bytes"].startswith("04")
    return language == "typescript" and is_zstd and "error" in wanted and "value" in found


def _as_text(value: Any) -> Any:
    """Text of ASCII that is UTF-8 is shown as that by testees of languages in which text is bytes."""
    if isinstance(value, list):
        return [_as_text(each) for each in value]
    if isinstance(value, dict):
        if value.keys() == {"raw"}:
            try:
                return bytes.fromhex(value["raw"]).decode("utf-8")
            except UnicodeDecodeError:
                return value
        return {name: _as_text(each) for name, each in value.items()}
    return value


def run(
    languages: Sequence[str],
    until: Callable[[int], bool],
    drawn: random.Random,
    folder: Path,
    names: Sequence[str] = NAMED,
) -> tuple[int, list[str]]:
    """How many bytes were asked about, and each difference."""
    schemas = put(folder / "schemas", names)
    wrong: list[str] = []
    counted: Counter[str] = Counter()
    count = 0
    with ExitStack() as stack:
        modules = stack.enter_context(Modules(model := load(schemas)))
        questions = Questions(schemas, modules, model)
        testees = {
            each: stack.enter_context(Watched(build(each, schemas, folder / each))) for each in languages
        }
        asked = questions.draw(drawn)
        while not until(count):
            requests = [next(asked) for _ in range(100)]
            wanted = [_as_text(questions.answer(request)) for request in requests]
            counted.update("refused" if "error" in each else "read" for each in wanted)
            count += len(requests)
            for language, testee in list(testees.items()):
                try:
                    answers = testee.ask_all(requests)
                except AssertionError as error:
                    wrong.append(f"{language}: {error}")
                    del testees[language]
                    continue
                for request, ours, found in zip(requests, wanted, answers, strict=True):
                    if "unsupported" in found:
                        counted[f"unsupported by {language}"] += 1
                    elif _is_known(language, request, ours, found):
                        counted[f"known of {language}"] += 1
                    elif not alike(ours, found := without_facts(_as_text(found))):
                        how = difference(ours.get("value"), found.get("value"), Anything())
                        shown = [
                            {**each, "value": how} if "value" in each else each for each in (ours, found)
                        ]
                        wrong.append(f"{language}: {request}: Python {shown[0]}, not {shown[1]}")
        for language, testee in testees.items():
            print(f"{language}: at most {testee.most >> 20} MiB")
            if (code := testee.end()) != 0:
                # a leak, as the sanitizer reports it at the end
                wrong.append(f"{language}: ends with {code}")
    print(f"{count} inputs, {dict(counted)}")
    return count, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", metavar="language")
    parser.add_argument("--seconds", type=float, default=60, help="of which most go into compilers")
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    chosen = list(given.languages or here())
    # in CI the same inputs each time: what fails is the commit's
    in_ci = given.seed is None and bool(os.environ.get("CI"))
    seed = 1 if in_ci else random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"seed {seed}: {', '.join(chosen)}", flush=True)
    end = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="kodec-languages-") as folder:
        # at least once
        _, wrong = run(
            chosen,
            lambda count: count > 0 and (time.monotonic() > end or (in_ci and count >= IN_CI)),
            random.Random(seed),
            Path(folder),
        )
    for each in wrong[:20]:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
