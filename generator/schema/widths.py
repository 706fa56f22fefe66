"""How many bits a type takes, where that is always the same, and how few bytes it can take."""

from __future__ import annotations

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Model, Prim, Ref, Str, Switch, TypeRef

__all__ = ["bits_of", "field_bits", "fixed_bits", "least_bytes"]


def bits_of(model: Model, name: str) -> int:
    """The bits of a type or a number, which must always take as many."""
    found = fixed_bits(model, name)
    assert found is not None
    return found


def fixed_bits(model: Model, name: str, trail: tuple[str, ...] = ()) -> int | None:
    """The bits of a type or a number; None where they vary."""
    if "::" not in name and name not in [schema.id for schema in model.schemas]:
        word = name.removesuffix("le").removesuffix("be")
        return int(word[1:]) * (1 if word[0] == "b" else 8)
    if name in trail:
        return None
    total = 0
    for spec in model.struct(name).fields:
        size = field_bits(model, spec, (*trail, name))
        if size is None:
            return None
        if not isinstance(spec.type, Bits):
            total = (total + 7) // 8 * 8
        total += size
    return total


def field_bits(model: Model, spec: Field, trail: tuple[str, ...] = ()) -> int | None:
    """The bits of a field; None where they vary."""
    if spec.condition is not None or spec.size_eos:
        return None
    count = 1
    if spec.repeat is not None:
        if not (isinstance(spec.repeat_expr, ex.Literal) and isinstance(spec.repeat_expr.value, int)):
            return None
        count = spec.repeat_expr.value
    one = _type(model, spec.type, spec, trail)
    return None if one is None else one * count


def _type(model: Model, kind: TypeRef, spec: Field, trail: tuple[str, ...]) -> int | None:
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
            return fixed_bits(model, target, trail)
        case Switch(_, cases, default):
            kinds = [each for _, each in cases] + ([] if default is None else [default])
            sizes = {_type(model, each, spec, trail) for each in kinds}
            return sizes.pop() if len(sizes) == 1 and default is not None else None
    return None


def least_bytes(model: Model, kind: TypeRef, spec: Field, trail: tuple[str, ...] = ()) -> int:
    """The fewest bytes that one value of a field can take."""
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
        case Ref(target) if target not in trail:
            return sum(
                least_bytes(model, each.type, each, (*trail, target))
                for each in model.struct(target).fields
                if each.condition is None and each.repeat is None
            )
    return 0
