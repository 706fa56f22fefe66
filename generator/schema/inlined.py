"""Numbers in several forms: a type that stands for a value instance is written out where a field has it.

    # count.ksy: `-unwrap: value`, where `value` is an instance
    - {id: num_members, type: count(version >= 4)}
    - {id: members, type: member, repeat: expr, repeat-expr: num_members.value}

The fields of the type become fields of the type that has it: the first with the name of the field, others
with a name behind it (`num_members_plus_one`). Those that no version has are left out, and
`num_members.value` is the expression of the instance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kodec.generator.problems import Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.files import Unit
from kodec.generator.schema.load import Node, Scalar, copied
from kodec.generator.schema.owners import Owner, parsed, put, target_of
from kodec.generator.schema.versions import VersionRange

__all__ = ["inline", "stands_for_instance", "version_test"]

_EXPRESSIONS = frozenset(
    [
        "size",
        "repeat-expr",
        "repeat-until",
        "if",
        "switch-on",
        "value",
        "pos",
        "io",
        "eq",
        "min",
        "max",
        "expr",
        "valid",
        "unless",
        "first",
        "last",
        "when",
        "-default",
        "-nullable",
    ]
)
_TEXTS = frozenset(
    ["id", "doc", "doc-ref", "contents", "encoding", "-orig-id", "types", "enums", "meta", "params"]
)
_ALLOWED = frozenset(["id", "type", "if", "valid", "-valid", "doc", "doc-ref", "-orig-id"])
_NUMBER = re.compile(r"[us][248]\Z")


def stands_for_instance(node: Node) -> bool:
    """Whether a type stands for one of its value instances, and not for a field."""
    name, instances = node.get("-unwrap"), node.get("instances")
    return name is not None and instances is not None and name.value in instances.map


def inline(units: Mapping[str, Unit], owner: Owner, problems: Problems) -> frozenset[str]:
    """Write the numbers of a type out that are types with several forms; the names of the forms."""
    forms: list[Node] = []
    seq = owner.node.get("seq")
    for spec in list(owner.fields):
        kind = spec.get("type")
        call = parsed(kind) if kind is not None and isinstance(kind.value, str) else None
        name = call.name if isinstance(call, (ex.Call, ex.Name)) else ""
        target = target_of(units, owner.unit, owner.name, name)
        if target is None or not stands_for_instance(target[2]):
            continue
        number = _Number(units, owner, spec, Owner(*target), call, problems)
        assert seq is not None
        at = seq.items.index(spec)
        seq.items[at : at + 1] = fields = number.fields()
        if number.value is not None:
            forms += fields
            number.use(owner.node)
    return frozenset(str(each.map["id"].value) for each in forms)


class _Number:
    """One field of such a type."""

    def __init__(
        self,
        units: Mapping[str, Unit],
        owner: Owner,
        spec: Node,
        kind: Owner,
        call: ex.Expr | None,
        problems: Problems,
    ) -> None:
        self.units, self.owner, self.spec, self.kind, self.problems = units, owner, spec, kind, problems
        self.id = str(spec.map["id"].value) if "id" in spec.map else ""
        self.path = f"{owner.path}.{self.id}"
        self.condition = owner.whole(parsed(spec.get("if")))
        present = owner.present(self.condition)
        params = kind.node.get("params")
        names = [str(each.map["id"].value) for each in params.items] if params is not None else []
        args = call.args if isinstance(call, ex.Call) else ()
        self.args = {name: self._constant(arg, present) for name, arg in zip(names, args, strict=False)}
        self.complete = len(names) == len(args)
        self.names: dict[str, str] = {}
        self.value: ex.Expr | None = None

    def _constant(self, arg: ex.Expr, present: list[int]) -> ex.Expr:
        """An argument; its value, if that is the same in all versions that have the field."""
        values = {ex.fold(arg, {self.owner.version_field: each}) for each in present}
        value = values.pop() if len(values) == 1 else ex.fold(arg)
        return value if isinstance(value, ex.Literal) else arg

    def fields(self) -> list[Node]:
        """The fields that it consists of; the field as it is, with a problem, if the type does not suit."""
        if not self.complete:
            return [self.spec]  # its type reports that
        if extra := [key for key in self.spec.map if str(key) not in ("id", "type", "if", "doc", "doc-ref")]:
            what = f"`{extra[0]}` beside a number in several forms is not supported"
            self.problems.add(self.spec.keys[extra[0]], self.path, what, "id, type, if and doc")
            return [self.spec]
        found: list[Node] = []
        for index, form in enumerate(self.kind.fields):
            name = str(form.map["id"].value) if "id" in form.map else ""
            if extra := [key for key in form.map if str(key) not in _ALLOWED]:
                what = f"`{extra[0]}` in a type that stands for an instance is not supported"
                self.problems.add(form.keys[extra[0]], f"{self.kind.path}.{name}", what)
                return [self.spec]
            self.names[name] = f"{self.id}_{name}" if index else self.id
            test = self._test(parsed(form.get("if")))
            if test != ex.Literal(False):
                found.append(self._form(form, self.names[name], test))
        self.value = self._value(found)
        return found

    def _test(self, test: ex.Expr | None) -> ex.Expr:
        """When one of the forms is there."""
        own = ex.Literal(True) if test is None else self._put(test)
        both = own if self.condition is None else ex.Binary("and", self.condition, own)
        name = self.owner.version_field
        versions = self.owner.versions
        if versions is not None and ex.names(both) <= {name}:
            there = self.owner.present(both)
            if not there:
                return ex.Literal(False)
            if there == list(range(there[0], there[-1] + 1)):
                return version_test(name, versions, VersionRange(there[0], there[-1]))
        return ex.fold(both) if isinstance(ex.fold(own), ex.Literal) else both

    def _put(self, expr: ex.Expr) -> ex.Expr:
        """An expression of the type, as one of the type that has the field."""

        def swap(part: ex.Expr) -> ex.Expr | None:
            if isinstance(part, ex.Name):
                renamed = self.names.get(part.name)
                return self.args.get(part.name) if renamed is None else ex.Name(renamed)
            return None

        whole = self.kind.whole(expr)
        return ex.replace(expr if whole is None else whole, swap)

    def _form(self, form: Node, name: str, test: ex.Expr) -> Node:
        made = copied(form)
        put(made, "id", name, self.spec)
        made.map.pop("if", None)
        if test != ex.Literal(True):
            put(made, "if", ex.text_of(test), self.spec.get("if") or self.spec.map["type"])
        kind = form.get("type")
        if kind is not None and isinstance(kind.value, str):
            put(made, "type", self._type(kind.value), self.spec.map["type"])
        return made

    def _type(self, name: str) -> str:
        if _NUMBER.match(name):
            meta = self.kind.unit.root.get("meta")
            order = meta.get("endian") if meta is not None else None
            return f"{name}{order.value}" if order is not None and isinstance(order.value, str) else name
        target = target_of(self.units, self.kind.unit, self.kind.name, name)
        return name if target is None else target[1]

    def _value(self, forms: list[Node]) -> ex.Expr | None:
        """The number as an expression of the forms that are there."""
        instances, name = self.kind.node.map["instances"], self.kind.node.map["-unwrap"]
        expr = parsed(instances.map[str(name.value)].get("value"))
        if expr is None:
            return None
        value = self._put(expr)
        if len(forms) > 1:
            return value
        # casts tell other compilers how wide to compute both forms
        return ex.fold(value)

    def use(self, node: Node) -> None:
        """Put the number into all expressions of the type that has the field."""
        for key, child in list(node.map.items()):
            if str(key) in _TEXTS:
                continue
            if key == "-derive":
                self._derive(node)
            elif isinstance(child.value, str) and (str(key) in _EXPRESSIONS or key == "type"):
                self._expression(node, key, child)
            elif isinstance(child.value, dict):
                self.use(child)
            for item in child.items:
                self.use(item)

    def _expression(self, node: Node, key: Scalar, child: Node) -> None:
        expr = parsed(child)
        if expr is None or self.id not in ex.names(expr):
            return
        bare = False

        def swap(part: ex.Expr) -> ex.Expr | None:
            nonlocal bare
            if part == ex.Attr(ex.Name(self.id), "value"):
                return self.value
            bare = bare or part == ex.Name(self.id)
            return None

        made = ex.replace(expr, swap)
        if bare:
            what = f"`{self.id}` has several forms, and only one value"
            self.problems.add(child.place, self.owner.path, what, f"{self.id}.value")
            return
        node.map[key] = Node(ex.text_of(made), child.place, {})

    def _derive(self, node: Node) -> None:
        """The bytes of the number are those of its forms."""
        child = node.map["-derive"]
        holder = child if isinstance(child.value, dict) else node
        key = "value" if holder is child else "-derive"
        text = holder.get(key)
        kept = [each for each in self.names.values() if self.owner.field(each) is not None]
        if text is not None and isinstance(text.value, str) and kept:
            value = re.sub(rf"(?<![\w.]){self.id}(?=\s*\.\.)", kept[0], text.value)
            value = re.sub(rf"(?<=\.\.)(\s*){self.id}(?![\w])", rf"\g<1>{kept[-1]}", value)
            holder.map[key] = Node(value, text.place, {})


def version_test(name: str, versions: VersionRange, range_: VersionRange) -> ex.Expr:
    """The condition that a version is in a range."""
    first, last = ex.Literal(range_.first), ex.Literal(range_.last)
    since, until = range_.first > versions.first, range_.last < versions.last
    if since and until:
        if first == last:
            return ex.Binary("==", ex.Name(name), first)
        low, high = ex.Binary(">=", ex.Name(name), first), ex.Binary("<=", ex.Name(name), last)
        return ex.Binary("and", low, high)
    if since:
        return ex.Binary(">=", ex.Name(name), first)
    return ex.Binary("<=", ex.Name(name), last) if until else ex.Literal(True)
