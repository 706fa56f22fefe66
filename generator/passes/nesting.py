"""Limits how deep types and value instances nest, because later passes and targets recurse into them."""

from __future__ import annotations

from kodec.generator.passes.common import instance_sizes, path_of, refs, structs
from kodec.generator.problems import Problems
from kodec.generator.schema.model import Model

__all__ = ["check_nesting"]

# deeper objects are not read (`ReadOptions.depth`)
_MOST_NESTED = 100
# types of a cycle may each nest in the next
_MOST_TYPES = 400
# a value instance is computed on each use, with those that it uses
_MOST_TERMS = 10_000
_MOST_DEEP = 150


def check_nesting(model: Model, problems: Problems) -> None:
    """Report types that nest too deep (the innermost such ones), and instances."""
    for struct in structs(model):
        for name, (length, depth) in instance_sizes(struct).items():
            instance = struct.instance(name)
            if instance is not None and (length > _MOST_TERMS or depth > _MOST_DEEP):
                text = "too long with the instances that it uses"
                problems.add(instance.at("value"), path_of(struct, name), text, "use fewer of them")
    held: dict[str, list[str]] = {struct.name: [] for struct in structs(model)}
    for struct in structs(model):
        specs = [*struct.fields, *(each.reads for each in struct.instances if each.reads is not None)]
        targets = dict.fromkeys(ref.target for spec in specs for ref in refs(spec.type))
        held[struct.name] = [target for target in targets if target in held]
    circle_of: dict[str, int] = {}
    # for each cycle (or single type): the number of cycles, and of types, that nest in it
    depths: list[tuple[int, int]] = []
    for circle in _circles(held):
        circle_of |= dict.fromkeys(circle, len(depths))
        inner = {circle_of[each] for name in circle for each in held[name]} - {len(depths)}
        nested = 1 + max((depths[each][0] for each in inner), default=0)
        types = len(circle) + max((depths[each][1] for each in inner), default=0)
        if nested > _MOST_NESTED or types > _MOST_TYPES:
            struct = model.struct(circle[-1])
            text = f"types nest too deep: {nested}, with those that hold each other {types}"
            problems.add(struct.place, path_of(struct), text, f"{_MOST_NESTED} at most, and {_MOST_TYPES}")
            nested, types = 0, 0
        depths.append((nested, types))


def _circles(held: dict[str, list[str]]) -> list[list[str]]:
    """Groups of types that hold each other; a group comes after those that it holds (Tarjan)."""
    found: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: dict[str, None] = {}
    for start in held:
        todo = [(start, 0)] if start not in number else []
        while todo:
            name, at = todo.pop()
            if at == 0:
                number[name] = lowest[name] = len(number)
                open_[name] = None
            elif held[name][at - 1] in open_:
                lowest[name] = min(lowest[name], lowest[held[name][at - 1]])
            while at < len(held[name]) and held[name][at] in number:
                if held[name][at] in open_:
                    lowest[name] = min(lowest[name], number[held[name][at]])
                at += 1
            if at < len(held[name]):
                todo += [(name, at + 1), (held[name][at], 0)]
            elif lowest[name] == number[name]:
                circle = [open_.popitem()[0]]
                while circle[-1] != name:
                    circle.append(open_.popitem()[0])
                found.append(circle)
    return found
