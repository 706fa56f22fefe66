"""A property that is computed once, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["cached_property"]

T = TypeVar("T")


class cached_property(Generic[T]):
    """As `functools.cached_property` since Python 3.12.

    In 3.11 that one holds a lock for all objects of a class while it computes. Two threads that compute two
    such properties, each with the help of the other one of another object, then wait for each other forever.

    If several threads compute a value at once, all of them get the one that was stored first.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__
        self.__module__ = compute.__module__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> Self | T:
        if instance is None:
            return self
        values: dict[str, T] = instance.__dict__
        try:
            return values[self.name]
        except KeyError:
            return values.setdefault(self.name, self.compute(instance))
