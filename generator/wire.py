"""The table of wire types: the form of a number, a varint or a UUID on the wire, and in each language.

Another wire type needs a row here, a reader and a writer in the runtime, and a macro in each target.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from encodings.aliases import aliases

__all__ = [
    "CHECKSUMS",
    "ELSEWHERE",
    "ENCODINGS",
    "INTRINSICS",
    "SUMS",
    "VARINTS",
    "WIRE",
    "CForm",
    "Encoding",
    "PythonForm",
    "WireType",
    "encoding_named",
]

CHECKSUMS: Mapping[str, int] = {
    "crc32": 32,
    "crc32c": 32,
    "crc32_mpeg2": 32,
    "crc32_bzip2": 32,
    "crc32_ogg": 32,
    "crc16_arc": 16,
    "crc16_ccitt": 16,
    "crc16_xmodem": 16,
    "internet_checksum": 16,
    "adler32": 32,
    "sum": 64,
    "sum16le": 64,
    "sum16be": 64,
    "sum32le": 64,
    "sum32be": 64,
    "xor": 8,
    "md5": 0,
    "sha1": 0,
    "sha256": 0,
    "sha512": 0,
}
"""The checksums of `-derive` in streamed schemas: the bits of each, or 0 where it is bytes."""
SUMS: Mapping[str, tuple[int, str]] = {
    "sum": (1, ""),
    "sum16le": (2, "le"),
    "sum16be": (2, "be"),
    "sum32le": (4, "le"),
    "sum32be": (4, "be"),
}
"""Those that add numbers: the bytes of each, and their order."""


@dataclass(frozen=True, slots=True)
class PythonForm:
    """A wire type in Python.

    `code` is the format of `struct` for a number of fixed width; `read` and `write` are functions of the
    runtime for types that are read one by one.
    """

    type: str
    code: str = ""
    read: str = ""
    write: str = ""


@dataclass(frozen=True, slots=True)
class CForm:
    """A wire type in a kernel: the kind of a struct's member, and the type that a written value must fit."""

    kind: str
    fits: str | None = None


@dataclass(frozen=True, slots=True)
class WireType:
    """One row of the table.

    Attributes:
        name: its name in schemas: a Kaitai number without its byte order, or a `-wire` name.
        kind: of its values in expressions: integer, float, boolean or UUID.
        least, most: size of a value in bytes; equal if the width is fixed.
        range: the least and the largest value of an integer.
        python, arrow, document: its type in Python, in a table, and its name on a page.
        c: its type in a kernel; None if kernels do not support it.
        zigzag: whether its sign is in the lowest bit.
        intrinsic: whether it is a type of the schemas with `-wire`, rather than a type of Kaitai.
    """

    name: str
    kind: str
    least: int
    most: int
    range: tuple[int, int] | None
    python: PythonForm
    c: CForm | None
    arrow: str
    document: str
    zigzag: bool = False
    intrinsic: bool = False

    @property
    def size(self) -> int | None:
        """Its size in bytes, if that is fixed."""
        return self.least if self.least == self.most else None

    @property
    def signed(self) -> bool:
        return self.range is not None and self.range[0] < 0

    @property
    def bits(self) -> int:
        """The width of its values in bits."""
        return 8 * self.most if self.range is None else (self.range[1] - self.range[0]).bit_length()


def _whole(name: str, code: str, c: str = "int") -> WireType:
    size, signed = int(name[1]), name[0] == "s"
    bits = 8 * size
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    arrow = f"{'' if signed else 'u'}int{bits}"
    fits = None if size == 8 else f"{arrow}_t"
    python = PythonForm("int", code)
    return WireType(name, "integer", size, size, (low, high), python, CForm(c, fits), arrow, arrow)


def _floating(name: str, code: str, c: str) -> WireType:
    size = int(name[1])
    python = PythonForm("float", code)
    return WireType(name, "float", size, size, None, python, CForm(c), c, f"float{8 * size}")


def _varint(name: str, bits: int, zigzag: bool, document: str) -> WireType:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if zigzag else (0, (1 << bits) - 1)
    arrow = f"{'' if zigzag else 'u'}int{bits}"
    python = PythonForm("int", read=f"read_{name}", write=f"write_{name}")
    c = CForm("int", None if bits == 64 else f"{arrow}_t")
    return WireType(
        name, "integer", 1, -(-bits // 7), (low, high), python, c, arrow, document, zigzag, intrinsic=True
    )


_UUID = PythonForm("UUID", read="read_uuid")
_BOOL = PythonForm("bool", "?")
_ROWS = (
    _whole("u1", "B"),
    _whole("s1", "b"),
    _whole("u2", "H"),
    _whole("s2", "h"),
    _whole("u4", "I"),
    _whole("s4", "i"),
    _whole("u8", "Q", "uint"),
    _whole("s8", "q"),
    _floating("f4", "f", "float"),
    _floating("f8", "d", "double"),
    _varint("zigzag32", 32, True, "varint, zigzag, 32 bits"),
    _varint("zigzag64", 64, True, "varint, zigzag, 64 bits"),
    _varint("uvarint32", 32, False, "varint, unsigned, 32 bits"),
    WireType("uuid", "UUID", 16, 16, None, _UUID, None, "binary", "UUID", intrinsic=True),
    WireType("bool8", "boolean", 1, 1, None, _BOOL, None, "bool", "bool", intrinsic=True),
)
WIRE: Mapping[str, WireType] = {row.name: row for row in _ROWS}
"""Every wire type by its name."""
INTRINSICS = tuple(row.name for row in _ROWS if row.intrinsic)
"""The `-wire` types built into the generator: their bodies in schemas are for stock Kaitai."""
VARINTS = tuple(row.name for row in _ROWS if row.intrinsic and row.kind == "integer")
"""Those of them that are whole numbers of variable length."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How text is stored.

    `errors` is Python's handler for bytes that are not text; `strict` refuses them. `arrow` is the type of a
    column of such text in a kernel, which does not convert. `unit` is the width of the narrowest character,
    in bytes. `form` is `unicode` where bytes are code points by a rule, `table` where each character is one
    byte, and `sequences` where some are several bytes by a table.
    """

    name: str
    python: str
    errors: str
    arrow: str
    unit: int = 1
    form: str = "table"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


ENCODINGS: Mapping[str, Encoding] = {
    row.name: row
    for row in (
        Encoding("UTF-8", "utf-8", "surrogateescape", "string", form="unicode"),
        Encoding("ASCII", "ascii", "surrogateescape", "string", form="unicode"),
        Encoding("ISO-8859-1", "latin-1", "strict", "binary", form="unicode"),
        Encoding("UTF-16LE", "utf-16-le", "strict", "binary", 2, form="unicode"),
        Encoding("UTF-16BE", "utf-16-be", "strict", "binary", 2, form="unicode"),
        Encoding("UTF-16", "utf-16", "strict", "binary", 2, form="unicode"),
        Encoding("UTF-32LE", "utf-32-le", "strict", "binary", 4, form="unicode"),
        Encoding("UTF-32BE", "utf-32-be", "strict", "binary", 4, form="unicode"),
        Encoding("SHIFT_JIS", "shift_jis", "strict", "binary", form="sequences"),
        Encoding("EUC-JP", "euc-jp", "strict", "binary", form="sequences"),
        Encoding("EUC-KR", "euc-kr", "strict", "binary", form="sequences"),
        Encoding("GB2312", "gb2312", "strict", "binary", form="sequences"),
        Encoding("BIG5", "big5", "strict", "binary", form="sequences"),
        Encoding("IBM437", "cp437", "strict", "binary"),
        Encoding("KOI8-R", "koi8-r", "strict", "binary"),
        Encoding("IBM866", "cp866", "strict", "binary"),
        *(Encoding(f"WINDOWS-{n}", f"cp{n}", "strict", "binary") for n in range(1250, 1259)),
        *(
            Encoding(f"ISO-8859-{n}", f"iso-8859-{n}", "strict", "binary")
            for n in (*range(2, 12), 13, 14, 15, 16)
        ),
    )
}
"""Every encoding of text by its name in schemas.

`UTF-16` is in the order of its mark, which is no part of the text, and little-endian without one, as in ksc's
Python. It is written without a mark.
"""
_NAMES = {_plain(each.python): each.name for each in ENCODINGS.values()}
_NAMES |= {alias: _NAMES[codec] for alias, codec in aliases.items() if codec in _NAMES}
_NAMES |= {_plain(name): name for name in ENCODINGS} | {"sjis": "SHIFT_JIS"}


def encoding_named(name: str) -> str | None:
    """The name in `ENCODINGS` of an encoding; None if it is not supported.

    `name` may be any that Python's registry has for it: IANA's and some more, in any case, with any signs
    between the words.
    """
    return _NAMES.get(_plain(name))


ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("byte", "ubyte", "uchar", "char"), "u1"),
    **dict.fromkeys(("sbyte", "schar"), "s1"),
    **dict.fromkeys(("float", "single"), "f4"),
    "short": "s2",
    "int": "s4",
    "long": "s8",
    "ushort": "u2",
    "uint": "u4",
    "ulong": "u8",
    "double": "f8",
}
"""What numbers are called in other languages, in lower case."""
