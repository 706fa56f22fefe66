"""Fields, types and enums called as the generator calls things in Java, and as Java does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kodec.generator.driver import render_all
from tests.generator.any_name import FIXED, GZIP, VERSIONS, put, renamed, rounds, sources, unnamed, vocabulary
from tests.java.conftest import HERE, ROOT, jars
from tests.java.conftest import sources as java_files
from tests.vectors import right, with_bytes

pytestmark = pytest.mark.thorough

SCHEMAS = ("z000", "z100", "z200", "z400")
COMMENTS = r"//.*|/\*(?s:.*?)\*/"
WORDS = """
    abstract assert boolean break byte case catch char class const continue default do double else enum
    extends final finally float for goto if implements import instanceof int interface long native new
    package private protected public return short static strictfp super switch synchronized this throw
    throws transient try void volatile while var yield record sealed permits non when with exports module
    open opens provides requires to transitive uses clone finalize get_class hash_code notify notify_all
    to_string wait equals org java lang rows
""".split()  # noqa: SIM905  # eighty words on eighty lines are no list to read


def test_fields_types_and_enums_called_as_the_generator_and_java_call_things(
    javac: str, tmp_path: Path
) -> None:
    fixed, plain = sources(FIXED), sources(SCHEMAS)
    folder = put(tmp_path / "plain", plain | fixed)
    made = render_all(folder, targets=["java", "vectors"], options={"package": "org.plain"}).modules
    vectors = {name: json.loads(made.pop(f"{name}.vectors.json")) for name in SCHEMAS}
    words = vocabulary(made.values(), COMMENTS, fold=True)
    assert {"at", "start", "stop", "codec", "found", "more", "size", "elements"} <= set(words)
    packages = {"org.plain": {}}
    for index, names in enumerate(rounds(plain, sorted({*words, *WORDS}))):
        texts = {name: renamed(text, names) for name, text in plain.items()}
        folder = put(tmp_path / f"r{index}", texts | fixed)
        made |= render_all(folder, targets=["java"], options={"package": f"org.r{index}"}).modules
        packages[f"org.r{index}"] = names
    for name, text in made.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    files = [
        *java_files(ROOT / "runtime" / "java", tmp_path / "java"),
        str(HERE / "Dump.java"),
        str(HERE / "AnyRows.java"),
    ]
    options = ["--release", "17", "-Xlint:all,-path,-classfile", "-Werror", "-proc:none", "-Xmaxerrs", "1000"]
    classes = tmp_path / "classes"
    line = [javac, *options, "-encoding", "UTF-8", "-cp", jars(), "-d", classes, *files]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted: dict[str, list[str]] = {"Dump": [], "AnyRows": []}
    for name, document in vectors.items():
        for vector in with_bytes(document, name):
            wanted["Dump"].append(f"read {{}}.{name.capitalize()} 1 {vector['bytes']}")
    wanted["Dump"] += [f"read {{}}.Z200 1 {version} {data}" for version, data in VERSIONS.items()]
    wanted["Dump"].append(f"read {{}}.Z000 1 {GZIP}")
    for name, kind in (("z000", "Z000"), ("z410", "Z400")):
        document = vectors[kind.lower()]
        for vector in right(document, name) or right(document, f"z400::{name}"):
            wanted["AnyRows"].append(f"{{}}.{kind}$Rows {vector['bytes']}")
    for program, questions in wanted.items():
        asked = [question.format(package) for package in packages for question in questions]
        lines = iter(answers(program, asked, classes))
        plain_answers = [json.loads(next(lines)) if program == "Dump" else next(lines) for _ in questions]
        for package in list(packages)[1:]:
            for question, of_plain in zip(questions, plain_answers, strict=True):
                answer = next(lines)
                if program == "Dump":
                    found = json.loads(answer)
                    kept = ("value", "error", "at", "inside")
                    assert "crash" not in found, (question.format(package), found)
                    for key in kept:
                        assert unnamed(found.get(key)) == unnamed(of_plain.get(key)), packages[package]
                else:
                    assert answer == of_plain, (question, packages[package])
        assert any(
            "value" in each if isinstance(each, dict) else "true, true" in each for each in plain_answers
        )


def answers(program: str, asked: list[str], classes: Path) -> list[str]:
    java = shutil.which("java")
    assert java is not None
    path = f"{classes}{os.pathsep}{jars()}"
    command = [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, program]
    done = subprocess.run(command, input="\n".join(asked) + "\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(asked)
    return lines
