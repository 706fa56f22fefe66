"""What is prepared for releases agrees with the project: recipes, pom, image, table of platforms."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parent.parent
RELEASE = ROOT / "release"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
POM = "{http://maven.apache.org/POM/4.0.0}"


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", each)[0] for each in requirements}


def needed() -> set[str]:
    extras = PROJECT["optional-dependencies"]
    return names([*PROJECT["dependencies"], *extras["arrow"], *extras["cli"]])


def test_recipes_name_every_library_and_the_hash_of_the_sdist(tmp_path: Path) -> None:
    sdist = tmp_path / "kodec.tar.gz"
    sdist.write_bytes(b"abc")
    command = [sys.executable, RELEASE / "recipes.py", "--sdist", sdist, "--out", tmp_path]
    subprocess.run(command, check=True)
    formula, recipe = ((tmp_path / name).read_text() for name in ("kodec.rb", "recipe.yaml"))
    for text in (formula, recipe):
        assert "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" in text
        assert all(name in text for name in needed())
    assert f'version: "{PROJECT["version"]}"' in recipe


def test_the_lock_of_the_image_has_what_it_installs() -> None:
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / "image.txt").read_text(), re.MULTILINE))
    assert needed() <= locked
    text = (RELEASE / "Containerfile").read_text(encoding="utf-8")
    assert "requirements/image.txt" in text
    assert re.search(r"^USER [1-9]\d*:", text, re.MULTILINE)


def test_the_pom_asks_for_no_library() -> None:
    pom = ElementTree.fromstring((RELEASE / "pom.xml").read_text(encoding="utf-8"))
    assert pom.findtext(f"{POM}licenses/{POM}license/{POM}name") == PROJECT["license"]
    assert pom.find(f"{POM}dependencies") is None
    for part in ("name", "description", "url", "scm", "developers"):
        assert pom.find(f"{POM}{part}") is not None


def test_the_table_of_tried_wheels_has_a_row_for_each(tmp_path: Path) -> None:
    tags = {
        "cp311-cp311-manylinux_2_27_aarch64.manylinux_2_28_aarch64": "| Linux aarch64, glibc | 3.11 |",
        "cp312-cp312-musllinux_1_2_x86_64": "| Linux x86-64, musl | 3.12 |",
        "cp313-cp313-macosx_11_0_arm64": "| macOS aarch64 | 3.13 |",
        "cp314-cp314-win_amd64": "| Windows x86-64 | 3.14 |",
    }
    for tag in tags:
        (tmp_path / f"kodec-1.0-{tag}.whl").write_bytes(b"")
    table = tmp_path / "table.md"
    command = [sys.executable, RELEASE / "platforms.py", "--tried", tmp_path, "--table", table]
    subprocess.run(command, check=True)
    lines = table.read_text(encoding="utf-8").splitlines()
    for row in tags.values():
        assert sum(line.startswith(row) for line in lines) == 1
