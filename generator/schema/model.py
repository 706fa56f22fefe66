"""The frozen model of a set of schemas, the input of every pass and every target.

It contains the schemas, resolved and typed, and is neutral to target languages. It is also written as JSON
(`to_json`), as the input of tools in other languages.
"""

from __future__ import annotations

import dataclasses
import json
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kodec.generator.problems import Place, SchemaError, SchemaProblem
from kodec.generator.schema.expr import Attr, Binary, Expr, Literal, Name, text_of
from kodec.generator.schema.versions import VersionRange
from kodec.generator.text import NO_TEXT, Text

__all__ = [
    "ARROW_TYPE",
    "FORMS",
    "Align",
    "Bits",
    "Bound",
    "Bytes",
    "Codec",
    "Column",
    "Derive",
    "DeriveCall",
    "Endian",
    "Enum",
    "EnumItem",
    "Field",
    "Instance",
    "Message",
    "Model",
    "Param",
    "Prim",
    "Process",
    "Ref",
    "Role",
    "Schema",
    "Str",
    "Struct",
    "Switch",
    "Tag",
    "TypeRef",
    "Valid",
    "to_json",
]

MODEL_VERSION = 1
FORMS = 16
"""The most values that a field with the role `form` may have."""
_PLAIN = (
    r"(u?int(8|16|32|64)|float|double|bool|binary|string|utf8"
    r"|timestamp\[(s|ms|us|ns)(, ?[A-Za-z0-9/_+:-]+)?\])"
)
_PAIR = rf"[a-z]\w*: {_PLAIN}"
ARROW_TYPE = re.compile(rf"({_PLAIN}|list<({_PLAIN}|struct<{_PAIR}(, {_PAIR})*>)>)\Z", re.ASCII)
"""The Arrow types that a column can have."""


@dataclass(frozen=True, slots=True)
class Prim:
    """A fixed-width number: `u1` to `s8`, `f4`, `f8`; `width` in bytes.

    `endian` is `be` or `le`, or `by` if a `switch-on` of `meta/endian` determines it while bytes are read.
    """

    name: str
    width: int
    signed: bool
    floating: bool
    endian: str


@dataclass(frozen=True, slots=True)
class Bits:
    """`bN`: an unsigned number of `width` bits, most significant first, or last where `endian` is `le`."""

    width: int
    endian: str = "be"


@dataclass(frozen=True, slots=True)
class Bytes:
    """Raw bytes; the field states their size."""


@dataclass(frozen=True, slots=True)
class Str:
    """Text in `encoding`; the field states its size, or with `zero` a zero character ends it."""

    encoding: str
    zero: bool = False


@dataclass(frozen=True, slots=True)
class Ref:
    """A type of the schemas by its full name, `schema::type`, with arguments.

    `parent` is the `_parent` of its objects: None for the object that holds them, False for no parent.
    """

    target: str
    args: tuple[Expr, ...] = ()
    parent: Expr | bool | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """One of several types, chosen by the value of `on`; raw bytes if no case matches."""

    on: Expr
    cases: tuple[tuple[Expr, TypeRef], ...]
    default: TypeRef | None


TypeRef = Prim | Bits | Bytes | Str | Ref | Switch


@dataclass(frozen=True, slots=True)
class Valid:
    """The rules for a value: each that is not None must hold."""

    eq: Expr | None = None
    min: Expr | None = None
    max: Expr | None = None
    any_of: tuple[Expr, ...] | None = None
    expr: Expr | None = None
    in_enum: bool = False

    @property
    def rules(self) -> tuple[Expr, ...]:
        """Every expression of it."""
        given = (self.eq, self.min, self.max, self.expr, *(self.any_of or ()))
        return tuple(rule for rule in given if rule is not None)

    def listed(self, most: int) -> tuple[int, ...]:
        """The whole numbers that it allows, in ascending order; none if it does not say which, or if they are
        more than `most`.
        """
        named = (self.eq,) if self.eq is not None else self.any_of or ()
        values = [each.value for each in named if isinstance(each, Literal) and isinstance(each.value, int)]
        if named:
            found = sorted({int(each) for each in values}) if len(values) == len(named) else []
        else:
            low, high = (each.value if isinstance(each, Literal) else None for each in (self.min, self.max))
            found = []
            if isinstance(low, int) and isinstance(high, int) and high - low < most:
                found = list(range(low, high + 1))
        return tuple(found) if len(found) <= most else ()


@dataclass(frozen=True, slots=True)
class Process:
    """The transformation of stored bytes before they are parsed: `xor`, `zlib`, or a registered name."""

    name: str
    args: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Endian:
    """A byte order determined by bytes: `le` or `be` by the value of `on`; None in `cases` is the default."""

    on: Expr
    cases: tuple[tuple[Expr | None, str], ...]
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class DeriveCall:
    """`function` of the bytes from `first` to `last`, members of `of` (the type itself, if None); of a list
    with `where`, of the elements for which that holds.
    """

    function: str
    of: Expr | None
    first: str
    last: str
    where: Expr | None = None


@dataclass(frozen=True, slots=True)
class Derive:
    """How the writer computes a field, and the reader checks it.

    `kind` of `first` (to `last`, or its members' `member`), `plus` something; checked `verify`
    (`equal`, `at_least`, `no`) where `when` holds. `presence_of` gives 1, or what `-nullable` says is null.

    `kind` is `computed` where only streamed schemas can say it: it is `value` then, in which the names `_d0`,
    `_d1` are what `calls` give. Bytes of the field itself count as `own`; `unpack` is the format of
    bytes that are decompressed first. `into` is the instance of the field's object that has the value.
    `more` are derivations for other cases. It is `implied` by a size or a count where no key says it: objects
    have the field then.
    """

    kind: str
    first: str
    last: str | None = None
    member: str | None = None
    plus: Expr | None = None
    verify: str = "equal"
    when: Expr | None = None
    calls: tuple[DeriveCall, ...] = ()
    value: Expr | None = None
    own: int | None = None
    unpack: str | None = None
    into: str | None = None
    more: tuple[Derive, ...] = ()
    implied: bool = False

    @property
    def each(self) -> tuple[Derive, ...]:
        """This one, and those that hold where other conditions do."""
        return self, *self.more

    @property
    def parts(self) -> tuple[tuple[DeriveCall, ...], Expr | None]:
        """The calls and the value, also of what layouts can say; None of what streamed schemas cannot."""
        if self.kind in ("presence_of", "last", "max", "computed"):
            return self.calls, self.value
        name = Name("_d0")
        value = name if self.plus is None else Binary("+", name, self.plus)
        return (DeriveCall(self.kind, None, self.first, self.last or self.first),), value

    @property
    def is_checksum(self) -> bool:
        return self.kind in ("crc32", "crc32c")

    @property
    def is_range(self) -> bool:
        """Whether it covers the bytes from one field to another, which are known once they are written."""
        return self.is_checksum or (self.kind == "length_of" and self.last is not None)

    @property
    def is_length(self) -> bool:
        return self.kind in ("length_of", "count_of", "presence_of")


@dataclass(frozen=True, slots=True)
class Codec:
    """Bytes compressed with the codec in the enum field `by`; compressed content has the type `inner`.

    Where `when` holds, a codec name is first replaced by `replace`.
    """

    by: Expr
    inner: str
    replace: tuple[tuple[str, str], ...] = ()
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class Tag:
    """A typed optional field of a tagged section; `null_versions` are those in which it may be null."""

    number: int
    id: str
    type: TypeRef
    orig_id: Text = NO_TEXT
    doc: Text = NO_TEXT
    default: Expr | None = None
    ignorable: bool = False
    since: int | None = None
    until: int | None = None
    null_versions: VersionRange | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """The column of a field in a table: name, Arrow type, expression; or none."""

    name: str
    type: str | None = None
    value: Expr | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """What a container reports about a column of its rows: none is below `first` or above `last`."""

    column: str
    first: Expr | None = None
    last: Expr | None = None


@dataclass(frozen=True, slots=True)
class Field:
    id: str
    type: TypeRef
    place: Place = field(compare=False)
    orig_id: Text = NO_TEXT
    size: Expr | None = None
    size_eos: bool = False
    contents: bytes | None = None
    repeat: str | None = None
    repeat_expr: Expr | None = None
    repeat_until: Expr | None = None
    condition: Expr | None = None
    enum: str | None = None
    valid: Valid | None = None
    derive: Derive | None = None
    default: Expr | None = None
    nullable: Expr | None = None
    since: int | None = None
    until: int | None = None
    ignorable: bool = False
    codec: Codec | None = None
    tags: tuple[Tag, ...] = ()
    column: Column | None = None
    doc: Text = NO_TEXT
    doc_ref: tuple[Text, ...] = ()
    terminator: bytes | None = None
    consume: bool = True
    include: bool = False
    eos_error: bool = True
    pad_right: int | None = None
    process: Process | None = None
    null_versions: VersionRange | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_unread(self) -> bool:
        """Whether bytes replace a type with problems."""
        return isinstance(self.type, Bytes) and "type" in self.places

    def at(self, key: str) -> Place:
        """The place of the value of `key`, for messages; that of the field if it has no such key."""
        return self.places.get(key, self.place)

    def at_case(self, index: int) -> Place:
        """Where a case of the field's switch stands."""
        return self.places.get(f"cases/{index}", self.at("type"))


@dataclass(frozen=True, slots=True)
class Align:
    """Positions are multiples of `to` bytes; `fill` is the byte between what stands there."""

    to: int
    fill: int = 0


@dataclass(frozen=True, slots=True)
class Instance:
    """A computed value, a number peeked at `peek_at` bytes after the type's start, or a parse instance.

    A parse instance has a field `parsed`, read at `pos` (None: the current position) of the stream
    `io` (None: that of the type). A writer that chooses `pos` takes a multiple of `align.to`.
    """

    id: str
    place: Place = field(compare=False)
    value: Expr | None = None
    peek_at: int | None = None
    peek_type: Prim | None = None
    doc: Text = NO_TEXT
    parsed: Field | None = None
    pos: Expr | None = None
    io: Expr | None = None
    condition: Expr | None = None
    enum: str | None = None
    key_places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)
    align: Align | None = None

    @property
    def reads(self) -> Field | None:
        """What is read, if anything is, also for a peeked number."""
        if self.peek_type is None:
            return self.parsed
        return Field(self.id, self.peek_type, self.place)

    @property
    def position(self) -> Expr | None:
        """Its position, in bytes from the start of the stream."""
        if self.peek_at is None:
            return self.pos
        here = Attr(Name("_io"), "pos")
        return Binary("+", here, Literal(self.peek_at)) if self.peek_at else here

    def at(self, key: str) -> Place:
        """The place of the value of `key`, for messages; that of the instance if it has no such key."""
        return self.key_places.get(key, self.place)


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: `type` is a word of the language or the full name of a type; `array` of several."""

    id: str
    type: str
    doc: Text = NO_TEXT
    array: bool = False
    enum: str | None = None
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class EnumItem:
    value: int
    id: str
    doc: Text = NO_TEXT
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    items: tuple[EnumItem, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """The identity of a message in other parts of a format: its kind, and its number within that kind."""

    kind: Text
    number: int


@dataclass(frozen=True, slots=True)
class Role:
    """What a field means to programs. `path` is its name, after that of the field that holds it."""

    name: str
    path: tuple[str, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Struct:
    """A type. `name` is full (`schema::type`); `wire` names the primitive it stands for, if any.

    `tail` is `moves` where bytes that nothing describes, behind what the type has, stay there when it grows.
    `roles` are what its fields mean to programs.
    """

    name: str
    place: Place = field(compare=False)
    fields: tuple[Field, ...] = ()
    instances: tuple[Instance, ...] = ()
    params: tuple[Param, ...] = ()
    doc: Text = NO_TEXT
    doc_ref: tuple[Text, ...] = ()
    wire: str | None = None
    row: bool = False
    columns: tuple[str | Column, ...] = ()
    row_unless: Expr | None = None
    row_bounds: tuple[Bound, ...] = ()
    row_head: tuple[Column, ...] = ()
    versions: VersionRange | None = None
    version_field: str = "version"
    flexible: VersionRange | None = None
    topic: Text = NO_TEXT
    endian: Endian | None = None
    message: Message | None = None
    orig_id: Text = NO_TEXT
    tail: str | None = None
    roles: tuple[Role, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)

    def at(self, key: str) -> Place:
        """The place of `key`, for messages; that of the type if it has no such key."""
        return self.places.get(key, self.place)

    @property
    def id(self) -> str:
        return self.name.rpartition("::")[2]

    @property
    def members(self) -> tuple[Param | Field | Instance, ...]:
        """Everything in the type that has a name."""
        return (*self.params, *self.fields, *self.instances)

    def field(self, name: str) -> Field | None:
        return next((each for each in self.fields if each.id == name), None)

    def instance(self, name: str) -> Instance | None:
        return next((each for each in self.instances if each.id == name), None)

    def param(self, name: str) -> Param | None:
        return next((each for each in self.params if each.id == name), None)

    @property
    def form(self) -> Field | None:
        """The field of the role `form`, whose value decides which other fields there are."""
        path = next((each.path for each in self.roles if each.name == "form"), ())
        return self.field(path[0]) if len(path) == 1 else None


@dataclass(frozen=True, slots=True)
class Schema:
    """One .ksy file; `path` is relative to the schema folder, with forward slashes.

    A `streamed` schema uses what record layouts do not support: its objects know their stream and parents.
    """

    id: str
    path: str
    sha256: str
    title: Text = NO_TEXT
    application: Text = NO_TEXT
    license: Text = NO_TEXT
    imports: tuple[str, ...] = ()
    structs: tuple[Struct, ...] = ()
    enums: tuple[Enum, ...] = ()
    streamed: bool = False

    @property
    def root(self) -> Struct:
        return self.structs[0]

    @property
    def module(self) -> str:
        """The path without `.ksy`, of names that can be imported: `_3d/ply` of `3d/ply.ksy`."""
        return "/".join(map(_importable, self.path.removesuffix(".ksy").split("/")))


def _importable(part: str) -> str:
    """A folder's name as that of a package: `_` for other signs, before a digit, and after a keyword."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", part)
    return f"_{plain}" if plain[:1].isdigit() else f"{plain}_" if keyword.iskeyword(plain) else plain


@dataclass(frozen=True, slots=True)
class Model:
    schemas: tuple[Schema, ...]
    _schemas: dict[str, Schema] = field(init=False, repr=False, compare=False)
    _structs: dict[str, Struct] = field(init=False, repr=False, compare=False)
    _enums: dict[str, Enum] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # reversed: of two with the same name (a problem) the first counts
        found = tuple(reversed(self.schemas))
        object.__setattr__(self, "_schemas", {each.id: each for each in found})
        structs = {each.name: each for schema in found for each in reversed(schema.structs)}
        object.__setattr__(self, "_structs", structs)
        enums = {each.name: each for schema in found for each in reversed(schema.enums)}
        object.__setattr__(self, "_enums", enums)

    def schema(self, ident: str) -> Schema:
        return self._schemas[ident]

    def schema_at(self, path: str) -> Schema:
        """The schema of a file. Raises SchemaError for one that is written out where fields have its type."""
        for schema in self.schemas:
            if schema.path == path:
                return schema
        text = "its type stands for a number, and is written out where fields have it: it has no module"
        raise SchemaError([SchemaProblem(Place(path, 1, 1), "", text)])

    def schema_of(self, name: str) -> Schema:
        return self._schemas[name.partition("::")[0]]

    def struct(self, name: str) -> Struct:
        return self._structs[name]

    def enum(self, name: str) -> Enum:
        return self._enums[name]

    def enums_seen_from(self, ident: str) -> list[Enum]:
        """The enums of a schema and of those that it imports."""
        own = self._schemas[ident]
        imported = (self._schemas[each] for each in own.imports if each in self._schemas)
        return [each for schema in (own, *imported) for each in schema.enums]


def to_json(model: Model, mark: str = "") -> str:
    """The model as deterministic JSON: expressions as Kaitai text, defaults left out, keys sorted.

    `mark`, the mark of a generated file, comes first.
    """
    document: dict[str, Any] = {
        "model_version": MODEL_VERSION,
        "schemas": [_plain(schema) for schema in model.schemas],
    }
    document |= {"//": mark} if mark else {}
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Expr):
        return text_of(value)
    if isinstance(value, Text):
        return value.raw
    if isinstance(value, VersionRange):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Any] = {}
        if isinstance(value, (Prim, Bits, Bytes, Str, Ref, Switch)):
            found["kind"] = type(value).__name__.lower()
        for spec in dataclasses.fields(value):
            item = getattr(value, spec.name)
            if isinstance(item, (Place, Mapping)) or (
                spec.default is not dataclasses.MISSING and item == spec.default
            ):
                continue
            found[spec.name] = _plain(item)
        return found
    return value
