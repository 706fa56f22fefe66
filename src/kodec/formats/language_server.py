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
        message = read_json(data, most_values=_MOST_VALUES)
        if not isinstance(message, dict):
            raise ValueError(f"a message is an object, not {message!r:.100}")
        return message

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        self.target.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.target.flush()

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        folders = [folder["uri"] for folder in params.get("workspaceFolders") or ()] or [
            params.get("rootUri")
        ]
        self.folders = [_path(folder) for folder in folders if folder]
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

    def notify(self, uri: str, diagnostics: list[dict[str, Any]]) -> None:
        params = {"uri": uri, "diagnostics": diagnostics}
        self.send({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params})

    def publish(self, uri: str) -> None:
        """Send the problems of a text. An editor may send all YAML, of which only schemas are read."""
        if uri in self.texts and uri.endswith(".ksy"):
            lines = self.texts[uri].split("\n")
            name, problems = problems_of(_path(uri), self.texts[uri])
            self.notify(uri, [_diagnostic(problem, name, lines) for problem in problems])

    def position(self, params: dict[str, Any]) -> tuple[Outline, int, int]:
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
        outline, line, column = self.position(params)
        path = outline.path_at(line, column)
        if outline.is_value(line, column) and path:
            return [*self.values(outline, path, params["textDocument"]["uri"])]
        items = {}
        for shape in at_path(path):
            for key, inner in shape.get("properties", {}).items():
                items[key] = _item(key, "keys", inner.get("description", ""), f"{key}: ")
        return list(items.values())

    def values(self, outline: Outline, path: tuple[str, ...], uri: str) -> Iterator[dict[str, Any]]:
        """What the value of a key may be: words of the language, and names of the text."""
        if path[-1] == "type" or path[-2:-1] == ("cases",):
            for names, entry in outline.types():
                yield _item(names[-1], "types", outline.below(entry, "doc"))
            for name in self.imports(outline):
                yield _item(name.rpartition("/")[2], "types", f"imported: {name}")
        if path[-1] == "enum":
            for name, entry in outline.enums():
                yield _item(name, "enums", outline.below(entry, "doc"))
        if path[-1] in ("if", "value", "repeat-until", "size", "repeat-expr", "pos", "switch-on"):
            for name, entry in outline.enums():
                values = [inner for inner in outline.entries if inner.path[:-1] == entry.path]
                yield from (_item(f"{name}::{inner.value or 'x'}", "values", "") for inner in values)
            for name, _, entry in outline.members():
                yield _item(name, "words", outline.below(Entry(0, 0, entry.path[:-1], ""), "doc"))
        words = {word for shape in at_path(path) for word in shape.get("enum", ())}
        yield from (
            _item(word if isinstance(word, str) else str(word).lower(), "words", "")
            for word in sorted(words, key=str)
        )

    def imports(self, outline: Outline) -> Iterator[str]:
        start = next((entry.line for entry in outline.entries if entry.path == ("meta", "imports")), None)
        if start is None:
            return
        inline = re.findall(r"[\w/.-]+", outline.lines[start].partition(":")[2])
        yield from inline
        for line in outline.lines[start + 1 :]:
            match = re.match(r" *- +['\"]?([\w/.-]+)", line)
            if match is None:
                return
            yield match[1]

    def outside(self, outline: Outline) -> Iterator[str]:
        """The words that may be types of other schemas, with `ks-opaque-types`."""
        if any("ks-opaque-types: true" in line for line in outline.lines):
            yield from dict.fromkeys(re.findall(r"\b[a-z][a-z0-9_]*", "\n".join(outline.lines)))

    # -- hover and definition ---------------------------------------------------------------------

    def hover(self, params: dict[str, Any]) -> dict[str, Any] | None:
        if not params["textDocument"]["uri"].endswith(".ksy"):
            return None
        outline, line, column = self.position(params)
        key = outline.key_at(line, column)
        if key is not None:
            shapes = [shape for shape in at_path(key.path) if shape.get("description")]
            text = shapes[0]["description"] if shapes else ""
        else:
            declaration = self.declaration(outline, line, column, params["textDocument"]["uri"])
            text = "" if declaration is None else _hover_text(*declaration)
        return {"contents": {"kind": "plaintext", "value": text}} if text else None

    def definition(self, params: dict[str, Any]) -> dict[str, Any] | None:
        outline, line, column = self.position(params)
        key = outline.key_at(line, column)
        if key is not None and key.path[-2:-1] not in (("types",), ("enums",), ("instances",), ("cases",)):
            return None
        declaration = self.declaration(outline, line, column, params["textDocument"]["uri"])
        if declaration is None:
            return None
        uri, other, entry = declaration
        text = other.lines[entry.line]
        start, end = _units(text, entry.column), _units(text, len(text))
        span = {
            "start": {"line": entry.line, "character": start},
            "end": {"line": entry.line, "character": end},
        }
        return {"uri": uri, "range": span}

    def declaration(
        self, outline: Outline, line: int, column: int, uri: str
    ) -> tuple[str, Outline, Entry] | None:
        """Where the name at a place is defined: a type, an enum or one of its values, a member."""
        parts = tuple(outline.word_at(line, column).split("::"))
        if not parts[0]:
            return None
        scope = self.scope(outline, line)
        types = [(names, entry) for names, entry in outline.types() if names[-len(parts) :] == parts]
        if types and outline.path_at(line, column)[-1:] != ("id",):
            near = max(types, key=lambda candidate: _shared(candidate[0][:-1], scope))
            return uri, outline, near[1]
        for name, entry in outline.enums():
            if name == parts[-1] or parts[-2:-1] == (name,):
                inner = [
                    candidate
                    for candidate in outline.entries
                    if candidate.path[:-1] == entry.path and candidate.value == parts[-1]
                ]
                return uri, outline, inner[0] if inner else entry
        members = [(inside, entry) for name, inside, entry in outline.members() if name == parts[-1]]
        if members:
            return uri, outline, max(members, key=lambda candidate: _shared(candidate[0], scope))[1]
        for path in (*self.imports(outline), *self.outside(outline)):
            if path.rpartition("/")[2] == parts[0]:
                return self.in_file(uri, path, parts[1:])
        return None

    def in_file(self, uri: str, path: str, parts: tuple[str, ...]) -> tuple[str, Outline, Entry] | None:
        """A type of an imported schema, or the schema itself."""
        file = _path(uri)
        for folder in file.parents:
            target = folder / imported(file.relative_to(folder).as_posix(), path)
            if target.is_file():
                other = Outline(self.texts.get(target.as_uri()) or target.read_text("utf-8", "replace"))
                inner = (
                    [entry for names, entry in other.types() if names[-len(parts) :] == parts]
                    if parts
                    else []
                )
                return target.as_uri(), other, inner[0] if inner else Entry(0, 0, (), "")
        return None

    # -- references and new names -----------------------------------------------------------------

    def references(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        texts, root, name, offset = self.around(params)
        uses = occurrences(texts, root, name, offset)
        declared = params.get("context", {}).get("includeDeclaration", True)
        return [
            {"uri": (root / occurrence.file).as_uri(), "range": self.range_of(root, occurrence)}
            for occurrence in uses
            if declared or not occurrence.defines
        ]

    def prepare_rename(self, params: dict[str, Any]) -> dict[str, Any]:
        texts, root, name, offset = self.around(params)
        occurrence = next(
            occurrence
            for occurrence in occurrences(texts, root, name, offset)
            if occurrence.file == name and occurrence.start <= offset <= occurrence.end
        )
        return {
            "range": self.range_of(root, occurrence),
            "placeholder": texts[name][occurrence.start : occurrence.end],
        }

    def rename(self, params: dict[str, Any]) -> dict[str, Any]:
        texts, root, name, offset = self.around(params)
        changes: dict[str, list[dict[str, Any]]] = {}
        for occurrence in renamed(texts, root, name, offset, params["newName"]):
            edit = {"range": self.range_of(root, occurrence), "newText": params["newName"]}
            changes.setdefault((root / occurrence.file).as_uri(), []).append(edit)
        return {"changes": changes}

    def range_of(self, root: Path, occurrence: Occurrence) -> dict[str, Any]:
        before, text = (
            self.text_of(root / occurrence.file)[: occurrence.start],
            self.text_of(root / occurrence.file),
        )
        line, start = before.count("\n"), before.rfind("\n") + 1
        first = _units(text[start:], occurrence.start - start)
        last = _units(text[start:], occurrence.end - start)
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
        outline, line, column = self.position(params)
        offset = sum(len(text) + 1 for text in outline.lines[:line]) + column
        root = self.root_of(_path(uri), self.texts[uri])
        name = _path(uri).relative_to(root).as_posix()
        texts = self.with_imports({name}, root)
        defined = next(
            occurrence for occurrence in occurrences(texts, root, name, offset) if occurrence.defines
        )
        return self.with_imports({name, *self.importers(defined.file, root)}, root), root, name, offset

    def root_of(self, path: Path, text: str) -> Path:
        """The folder of all schemas: that of the editor, or the nearest from which all imports are found."""
        editor_folders = [
            folder for folder in reversed(path.parents) if any(map(folder.is_relative_to, self.folders))
        ]
        for folder in editor_folders or path.parents:
            name = path.relative_to(folder).as_posix()
            needs = [imported(name, target) for target in self.imports(Outline(text))]
            if all((folder / need).is_file() for need in needs if not need.startswith("..")):
                return folder
        return path.parent

    def with_imports(self, names: set[str], root: Path) -> dict[str, str]:
        """Files, and what they import as far as the editor has it open."""
        texts = {name: self.text_of(root / name) for name in names}
        todo, visited = [*names], {*names}
        while todo:
            name = todo.pop()
            outline = Outline(self.text_of(root / name))
            for target in (*self.imports(outline), *self.outside(outline)):
                inner = imported(name, target)
                if inner not in visited and not inner.startswith("..") and (root / inner).is_file():
                    visited.add(inner)
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
        users, todo = {name}, [name]
        while todo:
            stem = Path(todo.pop()).stem
            for file_name, text in texts.items():
                if file_name not in users and stem in text:
                    outline = Outline(text)
                    paths = (*self.imports(outline), *self.outside(outline))
                    needs = (imported(file_name, path) for path in paths)
                    if not users.isdisjoint(needs):
                        users.add(file_name)
                        todo.append(file_name)
        return users

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
            copy = Path(scratch) / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, "utf-8", "surrogatepass")
            try:
                load(Path(scratch), import_path=[folder])
                return name, []
            except SchemaError as error:
                outcome = name, list(error.problems)
        first = first or outcome
        if not any("the import path" in problem.text for problem in outcome[1]):
            return outcome
    assert first is not None
    return first


def _diagnostic(problem: SchemaProblem, name: str, lines: list[str]) -> dict[str, Any]:
    """A problem at its place; one of an imported schema at the top."""
    is_inside = problem.place.file.endswith(name)
    line = min(problem.place.line, len(lines)) - 1 if is_inside else 0
    text = lines[line]
    column = min(problem.place.column - 1, len(text)) if is_inside else 0
    token = _TOKEN.match(text, column)
    message = f"{problem.text}{f' ({problem.hint})' if problem.hint else ''}"
    start, end = _units(text, column), _units(text, token.end() if token else column)
    return {
        "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}},
        "severity": _ERROR if problem.severity == "error" else _INFORMATION,
        "source": "kodec",
        "message": message if is_inside else f"{problem.place}: {message}",
    }


def _units(text: str, column: int) -> int:
    """A column in UTF-16, in which the protocol counts."""
    return len(text[:column].encode("utf-16-le", "surrogatepass")) // 2


def _schemas(root: Path) -> Iterator[Path]:
    """The schemas of a folder and of those in it, without hidden ones: editors keep locks in such files."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        names = (file for file in sorted(files) if file.endswith(".ksy") and not file.startswith("."))
        yield from (Path(folder) / name for name in names)


def _path(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def _shared(path: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many names two paths begin with in common, less those that the first one has more."""
    same = next(
        (n for n, (a, b) in enumerate(zip(path, other, strict=False)) if a != b), min(len(path), len(other))
    )
    return same - (len(path) > same)


def _item(label: str, kind: str, doc: str, insert: str = "") -> dict[str, Any]:
    return {"label": label, "kind": _NAME_KINDS[kind], "insertText": insert or label,
            **({"documentation": doc} if doc else {})}  # fmt: skip


def _hover_text(uri: str, outline: Outline, entry: Entry) -> str:
    """What is shown of a definition: its documentation and its lines."""
    path = entry.path[:-1] if entry.path[-1:] == ("id",) else entry.path
    inner = [
        entry
        for entry in outline.entries
        if entry.path[:-1] == path and entry.value and entry.path[-1] != "doc"
    ]
    facts = [f"{entry.path[-1]}: {entry.value}" for entry in inner]
    fields = [
        name
        for name, inside, entry in outline.members()
        if entry.path[: len(path)] == path and path[-2:-1] == ("types",)
    ]
    doc = outline.below(Entry(0, 0, path, ""), "doc")
    return (
        "\n".join(filter(None, [doc, *facts, f"fields: {', '.join(fields)}" if fields else ""]))
        or entry.value
    )
