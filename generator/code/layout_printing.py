"""Typed code of layouts as text: what a language spells besides what streams have (`printing.py`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from kodec.generator.code.printing import CodePrinter
from kodec.generator.code.typed import (
    Bytes,
    Code,
    Elements,
    Run,
    Section,
    Statement,
    Switch,
    Tags,
    Unpacked,
    Walk,
    Within,
)
from kodec.generator.plan.values import Type

__all__ = ["LayoutPrinter"]


class LayoutPrinter(CodePrinter):
    """A printer that has all statements and operations of layouts: each method is one."""

    def _statement(self, each: Statement) -> Iterator[str]:
        match each:
            case Run():
                yield from self.run(each)
            case Switch():
                yield from self.switch(each)
            case Within():
                yield from self.within(each)
            case Elements():
                yield from self.elements(each)
            case Walk():
                yield from self.walk(each)
            case Tags():
                yield from self.tags(each)
            case Bytes():
                yield from self.bytes(each)
            case Unpacked():
                yield from self.unpacked(each)
            case Section():
                yield from self.section(each)
            case _:
                yield from super()._statement(each)

    @abstractmethod
    def run(self, each: Run) -> Iterator[str]: ...

    @abstractmethod
    def switch(self, each: Switch) -> Iterator[str]: ...

    @abstractmethod
    def within(self, each: Within) -> Iterator[str]: ...

    @abstractmethod
    def elements(self, each: Elements) -> Iterator[str]: ...

    @abstractmethod
    def walk(self, each: Walk) -> Iterator[str]: ...

    @abstractmethod
    def tags(self, each: Tags) -> Iterator[str]: ...

    @abstractmethod
    def bytes(self, each: Bytes) -> Iterator[str]: ...

    @abstractmethod
    def unpacked(self, each: Unpacked) -> Iterator[str]: ...

    @abstractmethod
    def section(self, each: Section) -> Iterator[str]: ...

    @abstractmethod
    def of_held(self, code: Code, of: Code, name: str) -> str: ...

    @abstractmethod
    def of_make(self, code: Code, unit: str, members: tuple[tuple[str, Code], ...]) -> str: ...

    @abstractmethod
    def of_return(self, code: Code, value: Code) -> str: ...

    @abstractmethod
    def of_text(self, code: Code, io: Code, name: str, size: Code | None, encoding: str) -> str: ...

    @abstractmethod
    def of_fit(self, code: Code, name: Code, value: Code, width: int) -> str: ...

    @abstractmethod
    def of_sign(self, code: Code, op: str, of: Code) -> str: ...

    @abstractmethod
    def of_zero(self, code: Code) -> str: ...

    @abstractmethod
    def of_new(self, code: Code, unit: str) -> str: ...

    @abstractmethod
    def of_element(self, code: Code, of: Code) -> str: ...

    @abstractmethod
    def of_is_of(self, code: Code, of: Code, kind: Type) -> str: ...

    @abstractmethod
    def of_cast(self, code: Code, of: Code) -> str: ...

    @abstractmethod
    def of_edge(self, code: Code, which: str, of: Code, item: Type, value: Code) -> str: ...

    @abstractmethod
    def of_nth(self, code: Code, name: str) -> str: ...

    @abstractmethod
    def of_put(self, code: Code, wire: str, order: str, value: Code, name: Code) -> str: ...

    @abstractmethod
    def of_put_varint(self, code: Code, wire: str, value: Code, name: Code) -> str: ...

    @abstractmethod
    def of_bits_of_parts(self, code: Code, *parts: tuple[Code, int]) -> str: ...

    @abstractmethod
    def of_put_bits(self, code: Code, size: int, order: str, value: Code) -> str: ...

    @abstractmethod
    def of_append(self, code: Code, data: Code, name: Code, encoding: str) -> str: ...

    @abstractmethod
    def of_patch(self, code: Code, place: Code, wire: str, order: str, value: Code, name: Code) -> str: ...

    @abstractmethod
    def of_write(self, code: Code, unit: str, value: Code, given: tuple[Code, ...], name: Code) -> str: ...

    @abstractmethod
    def of_pack(self, code: Code, name: str, codec: Code, data: Code) -> str: ...

    @abstractmethod
    def of_checksum(self, code: Code, function: Code, start: Code, end: Code | None) -> str: ...

    @abstractmethod
    def of_function(self, code: Code, name: str) -> str: ...

    @abstractmethod
    def of_fail(self, code: Code, name: Code, reason: str, have: Code | None) -> str: ...

    @abstractmethod
    def of_field(self, code: Code, owner: Code, unit: str, name: str) -> str: ...

    @abstractmethod
    def of_list(self, code: Code, *items: Code) -> str: ...

    @abstractmethod
    def of_convert(self, code: Code, of: Code) -> str: ...

    @abstractmethod
    def of_read(self, code: Code, *args: Any) -> str: ...

    @abstractmethod
    def of_number(self, code: Code, io: Code, wire: str, order: str, name: str) -> str: ...

    @abstractmethod
    def of_load(self, code: Code, run: Code, wire: str, order: str, offset: int) -> str: ...

    @abstractmethod
    def of_slice(self, code: Code, run: Code, offset: int, size: int) -> str: ...

    @abstractmethod
    def of_bits(self, code: Code, local: Code, shift: int, width: int) -> str: ...

    @abstractmethod
    def of_on(self, code: Code, name: str, io: Code, *given: Any) -> str: ...

    @abstractmethod
    def of_call(self, code: Code, name: str, *given: Any) -> str: ...
