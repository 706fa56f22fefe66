"""Checks names in expressions: each is a field read before, a parameter or an instance."""

from __future__ import annotations

from kodec.generator.passes.common import expressions, path_of, structs
from kodec.generator.problems import Place, Problems, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.hints import like_name
from kodec.generator.schema.model import Field, Model, Ref, Struct

__all__ = ["check_names"]

_ELSEWHERE = {
    "_parent": "pass what is needed as a parameter",
    "_root": "pass what is needed as a parameter",
    "_io": "only `pos: _io.pos + n` of an instance is supported",
    "_index": "targets disagree on it in `repeat-until`",
}
_METHODS = ("to_i", "size", "length", "value")


def check_names(model: Model, problems: Problems) -> None:
    """Report unknown and later names, and unsupported parts of the language."""
    for struct in structs(model):
        _Checker(model, problems, struct).run()


class _Checker:
    def __init__(self, model: Model, problems: Problems, struct: Struct) -> None:
        self.model = model
        self.problems = problems
        self.struct = struct
        self.order = {field.id: index for index, field in enumerate(struct.fields)}
        self.known = {*self.order, *(p.id for p in struct.params), *(i.id for i in struct.instances)}

    def run(self) -> None:
        struct = self.struct
        for index, field in enumerate(struct.fields):
            for key, expr in expressions(field):
                self.check(expr, field.at(key), field.id, key, index, set())
            if field.repeat_until is not None:
                self.check(
                    field.repeat_until, field.at("repeat-until"), field.id, "repeat-until", index + 1, {"_"}
                )
            if field.valid is not None:
                for rule in field.valid.rules:
                    self.check(rule, field.at("valid"), field.id, "valid", index + 1, {"_"})
            self.default(field)
            if field.codec is not None:
                self.check(field.codec.by, field.at("-codec"), field.id, "-codec", index, set())
                if field.codec.when is not None:
                    self.check(field.codec.when, field.at("-codec"), field.id, "-codec", index, set())
            if field.nullable is not None:
                self.check(field.nullable, field.at("-nullable"), field.id, "-nullable", index, set())
            if field.derive is not None:
                for part in (field.derive.plus, field.derive.when):
                    if part is not None:
                        self.check(part, field.at("-derive"), field.id, "-derive", len(struct.fields), set())
            if field.column is not None and field.column.value is not None:
                self.check(
                    field.column.value,
                    field.at("-column"),
                    field.id,
                    "-column",
                    len(struct.fields),
                    {"_batch"},
                )
        for instance in struct.instances:
            if instance.value is not None:
                self.check(instance.value, instance.place, instance.id, "value", len(struct.fields), set())
                if instance.id in self.closure(instance.value):
                    self.bad(instance.place, instance.id, "the instance needs itself")

    def default(self, field: Field) -> None:
        """An enum's default is named by its id alone."""
        if isinstance(field.default, ex.Name) and field.default.name not in ("null", "empty"):
            items = [item.id for item in self.model.enum(field.enum).items] if field.enum else []
            if field.default.name not in items:
                self.bad(
                    field.at("-default"),
                    field.id,
                    f"`-default`: unknown value `{field.default.name}`",
                    nearest(field.default.name, items),
                )

    def bad(self, place: Place, name: str, text: str, hint: str = "") -> None:
        self.problems.add(place, path_of(self.struct, name), text, hint)

    def check(self, expr: ex.Expr, place: Place, owner: str, key: str, before: int, extra: set[str]) -> None:
        """Names must be known; those of fields must have an index below `before`."""
        for part in ex.walk(expr):
            if isinstance(part, ex.Call):
                self.bad(place, owner, f"`{key}`: `{part.name}(...)` is not supported in an expression")
            elif isinstance(part, ex.Attr):
                self.attribute(part, place, owner, key)
            elif isinstance(part, ex.Name):
                self.name(part.name, place, owner, key, before, extra)

    def name(self, name: str, place: Place, owner: str, key: str, before: int, extra: set[str]) -> None:
        if name in extra:
            return
        if name in _ELSEWHERE:
            self.bad(place, owner, f"`{key}`: `{name}` is not supported", _ELSEWHERE[name])
        elif name not in self.known:
            self.bad(
                place,
                owner,
                f"`{key}`: unknown name `{name}`",
                like_name(name, self.known, self.struct, self.model, key),
            )
        else:
            instance = self.struct.instance(name)
            inner = (
                self.closure(instance.value)
                if instance is not None and instance.value is not None
                else {name}
            )
            for each in inner:
                if self.order.get(each, -1) >= before:
                    self.bad(
                        place,
                        owner,
                        f"`{key}` refers to `{each}`, which is read later",
                        "only what was read before is known",
                    )

    def closure(self, expr: ex.Expr) -> set[str]:
        """The fields and parameters that an expression needs, through instances."""
        found: set[str] = set()
        todo = list(ex.names(expr))
        while todo:
            name = todo.pop()
            if name in found:
                continue
            found.add(name)
            instance = self.struct.instance(name)
            if instance is not None and instance.value is not None:
                todo += ex.names(instance.value)
        return found

    def attribute(self, part: ex.Attr, place: Place, owner: str, key: str) -> None:
        """`a.b`: b is a member of a's type, or one of the few methods."""
        if part.name in _METHODS or not isinstance(part.of, (ex.Name, ex.Attr)):
            if part.name not in _METHODS:
                self.bad(place, owner, f"`{key}`: `.{part.name}` is not supported here")
            return
        target = self.type_of(part.of)
        if target is None:
            return
        members = [f.id for f in target.fields] + [i.id for i in target.instances]
        if part.name not in members:
            self.bad(
                place,
                owner,
                f"`{key}`: `{ex.text_of(part.of)}` has no `{part.name}`",
                nearest(part.name, members),
            )

    def type_of(self, expr: ex.Expr) -> Struct | None:
        struct: Struct | None = self.struct
        names: list[str] = []
        while isinstance(expr, ex.Attr):
            names.insert(0, expr.name)
            expr = expr.of
        if not isinstance(expr, ex.Name):
            return None
        for name in [expr.name, *names]:
            field = struct.field(name) if struct is not None else None
            if field is None or not isinstance(field.type, Ref):
                return None
            struct = self.model.struct(field.type.target)
        return struct
