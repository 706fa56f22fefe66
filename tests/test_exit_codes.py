"""Every verb x every kind of mistake: one exit code for a kind, as the table in docs/commands.md has it."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kodec.cli.app import command
from kodec.cli.commands import VERBS
from kodec.cli.main import main
from kodec.log.files import lock
from kodec.log.files.fingerprint import Fingerprint
from kodec.runtime.errors import StalePlan
from tests.data import LOGS
from tests.log.rebuild.test_rebuild import formatted

ROOT = Path(__file__).parent.parent
KINDS = {
    "left out": 1,
    "refused": 1,
    "usage": 2,
    "not found": 2,
    "to do": 3,
    "interrupted": 130,
}
"""Kinds of mistakes, in the order of the table in docs/commands.md after the row for 0."""

# A call of each verb that succeeds: IN is a log directory, OUT does not exist, BROKER has no log, FILE is a
# segment, EXPORTED what `export` has written, DUMP what `dump --edit-format` has.
CALLS = {
    "ls": "ls IN",
    "report": "report IN --to OUT.html",
    "find": "find IN --last 1",
    "dump": "dump IN/orders-0",
    "explain": "explain FILE --count 1 --html OUT.html",
    "inventory": "inventory IN --engine local",
    "offsets": "offsets IN",
    "groups": "groups IN",
    "transactions": "transactions IN",
    "producers": "producers IN",
    "metadata": "metadata IN",
    "epochs": "epochs IN",
    "retention": "retention IN",
    "verify": "verify IN --engine local",
    "recover": "recover IN",
    "diff": "diff IN IN2",
    "salvage": "salvage IN --to OUT",
    "reindex": "reindex IN",
    "trim": "trim IN --topic orders --before-offset 200",
    "compact": "compact IN --topic compacted --from-start",
    "redact": "redact IN --topic orders --offset 0",
    "load": "load DUMP --to OUT",
    "convert": "convert IN --topic orders --to OUT --compression gzip",
    "adopt": "adopt IN --into BROKER",
    "backup": "backup IN --to OUT",
    "rebuild": "rebuild --from IN --to BROKER --topic orders --hold-retention",
    "export": "export IN --to OUT --engine local",
    "compact-view": "compact-view IN --to OUT --topic compacted --engine local",
    "restore": "restore EXPORTED --to OUT --engine local",
    "scan": "scan FILE --schema SCHEMA --to OUT.csv",
    "new": "new FILE --to OUT.ksy",
    "generate": "generate --schemas SCHEMAS --to OUT",
    "check-evolution": "check-evolution SCHEMAS SCHEMAS",
    "conform": "conform --vectors IN -- true",
    "handoff": "handoff --schemas SCHEMAS --to OUT --name kit",
    "import-kafka": "import-kafka IN --to OUT",
    "upgrade-schemas": "upgrade-schemas --schemas SCHEMAS",
    "language-server": "language-server",
}
LOG_VERBS = [
    verb
    for verb, call in CALLS.items()
    if re.search(r" IN\b", call) and verb not in ("conform", "import-kafka")
]
IN_PLACE = ("recover", "reindex", "trim", "compact", "redact")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The inputs of all calls."""
    folder = tmp_path_factory.mktemp("exit-codes")
    logs = folder / "logs"
    names = (
        "orders-0",
        "compacted-0",
        "__consumer_offsets-0",
        "__transaction_state-0",
        "__cluster_metadata-0",
    )
    for name in names:
        shutil.copytree(LOGS / name, logs / name)
    shutil.copy(LOGS / "meta.properties", logs)
    schemas = folder / "schemas"
    schemas.mkdir()
    (schemas / "rows.ksy").write_text("{meta: {id: rows, endian: be}, seq: [{id: a, type: u1}]}")
    with contextlib.redirect_stdout(io.StringIO()) as lines:
        assert (
            main(
                [
                    "export",
                    str(logs),
                    "--to",
                    str(folder / "exported"),
                    "--engine",
                    "local",
                    "--topic",
                    "orders",
                ]
            )
            == 0
        )
    with contextlib.redirect_stdout(io.StringIO()) as lines:
        assert main(["dump", "--edit-format", str(logs / "orders-0")]) == 0
    (folder / "dump").write_text(lines.getvalue())
    shutil.copytree(logs, folder / "logs2")
    return {
        "IN": logs,
        "IN2": folder / "logs2",
        "FILE": logs / "orders-0/00000000000000000000.log",
        "EXPORTED": folder / "exported",
        "DUMP": folder / "dump",
        "SCHEMA": schemas / "rows.ksy",
        "SCHEMAS": schemas,
    }


Made = dict[str, Path]


def called(verb: str, made: Made, tmp_path: Path, call: str = "", **other: Path) -> list[str]:
    """The words of a call with the paths put in."""
    places = made | {"OUT": tmp_path / "out"} | other
    words = []
    for word in (call or CALLS[verb]).split():
        name = re.split(r"[/.]", word, maxsplit=1)[0]
        if name == "BROKER":
            word, places["BROKER"] = "BROKER", formatted(tmp_path / "broker")
            name = word
        words.append(f"{places[name]}{word[len(name) :]}" if name in places else word)
    return words


def code_of(words: list[str]) -> tuple[int, str]:
    """The exit code and what is on stderr."""
    with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()):
        code = main(words)
    assert "Traceback" not in err.getvalue()
    return code, err.getvalue()


def test_every_verb_is_here() -> None:
    assert sorted(CALLS) == sorted(VERBS)


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs/commands.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([^|:]+)[|:]", page, re.MULTILINE)
    assert [(int(code), kind.strip()) for code, kind in rows] == [
        (0, "done"),
        *((code, kind) for kind, code in KINDS.items()),
    ]


# -- usage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", CALLS)
def test_an_unknown_option(verb: str, made: Made, tmp_path: Path) -> None:
    code, err = code_of([*called(verb, made, tmp_path)[:1], "--nonsense"])
    assert (code, "No such option: --nonsense" in err) == (KINDS["usage"], True)


@pytest.mark.parametrize(
    "verb", [verb for verb in CALLS if any(each.required for each in command(verb).parameters)]
)
def test_a_missing_argument(verb: str) -> None:
    code, err = code_of([verb])
    assert (code, "Missing" in err) == (KINDS["usage"], True)


OPTIONS = [
    (verb, each.name)
    for verb in CALLS
    for each in command(verb).options
    if each.values or each.type in (int, float)
]


@pytest.mark.parametrize(("verb", "option"), OPTIONS, ids=[" ".join(each) for each in OPTIONS])
def test_a_wrong_value_is_named(verb: str, option: str) -> None:
    code, err = code_of([verb, f"{option}=nonsense"])
    assert code == KINDS["usage"]
    assert option in err and "'nonsense'" in err


@pytest.mark.parametrize(
    "words",
    [
        "find IN --since",
        "find IN --until",
        "redact IN --since",
        "retention IN --now",
        "transactions IN --now",
    ],
)
def test_a_wrong_time_is_named(words: str, made: Made, tmp_path: Path) -> None:
    given = called("", made, tmp_path, words)
    code, err = code_of([*given, "yesterday"])
    assert code == KINDS["usage"]
    assert f"{given[-1]} yesterday: expected a time" in err and "isoformat" not in err


# -- not found ---------------------------------------------------------------------------------------


def _archive(path: Path) -> Path:
    with tarfile.open(path, "w:gz") as file:
        file.add(LOGS / "meta.properties", "logs/meta.properties")
    return path


def _above(path: Path) -> Path:
    shutil.copytree(LOGS / "orders-0", path / "brokers/broker-1/orders-0")
    return path


def _empty(path: Path) -> Path:
    path.mkdir()
    return path


NO_LOGS: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "absent": (lambda path: path, "none", "none does not exist"),
    "empty folder": (_empty, "empty", "empty"),
    "tarball": (_archive, "logs.tar.gz", "an archive: unpack it"),
    "a folder two levels above": (_above, "above", "above/brokers/broker-1"),
}


@pytest.mark.parametrize("kind", NO_LOGS)
@pytest.mark.parametrize("verb", LOG_VERBS)
def test_a_path_without_a_log(verb: str, kind: str, made: Made, tmp_path: Path) -> None:
    make, name, text = NO_LOGS[kind]
    path = make(tmp_path / name)
    call = CALLS[verb].replace("IN/orders-0", "IN")
    if verb == "dump" and kind == "a folder two levels above":
        pytest.skip("it reads all segments below a folder")
    code, err = code_of(called(verb, made, tmp_path, call, IN=path, IN2=path))
    assert code == KINDS["not found"], err
    assert text in err


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.TGZ", "a.zip", "a.tar.zst", "a.tar.bz2", "a.7z"])
def test_an_archive_is_named(name: str, made: Made, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    for verb in ("ls", "verify", "dump"):
        code, err = code_of([verb, str(tmp_path / name)])
        assert (code, f"{name}" in err and "an archive: unpack it" in err) == (KINDS["not found"], True)


def test_an_archive_may_be_a_file_of_its_schema(made: Made, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"x")
    assert code_of(["dump", str(tmp_path / "a.zip"), "--schema", str(made["SCHEMA"])])[0] == 0


@pytest.mark.parametrize(
    "verb", [verb for verb in LOG_VERBS if any(each.name == "--topic" for each in command(verb).options)]
)
def test_an_unknown_topic(verb: str, made: Made, tmp_path: Path) -> None:
    call = CALLS[verb].replace(" --topic orders", "").replace(" --topic compacted", "")
    code, err = code_of([*called(verb, made, tmp_path, call), "--topic", "nosuch"])
    assert code == KINDS["not found"], err
    assert "nosuch" in err


@pytest.mark.parametrize(
    "words",
    [
        "find IN --partition 99",
        "find IN --topic orders --partition 99",
        "find IN --transactional-id nosuch",
        "producers IN --partition 99",
        "epochs IN --partition 99",
        "retention IN --partition 99",
        "offsets IN --group nosuch",
        "groups IN --group nosuch",
        "metadata IN --offset 1 --topic orders",
        "restore EXPORTED --to OUT --engine local --topic nosuch",
        "restore IN --to OUT --engine local",
        "backup --to OUT --list",
        "backup --to IN --list",
        "backup --to OUT --check",
    ],
)
def test_an_unknown_name(words: str, made: Made, tmp_path: Path) -> None:
    code, err = code_of(called("", made, tmp_path, words))
    assert code == KINDS["not found"], err
    assert "Usage" not in err


# -- refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [verb for verb, call in CALLS.items() if "OUT" in call and verb not in ("generate", "import-kafka")],
)
def test_a_target_that_exists(verb: str, made: Made, tmp_path: Path) -> None:
    words = called(verb, made, tmp_path)
    out = Path(next(each for each in words if "/out" in each))
    # a log directory that has this topic-partition
    out = out / "orders-0" if verb == "salvage" else out
    if "." in out.name:
        out.write_text("theirs")
    else:
        out.mkdir(parents=True)
        (out / "theirs").write_text("theirs")
    if verb != "backup" and any(each.name == "--apply" for each in command(verb).options):
        words.append("--apply")
    code, err = code_of(words)
    assert code == KINDS["refused"], err
    assert out.name in err and "Errno" not in err
    # in the words of the command line, where the verb has the option
    has_option = any(each.name == "--overwrite" for each in command(verb).options)
    assert ("--overwrite replaces it" in err) == has_option
    assert "overwrite=True" not in err
    assert (out if "." in out.name else out / "theirs").read_text() == "theirs"


@pytest.mark.parametrize("verb", ["report", "export", "compact-view", "salvage", "convert"])
def test_a_target_in_the_source(verb: str, made: Made, tmp_path: Path) -> None:
    code, err = code_of(called(verb, made, tmp_path, OUT=made["IN"] / "out"))
    assert (code, "inside" in err) == (KINDS["refused"], True), err


def _broken(verb: str, made: Made, tmp_path: Path) -> Path:
    """Logs in which a verb that changes them in place has something to do."""
    logs = shutil.copytree(made["IN"], tmp_path / "broken")
    if verb == "recover":
        path = sorted((logs / "orders-0").glob("*.log"))[-1]
        path.write_bytes(path.read_bytes()[:-3])
    else:
        sorted((logs / "orders-0").glob("*.index"))[0].unlink()
    return logs


@pytest.fixture(params=["live broker", "stale plan"])
def refusal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a verb finds when it wants to change logs; the text on stderr."""

    def busy(fd: int, path: Path) -> None:
        raise BlockingIOError(errno.EAGAIN, "in use: a broker holds the lock", str(path))

    def stale(self: Fingerprint) -> None:
        raise StalePlan(str(self.folder), "has changed")

    if request.param == "live broker":
        monkeypatch.setattr(lock, "_lock", busy)
        return "in use"
    monkeypatch.setattr(Fingerprint, "require", stale)
    return "plan again"


@pytest.mark.parametrize("verb", IN_PLACE)
def test_a_change_that_is_refused(verb: str, refusal: str, made: Made, tmp_path: Path) -> None:
    words = called(verb, made, tmp_path, IN=_broken(verb, made, tmp_path))
    code, err = code_of(words)
    assert code == KINDS["to do"], err
    code, err = code_of([*words, "--apply"])
    assert code == KINDS["refused"], err
    assert refusal in err


# -- left out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [verb for verb in LOG_VERBS if verb not in ("rebuild", "adopt", "diff")])
def test_a_damaged_log(verb: str, made: Made, tmp_path: Path) -> None:
    """An unknown magic in each topic-partition; tests/test_left_out.py has other damage."""
    logs = shutil.copytree(made["IN"], tmp_path / "damaged")
    for path in logs.glob("*/*.log"):
        data = bytearray(path.read_bytes())
        data[16] = 9  # the magic
        path.write_bytes(data)
        path.with_suffix(".index").unlink(missing_ok=True)
    code, err = code_of(called(verb, made, tmp_path, IN=logs, IN2=logs))
    assert code in ((KINDS["left out"],) if verb not in ("recover", "reindex") else (1, 3)), err


# -- interrupted -------------------------------------------------------------------------------------


@contextlib.contextmanager
def interrupted(path: Path) -> Iterator[None]:
    """Ctrl-C at the first look at what is below a folder."""

    def stop(given: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(given, (str, os.PathLike)) and str(given).startswith(str(path)):
            raise KeyboardInterrupt
        return original(given, *rest, **more)

    original = os.scandir
    opened = io.open

    def stop_open(given: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(given, (str, os.PathLike)) and str(given).startswith(str(path)):
            raise KeyboardInterrupt
        return opened(given, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", stop)
        patch.setattr(io, "open", stop_open)
        yield


@pytest.mark.parametrize("verb", LOG_VERBS)
def test_ctrl_c(verb: str, made: Made, tmp_path: Path) -> None:
    words = called(verb, made, tmp_path)
    with interrupted(made["IN"]):
        code, err = code_of(words)
    assert (code, "interrupted" in err) == (KINDS["interrupted"], True)


@pytest.mark.parametrize("verb", LOG_VERBS)
def test_a_full_disk_under_stdout(verb: str, made: Made, tmp_path: Path) -> None:
    """What is printed goes nowhere."""
    words = called(verb, made, tmp_path)
    with open("/dev/full", "w") as full, contextlib.redirect_stdout(full):  # noqa: PTH123
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = main(words)
        if "No space left" in err.getvalue():
            assert code == KINDS["left out"]
        with contextlib.suppress(OSError):
            full.close()
