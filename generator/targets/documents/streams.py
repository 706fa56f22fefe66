"""The texts of pages about streamed schemas: instances, ends of values, and processes of their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Endian, Field, Instance, Model, Ref, Str, Struct, Switch
from kodec.generator.schema.widths import field_bits
from kodec.generator.wire import ENCODINGS

__all__ = ["LEGEND", "bits", "endian", "ends", "places", "position", "size_of"]

LEGEND = (
    "Positions and sizes are in bytes. `_io` is the stream that a type is read from, `_parent` what holds "
    "it, `_root` the outermost type, `_` the value that a rule checks, `_index` its number in a list."
)
_Show = Callable[[ex.Expr], str]


def places(model: Model, struct: Struct) -> Iterator[tuple[Field, int | None]]:
    """Each field, with the bit at which it starts if this is fixed."""
    at: int | None = 0
    for spec in struct.fields:
        size = field_bits(model, spec)
        if at is not None and at % 8 and not isinstance(spec.type, Bits):
            # bits go on in a type that starts with some
            at = None if isinstance(spec.type, (Ref, Switch)) else (at + 7) // 8 * 8
        yield spec, at
        at = None if at is None or size is None else at + size


def size_of(spec: Field, known: int | None, show: _Show) -> str:
    """The cell that shows how many bytes one value of a field takes; all of it `known` bits."""
    if isinstance(spec.type, Bits):
        return ""
    if spec.contents is not None:
        return str(len(spec.contents))
    if spec.size is not None:
        plain = ex.fold(spec.size)
        return str(plain.value) if isinstance(plain, ex.Literal) else show(spec.size)
    if spec.size_eos:
        return "to the end"
    if _terminator(spec) is not None:
        return "to its end"
    return "" if known is None or known % 8 else str(known // 8)


def position(instance: Instance, show: _Show) -> str:
    """The cell that shows where an instance is read."""
    at = "the current position" if instance.position is None else show(instance.position)
    return at if instance.io is None else f"{at} of {show(instance.io)}"


def ends(spec: Field, show: _Show) -> Iterator[str]:
    """Sentences about the end of a value, and about how its bytes are stored."""
    terminator = _terminator(spec)
    if terminator is not None:
        shown = " ".join(f"{byte:02x}" for byte in terminator)
        kept = "which is part of the value" if spec.include else "which is not part of the value"
        kept += "" if spec.consume else ", and stays in the stream"
        missing = "" if spec.eos_error else "; it may be missing at the end of the stream"
        yield f"Ends at `{shown}`, {kept}{missing}."
    if spec.pad_right is not None:
        yield f"Padded with `{spec.pad_right:02x}`."
    if spec.process is not None:
        arguments = f"({', '.join(map(ex.text_of, spec.process.args))})" if spec.process.args else ""
        yield f"Encoded with {show(ex.Name(spec.process.name + arguments))}."


def _terminator(spec: Field) -> bytes | None:
    """What ends a value; a zero character ends a `strz`."""
    if spec.terminator is not None:
        return spec.terminator
    if isinstance(spec.type, Str) and spec.type.zero:
        return bytes(ENCODINGS[spec.type.encoding].unit)
    return None


def endian(order: Endian, show: _Show) -> str:
    """How the bytes determine their byte order."""
    names = {"le": "little-endian", "be": "big-endian"}
    parts = [
        f"{names[word]} if it is {show(case)}" if case is not None else f"else {names[word]}"
        for case, word in order.cases
    ]
    return f"Byte order by {show(order.on)}: {', '.join(parts)}."


def bits(kind: Bits) -> str:
    """The number of bits of a value, and their order."""
    first = "least" if kind.endian == "le" else "most"
    return "1 bit" if kind.width == 1 else f"{kind.width} bits, {first} significant first"
