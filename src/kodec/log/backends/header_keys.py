"""Keys of headers in columns of text, which cannot hold bytes that are not UTF-8.

Kafka's own clients replace such bytes by U+FFFD. An exact key has a character for each of them: U+EF80 to
U+EFFF for 80 to FF, as in MirBSD's OPTU-8. The bytes of these characters themselves are written in the same
way, so that every key comes back.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["exact", "has_ours", "key_of", "replaced", "restored"]

_BYTES = 0xEF00
_PATTERN = "[\uef80-\uefff]"
_OURS = re.compile(_PATTERN)
_ESCAPES = re.compile("[\udc80-\udcff]")


def replaced(key: bytes) -> str:
    """A key as Kafka's own clients show it."""
    return key.decode("utf-8", "replace")


def exact(key: bytes) -> str:
    """A key of which `key_of` gives the bytes."""
    text = key.decode("utf-8", "surrogateescape")
    if _OURS.search(text):
        text = _OURS.sub(lambda match: "".join(chr(_BYTES + byte) for byte in match[0].encode()), text)
    return _ESCAPES.sub(lambda match: chr(_BYTES + ord(match[0]) - 0xDC00), text)


def key_of(text: str) -> bytes:
    """The key that `exact` has written."""
    return b"".join(
        bytes([ord(sign) - _BYTES]) if _OURS.match(sign) else sign.encode("utf-8", "surrogateescape")
        for sign in text
    )


def has_ours(keys: pa.Array) -> bool:
    """Whether a key of a column has a character that stands for a byte."""
    matched: bool | None = pc.any(pc.match_substring_regex(keys, _PATTERN)).as_py()
    return bool(matched)


def restored(headers: pa.Array) -> pa.Array:
    """Headers as lists of pairs, with the keys as bytes that `exact` has written; the same if there are none.

    Args: headers: lists of any offsets, of structs with `key` and `value`, or maps.
    """
    kind = headers.type
    if pa.types.is_map(kind):
        keys, value = headers.keys, kind.item_type
    elif _is_list_of_pairs(kind):
        keys = pc.struct_field(pc.list_flatten(headers), "key")
        value = kind.value_type.field("value").type
    else:
        return headers
    if not (pa.types.is_string(keys.type) or pa.types.is_large_string(keys.type)) or not has_ours(keys):
        return headers
    rows = [row and [_pair(pair) for pair in row] for row in headers.to_pylist()]
    return pa.array(rows, pa.list_(pa.struct([("key", pa.binary()), ("value", value)])))


def _is_list_of_pairs(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_struct(
        kind.value_type
    ):
        return False
    return all(kind.value_type.get_field_index(name) >= 0 for name in ("key", "value"))


def _pair(header: dict[str, object] | tuple[object, object]) -> dict[str, object]:
    key, value = header if isinstance(header, tuple) else (header["key"], header["value"])
    return {"key": key_of(key) if isinstance(key, str) else key, "value": value}
