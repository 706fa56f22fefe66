"""The sample logs with their expected rows, and the backends that must read them alike."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kodec.log import kernel
from tests.data import SAMPLES


@dataclass(frozen=True)
class Sample:
    """One sample log: its bytes, and what it holds.

    Attributes:
        rows: (offset, timestamp, name of the timestamp's type, key, value, headers), in file order.
        batches: what `batches.json` reports about each entry.
    """

    name: str
    path: Path
    data: bytes
    rows: list[tuple[Any, ...]]
    batches: list[dict[str, Any]]


def _unbase64(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def _load(path: Path) -> Sample:
    name = path.stem
    lines = path.with_name(f"{name}.expected.jsonl").read_text(encoding="utf-8").splitlines()
    rows = []
    for row in map(json.loads, lines):
        headers = tuple((key, _unbase64(value)) for key, value in row["headers"])
        key, value = _unbase64(row["key"]), _unbase64(row["value"])
        rows.append((row["offset"], row["timestamp"], row["timestampType"], key, value, headers))
    batches = json.loads((SAMPLES / "batches.json").read_text(encoding="utf-8"))[name]
    return Sample(name, path, path.read_bytes(), rows, batches)


@pytest.fixture(scope="session")
def samples() -> list[Sample]:
    """Every sample log, by name."""
    return [_load(path) for path in sorted(SAMPLES.glob("*.log"))]


@pytest.fixture(params=sorted(path.stem for path in SAMPLES.glob("*.log")))
def sample(request: pytest.FixtureRequest) -> Sample:
    """Each sample log in turn."""
    return _load(SAMPLES / f"{request.param}.log")


@pytest.fixture(params=["pure", "native"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each backend in turn, chosen for the test; the native one only where it was built."""
    name: str = request.param
    if name == "native" and not kernel.is_built():
        pytest.skip("the native kernel is not built")
    monkeypatch.setattr(kernel, "backend", lambda: name)
    return name
