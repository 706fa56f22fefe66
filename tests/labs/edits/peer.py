"""The same samples and edits with the classes of `ksc --read-write` in Python, beside kodec's.

    python -m tests.labs.edits.peer [--formats PATH_OR_URL] [--table FILE] [NAME...]

ksc's classes compute nothing. They get what a user would have to find out: the size of the file that kodec
wrote, `_parent` and `_root` of new objects, and a `_check` of every object.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kaitaistruct import KaitaiStream, ReadWriteKaitaiStruct

from kodec.generator.targets.python.names import camel
from kodec.runtime.errors import KodecError
from tests.foreign.run import URL, copy_closure, fetched, put_table
from tests.ksc import oracle
from tests.labs.edits.case import Case, NotInstalled
from tests.labs.edits.cases import CASES
from tests.labs.edits.run import accepted, modules

MARKS = "<!-- peer -->\n", "<!-- end of peer -->"
NEW: list[Any] = []
READS = "read and written back"


@dataclass
class Row:
    """What came of a format: by edit (and `READS`), the verdict on kodec's file and on ksc's."""

    name: str
    verdicts: dict[str, tuple[str, str]] = field(default_factory=dict)


class Peer:
    """ksc's classes of a schema that can be written."""

    def __init__(self, schemas: dict[str, Path], name: str, folder: Path) -> None:
        copy_closure(schemas, name, folder / "in")
        os.environ["KSC_READ_WRITE"] = "1"
        try:
            failures = oracle.compile_schemas(folder / "out", ("python",), folder / "in")
        finally:
            del os.environ["KSC_READ_WRITE"]
        if failures:
            raise ValueError(f"ksc refuses: {failures[0].error[:80]}")
        self.ident = str(oracle.load_yaml(schemas[name])["meta"]["id"])
        for each in (folder / "out" / "python").glob("*.py"):
            sys.modules.pop(each.stem, None)
        sys.path.insert(0, str(folder / "out" / "python"))
        try:
            self.module = importlib.import_module(self.ident)
        finally:
            sys.path.pop(0)
        self.kind = getattr(self.module, "".join(word.capitalize() for word in self.ident.split("_")))

    def read(self, data: bytes, arguments: dict[str, Any]) -> Any:
        found = self.kind(*arguments.values(), KaitaiStream(io.BytesIO(data)))
        found._read()
        for node in nodes(found):
            if hasattr(node, "_fetch_instances"):
                node._fetch_instances()
        return found

    def write(self, value: Any, size: int) -> bytes:
        for node in reversed([*nodes(value)]):
            node._check()
        out = KaitaiStream(io.BytesIO(bytearray(size)))
        value._write(out)
        return bytes(out.to_byte_array())

    @property
    def classes(self) -> SimpleNamespace:
        """The types by name, whose objects take their fields as kodec's do."""
        found = {}
        for kind in types(self.kind):

            def made(kind: type = kind, **fields: Any) -> Any:
                new = kind()
                NEW.append(new)
                for name, value in fields.items():
                    setattr(new, name, value)
                return new

            found.setdefault(kind.__name__, made)
        return SimpleNamespace(**found)


def types(kind: type) -> Iterator[type]:
    yield kind
    for each in vars(kind).values():
        if isinstance(each, type) and issubclass(each, ReadWriteKaitaiStruct):
            yield from types(each)


def nodes(value: Any, parent: Any = None, seen: set[int] | None = None) -> Iterator[Any]:
    """The objects in an object, the outer ones first; new ones get their parent."""
    seen = set() if seen is None else seen
    if isinstance(value, list):
        for each in value:
            yield from nodes(each, parent, seen)
    elif isinstance(value, ReadWriteKaitaiStruct) and id(value) not in seen:
        seen.add(id(value))
        if parent is not None and value in NEW:
            value._parent, value._root = parent, parent._root
        yield value
        for name, each in list(vars(value).items()):
            if name.lstrip("_") not in ("parent", "root", "io") and isinstance(
                each, (list, ReadWriteKaitaiStruct)
            ):
                yield from nodes(each, value, seen)


def examine(schemas: dict[str, Path], name: str, case: Case) -> Row:
    """Both on one format."""
    row = Row(name)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        file = folder / f"sample.{case.suffix}"
        case.make(file)
        data = file.read_bytes()
        module = modules(schemas, name, folder)
        kind = getattr(module, case.kind or camel(name.rpartition("/")[2]))
        peer: Peer | None = None
        try:
            if case.kind is not None:
                raise ValueError("an inner type")
            peer = Peer(schemas, name, folder / "ksc")
            theirs = (
                "same bytes" if peer.write(peer.read(data, case.arguments), len(data)) == data else "differs"
            )
        except Exception as error:  # whatever their classes raise
            theirs = f"{type(error).__name__}: {error}"[:160]
        try:
            ours = "same bytes" if case.read(kind, data).to_bytes() == data else "differs"
        except KodecError as error:
            ours = f"refused: {error}"
        row.verdicts[READS] = ours, theirs
        for edit, (change, expect) in case.edits.items():
            made, mine = b"", "refused"
            try:
                read = case.read(kind, data)
                made = (change(module, read) or read).to_bytes()
                edited = folder / f"edited.{case.suffix}"
                edited.write_bytes(made)
                mine = accepted(case, edited, expect)
            except KodecError as error:
                mine = f"refused: {error}"
            other = (
                "cannot be read"
                if peer is None
                else _edited(peer, case, data, change, len(made) or len(data))
            )
            if isinstance(other, bytes):
                edited = folder / f"edited.{case.suffix}"
                edited.write_bytes(other)
                verdict = "same as kodec's" if other == made else accepted(case, edited, expect)
                other = "rejected: nothing changed" if other == data else mine if other == made else verdict
            row.verdicts[edit] = mine, other
    return row


def _edited(peer: Peer, case: Case, data: bytes, change: Any, size: int) -> bytes | str:
    try:
        value = peer.read(data, case.arguments)
        value = change(peer.classes, value) or value
        return peer.write(value, size)
    except Exception as error:  # whatever their classes raise
        return f"{type(error).__name__}: {error}"[:160]


def table(rows: list[Row]) -> str:
    """The verdicts as a Markdown table, and their sum."""

    def counted(which: int, edits: bool) -> Counter[str]:
        return Counter(
            pair[which].partition(":")[0]
            for row in rows
            for edit, pair in row.verdicts.items()
            if (edit != READS) == edits
        )

    back = [counted(which, edits=False)["same bytes"] for which in (0, 1)]
    done = [counted(which, edits=True)["accepted"] for which in (0, 1)]
    total = counted(0, edits=True).total()
    lines = [
        f"{len(rows)} formats: kodec wrote {back[0]} back as the same bytes, ksc's classes {back[1]}. "
        f"Of {total} edits, {done[0]} of kodec's files were accepted and {done[1]} of ksc's.",
        "",
        "| format | edit | kodec | `ksc --read-write` |",
        "|---|---|---|---|",
    ]
    for row in rows:
        for edit, (ours, theirs) in row.verdicts.items():
            shown = [each.partition(":")[0].replace("|", "\\|") for each in (ours, theirs)]
            lines.append(f"| `{row.name}` | {edit} | {shown[0]} | {shown[1]} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--table", type=Path, help="the page whose table is rewritten")
    parser.add_argument("names", nargs="*", help="only these schemas, by their path without .ksy")
    given = parser.parse_args(arguments)
    schemas = oracle.schemas(fetched(given.formats))
    rows = []
    for name, case in sorted(CASES.items()):
        if given.names and name not in given.names:
            continue
        try:
            rows.append(examine(schemas, name, case))
        except (NotInstalled, OSError, ValueError, RuntimeError, KodecError) as error:
            print(f"{name}: not run: {error}"[:200], flush=True)
            continue
        except Exception as error:
            print(f"{name}: not run: {type(error).__name__}: {error}"[:200], flush=True)
            continue
        for edit, pair in rows[-1].verdicts.items():
            print(f"{name}: {edit}: {pair[0]} | {pair[1]}"[:300], flush=True)
    text = table(rows)
    print(text.partition("\n")[0])
    if given.table is not None:
        put_table(given.table, MARKS, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
