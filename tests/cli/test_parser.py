"""The command line from signatures: values, what is refused, and the help."""

from __future__ import annotations

import enum
import re
from pathlib import Path
from typing import Annotated

import pytest

from kodec.cli.app import EARLIER, SYNONYMS, command
from kodec.cli.commands import VERBS
from kodec.cli.help import help_lines
from kodec.cli.main import main
from kodec.cli.parser import Argument, Command, HelpWanted, Option, UsageError
from tests.data import DATA
from tests.golden import Golden

ROOT = Path(__file__).parent


class Colour(enum.Enum):
    red = "red"
    blue_green = "blue-green"


def verb(
    paths: Annotated[list[Path], Argument(metavar="PATH...", exists=True, dash=True)],
    to: Annotated[Path, Argument(file_okay=False)],
    number: Annotated[int | None, Option("--number", min=1, max=9)] = None,
    many: Annotated[list[int] | None, Option(min=0, help="Some.")] = None,
    rate: Annotated[float, Option(min=0)] = 0.5,
    colour: Annotated[Colour, Option()] = Colour.red,
    codec: Annotated[str, Option(one_of=("none", "zstd"))] = "none",
    dry_run: Annotated[bool, Option()] = False,
) -> None:
    """Do it.

    More about it.

    example:  kodec verb a b

    exit:     0 done   2 bad usage
              3 nothing to do
    """


VERB = Command("verb", verb)
HERE = str(ROOT)


def parsed(*words: str) -> dict[str, object]:
    return VERB.parsed(words)


def test_values_of_all_types() -> None:
    found = parsed(
        HERE, "--number", "+3", "-", "--many=1", "--many", "2", "--rate", "1e1",
        "--colour", "blue-green", "--codec=zstd", "--dry-run", "out",
    )  # fmt: skip
    assert found == {
        "paths": [ROOT, Path("-")], "to": Path("out"), "number": 3, "many": [1, 2], "rate": 10.0,
        "colour": Colour.blue_green, "codec": "zstd", "dry_run": True,
    }  # fmt: skip
    assert parsed(HERE, "x") == {
        "paths": [ROOT], "to": Path("x"), "number": None, "many": None, "rate": 0.5,
        "colour": Colour.red, "codec": "none", "dry_run": False,
    }  # fmt: skip


def test_a_value_may_look_like_an_option_and_a_path_too() -> None:
    assert command("find").parsed([HERE, "--since", "-2h"])["since"] == "-2h"
    assert command("find").parsed([HERE, "--since=", "--key", "--x"])["key"] == ["--x"]
    assert parsed(HERE, "--", "--number")["to"] == Path("--number")
    assert parsed(HERE, "x", "--number", "1", "--number", "2")["number"] == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "Missing argument 'PATH...'."),
        (["x"], "Missing argument 'PATH...'."),
        (["/nowhere", "x"], "Invalid value for 'PATH...': /nowhere does not exist"),
        (["/dev/null/x", "x"], "Invalid value for 'PATH...': /dev/null/x does not exist"),
        (["x" * 300, "x"], "File name too long"),
        ([HERE, __file__], "test_parser.py is a file"),
        ([HERE, "x", "--number"], "Option '--number' requires an argument."),
        ([HERE, "x", "--number", "0"], "Invalid value for '--number': 0 is not 1 to 9"),
        ([HERE, "x", "--number", "1_0"], "Invalid value for '--number': '1_0' is not an integer"),
        ([HERE, "x", "--number", "1" * 5000], "is not an integer"),
        ([HERE, "x", "--many", "-1"], "Invalid value for '--many': -1 is not at least 0"),
        ([HERE, "x", "--rate", "nan"], "Invalid value for '--rate': nan is not at least 0"),
        ([HERE, "x", "--rate", "x"], "Invalid value for '--rate': 'x' is not a number"),
        ([HERE, "x", "--colour", "blue"], "'--colour': expected red or blue-green, not 'blue'"),
        ([HERE, "x", "--codec", "lz4"], "'--codec': expected none or zstd, not 'lz4'"),
        ([HERE, "x", "--dry-run=1"], "Option '--dry-run' does not take a value."),
        ([HERE, "x", "--dry"], "No such option: --dry"),
        ([HERE, "x", "--numbr", "1"], "No such option: --numbr; did you mean --number"),
        ([HERE, "x", "-n"], "No such option: -n"),
    ],
)  # fmt: skip
def test_what_is_wrong_has_a_name(words: list[str], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(*words)
    assert text in str(caught.value)


def test_too_many_arguments() -> None:
    with pytest.raises(UsageError, match="Got unexpected extra arguments: b c"):
        command("explain").parsed([__file__, "b", "c"])


def test_help_is_wanted() -> None:
    for word in ("--help", "-h"):
        with pytest.raises(HelpWanted):
            parsed(HERE, word)


@pytest.mark.parametrize("name", VERBS)
def test_the_help_of_each_verb_fits_80_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = list(help_lines(command(name)))
    examples = [line for line in lines if "  kodec " in line]
    assert lines[0].startswith(f"Usage: kodec {name} [OPTIONS]") and examples
    assert max(len(line) for line in lines if line not in examples) <= 80
    said = " ".join(" ".join(lines).split())
    for each in command(name).parameters:
        assert each.help and each.name in said and " ".join(each.help.split()) in said


def test_the_help_has_it_all(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    golden(list(help_lines(VERB)))


def test_bad_usage_is_three_lines_on_stderr(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert main(["ls", "--\x1b[31m"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    golden(said.err.splitlines())
    assert main(["verfy", "x"]) == 2
    golden(capsys.readouterr().err)
    assert main(["--verbose"]) == 2
    golden(capsys.readouterr().err)
    assert main([]) == 2


LOGS = str(DATA / "kafka-4.3.1/logs")
SCHEMA = str(Path(__file__).parents[2] / "schemas" / "log" / "record_batch.ksy")
SEGMENT = f"{LOGS}/orders-0/{0:020d}.log"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lag", LOGS], "No such verb: lag; did you mean offsets?"),
        (["fsck", LOGS], "did you mean verify?"),
        (["recover", LOGS, "--dry-run"], "No such option: --dry-run; without --apply nothing is changed"),
        (["restore", LOGS, "--apply"], "No such option: --apply; it is done at once, without --dry-run"),
        (["offsets", LOGS, "--group", "order-classic"], "no group order-classic in .*did you mean orders-cl"),
        (["groups", LOGS, "--group", "nobody"], "no group nobody in [^;]*$"),
        (["offsets", f"{LOGS}/orders-0"], "the folder of a topic-partition; give the log directory, .*logs$"),
        (["find", LOGS, "--topic", "orders,compacted"], "no topic orders,compacted; name each by itself"),
        (
            ["convert", LOGS, "--topic", "ordrs", "--magic", "1", "--to", "x"],
            "has no topic ordrs; did you mean orders",
        ),
        (["metadata", LOGS, "--before-offset", "9999"], "has offsets 0 to 234 .exclusive., not 9999"),
        (["explain", SCHEMA, SEGMENT], "unexpected extra argument: .*; name a schema with --schema"),
        (["explain", SEGMENT, "x"], "unexpected extra argument: x$"),
        (["export", LOGS, "--to", "x", "--value-format", "json"], "'json' is for csv and jsonl: parquet"),
        (
            ["generate", "--schemas", LOGS, "--to", "x", "--package", "x", "--target", "go"],
            "--package is for --tests; for a target: --option",
        ),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_what_people_type_is_answered_with_what_to_type(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and re.search(said, err.rstrip()), err


def test_synonyms_of_verbs_are_no_verbs() -> None:
    assert not SYNONYMS.keys() & VERBS.keys() and VERBS.keys() >= set(SYNONYMS.values())


def test_options_have_their_earlier_names_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for (verb, name), now in EARLIER.items():
        options = {each.name for each in command(verb).parameters if each.is_option}
        assert now[0] in options and name not in options
    logs = str(DATA / "kafka-4.3.1/logs")
    shown = []
    for option in (["--template", "%o "], ["--format", "%o "], ["--format=%o "]):
        assert main(["find", logs, "--topic", "orders", "--partition", "0", "--last", "2", *option]) == 0
        shown.append(capsys.readouterr().out)
    assert shown == ["419 420 "] * 3
    # what follows -- is no option
    assert main(["find", "--", "--format"]) == 2
    assert "--format" in capsys.readouterr().err
