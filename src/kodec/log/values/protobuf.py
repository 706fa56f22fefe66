"""Protobuf: compiles `.proto` texts, and decodes messages by them."""

from __future__ import annotations

import base64
import binascii
import importlib
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kodec.log.values.plain import MOST_NESTING
from kodec.log.values.schemas import BadSchema, Schema
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.varint import read_uvarint32

__all__ = [
    "ProtobufReader",
    "ProtobufSchema",
    "compile_schema",
    "is_map",
    "is_repeated",
    "map_key",
    "without_ref",
]

_MOST_FIELDS = 100_000
# Names of files in a registry or a folder; none can lead out of the folder that it is written to.
_PATH = re.compile(r"(?!.*(^|/)\.{1,2}(/|$))[\w.+-]+(/[\w.+-]+)*", re.ASCII)
_MAIN = "kodec/schema.proto"


def _library(name: str) -> Any:
    """A module. Raises MissingDependency if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        text = f"Protobuf needs `{missing.name}`: {install_command('values')}"
        raise MissingDependency(text, name=missing.name) from missing


class ProtobufSchema:
    """A `.proto` file with those that it imports, compiled."""

    def __init__(self, schema: Schema, pool: Any, file: Any) -> None:
        self.schema, self._pool, self._file = schema, pool, file

    def message(self, which: Sequence[int] | str | None) -> Any:
        """The descriptor of a message, by its path in the file or by its name; None: the first one.

        Raises BadSchema.
        """
        if isinstance(which, str):
            package = f"{self._file.package}." if self._file.package else ""
            for name in (which, package + which):
                try:
                    return self._pool.FindMessageTypeByName(name)
                except KeyError:
                    continue
            raise BadSchema(f"{self.schema}: it has no message {which}")
        descriptor: Any = None
        inside = list(self._file.message_types_by_name.values())
        for number in which or [0]:
            if number >= len(inside):
                raise BadSchema(f"{self.schema}: it has no message at {list(which or [0])}")
            descriptor = inside[number]
            inside = list(descriptor.nested_types)
        return descriptor

    def class_of(self, descriptor: Any) -> Any:
        """The class of a message."""
        return _library("google.protobuf.message_factory").GetMessageClass(descriptor)

    @property
    def pool(self) -> Any:
        """The descriptors of the file and of all that it imports."""
        return self._pool


def compile_schema(schema: Schema, references: Mapping[str, Schema]) -> ProtobufSchema:
    """Compile a `.proto` text, or read a FileDescriptorProto in base64, as registries store both.

    It can import the references and Google's own files. Raises BadSchema, MissingDependency.
    """
    descriptors = _library("google.protobuf.descriptor_pb2")
    pool = _library("google.protobuf.descriptor_pool").DescriptorPool()
    main = _serialized(schema.text, descriptors)
    try:
        if main is None:
            files = _compiled(schema, references, descriptors)
            name = _MAIN
        else:
            name = main.name
            files = _ordered(main, references, descriptors)
        for file in files:
            pool.Add(file)
        return ProtobufSchema(schema, pool, pool.FindFileByName(name))
    except (TypeError, KeyError) as error:
        raise BadSchema(f"{schema}: {error}") from None


class ProtobufReader:
    """Decodes one kind of message.

    A message is a dict by the names in the `.proto`: fields without presence always, others if they are
    set. Integers are int, enum values their names (or numbers, if they have none), bytes bytes; Google's
    own types (Timestamp, Struct, ...) are as in Protobuf's JSON, but wrappers of integers are int.

    Args:
        message: its path in the writer's schema, or its name.
        reader: the schema of the reader, which has a message with the same name.
    """

    def __init__(
        self,
        writer: ProtobufSchema,
        message: Sequence[int] | str | None,
        reader: ProtobufSchema | None = None,
    ) -> None:
        descriptor = writer.message(message)
        target = writer
        if reader is not None:
            target, descriptor = reader, reader.message(descriptor.full_name)
        self.descriptor = descriptor
        self._class = target.class_of(descriptor)
        self._pool = target.pool
        self._json = _library("google.protobuf.json_format")
        self._known: dict[str, list[_Field]] = {}

    def decode(self, payload: bytes) -> Any:
        """The value, which nests at most 100 deep. Raises the library's errors for invalid data."""
        return self.value(self.parse(payload))

    def parse(self, payload: bytes) -> Any:
        """The library's message. Raises as `decode`."""
        return self._class.FromString(payload)

    def value(self, message: Any) -> Any:
        """The value of one of the library's messages. Raises as `decode`."""
        descriptor = message.DESCRIPTOR
        name = descriptor.full_name
        if name.startswith("google.protobuf."):
            special = self._of_google(message, name.removeprefix("google.protobuf."))
            if special is not _OTHER:
                return special
        fields = self._known.get(name)
        if fields is None:
            fields = self._known[name] = [_Field(field, self.value) for field in descriptor.fields]
        present = {field.number: value for field, value in message.ListFields() if not field.is_extension}
        values = {}
        for field in fields:
            if field.number in present:
                values[field.name] = field.value(present[field.number])
            elif not field.has_presence:
                values[field.name] = field.empty()
        for field, value in message.ListFields():
            if field.is_extension:
                values[f"[{field.full_name}]"] = _Field(field, self.value).value(value)
        return values

    def _of_google(self, message: Any, name: str) -> Any:
        if name.endswith("Value") and [field.name for field in message.DESCRIPTOR.fields] == ["value"]:
            return message.value
        if name == "Any":
            try:
                return self._json.MessageToDict(
                    message, preserving_proto_field_name=True, descriptor_pool=self._pool
                )
            except (TypeError, KeyError):
                return {"@type": message.type_url, "value": message.value}
        if name in _GOOGLES:
            return self._json.MessageToDict(message)
        return _OTHER


_OTHER = object()
_GOOGLES = frozenset({"Duration", "FieldMask", "ListValue", "Struct", "Timestamp", "Value"})


class _Field:
    """The conversion of a field's value to Python."""

    def __init__(self, field: Any, message: Callable[[Any], Any]) -> None:
        self.name, self.number, self.has_presence = field.name, field.number, field.has_presence
        self._default = field.default_value
        self.is_map, self.is_list = is_map(field), is_repeated(field)
        if self.is_map:
            inner = _Field(field.message_type.fields_by_name["value"], message)
            self._one: Callable[[Any], Any] = inner._one
        elif field.message_type is not None:
            self._one = message
        elif field.enum_type is not None:
            names = {number: member.name for number, member in field.enum_type.values_by_number.items()}
            self._one = lambda number: names.get(number, number)
        elif field.type == field.TYPE_FLOAT:
            self._one = _shortest
        else:
            self._one = lambda value: value

    def value(self, value: Any) -> Any:
        if self.is_map:
            return {map_key(key): self._one(value[key]) for key in value}
        if self.is_list:
            return [self._one(item) for item in value]
        return self._one(value)

    def empty(self) -> Any:
        return {} if self.is_map else [] if self.is_list else self._one(self._default)


def is_repeated(field: Any) -> bool:
    """Whether a field is a list, or a map. Newer versions of the library have a property for it."""
    known = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if known is None else known)


def is_map(field: Any) -> bool:
    """Whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def map_key(key: Any) -> str:
    """A key of a map as text."""
    return str(key).lower() if isinstance(key, bool) else str(key)


def _shortest(value: float) -> float:
    """The double with the fewest digits that equals a float of 4 bytes."""
    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if struct.pack("<f", short) == struct.pack("<f", value):
            return short
    return value


def _serialized(text: str, descriptors: Any) -> Any:
    """A FileDescriptorProto from its base64; None for a `.proto` text."""
    try:
        data = base64.b64decode(text, validate=True)
        return descriptors.FileDescriptorProto.FromString(data)
    except (binascii.Error, ValueError):
        return None
    except Exception:
        # the library's DecodeError, which is no ValueError in all of its implementations
        return None


def _ordered(main: Any, references: Mapping[str, Schema], descriptors: Any) -> Iterable[Any]:
    """A file and those that it imports, each after what it imports itself. Raises BadSchema."""
    added: dict[str, Any] = {}

    def add(file: Any, inside: tuple[str, ...]) -> None:
        if len(inside) > MOST_NESTING or file.name in inside:
            raise BadSchema(f"{main.name}: its imports are nested deeper than {MOST_NESTING}, or in a circle")
        for name in file.dependency:
            if name not in added:
                add(imported(name), (*inside, file.name))
        added[file.name] = file

    def imported(name: str) -> Any:
        if name in references:
            stored = _serialized(references[name].text, descriptors)
            if stored is None:
                raise BadSchema(f"{main.name}: {name} is a text, while the file that imports it is compiled")
            stored.name = name
            return stored
        if not name.startswith("google/protobuf/") or not _PATH.fullmatch(name):
            raise BadSchema(f"{main.name}: it imports {name}, which is missing")
        try:
            module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
        except ImportError:
            raise BadSchema(f"{main.name}: it imports {name}, which is missing") from None
        file = descriptors.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        return file

    add(main, ())
    return added.values()


def _compiled(schema: Schema, references: Mapping[str, Schema], descriptors: Any) -> Iterable[Any]:
    """The files of a `.proto` text, compiled where nothing else can be imported. Raises BadSchema."""
    protoxy = _library("protoxy")
    texts = {
        _MAIN: _checked_text(schema),
        **{name: _checked_text(reference) for name, reference in references.items()},
    }
    with tempfile.TemporaryDirectory(prefix="kodec-") as folder:
        for name, text in texts.items():
            if not _PATH.fullmatch(name):
                raise BadSchema(f"{schema}: {name!r} is not a path of a .proto file")
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        try:
            if sum(map(len, texts.values())) <= _FEW_BYTES:
                data = protoxy.compile_bin(
                    [str(Path(folder, _MAIN))], includes=[folder], include_imports=True
                )
            else:
                data = _compiled_apart(folder)
        except Exception as error:
            # the compiler's own, which name the place
            lines = str(error).replace(f"{folder}/", "").strip().splitlines()
            raise BadSchema(f"{schema}: {lines[0] if lines else type(error).__name__}") from None
    return list(descriptors.FileDescriptorSet.FromString(data).file)


def _compiled_apart(folder: str) -> bytes:
    """The same by another process, which ends in time: the time for names that collide grows with a power of
    their number.

    Raises TimeoutError; ValueError with the compiler's error.
    """
    # isolated: `python -c` would import what is in the working directory, which may be another user's
    paths = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-I", "-c", _COMPILE, str(Path(folder, _MAIN)), folder, paths]
    try:
        process = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"compiling it takes more than {SECONDS} s") from None
    if process.returncode:
        raise ValueError(
            process.stderr.decode("utf-8", "replace") or f"the compiler ended with {process.returncode}"
        )
    return process.stdout


_FEW_BYTES, SECONDS = 4_096, 20
_COMPILE = """
import os, sys
sys.path[:] = sys.argv[3].split(os.pathsep)
import protoxy
try:
    found = protoxy.compile_bin([sys.argv[1]], includes=[sys.argv[2]], include_imports=True)
except Exception as error:
    sys.exit(str(error)[:1000])
sys.stdout.buffer.write(found)
"""


def _checked_text(schema: Schema) -> str:
    """The text without comments. What is read here in one pass takes the compiler time that grows with the
    square of its size, or it recurses past the end of the stack.

    Raises BadSchema for deep nesting, comments that do not end, and characters that no token has.
    """
    text, parts, depth, copied, position = schema.text, list[str](), 0, 0, 0
    while (matched := _TOKEN.search(text, position)) is not None:
        position = matched.end()
        match matched[0]:
            case "{" | "[" | "<" | "(":
                depth += 1
                if depth > MOST_NESTING:
                    raise BadSchema(f"{schema}: nested deeper than {MOST_NESTING}")
            case "}" | "]" | ">" | ")":
                depth -= 1
            case "//" | "/*" as begin:
                end = text.find("\n" if begin == "//" else "*/", position)
                if end < 0 and begin == "/*":
                    line = text.count("\n", 0, position) + 1
                    raise BadSchema(f"{schema}: line {line}: the comment does not end")
                position = len(text) if end < 0 else end + (0 if begin == "//" else 2)
                # the lines that errors name stay
                parts += [
                    text[copied : matched.start()],
                    " ",
                    "\n" * text.count("\n", matched.start(), position),
                ]
                copied = position
            case token if len(token) == 1:
                line = text.count("\n", 0, position) + 1
                raise BadSchema(f"{schema}: line {line}: {token!r} is no part of a .proto text")
    return "".join(parts) + text[copied:]


# A bracket, the begin of a comment, a whole string (in which neither counts), or a character of no token.
_TOKEN = re.compile(r"""[{}\[\]<>()]|//|/\*|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|[^\w\s.,;:=+/-]""")


def without_ref(payload: bytes) -> tuple[str, bytes]:
    """The message's type, and the data after it, as Apicurio's serializer writes them.

    They begin with a length and a message whose string field 1 is the type's name.
    Raises FormatError, ValueError.
    """
    size, position = read_uvarint32(payload, 0, len(payload), "ref")
    if size > len(payload) - position:
        raise ValueError(f"the name of the message's type: need {size} bytes, have {len(payload) - position}")
    wrapper = _library("google.protobuf.wrappers_pb2").StringValue
    # `Ref` has one string, as this message of Google's has
    return wrapper.FromString(payload[position : position + size]).value, payload[position + size :]
