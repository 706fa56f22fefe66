"""What a schema need not write, because other keys determine it: here it is written out, for the model.

| written | means |
|---|---|
| `-names: camelCase` | `-orig-id` of each type, field and tag without one, made of its id |
| `-message: {topic, flexible}` | what the older keys `-topic` and `-flexible` meant |
| `-message`, and `valid: {min, max}` of `version` | `-versions` |
| `if: version >= 3` in a type with `-versions` | the versions of the field |
| `-versions: 3+` of a tag or an enum value | its versions |
| `-nullable: true`, or the versions | null where the part of `if` about the length, count or mark is false |
| `-primitive: uuid`, `-unwrap: value` | the type is represented by a primitive, or by a member |
| `-tags` in the element of a list | the type with that list is a tagged section |
| no `doc` of a version or a tagged section | "Version of the message.", the first paragraph of the type |
| `-codec: x` on a `switch-on: x` | compressed content has the type of the case `none` |
| the size of a nullable or compressed field, and sizes in sections and unwrapped types | `-derive` |

A key of the model that was written out stands at the place of the key that decides it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from kodec.generator.problems import Place, Problems, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.files import Unit, collect
from kodec.generator.schema.inlined import inline, stands_for_instance
from kodec.generator.schema.keys import OLDER
from kodec.generator.schema.load import Node, Scalar, copied
from kodec.generator.schema.owners import Leaf, Owner, conjuncts, parsed, put, sign_of_null, target_of
from kodec.generator.schema.versions import OPEN, VersionRange

__all__ = ["NAMES", "WrittenOut", "every_key", "written_out"]

NAMES: Mapping[str, Callable[[str], str]] = {
    "PascalCase": lambda name: "".join(part[:1].upper() + part[1:] for part in name.split("_")),
    "camelCase": lambda name: name[:1] + NAMES["PascalCase"](name)[1:],
}
"""The styles of names of fields; types are always in PascalCase."""
_RANGE = re.compile(r"none\Z|\d+(\+|-\d+)?\Z")


def written_out(units: Mapping[str, Unit], problems: Problems) -> dict[str, Unit]:
    """Copies of the units with every implied key; the units themselves do not change."""
    for unit in units.values():
        _note_older(unit, problems)
    copies = {ident: _copied(unit) for ident, unit in units.items()}
    _write_out(copies, problems)
    return copies


def _note_older(unit: Unit, problems: Problems) -> None:
    """Note the first older key of a file, and gather all."""
    places: dict[str, Place] = {}
    todo = [unit.root]
    while todo:
        node = todo.pop()
        for key in node.keys.keys() & OLDER.keys():
            place = node.keys[key]
            places[str(key)] = min(place, places.get(str(key), place))
        todo += [*node.items, *node.map.values()]
    problems.older.setdefault(unit.root.place.file, set()).update(places)
    if places:
        key = min(places, key=lambda key: places[key])
        hint = f"{OLDER[key]}; `kodec upgrade-schemas` rewrites the file"
        problems.note(places[key], unit.id, f"`{key}` is an older key", hint)


def every_key(units: Mapping[str, Unit]) -> dict[str, WrittenOut]:
    """The same, with what decides which fields have names, for a program that rewrites schemas."""
    return _write_out({ident: _copied(unit) for ident, unit in units.items()}, Problems())


def _write_out(copies: dict[str, Unit], problems: Problems) -> dict[str, WrittenOut]:
    written = {ident: WrittenOut(copies, unit, problems) for ident, unit in copies.items()}
    for each in written.values():
        each.messages()
    for each in written.values():
        each.forms = {owner.name: inline(copies, owner, problems) for owner in each.owners}
    for each in written.values():
        each.write()
    for unit in copies.values():
        unit.imports = tuple(dict.fromkeys(name for each in unit.imports for name in _beyond(copies, each)))
    return written


def _beyond(units: Mapping[str, Unit], ident: str) -> tuple[str, ...]:
    """A schema that is imported; what it imports itself, if it is written out."""
    unit = units.get(ident)
    return unit.imports if unit is not None and stands_for_instance(unit.root) else (ident,)


def _copied(unit: Unit) -> Unit:
    root = copied(unit.root)
    types: dict[str, Node] = {}
    enums: dict[str, Node] = {}
    collect(root, unit.id, types, enums, Problems())
    return replace(unit, root=root, types=types, enums=enums)


class WrittenOut:
    """Writes one file out."""

    def __init__(self, units: Mapping[str, Unit], unit: Unit, problems: Problems) -> None:
        self.units, self.unit, self.problems = units, unit, problems
        self.owners = [Owner(unit, name, node) for name, node in unit.types.items() if node.map]
        self.forms: Mapping[str, frozenset[str]] = {}
        self.elements: set[str] = set()
        self._sections: dict[str, str] = {}

    def bad(self, at: Node, path: str, text: str, hint: str = "") -> None:
        self.problems.add(at.place, path, text, hint)

    def put(self, node: Node, key: str, value: Scalar, at: Node, path: str, by: str) -> None:
        """Write an older key out that the key `by` says; if both are there, they must agree."""
        older = node.get(key)
        if older is not None and str(older.value) != str(value):
            self.bad(
                older,
                path,
                f"`{key}: {older!r}` contradicts `{by}`, which says {value}",
                f"leave `{key}` out",
            )
        elif older is None:
            put(node, key, value, at)

    # -- types -----------------------------------------------------------------------------------

    def messages(self) -> None:
        """What `-message` says, and the versions of messages."""
        for owner in self.owners:
            message = owner.node.get("-message")
            for key in ("topic", "flexible"):
                value = message.get(key) if message is not None else None
                if value is not None and not isinstance(value.value, (list, dict)):
                    self.put(owner.node, f"-{key}", value.value, value, owner.path, "-message")
            field = owner.field("version")
            if message is None or field is None or owner.node.get("-versions") is not None:
                continue
            bounds = [_literal((field.get("valid") or field).get(key)) for key in ("min", "max")]
            if None not in bounds:
                put(owner.node, "-versions", "{}-{}".format(*bounds), field.map["valid"])

    def write(self) -> None:
        sections = {owner.name: self.section(owner) for owner in self.owners}
        self.elements = elements = {name for name in sections.values() if name}
        for owner in self.owners:
            if sections[owner.name] and not owner.node.get("-wire"):
                put(owner.node, "-wire", "tags", owner.node.map["seq"])
            self._represented(owner)
            computed = owner.node.get("-wire") is not None or owner.name in elements
            for spec in owner.fields:
                self._field(owner, spec)
                always, forms = computed or "-codec" in spec.map, self.forms[owner.name]
                leaves = (owner.leaves(spec) or []) if always or forms else []
                self._derive(spec, owner, [each for each in leaves if always or each.name in forms])
            self._docs(owner)
        for enum in self.unit.enums.values():
            for item in enum.map.values():
                self._versions(item, self.unit.id)
        self._names()

    def _docs(self, owner: Owner) -> None:
        """Texts of what means the same in every type."""
        params = owner.node.get("params")
        for spec in (*owner.fields, *(params.items if params is not None else ())):
            ident, kind = spec.get("id"), spec.get("type")
            if "doc" in spec.map or ident is None or kind is None:
                continue
            target = target_of(self.units, self.unit, owner.name, str(kind.value))
            if owner.versions and ident.value == owner.version_field:
                put(spec, "doc", "Version of the message.", ident)
            elif target is not None and self.section(Owner(*target)):
                text = target[2].get("doc")
                if text is not None and isinstance(text.value, str):
                    put(spec, "doc", " ".join(text.value.partition("\n\n")[0].split()), kind)

    def section(self, owner: Owner) -> str:
        """The element of a tagged section; empty for any other type."""
        found = self._sections.get(owner.name)
        if found is None:
            self._sections[owner.name] = found = self._element(owner)
        return found

    def _element(self, owner: Owner) -> str:
        for spec in owner.fields:
            kind = spec.get("type")
            if spec.get("repeat") is None or kind is None or not isinstance(kind.value, str):
                continue
            target = target_of(self.units, owner.unit, owner.name, kind.value)
            if target is not None and any(each.get("-tags") for each in Owner(*target).fields):
                return target[1]
        return ""

    def _represented(self, owner: Owner) -> None:
        """`-primitive`, `-unwrap` and `-trailing-bytes`."""
        node = owner.node
        if (primitive := node.get("-primitive")) is not None and not isinstance(
            primitive.value, (list, dict)
        ):
            self.put(node, "-wire", primitive.value, primitive, owner.path, "-primitive")
        if (tail := node.get("-trailing-bytes")) is not None and not isinstance(tail.value, (list, dict)):
            self.put(
                node,
                "-tail",
                "moves" if tail.value == "move" else tail.value,
                tail,
                owner.path,
                "-trailing-bytes",
            )
        member = node.get("-unwrap")
        if member is None or stands_for_instance(node):
            return
        spec = owner.field(str(member.value))
        if spec is None:
            known = [str(each.map["id"].value) for each in owner.fields if "id" in each.map]
            self.bad(
                member,
                owner.path,
                f"`-unwrap`: there is no field `{member!r}`",
                nearest(str(member.value), known),
            )
            return
        kind = spec.get("type")
        form = "bytes" if kind is None else "string" if kind.value == "str" else "value"
        form = "list" if spec.get("repeat") is not None else form
        if form != "list" and member.value != "value":
            self.bad(
                member,
                owner.path,
                f"`-unwrap: {member!r}`: the field must be called `value`",
                "-unwrap: value",
            )
            return
        self.put(node, "-wire", form, member, owner.path, "-unwrap")

    # -- fields ----------------------------------------------------------------------------------

    def _field(self, owner: Owner, spec: Node) -> None:
        condition = owner.whole(parsed(spec.get("if")))
        name = owner.version_field
        if (
            not spec.map.keys() & {"-since", "-until"}
            and condition is not None
            and name in ex.names(condition)
        ):
            there, versions = owner.present(condition), owner.versions
            if versions is not None and there and there == list(range(there[0], there[-1] + 1)):
                self._since(spec, VersionRange(there[0], there[-1]), versions, spec.map["if"])
        if "-nullable" in spec.map:
            self._nullable(owner, spec)
        self._codec(spec, owner.path)
        tags = spec.get("-tags")
        for tag in tags.map.values() if tags is not None else ():
            self._versions(tag, owner.path)
            null = tag.get("-nullable")
            if null is not None and not isinstance(null.value, (list, dict)):
                put(tag, "-nullable-versions", null.value, null)

    @staticmethod
    def _since(spec: Node, range_: VersionRange, versions: VersionRange, at: Node) -> None:
        if range_.first > versions.first:
            put(spec, "-since", range_.first, at)
        if range_.last < versions.last:
            put(spec, "-until", range_.last, at)

    def _versions(self, node: Node, path: str) -> None:
        """`-versions` of a tag or of an enum value."""
        given = node.get("-versions")
        if given is None:
            return
        try:
            found = VersionRange.parse(str(given.value))
        except ValueError as error:
            self.bad(given, path, f"-versions: {error}", "write it as 3, 0-4 or 2+")
            return
        if older := node.map.keys() & {"-since", "-until"}:
            key = min(map(str, older))
            self.bad(node.map[key], path, f"`{key}` and `-versions` mean the same", f"leave `{key}` out")
            return
        self._since(node, found, VersionRange(0, OPEN), given)

    def _codec(self, spec: Node, path: str) -> None:
        """The type of compressed content."""
        codec = spec.get("-codec")
        if codec is None:
            return
        kind = codec.get("type")
        cases = (spec.get("type") or codec).get("cases")
        for key, case in cases.map.items() if cases is not None and kind is None else ():
            if str(key).endswith("::none"):
                kind = case
        if kind is not None and (codec.get("type") is kind or spec.get("-inner") is None):
            self.put(
                spec,
                "-inner",
                kind.value if not isinstance(kind.value, (list, dict)) else None,
                kind,
                path,
                "-codec",
            )

    def _nullable(self, owner: Owner, spec: Node) -> None:
        """`-nullable: true`, `-nullable: 2+`, or a mapping of both."""
        given = spec.map["-nullable"]
        path = f"{owner.path}.{spec.map['id'].value if 'id' in spec.map else ''}"
        versions, test = given.get("versions"), given.get("if")
        if not isinstance(given.value, dict):
            if given.value is not True and not _RANGE.match(str(given.value)):
                return  # a condition
            versions = given if given.value is not True else None
        if versions is not None:
            self.put(spec, "-nullable-versions", str(versions.value), versions, path, "-nullable")
        sign = parsed(test) if test is not None else self._sign(owner, spec)
        del spec.map["-nullable"]
        if sign is None:
            kind = spec.get("type")
            tests = spec.get("if") is not None and spec.get("repeat") is not None
            if test is not None or kind is None or not isinstance(kind.value, str) or tests:
                self.bad(given, path, "`-nullable`: no `if` shows when the field is null", "if: len_x >= 0")
            elif versions is None:
                self.bad(given, path, "`-nullable: true` has no effect: its type shows whether it is null")
            return
        put(spec, "-nullable", ex.text_of(sign), given)
        lengths = owner.leaves(spec)
        whole = owner.whole(sign.left) if isinstance(sign, ex.Binary) else None
        marks = owner.leaves_of(whole) if whole is not None else None
        self._derive(spec, owner, lengths or marks or [], presence=not lengths)

    def _sign(self, owner: Owner, spec: Node) -> ex.Expr | None:
        """When a field is null: if the part of its condition that is about other fields does not hold."""
        condition = parsed(spec.get("if"))
        tests = [each for each in conjuncts(condition) if self._of_fields(owner, each)] if condition else []
        return sign_of_null(tests[0]) if len(tests) == 1 else None

    @staticmethod
    def _of_fields(owner: Owner, test: ex.Expr) -> bool:
        """Whether a condition is about something else than the version and the parameters."""
        whole = owner.whole(test)
        params = owner.node.get("params")
        own = {str(each.map["id"].value) for each in (params.items if params else ()) if "id" in each.map}
        return whole is not None and not ex.names(whole) <= own | {owner.version_field}

    @staticmethod
    def _derive(spec: Node, owner: Owner, numbers: list[Leaf], *, presence: bool = False) -> None:
        """Numbers that are computed of a field."""
        if "id" not in spec.map:
            return
        repeated = spec.get("repeat") is not None
        kind = "presence_of" if presence else "count_of" if repeated else "length_of"
        for each in numbers:
            number = owner.field(each.name)
            if number is not None and number.get("-derive") is None:
                plus = f" + {each.plus}" if each.plus and not presence else ""
                at = spec.get("repeat-expr" if repeated else "if" if presence else "size") or spec
                put(number, "-derive", f"{kind}({spec.map['id'].value}){plus}", at)

    # -- names -----------------------------------------------------------------------------------

    def _names(self) -> None:
        """`-orig-id` of all that has data of its own."""
        given = self.unit.root.get("-names")
        if given is None:
            return
        styles = given.map or {"types": Node("PascalCase", given.place, {}), "fields": given}
        for each in styles.values():
            if str(each.value) not in NAMES:
                self.bad(each, self.unit.id, f"`-names: {each!r}` is not a style", " or ".join(NAMES))
                return
        for owner in self.owners:
            if "types" in styles and self.is_named_type(owner.name):
                self._name(owner.node, owner.name.rpartition("::")[2], styles["types"], given)
            for spec in owner.fields if "fields" in styles else ():
                ident = spec.get("id")
                if ident is not None and self.is_named(owner, spec):
                    self._name(spec, str(ident.value), styles["fields"], ident)
                tags = spec.get("-tags") or _NONE
                for number, tag in tags.map.items():
                    if not isinstance(tag.value, dict):
                        tag = tags.map[number] = Node({"id": tag}, tag.place, {"id": tag.place})
                    if (ident := tag.get("id")) is not None:
                        self._name(tag, str(ident.value), styles["fields"], ident)

    @staticmethod
    def _name(node: Node, ident: str, style: Node, at: Node) -> None:
        if node.get("-orig-id") is None:
            put(node, "-orig-id", NAMES[str(style.value)](ident), at)

    def is_named_type(self, name: str) -> bool:
        """Whether a type is one of the documents': not a section, or what stands for a value in it."""
        keys = self.unit.types[name].map.keys() & {"-wire", "-unwrap", "-primitive"}
        return not keys and name not in self.elements

    def is_named(self, owner: Owner, spec: Node) -> bool:
        """Whether a field has data of its own: counts, constants, versions and sections have not."""
        if "id" not in spec.map or not self.is_named_type(owner.name):
            return False
        valid = spec.get("valid")
        constant = valid is not None and (not isinstance(valid.value, dict) or valid.map.keys() == {"eq"})
        if constant or spec.map.keys() & {"-derive", "contents"}:
            return False
        if owner.versions and spec.map["id"].value == owner.version_field:
            return False
        kind = spec.get("type")
        if kind is None or not isinstance(kind.value, str):
            return True
        target = target_of(self.units, self.unit, owner.name, kind.value)
        return target is None or not (self.section(Owner(*target)) or _is_section(target[2]))


_NONE = Node({}, Place("", 0, 0), {})


def _is_section(node: Node) -> bool:
    wire = node.get("-wire")
    return wire is not None and wire.value == "tags"


def _literal(node: Node | None) -> int | None:
    expr = parsed(node)
    value = ex.fold(expr) if expr is not None else None
    return value.value if isinstance(value, ex.Literal) and type(value.value) is int else None
