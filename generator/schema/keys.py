"""Every key of the schema language, by the kind of mapping that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["IGNORED", "KEYS", "NEWEST", "OWN", "Keys"]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one kind of mapping: Kaitai's own, and the extensions, which start with `-`."""

    plain: frozenset[str]
    own: frozenset[str] = frozenset()

    def __contains__(self, key: str) -> bool:
        return key in self.plain or key in self.own


def _keys(text: str) -> Keys:
    words = frozenset(text.split())
    own = frozenset(word for word in words if word.startswith("-"))
    return Keys(words - own, own)


_TYPE = (
    "doc doc-ref to-string params seq instances types enums -wire -row -versions -flexible -topic -message "
    "-orig-id -tail -roles"
)
KEYS: Mapping[str, Keys] = {
    "meta": _keys(
        "id title application file-extension xref tags license ks-version imports encoding endian bit-endian "
        "ks-debug ks-opaque-types -orig-id"
    ),
    "schema": _keys(f"meta {_TYPE}"),
    "type": _keys(f"meta {_TYPE}"),
    "field": _keys(
        "id size size-eos type enum valid contents repeat repeat-expr repeat-until if encoding doc doc-ref "
        "terminator consume include eos-error pad-right process parent "
        "-orig-id -derive -default -nullable -nullable-versions -since -until -ignorable -tags -codec -inner "
        "-column -valid"
    ),
    "parameter": _keys("id type doc doc-ref enum -orig-id"),
    "instance": _keys(
        "value pos io size size-eos type enum valid contents repeat repeat-expr repeat-until if encoding doc "
        "doc-ref terminator consume include eos-error pad-right process parent id "
        "-orig-id -column -valid -align"
    ),
    "enum value": _keys("id doc doc-ref -orig-id -since -until"),
    "switch": _keys("switch-on cases"),
    "valid": _keys("eq min max any-of expr in-enum"),
    "-derive": _keys("value verify when own unpack into"),
    "-align": _keys("to fill"),
    "-codec": _keys("field replace when"),
    "-column": _keys("name type value"),
    "-row": _keys("columns unless bounds head"),
    "column of a -row": _keys("name type value"),
    "bound of a -row": _keys("first last"),
    "tag": _keys("id doc doc-ref -orig-id -default -ignorable -nullable-versions -since -until"),
    "-message": _keys("kind number"),
    "-versions": _keys("field range"),
}
"""Any other key is reported as a problem at its place.

But for one that begins with `-` and is not one of ours with a mistake in it: stock Kaitai leaves these to
other tools, and so they are passed over with a note.
"""

OWN = frozenset(key for keys in KEYS.values() for key in keys.own)
"""All of our extension keys."""

IGNORED = re.compile(r"-((webide|imhex|vendor)(-.*)?|affected-by|license)\Z")
"""Extension keys of other tools, wherever they stand. Under `meta` any key may be another tool's."""

NEWEST = (0, 11)
"""The version of Kaitai Struct whose language this is."""
