"""Generated modules of a schema, and its kernel if possible, in a folder of the user's cache.

A folder is named by the hash of all its inputs: schemas, generator, Python, compiler. It is
created under another name and renamed when complete: of two processes one is first, and both are right. It
holds the hash of each of its files: an incomplete one, as left by cleaners of temporary files,
is created again.
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
import pickle
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from kodec.generator.schema.model import Model
from kodec.runtime.logger import logger
from kodec.runtime.native import include_dir

__all__ = ["Modules", "cache_folder", "made_by", "modules_of", "unpacked"]

_ROOT = Path(__file__).resolve().parent.parent
_COMPILE_SECONDS = 300
_WHOLE = "whole.json"
_MODEL = "model.pickle"
_TRIES = 5


class Modules:
    """One folder of the cache: schemas, and the modules generated from them."""

    def __init__(self, folder: Path, make: Callable[[], None], *, streams: bool = True) -> None:
        self.whole = folder
        self._streams = streams
        self._make = make
        self.schemas = folder / "schemas"
        self.folder = folder / "modules"
        self.package = f"kodec_cached_{folder.name}"

    def module(self, name: str) -> ModuleType:
        """A module by its path in the folder: `network/pcap`, `kernels/weather`."""
        wanted = f"{self.package}.{name.replace('/', '.')}"
        if wanted not in sys.modules and not _is_whole(self.whole):
            self._make()
        for inner in ("", "kernels"):
            full = f"{self.package}.{inner}".rstrip(".")
            if full not in sys.modules:
                spec = importlib.machinery.ModuleSpec(full, None, is_package=True)
                spec.submodule_search_locations = [str(self.folder / inner)]
                sys.modules[full] = importlib.util.module_from_spec(spec)
        return importlib.import_module(wanted)

    def model(self) -> Model:
        """The checked model of the schemas, as it was when the modules were generated."""
        with contextlib.suppress(OSError, pickle.UnpicklingError, AttributeError, ImportError, EOFError):
            with (self.whole / _MODEL).open("rb") as file:
                found = pickle.load(file)  # the folder is the user's alone, and is imported from
            if isinstance(found, Model):
                return found
        from kodec.generator.driver import load

        return load(self.schemas, streams=self._streams)

    def kernel(self, ident: str) -> ModuleType | None:
        """The kernel of a schema, if one was built and can be loaded."""
        if not (self.folder / "kernels" / f"{ident}{_suffix()}").is_file():
            return None
        try:
            return self.module(f"kernels/{ident}")
        except ImportError as error:
            logger("kodec.formats").warning("the kernel of %s cannot be loaded: %s", ident, error)
            return None


def cache_folder() -> Path:
    """Where generated modules are kept: $KODEC_CACHE, or `kodec` in the user's folder of caches."""
    if given := os.environ.get("KODEC_CACHE"):
        return Path(given)
    if os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "kodec"


def modules_of(files: dict[str, bytes], *, streams: bool = False) -> Modules:
    """The modules of schemas by their path, with kernels of those that can have one, if there is a compiler.

    With `streams` there are no kernels, and all schemas without keys that need layouts are streamed.
    They are generated if missing or incomplete. Raises: SchemaError; OSError, also for a folder that
    others can write to, or exchange.
    """
    compiler = None if streams else _compiler()
    made = _private(cache_folder()) / _digest(files, compiler, streams)

    def make() -> None:
        _make(files, compiler, made, streams)
        importlib.invalidate_caches()

    if not _is_whole(made):
        make()
    return Modules(_private(made), make, streams=streams)


def unpacked(name: str, files: dict[str, bytes]) -> Modules:
    """The modules of a plan (`kodec.formats.plans`), in a folder of the cache. Raises: OSError."""
    made = _private(cache_folder()) / name

    def make() -> None:
        work = Path(tempfile.mkdtemp(prefix="making-", dir=made.parent))
        try:
            for path, data in files.items():
                place = work / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
            _complete(work, made)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        importlib.invalidate_caches()

    if not _is_whole(made):
        make()
    return Modules(_private(made), make)


def _private(folder: Path) -> Path:
    """The folder, which must be the user's alone because modules are imported from it. Raises OSError."""
    folder = folder.absolute()
    for each in reversed([folder, *folder.parents]):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid"):
        found = folder.resolve(strict=True)
        facts = found.stat()
        if facts.st_uid != os.getuid() or facts.st_mode & 0o022 or any(map(_is_foreign, found.parents)):
            raise PermissionError(f"{folder} is not the user's alone: set KODEC_CACHE to a folder that is")
    return folder


def _is_foreign(folder: Path) -> bool:
    """Whether another user can replace files in the folder."""
    facts = folder.stat()
    owners = (0, os.getuid(), Path(folder.anchor).stat().st_uid)
    return facts.st_uid not in owners or bool(facts.st_mode & 0o002 and not facts.st_mode & stat.S_ISVTX)


def _hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def _is_whole(made: Path) -> bool:
    """Whether a folder still has all its files."""
    try:
        wanted = json.loads((made / _WHOLE).read_bytes())
        return bool(wanted == _hashes(made, wanted))
    except (OSError, ValueError, TypeError):
        return False


def _make(files: dict[str, bytes], compiler: list[str] | None, made: Path, streams: bool) -> None:
    from kodec.generator.driver import generate, load

    work = Path(tempfile.mkdtemp(prefix="making-", dir=made.parent))
    try:
        for name, data in files.items():
            place = work / "schemas" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
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
        _complete(work, made)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _able(model: Model) -> list[str]:
    """The ids of the schemas that can have a kernel."""
    from kodec.generator.targets.native.kernel import kernel_of

    return [each.id for each in model.schemas if kernel_of(model, each) is not None]


def _complete(work: Path, made: Path) -> None:
    """Note the hash of each file of a folder, and publish it."""
    names = sorted(each.relative_to(work).as_posix() for each in work.rglob("*") if each.is_file())
    (work / _WHOLE).write_text(json.dumps(_hashes(work, names)))
    _publish(work, made)


def _publish(work: Path, made: Path) -> None:
    """Rename a complete folder. If another process was first, its folder is the same."""
    for _ in range(_TRIES):
        with contextlib.suppress(OSError):
            work.rename(made)
            return
        if _is_whole(made):
            return
        aside = Path(tempfile.mkdtemp(prefix="broken-", dir=made.parent))
        with contextlib.suppress(OSError):
            made.rename(aside / made.name)
        shutil.rmtree(aside, ignore_errors=True)
    work.rename(made)


def _compile(compiler: list[str], kernels: Path, name: str) -> None:
    """Build the kernel. If that fails, pure Python does the same, and a warning gives the reason."""
    link = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    include = [f"-I{path}" for path in (sysconfig.get_paths()["include"], kernels, include_dir())]
    flags = ["-fPIC", "-O3", "-g0", "-fvisibility=hidden"]
    target = kernels / f"{name}{_suffix()}"
    line = [*compiler, *link, *flags, *include, str(kernels / f"{name}.c"), "-o", str(target)]
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, errors="replace", check=False, timeout=_COMPILE_SECONDS
        )
        failed = (done.stderr.strip() or f"exit code {done.returncode}") if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        failed = str(error)
    if failed:
        target.unlink(missing_ok=True)
        text = "the kernel of %s cannot be built, pure Python reads it: %s"
        logger("kodec.formats").warning(text, name, failed.strip()[:500])


def _suffix() -> str:
    return str(sysconfig.get_config_var("EXT_SUFFIX") or ".so")


def _compiler() -> list[str] | None:
    """$CC, or the first C compiler found; None without one, or without Python's headers."""
    if not Path(sysconfig.get_paths()["include"], "Python.h").is_file():
        return None
    given = shlex.split(os.environ.get("CC", ""))
    for command in [given] if given else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return command
    return None


def _digest(files: dict[str, bytes], compiler: list[str] | None, streams: bool) -> str:
    digest = hashlib.sha256(made_by())
    digest.update(repr((sys.version, sysconfig.get_platform(), compiler, streams)).encode())
    for name, data in sorted(files.items()):
        digest.update(b"%d %s %d\n" % (len(name.encode()), name.encode(), len(data)) + data)
    return digest.hexdigest()[:32]


@functools.cache
def made_by() -> bytes:
    """A hash of the generator, and of the runtime of its modules: which determine the generated modules."""
    digest = hashlib.sha256()
    for folder in ("generator", "runtime"):
        for path in sorted((_ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".j2", ".h", ".pyx", ".pxi") and path.is_file():
                digest.update(path.relative_to(_ROOT).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()
