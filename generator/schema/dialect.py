"""The schema language as a JSON schema, with which editors complete and check `.ksy` files.

`keys.py` alone defines which keys exist; this file defines the values of each, and describes it in a
sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kodec.generator.schema.implied import NAMES
from kodec.generator.schema.keys import KEYS, OLDER, OWN
from kodec.generator.schema.model import ARROW_TYPE
from kodec.generator.wire import ENCODINGS, INTRINSICS

__all__ = ["dialect"]

_Shape = Mapping[str, Any]


def _ref(name: str) -> _Shape:
    return {"$ref": f"#/definitions/{name}"}


def _or(*shapes: _Shape) -> _Shape:
    return {"anyOf": list(shapes)}


def _list(of: _Shape) -> _Shape:
    return {"type": "array", "items": of}


def _map(of: _Shape, keys: str = "") -> _Shape:
    names = {"propertyNames": {"pattern": keys}} if keys else {}
    return {"type": "object", "additionalProperties": of, **names}


def _words(*words: str | bool) -> _Shape:
    return {"enum": list(words)}


_NUMBERS = [
    *(f"{sign}{width}{order}" for sign in "us" for width in (1, 2, 4, 8) for order in ("", "le", "be")),
    *(f"f{width}{order}" for width in (4, 8) for order in ("", "le", "be")),
]
_TEXT: _Shape = {"type": ["string", "number", "boolean", "null"]}
_EXPR: _Shape = {"type": ["string", "number", "boolean"]}
_FLAG: _Shape = {"type": "boolean"}
_WHOLE: _Shape = {"type": "integer"}
_BYTE: _Shape = {"type": "integer", "minimum": 0, "maximum": 255}
_NAME: _Shape = {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"}
_PROSE = _or(_TEXT, _list(_TEXT))
_ORDER = _words("le", "be")
_A_TYPE = _or(_words(*_NUMBERS, "b1", "str", "strz"), {"type": ["string", "boolean"]})
_ENCODING = _or(_words(*ENCODINGS), {"type": "string"})
_ARROW: _Shape = {"type": "string", "pattern": ARROW_TYPE.pattern.replace(r"\Z", "$")}
_IDENT = "^[a-z][a-z0-9_]*$"
_NUMBER = "^[-+]?(0x[0-9a-fA-F_]+|0o[0-7]+|0b[01_]+|[0-9][0-9_]*)$"

# The value of a key, wherever it is used, and its meaning.
_ANYWHERE: Mapping[str, tuple[_Shape, str]] = {
    "doc": (_PROSE, "Documentation for people; the docstring."),
    "doc-ref": (_PROSE, "Reference to documentation: a title, a URL, or a list of them."),
    "-orig-id": (_PROSE, "Its name in the format's own documents."),
    "id": (_NAME, "Its name, in lower_snake_case."),
    "type": (
        _or(_A_TYPE, _ref("switch")),
        "A number (u1 to s8, f4, f8, b1 to b64), str, strz, a type of the schemas, or a choice of types.",
    ),
    "enum": (_TEXT, "The enum whose values the number has."),
    "encoding": (_ENCODING, "How text is stored."),
    "if": (_EXPR, "The condition under which the field exists."),
    "value": (_EXPR, "The expression that computes it."),
    # of a schema or a type
    "meta": (_ref("meta"), "Settings of the whole schema or type: byte order, encoding, imports."),
    "params": (_list(_ref("parameter")), "Its parameters."),
    "seq": (_list(_ref("field")), "Its fields, in the order of their bytes."),
    "instances": (_map(_ref("instance"), _IDENT), "Computed values, and values read at other positions."),
    "types": (_map(_ref("type"), _IDENT), "Types inside it."),
    "enums": (
        _map(_map(_or(_TEXT, _ref("enum value")), _NUMBER), _IDENT),
        "Enums: a name for each number.",
    ),
    "to-string": (_TEXT, "For other tools: how to show it."),
    "-names": (_or(_words(*NAMES), _ref("-names")), "The style of the names in the format's documents."),
    "-primitive": (_words(*INTRINSICS), "The primitive that the type is."),
    "-unwrap": (_NAME, "The field or instance that the type stands for."),
    "-row": (_or(_FLAG, _ref("-row")), "One value is one row of a table."),
    "-versions": (_or(_TEXT, _ref("-versions")), "The versions of the message: `0-4`."),
    "-message": (_ref("-message"), "The identity of the message in other parts of the format."),
    "-roles": (_map(_TEXT, _IDENT), "What its fields mean to programs: a field, or `a.b`, for each role."),
    # of a field or an instance
    "size": (_EXPR, "Its size in bytes."),
    "size-eos": (_FLAG, "It extends to the end of the stream."),
    "contents": (_or(_TEXT, _list(_or(_TEXT, _BYTE))), "The fixed bytes that it must have."),
    "repeat": (_words("expr", "eos", "until"), "It is a list."),
    "repeat-expr": (_EXPR, "The number of elements."),
    "repeat-until": (_EXPR, "The condition that ends the list; `_` is the element."),
    "terminator": (_or(_BYTE, _list(_BYTE)), "The byte, or bytes, that end it."),
    "consume": (_FLAG, "Whether the terminator is consumed; otherwise the next field starts at it."),
    "include": (_FLAG, "Whether the terminator is a part of the value."),
    "eos-error": (_FLAG, "Whether a missing terminator is an error."),
    "pad-right": (_BYTE, "The padding byte that fills it up to its size."),
    "process": (_TEXT, "How its bytes are stored: xor(key), rol(n), ror(n), zlib, or a registered name."),
    "valid": (_or(_TEXT, _ref("valid")), "The allowed values."),
    "-valid": (_ref("valid"), "As `valid`, for our readers and writers only: Kaitai's compilers ignore it."),
    "parent": (_or(_TEXT, _FLAG), "What `_parent` is inside it."),
    "io": (_TEXT, "The stream that it is read from."),
    "pos": (_EXPR, "Its position in the stream."),
    "-align": (_or(_WHOLE, _ref("-align")), "A writer that chooses its position takes a multiple of it."),
    "to": (_WHOLE, "The number of bytes that positions are multiples of."),
    "fill": (_BYTE, "The byte in front of it, up to what stands before."),
    "-derive": (
        _or({"type": "string"}, _ref("-derive"), _list(_ref("-derive"))),
        "What the writer computes and the reader checks: length_of(x), count_of(x), crc32c(a..b), max(x.y).",
    ),
    "-trailing-bytes": (_words("move"), "Undescribed bytes after it stay after it when it grows."),
    "-default": (_EXPR, "The value written if none is given, and returned if the field is absent."),
    "-nullable": (
        _or(_EXPR, _ref("-nullable")),
        "The field may be null, in all versions or in some (`2+`): where the part of `if` about it is false.",
    ),
    "-ignorable": (_FLAG, "In versions without the field its value is dropped, not refused."),
    "-tags": (_map(_or(_NAME, _ref("tag")), _NUMBER), "The typed tags of a tagged section, by number."),
    "-codec": (
        _or({"type": "string"}, _ref("-codec")),
        "The enum field with the codec of the compressed bytes.",
    ),
    "-column": (
        _or(_words(False), {"type": "string"}, _ref("-column")),
        "The column of a table: its name, or name, type and value; false hides it.",
    ),
}
# The value of a key in one kind of mapping.
_IN: Mapping[tuple[str, str], tuple[_Shape, str]] = {
    ("meta", "title"): (_TEXT, "The name of the format."),
    ("meta", "application"): (_PROSE, "What uses it."),
    ("meta", "file-extension"): (_PROSE, "The extension of its files."),
    ("meta", "xref"): ({}, "Its entries in catalogues of formats."),
    ("meta", "tags"): (_PROSE, "Words for catalogues."),
    ("meta", "license"): (_TEXT, "The licence of this file (SPDX)."),
    ("meta", "ks-version"): (_TEXT, "The Kaitai Struct version that it needs."),
    ("meta", "ks-debug"): (_FLAG, "For other tools."),
    ("meta", "ks-opaque-types"): (_FLAG, "Types that it does not have are schemas beside it."),
    ("meta", "imports"): (
        _or({"type": "string"}, _list(_TEXT)),
        "Schemas whose types are used, as paths without .ksy.",
    ),
    ("meta", "endian"): (_or(_ORDER, _ref("switch")), "The byte order of numbers."),
    ("meta", "bit-endian"): (_ORDER, "The order of bit fields."),
    ("switch", "switch-on"): (_EXPR, "The value that chooses."),
    ("switch", "cases"): (_map(_TEXT), "The choice for each value; `_` for all others."),
    ("valid", "eq"): (_EXPR, "It is this."),
    ("valid", "min"): (_EXPR, "It is at least this."),
    ("valid", "max"): (_EXPR, "It is at most this."),
    ("valid", "any-of"): ({**_list(_EXPR), "minItems": 1}, "It is one of these."),
    ("valid", "expr"): (_EXPR, "The condition that holds; `_` is the value."),
    ("valid", "in-enum"): (_FLAG, "It is a value of its enum."),
    ("-derive", "value"): (
        {"type": "string"},
        "length_of(x), count_of(x), position_of(x), crc32c(a..b), last(x.y), max(x.y), or an expression.",
    ),
    ("-derive", "verify"): (_words("equal", "at_least", "no"), "How strictly a reader checks it."),
    ("-derive", "own"): (_BYTE, "The byte that stands for those of the field itself."),
    ("-derive", "unpack"): (_words("deflate", "zlib", "gzip"), "How the bytes are decompressed first."),
    ("-derive", "into"): (_NAME, "The value instance of the field's type that has the value."),
    ("-derive", "when"): (_EXPR, "The condition under which it is checked."),
    ("-nullable", "if"): (_EXPR, "When the field is null."),
    ("-nullable", "versions"): (_TEXT, "The versions in which null is allowed: `2+`."),
    ("-names", "types"): (_words(*NAMES), "The style of the names of types."),
    ("-names", "fields"): (_words(*NAMES), "The style of the names of fields and tags."),
    ("-codec", "type"): ({"type": "string"}, "The type of the content; by default that of the case `none`."),
    ("-message", "topic"): (_TEXT, "The topic that such records are in."),
    ("-message", "flexible"): (_TEXT, "The flexible versions: `4+`, or `none`."),
    ("tag", "-versions"): (_TEXT, "The versions that have it: `3+`."),
    ("enum value", "-versions"): (_TEXT, "The versions that have it: `3+`."),
    ("-codec", "field"): (_EXPR, "The enum field with the codec."),
    ("-codec", "replace"): (
        _map({"type": "string"}),
        "Names of codecs that are replaced, each with its replacement.",
    ),
    ("-codec", "when"): (_EXPR, "The condition under which they are replaced."),
    ("-row", "columns"): (_list(_or({"type": "string"}, _ref("column of a -row"))), "The columns, in order."),
    ("-row", "unless"): (_EXPR, "Where it holds, the rows of a container are hidden."),
    ("-row", "bounds"): (_map(_ref("bound of a -row")), "Bounds that the container sets for a column."),
    ("-row", "head"): (
        _list(_ref("column of a -row")),
        "Columns with one value for all rows of a container.",
    ),
    ("bound of a -row", "first"): (_EXPR, "No row is below it."),
    ("bound of a -row", "last"): (_EXPR, "No row is above it."),
    ("-message", "kind"): (_TEXT, "What kind of message it is: `request`, `metadata`."),
    ("-message", "number"): (_WHOLE, "Its number among those of the kind."),
    ("-versions", "field"): (_TEXT, "The field that holds the version."),
    ("-versions", "range"): (_TEXT, "The versions: `0-4`."),
    **{
        (kind, key): shape
        for kind in ("-column", "column of a -row")
        for key, shape in {
            "name": ({"type": "string"}, "The name of the column."),
            "type": (_ARROW, "Its Arrow type."),
        }.items()
    },
}
_REQUIRED = {
    "schema": ["meta"],
    "switch": ["switch-on", "cases"],
    "-derive": ["value"],
    "-codec": ["field"],
}


def dialect() -> dict[str, Any]:
    """The JSON schema (draft 7) of a `.ksy` file."""
    definitions = {kind: _mapping(kind) for kind in KEYS}
    definitions["meta of a schema"] = {**definitions["meta"], "required": ["id"]}
    whole = definitions.pop("schema")
    whole["properties"]["meta"]["allOf"] = [_ref("meta of a schema")]
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Kaitai Struct schema, with kodec's extension keys",
        **whole,
        "definitions": definitions,
    }


def _mapping(kind: str) -> dict[str, Any]:
    keys = KEYS[kind]
    properties = {}
    for key in sorted(keys.plain | keys.own, key=lambda key: (key.startswith("-"), key)):
        shape, text = _IN.get((kind, key)) or _ANYWHERE[key]
        # draft 7 ignores other keys next to a reference
        plain = {"allOf": [shape]} if "$ref" in shape else shape
        properties[key] = {**plain, "description": text}
    for key in sorted(keys.older):
        text = f"Older key: {OLDER[key]}. `kodec upgrade-schemas` rewrites it."
        properties[key] = {"deprecated": True, "description": text}
    others = "|".join(sorted(key[1:] for key in OWN | OLDER.keys()))
    found: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "patternProperties": {f"^-(?!({others})$)": {}},
        "additionalProperties": False,
    }
    if kind in _REQUIRED:
        found["required"] = _REQUIRED[kind]
    return found
