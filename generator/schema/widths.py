"""The size of a type in bits, if it is fixed, and its least size in bytes."""

from __future__ import annotations

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Model, Prim, Ref, Str, Switch, TypeRef

__all__ = ["bits_of", "field_bits", "fixed_bits", "least_bytes", "least_of"]


def bits_of(model: Model, name: str) -> int:
    """The bits of a type or a number, as `sizeof` counts them, which must be fixed."""
    found = fixed_bits(model, name, full=True)
    assert found is not None
    return found


def fixed_bits(
    model: Model, name: str, known: dict[str, int | None] | None = None, *, full: bool = False
) -> int | None:
    """The bits of a type or a number; None if they vary. `known` caches results.

    `full`: with the fields that are there under a condition, as `sizeof` counts.
    """
    if "::" not in name and name not in [schema.id for schema in model.schemas]:
        word = name.removesuffix("le").removesuffix("be")
        return int(word[1:]) * (1 if word[0] == "b" else 8)
    known = {} if known is None else known
    if name in known:
        return known[name]
    known[name] = None  # of a type that holds itself
    total = 0
    for spec in model.struct(name).fields:
        size = field_bits(model, spec, known, full=full)
        if size is None:
            return None
        if not isinstance(spec.type, Bits):
            total = (total + 7) // 8 * 8
        total += size
    known[name] = total
    return total


def field_bits(
    model: Model, spec: Field, known: dict[str, int | None] | None = None, *, full: bool = False
) -> int | None:
    """The bits of a field; None if they vary; `full` as of `fixed_bits`."""
    if (spec.condition is not None and not full) or spec.size_eos:
        return None
    count = 1
    if spec.repeat is not None:
        if not (isinstance(spec.repeat_expr, ex.Literal) and isinstance(spec.repeat_expr.value, int)):
            return None
        count = spec.repeat_expr.value
    one = _type(model, spec.type, spec, {} if known is None else known, full)
    return None if one is None else one * count


def _type(model: Model, kind: TypeRef, spec: Field, known: dict[str, int | None], full: bool) -> int | None:
    if spec.contents is not None:
        return len(spec.contents) * 8
    if spec.size is not None:
        size = ex.fold(spec.size)
        return size.value * 8 if isinstance(size, ex.Literal) and isinstance(size.value, int) else None
    match kind:
        case Prim(width=width):
            return width * 8
        case Bits(width):
            return width
        case Ref(target):
            return fixed_bits(model, target, known, full=full)
        case Switch(_, cases, default):
            kinds = [each for _, each in cases] + ([] if default is None else [default])
            sizes = {_type(model, each, spec, known, full) for each in kinds}
            return sizes.pop() if len(sizes) == 1 and default is not None else None
    return None


def least_bytes(model: Model, kind: TypeRef, spec: Field, known: dict[str, int] | None = None) -> int:
    """The least size in bytes of one value of a field. `known` caches results."""
    known = {} if known is None else known
    if spec.contents is not None:
        return len(spec.contents)
    if spec.size is not None:
        size = ex.fold(spec.size)
        plain = isinstance(size, ex.Literal) and isinstance(size.value, int)
        return max(0, int(size.value)) if plain and isinstance(size, ex.Literal) else 0
    if spec.size_eos:
        return 0
    match kind:
        case Prim(width=width):
            return width
        case Bytes() | Str() | Bits():
            return 0
        case Ref(target):
            if target not in known:
                known[target] = 0  # of a type that holds itself
                known[target] = sum(least_of(model, each, known) for each in model.struct(target).fields)
            return known[target]
        case Switch(_, cases, default) if default is not None:
            return min(
                least_bytes(model, each, spec, known) for each in (default, *(each for _, each in cases))
            )
    return 0


def least_of(model: Model, spec: Field, known: dict[str, int] | None = None) -> int:
    """The least size in bytes of a field with all its values."""
    if spec.condition is not None:
        return 0
    count = 1
    if spec.repeat is not None:
        number = ex.fold(spec.repeat_expr) if spec.repeat == "expr" and spec.repeat_expr is not None else None
        if not isinstance(number, ex.Literal) or not isinstance(number.value, int):
            return 0
        count = max(0, number.value)
    return count * least_bytes(model, spec.type, spec, known)
