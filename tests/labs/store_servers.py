"""Object stores on loopback for the labs: a server of the S3 API, two emulators, and a proxy before them.

The first is Versity's gateway, Google's is fake-gcs-server: Go builds both here. Azure's is Azurite, by npm.
All are pinned by hash.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import random
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from kafka_lab import HERE, find_program, free_ports, run, step, wait_for

import kodec

GATEWAY = "github.com/versity/versitygw/cmd/versitygw"
EMULATOR = "github.com/fsouza/fake-gcs-server"
KEY, SECRET = "kodec-lab", "kodec-lab-secret"
# Azurite's own, which its documentation has.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class Wrong(AssertionError):
    """Something is not as it must be."""


def require(what: str, have: object, need: object) -> None:
    """Raises: Wrong."""
    if have != need:
        raise Wrong(f"{what}: {have}, not {need}")


# -- a server of the S3 API -----------------------------------------------------------------------


def fetch_gateway(work: Path) -> Path:
    """The server's program. Raises Unusable."""
    return _built(work / "versitygw", HERE / "s3", GATEWAY, "the server of the S3 API")


def _built(program: Path, sources: Path, package: str, what: str) -> Path:
    """A program that Go builds, once. Raises Unusable."""
    stamp, sums = program.with_name("go.sum"), sources / "go.sum"
    if not (program.is_file() and stamp.is_file() and stamp.read_bytes() == sums.read_bytes()):
        go = find_program("go", f"{what} is built with it (https://go.dev, 1.26 or newer)")
        program.parent.mkdir(parents=True, exist_ok=True)
        with step(f"Building {what} (some minutes, once)"):
            run([go, "build", "-mod=readonly", "-o", str(program), package], "Go could not build it", sources)
        shutil.copy(sums, stamp)
    return program


@contextmanager
def server(program: Path, folder: Path) -> Iterator[int]:
    """The port of a server whose buckets are the folders in `folder`."""
    (port,) = free_ports(1)
    folder.mkdir()
    with (folder.parent / "server.out").open("wb") as out:
        process = subprocess.Popen(
            [
                program,
                "--port",
                f"127.0.0.1:{port}",
                "--keep-alive",
                "--quiet",
                "posix",
                "--bucketlinks",
                folder,
            ],
            env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for("the server", lambda: is_open(port), 30)
        yield port
    finally:
        process.terminate()
        process.wait()


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


# -- Azure's emulator -----------------------------------------------------------------------------


def fetch_azurite(work: Path) -> Path:
    """The emulator's program. Raises Unusable."""
    program = work / "node_modules" / ".bin" / "azurite-blob"
    lock = HERE / "azurite" / "package-lock.json"
    known = work / "package-lock.json"
    if not (program.exists() and known.is_file() and known.read_bytes() == lock.read_bytes()):
        npm = find_program("npm", "Azure's emulator runs on Node (https://nodejs.org)")
        with step("Installing Azurite through npm"):
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / "azurite" / name, work)
            run(
                [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(work)],
                "npm failed",
            )
    return program


@contextmanager
def azurite(program: Path, folder: Path) -> Iterator[int]:
    """The port of an emulator with its files in a folder."""
    (port,) = free_ports(1)
    folder.mkdir()
    words = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", folder, "--silent"]
    with (folder.parent / "azurite.out").open("wb") as out:
        process = subprocess.Popen([*words, "--skipApiVersionCheck"], stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_for("the emulator", lambda: is_open(port), 30)
        yield port
    finally:
        process.terminate()
        process.wait()


def make_container(port: int, name: str) -> None:
    """By the API, signed: obstore makes none."""
    date, version = formatdate(usegmt=True), "2021-08-06"
    headers = f"x-ms-date:{date}\nx-ms-version:{version}\n"
    text = f"PUT\n\n\n\n\n\n\n\n\n\n\n\n{headers}/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/{ACCOUNT}/{name}?restype=container",
        method="PUT",
        headers={
            "x-ms-date": date,
            "x-ms-version": version,
            "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}",
            "Content-Length": "0",
        },
    )
    with urllib.request.urlopen(request) as answer:
        require("the container", answer.status, 201)


# -- Google's emulator ----------------------------------------------------------------------------


def fetch_gcs(work: Path) -> Path:
    """The emulator's program. Raises Unusable."""
    return _built(work / "fake-gcs-server", HERE / "gcs", EMULATOR, "the emulator of Google's store")


@contextmanager
def gcs(program: Path, out: Path) -> Iterator[Meter]:
    """A proxy before an emulator that keeps its objects in memory, with the bucket `logs`.

    The emulator answers only to the name that it is asked by.
    """
    (port,) = free_ports(1)
    meter = Meter(port)
    words = [program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    with out.open("wb") as file:
        process = subprocess.Popen(
            [*words, "-public-host", f"127.0.0.1:{meter.port}"], stdout=file, stderr=subprocess.STDOUT
        )
    try:
        wait_for("the emulator", lambda: is_open(port), 30)
        url = f"http://127.0.0.1:{meter.port}/storage/v1/b?project=lab"
        _post(url, b'{"name": "logs"}', "application/json")
        yield meter
    finally:
        process.terminate()
        process.wait()


def put_to_gcs(port: int, key: str, data: bytes) -> None:
    """By Google's own API: the emulator takes no new object by the one that obstore uses."""
    name = urllib.parse.quote(key, safe="")
    url = f"http://127.0.0.1:{port}/upload/storage/v1/b/logs/o?uploadType=media&name={name}"
    _post(url, data, "application/octet-stream")


def _post(url: str, data: bytes, kind: str) -> None:
    request = urllib.request.Request(url, data, {"Content-Type": kind}, method="POST")
    with urllib.request.urlopen(request) as answer:
        require(url, answer.status, 200)


# -- between -------------------------------------------------------------------------------------


class Meter:
    """A proxy before the server that counts requests by method, bytes that go out, and ranges.

    Attributes:
        delay: seconds that each request waits, as on the way to a server that is far.
        rate: bytes a second that a connection gets; 0 for all that there are.
        lists: how often each folder, a prefix, was listed.
    """

    def __init__(self, to: int, *, delay: float = 0.0, rate: float = 0.0) -> None:
        (self.port,) = free_ports(1)
        self.delay = delay
        self.rate = rate
        self._to = to
        self._loop = asyncio.new_event_loop()
        self.reset()
        started = threading.Event()
        threading.Thread(target=self._run, args=(started,), daemon=True).start()
        started.wait()

    def reset(self) -> None:
        self.requests: Counter[str] = Counter()
        self.lists: Counter[str] = Counter()
        self.bytes = 0
        self.ranges: list[tuple[str, str]] = []

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        start = asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 20)
        self._loop.run_until_complete(start)
        started.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection("127.0.0.1", self._to)
        back = asyncio.create_task(self._answers(there, writer))
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if self.delay:
                    await asyncio.sleep(self.delay)
                self._note(head.decode("latin-1"))
                onward.write(head)
                match = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                left = int(match[1]) if match else 0
                while left:
                    data = await reader.read(min(left, 1 << 16))
                    left -= len(data)
                    onward.write(data)
                    await onward.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            onward.close()
            back.cancel()
            writer.close()

    async def _answers(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A small buffer, so that what nobody takes is not counted.
        writer.transport.set_write_buffer_limits(high=1 << 16)
        due = 0.0
        while data := await there.read(1 << 16):
            self.bytes += len(data)
            writer.write(data)
            try:
                await writer.drain()
            except ConnectionError:
                return
            if self.rate:
                due = max(due, time.monotonic()) + len(data) / self.rate
                # the loop's clock is no finer
                if (wait := due - time.monotonic()) > 0.002:
                    await asyncio.sleep(wait)
        writer.close()

    def _note(self, head: str) -> None:
        method, target, _ = head.split(" ", 2)
        self.requests["LIST" if "list-type=" in target else method] += 1
        if "list-type=" in target:
            self.lists[parse_qs(urlsplit(target).query).get("prefix", [""])[0]] += 1
        if method == "GET" and "list-type=" not in target:
            match = re.search(r"(?i)\r\nrange: *bytes=([0-9-]*)", head)
            self.ranges.append((target.split("?")[0], match[1] if match else ""))

    def widths(self) -> list[int]:
        """The bytes that each request for an object asked for. Raises Wrong for one without a range."""
        found = []
        for target, span in self.ranges:
            first, _, last = span.partition("-")
            require(f"a request for {target} has a range with an end", bool(first and last), True)
            found.append(int(last) - int(first) + 1)
        return found


# -- a log ----------------------------------------------------------------------------------------


def large_log(folder: Path, megabytes: int, segment_bytes: int = 64 << 20) -> Path:
    """A log of 1,000 records of 1,000 bytes for each of these megabytes, a record each ms; its folder."""
    content = random.Random(0)
    values = [content.randbytes(1000) for _ in range(512)]
    with kodec.LogWriter(folder / "large-0", config=kodec.LogConfig(segment_bytes=segment_bytes)) as writer:
        for number in range(0, megabytes * 1000, 100):
            writer.append(
                [
                    kodec.Record(key=b"%d" % at, value=values[at % 512], timestamp=1_700_000_000_000 + at)
                    for at in range(number, number + 100)
                ]
            )
    return folder / "large-0"
