"""A testee of the readers that ksc makes in any language: puts what they give into the form of vectors.

python bridge.py TABLE COMMAND...

COMMAND is one of the `dump` programs next to this file, which is all that a language needs. It prints what
it is as a line, and then answers a line for each that it is given, `ROW VERSION BYTES` (the number of a row
of rows.txt, the version that the type is given or `-`, bytes in hexadecimal): `V` and the value, `R` and the
value where bytes are left over, or `E` and an error.

A value is JSON: null; whole numbers, for flags and members of enums too; `{"f": bits}` for a float, as
those of a double; bytes and text in hexadecimal; lists; and `{"ROW": [values]}` for an object, of what the
row names. A row has the name of a class, and names of fields with `n:`, `f:`, `b:` or `o:` in front, for
languages that do not tell a number, a float, a string and an object from each other.
"""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from uuid import UUID


class Bridge:
    """Asks a `dump` program, and reads its answers by the table that `ksc_testee.py` makes of schemas."""

    def __init__(self, table: dict[str, Any], source: IO[str], sink: IO[str]) -> None:
        self._table = table
        self._types = table["types"]
        self._rows = {name: number for number, name in enumerate(table["rows"])}
        self._source, self._sink = source, sink
        self.program = source.readline().strip()

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request of the testee protocol, without its number. Raises EOFError."""
        if asked["do"] == "hello":
            says = {"protocol": 1, "name": self._table["name"], "language": self._table["language"]}
            return says | {"version": self.program, "does": ["decode"], "types": self._table["asked"]}
        if "limit" in asked:
            return {"unsupported": "no decompression"}
        told = asked["version"] if self._types[asked["type"]]["told"] else "-"
        self._sink.write(f"{self._rows[asked['type']]} {told} {asked['bytes']}\n")
        self._sink.flush()
        line = self._source.readline()
        if not line:
            raise EOFError(f"the program ended at {asked}"[:2000])
        if line[0] == "E":
            return {"error": {"reason": line[1:].strip()}}
        if line[0] == "R" and asked.get("exact"):
            return {"error": {"code": "malformed"}}
        return {"value": self._plain(json.loads(line[1:]), {"type": asked["type"]})}

    def _object(self, found: dict[str, list[Any]]) -> tuple[str, dict[str, Any]]:
        """The type of an object, and its fields by their names."""
        ((row, values),) = found.items()
        name = self._table["rows"][int(row)]
        return name, dict(zip(self._types[name]["fields"], values, strict=True))

    def _plain(self, value: Any, shape: dict[str, Any]) -> Any:
        if value is None:
            return None
        if "list" in shape:
            return [self._plain(each, shape["list"]) for each in value]
        if "type" in shape:
            return self._plain(value, self._types[shape["type"]]["shape"])
        if "at" in shape:
            return self._plain(self._object(value)[1][shape["at"]], shape["of"])
        if "fields" in shape:
            return dict(self._fields(self._object(value)[1], shape))
        match shape["kind"]:
            case "any":
                if isinstance(value, dict):
                    return self._plain(value, {"type": self._object(value)[0]})
                return value
            case "number":
                return value if abs(value) < 1 << 53 else str(value)
            case "flag":
                return bool(value)
            case "float":
                (number,) = struct.unpack(">d", bytes.fromhex(value["f"]))
                return number if math.isfinite(number) else str(number)
            case "uuid":
                return str(UUID(hex=value))
            case "text":
                return _text(bytes.fromhex(value))
        return value

    def _fields(self, values: dict[str, Any], shape: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        defaults = shape["defaults"]
        yield from defaults.items()
        for name, each in shape["fields"].items():
            if "section" not in each:
                made = self._plain(values[name], each)
                yield name, defaults.get(name) if made is None and name not in shape["nullable"] else made
                continue
            unknown = []
            for found in self._object(values[name])[1][each["section"]] if values[name] else ():
                tag = self._object(found)[1]
                number = self._plain(tag[each["number"][0]], each["number"][1])
                known, body = each["known"].get(str(number)), tag[each["body"]]
                if known is None or isinstance(body, str):
                    unknown.append({"number": number, "data": self._plain(body, {"kind": "any"})})
                else:
                    yield known[0], self._plain(body, known[1])
            yield name, unknown


def _text(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"raw": data.hex()}


def main(table: str, *command: str) -> None:
    """Answer until the requests end."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        bridge = Bridge(json.loads(Path(table).read_text()), process.stdout, process.stdin)
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps({"id": request["id"], **bridge.answer(request)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
