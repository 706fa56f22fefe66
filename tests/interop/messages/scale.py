"""All of Kafka's messages, from its jars: which there are, and a package made of all of them."""

from __future__ import annotations

import sys
from pathlib import Path

from kodec.generator.driver import generate
from kodec.importer.definitions import MessageDef, read_definitions
from kodec.importer.places import PROTOCOL, place_of
from kodec.importer.plan import plan_import

__all__ = ["generated", "of_protocol", "stored"]

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
