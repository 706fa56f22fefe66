"""Checks of streamed schemas: every expression has a kind that fits its key, and uses only earlier fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kodec.generator.passes.common import path_of
from kodec.generator.plan.follows import call_kinds, owners_of
from kodec.generator.problems import Place, Problems, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.expression_types import Kind, KindError, Kinds, Scope, UnknownName, a, types_in
from kodec.generator.schema.hints import like_name
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Derive,
    DeriveCall,
    Field,
    Instance,
    Model,
    Prim,
    Ref,
    Schema,
    Str,
    Struct,
    Switch,
)

__all__ = ["check_streamed", "walk_expressions"]

Seen = Callable[[Place, ex.Expr, Scope], None]
"""Receives each expression of a type, with its place and the meaning of its names."""

_CHOSEN = ("integer", "float", "boolean", "text", "enum", "bytes")


def _ignore(place: Place, expr: ex.Expr, scope: Scope) -> None:
    """For those who only want the problems."""


def check_streamed(model: Model, schemas: Sequence[Schema], problems: Problems) -> None:
    """Report fields that could not be read, or only with a value of another kind."""
    kinds = Kinds(model)
    for schema in schemas:
        for struct in schema.structs:
            _Checker(model, kinds, struct, problems).run()
    _hold_themselves(schemas, problems)


def walk_expressions(model: Model, kinds: Kinds, seen: Seen) -> None:
    """Show each expression of a valid model to `seen`, in the order of its type's members."""
    for schema in model.schemas:
        for struct in schema.structs:
            _Checker(model, kinds, struct, Problems(), seen).run()


class _Checker:
    def __init__(
        self, model: Model, kinds: Kinds, struct: Struct, problems: Problems, seen: Seen = _ignore
    ) -> None:
        self.model = model
        self.kinds = kinds
        self.struct = struct
        self.problems = problems
        self.seen = seen
        self.order = {field.id: index for index, field in enumerate(struct.fields)}

    def run(self) -> None:
        if self.struct.endian is not None:
            place, scope, endian = self.struct.endian.place, Scope(self.struct), self.struct.endian
            on = self.need(place, "", "endian", endian.on, scope, _CHOSEN)
            self.cases(lambda _: place, "", on, [case for case, _ in endian.cases if case is not None], scope)
        for index, field in enumerate(self.struct.fields):
            self.field(field, index)
        for instance in self.struct.instances:
            self.instance(instance)

    def bad(self, place: Place, name: str, text: str, hint: str = "") -> None:
        self.problems.add(place, path_of(self.struct, name), text, hint)

    def need(
        self, place: Place, owner: str, key: str, expr: ex.Expr | None, scope: Scope, wanted: tuple[str, ...]
    ) -> Kind | None:
        """The kind of an expression; None, and a problem if there is one to report."""
        if expr is None:
            return None
        self.seen(place, expr, scope)
        try:
            found = self.kinds.of(expr, scope)
        except KindError as error:
            hint = error.hint
            if isinstance(error, UnknownName):
                hint = like_name(error.name, error.known, self.struct, self.model, key)
            self.bad(place, owner, f"`{key}`: {error}", hint)
            return None
        if wanted and found.name not in wanted:
            text = f"`{key}` must be {a(Kind(wanted[0]))}, this is {a(found)}: {ex.text_of(expr)}"
            self.bad(place, owner, text)
            return None
        return found

    def field(self, field: Field, index: int | None) -> None:
        """A field, or what a parse instance reads (`index` is None then)."""
        scope = Scope(self.struct)
        inner = scope.with_names(_index=Kind("integer")) if field.repeat is not None else scope
        item = inner.with_names(_=self.kinds.element(field), _index=Kind("integer"))
        for key, expr, where, wanted in (
            ("if", field.condition, scope, ("boolean",)),
            ("size", field.size, inner, ("integer",)),
            ("repeat-expr", field.repeat_expr, scope, ("integer",)),
            ("repeat-until", field.repeat_until, item, ("boolean",)),
        ):
            self.need(field.at(key), field.id, key, expr, where, wanted)
            if index is not None:
                self.later(field, key, expr, index + (key == "repeat-until"))
        for arg in field.process.args if field.process is not None else ():
            self.need(field.at("process"), field.id, "process", arg, inner, ())
        self.shape(field)
        self.types(field, inner, index)
        self.valid(field, item)
        self.derive(field)

    def types(self, field: Field, scope: Scope, index: int | None) -> None:
        for number, kind in enumerate(types_in(field.type)):
            if not isinstance(kind, Ref):
                continue
            place = field.at(f"types/{number}") if isinstance(field.type, Switch) else field.at("type")
            params = self.kinds.struct(kind.target).params
            for arg, param in zip(kind.args, params, strict=False):
                found = self.need(place, field.id, "type", arg, scope, ())
                wanted = self.kinds.of_param(param)
                if found is not None and not _fits(found, wanted):
                    text = f"parameter `{param.id}` is {a(wanted)}, this is {a(found)}: {ex.text_of(arg)}"
                    self.bad(place, field.id, text)
                if index is not None:
                    # an element may receive the elements before it as an argument
                    self.later(field, "type", arg, index + (field.repeat is not None))
            if isinstance(kind.parent, ex.Expr):
                self.need(field.at("parent"), field.id, "parent", kind.parent, scope, ("type",))
        if isinstance(field.type, Switch):
            on = self.need(field.at("switch-on"), field.id, "switch-on", field.type.on, scope, _CHOSEN)
            if index is not None:
                self.later(field, "switch-on", field.type.on, index)
            self.cases(field.at_case, field.id, on, [case for case, _ in field.type.cases], scope)

    def cases(
        self, at: Callable[[int], Place], owner: str, on: Kind | None, cases: list[ex.Expr], scope: Scope
    ) -> None:
        """The cases of a switch must have the kind of its `switch-on`; `at` returns the place of each."""
        for index, case in enumerate(cases):
            place = at(index)
            found = self.need(place, owner, "cases", case, scope, _CHOSEN)
            if on is not None and found is not None and not _alike(on, found):
                self.bad(place, owner, f"case {ex.text_of(case)} is {a(found)}, `switch-on` is {a(on)}")

    def shape(self, field: Field) -> None:
        """Keys that depend on each other."""
        sized = field.size is not None or field.size_eos
        if field.size is not None and field.size_eos:
            self.bad(field.at("size-eos"), field.id, "`size` and `size-eos` exclude each other")
        for key, amount in (("size", field.size), ("repeat-expr", field.repeat_expr)):
            known = None if amount is None else ex.fold(amount)
            if isinstance(known, ex.Literal) and isinstance(known.value, int) and known.value < 0:
                self.bad(field.at(key), field.id, f"`{key}` is negative: {known.value}")
        if isinstance(field.type, (Prim, Bits)) and sized:
            self.bad(field.at("size"), field.id, "a number has its size already", "leave `size` out")
        given = None if field.contents is None else ex.Literal(len(field.contents))
        if given is not None and field.size not in (None, given):
            self.bad(field.at("size"), field.id, "`contents` have their size already", "leave `size` out")
        if field.terminator == b"":
            self.bad(field.at("terminator"), field.id, "an empty terminator ends nothing", "terminator: 0")
        ended = field.terminator is not None
        for kind in types_in(field.type):
            number = isinstance(kind, Bits) or (isinstance(kind, Prim) and not kind.floating)
            if field.enum is not None and not number:
                self.bad(field.at("enum"), field.id, "an enum needs an integer or bit field")
            zero = isinstance(kind, Str) and kind.zero
            if isinstance(kind, (Bytes, Str)) and field.contents is None and not (sized or ended or zero):
                self.bad(field.at("type"), field.id, "nothing shows where it ends", "size: len_x")
            if isinstance(kind, (Prim, Bits)) and field.process is not None:
                self.bad(field.at("process"), field.id, "`process` needs bytes", "give it a `size`")
            if isinstance(kind, Ref) and field.process is not None and not (sized or ended):
                self.bad(field.at("process"), field.id, "`process` needs bytes", "give it a `size`")

    def valid(self, field: Field, scope: Scope) -> None:
        valid, place = field.valid, field.at("valid")
        if valid is None:
            return
        own = self.kinds.element(field)
        for rule in (valid.eq, valid.min, valid.max, *(valid.any_of or ())):
            found = self.need(place, field.id, "valid", rule, scope, ())
            if found is not None and not _alike(own, found):
                text = f"`valid` compares {a(own)} with {a(found)}: {ex.text_of(rule or ex.Literal(0))}"
                self.bad(place, field.id, text)
        self.need(place, field.id, "valid", valid.expr, scope, ("boolean",))
        if valid.in_enum and field.enum is None:
            self.bad(place, field.id, "`in-enum` needs an `enum`")

    def derive(self, field: Field) -> None:
        """What a field is derived from: members whose bytes begin and end with whole ones."""
        place = field.at("-derive")
        if field.derive is None:
            return
        if field.repeat is not None or field.contents is not None:
            self.bad(place, field.id, "only one value can be derived", "leave `-derive` out")
        for derive in field.derive.each:
            self.derivation(field, derive, place)

    def derivation(self, field: Field, derive: Derive, place: Place) -> None:
        calls, value = derive.parts
        if value is None:
            text = f"`{derive.kind}` is not supported in a streamed schema"
            hint = "a flag or a count follows by itself" if derive.kind == "presence_of" else "items.last.x"
            self.bad(place, field.id, text, hint)
            return
        for call in calls:
            self.call(field, call, place)
        scope = Scope(self.struct, call_kinds(calls))
        found = self.need(place, field.id, "-derive", value, scope, ())
        own = self.kinds.element(field)
        if derive.into is not None:
            struct = self.kinds.struct(own.full) if own.name == "type" and own.full else None
            instance = None if struct is None else struct.instance(derive.into)
            if struct is None or instance is None or instance.value is None:
                self.bad(place, field.id, f"`into`: `{field.id}` has no value instance `{derive.into}`")
                return
            own = self.kinds.of_instance(struct, instance)
        if found is not None and not _alike(own, found):
            self.bad(place, field.id, f"`-derive` gives {a(found)}, the field is {a(own)}")
        self.need(place, field.id, "when", derive.when, Scope(self.struct), ("boolean",))

    def call(self, field: Field, call: DeriveCall, place: Place) -> None:
        try:
            owners = owners_of(self.kinds, self.struct, call)
        except KindError as error:
            self.bad(place, field.id, f"`-derive`: {error}", error.hint)
            return
        if call.of is not None:
            self.seen(place, call.of, Scope(self.struct))
        for owner in owners:
            for name in dict.fromkeys((call.first, call.last)):
                self.seen(place, ex.Name(name), Scope(owner))
            order = [each.id for each in owner.fields]
            for name in dict.fromkeys((call.first, call.last)):
                spec = owner.field(name)
                parsed = owner.instance(name)
                if spec is None and (parsed is None or parsed.reads is None):
                    self.bad(
                        place,
                        field.id,
                        f"`-derive`: `{owner.id}` has no field `{name}`",
                        nearest(name, order),
                    )
                    return
                if spec is not None and isinstance(spec.type, Bits):
                    self.bad(
                        place, field.id, f"`-derive`: `{name}` is bits", "begin and end with whole bytes"
                    )
                if spec is None and call.first != call.last:
                    self.bad(place, field.id, f"`-derive`: `{name}` is an instance", "a range is of fields")
            first, parsed = owner.field(call.first), owner.instance(call.first)
            if call.first != call.last and order.index(call.last) < order.index(call.first):
                self.bad(place, field.id, f"`-derive`: the range {call.first}..{call.last} runs backwards")
            listed = first if parsed is None else parsed.reads
            if listed is not None and listed.repeat is None and (call.where or call.function == "count_of"):
                self.bad(place, field.id, f"`{call.function}`: `{call.first}` is not repeated")
            elif call.where is not None and first is not None:
                if not isinstance(first.type, Ref):
                    self.bad(place, field.id, f"`where`: the elements of `{call.first}` are no objects")
                    continue
                kind = self.kinds.element(first)
                self.need(
                    place, field.id, "where", call.where, Scope(self.struct).with_names(_=kind), ("boolean",)
                )

    def instance(self, instance: Instance) -> None:
        scope = Scope(self.struct)
        spec = instance.reads
        if spec is None:
            self.need(instance.at("if"), instance.id, "if", instance.condition, scope, ("boolean",))
        self.need(instance.at("pos"), instance.id, "pos", instance.position, scope, ("integer",))
        self.need(instance.at("io"), instance.id, "io", instance.io, scope, ("stream",))
        if spec is not None:
            self.field(spec, None)
            return
        found = self.need(instance.at("value"), instance.id, "value", instance.value, scope, ())
        if instance.enum is not None and found is not None and found.name not in ("integer", "enum"):
            self.bad(instance.at("enum"), instance.id, f"an enum needs an integer, this is {a(found)}")

    def later(self, field: Field, key: str, expr: ex.Expr | None, before: int) -> None:
        """All that reading a field needs must be read before it."""
        done: set[str] = set()
        # `sizeof` depends on the type alone
        plain = None if expr is None else ex.replace(expr, _without_size)
        todo = [] if plain is None else list(ex.names(plain))
        while todo:
            name = todo.pop()
            if name in done:
                continue
            done.add(name)
            if self.order.get(name, -1) >= before:
                text = f"`{key}` refers to `{name}`, which is read later"
                self.bad(field.at(key), field.id, text, "only what was read before is known")
            instance = self.struct.instance(name)
            if instance is not None:
                for part in (instance.value, instance.position, instance.condition):
                    todo += [] if part is None else ex.names(part)


def _without_size(part: ex.Expr) -> ex.Expr | None:
    return ex.Literal(0) if isinstance(part, ex.Attr) and part.name == "_sizeof" else None


def _alike(first: Kind, second: Kind) -> bool:
    names = {first.name, second.name}
    return len(names) == 1 or names <= {"integer", "float"} or names <= {"integer", "enum"}


def _fits(found: Kind, wanted: Kind) -> bool:
    """Whether a value may be given as an argument."""
    if "any" in (found.name, wanted.name):
        return True
    if found.name == wanted.name == "list":
        return found.of is None or wanted.of is None or _fits(found.of, wanted.of)
    if found.name == wanted.name == "type":
        return not found.full or not wanted.full or found.full == wanted.full
    return _alike(found, wanted) or {found.name, wanted.name} <= {"list", "bytes"}


def _hold_themselves(schemas: Sequence[Schema], problems: Problems) -> None:
    """A type that always contains itself never ends."""
    structs = [struct for schema in schemas for struct in schema.structs]
    ends: set[str] = set()
    while True:
        more = {
            struct.name
            for struct in structs
            if struct.name not in ends
            and all(
                field.condition is not None
                or field.repeat is not None
                or isinstance(field.type, Switch)
                or not isinstance(field.type, Ref)
                or field.type.target in ends
                or field.type.target not in {each.name for each in structs}
                for field in struct.fields
            )
        }
        if not more:
            break
        ends |= more
    for struct in structs:
        if struct.name not in ends:
            problems.add(
                struct.place,
                path_of(struct),
                "the type always contains itself, without end",
                "give it an `if`",
            )
