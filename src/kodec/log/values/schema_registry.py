"""Schemas from a registry, over HTTP."""

from __future__ import annotations

import base64
import http.client
import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request
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

__all__ = ["AUTH", "SchemaRegistry"]

AUTH = "KODEC_REGISTRY_AUTH"
"""The variable of the environment with `user:password`, where the URL has none."""

_JSON = "application/vnd.schemaregistry.v1+json, application/json"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a password must not reach another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


class SchemaRegistry:
    """A registry with Confluent's REST API; each schema is requested once.

    Args:
        url: http or https, with `user:password@` for basic authentication, and with a path where the registry
            has one (`/apis/ccompat/v7`, `/contexts/.test`).
        timeout: seconds for each request.

    Raises: ArgumentError for any other URL. Its methods raise SchemaSourceFailed if the registry
    does not answer, or refuses.

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
        named = [urllib.parse.unquote(each or "") for each in (parts.username, parts.password)]
        user = ":".join(named) if parts.username is not None else os.environ.get(AUTH, "")
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
                known = self._known[path] = self._asked(path, name, schema_id)
        if isinstance(known, UnknownSchema):
            raise known
        return known

    def _asked(self, path: str, name: str, schema_id: SchemaId | None) -> Schema | UnknownSchema:
        request = urllib.request.Request(self.url + path, headers=self._headers)
        try:
            with self._opener.open(request, timeout=self.timeout) as answer:
                data = answer.read(2 * MOST_TEXT + 1)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return UnknownSchema(f"{name} is not in {self.url}")
                problem = "basic authentication is needed" if error.code == 401 else error.reason
                raise SchemaSourceFailed(f"{self.url}{path}: HTTP {error.code}: {problem}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise SchemaSourceFailed(f"{self.url}: {getattr(error, 'reason', None) or error}") from None
        try:
            found = json.loads(data)
            references = tuple(
                Reference(str(each["name"]), str(each["subject"]), int(each["version"]))
                for each in found.get("references") or ()
            )
            text = found["schema"]
            if len(data) > 2 * MOST_TEXT or not isinstance(text, str):
                raise ValueError("no text, or too much")
            kind = kind_of(found.get("schemaType"))
            number = found.get("id") if schema_id is None else schema_id
            return Schema(kind, text, references, number, str(found.get("subject") or name))
        except BadSchema:
            raise
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise BadSchema(f"{self.url}{path}: no schema in the answer: {error!r}") from None
