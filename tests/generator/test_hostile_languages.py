"""Words of a schema in C, Go, Java, Rust, TypeScript and Python: comments and strings, whatever they are."""

from __future__ import annotations

import doctest
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kodec.generator.driver import generate, render_all
from tests.languages import java_testee
from tests.languages.compilers import is_here

MARK = "hostile_mark"
LANGUAGES = ("c", "go", "java", "rust", "typescript")
# A line of documentation in each; between them are empty lines, so each can begin one.
WORDS = {
    "comment end": f"*/ {MARK}(); /*",
    "comment end in code": f"`*`/ {MARK}(); /* `a*`/",
    "escapes of Java": f"\\u002a\\u002f {MARK}(); \\uuu000a {MARK}(); \\u",
    "a line that goes on": f"{MARK} \\",
    "a trigraph": f"{MARK} ??/",
    "a fence": "```",
    "a test of Rust": f'std::process::Command::new("{MARK}");',
    "a test of Python": f">>> {MARK}()",
    "many": f">>>>> {MARK}()",
    "tags": f"<script>{MARK}()</script> ]]> <!-- {{@link {MARK}}}",
    "a directive of TypeScript": "@ts-expect-error",
    "a directive of Go": f"go:generate {MARK}",
    "a constraint of Go": "+build ignore",
    "a slash": f"/ <reference path='{MARK}'/>",
    "an include": f'#include "{MARK}"',
}
TEXTS = {
    "a trigraph": "??/",
    "a quote after a trigraph": 'a??/"b',
    "a template": f"${{{MARK}}} {{}} {{0}} %s%n #{{x}}",
    "escapes of Java": "\\u000a \\u0022",
    "comments": "*/ /* //",
    "quotes": f'"+{MARK}()+" \' `',
    "characters past the first plane": "\U0001f600 \u2019",
    "controls": "\t\x7f",
}
NAMES = """
    switch fn func self this type match interface assert yield await typeof unix linux goto delete
    async package range defer go impl crate super let var const record sealed permits object class
    def lambda none byte len error iota any new errno null nil default int
""".split()  # noqa: SIM905  # forty words on forty lines are no list to read


RULES: dict[str, Callable[[str], Any]] = {
    "is": lambda text: text,
    "one": lambda text: {"any-of": [text]},
    "not": lambda text: {"expr": f"_ != {text}"},
}


def schema(doc: str, texts: dict[str, str]) -> dict[str, Any]:
    quoted = [
        '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'
        for text in texts.values()
    ]
    # rules, whose texts are in errors too
    ruled = [
        {
            "id": f"{name}{at}",
            "type": "str",
            "size": len(text.encode()),
            "encoding": "UTF-8",
            "valid": rule(each),
            "-orig-id": f"{' '.join(doc.split())} {name}{at}",
        }
        for at, (text, each) in enumerate(zip(texts.values(), quoted, strict=True))
        for name, rule in RULES.items()
    ]
    return {
        "meta": {"id": "x", "endian": "be", "title": " ".join(doc.split())},
        "doc": doc,
        "doc-ref": " ".join(doc.split()),
        "seq": [
            {"id": "a", "type": "u1", "enum": "kind", "doc": doc},
            {"id": "s", "type": "str", "size": 4, "encoding": "ASCII", "doc": doc},
            {"id": "part", "type": "part(1)", "doc": doc},
            *({"id": name, "type": "u1"} for name in NAMES),
            *ruled,
        ],
        "instances": {
            **{f"v{at}": {"value": text, "doc": doc} for at, text in enumerate(quoted)},
            **{f"c{at}": {"value": f"s == {text}"} for at, text in enumerate(quoted)},
        },
        "types": {
            "part": {
                "doc": doc,
                "params": [{"id": "v", "type": "u1", "doc": doc}],
                "seq": [{"id": "b", "type": "u1", "doc": doc}],
            }
        },
        "enums": {"kind": {number: {"id": name, "doc": doc} for number, name in enumerate(NAMES)}},
    }


def put(folder: Path, doc: str = "\n\n".join(WORDS.values()), texts: dict[str, str] = TEXTS) -> Path:
    folder.mkdir(parents=True)
    (folder / "x.ksy").write_text(yaml.safe_dump(schema(doc, texts), sort_keys=False))
    return folder


_STRINGS = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\''
_PARTS = re.compile(rf"/\*.*?\*/|//[^\n]*|{_STRINGS}|`[^`]*`", re.DOTALL)


def code(text: str, language: str) -> str:
    """A text without comments, and its strings empty, as the compiler of a language sees it."""
    if language == "java":
        # first of all, wherever they are
        text = re.sub(
            r"(?<!\\)((?:\\\\)*)\\u+([0-9a-fA-F]{4})", lambda found: found[1] + chr(int(found[2], 16)), text
        )
    if language == "c":
        text = text.replace("??/", "\\").replace("\\\n", "")
    return " ".join(_PARTS.sub(lambda part: part[0][0] * 2, text).replace("//", "").split())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("streams", [False, True])
def test_words_are_no_code(language: str, streams: bool, tmp_path: Path) -> None:
    """The code is the same without the words, but for the strings in it."""
    plain = {name: "abcd" if text.isascii() else "é" for name, text in TEXTS.items()}
    made = [
        render_all(folder, targets=[language], streams=streams).modules
        for folder in (put(tmp_path / "hostile"), put(tmp_path / "plain", "A word.", plain))
    ]
    assert made[0].keys() == made[1].keys()
    for path, text in made[0].items():
        if path.endswith((".c", ".h", ".go", ".java", ".rs", ".ts")) and "test" not in path:
            found, wanted = code(text, language), code(made[1][path], language)
            assert MARK not in found
            # sizes of texts are constants
            assert re.sub(r"\d+", "0", found) == re.sub(r"\d+", "0", wanted), path


def test_the_words_are_there(tmp_path: Path) -> None:
    """The test above can fail."""
    folder = put(tmp_path / "s")
    for language in LANGUAGES[1:]:
        text = "".join(render_all(folder, targets=[language]).modules.values())
        assert MARK in text.replace("hostile\\_mark", MARK)
    assert "x()" in code("/* \\u002a\\u002f x(); /* */", "java") and "x()" not in code("/* x() */", "java")
    assert "x" not in code("// a \\\nx", "c") and "x" not in code("// a ??/\nx", "c")


def test_no_prompt_is_a_test_of_python(tmp_path: Path) -> None:
    made = render_all(put(tmp_path / "s"), streams=True).modules["x.py"]
    assert "> > >" in made and doctest.DocTestParser().get_examples(made) == []


def test_no_line_is_a_directive(tmp_path: Path) -> None:
    made = render_all(put(tmp_path / "s"), targets=["typescript", "go", "rust"]).modules
    for path, text in made.items():
        if path.endswith("/x.ts"):
            assert "@ ts-expect-error" in text and "@ts-" not in text
        if path.endswith("/x.go"):
            # go vet refuses the last one wherever it stands
            assert re.search(r"^\s*//(go:|line |\s*\+build)", text, re.M) is None
            assert "+ build" in text
        if path.endswith("/x.rs"):
            assert re.search(r"^\s*//[/!][ \t]*(```|~~~| {4,}\S)", text, re.M) is None


def run(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.languages
@pytest.mark.parametrize(
    ("language", "program"), [("c", "cc"), ("go", "go"), ("java", "javac"), ("rust", "cargo")]
)
def test_a_compiler_takes_it(language: str, program: str, tmp_path: Path) -> None:
    if not is_here(program):
        pytest.skip(f"no {program} here")
    generate(put(tmp_path / "s"), tmp_path, targets=[language], streams=True)
    made = tmp_path / language
    match language:
        case "c":
            # c11 has trigraphs
            strict = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
            run("cc", *strict, "-Iinclude", "-Isrc", "src/x.c", cwd=made)
        case "go":
            run("gofmt", "-e", "-l", "x.go", cwd=made)
        case "java":
            files = [*java_testee.RUNTIME.rglob("*.java"), *made.rglob("*.java")]
            options = ("-Xlint:all,-path,-classfile", "-Werror", "-proc:none", "-encoding", "UTF-8")
            run("javac", *options, "-cp", java_testee.jars(), "-d", tmp_path / "classes", *files, cwd=made)
        case "rust":
            name = tmp_path / "x.rmeta"
            options = ("--edition", "2021", "--crate-type", "lib", "--emit=metadata")
            run("rustc", *options, "-o", name, "src/lib.rs", cwd=made)
