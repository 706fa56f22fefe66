"""Schemas from a registry, over HTTP."""

from __future__ import annotations

import base64
import http.client
import os
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any
from uuid import UUID

from kodec.log.values.schemas import (
    MOST_TEXT,
    BadSchema,
    Reference,
    Schema,
    SchemaId,
    SchemaSourceFailed,
    UnknownSchema,
    kind_of,
)
from kodec.runtime.errors import ArgumentError
from kodec.runtime.foreign_json import read_json, whole_number

__all__ = ["AUTH", "SchemaRegistry", "schema_of_answer"]

AUTH = "KODEC_REGISTRY_AUTH"
"""The variable of the environment with a registry's URL, `https://user:password@host:port`.

User and password are sent to that scheme, host and port alone, where a registry's own URL has none.
"""

_JSON = "application/vnd.schemaregistry.v1+json, application/json"


# A schema is one text; references and metadata are few.
_MOST_VALUES = 100_000
_PORTS = {"http": 80, "https": 443}


def _user_of(parts: urllib.parse.SplitResult) -> str:
    return ":".join(urllib.parse.unquote(part or "") for part in (parts.username, parts.password))


def _user_of_environment(registry: urllib.parse.SplitResult) -> str:
    """The `user:password` of the environment for a registry; empty for another one. Raises ArgumentError."""
    auth = os.environ.get(AUTH, "")
    if not auth:
        return ""
    try:
        parts = urllib.parse.urlsplit(auth)
        sides = [(url.hostname, url.port or _PORTS.get(url.scheme)) for url in (parts, registry)]
    except ValueError:
        parts, sides = urllib.parse.urlsplit(""), []
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is None:
        # never the value itself
        raise ArgumentError(f"{AUTH} is not https://USER:PASSWORD@HOST:PORT: it is sent to that host alone")
    return _user_of(parts) if parts.scheme == registry.scheme and sides[0] == sides[1] else ""


def _in_time(seconds: float, ask: Callable[[], bytes]) -> bytes:
    """What `ask` returns in time. Raises what it raises; TimeoutError.

    Timeouts of sockets begin again with every byte that arrives. A request that is too late is left to end,
    in a thread that keeps no program running.
    """
    outcomes: list[bytes | BaseException] = []

    def work() -> None:
        try:
            outcomes.append(ask())
        except BaseException as error:
            outcomes.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcomes:
        raise TimeoutError(f"no answer within {seconds:g} s")
    if isinstance(outcomes[0], BaseException):
        raise outcomes[0]
    return outcomes[0]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a password must not reach another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


class SchemaRegistry:
    """A registry with Confluent's REST API; each schema is requested once.

    Args:
        url: http or https, with `user:password@` for basic authentication, and with a path where the registry
            has one (`/apis/ccompat/v7`, `/contexts/.test`).
        timeout: seconds for each request, from its begin to the last byte of the answer.

    Raises: ArgumentError for any other URL, here or in KODEC_REGISTRY_AUTH. Its methods raise
    SchemaSourceFailed if the registry does not answer, or refuses.

    Example:
        >>> from kodec.values import SchemaRegistry, SchemaSourceFailed
        >>> registry = SchemaRegistry("http://127.0.0.1:9", timeout=1)
        >>> try:
        ...     registry.by_id(7)
        ... except SchemaSourceFailed as error:
        ...     print("no registry answers")
        no registry answers
    """

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ArgumentError(f"{url!r} is no URL of a registry: {error}") from None
        if parts.scheme not in ("http", "https") or not host:
            raise ArgumentError(f"{url!r} is no URL of a registry: http://HOST:PORT is needed")
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
        self.timeout = timeout
        user = _user_of(parts) if parts.username is not None else _user_of_environment(parts)
        self._headers = {"Accept": _JSON}
        if user:
            self._headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode('ascii')}"
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._known: dict[str, Schema | UnknownSchema] = {}
        self._lock = threading.Lock()

    def by_id(self, schema_id: SchemaId, subject: str = "") -> Schema:
        """As `SchemaSource.by_id`."""
        kind = "guids" if isinstance(schema_id, UUID) else "ids"
        return self._schema(f"/schemas/{kind}/{schema_id}", f"schema {schema_id}", schema_id)

    def by_subject(self, subject: str, version: int | None = None) -> Schema:
        """As `SchemaSource.by_subject`. A version that is asked for may be deleted.

        Args:
            subject, version: which schema; None: the newest version.
        """
        which = "latest" if version is None else f"{version}?deleted=true"
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions/{which}"
        name = subject if version is None else f"version {version} of {subject}"
        return self._schema(path, name, None)

    def _schema(self, path: str, name: str, schema_id: SchemaId | None) -> Schema:
        with self._lock:
            known = self._known.get(path)
            if known is None:
                known = self._known[path] = self._request(path, name, schema_id)
        if isinstance(known, UnknownSchema):
            raise known
        return known

    def _request(self, path: str, name: str, schema_id: SchemaId | None) -> Schema | UnknownSchema:
        request = urllib.request.Request(self.url + path, headers=self._headers)

        def answer() -> bytes:
            with self._opener.open(request, timeout=self.timeout) as response:
                data: bytes = response.read(2 * MOST_TEXT + 1)
                return data

        try:
            data = _in_time(self.timeout, answer)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return UnknownSchema(f"{name} is not in {self.url}")
                needed = f"basic authentication is needed, in the URL or in {AUTH} for this host"
                problem = needed if error.code == 401 else error.reason
                raise SchemaSourceFailed(f"{self.url}{path}: HTTP {error.code}: {problem}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise SchemaSourceFailed(f"{self.url}: {getattr(error, 'reason', None) or error}") from None
        try:
            return schema_of_answer(data, name, schema_id)
        except BadSchema as error:
            raise BadSchema(f"{self.url}{path}: {error}") from None


def schema_of_answer(data: bytes, name: str, schema_id: SchemaId | None) -> Schema:
    """The schema in a registry's answer. Raises BadSchema.

    Args:
        data: the answer.
        name: of what was asked for, the subject where the answer has none.
        schema_id: what was asked for; None where that was no id.
    """
    try:
        if len(data) > 2 * MOST_TEXT:
            raise ValueError(f"more than {2 * MOST_TEXT} bytes")
        document = read_json(data, most_values=_MOST_VALUES)
        references = tuple(
            Reference(str(reference["name"]), str(reference["subject"]), whole_number(reference["version"]))
            for reference in document.get("references") or ()
        )
        text = document["schema"]
        if not isinstance(text, str):
            raise ValueError("no text")
        number = document.get("id") if schema_id is None else schema_id
        if number is not None and not isinstance(number, UUID):
            number = whole_number(number)
        kind = kind_of(document.get("schemaType"))
        return Schema(kind, text, references, number, str(document.get("subject") or name))
    except BadSchema:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadSchema(f"no schema in the answer: {error!r}"[:500]) from None
