"""Rewrites the older keys of schemas: no other line changes, and the generated modules do not."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kodec.generator.problems import Place, Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.build import load_units, model_of
from kodec.generator.schema.edits import Edits
from kodec.generator.schema.files import Unit
from kodec.generator.schema.implied import NAMES, WrittenOut, every_key
from kodec.generator.schema.load import Node, Scalar
from kodec.generator.schema.model import Model, Schema
from kodec.generator.schema.owners import Owner, conjuncts, parsed, sign_of_null, target_of
from kodec.generator.schema.versions import OPEN, VersionRange
from kodec.generator.text import NO_TEXT, Text
from kodec.generator.wire import INTRINSICS
from kodec.importer.plan import ImportPlan, SchemaChange

__all__ = ["plan_upgrade"]

_BREAKS = ("\r", "\x85", "\u2028", "\u2029")


def plan_upgrade(schemas: Path, *, import_path: Sequence[Path] = ()) -> ImportPlan:
    """Plan to rewrite the older keys of all schemas in a folder.

    All are read again with their new texts. A file whose meaning would change is skipped, with the reason, so
    that generated modules stay the same but for the hash in their first lines.

    Raises: SchemaError for schemas with problems, OSError.
    """
    problems = Problems()
    units = load_units(schemas, problems, import_path=import_path)
    before = model_of(units, problems)
    problems.raise_if_any()
    written = every_key(units)
    own = {ident: unit for ident, unit in units.items() if (schemas / unit.path).is_file()}
    texts = {ident: (schemas / unit.path).read_bytes().decode("utf-8") for ident, unit in own.items()}
    skipped = {
        ident: "it has other line breaks than \\n" for ident in own if any(b in texts[ident] for b in _BREAKS)
    }
    new = {
        ident: _File(units, own[ident], written[ident], text).upgraded()
        for ident, text in texts.items()
        if ident not in skipped
    }
    new = {ident: text for ident, text in new.items() if text != texts[ident]}
    while new and (wrong := _differences(schemas, own, new, before, import_path)):
        skipped |= wrong
        new = {ident: text for ident, text in new.items() if ident not in wrong}
    changes = [SchemaChange(schemas / own[ident].path, ident, texts[ident], new[ident]) for ident in new]
    reasons = tuple((own[ident].path, reason) for ident, reason in skipped.items())
    return ImportPlan(schemas, tuple(own), tuple(changes), len(own) - len(new) - len(skipped), reasons)


def _differences(
    schemas: Path,
    units: Mapping[str, Unit],
    texts: Mapping[str, str],
    before: Model,
    import_path: Sequence[Path],
) -> dict[str, str]:
    """The files whose new text means something else, each with the reason."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / schemas.resolve().name
        shutil.copytree(
            schemas, copy, ignore=lambda _, names: [n for n in names if Path(n).suffix not in _READ]
        )
        for ident, text in texts.items():
            (copy / units[ident].path).write_text(text, "utf-8", newline="\n")
        problems = Problems()
        after = model_of(load_units(copy, problems, import_path=import_path), problems)
    found: dict[str, str] = {}
    for problem in problems.found:
        for ident in texts:
            if problem.place.file.endswith(units[ident].path):
                found.setdefault(ident, f"its new text would have a problem: {problem.text}")
    if problems.found:
        return found or {ident: str(problems.found[0]) for ident in texts}
    for schema in before.schemas:
        old, new = _meaning(schema), _meaning(after.schema(schema.id))
        if old != new:
            reason = f"its new text would mean something else{_place(old, new)}"
            found |= dict.fromkeys([schema.id] if schema.id in texts else texts, reason)
    return found


def _place(old: Schema, new: Schema) -> str:
    """The first field that differs."""
    for one, other in zip(old.structs, new.structs, strict=False):
        for spec, changed in zip(one.fields, other.fields, strict=False):
            if spec != changed:
                return f": {one.name.replace('::', '.')}.{spec.id}"
    return ""


_READ = ("", ".ksy", ".yaml")


def _meaning(schema: Schema) -> Schema:
    """A schema without what generated modules do not show: its hash, and names that are ids."""

    def plain(name: Text, ident: str) -> Text:
        return NO_TEXT if name == Text(ident) else name

    structs = []
    for struct in schema.structs:
        fields = [dataclasses.replace(spec, orig_id=plain(spec.orig_id, spec.id)) for spec in struct.fields]
        structs.append(
            dataclasses.replace(struct, fields=tuple(fields), orig_id=plain(struct.orig_id, struct.id))
        )
    imports = tuple(sorted(schema.imports))
    return dataclasses.replace(schema, sha256="", imports=imports, structs=tuple(structs))


class _File:
    """Rewrites one file."""

    def __init__(self, units: Mapping[str, Unit], unit: Unit, written: WrittenOut, text: str) -> None:
        self.units, self.unit, self.written, self.text = units, unit, written, text
        self.edits = Edits(text)
        self.owners = [Owner(unit, name, node) for name, node in unit.types.items() if node.map]

    def upgraded(self) -> str:
        for owner in self.owners:
            self._represented(owner)
            self._message(owner)
            for spec in owner.fields:
                self._field(owner, spec)
                for tag in (spec.get("-tags") or _NONE).map.values():
                    self._range(tag)
                    if self._has(tag, "-nullable-versions"):
                        self.edits.rename(tag, "-nullable-versions", "-nullable")
            self._lengths(owner)
        for enum in self.unit.enums.values():
            for item in enum.map.values():
                self._range(item)
        self._names()
        return self.edits.result()

    def _has(self, node: Node, key: Scalar) -> bool:
        """Whether the file itself has a key, and no overlay."""
        return key in node.keys and node.keys[key].file == self.unit.root.place.file

    # -- types -----------------------------------------------------------------------------------

    def _represented(self, owner: Owner) -> None:
        node, edits = owner.node, self.edits
        if self._has(node, "-tail"):
            edits.rename(node, "-tail", "-trailing-bytes")
            edits.change(node, "-tail", "move")
        if not self._has(node, "-wire"):
            return
        wire = node.map["-wire"].value
        if wire == "tags":
            self._section(owner)
            return
        edits.rename(node, "-wire", "-primitive" if wire in INTRINSICS else "-unwrap")
        if wire not in INTRINSICS:
            listed = [spec for spec in owner.fields if spec.get("repeat") is not None]
            member = listed[0].map["id"].value if wire == "list" and listed else "value"
            edits.change(node, "-wire", str(member))

    def _section(self, owner: Owner) -> None:
        """A section is known by the tags of its element."""
        for spec in owner.fields:
            kind = spec.get("type")
            if spec.get("repeat") is None or kind is None:
                continue
            target = target_of(self.units, self.unit, owner.name, str(kind.value))
            if target is None or target[0] is not self.unit:
                return
            fields = Owner(*target).fields
            if not any(each.get("-tags") for each in fields):
                body = [each for each in fields if each.get("size") is not None]
                if len(body) != 1 or not self._has(body[0], "size"):
                    return
                self.edits.add(body[0], "size", {"-tags": "{}"})
            self.edits.remove(owner.node, "-wire")
            return

    def _message(self, owner: Owner) -> None:
        node, edits = owner.node, self.edits
        older = [key for key in ("-topic", "-flexible") if self._has(node, key)]
        values = {key[1:]: edits.source(node, key) for key in older}
        message = node.get("-message")
        if older and message is None:
            edits.add(node, older[-1], {"-message": values})
        elif older and message is not None and message.map:
            edits.add(message, list(message.map)[-1], values)
        for key in older:
            edits.remove(node, key)
        field = owner.field("version")
        if (older or message is not None) and field is not None and self._has(node, "-versions"):
            bounds = [parsed((field.get("valid") or _NONE).get(key)) for key in ("min", "max")]
            same = owner.versions is not None and bounds == list(
                map(ex.Literal, (owner.versions.first, owner.versions.last))
            )
            if same and owner.version_field == "version" and not node.map["-versions"].map:
                edits.remove(node, "-versions")

    # -- fields ----------------------------------------------------------------------------------

    def _field(self, owner: Owner, spec: Node) -> None:
        edits = self.edits
        condition = owner.whole(parsed(spec.get("if")))
        if condition is not None and owner.versions and owner.version_field in ex.names(condition):
            for key in ("-since", "-until"):
                if self._has(spec, key):
                    edits.remove(spec, key)
        if self._has(spec, "-nullable"):
            self._nullable(owner, spec)
        elif self._has(spec, "-nullable-versions"):
            edits.rename(spec, "-nullable-versions", "-nullable")
        if self._has(spec, "-inner") and self._has(spec, "-codec"):
            inner, codec = spec.map["-inner"].value, spec.map["-codec"]
            cases = (spec.get("type") or _NONE).get("cases") or _NONE
            plain = [case.value for key, case in cases.map.items() if str(key).endswith("::none")]
            if plain != [inner]:
                if codec.map:
                    edits.add(codec, list(codec.map)[-1], {"type": edits.source(spec, "-inner")})
                else:
                    edits.change(spec, "-codec", f"{{field: {edits.source(spec, '-codec')}, type: {inner}}}")
            edits.remove(spec, "-inner")

    def _nullable(self, owner: Owner, spec: Node) -> None:
        old = parsed(spec.map["-nullable"])
        if old is None or not isinstance(old, ex.Binary):
            return  # not an older form
        condition = parsed(spec.get("if"))
        signs = [sign_of_null(test) for test in conjuncts(condition)] if condition is not None else []
        versions = (
            self.edits.source(spec, "-nullable-versions") if self._has(spec, "-nullable-versions") else ""
        )
        if old in signs:
            self.edits.change(spec, "-nullable", versions or "true")
        else:
            test = self.edits.source(spec, "-nullable")
            self.edits.change(
                spec, "-nullable", f"{{if: {test}, versions: {versions}}}" if versions else f"{{if: {test}}}"
            )
        if versions:
            self.edits.remove(spec, "-nullable-versions")

    def _range(self, node: Node) -> None:
        """The versions of a tag or an enum value."""
        older = [key for key in ("-since", "-until") if self._has(node, key)]
        if older:
            numbers = {key: int(str(node.map[key].value)) for key in older}
            versions = VersionRange(numbers.get("-since", 0), numbers.get("-until", OPEN))
            self.edits.rename(node, older[0], "-versions")
            self.edits.change(node, older[0], str(versions))
            for key in older[1:]:
                self.edits.remove(node, key)

    def _lengths(self, owner: Owner) -> None:
        """Lengths, counts and marks that sizes and conditions determine."""
        node = owner.node
        wire = node.get("-wire")
        computed = owner.name in self.written.elements or (wire is not None and wire.value not in INTRINSICS)
        for spec in owner.fields:
            null = parsed(spec.get("-nullable")) if spec.get("-nullable") is not None else None
            numbers = owner.leaves(spec) or []
            kind = "count_of" if spec.get("repeat") is not None else "length_of"
            if not numbers and isinstance(null, ex.Binary):
                kind = "presence_of"
                whole = owner.whole(null.left)
                numbers = (owner.leaves_of(whole) if whole is not None else None) or []
            always = computed or null is not None or "-codec" in spec.map
            for each in numbers if always else ():
                number = owner.field(each.name)
                if number is None or not self._has(number, "-derive"):
                    continue
                plus = f"+{each.plus}" if each.plus and kind != "presence_of" else ""
                text = f"{kind}({spec.map['id'].value}){plus}"
                if str(number.map["-derive"].value).replace(" ", "") == text:
                    self.edits.remove(number, "-derive")

    # -- names -----------------------------------------------------------------------------------

    def _names(self) -> None:
        if self.unit.root.get("-names") is not None:
            return
        types = [owner.node for owner in self.owners if self.written.is_named_type(owner.name)]
        ids = {id(node): name.rpartition("::")[2] for name, node in self.unit.types.items()}
        fields = list(self._named_fields())
        style = max(NAMES, key=lambda style: sum(_is(node, NAMES[style](name)) for node, name in fields))
        plain = all(
            _is(node, NAMES["PascalCase"](ids[id(node)])) or self._has(node, "-orig-id") for node in types
        )
        follow = [node for node, name in fields if _is(node, NAMES[style](name))]
        others = [
            node for node, name in fields if not self._has(node, "-orig-id") and name != NAMES[style](name)
        ]
        named = [node for node in types if plain and _is(node, NAMES["PascalCase"](ids[id(node)]))]
        if len(follow) + len(named) <= 2 * len(others) + 2 or not all(node.map for node in others):
            return
        for node in [*follow, *named]:
            self.edits.remove(node, "-orig-id")
        for node in others:
            self.edits.add(node, "id", {"-orig-id": "''"})
        self.edits.add(self.unit.root, "meta", {"-names": style if plain and named else {"fields": style}})

    def _named_fields(self) -> Iterator[tuple[Node, str]]:
        """The fields and tags that `-names` names, with their ids."""
        for owner, whole in zip(self.owners, self.written.owners, strict=True):
            named = {each.map["id"].value for each in whole.fields if self.written.is_named(whole, each)}
            for spec in owner.fields:
                if "id" in spec.map and spec.map["id"].value in named:
                    yield spec, str(spec.map["id"].value)
                for tag in (spec.get("-tags") or _NONE).map.values():
                    yield tag, str(tag.map["id"].value if tag.map else tag.value)


def _is(node: Node, name: str) -> bool:
    given = node.get("-orig-id")
    return given is not None and str(given.value) == name


_NONE = Node({}, Place("", 0, 0), {})
