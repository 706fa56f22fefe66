"""A message's names and values, as JSON, as Kafka's own tools print them."""

from __future__ import annotations

import base64
import math
from enum import IntEnum
from typing import Any
from uuid import UUID

from kodec.runtime.dataclass import MISSING, dataclass, fields, is_dataclass

__all__ = ["UNKNOWN", "Parts", "plain", "uuid_text"]

UNKNOWN = "unknownTaggedFields"


@dataclass(frozen=True, slots=True)
class Parts:
    """A message without versions and tags, by names: JSON types and bytes."""

    values: dict[str, Any]


def plain(message: Any, version: int | None = None) -> dict[str, Any]:
    """A generated message as a dict: Kafka's names, in camel case, and JSON types.

    Fields that `version` lacks are left out, and tagged fields with their default; `version` is that of the
    message itself if it has one. Bytes are base64, UUIDs as Kafka prints them. Tagged fields that no
    schema knows are a list under `unknownTaggedFields`, if there are any. Invalid UTF-8
    in a string becomes U+FFFD; NaN and infinite numbers are strings, and so are the names of enums.

    Source: what MessageDataGenerator of Kafka's generator makes: `...JsonConverter.write`.
    """
    if isinstance(message, Parts):
        return {name: _value(value, None) for name, value in message.values.items()}
    kind = type(message)
    names: dict[str, str] = getattr(kind, "NAMES", {})
    present: dict[str, range] = getattr(kind, "IN_VERSIONS", {})
    tags: dict[str, int] = getattr(kind, "TAGS", {})
    version = getattr(message, "version", None) if version is None else version
    members: dict[str, Any] = {}
    for spec in fields(message):
        value = getattr(message, spec.name)
        if spec.name not in names:
            if spec.name == "tagged_fields" and value:
                members[UNKNOWN] = [
                    {"tag": tag, "data": base64.b64encode(data).decode()} for tag, data in value
                ]
            continue
        if spec.name in present and version not in present[spec.name]:
            continue
        if spec.name in tags and value == _default(spec):
            continue
        name = names[spec.name]
        members[name[:1].lower() + name[1:]] = _value(value, version)
    return members


def _default(spec: Any) -> Any:
    return spec.default if spec.default_factory is MISSING else spec.default_factory()


def _value(value: Any, version: int | None) -> Any:
    if is_dataclass(value):
        return plain(value, version)
    if isinstance(value, dict):
        return {name: _value(member, version) for name, member in value.items()}
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, list):
        return [_value(item, version) for item in value]
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        )
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no such numbers
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return uuid_text(value) if isinstance(value, UUID) else value


def uuid_text(value: UUID) -> str:
    """22 characters of URL-safe base64, as Kafka writes topic ids."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
