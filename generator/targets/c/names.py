"""Names of schemas as names of C, which collide with nothing that the library or a generated file uses."""

from __future__ import annotations

from kodec.generator.plan.steps import Unit
from kodec.generator.reserved import Reserved, Taken
from kodec.generator.schema.model import Model
from kodec.generator.target import type_prefixes

__all__ = ["PREFIX", "Names", "local", "member"]

PREFIX = "kodec_"
"""In front of every name that a linker or another file sees."""
_FUNCTIONS = (
    *("", "_list", "_init", "_read", "_write", "_get", "_put", "_default", "_is_default", "_from"),
    *("_columns_read", "_columns_write"),
)
_OF_RUNTIME = """
    arena arena_alloc arena_free arena_init arena_reset arrow_abi bool_list buffer buffer_free bytes
    bytes_list code code_name columns columns_options compress crc32 crc32c decompress double_list empty
    error error_text float_list generated int16_list int32_list int64_list int8_list object object_list
    options runtime stream stream_bytes stream_list tag tags tags_list text uint16_list uint32_list
    uint64_list uint8_list uuid uuid_list
"""
_CONSTANTS = """
    BAD_CHECKSUM GENERATED_H H LIMIT_EXCEEDED MALFORMED NOT_ENCODABLE OK READING_H RUNTIME_H STREAM_H
    TRUNCATED TYPES_H UNSUPPORTED WITH_ZLIB WITH_ZSTD
"""
_OF_C = """
    alignas alignof asm assert atomic auto bool break case char complex const constexpr continue default
    do double else enum errno extern false float for goto i386 if imaginary inline int isnan linux long
    noreturn nullptr offsetof register restrict return short signbit signed sizeof static static_assert
    stderr stdin stdout struct switch thread_local true typedef typeof typeof_unqual union unix unsigned
    va_arg va_end va_start void volatile while
"""
_OF_CPP = """
    and and_eq bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield compl
    concept const_cast consteval constinit decltype delete dynamic_cast explicit export far friend
    interface mutable namespace near new noexcept not not_eq operator or or_eq private protected public
    reinterpret_cast requires small static_cast template this throw try typeid typename using virtual
    wchar_t xor xor_eq
"""
_OF_TEMPLATES = """
    abort after again arena at before bits code codec content count data end error exit fields found have
    hidden i index inner int16_t int32_t int64_t int8_t item items known left list made max_align_t
    memcmp memcpy memset n need nothing on options out p part r read reader room shown size size_t start
    stop stored strcmp strlen tags time to uint16_t uint32_t uint64_t uint8_t uintptr_t unused used v
    value w write writer wrong
"""
_MEMBERS = Reserved(_OF_C.split(), _OF_CPP.split())
_LOCALS = Reserved(_OF_C.split(), _OF_CPP.split(), _OF_TEMPLATES.split(), prefixes=("kd_", PREFIX, "bits"))


def member(name: str) -> str:
    """A field of a struct."""
    return _MEMBERS.free(name)


def local(name: str) -> str:
    """A local, or a parameter."""
    return _LOCALS.free(name)


class Names:
    """What units, enums and unions are called in one library."""

    def __init__(self, model: Model) -> None:
        self._taken = Taken(PREFIX + word for word in _OF_RUNTIME.split())
        self._types: dict[str, str] = {}
        self._enums: dict[str, str] = {}
        self._functions: dict[tuple[str, str, str], str] = {}
        self._constants = Taken(f"KODEC_{word}" for word in _CONSTANTS.split())
        for schema, head in type_prefixes(model):
            for called, parts in ((self._types, schema.structs), (self._enums, schema.enums)):
                for name in (each.name for each in parts):
                    called[name] = self.claim("_".join([head, *name.split("::")[1:]]))
        # those of streamed units have the type in front, and so may be called like another
        for struct in (each for schema in model.schemas if schema.streamed for each in schema.structs):
            own = self._types[struct.name].removeprefix(PREFIX)
            for instance in struct.instances:
                for way in ("get", "find"):
                    self._functions[way, struct.name, instance.id] = self.claim(f"{own}_{way}_{instance.id}")
        self._kinds = {
            each.name: self.constant("type", self._types[each.name].removeprefix(PREFIX))
            for schema in model.schemas
            if schema.streamed
            for each in schema.structs
        }

    def claim(self, name: str) -> str:
        """An unused name for a type; the names of its functions are unused too."""
        return self._taken.claim(PREFIX + name, _FUNCTIONS)

    def constant(self, *parts: str) -> str:
        """An unused name for a constant."""
        return self._constants.claim("_".join([PREFIX.rstrip("_"), *parts]).upper())

    def type(self, unit: Unit | str) -> str:
        """The type of a unit."""
        return self._types[unit if isinstance(unit, str) else unit.name]

    def enum(self, name: str) -> str:
        """The prefix of an enum's constants."""
        return self._enums[name]

    def kind(self, unit: str) -> str:
        """The constant that is the type of an object which is read from a stream."""
        return self._kinds[unit]

    def getter(self, unit: str, instance: str) -> str:
        """The function that returns an instance."""
        return self._functions["get", unit, instance]

    def finder(self, unit: str, instance: str) -> str:
        """The function by which readers have an instance."""
        return self._functions["find", unit, instance]
