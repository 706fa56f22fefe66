"""A language server for schemas: the Language Server Protocol 3.17 over standard input and output.

Diagnostics are the generator's own problems and notes. Completion and hover follow the JSON schema of the
language (`dialect.py`) and the names in the text (`outline.py`), which need not be valid. References and new
names follow the generator's model (`occurrences.py`), and need schemas without problems.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from kodec.formats.outline import Entry, Outline, at_path
from kodec.generator.driver import load
from kodec.generator.occurrences import Occurrence, Unsure, occurrences, renamed
from kodec.generator.problems import SchemaError, SchemaProblem
from kodec.generator.schema.files import imported
from kodec.runtime.foreign_json import read_json
from kodec.runtime.logger import logger

__all__ = ["LanguageServer"]

_MOST_BYTES = 16 << 20
# A message has few values; a file is one of them.
_MOST_VALUES = 100_000
_ERROR, _INFORMATION = 1, 3
_NAME_KINDS = {"types": 7, "enums": 13, "keys": 10, "words": 12, "values": 20}
_TOKEN = re.compile(r"[^\s,{}\[\]]+|.")
_NO_METHOD, _FAILED, _REFUSED = -32601, -32603, -32803
_MOST_FILES = 5000


class LanguageServer:
    """Answers requests until `exit`.

    Args:
        source: where messages of the editor come from.
        target: where answers go.
    """

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self.source, self.target = source, target
        self.texts: dict[str, str] = {}
        self.ended = False
        self.folders: list[Path] = []
        self.methods: dict[str, Callable[[dict[str, Any]], Any]] = {
            "initialize": self.initialize,
            "shutdown": self.shutdown,
            "textDocument/didOpen": self.opened,
            "textDocument/didChange": self.changed,
            "textDocument/didSave": lambda params: self.publish(params["textDocument"]["uri"]),
            "textDocument/didClose": self.closed,
            "textDocument/completion": self.completion,
            "textDocument/hover": self.hover,
            "textDocument/definition": self.definition,
            "textDocument/references": self.references,
            "textDocument/prepareRename": self.prepare_rename,
            "textDocument/rename": self.rename,
        }

    # -- messages ---------------------------------------------------------------------------------

    def run(self) -> int:
        """Answer messages; the exit code is 0 after `shutdown`, else 1."""
        while (message := self.receive()) is not None:
            method = message.get("method", "")
            if not isinstance(method, str):
                raise ValueError(f"the method {method!r:.100} is no text")
            if method == "exit":
                return 0 if self.ended else 1
            call = self.methods.get(method)
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
            try:
                if call is not None:
                    answer["result"] = call(message.get("params") or {})
                else:
                    answer["error"] = {"code": _NO_METHOD, "message": f"no method {method}"}
            except (Unsure, SchemaError) as error:
                first = f"{error.problems[0]}".partition("\n")[0] if isinstance(error, SchemaError) else error
                answer["error"] = {"code": _REFUSED, "message": str(first)}
            except Exception as error:  # an editor goes on
                logger("kodec.formats").warning("%s: %s: %s", method, type(error).__name__, error)
                answer["error"] = {"code": _FAILED, "message": f"{type(error).__name__}: {error}"}
            if "id" in message and method:
                self.send(answer)
        return 0 if self.ended else 1

    def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the input. Raises ValueError for what is not a message."""
        size = None
        while line := self.source.readline(1 << 12):
            name, _, value = line.decode("latin-1").partition(":")
            if not line.strip():
                break
            if name.strip().lower() == "content-length":
                size = int(value)
        else:
            return None
        if size is None or not 0 <= size <= _MOST_BYTES:
            raise ValueError(f"Content-Length: a size up to {_MOST_BYTES:,}, not {size}")
        data = self.source.read(size)
        found = read_json(data, most_values=_MOST_VALUES)
        if not isinstance(found, dict):
            raise ValueError(f"a message is an object, not {found!r:.100}")
        return found

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        self.target.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.target.flush()

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        folders = [each["uri"] for each in params.get("workspaceFolders") or ()] or [params.get("rootUri")]
        self.folders = [_path(each) for each in folders if each]
        return {
            "capabilities": {
                "textDocumentSync": {"openClose": True, "change": 1, "save": True},
                "completionProvider": {"triggerCharacters": [":", " "]},
                "hoverProvider": True,
                "definitionProvider": True,
                "referencesProvider": True,
                "renameProvider": {"prepareProvider": True},
            },
            "serverInfo": {"name": "kodec"},
        }

    def shutdown(self, params: dict[str, Any]) -> None:
        self.ended = True

    # -- texts ------------------------------------------------------------------------------------

    def opened(self, params: dict[str, Any]) -> None:
        self.texts[params["textDocument"]["uri"]] = params["textDocument"]["text"]
        self.publish(params["textDocument"]["uri"])

    def changed(self, params: dict[str, Any]) -> None:
        self.texts[params["textDocument"]["uri"]] = params["contentChanges"][-1]["text"]
        self.publish(params["textDocument"]["uri"])

    def closed(self, params: dict[str, Any]) -> None:
        uri = params["textDocument"]["uri"]
        self.texts.pop(uri, None)
        self.notify(uri, [])

    def notify(self, uri: str, found: list[dict[str, Any]]) -> None:
        params = {"uri": uri, "diagnostics": found}
        self.send({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params})

    def publish(self, uri: str) -> None:
        """Send the problems of a text. An editor may send all YAML, of which only schemas are read."""
        if uri in self.texts and uri.endswith(".ksy"):
            lines = self.texts[uri].split("\n")
            name, problems = problems_of(_path(uri), self.texts[uri])
            self.notify(uri, [_diagnostic(each, name, lines) for each in problems])

    def place(self, params: dict[str, Any]) -> tuple[Outline, int, int]:
        """The outline of a text, and the line and column that a request is about."""
        outline = Outline(self.texts[params["textDocument"]["uri"]])
        line = min(params["position"]["line"], len(outline.lines) - 1)
        units = outline.lines[line].encode("utf-16-le", "surrogatepass")
        before = units[: 2 * params["position"]["character"]]
        return outline, line, len(before.decode("utf-16-le", "surrogatepass"))

    # -- completion -------------------------------------------------------------------------------

    def completion(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        if not params["textDocument"]["uri"].endswith(".ksy"):
            return []
        outline, line, column = self.place(params)
        path = outline.path_at(line, column)
        if outline.is_value(line, column) and path:
            return [*self.values(outline, path, params["textDocument"]["uri"])]
        found = {}
        for shape in at_path(path):
            for key, inner in shape.get("properties", {}).items():
                found[key] = _item(key, "keys", inner.get("description", ""), f"{key}: ")
        return list(found.values())

    def values(self, outline: Outline, path: tuple[str, ...], uri: str) -> Iterator[dict[str, Any]]:
        """What the value of a key may be: words of the language, and names of the text."""
        if path[-1] == "type" or path[-2:-1] == ("cases",):
            for names, each in outline.types():
                yield _item(names[-1], "types", outline.below(each, "doc"))
            for name in self.imports(outline):
                yield _item(name.rpartition("/")[2], "types", f"imported: {name}")
        if path[-1] == "enum":
            for name, each in outline.enums():
                yield _item(name, "enums", outline.below(each, "doc"))
        if path[-1] in ("if", "value", "repeat-until", "size", "repeat-expr", "pos", "switch-on"):
            for name, each in outline.enums():
                values = [inner for inner in outline.entries if inner.path[:-1] == each.path]
                yield from (_item(f"{name}::{inner.value or 'x'}", "values", "") for inner in values)
            for name, _, each in outline.members():
                yield _item(name, "words", outline.below(Entry(0, 0, each.path[:-1], ""), "doc"))
        words = {word for shape in at_path(path) for word in shape.get("enum", ())}
        yield from (
            _item(word if isinstance(word, str) else str(word).lower(), "words", "")
            for word in sorted(words, key=str)
        )

    def imports(self, outline: Outline) -> Iterator[str]:
        start = next((each.line for each in outline.entries if each.path == ("meta", "imports")), None)
        if start is None:
            return
        inline = re.findall(r"[\w/.-]+", outline.lines[start].partition(":")[2])
        yield from inline
        for line in outline.lines[start + 1 :]:
            found = re.match(r" *- +['\"]?([\w/.-]+)", line)
            if found is None:
                return
            yield found[1]

    def outside(self, outline: Outline) -> Iterator[str]:
        """The words that may be types of other schemas, with `ks-opaque-types`."""
        if any("ks-opaque-types: true" in line for line in outline.lines):
            yield from dict.fromkeys(re.findall(r"\b[a-z][a-z0-9_]*", "\n".join(outline.lines)))

    # -- hover and definition ---------------------------------------------------------------------

    def hover(self, params: dict[str, Any]) -> dict[str, Any] | None:
        if not params["textDocument"]["uri"].endswith(".ksy"):
            return None
        outline, line, column = self.place(params)
        key = outline.key_at(line, column)
        if key is not None:
            shapes = [each for each in at_path(key.path) if each.get("description")]
            text = shapes[0]["description"] if shapes else ""
        else:
            found = self.found(outline, line, column, params["textDocument"]["uri"])
            text = "" if found is None else _said(*found)
        return {"contents": {"kind": "plaintext", "value": text}} if text else None

    def definition(self, params: dict[str, Any]) -> dict[str, Any] | None:
        outline, line, column = self.place(params)
        key = outline.key_at(line, column)
        if key is not None and key.path[-2:-1] not in (("types",), ("enums",), ("instances",), ("cases",)):
            return None
        found = self.found(outline, line, column, params["textDocument"]["uri"])
        if found is None:
            return None
        uri, other, entry = found
        text = other.lines[entry.line]
        start, end = _units(text, entry.column), _units(text, len(text))
        place = {
            "start": {"line": entry.line, "character": start},
            "end": {"line": entry.line, "character": end},
        }
        return {"uri": uri, "range": place}

    def found(self, outline: Outline, line: int, column: int, uri: str) -> tuple[str, Outline, Entry] | None:
        """Where the name at a place is defined: a type, an enum or one of its values, a member."""
        parts = tuple(outline.word_at(line, column).split("::"))
        if not parts[0]:
            return None
        scope = self.scope(outline, line)
        types = [(names, each) for names, each in outline.types() if names[-len(parts) :] == parts]
        if types and outline.path_at(line, column)[-1:] != ("id",):
            near = max(types, key=lambda each: _shared(each[0][:-1], scope))
            return uri, outline, near[1]
        for name, each in outline.enums():
            if name == parts[-1] or parts[-2:-1] == (name,):
                inner = [
                    one for one in outline.entries if one.path[:-1] == each.path and one.value == parts[-1]
                ]
                return uri, outline, inner[0] if inner else each
        members = [(inside, each) for name, inside, each in outline.members() if name == parts[-1]]
        if members:
            return uri, outline, max(members, key=lambda each: _shared(each[0], scope))[1]
        for path in (*self.imports(outline), *self.outside(outline)):
            if path.rpartition("/")[2] == parts[0]:
                return self.in_file(uri, path, parts[1:])
        return None

    def in_file(self, uri: str, path: str, parts: tuple[str, ...]) -> tuple[str, Outline, Entry] | None:
        """A type of an imported schema, or the schema itself."""
        here = _path(uri)
        for folder in here.parents:
            place = folder / imported(here.relative_to(folder).as_posix(), path)
            if place.is_file():
                other = Outline(self.texts.get(place.as_uri()) or place.read_text("utf-8", "replace"))
                inner = (
                    [each for names, each in other.types() if names[-len(parts) :] == parts] if parts else []
                )
                return place.as_uri(), other, inner[0] if inner else Entry(0, 0, (), "")
        return None

    # -- references and new names -----------------------------------------------------------------

    def references(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        texts, root, name, offset = self.around(params)
        found = occurrences(texts, root, name, offset)
        declared = params.get("context", {}).get("includeDeclaration", True)
        return [
            {"uri": (root / each.file).as_uri(), "range": self.range_of(root, each)}
            for each in found
            if declared or not each.defines
        ]

    def prepare_rename(self, params: dict[str, Any]) -> dict[str, Any]:
        texts, root, name, offset = self.around(params)
        here = next(
            each
            for each in occurrences(texts, root, name, offset)
            if each.file == name and each.start <= offset <= each.end
        )
        return {"range": self.range_of(root, here), "placeholder": texts[name][here.start : here.end]}

    def rename(self, params: dict[str, Any]) -> dict[str, Any]:
        texts, root, name, offset = self.around(params)
        changes: dict[str, list[dict[str, Any]]] = {}
        for each in renamed(texts, root, name, offset, params["newName"]):
            edit = {"range": self.range_of(root, each), "newText": params["newName"]}
            changes.setdefault((root / each.file).as_uri(), []).append(edit)
        return {"changes": changes}

    def range_of(self, root: Path, at: Occurrence) -> dict[str, Any]:
        before, text = self.text_of(root / at.file)[: at.start], self.text_of(root / at.file)
        line, start = before.count("\n"), before.rfind("\n") + 1
        first = _units(text[start:], at.start - start)
        last = _units(text[start:], at.end - start)
        return {"start": {"line": line, "character": first}, "end": {"line": line, "character": last}}

    def text_of(self, path: Path) -> str:
        """A file as the editor has it, or as it is stored."""
        known = self.texts.get(path.as_uri())
        try:
            return path.read_text("utf-8", "replace") if known is None else known
        except OSError as error:
            raise Unsure(f"{path}: {error.strerror}, and it may use the name") from None

    def around(self, params: dict[str, Any]) -> tuple[dict[str, str], Path, str, int]:
        """The files that may have a name, the folder of their imports, and the file and place of a request.

        These are all that import the file in which the name is defined, and what is open in the editor.
        """
        uri = params["textDocument"]["uri"]
        outline, line, column = self.place(params)
        offset = sum(len(each) + 1 for each in outline.lines[:line]) + column
        root = self.root_of(_path(uri), self.texts[uri])
        name = _path(uri).relative_to(root).as_posix()
        texts = self.with_imports({name}, root)
        defined = next(each for each in occurrences(texts, root, name, offset) if each.defines)
        return self.with_imports({name, *self.importers(defined.file, root)}, root), root, name, offset

    def root_of(self, path: Path, text: str) -> Path:
        """The folder of all schemas: that of the editor, or the nearest from which all imports are found."""
        own = [folder for folder in reversed(path.parents) if any(map(folder.is_relative_to, self.folders))]
        for folder in own or path.parents:
            name = path.relative_to(folder).as_posix()
            needs = [imported(name, each) for each in self.imports(Outline(text))]
            if all((folder / each).is_file() for each in needs if not each.startswith("..")):
                return folder
        return path.parent

    def with_imports(self, names: set[str], root: Path) -> dict[str, str]:
        """Files, and what they import as far as the editor has it open."""
        texts = {name: self.text_of(root / name) for name in names}
        todo, seen = [*names], {*names}
        while todo:
            name = todo.pop()
            outline = Outline(self.text_of(root / name))
            for each in (*self.imports(outline), *self.outside(outline)):
                inner = imported(name, each)
                if inner not in seen and not inner.startswith("..") and (root / inner).is_file():
                    seen.add(inner)
                    todo.append(inner)
                    if (root / inner).as_uri() in self.texts:
                        texts[inner] = self.text_of(root / inner)
        return texts

    def importers(self, name: str, root: Path) -> set[str]:
        """The files of a folder that import one, and those that import these."""
        files = list(islice(_schemas(root), _MOST_FILES + 1))
        if len(files) > _MOST_FILES:
            raise Unsure(f"more than {_MOST_FILES:,} schemas in {root}, which may use the name")
        texts = {file.relative_to(root).as_posix(): self.text_of(file) for file in files}
        found, todo = {name}, [name]
        while todo:
            stem = Path(todo.pop()).stem
            for each, text in texts.items():
                if each not in found and stem in text:
                    outline = Outline(text)
                    paths = (*self.imports(outline), *self.outside(outline))
                    needs = (imported(each, path) for path in paths)
                    if not found.isdisjoint(needs):
                        found.add(each)
                        todo.append(each)
        return found

    @staticmethod
    def scope(outline: Outline, line: int) -> tuple[str, ...]:
        """The names of the types that a line is in."""
        path = outline.paths[line]
        names = []
        while len(path) > 2 and path[0] == "types":
            names.append(path[1])
            path = path[2:]
        return tuple(names)


def problems_of(path: Path, text: str) -> tuple[str, list[SchemaProblem]]:
    """The name of a schema, and the problems and notes of its text, as the generator finds them.

    Imports are those of the nearest folder around the file from which all of them can be found.
    """
    first: tuple[str, list[SchemaProblem]] | None = None
    for folder in path.parents:
        name = path.relative_to(folder).as_posix()
        with TemporaryDirectory() as scratch:
            place = Path(scratch) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8", "surrogatepass")
            try:
                load(Path(scratch), import_path=[folder])
                return name, []
            except SchemaError as error:
                found = name, list(error.problems)
        first = first or found
        if not any("the import path" in each.text for each in found[1]):
            return found
    assert first is not None
    return first


def _diagnostic(problem: SchemaProblem, name: str, lines: list[str]) -> dict[str, Any]:
    """A problem at its place; one of an imported schema at the top."""
    own = problem.place.file.endswith(name)
    line = min(problem.place.line, len(lines)) - 1 if own else 0
    text = lines[line]
    column = min(problem.place.column - 1, len(text)) if own else 0
    token = _TOKEN.match(text, column)
    message = f"{problem.text}{f' ({problem.hint})' if problem.hint else ''}"
    start, end = _units(text, column), _units(text, token.end() if token else column)
    return {
        "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}},
        "severity": _ERROR if problem.severity == "error" else _INFORMATION,
        "source": "kodec",
        "message": message if own else f"{problem.place}: {message}",
    }


def _units(text: str, column: int) -> int:
    """A column in UTF-16, in which the protocol counts."""
    return len(text[:column].encode("utf-16-le", "surrogatepass")) // 2


def _schemas(root: Path) -> Iterator[Path]:
    """The schemas of a folder and of those in it, without hidden ones: editors keep locks in such files."""
    for place, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        names = (each for each in sorted(files) if each.endswith(".ksy") and not each.startswith("."))
        yield from (Path(place) / each for each in names)


def _path(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many names two paths begin with in common, less those that the first one has more."""
    same = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return same - (len(one) > same)


def _item(label: str, kind: str, doc: str, insert: str = "") -> dict[str, Any]:
    return {"label": label, "kind": _NAME_KINDS[kind], "insertText": insert or label,
            **({"documentation": doc} if doc else {})}  # fmt: skip


def _said(uri: str, outline: Outline, entry: Entry) -> str:
    """What is shown of a definition: its documentation and its lines."""
    path = entry.path[:-1] if entry.path[-1:] == ("id",) else entry.path
    inner = [
        each for each in outline.entries if each.path[:-1] == path and each.value and each.path[-1] != "doc"
    ]
    facts = [f"{each.path[-1]}: {each.value}" for each in inner]
    fields = [
        name
        for name, inside, each in outline.members()
        if each.path[: len(path)] == path and path[-2:-1] == ("types",)
    ]
    doc = outline.below(Entry(0, 0, path, ""), "doc")
    return (
        "\n".join(filter(None, [doc, *facts, f"fields: {', '.join(fields)}" if fields else ""]))
        or entry.value
    )
