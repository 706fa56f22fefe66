"""Finds a JDK and Kafka's jars, compiles Judge.java and runs it, and nothing of it outlives this process.

Maven compares what it downloads with checksums of the same server. Ours, in tests/labs/java/jars.sha256,
are compared with each jar: one that has another, or none, is not used. For a new release, look at what was
fetched, and add it:

    python tests/labs/differential/jvm.py .cache/differential/jars-*
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "labs" / "java" / "differential"
CACHE = ROOT / ".cache" / "differential"
KAFKA = "3.9.2"
OTHER_KAFKA = "4.3.1"
_RECORD = re.compile(r"^(import org\.apache\.kafka\.common\.record\.)(?!TimestampType)", re.MULTILINE)


PINS = ROOT / "tests" / "labs" / "java" / "jars.sha256"


class WrongJar(Exception):
    """A jar is not the one that is pinned, or none is."""


class Absent(Exception):
    """What is needed to run Kafka's classes is not on this machine, and why."""


def _program(name: str) -> str:
    """Path of a program of the JDK, or of Maven: JAVA_HOME first, then PATH."""
    home = os.environ.get("JAVA_HOME")
    if home and Path(home, "bin", name).is_file():
        return str(Path(home, "bin", name))
    found = shutil.which(name)
    if found is None:
        raise Absent(f"`{name}` is not on PATH")
    return found


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Absent(f"{what}: {(done.stderr + done.stdout).strip()[-600:]}")


def jars(version: str = KAFKA, sources: Path = SOURCES) -> Path:
    """The folder with what the pom.xml in `sources` names; fetched by Maven once. Raises Absent, WrongJar."""
    pom = sources / "pom.xml"
    folder = CACHE / (f"jars-{version}" if sources == SOURCES else f"jars-{sources.name}-{version}")
    stamp = folder / "pom.sha256"
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return folder
    maven = _program("mvn")
    shutil.rmtree(folder, ignore_errors=True)
    command = [
        maven, "-B", "-q", "-f", str(pom), f"-Dkafka.version={version}",
        f"-Dmaven.repo.local={CACHE / 'maven-repository'}", "dependency:copy-dependencies",
        f"-DoutputDirectory={folder}", "-DincludeScope=runtime",
    ]  # fmt: skip
    _run(command, "Maven could not fetch Kafka's classes")
    require_pinned(folder)
    stamp.write_text(digest)
    return folder


def pinned() -> dict[str, str]:
    """The SHA-256 of each jar, by its name."""
    lines = (line.split() for line in PINS.read_text("utf-8").splitlines())
    return {name: digest for digest, name in lines}


def require_pinned(folder: Path) -> None:
    """Hold every jar of a folder against its pin. Raises WrongJar."""
    pins = pinned()
    for jar in sorted(folder.glob("*.jar")):
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if jar.name not in pins:
            raise WrongJar(
                f"{jar} is not in {PINS.name}: look at it, then add it as {Path(__file__).name} says"
            )
        if found != pins[jar.name]:
            raise WrongJar(f"{jar} has the SHA-256 {found}, and {pins[jar.name]} is pinned: do not use it")


def pin(folders: list[str]) -> None:
    """Add the jars of folders; what is pinned stays."""
    pins = pinned()
    for jar in (path for folder in folders for path in Path(folder).glob("*.jar")):
        pins.setdefault(jar.name, hashlib.sha256(jar.read_bytes()).hexdigest())
    PINS.write_text("".join(f"{pins[name]}  {name}\n" for name in sorted(pins)), "utf-8")


def classes(source: Path, version: str = KAFKA) -> Path:
    """The folder with the compiled `source`, made once for each content of it. Raises Absent."""
    compiler = _program("javac")
    text = source.read_text()
    if int(version.partition(".")[0]) >= 4:
        text = _RECORD.sub(r"\1internal.", text)
    library = _jars_of(source, version)
    digest = hashlib.sha256(f"{version}\n{text}".encode()).hexdigest()[:16]
    folder = CACHE / "classes" / digest
    if folder.is_dir():
        return folder
    made = CACHE / "classes" / f"{digest}.{os.getpid()}"
    made.mkdir(parents=True)
    copy = made / source.name
    copy.write_text(text)
    _run(
        [
            compiler, "-J-XX:-UsePerfData", "-encoding", "UTF-8", "-nowarn",
            "-cp", str(library / "*"), "-d", str(made), str(copy),
        ],
        "javac refused our source",
    )  # fmt: skip
    try:
        made.rename(folder)
    except OSError:
        # another process was first
        shutil.rmtree(made)
    return folder


def _jars_of(source: Path, version: str) -> Path:
    """What the class in `source` needs: by the pom.xml next to it, else by the one here."""
    return jars(version, source.parent if (source.parent / "pom.xml").is_file() else SOURCES)


def command(
    source: Path, version: str = KAFKA, *, heap: str = "256m", flags: tuple[str, ...] = ()
) -> list[str]:
    """The command that runs the class in `source`. Raises Absent."""
    path = os.pathsep.join([str(classes(source, version)), str(_jars_of(source, version) / "*")])
    return [
        _program("java"), f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:-UsePerfData",
        "-XX:-OmitStackTraceInFastThrow",
        "-Dfile.encoding=UTF-8", "-XX:ErrorFile=/dev/null", "-XX:-CreateCoredumpOnCrash",
        *flags, "-cp", path, source.stem,
    ]  # fmt: skip


if __name__ == "__main__":
    pin(sys.argv[1:])
