"""Public modules: their names are their own, in tracebacks and `help` too; a wrong one gets a suggestion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from kodec.runtime.near import meant

__all__ = ["publish", "published", "unknown"]


class _Hints(dict[str, Any]):
    """The annotations of a class that names a public module: `items` evaluates them where they were written.

    `typing.get_type_hints` would look for their names in the public module.
    """

    written: str

    def items(self) -> Any:
        names = vars(sys.modules[self.written])
        return {name: _evaluated(hint, names) for name, hint in super().items()}.items()


def _evaluated(hint: Any, names: dict[str, Any]) -> Any:
    text = getattr(hint, "__forward_arg__", hint)
    try:
        return eval(text, names) if isinstance(text, str) else hint
    except NameError:
        return hint  # imported for type checkers only


def published(found: Any, module: str) -> Any:
    """A public name, with the module that people import it from; what a notebook shows of an object."""
    if not isinstance(found, (type, FunctionType)) or not found.__module__.startswith("kodec."):
        return found
    written, found.__module__ = found.__module__, module
    if not isinstance(found, type) or issubclass(found, BaseException):
        return found
    hints = vars(found).get("__annotations__")
    if isinstance(hints, dict) and hints:
        made = _Hints(hints)
        made.written = written
        found.__annotations__ = made
    if not hasattr(found, "_repr_html_") and hasattr(found, "__dataclass_params__"):
        found._repr_html_ = _html  # type: ignore[attr-defined]
        if hasattr(found, "apply") or found.__name__.endswith(("Report", "Summary")):
            found.__repr__ = _brief  # type: ignore[method-assign]
    if found.__dir__ is object.__dir__:
        found.__dir__ = _public_names  # type: ignore[method-assign]
    return found


def _html(self: object) -> str:
    from kodec.runtime.shown import html_of

    return html_of(self)


def _brief(self: object) -> str:
    from kodec.runtime.shown import brief

    return brief(self)


def _public_names(self: object) -> list[str]:
    """Names without those that begin with one underscore."""
    return [name for name in object.__dir__(self) if name[:1] != "_" or name[:2] == "__"]


def publish(module: str, namespace: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the names in `__all__` of a public module its own. Returns its `__getattr__` and `__dir__`."""
    names = namespace["__all__"]
    for name in names:
        if name in namespace:
            published(namespace[name], module)

    def __getattr__(name: str) -> Any:
        raise unknown(module, name, names)

    return __getattr__, lambda: sorted(names)


def unknown(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """The error for a name that a module does not have."""
    hint = "" if name.startswith("_") else meant(name, names)
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)
