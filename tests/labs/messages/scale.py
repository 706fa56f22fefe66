"""All of Kafka's messages, from its jars: which there are, and a package made of all of them."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from kodec.generator.driver import generate
from kodec.importer.definitions import MessageDef, read_definitions
from kodec.importer.places import PROTOCOL, place_of
from kodec.importer.plan import plan_import

__all__ = ["generated", "of_protocol", "scaled", "stored"]

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
PACKAGE = "kafka_messages"


def stored(jars: Path) -> list[MessageDef]:
    """The messages that Kafka stores."""
    return [each for each in read_definitions(jars) if place_of(each).folder not in ("", PROTOCOL)]


def of_protocol(jars: Path) -> list[MessageDef]:
    """Requests, responses and headers."""
    return [each for each in read_definitions(jars) if place_of(each).folder == PROTOCOL]


def generated(jars: Path, folder: Path) -> str:
    """Import everything into `folder`, beside our primitives, and generate it; the name of its package."""
    schemas = folder / "schemas"
    for path in (SCHEMAS / "primitives").glob("*.ksy"):
        (schemas / "primitives").mkdir(parents=True, exist_ok=True)
        (schemas / "primitives" / path.name).write_bytes(path.read_bytes())
    plan_import(jars, schemas, protocol=True).apply()
    generate(schemas, folder / PACKAGE)
    sys.path.insert(0, str(folder))
    return PACKAGE


def scaled(jars: Path, folder: Path) -> Iterator[tuple[str, bool]]:
    """What must hold of all messages together, once `generated` has made them: what, and whether it does."""
    schemas, out = folder / "schemas", folder / PACKAGE
    again = plan_import(jars, schemas, protocol=True)
    yield f"a second import changes nothing, of {again.unchanged} definitions", not again.changes
    before = _spent()
    changes = generate(schemas, out)
    seconds = _spent() - before
    yield (
        f"generated again in {seconds:.1f} s of the processor, nothing rewritten",
        not changes and seconds < 60,
    )
    one = schemas / "protocol" / "fetch_request.ksy"
    one.write_text(one.read_text().replace("title: ", "title: New ", 1))
    changed = {each.path.relative_to(out).as_posix() for each in generate(schemas, out)}
    wanted = {"protocol/fetch_request.py", "model.json", "MANIFEST.json"}
    yield f"a changed schema rewrites {', '.join(sorted(changed))}", changed == wanted
    loaded = _modules(f"import {PACKAGE}.protocol.fetch_request", folder)
    own = {f"{PACKAGE}.protocol", f"{PACKAGE}.protocol.fetch_request"}
    there = {name for name in loaded if name.startswith(f"{PACKAGE}.") and ".primitives" not in name}
    yield "one message imports no other", there == own
    every = sorted(path.stem for path in (out / "protocol").glob("*.py") if path.stem != "__init__")
    before = _spent()
    loaded = _modules("\n".join(f"import {PACKAGE}.protocol.{name}" for name in every), folder)
    yield (
        f"{len(every)} modules of requests, responses and headers imported in {_spent() - before:.1f} s",
        (len([name for name in loaded if name.startswith(f"{PACKAGE}.protocol.")]) == len(every) > 150),
    )


def _spent() -> float:
    """The seconds of the processor until now, of this process and those that it waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def _modules(program: str, folder: Path) -> set[str]:
    """What is imported once a program has run."""
    script = f"import sys\nsys.path.insert(0, {str(folder)!r})\n{program}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
