"""Tables and the page of help as a terminal of any width shows them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kodec.cli.commands import GROUPS, VERBS, help_page
from kodec.cli.main import main
from kodec.cli.tables import Layout, print_table
from tests.data import LOGS
from tests.golden import Golden

ROWS = [["orders of a shop", 0, 12_345_678, "clean"], ["注文", 11, 10_000, "torn"]]


def table(capsys: pytest.CaptureFixture[str], **options: object) -> list[str]:
    print_table("2 rows", ["name", "partition", "end offset", "health"], ROWS, "name, health", **options)  # type: ignore[arg-type]
    return capsys.readouterr().out.splitlines()


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def test_nothing_is_cut_in_a_pipe(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    golden(table(capsys))


def test_text_gives_way_and_numbers_stay_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in range(1, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = "\n".join(table(capsys, least="partition, health"))
        assert "12345678" in shown and "10000" in shown
        assert ("partition" in shown.splitlines()[2]) == ("--wide" not in shown)
    monkeypatch.setenv("COLUMNS", "30")
    assert "health" in table(capsys, least="health", layout=Layout(wide=True))[2]


def test_columns_are_chosen(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    golden(table(capsys, layout=Layout("end offset, name"))[-2:])
    assert main(["ls", str(LOGS), "--columns", "topic,size"]) == 2
    assert "no column 'size'" in re.sub(r"\s*│\s*\n?\s*", " ", capsys.readouterr().err)


@pytest.mark.parametrize(
    "verb", ["ls", "inventory", "offsets", "groups", "transactions", "producers", "epochs"]
)
def test_80_columns_are_enough(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([verb, str(LOGS)]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80 and "…" not in shown
    assert main([verb, str(LOGS), "--wide"]) == 0
    assert "too narrow" not in capsys.readouterr().out


def test_ls_sorts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(LOGS), "--sort", "end", "--columns", "topic,end"]) == 0
    ends = [int(line.split()[-1]) for line in capsys.readouterr().out.splitlines()[3:]]
    assert len(ends) > 20 and ends == sorted(ends, reverse=True)
    assert main(["ls", str(LOGS), "--sort", "size"]) == 2


def test_the_page_of_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == help_page() + "\n"
    assert max(map(len, help_page().splitlines())) <= 80
    files = {path.stem.replace("_", "-") for path in (Path("src/kodec/cli/verbs")).glob("[!_]*.py")}
    assert files == set(VERBS) and sum(map(len, GROUPS.values())) == len(VERBS)


def test_help_and_version_import_little() -> None:
    for option in ("--help", "--version"):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "kodec", option],
            capture_output=True,
            text=True,
            check=True,
        )
        imported = set(re.findall(r"\| +([\w.]+)$", done.stderr, re.M))
        assert "kodec.cli.main" in imported and not {"dataclasses", "logging", "kodec.log"} & imported
