"""A server of the S3 API in this process, as far as readers and writers need one; it counts, and can fail.

The API is that of a real server (`tests/labs/store_lab.py` runs one). Of a signature only the name of the key
is checked here.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

import pytest

from kodec.stores import objects
from tests.data import TESTS

__all__ = ["AUTHORITY", "KEY", "SECRET", "Request", "Server", "serving"]

KEY, SECRET = "AKIAKODECTEST", "a-secret-that-nobody-may-see"
AUTHORITY = TESTS / "log/tls/authority.pem"
_PAGE = 1000
# What else of a machine's environment a client goes by.
_SETTING = re.compile(r"(AWS|GOOGLE|AZURE)_|SSL_CERT_|((https?|all|no)_proxy$)", re.IGNORECASE)
# as for an emulator of Google's store, whose XML API is S3's in what is used here
_ACCOUNT = '{"disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}'


class Request(NamedTuple):
    """What was asked for, and how many bytes of content were sent."""

    method: str
    key: str
    range: str
    sent: int


# What happens instead of an answer: a status with a code of S3's, "reset", or "short".
Fault = tuple[int, str] | str | None


@dataclass
class Server:
    """The objects of one bucket, `logs`, and what was asked.

    Attributes:
        fault: is asked before each answer, with the method, the key and the number of the request.
        page: how many names a page of a listing has.
        modified: when all objects were written, in seconds since 1970.
        parts: of uploads that are under way, by their ids.
    """

    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    fault: Callable[[str, str, int], Fault] = lambda method, key, number: None
    page: int = _PAGE
    modified: float = 1_700_000_000
    port: int = 0
    tags: bool = True
    scheme: str = "http"
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def reset(self) -> None:
        """As it was at first: tests of one server may come in any order."""
        self.objects.clear()
        self.requests.clear()
        self.parts.clear()
        self.fault = lambda method, key, number: None
        self.page, self.tags, self.modified = _PAGE, True, 1_700_000_000

    @property
    def web(self) -> str:
        """Where a web server has the same files."""
        return f"{self.endpoint}/logs"

    @property
    def endpoint(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def upload(self, folder: Path, prefix: str = "") -> str:
        """All files of a folder as objects; the URL of what they are below."""
        for path in folder.rglob("*"):
            if path.is_file():
                name = path.relative_to(folder).as_posix()
                self.objects[f"{prefix}/{name}" if prefix else name] = path.read_bytes()
        return f"s3://logs/{prefix}".rstrip("/")

    def asked(self) -> list[Request]:
        """The requests since the last call."""
        found, self.requests = self.requests, []
        return found

    def tag(self, key: str) -> str:
        return f'"{hashlib.md5(self.objects[key], usedforsecurity=False).hexdigest()}"'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # a head and a body in one packet: each else waits for the other side's acknowledgement
    wbufsize = -1
    state: Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _error(self, status: int, code: str) -> None:
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code} it is</Message></Error>"
        self._answer(status, body.encode(), {"Content-Type": "application/xml"})

    def _begin(self) -> tuple[str, dict[str, str], Fault]:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        what = self.state.fault(self.command, key or "?" + query.get("prefix", ""), len(self.state.requests))
        if bucket != "logs" and what is None:
            what = 404, "NoSuchBucket"
        return key, query, what

    def _note(self, key: str, sent: int) -> None:
        self.state.requests.append(Request(self.command, key, self.headers.get("Range", ""), sent))

    def _refused(self, key: str, what: Fault) -> bool:
        if what == "reset":
            self._note(key, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return True
        if isinstance(what, tuple):
            self._note(key, 0)
            self._error(*what)
            return True
        # Google's store has tokens
        if not re.search(f"{KEY}|^Bearer", self.headers.get("Authorization", KEY)):
            self._note(key, 0)
            self._error(403, "InvalidAccessKeyId")
            return True
        return False

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        key, query, what = self._begin()
        if self._refused(key, what):
            return
        state = self.state
        if "list-type" in query:
            self._list(query, what)
            return
        if key not in state.objects:
            self._note(key, 0)
            self._error(404, "NoSuchKey")
            return
        data = state.objects[key]
        headers = {"Last-Modified": formatdate(state.modified, usegmt=True), "Accept-Ranges": "bytes"}
        if state.tags:
            headers["ETag"] = state.tag(key)
        wanted = self.headers.get("If-Match")
        if wanted is not None and wanted != state.tag(key):
            self._note(key, 0)
            self._error(412, "PreconditionFailed")
            return
        status, asked = 200, self.headers.get("Range")
        if asked is not None:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start = int(first)
            end = min(int(last) + 1 if last else len(data), len(data))
            if start >= len(data):
                self._note(key, 0)
                self._error(416, "InvalidRange")
                return
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
            data, status = data[start:end], 206
        headers["Content-Length"] = str(len(data))
        if what == "short":
            self._note(key, len(data) // 2)
            self._answer(status, data[: len(data) // 2], headers)
            self.close_connection = True
            return
        self._note(key, len(data) if self.command == "GET" else 0)
        self._answer(status, data, headers)

    def _list(self, query: dict[str, str], what: Fault) -> None:
        state, prefix, delimiter = self.state, query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        self._note("?" + prefix, 0)
        names: list[str] = []
        for key in sorted(state.objects):
            if not key.startswith(prefix):
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            name = key if cut < 0 else key[: cut + 1]
            if name > after and name not in names[-1:]:
                names.append(name)
        page, more = names[: state.page], len(names) > state.page
        text = [f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>"]
        if more:
            text.append(f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>")
        for name in page:
            if delimiter and name.endswith(delimiter):
                text.append(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>")
                continue
            data = state.objects[name]
            text.append(
                f"<Contents><Key>{escape(name)}</Key><Size>{len(data)}</Size><ETag>{escape(state.tag(name))}</ETag>"
                "<LastModified>2023-11-14T22:13:20.000Z</LastModified></Contents>"
            )
        text.append("</ListBucketResult>")
        body, headers = "".join(text).encode(), {"Content-Type": "application/xml"}
        if what == "short":
            headers["Content-Length"] = str(len(body))
            body = body[: len(body) // 2]
            self.close_connection = True
        self._answer(200, body, headers)

    def do_PROPFIND(self) -> None:
        """A listing of WebDAV, which few web servers have."""
        self._note(self.path, 0)
        self._answer(405)

    def do_DELETE(self) -> None:
        """One object, or an upload in parts."""
        key, query, what = self._begin()
        if self._refused(key, what):
            return
        self._note(key, 0)
        if "uploadId" in query:
            self.state.parts.pop(query["uploadId"], None)
        else:
            self.state.objects.pop(key, None)
        self._answer(204)

    def _upload(self, key: str, query: dict[str, str], what: Fault, body: str) -> None:
        """Begin or complete an upload in parts."""
        state = self.state
        if self._refused(key, what):
            return
        self._note(key, 0)
        if "uploads" in query:
            name = f"upload-{len(state.requests)}"
            state.parts[name] = {}
            kind, answer = "InitiateMultipartUploadResult", f"<UploadId>{name}</UploadId>"
        else:
            parts = state.parts.pop(query["uploadId"])
            named = map(int, re.findall("<PartNumber>([0-9]+)</PartNumber>", body))
            state.objects[key] = b"".join(parts[number] for number in named)
            kind, answer = "CompleteMultipartUploadResult", f"<ETag>{escape(state.tag(key))}</ETag>"
        self._answer(200, f"<{kind}>{answer}</{kind}>".encode(), {"Content-Type": "application/xml"})

    def do_POST(self) -> None:
        """Several objects are deleted at once, or an upload begins or ends."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        key, query, what = self._begin()
        if "delete" not in query:
            self._upload(key, query, what, body)
            return
        keys = [unescape(each) for each in re.findall("<Key>(.*?)</Key>", body)]
        if self._refused(keys[0], what):
            return
        for key in keys:
            self._note(key, 0)
            self.state.objects.pop(key, None)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        answer = f"<DeleteResult>{deleted}</DeleteResult>"
        self._answer(200, answer.encode(), {"Content-Type": "application/xml"})

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        key, query, what = self._begin()
        if self._refused(key, what):
            return
        self._note(key, len(data))
        if "uploadId" in query:
            self.state.parts[query["uploadId"]][int(query["partNumber"])] = data
            self._answer(200, b"", {"ETag": f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'})
            return
        # of S3, and of Google's store
        is_new = "*" in self.headers.get("If-None-Match", "") or "x-goog-if-generation-match" in self.headers
        if is_new and key in self.state.objects:
            self._error(412, "PreconditionFailed")
            return
        self.state.objects[key] = data
        self._answer(200, b"", {"ETag": self.state.tag(key)})


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone, or that was cut off, is part of the tests."""


@contextmanager
def serving(*, tls: bool = False) -> Iterator[Server]:
    """A server, to which this process's environment leads; with `tls` the authority of its certificate is
    `AUTHORITY`, which no system trusts."""
    state = Server(scheme="https" if tls else "http")
    http = _Http(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(AUTHORITY.with_name("server.pem"))
        http.socket = context.wrap_socket(http.socket, server_side=True)
    state.port = http.server_port
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        for name in [each for each in os.environ if _SETTING.match(each)]:
            patch.delenv(name)
        for name, value in (
            ("AWS_ENDPOINT_URL", state.endpoint),
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_REGION", "us-east-1"),
            ("GOOGLE_BASE_URL", state.endpoint),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", _ACCOUNT),
        ):
            patch.setenv(name, value)
        objects.object_storage.cache_clear()
        try:
            yield state
        finally:
            objects.object_storage.cache_clear()
            http.shutdown()
            http.server_close()
            thread.join()
