"""Kafka's message definitions: JSON with comments, in its jars. Only facts are imported, no texts."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kodec.generator.schema.versions import VersionRange
from kodec.runtime.errors import KodecError

__all__ = ["BadDefinition", "FieldDef", "MessageDef", "StructDef", "read_definitions"]

MOST_BYTES = 1 << 20
"""A limit far above any definition; a jar may claim anything."""
MOST_IN_JAR = 64 << 20
"""The same for all definitions of a jar."""
MOST_DEPTH = 16
NONE = VersionRange.parse("none")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*')
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*\Z")
_VERSIONED = re.compile(r"(?P<artifact>.+?)-(?P<version>[0-9][^/]*)\.jar\Z")


class BadDefinition(KodecError):
    """A definition that is not one of Kafka's: `source` is its place, `reason` the problem."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


@dataclass(frozen=True, slots=True)
class FieldDef:
    """A field of a definition.

    Attributes:
        type: a type name of Kafka, or the name of a struct; of an array, that of its elements.
        nullable: the versions in which null is allowed.
        tag, tagged: its number in the tagged section, and the versions in which it is there.
        default: as written, with numbers and booleans as values; None if absent.
        null_default: whether the default is null.
        flexible: the field's own encoding, if it overrides its message's.
    """

    name: str
    type: str
    is_array: bool
    versions: VersionRange
    nullable: VersionRange = NONE
    tag: int | None = None
    tagged: VersionRange = NONE
    default: str | int | float | bool | None = None
    null_default: bool = False
    ignorable: bool = False
    flexible: VersionRange | None = None


@dataclass(frozen=True, slots=True)
class StructDef:
    name: str
    fields: tuple[FieldDef, ...]


@dataclass(frozen=True, slots=True)
class MessageDef:
    """A definition: its struct, and those inside it by name.

    `artifact` and `release` are those of its jar, `entry` its path there; empty if it was found as a file.
    """

    name: str
    kind: str
    number: int | None
    valid: VersionRange
    flexible: VersionRange
    root: StructDef
    structs: Mapping[str, StructDef]
    source: str
    artifact: str = ""
    release: str = ""
    entry: str = ""


def read_definitions(path: Path) -> list[MessageDef]:
    """Every definition in a jar, or in the jars and JSON files below a folder, that still has versions.

    Raises: BadDefinition; OSError and zipfile.BadZipFile for unreadable files.
    """
    files = [path]
    if path.is_dir():
        files = sorted(
            file for file in path.rglob("*") if file.suffix in (".jar", ".json") and file.is_file()
        )
    elif not path.is_file():
        raise BadDefinition(str(path), "neither a folder nor a regular file")
    messages: dict[str, MessageDef] = {}
    for file in files:
        for message in _in_jar(file) if file.suffix == ".jar" else _in_file(file):
            other = messages.setdefault(message.name, message)
            if other is not message and _facts(other) != _facts(message):
                raise BadDefinition(
                    message.source, f"`{message.name}` is also in {other.source}, and differs"
                )
    return [messages[name] for name in sorted(messages)]


def _facts(message: MessageDef) -> tuple[object, ...]:
    return (message.kind, message.number, message.valid, message.flexible, message.root, message.structs)


def _in_file(file: Path) -> Iterator[MessageDef]:
    if file.stat().st_size <= MOST_BYTES:
        definition = _definition(file.read_bytes(), str(file))
        if definition is not None:
            yield definition


def _in_jar(file: Path) -> Iterator[MessageDef]:
    match = _VERSIONED.match(file.name)
    remaining = MOST_IN_JAR
    with _opened(file) as jar:
        for entry in sorted(jar.infolist(), key=lambda member: member.filename):
            if not re.search(r"(\A|/)(message|metadata)/[A-Za-z0-9]+\.json\Z", entry.filename):
                continue
            source = f"{file.name}!{entry.filename}"
            data = _inflated(jar, entry, source)
            remaining -= len(data)
            if remaining < 0:
                raise BadDefinition(file.name, f"its definitions are larger than {MOST_IN_JAR} bytes")
            definition = _definition(
                data,
                source,
                match["artifact"] if match else "",
                match["version"] if match else "",
                entry.filename,
            )
            if definition is not None:
                yield definition


def _opened(file: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (NotImplementedError, ValueError, OverflowError) as error:
        raise BadDefinition(str(file), f"a jar that cannot be read: {error}") from None


# ValueError: a name in front of an entry that is not UTF-8
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


def _inflated(jar: zipfile.ZipFile, entry: zipfile.ZipInfo, source: str) -> bytes:
    """The bytes of an entry, decompressed within the limit, whatever its header claims."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadDefinition(source, "compressed as no entry of a jar is")
    try:
        with jar.open(entry) as file:
            data = file.read(MOST_BYTES + 1)
    except _DAMAGED as error:
        raise BadDefinition(source, f"damaged: {error}") from None
    if len(data) > MOST_BYTES:
        raise BadDefinition(source, f"larger than {MOST_BYTES} bytes")
    return data


def _definition(
    data: bytes, source: str, artifact: str = "", release: str = "", entry: str = ""
) -> MessageDef | None:
    """The definition in a file; None for other JSON, and for a message that no longer has versions."""
    try:
        text = _STRING.sub(lambda match: match[0] if match[0][0] == '"' else "", data.decode("utf-8"))
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadDefinition(source, f"not JSON: {error}") from None
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise BadDefinition(source, "a text in it has half a character (a lone surrogate)") from None
    if not isinstance(document, dict) or not {"type", "name", "validVersions"} <= document.keys():
        return None
    reader = _Reader(source)
    name = reader.name(document)
    valid = reader.versions(document, "validVersions", NONE)
    if not valid:
        return None
    number = document.get("apiKey")
    structs: dict[str, StructDef] = {}
    for item in reader.items(document, "commonStructs"):
        structs[reader.name(item)] = StructDef(reader.name(item), ())
    for item in reader.items(document, "commonStructs"):
        structs[reader.name(item)] = reader.struct(reader.name(item), item, structs, 0)
    root = reader.struct(name, document, structs, 0)
    return MessageDef(
        name,
        str(document["type"]),
        number if isinstance(number, int) and not isinstance(number, bool) else None,
        valid,
        reader.versions(document, "flexibleVersions", NONE),
        root,
        structs,
        source,
        artifact,
        release,
        entry,
    )


class _Reader:
    """Reads the parts of one definition."""

    def __init__(self, source: str) -> None:
        self.source = source

    def bad(self, reason: str) -> BadDefinition:
        return BadDefinition(self.source, reason)

    def name(self, item: Mapping[str, Any]) -> str:
        name = item.get("name")
        if not isinstance(name, str) or not _NAME.match(name):
            raise self.bad(f"`{name}` is not a name")
        return name

    def items(self, item: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        objects = item.get(key, [])
        if not isinstance(objects, list) or not all(isinstance(element, dict) for element in objects):
            raise self.bad(f"`{key}` is not a list of objects")
        return objects

    def versions(self, item: Mapping[str, Any], key: str, otherwise: VersionRange) -> VersionRange:
        if key not in item:
            return otherwise
        try:
            return VersionRange.parse(str(item[key]))
        except ValueError as error:
            raise self.bad(f"{key}: {error}") from None

    def struct(
        self, name: str, item: Mapping[str, Any], structs: dict[str, StructDef], depth: int
    ) -> StructDef:
        if depth > MOST_DEPTH:
            raise self.bad(f"`{name}` is nested too deep")
        fields = []
        for entry in self.items(item, "fields"):
            field = self._field(entry)
            if "fields" in entry:
                if structs.get(field.type, StructDef("", ())).fields:
                    raise self.bad(f"struct `{field.type}` occurs twice")
                structs[field.type] = self.struct(field.type, entry, structs, depth + 1)
            fields.append(field)
        return StructDef(name, tuple(fields))

    def _field(self, item: Mapping[str, Any]) -> FieldDef:
        name, text = self.name(item), str(item.get("type", ""))
        kind = text.removeprefix("[]")
        if not _NAME.match(kind):
            raise self.bad(f"`{name}`: `{text}` is not a type")
        tag = item.get("tag")
        # as Jackson reads it: Kafka 4.0 has some in quotes
        if isinstance(tag, str) and re.fullmatch(r"[0-9]{1,9}", tag):
            tag = int(tag)
        if tag is not None and (not isinstance(tag, int) or isinstance(tag, bool) or tag < 0):
            raise self.bad(f"`{name}`: `{tag}` is not a tag")
        tagged = self.versions(item, "taggedVersions", NONE)
        if (tag is None) != (not tagged):
            raise self.bad(f"`{name}`: `tag` and `taggedVersions` go together")
        if "versions" not in item and tag is None:
            raise self.bad(f"`{name}` has no versions")
        default = item.get("default")
        if isinstance(default, (list, dict)):
            raise self.bad(f"`{name}`: its default is not a plain value")
        return FieldDef(
            name,
            kind,
            text.startswith("[]"),
            self.versions(item, "versions", tagged),
            self.versions(item, "nullableVersions", NONE),
            tag,
            tagged,
            default,
            # a null of JSON is no default: to Kafka's generator it is the same as no default
            default == "null",
            item.get("ignorable") is True,
            self.versions(item, "flexibleVersions", NONE) if "flexibleVersions" in item else None,
        )
