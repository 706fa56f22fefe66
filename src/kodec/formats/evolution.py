"""Whether a newer schema keeps the meaning of an older one, version by version.

The rules are those that Kafka applies to its own definitions (its generator's EvolutionVerifier and Unifier),
compared with layouts: in each version that both have, the same fields stand in the same order with the same
types. Only tagged fields may be added to an existing version.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kodec.formats.collect import collect
from kodec.generator.passes import run_passes
from kodec.generator.plan.layouts import Layout, Layouts
from kodec.generator.problems import Place, Problems, SchemaProblem
from kodec.generator.schema.build import build
from kodec.generator.schema.expr import Literal, text_of
from kodec.generator.schema.model import (
    Bits,
    Field,
    Model,
    Prim,
    Ref,
    Schema,
    Str,
    Struct,
    Switch,
    Tag,
    TypeRef,
)
from kodec.generator.schema.versions import OPEN, VersionRange

__all__ = ["violations"]


def violations(old: Path, new: Path) -> list[SchemaProblem]:
    """The incompatible changes from `old` to `new`, ordered by place; empty if compatible.

    Both are files, or both folders, whose files are compared by their paths in them.

    Raises: SchemaError for schemas that cannot be used; OSError.
    """
    with tempfile.TemporaryDirectory(prefix="kodec-evolution-") as scratch:
        before, first = _load(old, Path(scratch, "old"))
        after, second = _load(new, Path(scratch, "new"))
    problems = Problems()
    newer = {schema.path: schema for schema in after.schemas}
    pairs = [(schema, newer.get(schema.path)) for schema in before.schemas]
    if old.is_file():
        # the file, and of what it imports all that both have
        root = before.schema_at(first)
        other = after.schema_at(second)
        pairs = [(root, other), *(pair for pair in pairs if pair[0] != root and pair[1] is not None)]
    for schema, successor in pairs:
        if successor is None:
            problems.add(schema.root.place, schema.id, "the schema is gone")
            continue
        _Comparison(before, after, schema, successor, problems).run()
    return sorted(set(problems.found))


def _load(path: Path, scratch: Path) -> tuple[Model, str]:
    """The model, and the path in it of a schema that is given as a file."""
    folder, name = path, ""
    if path.is_file():
        name, files = collect(path)
        # problems name the folder
        folder = scratch / path.resolve().parents[name.count("/")].name
        for file_name, data in files.items():
            (folder / file_name).parent.mkdir(parents=True, exist_ok=True)
            (folder / file_name).write_bytes(data)
    problems = Problems()
    return run_passes(build(folder, problems), problems), name


class _Comparison:
    """One schema and its new version."""

    def __init__(self, before: Model, after: Model, old: Schema, new: Schema, problems: Problems) -> None:
        self.before = Layouts(before)
        self.after = Layouts(after)
        self.old = old
        self.new = new
        self.problems = problems
        self.findings: dict[tuple[Place, str, str], list[int]] = {}
        # one of them has versions: a number in front of the other, always the same, is the one version of it
        first, other = _front(old.root), _front(new.root)
        differ = bool(old.root.versions) != bool(new.root.versions)
        self.fronts = (first, other) if differ and first is not None and other is not None else None

    def bad(self, spec: Struct | Field, path: str, text: str) -> None:
        self.problems.add(spec.place, path.replace("::", "."), text)

    def bad_in(self, version: int | None, spec: Struct | Field, path: str, text: str) -> None:
        """The same of one version; what is wrong in several is said once."""
        versions = self.findings.setdefault((spec.place, path.replace("::", "."), text), [])
        versions += [] if version is None or version in versions else [version]

    def run(self) -> None:
        if self.old.streamed or self.new.streamed:
            if self.old.sha256 != self.new.sha256:
                text = "streamed types have no versions to compare: check them yourself"
                self.bad(self.new.root, self.new.id, text)
            return
        self.head(self.old.root, self.new.root)
        self.enums()
        newer = {self._name(struct, self.new): struct for struct in self.new.structs}
        used = self._used()
        for struct in self.old.structs:
            successor = newer.get(self._name(struct, self.old)) or self._moved(struct)
            if struct.name not in used:
                continue
            if successor is None:
                self.bad(self.new.root, self.new.id, f"type `{struct.id}` is gone")
            else:
                self.struct(struct, successor)
        for (location, path, text), versions in self.findings.items():
            shown = ", ".join(map(str, versions))
            when = f" in version{'s' * (len(versions) > 1)} {shown}" if versions else ""
            self.problems.add(location, path, text + when)

    @staticmethod
    def _name(struct: Struct, schema: Schema) -> str:
        return "" if struct is schema.root else struct.orig_id.raw or struct.id

    def _moved(self, struct: Struct) -> Struct | None:
        """A type that stands for a value, where it is a schema of its own now, as in a library."""
        imported = [each for each in self.after.model.schemas if each.id in self.new.imports]
        found = (each.root for each in imported if struct.wire is not None and each.id == struct.id)
        return next(found, None)

    def _used(self) -> set[str]:
        """The types that stand in bytes; the parts of a tagged section are compared by tag."""
        names: set[str] = set()
        for struct in self.old.structs:
            if struct.wire != "tags" and not any(field.tags for field in struct.fields):
                names.add(struct.name)
        return names

    def head(self, old: Struct, new: Struct) -> None:
        """The facts of the message as a whole."""
        path = self.new.id
        if old.message is not None and (new.message is None or new.message.number != old.message.number):
            self.bad(new, path, f"its number was {old.message.number}")
        if old.message is not None and new.message is not None and new.message.kind != old.message.kind:
            self.bad(new, path, f"its kind was `{old.message.kind.raw}`")
        if old.topic and new.topic != old.topic:
            self.bad(new, path, f"its topic was `{old.topic.raw}`")
        if self.fronts is not None:
            before, after = self.fronts
            gone = [version for version in before if version not in after and not self.taken_over(version)]
            if gone:
                self.bad(new, path, f"versions {before} were valid, now {after} are")
        elif old.versions and not (new.versions and _holds(new.versions, old.versions)):
            self.bad(new, path, f"versions {old.versions} were valid, now {new.versions or 'none'} are")
        both = old.versions.intersect(new.versions) if old.versions and new.versions else None
        if old.flexible is not None and new.flexible is not None and both:
            flexible, now = ([v for v in both if v in versions] for versions in (old.flexible, new.flexible))
            if flexible != now:
                text = f"flexible versions were {old.flexible}, now they are {new.flexible}"
                self.bad(new, path, text)

    def taken_over(self, version: int) -> bool:
        """Whether a new schema reads what a version was, byte by byte: so Kafka 4.1 has it of keys."""
        if len(self.old.structs) > 1:
            return False
        paths = {schema.path for schema in self.before.model.schemas}
        for other in self.after.model.schemas:
            front = _front(other.root)
            if other.path in paths or front is None or other.root.versions or version not in front:
                continue
            trial = _Comparison(self.before.model, self.after.model, self.old, other, Problems())
            known = {self.old.root.version_field: version} if self.old.root.versions else {}
            trial.layouts(
                trial.before.layout(self.old.root, known), trial.after.layout(other.root, {}), version
            )
            if not trial.findings:
                return True
        return False

    def enums(self) -> None:
        newer = {enum.name.rpartition("::")[2]: enum for enum in self.new.enums}
        for enum in self.old.enums:
            ident = enum.name.rpartition("::")[2]
            successor = newer.get(ident)
            known = {} if successor is None else {item.value: item.id for item in successor.items}
            for item in enum.items:
                path = f"{self.new.id}.{ident}.{item.id}"
                if item.value not in known:
                    self.bad(self.new.root, path, f"value {item.value} is gone")
                elif known[item.value] != item.id:
                    self.bad(self.new.root, path, f"value {item.value} is now `{known[item.value]}`")

    # -- types ------------------------------------------------------------------------------------

    def struct(self, old: Struct, new: Struct) -> None:
        if old.wire != new.wire:
            self.bad(new, new.name, f"it meant `{old.wire}`, and now means `{new.wire}`")
            return
        if [param.type for param in old.params if param.type == "bool"] != [
            param.type for param in new.params if param.type == "bool"
        ]:
            self.bad(new, new.name, "its bool parameters differ")
            return
        for flags in self.before.bindings(old):
            for version in self._versions(old, new):
                known, also = dict(flags), dict(zip(
                    (param.id for param in new.params if param.type == "bool"), flags.values(), strict=True
                ))  # fmt: skip
                if version is not None and old.versions:
                    known[old.version_field] = version
                if version is not None and new.versions:
                    also[new.version_field] = version
                self.layouts(self.before.layout(old, known), self.after.layout(new, also), version)
        self.tags(old, new)

    def _versions(self, old: Struct, new: Struct) -> list[int | None]:
        """The versions in which two types are compared: those of both."""
        if old is self.old.root and self.fronts is not None:
            return [version for version in self.fronts[0] if version in self.fronts[1]]
        root = self.old.root.versions
        known = old.versions or (root if new.versions else None)
        if not known:
            return [None]
        also = new.versions or known
        return [version for version in known if version in also and (not root or version in root)]

    def layouts(self, old: Layout, new: Layout, version: int | None) -> None:
        before, after = _fields(old), _fields(new)
        if self.fronts is not None and old.struct is self.old.root:
            # both have it at their start, regardless of its name and default
            name = next(iter(before))
            (_, front), *others = after.items()
            before[name] = replace(before[name], default=None)
            after = {name: replace(front, default=None), **dict(others)}
        self.rename(before, after)
        if old.struct is self.old.root and old.struct.version_field in before:
            # defaults do not affect the meaning of bytes
            front = before[old.struct.version_field]
            before[old.struct.version_field] = replace(front, default=None, valid=None)
            if old.struct.version_field in after:
                after[old.struct.version_field] = replace(after[old.struct.version_field], default=None)
        path = new.struct.name
        for name, field in before.items():
            if name not in after:
                self.bad_in(version, new.struct, f"{path}::{field.id}", "the field is gone")
        for name, field in after.items():
            if name not in before:
                text = "the field is new, and only a tagged field may be added to an existing version:"
                self.bad_in(version, field, f"{path}::{field.id}", text)
        common = [name for name in before if name in after]
        moved = [name for name in after if name in before]
        for first, second in zip(common, moved, strict=True):
            if first != second:
                text = f"it stands where `{before[first].id}` stood"
                self.bad_in(version, after[second], f"{path}::{after[second].id}", text)
                break
        for name in common:
            self.field(before[name], after[name], f"{path}::{after[name].id}", version)

    def field(self, old: Field, new: Field, path: str, version: int | None) -> None:
        for what, first, other in self.facts(old, new):
            if first != other:
                self.bad_in(version, new, path, f"{what} was `{first}`, and is `{other}`")
        # after folding, a range that is not None allows no null
        forbidden = old.null_versions is None and new.null_versions is not None
        if forbidden or (old.nullable is not None and new.nullable is None):
            self.bad_in(version, new, path, "it could be null, but no longer can")

    def rename(self, before: dict[str, Field], after: dict[str, Field]) -> None:
        """A field with another name in the old one's place, and otherwise the same, is the same."""
        pairs = list(zip(before.items(), after.items(), strict=False)) if len(before) == len(after) else []
        renamed = {
            name: other
            for (other, old), (name, new) in pairs
            if name not in before
            and other not in after
            and all(first == second for _, first, second in self.facts(old, new))
        }
        fields = [(renamed.get(name, name), field) for name, field in after.items()]
        after.clear()
        after.update(fields)

    def facts(self, old: Field, new: Field) -> Iterator[tuple[str, str, str]]:
        """The facts of a field that must not change in a version that both have."""
        yield "the type", _type(old.type, self.before.model), _type(new.type, self.after.model)
        for what, first, other in (
            ("`size`", old.size, new.size),
            ("`if`", old.condition, new.condition),
            ("`repeat-expr`", old.repeat_expr, new.repeat_expr),
            ("`repeat-until`", old.repeat_until, new.repeat_until),
        ):
            yield (
                what,
                text_of(first) if first is not None else "none",
                text_of(other) if other is not None else "none",
            )
        yield "`repeat`", str(old.repeat), str(new.repeat)
        yield "the default", _default(old.default), _default(new.default)
        yield "`contents`", str(old.contents), str(new.contents)

    # -- tags -------------------------------------------------------------------------------------

    def tags(self, old: Struct, new: Struct) -> None:
        before, after = (
            {tag.number: tag for tag in tags} for tags in (_tags(self.before, old), _tags(self.after, new))
        )
        path = new.name
        names = {tag.orig_id.raw or tag.id: tag.number for tag in after.values()}
        for number, tag in before.items():
            successor = after.get(number)
            name = tag.orig_id.raw or tag.id
            if successor is None:
                moved = f", and `{tag.id}` is tag {names[name]} now" if name in names else ""
                self.bad(new, f"{path}::{tag.id}", f"tag {number} is gone{moved}")
                continue
            if (successor.orig_id.raw or successor.id) != name:
                text = f"tag {number} was `{tag.id}`: the number of a tag is not used again"
                self.bad(new, f"{path}::{successor.id}", text)
                continue
            self.tag(old, new, tag, successor)

    def tag(self, old: Struct, new: Struct, before: Tag, after: Tag) -> None:
        path = f"{new.name}::{after.id}"
        for what, first, other in (
            ("the type", _type(before.type, self.before.model), _type(after.type, self.after.model)),
            ("the default", _default(before.default), _default(after.default)),
        ):
            if first != other:
                self.bad(new, path, f"{what} was `{first}`, now it is `{other}`")
        for what, one_range, other_range in (
            ("versions", _span(before, old), _span(after, new)),
            ("nullable versions", before.null_versions or _ALL, after.null_versions or _ALL),
        ):
            needed = (old.versions or self.old.root.versions or _ALL).intersect(one_range)
            if not _holds(other_range, needed):
                self.bad(new, path, f"{what} were {one_range}, now they are {other_range}")


def _front(struct: Struct) -> VersionRange | None:
    """The numbers with which values of a type can start; None if they start with anything else."""
    if not struct.fields:
        return None
    first = struct.fields[0]
    if not isinstance(first.type, Prim) or first.type.floating or first.condition or first.repeat:
        return None
    if struct.versions:
        return struct.versions if first.id == struct.version_field else None
    fixed = None if first.valid is None else first.valid.eq
    if isinstance(fixed, Literal) and isinstance(fixed.value, int):
        return VersionRange(fixed.value, fixed.value)
    return None


_ALL = VersionRange(0, OPEN)


def _holds(outer: VersionRange, inner: VersionRange) -> bool:
    return not inner or (outer.first <= inner.first and inner.last <= outer.last)


def _span(tag: Tag, struct: Struct) -> VersionRange:
    return VersionRange(tag.since or 0, OPEN if tag.until is None else tag.until)


def _tags(layouts: Layouts, struct: Struct) -> tuple[Tag, ...]:
    known: dict[str, int | bool] = dict(layouts.bindings(struct)[0])
    if struct.versions:
        # without a version, every tag is present as written
        layout = layouts.layout(replace(struct, versions=None), known)
        return layout.tags
    return layouts.layout(struct, known).tags


def _fields(layout: Layout) -> dict[str, Field]:
    """The fields of a layout in their order, by their names in the format."""
    return {field.orig_id.raw or field.id: field for field in layout.fields}


def _default(default: object) -> str:
    return "none" if default is None else text_of(default)  # type: ignore[arg-type]  # an expression


def _type(kind: TypeRef, model: Model) -> str:
    """A type as it is on the wire; which layout of another type it is, is compared there."""
    if isinstance(kind, Ref) and model.struct(kind.target).wire == "tags":
        return "tagged fields"
    match kind:
        case Prim(name, endian=endian):
            return name if name[1:] == "1" else f"{name}{endian}"
        case Bits(width, endian):
            return f"b{width}{endian}"
        case Str(encoding):
            return f"str {encoding}"
        case Ref(target, args):
            flags = [text_of(arg) for arg in args if isinstance(arg, Literal) and isinstance(arg.value, bool)]
            return target.rpartition("::")[2] + (f"({', '.join(flags)})" if flags else "")
        case Switch(on, cases, default):
            listed = ", ".join(f"{text_of(case)}: {_type(branch, model)}" for case, branch in cases)
            return f"{text_of(on)} {{{listed}}}" + ("" if default is None else f" {_type(default, model)}")
    return "bytes"
