"""A library that is missing is named with the command that brings it."""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

import pytest

from kodec.runtime import extras
from kodec.runtime.extras import install_command
from tests.data import ROOT
from tests.golden import Golden

pytestmark = pytest.mark.quick

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"all"}))
def test_the_command_names_what_the_extra_needs(extra: str) -> None:
    command = install_command(extra)
    assert command.startswith("pip install '") and "kodec" not in command
    for requirement in EXTRAS[extra]:
        name = requirement.replace("-", "_").partition(">")[0].partition("=")[0]
        assert f"'{name}" in command.replace("-", "_")


def test_without_metadata_it_names_the_extra(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    def missing(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "PROJECT", Path("nowhere"))
    monkeypatch.setattr(importlib.metadata, "requires", missing)
    golden(install_command("generator", "arrow"))


def test_an_installed_kodec_asks_its_metadata(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    listed = [
        "lz4>=4",
        "pyyaml>=6; extra == 'generator'",
        "jinja2>=3.1 ; extra=='generator'",
        "rich; extra == 'cli'",
    ]
    monkeypatch.setattr(extras, "PROJECT", Path("nowhere"))
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: listed)
    golden(install_command("generator"))
