"""The fields of a line that may have been edited: each is checked when it is read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from kodec.runtime.errors import EncodeError

__all__ = ["Fields", "bytes_in", "bytes_out"]

_REQUIRED: Any = object()


def bytes_out(data: bytes | None) -> str | dict[str, str] | None:
    """Bytes for a line: text if they are UTF-8, else {"base64": ...}; null for None."""
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def bytes_in(value: object, path: str) -> bytes | None:
    """The reverse. Raises EncodeError."""
    if value is None:
        return None
    if isinstance(value, str):
        return _encoded(value, path)
    if isinstance(value, dict) and list(value) == ["base64"] and isinstance(value["base64"], str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, ValueError) as error:
            raise EncodeError(f"{path}.base64", f"not base64: {error}") from None
    raise EncodeError(path, "not bytes", need='text, {"base64": "..."} or null', have=value)


def _encoded(text: str, path: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodeError(path, f"not text: {error.reason}", need='{"base64": "..."}') from None


class Fields:
    """One JSON object; every field is read once, and `end` refuses unread fields.

    Errors are EncodeErrors whose path begins with `path`.
    """

    def __init__(self, value: object, path: str = "") -> None:
        self.path = path
        if not isinstance(value, dict):
            raise EncodeError(path, "not a JSON object", need="{...}", have=value)
        self._remaining = dict(value)

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def has(self, name: str) -> bool:
        """Whether there is a field that was not read yet."""
        return name in self._remaining

    def _take(self, name: str, default: Any) -> Any:
        value = self._remaining.pop(name, default)
        if value is _REQUIRED:
            raise EncodeError(self.at(name), "is missing")
        return value

    def integer(self, name: str, low: int, high: int, default: Any = _REQUIRED) -> Any:
        """A whole number from `low` to `high`; `default` if missing."""
        value = self._take(name, default)
        if value is default and default is not _REQUIRED:
            return value
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise EncodeError(self.at(name), "not a number that fits", need=f"{low} to {high}", have=value)
        return value

    def real(self, name: str) -> float:
        """A number; infinity and what is no number are not in JSON."""
        value = self._take(name, _REQUIRED)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise EncodeError(self.at(name), "not a number", have=value)
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false; false if missing."""
        value = self._take(name, False)
        if not isinstance(value, bool):
            raise EncodeError(self.at(name), "neither true nor false", have=value)
        return value

    def text(self, name: str, default: Any = _REQUIRED) -> Any:
        """A text; `default` if missing."""
        value = self._take(name, default)
        if value is not default and not isinstance(value, str):
            raise EncodeError(self.at(name), "not a text", have=value)
        return value

    def data(self, name: str, default: Any = None) -> bytes | None:
        """Bytes, as `bytes_out` writes them; `default` if missing."""
        value = self._take(name, default)
        return bytes_in(value, self.at(name))

    def items(self, name: str, default: Any = _REQUIRED) -> Iterator[tuple[object, str]]:
        """The members of a list, each with its path."""
        value = self._take(name, default)
        if not isinstance(value, list):
            raise EncodeError(self.at(name), "not a list", have=value)
        return ((item, f"{self.at(name)}[{number}]") for number, item in enumerate(value))

    def inner(self, name: str) -> Fields | None:
        """An object in a field; None if missing or null."""
        value = self._take(name, None)
        return None if value is None else Fields(value, self.at(name))

    def end(self) -> None:
        """Refuse unknown fields."""
        for name in self._remaining:
            raise EncodeError(self.at(name), "unknown field")
