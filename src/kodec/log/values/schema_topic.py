"""Schemas from the topic of a registry, `_schemas`, on the disk of a broker."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from kodec.log.batches.records import Record
from kodec.log.directories.partition import PartitionLog
from kodec.log.values.schemas import (
    BadSchema,
    Reference,
    Schema,
    SchemaId,
    SchemaSourceFailed,
    UnknownSchema,
    kind_of,
)
from kodec.runtime.errors import FormatError, OffsetOutOfRange
from kodec.runtime.foreign_json import read_json

__all__ = ["SchemaTopic"]

_DEFAULT_CONTEXT = "."
# A schema is one text; references and metadata are few.
_MOST_VALUES = 100_000


class SchemaTopic:
    """The schemas in a registry's topic, from its records in the order of their offsets.

    A schema that was deleted, softly or permanently, is found by its id as long as a record of it exists,
    since data written with it may exist too. Only the newest version of a subject ignores it.
    If a schema is not found, new records of the log are read.

    Attributes:
        unknown: the number of records that are not a registry's, by the kind in their keys.

    Args:
        logs: those of the topic's partitions.

    Raises: SchemaSourceFailed, for a log that cannot be read.
    Source: io.confluent.kafka.schemaregistry.storage.KafkaStoreMessageHandler.

    Example:
        >>> import kodec
        >>> from kodec.values import SchemaTopic
        >>> topic = SchemaTopic(kodec.PartitionLog("/data/values/_schemas-0"))
        >>> topic.by_subject("orders-value", 1).id
        2
    """

    def __init__(self, *logs: PartitionLog) -> None:
        self.shown = ", ".join(str(log.path) for log in logs)
        self.unknown: dict[str, int] = {}
        self._ids: dict[tuple[str, SchemaId], Schema] = {}
        self._versions: dict[str, dict[int, Schema]] = {}
        self._deleted: set[tuple[str, int]] = set()
        self._aliases: dict[str, str] = {}
        # where reading of each log continues, and its files when it was read
        self._next: dict[Path, int] = {}
        self._known_sizes: dict[Path, object] = {}
        self._lock = threading.Lock()
        for log in logs:
            try:
                self._known_sizes[log.path] = _sizes(log.path)
                self._load(log.path, log.records())
            except (FormatError, OSError) as error:
                raise SchemaSourceFailed(f"{log.path}: {error}") from error

    def _read_on(self) -> None:
        """Read the records written since."""
        with self._lock:
            for path, offset in list(self._next.items()):
                # what is not whole yet, or has gone, leaves the schema unknown, and another look may find it
                with contextlib.suppress(FormatError, OSError, OffsetOutOfRange):
                    if (sizes := _sizes(path)) == self._known_sizes[path]:
                        continue
                    with PartitionLog(path) as log:
                        self._load(path, log.records(max(offset, log.start_offset)))
                    self._known_sizes[path] = sizes

    def _load(self, path: Path, records: Iterable[Record]) -> None:
        self._next.setdefault(path, 0)
        for record in records:
            self._next[path] = record.offset + 1
            key, value = _object(record.key), _object(record.value)
            kind = key.get("keytype")
            match kind:
                case "SCHEMA":
                    subject, version = str(key.get("subject")), key.get("version")
                    if isinstance(version, int):
                        self._version(subject, version, value if record.value is not None else None)
                case "DELETE_SUBJECT":
                    subject, last = str(value.get("subject")), value.get("version")
                    versions = self._versions.get(subject, {})
                    self._deleted |= {
                        (subject, version)
                        for version in versions
                        if isinstance(last, int) and version <= last
                    }
                case "CONFIG":
                    # of all configuration only an alias affects where a schema is found
                    of, alias = key.get("subject"), value.get("alias")
                    if isinstance(of, str):
                        self._aliases.pop(of, None)
                        if isinstance(alias, str):
                            self._aliases[of] = alias
                case "ASSOC" | "CLEAR_SUBJECT" | "CONTEXT" | "MODE" | "NOOP":
                    # what may be written, and what is gone for good after it was deleted: no schema by itself
                    pass
                case _:
                    self.unknown[str(kind)] = self.unknown.get(str(kind), 0) + 1

    def _version(self, subject: str, version: int, value: dict[str, Any] | None) -> None:
        """A version registered, softly deleted (`deleted`) or deleted for good (None)."""
        if value is None or value.get("deleted") is True:
            self._deleted.add((subject, version))
        else:
            self._deleted.discard((subject, version))
        number, text = (value or {}).get("id"), (value or {}).get("schema")
        if value is None or not isinstance(number, int) or not isinstance(text, str):
            return
        context, _ = _split(subject)
        listed = value.get("references")
        listed = listed if isinstance(listed, list) else []
        references = tuple(
            Reference(
                str(reference.get("name")),
                _qualified(context, str(reference.get("subject"))),
                reference.get("version"),
            )
            for reference in listed
            if isinstance(reference, dict) and type(reference.get("version")) in (int, type(None))
        )
        try:
            kind = kind_of(value.get("schemaType"))
        except BadSchema:
            name = f"schemaType {value.get('schemaType')}"
            self.unknown[name] = self.unknown.get(name, 0) + 1
            return
        schema = Schema(kind, text, references, number, subject, version)
        self._versions.setdefault(subject, {})[version] = schema
        self._ids[context, number] = schema
        self._ids[context, _guid(value)] = schema

    def by_id(self, schema_id: SchemaId, subject: str = "") -> Schema:
        """As `SchemaSource.by_id`; ids count in the default context, else in the only other one with it."""
        contexts = self._contexts(schema_id)
        if not contexts:
            self._read_on()
            contexts = self._contexts(schema_id)
        if len(contexts) == 1:
            return self._ids[contexts[0], schema_id]
        where = f"in each of the contexts {', '.join(contexts)}" if contexts else f"not in {self.shown}"
        raise UnknownSchema(f"schema {schema_id} is {where}")

    def _contexts(self, schema_id: SchemaId) -> list[str]:
        """Where an id is: the default context alone, if that has it."""
        if (_DEFAULT_CONTEXT, schema_id) in self._ids:
            return [_DEFAULT_CONTEXT]
        return sorted({context for context, known_id in list(self._ids) if known_id == schema_id})

    def by_subject(self, subject: str, version: int | None = None) -> Schema:
        """As `SchemaSource.by_subject`. A version that is asked for may be deleted.

        Args:
            subject, version: which schema; None: the newest version.
        """
        schema = self._version_of(subject, version)
        if schema is None:
            self._read_on()
            schema = self._version_of(subject, version)
        if schema is None:
            what = subject if version is None else f"version {version} of {subject}"
            raise UnknownSchema(f"{what} is not in {self.shown}")
        return schema

    def _version_of(self, subject: str, version: int | None) -> Schema | None:
        subject = self._aliases.get(subject, subject)
        versions = self._versions.get(subject, {})
        if version is None:
            version = max(
                (number for number in versions if (subject, number) not in self._deleted), default=-1
            )
        return versions.get(version)


def _sizes(path: Path) -> list[tuple[str, int]]:
    """Apply one record."""
    with os.scandir(path) as entries:
        return sorted((entry.name, entry.stat().st_size) for entry in entries if entry.name.endswith(".log"))


def _object(data: bytes | None) -> dict[str, Any]:
    """A JSON object; empty for any other bytes."""
    try:
        value = read_json(data or b"{}", most_values=_MOST_VALUES)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _split(subject: str) -> tuple[str, str]:
    """The context and the subject in it: `:.test:orders-value` is `.test` and `orders-value`."""
    if subject.startswith(":."):
        context, _, name = subject[1:].partition(":")
        return context, name
    return _DEFAULT_CONTEXT, subject


def _qualified(context: str, subject: str) -> str:
    """A subject that a schema of a context refers to: without a context of its own, one of the same."""
    if context == _DEFAULT_CONTEXT or subject.startswith(":."):
        return subject
    return f":{context}:{subject}"


def _guid(value: dict[str, Any]) -> UUID:
    """The GUID of a schema: the MD5 that is stored with it, else that of its text and references.

    Registries that store none hash its metadata and rules too; such a schema is found by its number only.
    Source: io.confluent.kafka.schemaregistry.client.rest.entities.Schema.updateHash.
    """
    try:
        return UUID(bytes=base64.b64decode(value["md5"], validate=True))
    except (KeyError, TypeError, ValueError):
        digest = hashlib.md5(str(value.get("schema")).encode("utf-8", "surrogatepass"), usedforsecurity=False)
        return UUID(bytes=digest.digest())
