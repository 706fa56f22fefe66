"""Options as keyword arguments. Apart from `arguments`, as `inspect` takes long to import."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

__all__ = ["as_keywords"]

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
