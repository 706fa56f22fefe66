"""The language server, by a client that speaks the protocol over pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import Golden

TEXT = """\
meta:
  id: shapes
  endian: le
  imports:
    - colors
seq:
  - id: count
    type: u2
    doc: How many there are.
  - id: items
    type: shape
    repeat: expr
    repeat-expr: count
types:
  shape:
    doc: A circle or a square.
    seq:
      - id: kind
        type: u1
        enum: kinds
      - id: color
        type: colors::rgb
      - id: radius
        type: f4
        if: kind == kinds::circle
    instances:
      area:
        value: radius * radius
enums:
  kinds:
    1: circle
    2: square
"""
COLORS = "meta: {id: colors}\ntypes:\n  rgb:\n    doc: Three bytes.\n    seq:\n      - {id: r, type: u1}\n"


class Client:
    """An editor: requests with their answers, and the diagnostics that were sent."""

    def __init__(self) -> None:
        words = [sys.executable, "-m", "kodec", "language-server"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | (
            {} if number is None else {"id": number}
        )
        data = json.dumps(message).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\nContent-Type: a\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        size = 0
        while line := self.process.stdout.readline().strip():
            size = int(line.removeprefix(b"Content-Length: "))
        found: dict[str, Any] = json.loads(self.process.stdout.read(size))
        if found.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[found["params"]["uri"]] = found["params"]["diagnostics"]
        return found

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        self.send(method, params, self.number)
        while (found := self.receive()).get("id") != self.number:
            pass
        return found.get("result", found.get("error"))


class Editor:
    """A file in the client."""

    def __init__(self, client: Client, place: Path, text: str) -> None:
        self.client, self.uri, self.text = client, place.as_uri(), text
        document = {"uri": self.uri, "languageId": "yaml", "version": 1, "text": text}
        client.send("textDocument/didOpen", {"textDocument": document})
        client.receive()

    def change(self, old: str, new: str) -> list[dict[str, Any]]:
        """The diagnostics after a change."""
        assert old in self.text
        self.text = self.text.replace(old, new, 1)
        params = {"textDocument": {"uri": self.uri, "version": 2}, "contentChanges": [{"text": self.text}]}
        self.client.send("textDocument/didChange", params)
        self.client.receive()
        return self.client.diagnostics[self.uri]

    def at(self, method: str, before: str, **more: Any) -> Any:
        """The answer at the end of a piece of the text."""
        assert before in self.text
        line = self.text[: self.text.index(before) + len(before)].split("\n")
        position = {"line": len(line) - 1, "character": len(line[-1].encode("utf-16-le")) // 2}
        return self.client.ask(
            f"textDocument/{method}", {"textDocument": {"uri": self.uri}, "position": position, **more}
        )

    def complete(self, before: str) -> set[str]:
        return {each["label"] for each in self.at("completion", before)}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    found = Client()
    answer = found.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert answer["capabilities"]["renameProvider"] == {"prepareProvider": True}
    assert answer["capabilities"]["hoverProvider"] and answer["serverInfo"] == {"name": "kodec"}
    found.send("initialized", {})
    yield found
    assert found.ask("shutdown", None) is None
    found.send("exit", None)
    out, _ = found.process.communicate(timeout=20)
    assert out == b"" and found.process.returncode == 0


@pytest.fixture
def editor(client: Client, tmp_path: Path) -> Editor:
    (tmp_path / "colors.ksy").write_text(COLORS)
    return Editor(client, tmp_path / "shapes.ksy", TEXT)


def test_problems_have_their_places_and_hints(editor: Editor, client: Client) -> None:
    assert client.diagnostics[editor.uri] == []
    (found,) = editor.change("type: shape", "type: shapw")
    assert found["range"]["start"] == {"line": 10, "character": 10}
    assert found["range"]["end"] == {"line": 10, "character": 15}
    assert found["severity"] == 1 and "did you mean `shape`" in found["message"]
    (found,) = editor.change("shapw", "'\U0001f600'")
    assert found["range"]["start"]["line"] == 10
    assert editor.change("'\U0001f600'", "shape") == []
    found = next(each for each in editor.change("- colors", "- colours") if "colours" in each["message"])
    assert "there is no colours.ksy" in found["message"] and found["range"]["start"]["line"] == 4
    assert editor.change("- colours", "- colors") == []
    (found,) = editor.change("seq:\n", "seq: [\n")
    assert "not YAML" in found["message"]


def test_imports_from_the_folder_of_all_schemas(client: Client, tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "media").mkdir()
    (tmp_path / "common/colors.ksy").write_text(COLORS)
    editor = Editor(client, tmp_path / "media/shapes.ksy", TEXT.replace("- colors", "- /common/colors"))
    assert client.diagnostics[editor.uri] == []
    assert editor.at("definition", "colors::r")["uri"] == (tmp_path / "common/colors.ksy").as_uri()
    (tmp_path / "common/colors.ksy").write_text(COLORS.replace("u1", "u3"))
    found = editor.change("count", "number")
    assert any(
        "common/colors.ksy:6" in each["message"] and each["range"]["start"]["line"] == 0 for each in found
    )


def test_keys_are_completed_where_they_may_stand(editor: Editor, golden: Golden) -> None:
    assert {"meta", "seq", "types", "enums", "instances"} <= editor.complete("square\n")
    editor.change("    type: u2\n", "    type: u2\n    \n")
    fields = editor.complete("type: u2\n    ")
    assert {"id", "type", "repeat-expr", "terminator", "doc"} <= fields and "seq" not in fields
    editor.change("endian: le\n", "endian: le\n  \n")
    assert {"endian", "encoding", "imports"} <= editor.complete("endian: le\n  ")
    editor.change("value: radius * radius\n", "value: radius * radius\n        \n")
    assert {"pos", "value", "io"} <= editor.complete("value: radius * radius\n        ")
    keys = editor.at("completion", "type: u2\n    ")
    golden(next(each["documentation"] for each in keys if each["label"] == "id"))


def test_values_are_completed(editor: Editor) -> None:
    assert {"u1", "str", "strz", "shape", "colors"} <= editor.complete("type: sha")
    assert editor.complete("enum: ") == {"kinds"}
    assert {"le", "be"} <= editor.complete("endian: l")
    assert {"expr", "eos", "until"} <= editor.complete("repeat: ")
    assert {"kinds::circle", "kinds::square", "kind", "area", "count"} <= editor.complete("if: ")
    editor.change("endian: le", "endian: le\n  encoding: ")
    assert {"UTF-8", "ASCII"} <= editor.complete("encoding: ")


def test_what_is_shown_of_a_name(editor: Editor, golden: Golden) -> None:
    def shown(before: str) -> str:
        found = editor.at("hover", before)
        return str(found["contents"]["value"]) if found else ""

    assert shown("repeat-e") == "The number of elements."
    golden(shown("type: sha"))
    assert "How many there are." in shown("repeat-expr: cou") and "type: u2" in shown("repeat-expr: cou")
    assert "Three bytes." in shown("colors::r")
    assert shown("kind =") == ""


def test_definitions(editor: Editor, tmp_path: Path) -> None:
    def line(before: str) -> tuple[str, int] | None:
        found = editor.at("definition", before)
        return found and (found["uri"].rpartition("/")[2], found["range"]["start"]["line"])

    lines = editor.text.split("\n")
    assert line("type: sha") == ("shapes.ksy", lines.index("  shape:"))
    assert line("enum: kin") == ("shapes.ksy", lines.index("  kinds:"))
    assert line("kinds::cir") == ("shapes.ksy", lines.index("    1: circle"))
    assert line("repeat-expr: cou") == ("shapes.ksy", lines.index("  - id: count"))
    assert line("value: rad") == ("shapes.ksy", lines.index("      - id: radius"))
    assert line("colors::r") == ("colors.ksy", 2)
    assert line("- col") == ("colors.ksy", 0)
    assert line("type: u") is None


def test_braces_are_completed_as_lines_are(editor: Editor) -> None:
    editor.change("  - id: items\n", "  - {id: more, ty\n  - id: items\n")
    keys = editor.complete("{id: more, ty")
    assert {"type", "repeat-expr", "if"} <= keys and "seq" not in keys
    editor.change("more, ty", "more, type: sh")
    assert {"shape", "u1", "colors"} <= editor.complete("more, type: sh")
    editor.change("type: sh\n", "type: {switch-on: count, cases: {1: sh}}, if: kin\n")
    assert "count" in editor.complete("{switch-on: ")
    assert {"shape", "colors"} <= editor.complete("cases: {1: sh")
    assert {"kinds::circle", "count"} <= editor.complete("}}, if: ")
    assert {"id", "size"} <= editor.complete("}}, ")
    editor.change("if: kin\n", "size:\n     count, \n")
    assert {"count", "area"} <= editor.complete("size:\n     cou")
    assert {"id", "repeat"} <= editor.complete("size:\n     count, ")
    # what is still open ends before the next key
    assert {"id", "repeat"} <= editor.complete("id: items\n    ")
    editor.change("    type: shape\n", "    valid: {any-of: [1, cou\n    type: shape\n")
    assert "shape" in editor.complete("    type: sha")
    (found,) = [editor.at("hover", "switch-o")]
    assert "chooses" in found["contents"]["value"] or "choice" in found["contents"]["value"]


def edited(editor: Editor, before: str, name: str, root: Path) -> dict[str, str] | str:
    """The texts after a rename, by the names of their files; or why it is refused."""
    answer = editor.at("rename", before, newName=name)
    if "changes" not in answer:
        assert answer["code"] == -32803
        return str(answer["message"])
    found = {}
    for uri, edits in answer["changes"].items():
        place = root / uri.removeprefix(root.as_uri() + "/")
        lines = (editor.text if uri == editor.uri else place.read_text()).split("\n")
        for edit in sorted(edits, key=lambda each: -each["range"]["start"]["character"]):
            start, end = edit["range"]["start"], edit["range"]["end"]
            assert start["line"] == end["line"]
            line = lines[start["line"]]
            lines[start["line"]] = line[: start["character"]] + edit["newText"] + line[end["character"] :]
        found[place.name] = "\n".join(lines)
    return found


def test_new_names(editor: Editor, tmp_path: Path) -> None:
    def one(before: str, name: str) -> str:
        found = edited(editor, before, name, tmp_path)
        assert isinstance(found, dict) and list(found) == ["shapes.ksy"], found
        return found["shapes.ksy"]

    assert one("- id: cou", "number") == TEXT.replace("id: count", "id: number").replace(
        ": count", ": number"
    )
    assert one("repeat-expr: cou", "number") == one("- id: cou", "number")
    assert one("type: sha", "figure") == TEXT.replace("type: shape", "type: figure").replace(
        "  shape:", "  figure:"
    )
    assert one("enum: kin", "sorts") == TEXT.replace("kinds", "sorts")
    assert one("kinds::cir", "disc") == TEXT.replace("::circle", "::disc").replace("1: circle", "1: disc")
    assert one("value: rad", "r") == TEXT.replace("id: radius", "id: r").replace("radius * radius", "r * r")
    assert one("      are", "surface") == TEXT.replace("      area:", "      surface:")
    both = edited(editor, "colors::rg", "rgb8", tmp_path)
    assert both == {
        "shapes.ksy": TEXT.replace("colors::rgb", "colors::rgb8"),
        "colors.ksy": COLORS.replace("rgb", "rgb8"),
    }
    found = editor.at("references", "- id: cou")
    assert [each["range"]["start"]["line"] for each in found] == [6, 12]
    assert editor.at("prepareRename", "value: rad")["placeholder"] == "radius"


def test_a_new_name_reaches_those_that_import_it(client: Client, tmp_path: Path) -> None:
    (tmp_path / "colors.ksy").write_text(COLORS)
    (tmp_path / "shapes.ksy").write_text(TEXT)
    far = "meta: {id: far, imports: [shapes]}\nseq:\n  - {id: a, type: 'shapes::shape'}\n"
    far += "instances: {k: {value: a.kind == shapes::kinds::circle}}\n"
    (tmp_path / "far.ksy").write_text(far)
    other = "meta: {id: other}\nseq: [{id: rgb, type: u1}, {id: x, size: rgb}]\n"
    (tmp_path / "other.ksy").write_text(other)
    (tmp_path / "wrong.ksy").write_text("seq: [")
    # a lock of Emacs
    (tmp_path / ".#colors.ksy").symlink_to("me@host.123")
    colors = Editor(client, tmp_path / "colors.ksy", COLORS)
    found = edited(colors, "  rg", "rgb8", tmp_path)
    assert isinstance(found, dict) and sorted(found) == ["colors.ksy", "shapes.ksy"]
    shapes = Editor(client, tmp_path / "shapes.ksy", TEXT)
    assert edited(shapes, "kin", "sort", tmp_path) == {
        "shapes.ksy": TEXT.replace("id: kind", "id: sort").replace("if: kind", "if: sort"),
        "far.ksy": far.replace("a.kind", "a.sort"),
    }
    kinds = edited(shapes, "enum: kin", "sorts", tmp_path)
    assert isinstance(kinds, dict) and kinds["far.ksy"] == far.replace("::kinds::", "::sorts::")


def test_new_names_that_are_refused(editor: Editor, client: Client, tmp_path: Path, golden: Golden) -> None:
    def why(before: str, name: str) -> str:
        found = edited(editor, before, name, tmp_path)
        assert isinstance(found, str), found
        return found

    golden(why("- id: cou", "Bad Name"))
    assert "the name is used twice" in why("- id: cou", "items")
    assert "is named as its file" in why("id: shap", "figures")
    golden(why("endian: l", "x"))
    assert "there is no name here" in why("types:\n ", "x")
    assert "something else" in why("type: sha", "u1") or "u1" in why("type: sha", "u1")
    (tmp_path / "gone.ksy").symlink_to("nowhere")
    golden(why("- id: cou", "number"))
    (tmp_path / "gone.ksy").unlink()
    editor.change("type: shape", "type: shapw")
    assert "unknown type `shapw`" in why("- id: cou", "number")
    editor.change("type: shapw", "type: shape")
    (tmp_path / "shapes.overlay.yaml").write_text("schema: shapes\nkeys:\n  count: {doc: More.}\n")
    golden(why("- id: cou", "number"))


def test_files_that_are_no_schemas(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "a.yaml").as_uri()
    document = {"uri": uri, "languageId": "yaml", "version": 1, "text": "a: b\n"}
    client.send("textDocument/didOpen", {"textDocument": document})
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}}
    assert client.ask("textDocument/completion", place) == []
    assert client.ask("textDocument/hover", place) is None
    assert uri not in client.diagnostics


def test_what_is_not_supported_and_what_is_wrong(client: Client, editor: Editor) -> None:
    assert client.ask("textDocument/formatting", {})["code"] == -32601
    nothing = {"textDocument": {"uri": "file:///none.ksy"}}
    assert client.ask("textDocument/definition", nothing)["code"] == -32603
    assert editor.at("hover", "type: sha")["contents"]["kind"] == "plaintext"
    for text in ("", "\t", "- - -", "a: |\n  b\n c", ": :\n", "'", "seq:\n-", "\ud83d", "x" * 9000):
        found = editor.change(editor.text, text)
        assert found
        for method in ("completion", "hover", "definition", "references"):
            answer = client.ask(
                f"textDocument/{method}",
                {"textDocument": {"uri": editor.uri}, "position": {"line": 9, "character": 9}},
            )
            refused = isinstance(answer, dict) and "code" in answer
            assert not refused or (method == "references" and answer["code"] == -32803), (text, answer)


def test_the_end_of_the_input_ends_it() -> None:
    words = [sys.executable, "-m", "kodec", "language-server"]
    assert subprocess.run(words, input=b"", capture_output=True, check=False).returncode == 1
