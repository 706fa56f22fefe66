"""Every verb that reads gives the same of an object store as of this machine, and writes none there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kodec.cli.main import main
from tests.data import LOGS
from tests.golden import Golden
from tests.log.stores import SECRET, Server

_SEGMENT = "orders-0/00000000000000000000"

READING = [
    "ls LOGS",
    "ls --json LOGS/orders-0",
    f"dump LOGS/{_SEGMENT}.log --control",
    f"dump --json LOGS/{_SEGMENT}.log",
    f"dump LOGS/{_SEGMENT}.index LOGS/{_SEGMENT}.timeindex",
    "dump LOGS/recovery-point-offset-checkpoint LOGS/meta.properties",
    "dump --decode LOGS/__consumer_offsets-0/00000000000000000000.log",
    "dump --batches LOGS/segments-0",
    "dump --edit-format LOGS/transactions-0",
    "find LOGS --topic orders --last 10",
    'find LOGS --key customer-9 --where "value.count > 4" --json',
    "find LOGS --topic orders --count",
    f"explain LOGS/{_SEGMENT}.log --offset 20 --limit 1",
    "inventory LOGS",
    "offsets LOGS --group orders-classic",
    "groups LOGS",
    "transactions LOGS",
    "producers LOGS",
    "metadata LOGS",
    "epochs LOGS",
    "retention LOGS --topic segments --retention-ms 1",
    "verify LOGS",
    "verify --json LOGS/idempotent-0",
    "report LOGS --json",
    "salvage LOGS --topic orders --to NEW",
    "convert LOGS --topic orders --to NEW --compression gzip",
]


@pytest.fixture(autouse=True)
def objects_of_the_store(server: Server) -> None:
    server.upload(LOGS, "some/logs")


def run(command: str, logs: str, new: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    words = [each.strip('"').replace("LOGS", logs).replace("NEW", new) for each in _words(command)]
    code = main(words)
    out, err = capsys.readouterr()
    plain = [re.sub(r"\d+ ms old|in \d+\.\d+ s|\d{4}-\d\d-\d\dT[\d:.]+Z", "", text) for text in (out, err)]
    return code, *(text.replace(logs, "LOGS") for text in plain)


def _words(command: str) -> list[str]:
    return re.findall(r'"[^"]*"|\S+', command)


@pytest.mark.parametrize("command", READING)
def test_a_verb_reads_a_store(
    command: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = str(tmp_path / "new")
    server.asked()
    here = run(command, str(LOGS), new, capsys)
    assert run(command, "s3://logs/some/logs", new, capsys) == here
    assert here[0] in (0, 3) and not (tmp_path / "new").exists()
    assert not any(each.method == "PUT" for each in server.asked())


@pytest.mark.parametrize("command", [each for each in READING if "LOGS/orders-0/0" in each])
def test_a_verb_reads_a_file_of_a_web_server(
    command: str, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    here = run(command, str(LOGS), "", capsys)
    assert run(command, f"{server.web}/some/logs", "", capsys) == here
    assert run(command, LOGS.as_uri(), "", capsys)[0] == here[0] == 0


def test_a_web_server_lists_nothing(
    server: Server, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    code, out, err = run("ls LOGS", f"{server.web}/some/logs", "", capsys)
    assert (code, out) == (1, "")
    golden(err)


@pytest.mark.parametrize(
    "command",
    [
        "recover LOGS --apply",
        "reindex LOGS/orders-0 --apply",
        "trim LOGS --topic orders --retention-bytes 1 --apply",
        "compact LOGS --topic compacted --apply",
        "redact LOGS --key x --apply",
        "adopt LOGS --into NEW --apply",
        "restore LOGS --to NEW",
        "load - --to LOGS",
    ],
)
def test_what_changes_logs_does_so_on_this_machine(
    command: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (tmp_path / "new").mkdir()
    server.asked()
    code, _, err = run(command, "s3://logs/some/logs", str(tmp_path / "new"), capsys)
    assert code == 2
    golden(err)
    assert not server.asked() and not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize(
    ("url", "code", "words"),
    [
        ("s3://logs/nothing", 1, "s3://logs/nothing"),
        ("s3://other/logs", 1, "no such bucket"),
        ("hdfs://logs/x", 2, "hdfs: URLs are not read"),
        ("s3://a:SECRET1@logs/x", 2, "a URL with credentials is refused"),
        ("s3://logs/../x", 2, "not the name of an object"),
    ],
)
def test_urls_at_which_nothing_is(
    url: str, code: int, words: str, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("ls", "verify", "dump", "inventory"):
        found = main([verb, url])
        out, err = capsys.readouterr()
        assert found == code and out in ("", f"== {url}\n")
        assert words in " ".join(err.split()) and "SECRET1" not in err


def test_wrong_credentials(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    server.fault = lambda method, key, number: (403, "SignatureDoesNotMatch")
    try:
        for verb in ("ls", "verify", "dump", "offsets", "find"):
            words = ["--topic", "orders"] if verb == "find" else []
            assert main([verb, "s3://logs/some/logs", *words]) == 1
            out, err = capsys.readouterr()
            assert out in ("", "== s3://logs/some/logs\n")
            assert SECRET not in err
            golden(err)
    finally:
        server.fault = lambda method, key, number: None


WRITING = [
    "salvage LOGS --topic orders --to NEW --apply",
    "convert LOGS --topic orders --to NEW --compression gzip --apply",
    "export LOGS --topic orders --to NEW",
    "compact-view LOGS --topic compacted --to NEW",
]


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def _made(server: Server, name: str) -> dict[str, bytes]:
    return {
        key.removeprefix(f"{name}/"): data
        for key, data in server.objects.items()
        if key.startswith(f"{name}/")
    }


@pytest.mark.parametrize("command", WRITING)
def test_a_verb_writes_into_a_store(
    command: str, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    name = command.split()[0]
    assert run(command, str(LOGS), str(tmp_path / "new"), capsys)[0] == 0
    server.asked()
    code, out, _ = run(command, "s3://logs/some/logs", f"s3://logs/{name}", capsys)
    assert code == 0
    if name in ("salvage", "convert"):
        assert f"s3://logs/{name}/orders-0" in out
    made = _made(server, name)
    assert made == _files(tmp_path / "new")
    written = [each.key for each in server.asked() if each.method == "PUT"]
    assert written[0].endswith("_kodec-unfinished") and len(written) == len(set(written))
    assert name != "export" or written[-1].endswith("/_SUCCESS")
    # nothing there is replaced
    code, _, err = run(command, str(LOGS), f"s3://logs/{name}", capsys)
    assert code == 1 and _made(server, name) == made
    golden(err)


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("puts", [0, 1, 3, 6])
def test_what_is_not_all_there_is_not_read(
    command: str, puts: int, server: Server, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    name = f"stopped-{command.split()[0]}-{puts}"
    server.asked()

    def refuse(method: str, key: str, number: int) -> tuple[int, str] | None:
        put = sum(each.method == "PUT" for each in server.requests)
        return (403, "AccessDenied") if method == "PUT" and put >= puts else None

    server.fault = refuse
    try:
        code, _, err = run(command, str(LOGS), f"s3://logs/{name}", capsys)
    finally:
        server.fault = lambda method, key, number: None
    if code == 0:
        # all was there before
        assert puts > 3 and "_kodec-unfinished" not in str(_made(server, name))
        return
    assert code == 1
    golden(err)
    if puts:
        for verb in ("ls", "verify", "dump", "inventory"):
            assert main([verb, f"s3://logs/{name}"]) == 1
            golden(capsys.readouterr().err)
    code, _, err = run(command, str(LOGS), f"s3://logs/{name}", capsys)
    assert code == (1 if puts else 0)


def test_two_writers_of_one_folder(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """The other one has begun after this one has looked."""
    name = "two-writers"
    mark = f"{name}/_kodec-unfinished"

    def other(method: str, key: str, number: int) -> None:
        if method == "PUT" and key == mark:
            server.objects.setdefault(mark, b"of the other")

    server.fault = other
    try:
        code, _, err = run(WRITING[2], str(LOGS), f"s3://logs/{name}", capsys)
    finally:
        server.fault = lambda method, key, number: None
    assert code == 1 and "there is such an object" in err
    assert _made(server, name) == {"_kodec-unfinished": b"of the other"}


def test_options_that_stores_cannot_have(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    for option, words in (("--overwrite", "is replaced"), ("--resume", "this machine")):
        code, _, err = run(f"export LOGS --to NEW {option}", str(LOGS), "s3://logs/optional", capsys)
        assert code != 0 and words in err and not _made(server, "optional")
    code, _, err = run(WRITING[2], "s3://logs/some/logs", "s3://logs/some/logs/new", capsys)
    assert code == 1 and "is inside the source" in err
    code, _, err = run(WRITING[2], str(LOGS), f"{server.web}/new", capsys)
    assert code == 2 and "web servers are only read" in err
