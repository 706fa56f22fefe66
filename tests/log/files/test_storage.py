"""Every storage keeps the contract of `kodec.stores.storage`, and URLs lead nowhere else."""

from __future__ import annotations

import base64
import contextlib
import errno
import http.server
import io
import json
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kodec.errors import ArgumentError, ReadFailed
from kodec.stores import objects
from kodec.stores.storage import UNFINISHED, StorePath, entries, files_below, files_of, one_look, path_of
from kodec.stores.upload import upload
from tests.log.stores import AUTHORITY, KEY, SECRET, Server, serving

Put = Callable[[str, bytes], None]


@pytest.fixture(params=["files", "s3", "gs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Put]:
    """A folder of a storage, and what puts a file into it whatever was there."""
    if request.param == "files":

        def write(name: str, data: bytes) -> None:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

        return tmp_path, write
    found: Server = request.getfixturevalue("server")
    found.reset()
    return path_of(f"{request.param}://logs/some/folder"), lambda name, data: found.objects.update(
        {f"some/folder/{name}": data}
    )


# -- the contract -----------------------------------------------------------------------------------


def test_a_folder_lists_its_names_alone(place: tuple[Path, Put]) -> None:
    folder, put = place
    for name in ("a.log", "b/c.log", "b/d/e.log", "bb.log"):
        put(name, name.encode())
    with entries(folder) as found:
        listed = {each.name: each for each in found}
    assert sorted(listed) == ["a.log", "b", "bb.log"]
    assert [name for name in sorted(listed) if listed[name].is_dir()] == ["b"]
    assert listed["bb.log"].is_file() and listed["bb.log"].stat().st_size == 6
    assert path_of(listed["b"].path) == folder / "b"
    assert sorted(folder.iterdir()) == [folder / "a.log", folder / "b", folder / "bb.log"]
    assert sorted(files_below(folder, pytest.fail)) == [
        folder / "a.log",
        folder / "b" / "c.log",
        folder / "b" / "d" / "e.log",
        folder / "bb.log",
    ]
    assert sorted(folder.glob("b*")) == [folder / "b", folder / "bb.log"]
    assert list((folder / "b").glob("*.log")) == [folder / "b" / "c.log"]


def test_what_is_there(place: tuple[Path, Put]) -> None:
    folder, put = place
    put("b/a.log", b"some bytes")
    file, storage = folder / "b" / "a.log", files_of(folder)
    assert file.exists() and file.is_file() and not file.is_dir() and not file.is_symlink()
    assert folder.is_dir() and not folder.is_file() and folder.exists()
    assert (folder / "b").is_dir() and not (folder / "x").exists() and not (folder / "x").is_dir()
    assert storage.status(file).size == file.stat().st_size == 10
    assert storage.is_folder(folder / "b") and not storage.is_folder(file)
    for ask in (storage.status, storage.open, storage.entries, lambda path: path.stat()):
        with pytest.raises(FileNotFoundError):
            ask(folder / "nothing")
    with pytest.raises(NotADirectoryError):
        storage.entries(file)
    assert not list((folder / "x").glob("*"))


@pytest.mark.parametrize("size", [0, 1, 1000, (1 << 20) + 1])
def test_a_file_is_read_anywhere(place: tuple[Path, Put], size: int) -> None:
    folder, put = place
    data = random.Random(size).randbytes(size)
    put("file.log", data)
    with files_of(folder).open(folder / "file.log") as file:
        assert file.seekable() and file.seek(0, os.SEEK_END) == size
        assert file.read(10) == b""
        for at in (0, size // 3, size - 1, 0):
            if at >= 0:
                file.seek(at)
                found = file.read(100)
                assert found == data[at : at + 100] and file.tell() == at + len(found)
        file.seek(0)
        assert b"".join(iter(lambda: file.read(1 << 16), b"")) == data
        file.seek(0)
        buffer = bytearray(size + 5)
        filled = 0
        while count := file.readinto(memoryview(buffer)[filled:]):  # type: ignore[attr-defined]
            filled += count
        assert filled == size and buffer[:size] == data
        with pytest.raises(OSError):
            file.seek(-1)
    with pytest.raises(ValueError):
        file.read(1)
    assert (folder / "file.log").read_bytes() == data


def test_a_new_file_replaces_nothing(place: tuple[Path, Put]) -> None:
    folder, put = place
    put("old", b"old")
    storage = files_of(folder)
    storage.create(folder / "new", b"new")
    with pytest.raises(FileExistsError):
        storage.create(folder / "old", b"other")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"old": b"old", "new": b"new"}


def test_a_file_is_created_whole_and_removed(
    place: tuple[Path, Put], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, put = place
    put("other", b"")
    storage = files_of(folder)
    # as large ones are, in parts
    monkeypatch.setattr(objects, "AT_ONCE", 5 << 20)
    monkeypatch.setattr(objects, "PART", 5 << 20)
    for size in (0, 1000, (12 << 20) + 1):
        source = tmp_path / "source"
        source.write_bytes(random.Random(size).randbytes(size))
        storage.create(folder / "made", source)
        assert storage.status(folder / "made").size == size
        assert (folder / "made").read_bytes() == source.read_bytes()
        with pytest.raises(FileExistsError):
            storage.create(folder / "made", source)
        storage.remove(folder / "made")
        assert not (folder / "made").exists()


def test_only_reading_opens(place: tuple[Path, Put]) -> None:
    folder, _ = place
    if isinstance(folder, StorePath):
        for mode in ("r", "wb", "ab", "r+b", "xb"):
            with pytest.raises(ArgumentError, match="is read as bytes"):
                (folder / "x").open(mode)


# -- objects ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(server: Server) -> StorePath:
    server.reset()
    found = path_of("s3://logs/d")
    assert isinstance(found, StorePath)
    return found


def test_all_pages_of_a_listing(server: Server, folder: StorePath) -> None:
    server.page = 10
    names = [f"{number:03}" for number in range(95)]
    server.objects |= {f"d/{name}": b"" for name in names} | {f"d/{name}x/y": b"" for name in names}
    with entries(folder) as found:
        assert sorted(each.name for each in found) == sorted([*names, *(f"{name}x" for name in names)])
    assert len(server.asked()) == 19


def test_one_look_lists_once(server: Server, folder: StorePath) -> None:
    server.objects["d/a"] = b"1"
    with one_look(folder) as seen:
        assert seen.is_dir() and not seen.is_file() and list(seen.iterdir()) and seen.is_dir()
    assert len(server.asked()) == 1
    # what was listed then is asked for again after it
    assert seen.is_dir() and list(folder.iterdir())
    assert len(server.asked()) == 2


def test_a_scan_reads_all_once_and_ahead(server: Server, folder: StorePath) -> None:
    data = random.Random(0).randbytes(30 << 20)
    server.objects["d/a"] = data
    with (folder / "a").open("rb", buffering=0) as file:
        assert b"".join(iter(lambda: file.read(1 << 20), b"")) == data
    asked = server.asked()
    assert sum(each.sent for each in asked) == len(data) and len(asked) < 12


def test_more_is_read_ahead_of_a_store_that_is_slow(server: Server, folder: StorePath) -> None:
    server.objects["d/a"] = random.Random(0).randbytes(100 << 20)
    delay = threading.Event()
    server.fault = lambda method, key, number: delay.wait(0.05) and None
    objects.object_storage.cache_clear()
    storage = objects.object_storage("s3", "logs", None)
    assert storage.most_ahead == 3
    with (folder / "a").open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    # how much more depends on how long the machine lets each request wait
    assert 3 < storage.most_ahead <= 8


def test_a_lookup_reads_little(server: Server, folder: StorePath) -> None:
    server.objects["d/a"] = bytes(30 << 20)
    path = next(folder.iterdir())
    server.asked()
    with path.open("rb", buffering=0) as file:
        file.seek(20 << 20)
        assert file.read(5000) == bytes(5000)
    (asked,) = server.asked()
    assert asked.sent == 256 << 10


@pytest.mark.parametrize("tags", [True, False])
@pytest.mark.parametrize("listed", [True, False])
def test_an_object_that_changes_is_no_longer_read(
    server: Server, folder: StorePath, listed: bool, tags: bool
) -> None:
    server.tags = tags
    server.objects["d/a"] = bytes(5 << 20)
    path = next(folder.iterdir()) if listed and tags else folder / "a"
    with path.open("rb", buffering=0) as file:
        file.seek(3 << 20)
        server.objects["d/a"] = b"x" * ((5 << 20) + (not tags))
        with pytest.raises(ReadFailed, match="has changed since") as found:
            file.read(10)
        assert found.value.errno == errno.ESTALE and found.value.at == 3 << 20
        del server.objects["d/a"]
        with pytest.raises(ReadFailed, match="has gone since"):
            file.read(10)


def test_an_object_that_is_gone_since_it_was_listed(server: Server, folder: StorePath) -> None:
    server.objects["d/a"] = b"12345"
    path = pickle.loads(pickle.dumps(next(folder.iterdir())))
    del server.objects["d/a"]
    with path.open("rb", buffering=0) as file, pytest.raises(ReadFailed, match="has gone since"):
        file.read(1)
    assert not path.exists()


Fault = Callable[[str, str, int], object]


@pytest.mark.parametrize(
    "fault",
    [(503, "SlowDown"), (500, "InternalError"), "reset", "short"],
    ids=["throttled", "server error", "reset", "short body"],
)
def test_what_passes_is_asked_for_again(server: Server, folder: StorePath, fault: object) -> None:
    server.objects["d/a"] = random.Random(1).randbytes(3 << 20)
    failed: list[str] = []

    def once(method: str, key: str, number: int) -> object:
        if len(failed) < 2 and key == asked:
            failed.append(key)
            return fault
        return None

    asked = "d/a"
    server.fault = once  # type: ignore[assignment]
    assert (folder / "a").read_bytes() == server.objects["d/a"]
    assert len(failed) == 2
    failed.clear()
    asked = "?d/"
    assert [path.name for path in folder.iterdir()] == ["a"]
    assert len(failed) == 2


@pytest.mark.parametrize("fault", [(503, "SlowDown"), "reset", "short"])
def test_what_stays_is_an_error(
    server: Server, folder: StorePath, fault: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.objects["d/a"] = bytes(100)
    monkeypatch.setitem(objects._RETRIES, "max_retries", 1)
    objects.object_storage.cache_clear()
    server.fault = lambda method, key, number: fault  # type: ignore[assignment,return-value]
    try:
        with pytest.raises(ReadFailed) as found:
            (folder / "a").read_bytes()
        assert "s3://logs/d/a" in str(found.value) and "\n" not in str(found.value)
        with pytest.raises(ReadFailed):
            list(folder.iterdir())
    finally:
        objects.object_storage.cache_clear()


@pytest.mark.parametrize(
    "code", ["InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed", "AccessDenied"]
)
def test_a_refusal_says_why_and_shows_no_secret(server: Server, folder: StorePath, code: str) -> None:
    server.fault = lambda method, key, number: (403, code)
    with pytest.raises(ReadFailed, match=f"access is denied: {code}: {code} it is") as found:
        (folder / "a").read_bytes()
    assert found.value.errno == errno.EACCES
    with pytest.raises(ReadFailed, match=code):
        list(folder.iterdir())
    with pytest.raises(OSError, match=f"cannot be written.*{code}"):
        files_of(folder).create(folder / "b", b"")
    storage = files_of(folder)
    for text in (str(found.value), repr(found.value), repr(storage), repr(folder)):
        assert KEY not in text and SECRET not in text


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_a_certificate_of_an_authority_of_ones_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(objects._RETRIES, "max_retries", 0)
    with serving(tls=True) as server:
        server.objects["d/a"] = b"1"
        with pytest.raises(ReadFailed, match=r"InvalidCertificate\(UnknownIssuer\)"):
            path_of("s3://logs/d/a").read_bytes()
        monkeypatch.setenv(name, str(AUTHORITY))
        objects.object_storage.cache_clear()
        assert path_of("s3://logs/d/a").read_bytes() == b"1"
        if name == "SSL_CERT_FILE":
            assert path_of(f"{server.web}/d/a").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        ("http://127.0.0.1:2", "Connection refused"),
        ("http://no-such-host.invalid", "failed to lookup address"),
    ],
)
def test_no_connection_is_an_error_with_its_cause(
    endpoint: str, reason: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(objects._RETRIES, "max_retries", 0)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    objects.object_storage.cache_clear()
    try:
        with pytest.raises(ReadFailed, match=reason):
            path_of("s3://logs/d/a").read_bytes()
    finally:
        objects.object_storage.cache_clear()


class _Redirects(http.server.BaseHTTPRequestHandler):
    """Sends whoever asks to another host, where a secret is."""

    to = ""
    asked: ClassVar[list[str]] = []
    sent: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        host = str(self.server.server_address[0])
        self.asked.append(host)
        if host == "127.0.0.1":
            self.send_response(302)
            self.send_header("Location", self.to)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = b"secret"
        if host == "127.0.0.3":
            body = b"role" if self.path.endswith("/security-credentials/") else _TOKEN
        if host == "127.0.0.2":
            self.sent.update({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    do_HEAD = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


# The credentials of all three, as their metadata servers give them.
_TOKEN = json.dumps(
    {
        "access_token": "token",
        "token_type": "Bearer",
        "expires_in": 3600,
        "expires_on": "1893456000",
        "Code": "Success",
        "AccessKeyId": "a",
        "SecretAccessKey": "b",
        "Token": "c",
        "Expiration": "2030-01-01T00:00:00Z",
        "LastUpdated": "2025-01-01T00:00:00Z",
        "Type": "AWS-HMAC",
    }
).encode()
_PLACES = ("s3", "gs", "az")
_STORES = ("AWS_", "GOOGLE_", "GCE_", "AZURE_", "IDENTITY_", "MSI_")


@pytest.fixture
def redirecting(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """URLs of three hosts: a store that redirects, one of this network, and one that gives credentials."""
    monkeypatch.setitem(objects._RETRIES, "max_retries", 0)
    for name in os.environ:
        if name.lower() in ("http_proxy", "https_proxy", "all_proxy") or name.startswith(_STORES):
            monkeypatch.delenv(name)
    # names no proxy
    monkeypatch.setenv("no_proxy", "localhost")
    monkeypatch.setattr(_Redirects, "asked", [])
    monkeypatch.setattr(_Redirects, "sent", {})
    objects.object_storage.cache_clear()
    with contextlib.ExitStack() as stack:
        stack.callback(objects.object_storage.cache_clear)
        found = {}
        for name, host in (("store", "127.0.0.1"), ("inner", "127.0.0.2"), ("credentials", "127.0.0.3")):
            server = stack.enter_context(http.server.ThreadingHTTPServer((host, 0), _Redirects))
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            stack.callback(server.shutdown)
            found[name] = f"http://{host}:{server.server_address[1]}"
        monkeypatch.setattr(_Redirects, "to", f"{found['inner']}/x")
        yield found


def _keys(monkeypatch: pytest.MonkeyPatch, urls: dict[str, str]) -> None:
    """The environment of each store, with keys."""
    for name, value in {
        "AWS_ENDPOINT_URL": urls["store"],
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "a",
        "AWS_SESSION_TOKEN": "session",
        "AWS_REGION": "a",
        "GOOGLE_BASE_URL": urls["store"],
        "GOOGLE_SKIP_SIGNATURE": "true",
        "AZURE_STORAGE_ENDPOINT": urls["store"],
        "AZURE_STORAGE_ACCOUNT_NAME": "a",
        "AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(b"a" * 32).decode(),
    }.items():
        monkeypatch.setenv(name, value)


def _without_keys(monkeypatch: pytest.MonkeyPatch, urls: dict[str, str]) -> None:
    """The environment of each store, with a server that gives credentials."""
    _keys(monkeypatch, urls)
    for name in (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        *("GOOGLE_SKIP_SIGNATURE", "AZURE_STORAGE_ACCOUNT_KEY"),
    ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", urls["credentials"])
    monkeypatch.setenv("GCE_METADATA_HOST", urls["credentials"].partition("//")[2])
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{urls['credentials']}/token")
    monkeypatch.setenv("HOME", "/nowhere")


def test_a_web_server_cannot_redirect_to_another_host(redirecting: dict[str, str]) -> None:
    with pytest.raises(ReadFailed, match="a host that is not asked"):
        path_of(f"{redirecting['store']}/a").read_bytes()
    assert set(_Redirects.asked) == {"127.0.0.1"}
    # the test can fail: that host answers who asks it
    assert path_of(_Redirects.to).stat().st_size == len(b"secret")


@pytest.mark.parametrize("scheme", _PLACES)
@pytest.mark.parametrize("environment", [_keys, _without_keys], ids=["keys", "a server of credentials"])
def test_a_store_cannot_redirect_to_another_host(
    environment: Callable[..., None],
    scheme: str,
    redirecting: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(monkeypatch, redirecting)
    with pytest.raises(ReadFailed, match="a host that is not asked"):
        path_of(f"{scheme}://redirecting/a").read_bytes()
    # whoever gives credentials is asked
    credentials = {"127.0.0.3"} if environment is _without_keys else set()
    assert set(_Redirects.asked) == {"127.0.0.1", *credentials}


@pytest.mark.parametrize("scheme", _PLACES)
def test_what_a_redirect_would_carry(
    scheme: str, redirecting: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As through a proxy of the environment: docs/security.md says it. And the test above can fail."""
    _keys(monkeypatch, redirecting)
    monkeypatch.setattr(objects, "_only", lambda *hosts: {})
    with pytest.raises(ReadFailed, match=r"non-partial|ETag"):
        path_of(f"{scheme}://redirecting-too/a").read_bytes()
    assert set(_Redirects.asked) == {"127.0.0.1", "127.0.0.2"}
    assert "authorization" not in _Redirects.sent
    assert _Redirects.sent.get("x-amz-security-token") == ("session" if scheme == "s3" else None)
    if scheme == "az":
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY")
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2024&sig=secret")
        with pytest.raises(ReadFailed):
            path_of("az://signed/a").read_bytes()
        assert "sig=secret" in _Redirects.sent["referer"]


def test_no_such_bucket(folder: StorePath) -> None:
    with pytest.raises(FileNotFoundError, match="no such bucket"):
        list(path_of("s3://other/d").iterdir())


def test_a_forked_process_is_told_so(server: Server, folder: StorePath) -> None:
    server.objects["d/a"] = b"1"
    assert [each.name for each in folder.iterdir()] == ["a"]
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            list(folder.iterdir())
            text = "it was read"
        except BaseException as error:
            text = repr(error)
        os.write(write, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert b"spawn or forkserver" in pipe.read()


# -- writes that fail -------------------------------------------------------------------------------


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file that is sent in three parts."""
    monkeypatch.setattr(objects, "AT_ONCE", 5 << 20)
    monkeypatch.setattr(objects, "PART", 5 << 20)
    path = tmp_path / "source"
    path.write_bytes(random.Random(3).randbytes((12 << 20) + 1))
    return path


@pytest.mark.parametrize("fault", [(503, "SlowDown"), (500, "InternalError")])
def test_a_write_that_fails_for_a_moment_is_sent_again(
    server: Server, folder: StorePath, fault: object, in_parts: Path
) -> None:
    failed: dict[str, int] = {}

    def twice(method: str, key: str, number: int) -> object:
        failed[method] = failed.get(method, 0) + 1
        return fault if failed[method] <= 2 else None

    server.fault = twice  # type: ignore[assignment]
    storage = files_of(folder)
    storage.create(folder / "small", b"some bytes")
    storage.create(folder / "large", in_parts)
    storage.remove(folder / "small")
    assert server.objects == {"d/large": in_parts.read_bytes()}
    assert failed["PUT"] == 6 and failed["POST"] == 5


@pytest.mark.parametrize(
    "fault", [(503, "SlowDown"), (403, "AccessDenied"), (403, "RequestTimeTooSkewed"), "reset"]
)
@pytest.mark.parametrize("fails_from", [0, 2])
def test_a_write_that_fails_leaves_no_object(
    server: Server,
    folder: StorePath,
    fault: object,
    fails_from: int,
    in_parts: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(objects._RETRIES, "max_retries", 1)
    objects.object_storage.cache_clear()
    writes: list[str] = []

    def after(method: str, key: str, number: int) -> object:
        if method in ("PUT", "POST"):
            writes.append(key)
        return fault if len(writes) > fails_from else None

    server.fault = after  # type: ignore[assignment]
    try:
        with pytest.raises(OSError, match="cannot be written") as found:
            files_of(folder).create(folder / "large", in_parts)
        assert str(folder / "large") in str(found.value)
        if not fails_from:
            with pytest.raises(OSError, match="cannot be written"):
                files_of(folder).create(folder / "small", b"some bytes")
        server.objects["d/old"] = b"old"
        with pytest.raises(OSError, match="cannot be deleted"):
            files_of(folder).remove(folder / "old")
        assert server.objects == {"d/old": b"old"}
    finally:
        objects.object_storage.cache_clear()


def test_a_write_whose_answer_is_lost_is_an_error(server: Server, folder: StorePath) -> None:
    """It is not sent again: the object may be there then, and of two writers only one may go on."""

    def lost(method: str, key: str, number: int) -> object:
        if method == "PUT" and key not in server.objects:
            server.objects[key] = b"1"
            return "reset"
        return None

    server.fault = lost  # type: ignore[assignment]
    with pytest.raises(OSError, match=r"cannot be written.*Connection reset"):
        files_of(folder).create(folder / "a", b"1")


# -- URLs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown", "key"),
    [
        ("s3://logs/a/b.log", "s3://logs/a/b.log", "a/b.log"),
        ("s3://logs", "s3://logs", ""),
        ("s3://logs/", "s3://logs", ""),
        ("s3a://logs/a//b/", "s3a://logs/a/b", "a/b"),
        ("gs://logs/a b%20c?d#e", "gs://logs/a b%20c?d#e", "a b%20c?d#e"),
        ("az://logs/é", "az://logs/é", "é"),
        ("https://host:8080/a%20b/c", "https://host:8080/a b/c", "a b/c"),
        (Path("s3://logs/a"), "s3://logs/a", "a"),
    ],
)
def test_urls(text: str | Path, shown: str, key: str) -> None:
    path = path_of(text)
    assert isinstance(path, StorePath) and (str(path), path.key) == (shown, key)
    again = pickle.loads(pickle.dumps(path))
    assert again == path and type(again) is StorePath and hash(again) == hash(path)
    assert path_of(path) is path and path_of(str(path)) == path
    assert path.absolute() is path and path.resolve() is path and path.as_uri() == shown


def test_names_of_urls() -> None:
    path = path_of("s3://logs/k/orders-0/00000000000000000000.log")
    assert path.name == "00000000000000000000.log" and path.stem == "00000000000000000000"
    assert str(path.parent) == "s3://logs/k/orders-0" and path.parent.name == "orders-0"
    assert str(path.with_suffix(".index")) == "s3://logs/k/orders-0/00000000000000000000.index"
    assert str(path.parent / "x") == str(path.with_name("x")) == "s3://logs/k/orders-0/x"
    bucket = path.parent.parent.parent
    assert (str(bucket), bucket.name, bucket.parent) == ("s3://logs", "", bucket)
    assert [str(each) for each in path.parents] == ["s3://logs/k/orders-0", "s3://logs/k", "s3://logs"]
    assert path.is_relative_to(bucket) and path.is_absolute()
    assert path_of("s3://logs/a") < path_of("s3://logs/b") != path_of("gs://logs/b")


@pytest.mark.parametrize(
    "text",
    [
        "s3://logs/../other/x",
        "s3://logs/a/../../x",
        "s3://",
        "s3:///x",
        "s3://logs/a\x00b",
        "s3://logs/a\nb",
        f"s3://logs/{'x' * 1025}",
        "https://host/%2e%2e/x",
        "file://host/x",
    ],
)
def test_urls_that_lead_elsewhere(text: str) -> None:
    with pytest.raises(ArgumentError) as found:
        path_of(text)
    assert len(str(found.value)) < 600


def test_a_name_of_a_listing_leads_nowhere_else() -> None:
    path = path_of("s3://logs/a")
    with pytest.raises(ArgumentError):
        (path / ".." / ".." / "etc").read_bytes()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("s3://AKIA1:SECRETSECRET@logs/x", "SECRETSECRET"),
        ("https://me:SECRETSECRET@host/x", "SECRETSECRET"),
        ("https://host/x?X-Amz-Signature=SECRETSECRET", "SECRETSECRET"),
        ("https://host/x#SECRETSECRET", "SECRETSECRET"),
    ],
)
def test_secrets_in_urls_are_refused_and_not_repeated(text: str, secret: str) -> None:
    with pytest.raises(ArgumentError) as found:
        path_of(text)
    assert secret not in str(found.value)


def test_file_urls_and_paths_stay_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b").write_bytes(b"x")
    assert path_of((tmp_path / "a b").as_uri()).read_bytes() == b"x"
    assert type(path_of(tmp_path)) is type(path_of(str(tmp_path))) is type(Path())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    assert path_of("s3:/logs/x") == Path("s3:/logs/x") and not isinstance(path_of("s3://logs/x"), StorePath)


@pytest.mark.parametrize(
    "act",
    [
        os.stat,
        os.listdir,
        lambda path: os.open(path, os.O_CREAT | os.O_WRONLY),
        lambda path: path.mkdir(parents=True),
        lambda path: path.touch(),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: path.rename("x"),
        lambda path: path.symlink_to("x"),
        lambda path: path.chmod(0o600),
        lambda path: path.rmdir(),
        io.FileIO,
    ],
)
def test_what_is_meant_for_this_machine_is_refused(
    act: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=r"not a path of this machine|read as bytes"):
        act(path_of("s3://logs/a"))
    assert not list(tmp_path.iterdir())


@given(st.text())
def test_any_text_is_a_path_or_an_error(text: str) -> None:
    for given_text in (text, f"s3://{text}", f"https://host/{text}"):
        try:
            path = path_of(given_text)
        except ArgumentError:
            continue
        if isinstance(path, StorePath):
            assert ".." not in path.key.split("/") and path_of(str(path)) == path


def test_the_mark_of_the_whole_upload_is_removed_last(
    server: Server, folder: StorePath, tmp_path: Path
) -> None:
    """Until then a listing of the target reports that it is not whole."""
    for name in ("a", "b/c", "b/d/e"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    marked: list[list[str]] = []

    def note(method: str, key: str, number: int) -> None:
        marked.append([each for each in server.objects if each.endswith(UNFINISHED)])

    server.fault = note
    upload(tmp_path, folder, last=lambda path: path.name == "a")
    assert sorted(server.objects) == ["d/a", "d/b/c", "d/b/d/e"]
    assert max(map(len, marked)) == 3
    assert all(f"d/{UNFINISHED}" in each for each in marked if each)


def test_an_object_that_the_collector_frees_does_not_wait_for_its_own_thread(server: Server) -> None:
    storage: Any = objects.object_storage("s3", "logs", None)

    class Freed:
        """A path that, while it is looked up, has another object end, as the collector may at any time."""

        @property
        def key(self) -> str:
            storage.drop(SimpleNamespace(key="another"))
            return "one"

    thread = threading.Thread(target=storage.drop, args=(Freed(),), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
