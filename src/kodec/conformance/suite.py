"""The vectors of a suite: read from files or generated from schemas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CODES", "VERSION", "Suite", "Vector", "from_folder", "from_schemas"]

VERSION = 2
"""The supported version of the files."""
CODES = ("truncated", "malformed", "bad_checksum", "unsupported", "limit_exceeded", "not_encodable")
_MUST = ("accept", "refuse", "may")


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector, as in docs/conformance.md; `lacking` are paths, `error` has `code`, `path` and `at`.

    `instances` has values and errors, by the path of an object and the name of the instance.
    """

    id: str
    type: str
    tests: str
    must: str
    origin: str
    version: int | None = None
    why: str | None = None
    data: str | None = None
    exact: bool = False
    limit: int | None = None
    value: Any = None
    lacking: frozenset[str] = frozenset()
    encodes: str | None = None
    error: dict[str, Any] | None = None
    arguments: dict[str, Any] | None = None
    instances: dict[str, dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """All vectors, in their order, and their origin."""

    name: str
    vectors: tuple[Vector, ...]


def from_folder(folder: Path) -> Suite:
    """The files `*.vectors.json` under a folder. Raises ValueError for one of another form; OSError."""
    paths = sorted(folder.rglob("*.vectors.json"))
    if not paths:
        raise ValueError(f"no *.vectors.json in {folder}")
    return _suite(str(folder), ((str(path), path.read_text("utf-8")) for path in paths))


def from_schemas(folder: Path) -> Suite:
    """Vectors generated from a folder of schemas, and its files of vectors.

    Raises SchemaError with all problems of the schemas; as `from_folder`.
    """
    from kodec.generator.driver import render_all
    from kodec.generator.older_vectors import with_new_fields
    from kodec.generator.plan.build import program_of

    output = render_all(folder, targets=["vectors"])
    program = program_of(output.model)
    beside = (
        (str(path), with_new_fields(program, path.read_text("utf-8")))
        for path in sorted(folder.rglob("*.vectors.json"))
    )
    return _suite(str(folder), (*output.modules.items(), *beside))


def _suite(name: str, texts: Iterable[tuple[str, str]]) -> Suite:
    vectors: dict[str, Vector] = {}
    for path, text in texts:
        try:
            for vector in _vectors(json.loads(text)):
                if vector.id in vectors:
                    raise ValueError(f"there are two vectors {vector.id!r}")
                vectors[vector.id] = vector
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else error
            raise ValueError(f"{path} is not a file of vectors: {reason}") from None
    return Suite(name, tuple(vectors.values()))


def _vectors(document: dict[str, Any]) -> Iterator[Vector]:
    if document["vectors_version"] != VERSION:
        raise ValueError(f"version {document['vectors_version']!r}, not {VERSION}")
    for entry in document["vectors"]:
        if entry["must"] not in _MUST:
            raise ValueError(f"{entry['id']}: must {entry['must']!r}, not one of {', '.join(_MUST)}")
        origin = entry["origin"]
        yield Vector(
            id=entry["id"],
            type=entry["type"],
            tests=entry["tests"],
            must=entry["must"],
            origin=" ".join(origin[key] for key in ("name", "version") if key in origin) or origin["kind"],
            version=entry.get("version"),
            why=entry.get("why"),
            data=entry.get("bytes"),
            exact=entry.get("exact", False),
            limit=entry.get("limit"),
            value=entry.get("value"),
            lacking=frozenset(entry.get("lacking", ())),
            encodes=entry.get("encodes"),
            error=entry.get("error"),
            arguments=entry.get("arguments"),
            instances=entry.get("instances"),
        )
