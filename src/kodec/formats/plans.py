"""A plan: a checked schema with its generated modules as one file, for machines without the generator.

It is a zip of the folder of the cache, with `plan.json`: the version of this form, what made the modules,
the path of the schema, the hash of each part. Its hashes prove nothing about who made it, so its code is run
only where that is allowed; elsewhere its modules are generated again from its schemas, which are data.
"""

from __future__ import annotations

import hashlib
import io
import json
import posixpath
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kodec.formats.cache import Modules, has_streams, made_by, modules_of, unpacked
from kodec.runtime.errors import FormatError, Malformed, MissingDependency, Unsupported
from kodec.runtime.extras import install_command
from kodec.runtime.foreign_json import read_json
from kodec.runtime.permission import ALLOW, is_allowed

if TYPE_CHECKING:
    from kodec.generator.schema.model import Model, Schema

__all__ = ["is_plan", "model_of_plan", "opened", "packed"]

FORM = 1
PLANS = "plans"
_ABOUT = "plan.json"
_MOST_BYTES = 256 << 20
_MOST_PARTS = 20_000
_SUFFIX = ".kodec"


def packed(name: str, modules: Modules) -> bytes:
    """The plan of a schema, by its path among those of its modules: the same bytes each time."""
    parts = {
        path.relative_to(modules.whole).as_posix(): path.read_bytes()
        for path in sorted(modules.whole.rglob("*"))
        if (path.suffix in (".py", ".ksy", ".yaml", ".pickle") or path.name == "about.json")
        and path.is_file()
    }
    about = {
        "form": FORM,
        "made_by": made_by().hex(),
        "schema": name,
        "parts": {path: hashlib.sha256(data).hexdigest() for path, data in parts.items()},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in {_ABOUT: json.dumps(about, indent=1).encode(), **parts}.items():
            # the time would make each file another one
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def is_plan(path: Path) -> bool:
    """Whether a file is named as a plan."""
    return path.suffix == _SUFFIX


def model_of_plan(path: Path, *, customized: bool) -> tuple[Model, Schema]:
    """The checked model of a plan, and its schema in it. Raises: as `opened`."""
    name, modules = opened(path, customized=customized)
    model = modules.model()
    return model, model.schema_at(name)


def opened(path: Path, *, customized: bool = False, trusted: bool = False) -> tuple[str, Modules]:
    """The path of the schema of a plan, and its modules, in the user's cache.

    Args:
        customized: whether overlays or imports are chosen for it.
        trusted: whether this program made the plan, and its code may run; it also may where the environment
            allows it (`kodec.runtime.permission`).

    Raises: ValueError where overlays or imports are chosen; Malformed for a part that is missing or changed;
    Unsupported for another form; SchemaError; MissingDependency; OSError.
    """
    if customized:
        raise ValueError(f"{path} is a plan: its overlays and imports were chosen when it was saved")
    data = path.read_bytes()
    try:
        about, parts = _read(data)
    except FormatError as error:
        raise error.in_source(str(path)) from error.__cause__
    if about["made_by"] == made_by().hex() and (trusted or is_allowed(PLANS)):
        return about["schema"], unpacked(f"plan-{hashlib.sha256(data).hexdigest()[:32]}", parts)
    schemas = {
        path.removeprefix("schemas/"): data for path, data in parts.items() if path.startswith("schemas/")
    }
    try:
        return about["schema"], modules_of(schemas, streams=has_streams(schemas))
    except ImportError as missing:
        if missing.name not in ("jinja2", "yaml", "ruff"):
            raise
        raise MissingDependency(
            f"{path}: generating its modules needs `{missing.name}`: {install_command('generator')}; running "
            f"the code in it instead is allowed only where {ALLOW}={PLANS} is in the environment"
        ) from missing


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            ways = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if any(part.compress_type not in ways for part in archive.infolist()):
                raise Malformed("", "a part of the plan is compressed as no plan is", at=0)
            size = sum(part.file_size for part in archive.infolist())
            if size > _MOST_BYTES or len(archive.infolist()) > _MOST_PARTS:
                raise Malformed("", f"a plan of more than {_MOST_BYTES >> 20} MiB", at=0)
            parts = {part.filename: archive.read(part) for part in archive.infolist()}
        about = read_json(parts.pop(_ABOUT), most_values=4 * _MOST_PARTS)
        form, expected, schema = about["form"], dict(about["parts"]), about["schema"]
        for text in (about["made_by"], schema, *expected):
            # a lone half of a character is no text
            text.encode("utf-8")
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        OSError,
        EOFError,
    ) as error:
        raise Malformed("", f"not a plan of kodec: {error}", at=0) from error
    except (NotImplementedError, RuntimeError) as error:
        raise Malformed("", f"not a plan of kodec: {error}", at=0) from error
    if form != FORM:
        raise Unsupported("form", f"a plan of form {form}; this version of kodec has form {FORM}", at=0)
    for path in {*expected, *parts}:
        normal = posixpath.normpath(path)
        if normal != path or normal.startswith(("/", "..")) or "\\" in path or ":" in path:
            raise Malformed(path, "a plan has a part outside of its folder", at=0)
        if path not in parts or hashlib.sha256(parts[path]).hexdigest() != expected.get(path):
            raise Malformed(path, "a part of the plan is missing or was changed", at=0)
    if f"schemas/{schema}" not in parts:
        raise Malformed("schema", "the plan has no such schema", at=0, have=schema)
    return about, parts
