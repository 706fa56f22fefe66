"""Every key of the schema language, by the kind of mapping that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["IGNORED", "KEYS", "NEWEST", "OLDER", "OWN", "Keys"]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one kind of mapping: Kaitai's own, and the extensions, which start with `-`."""

    plain: frozenset[str]
    own: frozenset[str] = frozenset()
    older: frozenset[str] = frozenset()

    def __contains__(self, key: str) -> bool:
        return key in self.plain or key in self.own or key in self.older


def _keys(text: str, older: str = "") -> Keys:
    words = frozenset(text.split())
    own = frozenset(word for word in words if word.startswith("-"))
    return Keys(words - own, own, frozenset(older.split()))


_TYPE = (
    "doc doc-ref to-string params seq instances types enums -primitive -unwrap -row -versions -message "
    "-orig-id -trailing-bytes -roles"
)
_OLDER_OF_TYPE = "-wire -flexible -topic -tail"
KEYS: Mapping[str, Keys] = {
    "meta": _keys(
        "id title application file-extension xref tags license ks-version imports encoding endian bit-endian "
        "ks-debug ks-opaque-types -orig-id"
    ),
    "schema": _keys(f"meta {_TYPE} -names", _OLDER_OF_TYPE),
    "type": _keys(f"meta {_TYPE}", _OLDER_OF_TYPE),
    "field": _keys(
        "id size size-eos type enum valid contents repeat repeat-expr repeat-until if encoding doc doc-ref "
        "terminator consume include eos-error pad-right process parent "
        "-orig-id -derive -default -nullable -ignorable -tags -codec -column -valid",
        "-nullable-versions -since -until -inner",
    ),
    "parameter": _keys("id type doc doc-ref enum -orig-id"),
    "instance": _keys(
        "value pos io size size-eos type enum valid contents repeat repeat-expr repeat-until if encoding doc "
        "doc-ref terminator consume include eos-error pad-right process parent id -orig-id -column -valid"
    ),
    "enum value": _keys("id doc doc-ref -orig-id -versions", "-since -until"),
    "switch": _keys("switch-on cases"),
    "valid": _keys("eq min max any-of expr in-enum"),
    "-derive": _keys("value verify when own unpack into"),
    "-codec": _keys("field type replace when"),
    "-nullable": _keys("if versions"),
    "-names": _keys("types fields"),
    "-column": _keys("name type value"),
    "-row": _keys("columns unless bounds head"),
    "column of a -row": _keys("name type value"),
    "bound of a -row": _keys("first last"),
    "tag": _keys(
        "id doc doc-ref -orig-id -default -ignorable -nullable -versions", "-nullable-versions -since -until"
    ),
    "-message": _keys("kind number topic flexible"),
    "-versions": _keys("field range"),
}
"""Any other key is reported as a problem at its place.

But for one that begins with `-` and is not one of ours with a mistake in it: stock Kaitai leaves these to
other tools, and so they are passed over with a note.
"""

OWN = frozenset(key for keys in KEYS.values() for key in keys.own)
"""All of our extension keys."""

OLDER = {
    "-wire": "Older form of `-primitive`, `-unwrap` and, of a section, `-tags`",
    "-tail": "Older form of `-trailing-bytes: move`",
    "-topic": "Older form of `-message: {topic}`",
    "-flexible": "Older form of `-message: {flexible}`",
    "-since": "Older form of `if` alone or, of a tag or an enum value, `-versions`",
    "-until": "Older form of `if` alone or, of a tag or an enum value, `-versions`",
    "-nullable-versions": "Older form of `-nullable: 2+`",
    "-inner": "Older form of `-codec: {type}`",
}
"""Older keys, which schemas may go on using, with what is written in place of each."""

IGNORED = re.compile(r"-((webide|imhex|vendor)(-.*)?|affected-by|license)\Z")
"""Extension keys of other tools, wherever they stand. Under `meta` any key may be another tool's."""

NEWEST = (0, 11)
"""The version of Kaitai Struct whose language this is."""
