"""A kit: its files, the source of each, and a manifest with their hashes.

The same schemas result in the same kit: it has no time, place or author.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file
from importlib.resources import files as resource_files
from pathlib import Path, PurePosixPath

from kodec.generator.driver import load, render_all, vectors_beside
from kodec.generator.problems import SchemaError
from kodec.generator.schema.model import Model
from kodec.generator.schema.model_schema import model_schema
from kodec.generator.target import VERSION, find, known
from kodec.handoff.changes import changelog, manifest_of
from kodec.handoff.html import page_of

__all__ = ["MANIFEST", "Kit", "files_of", "languages", "make_kit", "older_kit", "write_folder", "write_zip"]

KIT_VERSION = 1
MANIFEST = "MANIFEST.json"
EXAMPLES = "examples"
"""A folder of that name among the schemas is copied into the kit: programs that use the generated code."""
# Folders with their own place in the kit, and those that only this project's build uses.
_NO_CODE = ("documents", "model", "native", "vectors")
_LARGEST = 16 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Kit:
    """The files of a kit by their paths, and what was left out.

    Attributes:
        version: the format version: as given, or the start of the hash of all schemas.
        files: contents by path, with forward slashes; the manifest is one of them.
        without: for each target the schemas that it cannot express, with the reason.
    """

    version: str
    files: Mapping[str, bytes]
    without: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def languages() -> list[str]:
    """The targets for which a kit can have code."""
    return [language for language in known() if language not in _NO_CODE]


def make_kit(
    schemas: Path,
    *,
    name: str = "",
    version: str = "",
    targets: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    include: Mapping[str, Path] | None = None,
    previous: Path | None = None,
) -> Kit:
    """All files of the kit of a folder of schemas.

    Args:
        schemas: folder of .ksy files; a folder `examples` in it is copied.
        name: the name of the formats in the pages; by default the folder's name.
        version: the format version; by default that of the content.
        targets: languages to generate; by default all that are installed.
        options: options of targets, by their full names (`go.package`).
        include: further folders to copy, by their names in the kit (`testees`).
        previous: an earlier kit, folder or archive; the changelog lists the differences from it.

    Raises: SchemaError; ValueError for an invalid target or name, or a previous kit that is
    not one; OSError.
    """
    model = load(schemas)
    name = name or schemas.resolve().name
    read = (file for file in sorted(schemas.rglob("*.ksy")) if not file.name.startswith("."))
    sources = {file.relative_to(schemas).as_posix(): file.read_bytes() for file in read}
    digest = hashlib.sha256(b"".join(b"%s\0%s\0" % (p.encode(), d) for p, d in sorted(sources.items())))
    version = version or digest.hexdigest()[:12]
    selected = languages() if targets is None else list(targets)
    if wrong := [language for language in selected if language not in languages()]:
        raise ValueError(f"no language to generate: {', '.join(wrong)}")
    files = {f"schemas/{path}": data for path, data in sources.items()}
    without: dict[str, dict[str, str]] = {}

    def generated(target: str, folder: str) -> None:
        modules, missing = _generated(schemas, model, target, options or {})
        if missing:
            without[target] = missing
        # a target whose files stand in a folder of its name needs no second one
        inner = f"{target}/"
        alone = all(path.startswith(inner) for path in modules)
        for path, text in modules.items():
            files[f"{folder}/{path.removeprefix(inner) if alone else path}"] = text.encode()

    generated("model", "model")
    files = {path: data for path, data in files.items() if path != f"model/{MANIFEST}"}
    files["model/model.schema.json"] = _json(model_schema())
    generated("documents", "pages")
    generated("vectors", "vectors")
    paths = {path.removeprefix("vectors/") for path in files}
    files |= {
        f"vectors/{path}": text.encode() for path, text in vectors_beside(schemas, model, paths).items()
    }
    contract = resource_files("kodec.generator.targets.vectors").joinpath("vectors.schema.json")
    files["vectors/vectors.schema.json"] = contract.read_bytes()
    for language in selected:
        generated(language, f"code/{language}")
        if runtime := getattr(find(language), "runtime", ""):
            beside = resource_files("kodec.runtime").joinpath(runtime)
            with as_file(beside) as runtime_folder:
                runtime_files = {
                    f"code/{language}/{path}": data for path, data in files_of(runtime_folder).items()
                }
            files |= {path: data for path, data in runtime_files.items() if path not in files}
    for folder, source in {EXAMPLES: schemas / EXAMPLES, **(include or {})}.items():
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", folder) or folder in (
            "schemas",
            "model",
            "pages",
            "vectors",
            "code",
        ):
            raise ValueError(f"{folder!r} is not a valid name for another folder in the kit")
        if source.is_dir():
            files |= {f"{folder}/{path}": data for path, data in files_of(source).items()}
        elif folder != EXAMPLES:
            raise ValueError(f"no such folder: {source}")
    for path in [page for page in files if page.startswith("pages/") and page.endswith(".md")]:
        files[path.removesuffix(".md") + ".html"] = page_of(files[path].decode()).encode()
    files["CHANGELOG.md"] = changelog(previous, schemas, files, version).encode()
    files["README.md"] = _readme(name, version, files, without, model).encode()
    files["README.html"] = page_of(files["README.md"].decode()).encode()
    files[MANIFEST] = _json(
        {
            "kit_version": KIT_VERSION,
            "name": name,
            "format_version": version,
            "generator": VERSION,
            "files": {
                path: {"sha256": _sha256(data), "size": len(data)} for path, data in sorted(files.items())
            },
        }
    )
    return Kit(version, dict(sorted(files.items())), without)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _generated(
    schemas: Path, model: Model, target: str, options: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The target's output for all schemas that it supports, and why it does not support others."""
    target_options = {
        name.partition(".")[2]: value for name, value in options.items() if name.startswith(f"{target}.")
    }
    try:
        return render_all(schemas, targets=[target], options=target_options).modules, {}
    except SchemaError as error:
        reasons: dict[str, str] = {}
        for problem in error.problems:
            path = problem.place.file.removeprefix(f"{schemas.name}/")
            reasons.setdefault(path, problem.text)
    by_id = {schema.id: schema for schema in model.schemas}
    while more := {
        schema.path: f"it imports {other}"
        for schema in model.schemas
        if schema.path not in reasons
        for other in schema.imports
        if by_id[other].path in reasons
    }:
        reasons |= more
    supported = [schema.path for schema in model.schemas if schema.path not in reasons]
    if not supported:
        return {}, reasons
    with tempfile.TemporaryDirectory(prefix="kodec-handoff-") as scratch:
        folder = Path(scratch, schemas.name or "schemas")
        for path in supported:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(schemas / path, folder / path)
        return render_all(folder, targets=[target], options=target_options).modules, reasons


def files_of(folder: Path) -> dict[str, bytes]:
    """The files in a folder by their paths: no hidden ones, no links, no caches.

    Raises: ValueError for one of more than 16 MiB; OSError.
    """
    contents: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in inner.parts)
        if hidden or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"{path} has more than {_LARGEST} bytes")
        contents[inner.as_posix()] = path.read_bytes()
    return contents


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


_ABOUT = {
    "schemas": "definition of the bytes in Kaitai Struct, whose compiler ignores keys that begin with `-`",
    "model": "the schemas read and checked, as JSON with its JSON schema: for generators of your own",
    "pages": "a page for each schema, for people: [Markdown](pages/index.md) and [HTML](pages/index.html)",
    "vectors": "bytes and the values that they hold; bytes that must be refused",
    "code": "readers and writers, a folder for each language",
    EXAMPLES: "programs that use them, each with the command that compiles it",
}


def _readme(
    name: str, version: str, files: Iterable[str], without: Mapping[str, Mapping[str, str]], model: Model
) -> str:
    folders = sorted({path.partition("/")[0] for path in files if "/" in path}, key=_rank)
    languages = sorted({path.split("/")[1] for path in files if path.startswith("code/")})
    lines = [
        f"# {name}, format version {version}",
        "",
        f"{len(model.schemas)} schemas and everything generated from them, for "
        f"{', '.join(languages) or 'no language'}.",
        "",
        "| folder | is |",
        "|---|---|",
        *(f"| `{folder}/` | {_ABOUT.get(folder, 'copied unchanged')} |" for folder in folders),
        "",
        f"`{MANIFEST}` has the SHA-256 of every file.",
        "[CHANGELOG.md](CHANGELOG.md) lists the differences from the previous kit.",
    ]
    if without:
        lines += ["", "## Not in it", "", "| for | schema | because |", "|---|---|---|"]
        lines += [
            f"| {target} | `{path}` | {reason.replace('|', ' ')} |"
            for target, missing in sorted(without.items())
            for path, reason in sorted(missing.items())
        ]
    return "\n".join(lines) + "\n"


def _rank(folder: str) -> tuple[int, str]:
    known_ones = list(_ABOUT)
    return (known_ones.index(folder) if folder in _ABOUT else len(known_ones), folder)


def older_kit(out: Path) -> dict[str, str]:
    """The files of the kit in a folder, with their SHA-256; empty if there is none.

    Raises: FileExistsError for a folder that is not a kit, or whose files have changed; OSError.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return {}
    try:
        digests = {path: str(entry["sha256"]) for path, entry in manifest_of(out, out)["files"].items()}
    except ValueError as error:
        raise FileExistsError(f"{error}; nothing is written there") from None
    for path, digest in digests.items():
        inner = PurePosixPath(path)
        if inner.is_absolute() or ".." in inner.parts:
            raise FileExistsError(f"{out / MANIFEST} names {path}, which is not inside")
        if (out / path).exists() and _sha256((out / path).read_bytes()) != digest:
            raise FileExistsError(f"{out / path} was changed since the kit was written: move it away")
    return digests


def write_folder(kit: Kit, out: Path) -> None:
    """Put the kit into a folder that does not exist yet, or is an older kit, which it replaces.

    Files next to those of the older kit stay.
    Raises: FileExistsError as `older_kit`, and for another file in the way; OSError.
    """
    old = older_kit(out)
    for path in kit.files:
        if path != MANIFEST and path not in old and os.path.lexists(out / path):
            raise FileExistsError(f"{out / path} exists and belongs to no kit: move it away")
    for path in old:
        (out / path).unlink(missing_ok=True)
    for path, data in kit.files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(data)


def write_zip(kit: Kit, path: Path) -> None:
    """Write the kit as an archive; the same kit gives the same bytes. Raises: OSError.

    It is not compressed: the output of a compressor depends on its version.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in kit.files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)
