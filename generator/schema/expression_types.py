"""Kinds of values in expressions of streamed schemas: resolves each name, and the kind of each expression.

This is neutral to the target language. Its rules are those of the stock Kaitai Struct compiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kodec.generator.problems import nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Field,
    Instance,
    Model,
    Param,
    Prim,
    Ref,
    Str,
    Struct,
    Switch,
    TypeRef,
)
from kodec.generator.schema.widths import field_bits, fixed_bits
from kodec.generator.wire import encoding_named

__all__ = ["Kind", "KindError", "Kinds", "Scope", "UnknownName", "a", "types_in", "without_case"]


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a value.

    Attributes:
        name: integer, float, boolean, text, bytes, list, type, enum, stream or any.
        of: for a list, the kind of its elements.
        full: for a type or an enum, its full name; empty for an unknown type.
        maybe: whether it may be missing.
    """

    name: str
    of: Kind | None = None
    full: str = ""
    maybe: bool = False

    def __str__(self) -> str:
        if self.name in ("type", "enum") and self.full:
            return f"{self.name} `{self.full.rpartition('::')[2]}`"
        return self.name


INTEGER, FLOAT, BOOLEAN, TEXT = Kind("integer"), Kind("float"), Kind("boolean"), Kind("text")
BYTES, ANY, TYPE, STREAM = Kind("bytes"), Kind("any"), Kind("type"), Kind("stream")
_NUMBERS = ("integer", "float")
_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_METHODS: Mapping[tuple[str, str], Kind] = {
    ("text", "length"): INTEGER,
    ("text", "size"): INTEGER,
    ("text", "reverse"): TEXT,
    ("text", "to_i"): INTEGER,
    ("bytes", "length"): INTEGER,
    ("bytes", "size"): INTEGER,
    ("bytes", "first"): INTEGER,
    ("bytes", "last"): INTEGER,
    ("bytes", "min"): INTEGER,
    ("bytes", "max"): INTEGER,
    ("list", "size"): INTEGER,
    ("list", "length"): INTEGER,
    ("integer", "to_s"): TEXT,
    ("float", "to_i"): INTEGER,
    ("boolean", "to_i"): INTEGER,
    ("enum", "to_i"): INTEGER,
    ("integer", "to_i"): INTEGER,
    ("stream", "pos"): INTEGER,
    ("stream", "size"): INTEGER,
    ("stream", "eof"): BOOLEAN,
}
_WITH_ARGUMENTS: Mapping[tuple[str, str], tuple[Kind, tuple[Kind, ...]]] = {
    ("text", "substring"): (TEXT, (INTEGER, INTEGER)),
    ("text", "to_i"): (INTEGER, (INTEGER,)),
    ("bytes", "to_s"): (TEXT, (TEXT,)),
}
_WORDS = {
    "str": TEXT,
    "bytes": BYTES,
    "bool": BOOLEAN,
    "b1": BOOLEAN,
    "struct": TYPE,
    "io": STREAM,
    "any": ANY,
}


class KindError(Exception):
    """A problem of an expression, with a hint what would be right."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


class UnknownName(KindError):
    """A name that nothing has; `known` are those that there are."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"unknown name `{name}`", nearest(name, known))
        self.name, self.known = name, known


@dataclass(frozen=True, slots=True)
class Scope:
    """The place of an expression: its type, and the meaning of further names there (`_`, `_index`)."""

    struct: Struct
    extra: Mapping[str, Kind] = field(default_factory=dict)

    def with_names(self, **extra: Kind) -> Scope:
        return Scope(self.struct, {**self.extra, **extra})


def types_in(kind: TypeRef) -> Iterator[TypeRef]:
    """A type, or all those that a switch chooses from."""
    if isinstance(kind, Switch):
        for _, each in kind.cases:
            yield each
        if kind.default is not None:
            yield kind.default
    else:
        yield kind


def without_case(spec: Field) -> Field | None:
    """The kind of a switch without a matching case or `_`: the bytes of its size, as stored but after a
    process, or nothing if it has no size, as in stock ksc.
    """
    if spec.size is None and not spec.size_eos:
        return None
    return replace(spec, type=Bytes(), terminator=None, include=False, pad_right=None)


def a(kind: Kind) -> str:
    """The kind with its article, for messages."""
    text = str(kind)
    return text if text in ("text", "bytes") else f"an {text}" if text[0] in "aei" else f"a {text}"


class Kinds:
    """The kinds of a model's fields, instances and expressions."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._structs = {struct.name: struct for schema in model.schemas for struct in schema.structs}
        self._asked: set[tuple[str, str]] = set()
        self._known: dict[tuple[str, str], Kind] = {}
        self._inside: dict[str, set[str]] = {}
        self._names: dict[bool, set[str]] = {}
        self._outside: dict[str, tuple[bool, bool, list[str]]] = {}
        self.parents: dict[str, set[str]] = {}
        self._orphans: set[str] = set()
        self.rootless: set[str] = set()
        self._moved = False
        for struct in self._structs.values():
            for spec in self.parsed(struct):
                for kind in types_in(spec.type):
                    if isinstance(kind, Ref) and self.near(struct, kind) and kind.parent is None:
                        self.parents.setdefault(kind.target, set()).add(struct.name)
        for struct in self._structs.values():
            for spec in self.parsed(struct):
                for kind in types_in(spec.type):
                    # objects whose parent is not their holder may be anywhere
                    self._moved = self._moved or (isinstance(kind, Ref) and kind.parent is not None)
                    if isinstance(kind, Ref) and isinstance(kind.parent, ex.Expr):
                        self._parent_by(struct, kind)
                    elif isinstance(kind, Ref) and kind.parent is False:
                        self._orphans.add(kind.target)
                    if isinstance(kind, Ref) and "::" in kind.target and not self.near(struct, kind):
                        self._outside_of_root(kind.target)

    def _outside_of_root(self, name: str) -> None:
        """Note an inner type that another schema holds: there it has no parent, and nothing in it a root."""
        self._orphans.add(name)
        todo = [name]
        while todo:
            each = self._structs[todo.pop()]
            if each.name in self.rootless:
                continue
            self.rootless.add(each.name)
            kinds = (kind for spec in self.parsed(each) for kind in types_in(spec.type))
            todo += [kind.target for kind in kinds if isinstance(kind, Ref) and self.near(each, kind)]

    def _parent_by(self, struct: Struct, kind: Ref) -> None:
        assert isinstance(kind.parent, ex.Expr)
        try:
            found = self.of(kind.parent, Scope(struct))
        except KindError:
            return
        if found.full:
            self.parents.setdefault(kind.target, set()).add(found.full)

    @staticmethod
    def near(struct: Struct, kind: Ref) -> bool:
        """Whether the type is of the same schema: only such objects know their parent."""
        return kind.target.partition("::")[0] == struct.name.partition("::")[0]

    @staticmethod
    def parsed(struct: Struct) -> Iterator[Field]:
        """Everything that is read: fields, and parse instances."""
        yield from struct.fields
        for instance in struct.instances:
            if (spec := instance.reads) is not None:
                yield spec

    def struct(self, name: str) -> Struct:
        return self._structs[name]

    # -- members of a type ----------------------------------------------------------------------

    def of_type(self, kind: TypeRef, enum: str | None = None) -> Kind:
        """One value of a type."""
        if enum is not None:
            return Kind("enum", full=enum)
        match kind:
            case Prim(floating=True):
                return FLOAT
            case Bits(1):
                return BOOLEAN
            case Prim() | Bits():
                return INTEGER
            case Str():
                return TEXT
            case Bytes():
                return BYTES
            case Ref(target):
                return Kind("type", full=target)
            case Switch():
                return _common(self.of_type(each) for each in types_in(kind))
        raise TypeError(kind)

    def element(self, spec: Field) -> Kind:
        """One element of a field, or the field where it is not repeated."""
        found = self.of_type(spec.type, spec.enum)
        if isinstance(spec.type, Switch) and spec.type.default is None:
            if without_case(spec) is not None:
                return _common((found, BYTES))
            return replace(found, maybe=True)
        return found

    def of_field(self, spec: Field) -> Kind:
        found = self.element(spec)
        if spec.repeat is not None:
            found = Kind("list", found)
        return replace(found, maybe=found.maybe or spec.condition is not None)

    def of_param(self, param: Param) -> Kind:
        if param.enum is not None:
            found = Kind("enum", full=param.enum)
        elif param.type in _WORDS:
            found = _WORDS[param.type]
        elif param.type in self._structs:
            found = Kind("type", full=param.type)
        else:
            found = FLOAT if param.type[0] == "f" else INTEGER
        return Kind("list", found) if param.array else found

    def of_instance(self, struct: Struct, instance: Instance) -> Kind:
        key = (struct.name, instance.id)
        if key in self._known:
            return self._known[key]
        spec = instance.reads
        if spec is not None:
            found = replace(self.of_field(spec), maybe=True)
        else:
            if key in self._asked:
                raise KindError(f"`{instance.id}` needs itself")
            self._asked.add(key)
            try:
                assert instance.value is not None
                found = self.of(instance.value, Scope(struct))
            finally:
                self._asked.discard(key)
            if instance.enum is not None:
                found = Kind("enum", full=instance.enum, maybe=found.maybe)
            found = replace(found, maybe=found.maybe or instance.condition is not None)
        self._known[key] = found
        return found

    def member(self, struct: Struct, name: str) -> Kind | None:
        """A field, a parameter or an instance of a type."""
        spec = struct.field(name)
        if spec is not None:
            return self.of_field(spec)
        param = struct.param(name)
        if param is not None:
            return self.of_param(param)
        instance = struct.instance(name)
        return None if instance is None else self.of_instance(struct, instance)

    # -- expressions ----------------------------------------------------------------------------

    def of(self, expr: ex.Expr, scope: Scope) -> Kind:
        """The kind of an expression's value. Raises KindError if it has none."""
        match expr:
            case ex.Literal(value):
                return _literal(value)
            case ex.EnumValue(enum, _):
                return Kind("enum", full=enum)
            case ex.Name(name):
                return self.of_name(name, scope)
            case ex.Attr(of, name):
                return self.of_attribute(of, name, scope)
            case ex.Method(of, name, args):
                return self.of_method(of, name, args, scope)
            case ex.Index(of, at):
                return self.of_index(of, at, scope)
            case ex.Cast(of, kind):
                self.of(of, scope)
                return self.named(kind)
            case ex.SizeOf(kind, _):
                if fixed_bits(self.model, kind, full=True) is None:
                    raise KindError(f"`{kind.rpartition('::')[2]}` has no fixed size")
                return INTEGER
            case ex.Joined(items):
                for item in items:
                    self.need(item, scope, "text", "integer", "enum")
                return TEXT
            case ex.Items(items):
                kinds = [self.of(item, scope) for item in items]
                if all(_is_byte(item) for item in items):
                    return BYTES
                return Kind("list", _common(kinds))
            case ex.Unary("not", of):
                self.need(of, scope, "boolean")
                return BOOLEAN
            case ex.Unary(op, of):
                return self.need(of, scope, *(_NUMBERS if op == "-" else ("integer",)))
            case ex.Binary(op, left, right):
                found = self.of_binary(op, left, right, scope)
                if expr.grouped and found == FLOAT:
                    raise KindError(ex.LONG_REAL)
                return found
            case ex.Ternary(test, yes, no):
                self.need(test, scope, "boolean")
                return _common((self.of(yes, scope), self.of(no, scope)))
        raise KindError(f"`{ex.text_of(expr)}` is not supported")

    def need(self, expr: ex.Expr, scope: Scope, *wanted: str) -> Kind:
        """The kind of an expression that must be one of those. Raises KindError."""
        found = self.of(expr, scope)
        if found.name not in wanted:
            raise KindError(f"{a(Kind(wanted[0]))} is needed, this is {a(found)}: {ex.text_of(expr)}")
        return replace(found, maybe=False)

    def named(self, name: str) -> Kind:
        """The kind that a cast names."""
        if name.endswith("[]"):
            return Kind("list", self.named(name[:-2]))
        if name in self._structs:
            return Kind("type", full=name)
        word = name.removesuffix("le").removesuffix("be")
        return _WORDS.get(word) or (FLOAT if word[0] == "f" else INTEGER)

    def of_name(self, name: str, scope: Scope) -> Kind:
        if name in scope.extra:
            return scope.extra[name]
        struct = scope.struct
        match name:
            case "_io":
                return STREAM
            case "_root":
                return Kind("type", full=struct.name.partition("::")[0])
            case "_parent":
                found = self.parents.get(struct.name, set())
                kind = Kind("type", full=next(iter(found))) if len(found) == 1 else TYPE
                return replace(kind, maybe="::" not in struct.name or struct.name in self._orphans)
            case "_sizeof":
                if fixed_bits(self.model, struct.name, full=True) is None:
                    raise KindError(f"`{struct.id}` has no fixed size")
                return INTEGER
        member = self.member(struct, name)
        if member is None:
            known = [each.id for each in struct.members]
            raise UnknownName(name, known)
        return member

    def is_field(self, expr: ex.Attr, scope: Scope) -> bool:
        """Whether `a.b` is a field of a type, and so is read in order."""
        owner = self.of(expr.of, scope)
        if owner.name != "type":
            return False
        structs = [self._structs[owner.full]] if owner.full else self.parents_of(expr.of, scope)
        return any(struct.field(expr.name) is not None for struct in structs)

    def was_read(self, expr: ex.Expr, scope: Scope) -> bool:
        """Whether `_root.a.b` or `_parent.a.b` always exists when the type of the scope is read.

        It does if `a` is a field of the root (the only parent) before the field that holds the type.
        """
        chain: list[str] = []
        while isinstance(expr, (ex.Attr, ex.Index, ex.Cast)):
            if isinstance(expr, ex.Attr):
                chain.append(expr.name)
            expr = expr.of
        if not isinstance(expr, ex.Name) or not chain or any(name.startswith("_") for name in chain):
            return False
        struct = scope.struct
        root = self._structs[struct.name.partition("::")[0]]
        if expr.name == "_root":
            owner, reach = root, True
        elif expr.name == "_parent" and len(self.parents.get(struct.name, ())) == 1:
            owner, reach = self._structs[next(iter(self.parents[struct.name]))], False
        else:
            return False
        spec = owner.field(chain[-1])
        if spec is None or spec.condition is not None or owner is struct or self._moved:
            return False
        before = owner.fields[: owner.fields.index(spec) + 1]
        early = [*before, *(each.reads for each in owner.instances if each.reads is not None)]
        held: set[str] = set()
        for each in early:
            held |= self._held(each, owner, deep=reach)
        return struct.name not in held

    def _held(self, spec: Field, owner: Struct, *, deep: bool) -> set[str]:
        """The types of the same schema that a field holds; with `deep` also those that these hold."""
        found: set[str] = set()
        todo = [(kind, owner) for kind in types_in(spec.type)]
        while todo:
            kind, where = todo.pop()
            if not isinstance(kind, Ref) or not self.near(where, kind) or kind.target in found:
                continue
            found.add(kind.target)
            if deep:
                inner = self._structs[kind.target]
                todo += [(each, inner) for other in self.parsed(inner) for each in types_in(other.type)]
        return found

    def asked_from_inside(self, schema: str) -> set[str]:
        """The names that types of a schema use from `_parent` and `_root`, and what these need in turn."""
        if schema not in self._inside:
            structs = [struct for name, struct in self._structs.items() if name.partition("::")[0] == schema]
            found: set[str] = set()
            for struct in structs:
                for expr in self.expressions(struct):
                    for part in ex.walk(expr):
                        if isinstance(part, ex.Attr) and ex.names(part.of) & {"_parent", "_root"}:
                            found.add(part.name)
            todo = list(found)
            while todo:
                name = todo.pop()
                for struct in structs:
                    instance = struct.instance(name)
                    if instance is not None and instance.value is not None:
                        for part in ex.walk(instance.value):
                            more = part.name if isinstance(part, (ex.Name, ex.Attr)) else ""
                            if more and more not in found:
                                found.add(more)
                                todo.append(more)
            self._inside[schema] = found
        return self._inside[schema]

    def asked(self, name: str, *, derived: bool = True) -> bool:
        """Whether any expression uses that name; without `derived`, any that reading needs."""
        if derived not in self._names:
            self._names[derived] = {
                part
                for struct in self._structs.values()
                for expr in self.expressions(struct, derived=derived)
                for part in _names_in(expr)
            }
        return name in self._names[derived]

    def needed_by(self, instances: Iterable[str]) -> set[str]:
        """The names that instances of these names, of any type, use, and what these need in turn."""
        found = set[str]()
        todo, types = list(instances), list[str]()
        seen = set[str]()
        while todo or types:
            exprs = list[ex.Expr]()
            if types:
                struct = self._structs[types.pop()]
                exprs += self.expressions(struct, derived=False)
                held = [kind for spec in struct.fields for kind in types_in(spec.type)]
            else:
                name, held = todo.pop(), []
                for struct in self._structs.values():
                    instance = struct.instance(name)
                    if instance is None:
                        continue
                    exprs += _parts_of(instance)
                    if instance.reads is not None:
                        exprs += _in_field(instance.reads, derived=False)
                        held += types_in(instance.reads.type)
            types += [kind.target for kind in held if isinstance(kind, Ref) and kind.target not in seen]
            seen |= set(types)
            new = {part for expr in exprs for part in _names_in(expr)} - found
            found |= new
            todo += new
        return found

    def needs_others(self, struct: Struct) -> bool:
        """Whether an object of an inner type can be read and written only as a part of its root."""
        if "::" not in struct.name:
            return False
        todo, seen = [struct.name], set[str]()
        while todo:
            name = todo.pop()
            if name in seen or not self.near(struct, Ref(name)):
                continue
            seen.add(name)
            far, parent, inner = self._around(name)
            if far or (parent and name == struct.name):
                return True
            todo += inner
        return False

    def _around(self, name: str) -> tuple[bool, bool, list[str]]:
        """Whether a type uses objects further out than its parent, and its parent; the types in it."""
        if name not in self._outside:
            at = self._structs[name]
            parts = [part for expr in self.expressions(at) for part in ex.walk(expr)]
            far = ex.Name("_root") in parts or ex.Attr(ex.Name("_parent"), "_parent") in parts
            kinds = (kind for spec in self.parsed(at) for kind in types_in(spec.type))
            inner = dict.fromkeys(kind.target for kind in kinds if isinstance(kind, Ref))
            self._outside[name] = far, ex.Name("_parent") in parts, list(inner)
        return self._outside[name]

    def expressions(self, struct: Struct, *, derived: bool = True) -> Iterator[ex.Expr]:
        """Every expression of a type; without `derived`, those of `-derive` are left out."""
        if struct.endian is not None:
            yield struct.endian.on
            yield from (case for case, _ in struct.endian.cases if case is not None)
        for spec in self.parsed(struct):
            yield from _in_field(spec, derived=derived)
        for instance in struct.instances:
            yield from _parts_of(instance)

    def width(self, of: ex.Expr, scope: Scope) -> int:
        """The bits of a member, for `_sizeof`. Raises KindError if they vary."""
        spec = None
        if isinstance(of, ex.Name):
            spec = scope.struct.field(of.name)
        elif isinstance(of, ex.Attr) and (holder := self.of(of.of, scope)).full in self._structs:
            spec = self._structs[holder.full].field(of.name)
        owner = self.of(of, scope)
        found = None
        if spec is not None:
            found = field_bits(self.model, spec, full=True)
        elif owner.full and owner.name == "type":
            found = fixed_bits(self.model, owner.full, full=True)
        if found is None:
            raise KindError(f"`{ex.text_of(of)}` has no fixed size")
        return found

    def of_attribute(self, of: ex.Expr, name: str, scope: Scope) -> Kind:
        owner = self.of(of, scope)
        if name == "_sizeof":
            self.width(of, scope)
            return INTEGER
        if owner.name == "type":
            if name in ("_io", "_parent", "_root") and owner.full:
                return self.of_name(name, Scope(self._structs[owner.full]))
            if name in ("_io", "_parent", "_root"):
                return STREAM if name == "_io" else TYPE
            structs = [self._structs[owner.full]] if owner.full else self.parents_of(of, scope)
            kinds = [self.member(struct, name) for struct in structs]
            if not kinds:
                hint = "cast it: `.as<type>`"
                raise KindError(f"nothing is known of `{ex.text_of(of)}`, so it has no `.{name}`", hint)
            for kind, struct in zip(kinds, structs, strict=True):
                if kind is None:
                    known = [each.id for each in struct.members]
                    raise KindError(f"`{struct.id}` has no `{name}`", nearest(name, known))
            return _common(kind for kind in kinds if kind is not None)
        if owner.name == "list" and owner.of is not None and name in ("first", "last", "min", "max"):
            if owner.of.maybe and name in ("min", "max"):
                raise KindError(f"`.{name}` of a list in which elements may be missing")
            return owner.of
        found = _METHODS.get((owner.name, name))
        if found is None:
            raise KindError(f"{a(owner)} has no `.{name}`")
        return found

    def parents_of(self, of: ex.Expr, scope: Scope) -> list[Struct]:
        """The types that `_parent` may be."""
        owner = scope.struct
        match of:
            case ex.Name("_parent"):
                pass
            case ex.Attr(inner, "_parent"):
                kind = self.of(inner, scope)
                if not kind.full:
                    return []
                owner = self._structs[kind.full]
            case _:
                return []
        return [self._structs[name] for name in sorted(self.parents.get(owner.name, ()))]

    def of_method(self, of: ex.Expr, name: str, args: tuple[ex.Expr, ...], scope: Scope) -> Kind:
        if not args:
            return self.of_attribute(of, name, scope)
        owner = self.of(of, scope)
        found = _WITH_ARGUMENTS.get((owner.name, name))
        if found is None:
            raise KindError(f"{a(owner)} has no `.{name}(...)`")
        if len(args) != len(found[1]):
            raise KindError(f"`.{name}` takes {len(found[1])} arguments, {len(args)} given")
        for arg, wanted in zip(args, found[1], strict=True):
            self.need(arg, scope, wanted.name)
        if name == "to_s":
            encoding = args[0].value if isinstance(args[0], ex.Literal) else None
            if not isinstance(encoding, str) or encoding_named(encoding) is None:
                raise KindError(f"the encoding {ex.text_of(args[0])} is not supported")
        return found[0]

    def of_index(self, of: ex.Expr, at: ex.Expr, scope: Scope) -> Kind:
        owner = self.of(of, scope)
        self.need(at, scope, "integer")
        if owner.name == "bytes":
            return INTEGER
        if owner.name != "list" or owner.of is None:
            raise KindError(f"{a(owner)} has no elements: {ex.text_of(of)}")
        return owner.of

    def of_binary(self, op: str, left: ex.Expr, right: ex.Expr, scope: Scope) -> Kind:
        if op in ("and", "or"):
            self.need(left, scope, "boolean")
            self.need(right, scope, "boolean")
            return BOOLEAN
        first, second = self.of(left, scope), self.of(right, scope)
        if op in _COMPARED:
            if not _comparable(first, second, op):
                raise KindError(f"`{op}` cannot compare {a(first)} with {a(second)}")
            return BOOLEAN
        if op == "+" and first.name == second.name == "text":
            return TEXT
        wanted = _NUMBERS if op in ("+", "-", "*", "/", "%") else ("integer",)
        for kind in (first, second):
            if kind.name not in wanted:
                raise KindError(f"`{op}` needs {a(Kind(wanted[0]))}, not {a(kind)}")
        return FLOAT if "float" in (first.name, second.name) else INTEGER


def _is_byte(expr: ex.Expr) -> bool:
    plain = ex.fold(expr)
    return isinstance(plain, ex.Literal) and type(plain.value) is int and 0 <= plain.value <= 255


def _literal(value: float | bool | str) -> Kind:
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return INTEGER
    return FLOAT if isinstance(value, float) else TEXT


def _comparable(first: Kind, second: Kind, op: str) -> bool:
    if {first.name, second.name} <= {"integer", "float"}:
        return True
    if {first.name, second.name} == {"integer", "enum"}:
        return op in ("==", "!=")
    if first.name == "enum" and second.name == "enum":
        return op in ("==", "!=")
    if first.name == second.name == "boolean":
        return op in ("==", "!=")
    return first.name == second.name and first.name in ("text", "bytes")


def _common(kinds: Iterable[Kind]) -> Kind:
    """The common kind of all of these."""
    found = list(dict.fromkeys(kinds))
    if not found:
        return ANY
    maybe = any(kind.maybe for kind in found)
    plain = list(dict.fromkeys(replace(kind, maybe=False) for kind in found))
    if len(plain) == 1:
        return replace(plain[0], maybe=maybe)
    names = {kind.name for kind in plain}
    if names <= {"integer", "float"}:
        return Kind("float", maybe=maybe)
    if names == {"type"}:
        return Kind("type", maybe=maybe)
    return Kind("any", maybe=maybe)


def _names_in(expr: ex.Expr) -> Iterator[str]:
    return (part.name for part in ex.walk(expr) if isinstance(part, (ex.Name, ex.Attr)))


def _parts_of(instance: Instance) -> Iterator[ex.Expr]:
    parts = (instance.value, instance.position, instance.io, instance.condition)
    return (part for part in parts if part is not None)


def _in_field(spec: Field, *, derived: bool) -> Iterator[ex.Expr]:
    """The expressions of a field, or of what an instance reads."""
    given = (spec.size, spec.condition, spec.repeat_expr, spec.repeat_until)
    yield from (expr for expr in given if expr is not None)
    yield from spec.process.args if spec.process is not None else ()
    if isinstance(spec.type, Switch):
        yield spec.type.on
        yield from (case for case, _ in spec.type.cases)
    for kind in types_in(spec.type):
        if isinstance(kind, Ref):
            yield from kind.args
            if isinstance(kind.parent, ex.Expr):
                yield kind.parent
    if spec.valid is not None:
        yield from spec.valid.rules
    for derive in spec.derive.each if derived and spec.derive is not None else ():
        calls, value = derive.parts
        yield from (each for each in (derive.when, value) if each is not None)
        for call in calls:
            yield from (each for each in (call.of, call.where) if each is not None)
            # of what is named in a range, the bytes are asked for
            yield from map(ex.Name, (call.first, call.last))
