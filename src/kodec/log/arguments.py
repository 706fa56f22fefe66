"""What callers give, checked where it comes in: errors that say what to give instead."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from kodec.runtime.errors import ArgumentError

__all__ = ["as_keywords", "path_of", "require", "require_integer"]

_First = TypeVar("_First")
_Keywords = ParamSpec("_Keywords")
_Options = TypeVar("_Options")
_Result = TypeVar("_Result")


def as_keywords(
    make: Callable[_Keywords, _Options],
) -> Callable[[Callable[[_First, _Options], _Result]], Callable[Concatenate[_First, _Keywords], _Result]]:
    """Let callers give the fields of an options object as keyword arguments, which it is made of at once.

    What is decorated takes the object whole. What callers, `help` and type checkers see is the list of the
    object's fields, which is written once: in its class.
    """

    def decorate(
        function: Callable[[_First, _Options], _Result],
    ) -> Callable[Concatenate[_First, _Keywords], _Result]:
        @functools.wraps(function)
        def called(first: _First, /, *args: _Keywords.args, **given: _Keywords.kwargs) -> _Result:
            return function(first, make(*args, **given))

        own = inspect.signature(function)
        fields = inspect.signature(make).parameters.values()
        parameters = [next(iter(own.parameters.values())), *fields]
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return called

    return decorate


def require(name: str, value: object, kind: type, hint: str) -> None:
    """Refuse a value of another type; `hint` says how to make one. Raises ArgumentError."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name}: {hint}, not {type(value).__name__}")


def require_integer(name: str, value: object, least: int | None = None) -> None:
    """Refuse what is no whole number, or a smaller one. Raises ArgumentError."""
    if not isinstance(value, int):
        raise ArgumentError(f"{name}: a whole number is needed, not {type(value).__name__}")
    if least is not None and value < least:
        raise ArgumentError(f"{name}={value}: at least {least} is needed")


def path_of(value: object) -> Path:
    """The path. Raises ArgumentError for anything else."""
    if isinstance(value, (str, os.PathLike)):
        return Path(value)
    hint = ": give its `path`" if isinstance(getattr(value, "path", None), Path) else ""
    raise ArgumentError(f"a path is needed, not {type(value).__name__}{hint}")
