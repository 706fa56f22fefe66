"""Generates the files of every target in memory, then compares them with a folder or writes them there."""

from __future__ import annotations

import difflib
import hashlib
import json
import keyword
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from kodec.generator.older_vectors import with_new_fields
from kodec.generator.passes import check, read_from_streams, run_passes
from kodec.generator.plan.build import program_of
from kodec.generator.problems import Problems, SchemaProblem
from kodec.generator.schema.build import build
from kodec.generator.schema.model import Model
from kodec.generator.schema.overlay import overlay_files
from kodec.generator.target import DEFAULT, MARK, VERSION, File, Request, Target, find, mark, options_of

__all__ = ["MARK", "Change", "Output", "changes", "generate", "load", "render_all", "vectors_beside"]

MANIFEST = "MANIFEST.json"


@dataclass(frozen=True, slots=True)
class Output:
    """All generated texts by path, relative to the output folder and the test folder.

    `patterns` match the names of files that belong to the targets, if they carry our mark.
    """

    modules: dict[str, str]
    tests: dict[str, str]
    patterns: tuple[str, ...]
    model: Model


@dataclass(frozen=True, slots=True)
class Change:
    """A file that differs from the generated text; `kind` is new, changed or stale."""

    path: Path
    kind: str
    diff: str


def load(
    schemas: Path, overlays: Sequence[str] = (), *, streams: bool = False, import_path: Sequence[Path] = ()
) -> Model:
    """The checked model of all schemas in a folder, and of what they import from those of `import_path`.

    Raises SchemaError with every problem found.
    """
    problems = Problems()
    return run_passes(
        build(schemas, problems, overlay_files(overlays), import_path), problems, streams=streams
    )


def render_all(
    schemas: Path,
    *,
    package: str | None = None,
    kernels: Sequence[str] = (),
    targets: Sequence[str] = DEFAULT,
    options: Mapping[str, str] | None = None,
    overlays: Sequence[str] = (),
    streams: bool = False,
    notes: list[SchemaProblem] | None = None,
    import_path: Sequence[Path] = (),
    model: Model | None = None,
    formatted: bool = True,
) -> Output:
    """All generated text.

    Args:
        schemas: folder of .ksy files.
        package: the name under which tests import the modules; None for no tests.
        kernels: ids of the schemas that get a native kernel.
        targets: names of the targets to make.
        options: options of targets, by name: `package` for all, `java.package` for one.
        overlays: files with further keys for schemas, or ids of schemas that ship with such a file.
        streams: make streamed modules of all schemas without keys that need layouts.
        notes: a list to which notes about the schemas are added.
        import_path: folders in which imports of the schemas are also found; these are generated too.
        model: what `load` returned of these schemas, so that they are not read again.
        formatted: whether to format code that people read.

    Raises SchemaError with all problems of the schemas, and all that a target cannot express; ValueError
    for an invalid package, kernel, target or option.
    """
    if package is not None and not all(_importable(part) for part in package.split(".")):
        raise ValueError(f"`{package}` is not the name of a Python package")
    chosen = [find(name) for name in dict.fromkeys(targets)]
    problems = Problems(notes=[] if notes is None else notes)
    if model is None:
        model = build(schemas, problems, overlay_files(overlays), import_path)
        model = check(model, problems, streams=streams)
    # the model is without its invalid parts: targets report what they do not support of the rest
    able = _without_problems(model, problems) if problems.found else dict.fromkeys(kernels)
    named = tuple(name for name in dict.fromkeys(kernels) if name in able)
    request = Request(model, package, named, formatted, options_of(chosen, options or {}))
    for target in chosen:
        problems.found += target.lacks(request)
    problems.raise_if_any()
    for target in chosen if not streams else ():
        if hasattr(target, "notes"):
            problems.notes += target.notes(request)
    readers = [each.no_stream_writers for each in chosen if hasattr(each, "no_stream_writers")]
    if readers and not streams:
        what = f"a writer in {' or '.join(readers)}"
        problems.notes += read_from_streams(model, model.schemas, what, severity="note")
    files: dict[tuple[bool, str], File] = {}
    for target in chosen:
        for file in target.emit(target.plan(request)):
            _sound(target, file, files)
            files[file.test, file.path] = file
    modules = {path: file.text for (test, path), file in files.items() if not test}
    if any(target.name == "model" for target in chosen):
        modules[MANIFEST] = _manifest(files.values())
    tests = {path: file.text for (test, path), file in files.items() if test}
    return Output(modules, tests, tuple(pattern for target in chosen for pattern in target.files), model)


def _without_problems(model: Model, problems: Problems) -> dict[str, None]:
    """The ids of the schemas without problems, also in those that they import, or that one file imports with
    them: parts that these need were left out.
    """
    files = {problem.place.file for problem in problems.found}
    wrong = {each.id for each in model.schemas if each.root.place.file in files}
    joined = [{each.id, *each.imports} for each in model.schemas]
    while more := set().union(*(each for each in joined if each & wrong)) - wrong:
        wrong |= more
    return dict.fromkeys(each.id for each in model.schemas if each.id not in wrong)


def _importable(part: str) -> bool:
    return part.isidentifier() and not keyword.iskeyword(part)


def _sound(target: Target[Any], file: File, files: dict[tuple[bool, str], File]) -> None:
    """Raise ValueError for a file that a target must not produce."""
    path = PurePosixPath(file.path)
    wrong = ""
    if path.is_absolute() or ".." in path.parts or "\\" in file.path or path.as_posix() != file.path:
        wrong = "it is not a plain path inside the output folder"
    elif not any(_matches(file.path, pattern) for pattern in target.files):
        wrong = f"its name is none of {', '.join(target.files)}"
    elif MARK not in file.text[:200]:
        wrong = "its first line has no mark of a generated file"
    elif (file.test, file.path) in files or file.path == MANIFEST:
        wrong = "another file has that path"
    if wrong:
        raise ValueError(f"target {target.name!r} gives a file {file.path!r}: {wrong}")


def _matches(path: str, pattern: str) -> bool:
    """A pattern with a folder matches the whole path, any other the file's name in any folder."""
    return fnmatch(path if "/" in pattern else path.rpartition("/")[2], pattern)


def _manifest(files: Iterable[File]) -> str:
    """The manifest: the schema of each file, with hashes that show whether the file is up to date."""
    document = {
        "//": f"{MARK} {VERSION}",
        "generator": VERSION,
        "model_sha256": next(
            hashlib.sha256(file.text.encode()).hexdigest() for file in files if file.path == "model.json"
        ),
        "files": {
            file.path: {"schema": file.schema.path, "sha256": file.schema.sha256}
            for file in files
            if file.schema is not None and not file.test
        },
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def vectors_beside(schemas: Path, model: Model, made: Container[str] = ()) -> dict[str, str]:
    """The files of vectors that people put beside the schemas, which belong to their suite, marked as copies.

    Their values have all fields of the `model`, also those that it has gained since.
    Raises ValueError for one that is no object of JSON, or has the path of a file that is `made`.
    """
    found: dict[str, str] = {}
    for path in sorted(schemas.rglob("*.vectors.json")):
        name, text = path.relative_to(schemas).as_posix(), path.read_text("utf-8")
        if _is_ours(path):
            continue
        if not text.lstrip().startswith("{"):
            raise ValueError(f"{path} is not a file of vectors")
        if name in made:
            raise ValueError(f"{path} has the name of the vectors that are made of its schema: rename it")
        text = with_new_fields(program_of(model), text)
        found[name] = text.replace("{", f'{{\n "//": {json.dumps(mark())},', 1)
    return found


def changes(wanted: dict[str, str], folder: Path, patterns: Sequence[str]) -> list[Change]:
    """How the files in `folder` differ from `wanted`; only files that carry our mark can be stale."""
    found: list[Change] = []
    for name in sorted(wanted):
        path = folder / name
        have = path.read_text("utf-8") if path.is_file() else None
        if have != wanted[name]:
            found.append(
                Change(path, "new" if have is None else "changed", _diff(path, have or "", wanted[name]))
            )
    for path in sorted({path for pattern in patterns for path in folder.rglob(pattern)}):
        if path.relative_to(folder).as_posix() not in wanted and _is_ours(path):
            found.append(Change(path, "stale", _diff(path, path.read_text("utf-8"), "")))
    return found


def _is_ours(path: Path) -> bool:
    return path.is_file() and MARK in path.read_text("utf-8", "replace")[:200]


def _diff(path: Path, have: str, want: str) -> str:
    lines = difflib.unified_diff(
        have.splitlines(keepends=True),
        want.splitlines(keepends=True),
        f"{path} (committed)",
        f"{path} (from the schemas)",
    )
    return "".join(lines)


def generate(
    schemas: Path,
    out: Path,
    *,
    tests: Path | None = None,
    package: str = "",
    kernels: Sequence[str] = (),
    targets: Sequence[str] = DEFAULT,
    options: Mapping[str, str] | None = None,
    overlays: Sequence[str] = (),
    streams: bool = False,
    check: bool = False,
    notes: list[SchemaProblem] | None = None,
    import_path: Sequence[Path] = (),
    model: Model | None = None,
    formatted: bool = True,
) -> list[Change]:
    """Bring `out` (and `tests`) in line with the schemas; with `check`, only return what would change.

    Notes about the schemas are added to `notes`. Imports are also found in the folders of `import_path`.
    `model` is what `load` returned of the schemas, if they were read before. With `formatted` off, code that
    only runs is not formatted.

    Raises SchemaError and ValueError as `render_all` does, and ValueError before anything is written for a
    file that somebody wrote by hand, or whose link leads out of the folder.
    """
    output = render_all(
        schemas,
        package=package if tests is not None else None,
        kernels=kernels,
        targets=targets,
        options=options,
        overlays=overlays,
        streams=streams,
        notes=notes,
        import_path=import_path,
        model=model,
        formatted=formatted,
    )
    if "vectors" in targets and out.resolve() != schemas.resolve():
        output.modules.update(vectors_beside(schemas, output.model, output.modules))
    found = changes(output.modules, out, output.patterns)
    if tests is not None:
        found += changes(output.tests, tests, output.patterns)
    if check:
        return found
    wanted = {out / name: (out, text) for name, text in output.modules.items()}
    if tests is not None:
        wanted |= {tests / name: (tests, text) for name, text in output.tests.items()}
    for change in found:
        if change.kind == "changed":
            _refuse_foreign(change.path)
        if change.kind != "stale":
            _refuse_outside(change.path, wanted[change.path][0])
    for number, change in enumerate(found):
        try:
            if change.kind == "stale":
                change.path.unlink()
            else:
                _write(change.path, wanted[change.path][1])
        except BaseException as error:
            error.add_note(f"{number} of {len(found)} files were written or removed")
            raise
    return found


def _refuse_foreign(path: Path) -> None:
    """Raise ValueError if a file written by hand would be lost."""
    text = path.read_text("utf-8", "replace")
    if (
        text.strip()
        and not _is_ours(path)
        and '"generator": ' not in text
        and '"model_version": ' not in text
    ):
        raise ValueError(f"{path} does not carry our first line: it would be lost")


def _refuse_outside(path: Path, root: Path) -> None:
    """Raise ValueError if a link leads out of the folder."""
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise ValueError(f"{path.parent} leads out of {root}")


def _write(path: Path, text: str) -> None:
    """Replace a file in one step; a link at its path is replaced, not followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with made.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
