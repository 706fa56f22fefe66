"""Which Java is taken, and what the script in front of a smaller one passes on."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kodec.errors import MissingDependency
from kodec.pipeline import java

ROOT = Path(__file__).parent.parent.parent


def fake_java(home: Path, version: str, modules: str = "java.base@1") -> Path:
    """A `java` that says its home, version and modules as a real one does, else prints its arguments."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    facts = f"    java.home = {home}\n    java.specification.version = {version}"
    program.write_text(
        f"""#!/bin/sh
case "$1" in
-XshowSettings:properties) echo {shlex.quote(facts)} >&2 ;;
--list-modules) echo {modules} ;;
*) printf '%s\\n' "$@" ;;
esac
"""
    )
    program.chmod(0o755)
    return home


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without Java, and without the wheel that holds one."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/nowhere")
    monkeypatch.setattr(java, "_wheel_java", lambda: None)
    return monkeypatch


def test_without_java_the_error_says_what_to_do(nothing: pytest.MonkeyPatch) -> None:
    assert java.system_java() is None
    with pytest.raises(MissingDependency, match="Java 17, 21 or 25"):
        java.java_home()


@pytest.mark.parametrize(
    ("version", "fits"), [("17", True), ("21", True), ("25", True), ("11", False), ("1.8", False)]
)
def test_versions(nothing: pytest.MonkeyPatch, tmp_path: Path, version: str, fits: bool) -> None:
    home = fake_java(tmp_path / "jdk", version)
    nothing.setenv("JAVA_HOME", str(home))
    assert java.system_java() == (home if fits else None)


def test_java_home_comes_before_path_unless_it_does_not_fit(
    nothing: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second = fake_java(tmp_path / "a", "17"), fake_java(tmp_path / "b", "21")
    nothing.setenv("PATH", str(second / "bin"))
    nothing.setenv("JAVA_HOME", str(first))
    assert java.system_java() == first
    nothing.setenv("JAVA_HOME", str(tmp_path / "gone"))
    assert java.system_java() == second


def test_the_wheel_is_taken_where_the_machine_has_none(nothing: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = fake_java(tmp_path / "whole", "25", "jdk.incubator.vector@25")
    nothing.setattr(java, "_wheel_java", lambda: whole)
    assert java.java_home() == whole


def test_a_java_without_the_vector_module_goes_behind_a_script(
    nothing: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = fake_java(tmp_path / "it's small", "25")
    nothing.setattr(java, "_wheel_java", lambda: small)
    home = java.java_home()
    assert home != small
    arguments = [
        "-cp",
        "a b:c",
        "--add-modules=jdk.incubator.vector",
        "--add-modules=x",
        "",
        "$HOME",
        "org.Main",
    ]
    said = subprocess.run(
        [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    ).stdout
    assert said.splitlines() == [a for a in arguments if a != "--add-modules=jdk.incubator.vector"]


def test_the_file_needs_nothing_that_is_not_in_python(nothing: pytest.MonkeyPatch) -> None:
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['system_java']())"
    path = ROOT / "src" / "kodec" / "pipeline" / "java.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, path],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert done.stdout.strip() == "None"
