"""Generated modules of a schema, and its kernel if possible, in a folder of the user's cache.

A folder is named by the hash of all its inputs: schemas, generator, Python, compiler. It is
created under another name and renamed when complete: of two processes one is first, and both are right. It
holds the hash of each of its files: an incomplete one, as left by cleaners of temporary files,
is created again. What loading a schema needs to know of its model stands in `about.json`, so that files are
read without the generator (`kodec.formats.index`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import stat
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from kodec.formats.index import Entry, read_entry, write_entry
from kodec.runtime.dataclass import dataclass
from kodec.runtime.native import include_dir

if TYPE_CHECKING:
    from kodec.generator.schema.model import Model

__all__ = ["About", "Modules", "cache_folder", "has_streams", "indexed", "made_by", "modules_of", "unpacked"]

ROOT = Path(__file__).resolve().parent.parent
_COMPILE_SECONDS = 300
_WHOLE = "whole.json"
_MODEL = "model.pickle"
_ABOUT = "about.json"
# the form of a folder: another number where what stands in it changes
_FORM = 2
_TRIES = 5


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a schema without its model.

    Attributes:
        module: the path of its module.
        name: the name of the class of its outermost type.
        parameters: how many that type has.
    """

    id: str
    module: str
    name: str
    parameters: int


class Modules:
    """One folder of the cache: schemas, and the modules generated from them."""

    def __init__(self, folder: Path, make: Callable[[], None], *, streams: bool = True) -> None:
        self.whole = folder
        self._streams = streams
        self.make = make
        self.schemas = folder / "schemas"
        self.folder = folder / "modules"
        self.package = f"kodec_cached_{folder.name}"

    def module(self, name: str) -> ModuleType:
        """A module by its path in the folder: `network/pcap`, `kernels/weather`."""
        module_name = f"{self.package}.{name.replace('/', '.')}"
        if module_name not in sys.modules and not _is_whole(self.whole):
            self.make()
        for inner in ("", "kernels"):
            full = f"{self.package}.{inner}".rstrip(".")
            if full not in sys.modules:
                spec = importlib.machinery.ModuleSpec(full, None, is_package=True)
                spec.submodule_search_locations = [str(self.folder / inner)]
                sys.modules[full] = importlib.util.module_from_spec(spec)
        return importlib.import_module(module_name)

    def about(self, path: str) -> About:
        """What reading files of a schema needs to know of it."""
        try:
            return About(*json.loads((self.whole / _ABOUT).read_bytes())[path])
        except (OSError, ValueError, KeyError, TypeError):
            return _abouts(self.model())[path]

    def model(self) -> Model:
        """The checked model of the schemas, as it was when the modules were generated."""
        import pickle

        from kodec.generator.schema.model import Model

        with contextlib.suppress(OSError, pickle.UnpicklingError, AttributeError, ImportError, EOFError):
            with (self.whole / _MODEL).open("rb") as file:
                model = pickle.load(file)  # the folder is the user's alone, and is imported from
            if isinstance(model, Model):
                return model
        from kodec.generator.driver import load

        return load(self.schemas, streams=self._streams)

    def kernel(self, ident: str) -> ModuleType | None:
        """The kernel of a schema, if one was built and can be loaded."""
        if not (self.folder / "kernels" / f"{ident}{_suffix()}").is_file():
            return None
        try:
            return self.module(f"kernels/{ident}")
        except ImportError as error:
            from kodec.runtime.logger import logger

            logger("kodec.formats").warning("the kernel of %s cannot be loaded: %s", ident, error)
            return None


def _abouts(model: Model) -> dict[str, About]:
    """What is known of each schema, by its path."""
    from kodec.generator.targets.python.names import ClassNames

    classes = ClassNames(model).classes
    return {
        schema.path: About(schema.id, schema.module, classes[schema.root.name], len(schema.root.params))
        for schema in model.schemas
    }


def cache_folder() -> Path:
    """Where generated modules are kept: $KODEC_CACHE, or `kodec` in the user's folder of caches."""
    if setting := os.environ.get("KODEC_CACHE"):
        return Path(setting)
    if os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "kodec"


def has_streams(files: dict[str, bytes]) -> bool:
    """Whether schemas are streamed: a type with `-row` has a kernel, which is made of layouts."""
    return not any(b"-row" in data for data in files.values())


def indexed(entry: Entry) -> tuple[str, Modules] | None:
    """The path of a schema and its modules, if they are in the cache and no file of the schema has changed.

    Raises: as `modules_of`.
    """
    folder = _private(cache_folder())
    cached = entry.files()
    if cached is None:
        return None
    name, files = cached
    target = folder / _key(files, streams=has_streams(files))
    return (
        (name, _modules(_private(target), files, streams=has_streams(files))) if _is_whole(target) else None
    )


def modules_of(files: dict[str, bytes], *, streams: bool = False) -> Modules:
    """The modules of schemas by their path, with kernels of those that can have one, if there is a compiler.

    With `streams` there are no kernels, and all schemas without keys that need layouts are streamed.
    They are generated if missing or incomplete. Raises: SchemaError; OSError, also for a folder that
    others can write to, or exchange.
    """
    target = _private(cache_folder()) / _key(files, streams=streams)
    modules = _modules(target, files, streams=streams)
    if not _is_whole(target):
        modules.make()
    _private(target)
    return modules


def _modules(target: Path, files: dict[str, bytes], *, streams: bool) -> Modules:
    def make() -> None:
        _make(files, target, streams)
        importlib.invalidate_caches()

    return Modules(target, make, streams=streams)


def unpacked(name: str, files: dict[str, bytes]) -> Modules:
    """The modules of a plan (`kodec.formats.plans`), in a folder of the cache. Raises: OSError."""
    target = _private(cache_folder()) / name

    def make() -> None:
        import shutil

        work = _work_folder(target)
        try:
            for path, data in files.items():
                file_path = work / path
                file_path.parent.mkdir(parents=True, exist_ok=True)
                file_path.write_bytes(data)
            _complete(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        importlib.invalidate_caches()

    if not _is_whole(target):
        make()
    return Modules(_private(target), make)


def _private(folder: Path) -> Path:
    """The folder, which must be the user's alone because modules are imported from it. Raises OSError."""
    folder = folder.absolute()
    for parent in reversed([folder, *folder.parents]):
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid"):
        real_folder = folder.resolve(strict=True)
        facts = real_folder.stat()
        if facts.st_uid != os.getuid() or facts.st_mode & 0o022 or any(map(_is_foreign, real_folder.parents)):
            raise PermissionError(f"{folder} is not the user's alone: set KODEC_CACHE to a folder that is")
    return folder


def _is_foreign(folder: Path) -> bool:
    """Whether another user can replace files in the folder."""
    facts = folder.stat()
    owners = (0, os.getuid(), Path(folder.anchor).stat().st_uid)
    return facts.st_uid not in owners or bool(facts.st_mode & 0o002 and not facts.st_mode & stat.S_ISVTX)


def _hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def _is_whole(target: Path) -> bool:
    """Whether a folder still has all its files."""
    try:
        hashes = json.loads((target / _WHOLE).read_bytes())
        return bool(hashes == _hashes(target, hashes))
    except (OSError, ValueError, TypeError):
        return False


def _work_folder(target: Path, prefix: str = "making-") -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))


def _make(files: dict[str, bytes], target: Path, streams: bool) -> None:
    import pickle
    import shutil

    from kodec.generator.driver import generate, load

    compiler = None if streams else _compiler()
    work = _work_folder(target)
    try:
        for name, data in files.items():
            file_path = work / "schemas" / name
            file_path.parent.mkdir(parents=True, exist_ok=True)
            file_path.write_bytes(data)
        out = work / "modules"
        model = load(work / "schemas", streams=streams)
        kernels = _able(model) if compiler else []
        targets = ("python", "native") if kernels else ("python",)
        generate(work / "schemas", out, kernels=kernels, targets=targets, model=model, formatted=False)
        for name in kernels:
            assert compiler is not None
            _compile(compiler, out / "kernels", name)
        with contextlib.suppress(RecursionError):
            (work / _MODEL).write_bytes(pickle.dumps(model))
        about = {
            path: [about.id, about.module, about.name, about.parameters]
            for path, about in _abouts(model).items()
        }
        (work / _ABOUT).write_text(json.dumps(about))
        _complete(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _able(model: Model) -> list[str]:
    """The ids of the schemas that can have a kernel."""
    from kodec.generator.targets.native.kernel import kernel_of

    return [schema.id for schema in model.schemas if kernel_of(model, schema) is not None]


def _complete(work: Path, target: Path) -> None:
    """Note the hash of each file of a folder, and publish it."""
    names = sorted(path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file())
    (work / _WHOLE).write_text(json.dumps(_hashes(work, names)))
    _publish(work, target)


def _publish(work: Path, target: Path) -> None:
    """Rename a complete folder. If another process was first, its folder is the same."""
    import shutil

    for _ in range(_TRIES):
        with contextlib.suppress(OSError):
            work.rename(target)
            return
        if _is_whole(target):
            return
        aside = _work_folder(target, "broken-")
        with contextlib.suppress(OSError):
            target.rename(aside / target.name)
        shutil.rmtree(aside, ignore_errors=True)
    work.rename(target)


def _compile(compiler: list[str], kernels: Path, name: str) -> None:
    """Build the kernel. If that fails, pure Python does the same, and a warning gives the reason."""
    import subprocess

    link = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    include = [f"-I{path}" for path in (sysconfig.get_paths()["include"], kernels, include_dir())]
    flags = ["-fPIC", "-O3", "-g0", "-fvisibility=hidden"]
    target = kernels / f"{name}{_suffix()}"
    line = [*compiler, *link, *flags, *include, str(kernels / f"{name}.c"), "-o", str(target)]
    try:
        process = subprocess.run(
            line, capture_output=True, text=True, errors="replace", check=False, timeout=_COMPILE_SECONDS
        )
        failed = (process.stderr.strip() or f"exit code {process.returncode}") if process.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        failed = str(error)
    if failed:
        target.unlink(missing_ok=True)
        from kodec.runtime.logger import logger

        text = "the kernel of %s cannot be built, pure Python reads it: %s"
        logger("kodec.formats").warning(text, name, failed.strip()[:500])


def _suffix() -> str:
    return str(sysconfig.get_config_var("EXT_SUFFIX") or ".so")


def _compiler() -> list[str] | None:
    """$CC, or the first C compiler found; None without one, or without Python's headers."""
    if not Path(sysconfig.get_paths()["include"], "Python.h").is_file():
        return None
    import shlex
    import shutil

    setting = shlex.split(os.environ.get("CC", ""))
    for command in [setting] if setting else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return command
    return None


def _key(files: dict[str, bytes], *, streams: bool) -> str:
    """The name of the folder of schemas: a hash of all that their modules follow from."""
    compiler = None if streams else _compiler()
    digest = hashlib.sha256(made_by())
    digest.update(repr((_FORM, sys.version, sysconfig.get_platform(), compiler, streams)).encode())
    for name, data in sorted(files.items()):
        digest.update(b"%d %s %d\n" % (len(name.encode()), name.encode(), len(data)) + data)
    return digest.hexdigest()[:32]


@functools.cache
def made_by() -> bytes:
    """A hash of the generator, and of the runtime of its modules: which determine the generated modules.

    The files are read only if one of them is another one, or was changed, since they were read last.
    """
    files = sorted(_code(), key=lambda file: file.path)
    facts = hashlib.sha256()
    for file in files:
        status = file.stat()
        facts.update(f"{file.path}\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\0".encode())
    known = cache_folder() / "index" / f"code-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:16]}.json"
    with contextlib.suppress(KeyError, TypeError, ValueError):
        entry = read_entry(known)
        if entry["facts"] == facts.hexdigest():
            return bytes.fromhex(entry["made_by"])
    digest = hashlib.sha256()
    for path in sorted(Path(file.path) for file in files):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    write_entry(known, {"facts": facts.hexdigest(), "made_by": digest.hexdigest()})
    return digest.digest()


def _code() -> Iterator[os.DirEntry[str]]:
    """The files of the generator and the runtime."""
    todo = [str(ROOT / "generator"), str(ROOT / "runtime")]
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".j2", ".h", ".pyx", ".pxi")):
                    yield entry
                elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                    todo.append(entry.path)
