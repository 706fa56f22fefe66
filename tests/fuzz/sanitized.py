"""A native module built with address and undefined-behaviour sanitizers, in a process of its own.

It is a plugin of pytest too: `-p sanitized` has the tests of that process use the module.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from kodec.runtime.native import include_dir

HERE = Path(__file__).resolve().parent
FLAGS = ("-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fno-sanitize-recover=all")
PATH = "KODEC_FUZZ_MODULE"


def run(module: str, arguments: list[str]) -> int:
    """Run this Python with `arguments` and the module under sanitizers.

    Returns its exit code, or 1 where no compiler has them.
    """
    with tempfile.TemporaryDirectory(prefix="kodec-fuzz-") as folder:
        for command in ("gcc", "cc"):
            environment = _built(command, module, Path(folder)) if shutil.which(command) else None
            if environment is not None:
                return subprocess.run([sys.executable, *arguments], env=environment, check=False).returncode
    print("no compiler has sanitizers that this Python can load: gcc or cc", file=sys.stderr)
    return 1


def _built(command: str, module: str, folder: Path) -> dict[str, str] | None:
    """Build the module; the environment for Python to load it, None if it cannot."""
    path = folder / f"{module}{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = [f"-I{sysconfig.get_path('include')}", f"-I{include_dir()}"]
    source = str(Path(include_dir(), f"{module}.c"))
    flags = ["-shared", "-fPIC", "-fsanitize=address,undefined", *FLAGS]
    try:
        subprocess.run([command, *flags, *include, source, "-o", str(path)], check=True)
        asked_for = [command, "-print-file-name=libasan.so"]
        library = subprocess.run(asked_for, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    environment = {
        **os.environ,
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH")))),
        PATH: str(path),
    }
    probe = [sys.executable, "-c", "import sanitized; sanitized.use()"]
    done = subprocess.run(probe, env=environment, check=False, stdout=subprocess.DEVNULL)
    return environment if done.returncode == 0 else None


def use() -> None:
    """Have the module that was built with sanitizers, where this process was started for it."""
    path = os.environ.pop(PATH, None)
    # processes that this one starts need none of it
    os.environ.pop("LD_PRELOAD", None)
    if path is None:
        return
    name = f"kodec.runtime.native.{Path(path).name.partition('.')[0]}"
    spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))
    assert spec is not None and spec.loader is not None
    assert name not in sys.modules
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    print(f"native code with sanitizers: {sys.modules[name].__file__}")


def pytest_configure() -> None:
    """Use the module before a test imports it."""
    use()
