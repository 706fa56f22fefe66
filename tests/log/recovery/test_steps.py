"""Steps act, and show what they do: one that nobody knew before is applied, printed and in the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kodec.cli.main import main
from kodec.cli.verbs import recover
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recovery
from kodec.log.recovery.steps import Step
from kodec.runtime.dataclass import dataclass
from tests.log import made

pytestmark = pytest.mark.quick


@dataclass(frozen=True, slots=True)
class Touch(Step):
    """A step of no version so far."""

    path: Path

    def apply(self, quarantine: Path) -> list[Path]:
        self.path.touch()
        return [quarantine / "nothing"]

    @property
    def text(self) -> str:
        return "touched"

    def facts(self) -> dict[str, object]:
        return {"how": "gently"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made.make(tmp_path / "logs" / "topic-0", [(0, [made.batch(0, [(b"k", b"v")])])])


@pytest.fixture
def touching(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the next recovery touches, with a step of its own."""

    def planned(path: Path, **options: Any) -> RecoveryPlan:
        plan = plan_recovery(path, **options)
        plan.steps.append(Touch(folder / "touched"))
        return plan

    monkeypatch.setattr(recover, "plan_recovery", planned)
    return folder / "touched"


def test_a_new_step_is_printed_and_applied(
    folder: Path, touching: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recover", str(folder)]) == 3
    assert f"{touching}: touched\n" in capsys.readouterr().out
    assert not touching.exists()
    assert main(["recover", str(folder), "--apply"]) == 0
    assert f"{touching}: touched\n" in capsys.readouterr().out
    assert touching.exists()


def test_a_new_step_is_in_the_json(folder: Path, touching: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recover", str(folder), "--apply", "--json"]) == 0
    rows = list(map(json.loads, capsys.readouterr().out.splitlines()))
    step = {"step": "touch", "file": str(touching), "how": "gently"}
    assert {"topic": "topic", "partition": 0, **step} in rows
    assert rows[-1]["done"] == rows[-1]["changes"] == len(rows) - 1
    assert rows[-1]["kept"] == [str(folder.parent.parent / "logs.quarantine" / "topic-0")]


@pytest.mark.parametrize("missing", ["apply", "text", "facts"])
def test_a_step_that_does_not_act_cannot_be_made(missing: str) -> None:
    body = {
        name: each for name, each in vars(Touch).items() if name in {"apply", "text", "facts"} - {missing}
    }
    with pytest.raises(TypeError, match=missing):
        type("Unfinished", (Step,), body)()
