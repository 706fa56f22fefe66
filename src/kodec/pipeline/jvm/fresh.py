"""Whether kodec-spark.jar was built from the current sources: its manifest has their hash.

The jar is committed, so that an installation from a clone has it, without a JDK and without a network. Uses
the standard library alone: setup.py omits a jar built from other sources, `make jar` rebuilds it.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["JAR", "is_fresh", "pack", "sources_digest"]

_HERE = Path("src", "kodec", "pipeline", "jvm")
JAR = _HERE / "kodec-spark.jar"
_OWN = (_HERE, Path("runtime", "java"))
_GENERATED = Path("generated", "java")
_SERVICES = _HERE / "META-INF"
_MANIFEST = "META-INF/MANIFEST.MF"
_HASH = "Kodec-Sources"


def sources_digest(root: Path, classes: Iterable[str]) -> str:
    """The SHA-256 of all sources of the jar; `classes` are the names of its files, which select the
    generated sources."""
    generated = {f"{name.removesuffix('.class').split('$')[0]}.java" for name in classes}
    files = [path for folder in _OWN for path in (root / folder).rglob("*.java")]
    files += [path for name in generated if (path := root / _GENERATED / name).is_file()]
    files += [path for path in (root / _SERVICES).rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for path in sorted(files):
        # Git may have changed how lines end.
        data = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(root).as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def is_fresh(root: Path) -> bool:
    """Whether the jar is there, and was built of the sources under `root`."""
    try:
        with zipfile.ZipFile(root / JAR) as jar:
            manifest = jar.read(_MANIFEST).decode()
            names = jar.namelist()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False
    return f"{_HASH}: {sources_digest(root, names)}" in manifest.splitlines()


def pack(root: Path, classes: Path, compiler: str) -> None:
    """Put compiled classes into the jar, the same bytes whenever and wherever that is done."""
    names = sorted(path.relative_to(classes).as_posix() for path in classes.rglob("*.class"))
    digest = sources_digest(root, names)
    manifest = f"Manifest-Version: 1.0\r\nCreated-By: {compiler}\r\n{_HASH}: {digest}\r\n\r\n"
    services = {
        f"META-INF/{path.relative_to(root / _SERVICES).as_posix()}": path.read_bytes()
        for path in sorted((root / _SERVICES).rglob("*"))
        if path.is_file()
    }
    compiled = {name: (classes / name).read_bytes() for name in names}
    entries = {_MANIFEST: manifest.encode(), **services, **compiled}
    with zipfile.ZipFile(root / JAR, "w") as jar:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            jar.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
