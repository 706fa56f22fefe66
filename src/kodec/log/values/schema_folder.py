"""Schemas from a folder of `.avsc`, `.proto` and `.json` files."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

from kodec.log.values.schemas import (
    MOST_TEXT,
    BadSchema,
    Reference,
    Schema,
    SchemaId,
    SchemaKind,
    SchemaSourceFailed,
    UnknownSchema,
)

__all__ = ["SchemaFolder"]

_KINDS: dict[str, SchemaKind] = {".avsc": "avro", ".proto": "protobuf", ".json": "json-schema"}
_MOST_FILES = 10_000


class SchemaFolder:
    """The schemas of a folder and those in it, by the names of their files.

    `7.avsc` is the schema with the id 7 (a GUID likewise), `orders-value@7.avsc` is that too, and of the
    subject orders-value; `orders-value.avsc` has no id: it is for values of its subject whose id no other
    file has. An Avro type of another file is in the file named like it (`com.acme.Address.avsc`); a `.proto`
    imports others by their paths in the folder, and none outside it.

    Args:
        path: of the folder.
        only: this file alone counts, as if the folder held no other; None for all.

    Raises: SchemaSourceFailed for a folder that cannot be listed; BadSchema for two files of one name.

    Example:
        >>> from pathlib import Path
        >>> from kodec.values import SchemaFolder
        >>> Path("schemas").mkdir()
        >>> _ = Path("schemas/orders-value@7.avsc").write_text('"string"')
        >>> SchemaFolder("schemas").by_id(7).text
        '"string"'
    """

    def __init__(self, path: str | os.PathLike[str], *, only: Path | None = None) -> None:
        """With `only`, the folder as if it had this file alone."""
        self.path = Path(path)
        self._ids: dict[SchemaId, Path] = {}
        self._names: dict[str, Path] = {}
        self._read: dict[tuple[Path, SchemaId | None], Schema] = {}
        self._newest: dict[str, SchemaId] = {}
        try:
            root = self.path.resolve(strict=True)
            paths = self.path.rglob("*") if only is None else [only]
            files = sorted(file for file in paths if file.suffix in _KINDS and file.is_file())
        except OSError as error:
            raise SchemaSourceFailed(f"{self.path}: {error}") from error
        if len(files) > _MOST_FILES:
            raise BadSchema(f"{self.path}: more than {_MOST_FILES} schemas")
        self._inside = [file for file in files if file.resolve().is_relative_to(root)]
        for file in self._inside:
            subject, separator, number = file.stem.rpartition("@")
            schema_id = _id_of(number)
            if schema_id is None:
                self._require_unique(file.stem, self._names.get(file.stem), file)
                self._names[file.stem] = file
                continue
            self._require_unique(schema_id, self._ids.get(schema_id), file)
            self._ids[schema_id] = file
            if separator:
                self._newest[subject] = max(schema_id, self._newest.get(subject, schema_id), key=_order)
        self._paths = {file.relative_to(self.path).as_posix(): file for file in self._inside}

    def _require_unique(self, name: object, other: Path | None, file: Path) -> None:
        if other is not None:
            raise BadSchema(f"{self.path}: {other.name} and {file.name} are both the schema {name}")

    def by_id(self, schema_id: SchemaId, subject: str = "") -> Schema:
        """As `SchemaSource.by_id`."""
        file = self._ids.get(schema_id) or self._names.get(subject)
        if file is None:
            other = f" or {subject}" if subject else ""
            raise UnknownSchema(f"schema {schema_id}: {self.path} has no file named {schema_id}{other}")
        return self.of_file(file, schema_id)

    def by_subject(self, subject: str, version: int | None = None) -> Schema:
        """As `SchemaSource.by_subject`: the file with its name, or at this path, else the largest id."""
        file = self._paths.get(subject) or self._names.get(subject)
        if file is None and subject in self._newest:
            file = self._ids[self._newest[subject]]
        if file is None:
            raise UnknownSchema(f"{self.path} has no file named {subject}")
        return self.of_file(file, _id_of(file.stem.rpartition("@")[2]))

    def of_file(self, file: Path, schema_id: SchemaId | None = None) -> Schema:
        """The schema in a file of the folder, which is read once. Raises BadSchema, SchemaSourceFailed.

        Args:
            file: its path in the folder.
            schema_id: the requested id; None if it was not requested by id.
        """
        known = self._read.get((file, schema_id))
        if known is None:
            known = self._read[file, schema_id] = self._of_file(file, schema_id)
        return known

    def _of_file(self, file: Path, schema_id: SchemaId | None) -> Schema:
        try:
            with file.open("rb") as source:
                data = source.read(MOST_TEXT + 1)
        except OSError as error:
            raise SchemaSourceFailed(f"{file}: {error}") from error
        if len(data) > MOST_TEXT:
            raise BadSchema(f"{file}: more than {MOST_TEXT} bytes")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadSchema(f"{file}: not UTF-8 at byte {error.start}") from None
        kind = _KINDS.get(file.suffix)
        if kind is None:
            raise BadSchema(f"{file}: a schema is named {', '.join('*' + suffix for suffix in _KINDS)}")
        # Which of them it refers to is known when it is parsed.
        references = tuple(
            Reference(name if kind == "protobuf" else path.stem, name)
            for name, path in self._paths.items()
            if path.suffix == file.suffix and path.resolve() != file.resolve() and kind != "json-schema"
        )
        return Schema(kind, text, references, schema_id, file.stem)


def _order(schema_id: SchemaId) -> tuple[bool, int]:
    """Numbers count up; of GUIDs none is the newer one."""
    return (True, schema_id) if isinstance(schema_id, int) else (False, schema_id.int)


def _id_of(text: str) -> SchemaId | None:
    """A number or a GUID; None for other text."""
    if text.isascii() and text.isdigit() and len(text) <= 19:
        return int(text)
    try:
        return UUID(text) if len(text) == 36 else None
    except ValueError:
        return None
