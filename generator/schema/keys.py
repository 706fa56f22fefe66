"""Every key of the schema language, by the kind of mapping that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from kodec.generator.wire import INTRINSICS

__all__ = ["IGNORED", "KEYS", "NEWEST", "OLDER", "OWN", "Keys", "newer"]


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
        "doc-ref terminator consume include eos-error pad-right process parent id "
        "-orig-id -column -valid -align"
    ),
    "enum value": _keys("id doc doc-ref -orig-id -versions", "-since -until"),
    "switch": _keys("switch-on cases"),
    "valid": _keys("eq min max any-of expr in-enum"),
    "-derive": _keys("value verify when own unpack into"),
    "-align": _keys("to fill"),
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
    "-wire": "write `-primitive`, `-unwrap` or, of a section, `-tags`",
    "-tail": "write `-trailing-bytes: move`",
    "-topic": "write `-message: {topic}`",
    "-flexible": "write `-message: {flexible}`",
    "-since": "write `if` alone or, of a tag or an enum value, `-versions`",
    "-until": "write `if` alone or, of a tag or an enum value, `-versions`",
    "-nullable-versions": "write `-nullable: 2+`",
    "-inner": "write `-codec: {type}`",
}
"""Older keys, which schemas may go on using, with what to write in place of each."""

_INTRINSIC = "|".join(INTRINSICS)
_NEWER = {
    "-wire": (
        (rf"-wire: ({_INTRINSIC})`", r"-primitive: \1`"),
        ("-wire: tags`", "-tags`"),
        ("-wire[^`]*`", "-unwrap`"),
    ),
    "-tail": (("-tail`", "-trailing-bytes`"),),
    "-nullable-versions": (("-nullable-versions`", "-nullable`"),),
    "-inner": (("-inner[^`]*`", "-codec`"),),
}


def newer(text: str, older: Container[str]) -> str:
    """A message as one about the newer keys, in a file that has these older ones."""
    for key, pairs in _NEWER.items():
        for pattern, shown in pairs if key not in older else ():
            text = re.sub(f"`{pattern}", f"`{shown}", text)
    return text


IGNORED = re.compile(r"-((webide|imhex|vendor)(-.*)?|affected-by|license)\Z")
"""Extension keys of other tools, wherever they stand. Under `meta` any key may be another tool's."""

NEWEST = (0, 11)
"""The version of Kaitai Struct whose language this is."""
