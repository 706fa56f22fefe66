"""Where a name stands in schemas that are right: its definition, and all that refers to it; and new names.

Types, enums and their values are found as the generator resolves them. Members are those of the objects in
expressions, by their kinds. What cannot be told apart is `Unsure`, and changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from kodec.generator.passes import run_passes
from kodec.generator.passes.streamed import walk_expressions
from kodec.generator.problems import Place, Problems, SchemaError, SchemaProblem
from kodec.generator.schema import expr as ex
from kodec.generator.schema.build import load_units, model_of
from kodec.generator.schema.expression_types import KindError, Kinds, Scope
from kodec.generator.schema.files import IDENT, Unit
from kodec.generator.schema.load import composed
from kodec.generator.schema.model import Model, Struct, to_json
from kodec.generator.schema.overlay import overlay_beside
from kodec.generator.schema.values import Values

__all__ = ["Occurrence", "Unsure", "occurrences", "renamed"]

# words of an expression, a string as one, a path of types as one
_WORDS = re.compile(r"""f?"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*""")
_SHOWN = re.compile(r"\{([^{}:]*)")
# keys whose values are texts for people, or for other tools
_TEXTS = {"doc", "doc-ref", "id", "contents", "encoding", "title", "application", "license", "ks-version"}


class Unsure(ValueError):
    """Why it cannot be said what a name means, or why it cannot have another."""


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """A word of a file, by its offsets in the text; `defines` what it names."""

    file: str
    start: int
    end: int
    defines: bool = False


@dataclass(frozen=True, slots=True)
class _Word:
    """An occurrence, and the full names of what it may name: none if that is something else.

    `unsure` is what a member may be, but nobody can tell.
    """

    at: Occurrence
    names: frozenset[str]
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A scalar of YAML: the keys that lead to it, and its text as it stands."""

    path: tuple[str, ...]
    start: int
    written: str
    is_key: bool

    @property
    def scope(self) -> tuple[str, ...]:
        """The types around it."""
        path, found = self.path, []
        while len(path) > 2 and path[0] == "types":
            found.append(path[1])
            path = path[2:]
        return tuple(found)

    @property
    def inside(self) -> tuple[str, ...]:
        """Its path in the innermost of those types."""
        return self.path[2 * len(self.scope) :]


def occurrences(texts: Mapping[str, str], folder: Path, file: str, offset: int) -> list[Occurrence]:
    """All places of what is named at a place.

    Args:
        texts: the files that may have it, by their paths in the folder.
        folder: where imports of others are found.
        file: the file, and `offset` the place in its text.

    Raises: Unsure; SchemaError for schemas with problems.
    """
    with _Loaded(texts, folder) as loaded:
        return loaded.of(file, offset)[1]


def renamed(texts: Mapping[str, str], folder: Path, file: str, offset: int, name: str) -> list[Occurrence]:
    """The places where `name` has to be put to rename what is named at a place; arguments as above.

    The schemas with the new name mean the same: they have no problems, and nothing refers to something else.
    Raises: Unsure; SchemaError for schemas that have problems already.
    """
    with _Loaded(texts, folder) as loaded:
        full, found = loaded.of(file, offset)
        if not IDENT.match(name):
            raise Unsure(f"`{name}` is not a name: lower_snake_case")
        old = loaded.texts[found[0].file][found[0].start : found[0].end]
        if full == f"type {old}":
            raise Unsure(f"the schema `{old}` is named as its file: rename the file, and its `meta/id`")
        if name == old:
            return []
        loaded.check_overlays(old)
        try:
            made = loaded.with_name(found, name)
            # a name that nothing else has stands for what it names alone, and can be put back
            free = loaded.free(old) if name in loaded.known() else name
            middle = loaded.with_name(found, free) if free != name else made
        except SchemaError as error:
            first = error.problems[0]
            raise Unsure(f"with the name `{name}`: {first.place}: {first.text}") from error
        if not (_says(middle, free, old) == _says(loaded.plain) and _says(middle, free, name) == _says(made)):
            if any(unit.root.get("-names") for unit in loaded.units.values() if unit.path == found[0].file):
                raise Unsure(
                    f"`-names` would give `{name}` another name: write the `-orig-id` of `{old}` first"
                )
            raise Unsure(f"with the name `{name}` something else would change its meaning")
        return found


def _says(plain: str, old: str = "", new: str = "") -> object:
    """What a model says, with another name."""
    return json.loads(re.sub(rf"\b{old}\b", new, plain) if old else plain)


class _Loaded:
    """Schemas that are right, and what they import."""

    def __init__(self, texts: Mapping[str, str], folder: Path) -> None:
        self.folder = folder
        self.own = dict(texts)
        self._scratch = TemporaryDirectory()
        # messages name its last part
        self.root = Path(self._scratch.name) / (folder.name or "schemas")

    def __enter__(self) -> _Loaded:
        try:
            self.units, self.model = self.load(self.own)
        except BaseException:
            self._scratch.cleanup()
            raise
        self.plain = _plain(self.model)
        self.kinds = Kinds(self.model)
        self.texts = {**self.own}
        self.shown = {}
        for unit in self.units.values():
            if unit.path not in self.texts:
                self.texts[unit.path] = (self.folder / unit.path).read_text("utf-8")
            self.shown[unit.root.place.file] = unit.path
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def load(self, texts: Mapping[str, str]) -> tuple[dict[str, Unit], Model]:
        for name, text in texts.items():
            place = self.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8", "surrogatepass")
        problems = Problems()
        units = load_units(self.root, problems, import_path=[self.folder])
        model = model_of(units, problems)
        return units, run_passes(model, problems)

    def with_name(self, found: Iterable[Occurrence], name: str) -> str:
        """What the model says with another name. Raises: SchemaError."""
        texts = dict(self.texts)
        for each in sorted(found, reverse=True):
            text = texts[each.file]
            texts[each.file] = f"{text[: each.start]}{name}{text[each.end :]}"
        changed = {each.file for each in found}
        try:
            _, model = self.load({**self.own, **{file: texts[file] for file in changed}})
        finally:
            # of others, the file in the folder counts again
            for file in changed - {*self.own}:
                (self.root / file).unlink()
        return _plain(model)

    def in_own_keys(self, found: list[Occurrence], word: str) -> list[Occurrence]:
        """With the places in extension keys that have a problem if only the others get another name."""
        more = [each for unit in self.units.values() for each in self.own_keys(unit, word)]
        while more:
            try:
                self.with_name(found, self.free(word))
                break
            except SchemaError as error:
                ranked = {at: max(map(fits, error.problems)) for at, fits in more if at not in found}
            best = max(ranked.values(), default=0)
            new = [at for at, rank in ranked.items() if rank == best and rank]
            if not new:
                break
            found = [*found, *new]
        return found

    def own_keys(self, unit: Unit, word: str) -> Iterator[tuple[Occurrence, Callable[[SchemaProblem], int]]]:
        """The places of a word in extension keys, and how surely a problem is of each: 0, 1 or 2."""
        text = self.texts[unit.path]
        root = composed(text)
        for scalar in _scalars(root, (), text) if root is not None else ():
            key = next((part for part in scalar.inside if _is_own(part)), "")
            if not key or (scalar.is_key and scalar.inside[-2:-1] != ("bounds",)):
                continue
            owner = ".".join((unit.id, *scalar.scope))
            line = text.count("\n", 0, scalar.start) + 1

            def fits(problem: SchemaProblem, key: str = key, owner: str = owner, line: int = line) -> int:
                if (unit.root.place.file, line) == (problem.place.file, problem.place.line):
                    return 2
                if not f"{problem.path}.".startswith(f"{owner}."):
                    return 0
                return 2 if f"`{key}`" in problem.text else 1 if f"`{word}`" in problem.text else 0

            for found in re.finditer(rf"\b{word}\b", scalar.written):
                start = scalar.start + found.start()
                yield Occurrence(unit.path, start, start + len(word)), fits

    def free(self, word: str) -> str:
        """A name that nothing has."""
        known = self.known()
        return next(each for n in range(len(known) + 1) if (each := f"{word}_{n}") not in known)

    def known(self) -> set[str]:
        return set(re.findall(r"\w+", " ".join(self.texts.values())))

    def check_overlays(self, word: str) -> None:
        for unit in self.units.values():
            overlay = overlay_beside(self.folder / unit.path)
            if overlay is not None and re.search(rf"\b{word}\b", overlay.read_text("utf-8")):
                raise Unsure(f"{overlay.name} names it too: rename it there by hand")

    # -- words ------------------------------------------------------------------------------------

    def of(self, file: str, offset: int) -> tuple[str, list[Occurrence]]:
        """The full name of what is named at a place, and all its places."""
        text = self.texts[file]
        around = (each for each in re.finditer(r"\w+", text) if each.start() <= offset <= each.end())
        word = next(around, None)
        if word is None:
            raise Unsure("there is no name here")
        words = [each for unit in self.units.values() for each in self.words(unit, word[0])]
        here = [each for each in words if (each.at.file, each.at.start) == (file, word.start())]
        names = {name for each in here for name in each.names}
        if not names:
            raise Unsure(f"`{word[0]}` is no type, enum, value or member here")
        if len(names) > 1:
            listed = ", ".join(sorted(names))
            raise Unsure(f"`{word[0]}` may be one of several here: {listed}")
        (full,) = names
        found = []
        for each in words:
            if full in each.names and len(each.names) > 1:
                place = self.place(each.at)
                raise Unsure(f"{place}: `{word[0]}` may be one of several: {', '.join(sorted(each.names))}")
            if each.unsure and full.startswith("member "):
                raise Unsure(f"{self.place(each.at)}: it cannot be told what `{word[0]}` is here")
            if full in each.names:
                found.append(each.at)
        if not any(each.defines for each in found):
            raise Unsure(f"`{word[0]}` is not defined in these files")
        found = self.in_own_keys(sorted(set(found)), word[0])
        return full, sorted(found, key=lambda each: (not each.defines, each))

    def place(self, at: Occurrence) -> str:
        line = self.texts[at.file].count("\n", 0, at.start) + 1
        return f"{at.file}:{line}"

    def words(self, unit: Unit, word: str) -> Iterator[_Word]:
        """Each place of a word in a file at which a name may stand."""
        text = self.texts[unit.path]
        if not re.search(rf"\b{word}\b", text):
            return
        root = composed(text)
        scalars = [] if root is None else [*_scalars(root, (), text)]
        for each in scalars:
            if re.search(rf"\b{word}\b", each.written):
                yield from self.named(unit, each, word)
        yield from self.members(unit, scalars, word, text)

    def named(self, unit: Unit, at: _Scalar, word: str) -> Iterator[_Word]:
        """Definitions, and the types, enums and values that a scalar names."""
        inside, scope = at.inside, "::".join((unit.id, *at.scope))

        def one(start: int, name: str, *, defines: bool = False) -> _Word:
            start += at.start
            where = Occurrence(unit.path, start, start + len(word), defines)
            return _Word(where, frozenset([name] if name else ()))

        plain = at.written.strip("'\"")
        if plain == word and (name := _defined(at, scope, word)):
            yield one(at.written.index(word), name, defines=True)
            return
        if at.path == ("meta", "id") or (not at.is_key and at.path[-1:] and at.path[-1] in _TEXTS):
            if at.path == ("meta", "id") and plain == word:
                yield one(at.written.index(word), f"type {unit.id}", defines=True)
            return
        if at.path[:1] == ("meta",) and at.path[1:2] != ("endian",):
            if at.path[1:2] == ("imports",) and not at.is_key and plain.rpartition("/")[2] == word:
                yield one(at.written.rindex(word), f"type {word}")
            return
        if at.is_key and inside[-2:-1] != ("cases",):
            return
        typed = not at.is_key and (inside[-1:] == ("type",) or inside[-2:-1] == ("cases",))
        first = True
        for found in _WORDS.finditer(at.written):
            if found[0][0] in "\"'" or found[0].startswith('f"'):
                if not (first and at.written[0] in "\"'"):
                    continue
                # the quotes of YAML
                shifted = replace(at, start=at.start + 1, written=at.written[1:-1])
                yield from self.named(unit, shifted, word)
                return
            parts = found[0].split("::")
            before = at.written[: found.start()].rstrip()
            table, kind = "", ""
            if (typed and first) or re.search(r"\b(as|sizeof|bitsizeof)<\Z", before):
                table, kind = "types", "type"
            elif not at.is_key and inside[-1:] == ("enum",):
                table, kind = "enums", "enum"
            elif len(parts) > 1:
                table, kind = "enums", "value"
            first = False
            if not table or word not in parts:
                continue
            place = found.start()
            path = parts[:-1] if kind == "value" else parts
            full = self.resolved(unit, "::".join(path), scope, table)
            for index, part in enumerate(parts):
                if part == word and full:
                    yield one(place, _part(full, kind, path, index, word))
                place += len(part) + 2

    def resolved(self, unit: Unit, name: str, scope: str, table: str) -> str:
        values = Values(self.units, Problems())
        values.unit = unit
        return values.resolve(name, scope, lambda each: getattr(each, table)) or ""

    # -- members ----------------------------------------------------------------------------------

    def members(self, unit: Unit, scalars: Sequence[_Scalar], word: str, text: str) -> Iterator[_Word]:
        """The places of members in expressions."""
        lines = [0]
        for line in text.split("\n"):
            lines.append(lines[-1] + len(line) + 1)
        groups: dict[int, list[list[frozenset[str]]]] = {}

        def seen(place: Place, expr: ex.Expr, scope: Scope) -> None:
            if self.shown.get(place.file) == unit.path and (uses := [*self.uses(expr, scope, word)]):
                groups.setdefault(lines[place.line - 1] + place.column - 1, []).append(uses)

        walk_expressions(self.model, self.kinds, seen)
        starts = {*groups}
        for start, group in groups.items():
            inner = [each for each in _at(scalars, start) if each.start == start or each.start not in starts]
            found = [(each, at) for each in inner for at in _tokens(each, word)]
            uses = [names for each in group for names in each]
            # the expressions of one scalar come in their order
            sure = len(uses) == len(found) and (len({*uses}) == 1 or len({at.start for at, _ in found}) == 1)
            for index, (_, at) in enumerate(found):
                where = Occurrence(unit.path, at, at + len(word))
                yield _Word(where, uses[index] if sure else frozenset(), not sure)
        for each in scalars:
            if each.inside == ("-webide-representation",) and not each.is_key:
                yield from self.shown_by(unit, each, word)

    def shown_by(self, unit: Unit, at: _Scalar, word: str) -> Iterator[_Word]:
        """Members in what the editor of Kaitai shows of a type: `{a.b:dec}`."""
        for found in _SHOWN.finditer(at.written):
            start = at.start + found.start(1)
            owner: Struct | None = self.kinds.struct("::".join((unit.id, *at.scope)))
            for part in found[1].split("."):
                if part == word:
                    names = frozenset[str]() if owner is None else self.member(owner, word)
                    yield _Word(Occurrence(unit.path, start, start + len(word)), names, owner is None)
                kind = None if owner is None else self.kinds.member(owner, part)
                owner = (
                    None
                    if kind is None or kind.name != "type" or not kind.full
                    else self.kinds.struct(kind.full)
                )
                start += len(part) + 1

    def uses(self, expr: ex.Expr, scope: Scope, word: str) -> Iterator[frozenset[str]]:
        """What the word names at each of its places in an expression, in their order."""
        match expr:
            case ex.Name(name) if name == word:
                yield frozenset() if name in scope.extra else self.member(scope.struct, name)
            case ex.Attr(of, name) | ex.Method(of, name):
                yield from self.uses(of, scope, word)
                if name == word:
                    owners = [] if isinstance(expr, ex.Method) else self.owners(of, scope)
                    yield frozenset(each for owner in owners for each in self.member(owner, name))
                for arg in expr.args if isinstance(expr, ex.Method) else ():
                    yield from self.uses(arg, scope, word)
            case _:
                for part in ex.parts(expr):
                    yield from self.uses(part, scope, word)

    def owners(self, of: ex.Expr, scope: Scope) -> list[Struct]:
        """The types that an object may be of."""
        try:
            kind = self.kinds.of(of, scope)
        except KindError:
            return []
        if kind.name != "type":
            return []
        return [self.kinds.struct(kind.full)] if kind.full else self.kinds.parents_of(of, scope)

    @staticmethod
    def member(struct: Struct, name: str) -> frozenset[str]:
        known = any(each.id == name for each in struct.members)
        return frozenset([f"member {struct.name}.{name}"] if known else ())


def _plain(model: Model) -> str:
    """What a model says, without the sums of its files."""
    return to_json(replace(model, schemas=tuple(replace(each, sha256="") for each in model.schemas)))


def _scalars(node: yaml.Node, path: tuple[str, ...], text: str) -> Iterator[_Scalar]:
    """The scalars of a text in their order, keys too."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, str(key.value))
            if isinstance(key, yaml.ScalarNode):
                yield _Scalar(inner, key.start_mark.index, _raw(key, text), is_key=True)
            yield from _scalars(value, inner, text)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _scalars(item, (*path, f"-{number}"), text)
    else:
        yield _Scalar(path, node.start_mark.index, _raw(node, text), is_key=False)


def _is_own(key: str) -> bool:
    """Whether a key of a path is an extension key, not the number of an item."""
    return key[:1] == "-" and not key[1:].isdigit() and key != "-webide-representation"


def _raw(node: yaml.Node, text: str) -> str:
    return text[node.start_mark.index : node.end_mark.index]


def _at(scalars: Sequence[_Scalar], start: int) -> list[_Scalar]:
    """The scalars of the value that begins at a place: one, or all those in a mapping or a list."""
    first = next((number for number, each in enumerate(scalars) if each.start == start), None)
    if first is None:
        # a list in brackets, or a mapping in braces
        first = next((number for number, each in enumerate(scalars) if each.start > start), len(scalars))
        if first == len(scalars):
            return []
    at = scalars[first]
    if at.start == start and (not at.is_key or at.path[-2:-1] == ("cases",)):
        return [at]
    owner = at.path[:-1]
    found = []
    for each in scalars[first:]:
        if each.path[: len(owner)] != owner:
            break
        if not each.is_key or each.path[-2:-1] == ("cases",):
            found.append(each)
    return found


def _tokens(at: _Scalar, word: str) -> list[int]:
    """Where a word stands in an expression as a name of a member."""
    raw, start = at.written, at.start
    if raw[:1] in ("'", '"'):
        raw, start = raw[1:-1], start + 1
    typed = not at.is_key and (at.path[-1:] == ("type",) or at.path[-2:-1] == ("cases",))
    found = []
    for number, each in enumerate(_WORDS.finditer(raw)):
        before = raw[: each.start()].rstrip()
        is_type = (typed and number == 0) or re.search(r"\b(as|sizeof|bitsizeof)<\Z", before)
        if each[0] == word and not is_type:
            found.append(start + each.start())
    return found


def _defined(at: _Scalar, scope: str, word: str) -> str:
    """The full name of what a scalar defines."""
    inside = at.inside
    match inside:
        case ("types", _) if at.is_key:
            return f"type {scope}::{word}"
        case ("enums", _) if at.is_key:
            return f"enum {scope}::{word}"
        case ("instances", _) if at.is_key:
            return f"member {scope}.{word}"
        case ("seq" | "params", _, "id") if not at.is_key:
            return f"member {scope}.{word}"
        case ("enums", name, _) | ("enums", name, _, "id") if not at.is_key:
            return f"value {scope}::{name}.{word}"
    return ""


def _part(full: str, kind: str, path: Sequence[str], index: int, word: str) -> str:
    """The full name of a part of a path, such as of `a` in `a::b`."""
    if index == len(path):
        return f"value {full}.{word}"
    names = full.split("::")
    end = len(names) - (len(path) - 1 - index)
    is_enum = kind in ("enum", "value") and index == len(path) - 1
    return f"{'enum' if is_enum else 'type'} {'::'.join(names[:end])}"
