"""What ksc's Python readers make of bytes, in the words of bridge.py.

python dump.py TABLE READERS     READERS holds the package `readers`
"""

import importlib
import io
import struct
import sys
from enum import Enum
from pathlib import Path

import kaitaistruct

table, readers = sys.argv[1:]
sys.path.insert(0, readers)
rows = [line.split() for line in Path(table).read_text().splitlines()]
classes = []
for name, *_ in rows:
    head, *path = name.split(".")
    found = importlib.import_module(f"readers.{head}")
    for each in path:
        found = getattr(found, each)
    classes.append(found)
row_of = {kind: number for number, kind in enumerate(classes)}


def dump(value):
    if value is None:
        return "null"
    if isinstance(value, (bool, Enum)):
        value = int(value.value if isinstance(value, Enum) else value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f'{{"f":"{struct.pack(">d", value).hex()}"}}'
    if isinstance(value, (bytes, str)):
        return f'"{(value.encode() if isinstance(value, str) else value).hex()}"'
    if isinstance(value, list):
        return f"[{','.join(map(dump, value))}]"
    number = row_of[type(value)]
    found = (dump(getattr(value, each[2:], None)) for each in rows[number][1:])
    return f'{{"{number}":[{",".join(found)}]}}'


print(f"kaitaistruct {kaitaistruct.__version__}, Python {sys.version.split()[0]}", flush=True)
for line in sys.stdin:
    number, version, data = line.rstrip("\n").split(" ")
    told = [] if version == "-" else [int(version)]
    try:
        stream = kaitaistruct.KaitaiStream(io.BytesIO(bytes.fromhex(data)))
        value = dump(classes[int(number)](*told, stream))
        print("V" if stream.is_eof() else "R", value, sep="", flush=True)
    except Exception as error:
        print("E", type(error).__name__, sep="", flush=True)
