"""Options as keyword arguments. Apart from `arguments`, as `inspect` takes long to import."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Concatenate, ParamSpec, TypeVar

from kodec.runtime.errors import EncodeError
from kodec.runtime.near import meant

__all__ = ["as_keywords"]

_First = TypeVar("_First")
_Keywords = ParamSpec("_Keywords")
_Options = TypeVar("_Options")
_Result = TypeVar("_Result")


def as_keywords(
    make: Callable[_Keywords, _Options], alone: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> Callable[[Callable[[_First, _Options], _Result]], Callable[Concatenate[_First, _Keywords], _Result]]:
    """Let callers give the fields of an options object as keyword arguments, which it is made of at once.

    What is decorated takes the object whole. What callers, `help` and type checkers see is the list of the
    object's fields, which is written once: in its class. An option in `alone` goes only with the
    options that it names.
    """

    def decorate(
        function: Callable[[_First, _Options], _Result],
    ) -> Callable[Concatenate[_First, _Keywords], _Result]:
        @functools.wraps(function)
        def called(first: _First, /, *args: _Keywords.args, **kwargs: _Keywords.kwargs) -> _Result:
            for option, others in alone.items():
                wrong = set(kwargs) - {option, *others}
                if kwargs.get(option) is not None and wrong:
                    need = f"no other option than {' and '.join(others)}"
                    raise EncodeError(min(wrong), f"comes from `{option}`", need=need)
            for name in kwargs:
                if name not in known:
                    error = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                    raise TypeError(error + meant(name, known))
            return function(first, make(*args, **kwargs))

        signature = inspect.signature(function)
        fields = [*inspect.signature(make).parameters.values()]
        parameters = [next(iter(signature.parameters.values())), *fields]
        known = [parameter.name for parameter in fields]
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return called

    return decorate
