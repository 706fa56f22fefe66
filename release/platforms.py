"""Builds a wheel for each Python of a list, tries it in an empty environment, and writes the table.

Usage: platforms.py INTERPRETERS.json [--table docs/platforms.md] [--to dist/platforms] [--jobs 2]
                                       [--only NAME...] [--commit HEAD]
       platforms.py --tried FOLDER --table platforms.md   (wheels that cibuildwheel has built and tried)

Release wheels come from cibuildwheel on the forge's machines; this shows the same on one machine. ziglang
compiles the kernels for every platform. A Python of another platform runs through an emulator, or is compiled
for and not run.

INTERPRETERS.json is a list of objects:
    name       as the table shows it: "Windows x86-64 (wine)"
    tag        of wheels: manylinux_2_17_x86_64, musllinux_1_2_aarch64, win_amd64, macosx_11_0_arm64
    version    "3.13", or "3.13t" for a free-threaded one
    include    folders with its headers
    libs       folders with its import library (Windows)
    command    what runs it, as a list; without it, the wheel is built and not run
    paths      "windows" where the command sees this machine's folders as drive Z:
    flags      more arguments of the compiler
    tests      arguments of pytest, [] for none; without them, those of TESTS
    seconds    runs each of `tests`, which may be patterns, in a process of its own, for at most so long
    wheels     a folder of libraries' wheels that only the tests need, and no registry has for this platform
    note       a sentence below the table

All rows are of one commit, of which a copy is built and tested; what is not committed is not in it.
Results go to COMMIT.json of --to. What is there is not run again, unless --only names it; the page is
written when every row of the list is there.
Needs uv and ziglang for the Python that runs this, and a clone with its environment (make setup).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parent.parent
# What needs no other client, no other language and no clone: codecs, generated modules, readers, messages.
TESTS = [
    "tests/runtime",
    "tests/generated",
    "tests/log/reading",
    "tests/log/messages",
    "tests/log/verification",
]
NEEDS = ["hypothesis", "jinja2", "jsonschema", "kaitaistruct", "lz4", "markdown-it-py", "pyarrow", "pytest"]
NEEDS += ["python-snappy", "pyyaml", "rich"]
MODULES = ("runtime/native/bindings", "runtime/native/messages", "runtime/native/streams")
FACTS = ("name", "version", "tag", "note")
SECONDS = 3600
SYSTEMS = {
    "manylinux": "Linux {}, glibc",
    "musllinux": "Linux {}, musl",
    "macosx": "macOS {}",
    "win": "Windows {}",
}
# Calls of Windows that Python 3.12 and newer make, and that wine 8 does not have.
NOT_IN_WINE = """
import sys
sys.modules["_wmi"] = None
import _winapi
vars(_winapi).pop("CopyFile2", None)
"""


def run(command: list[str], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))[:300]}\n{done.stdout}{done.stderr}")
    return done.stdout


def target(tag: str) -> tuple[str, list[str]]:
    """What the compiler calls a platform, and how modules are linked there."""
    machine = tag.rpartition("_")[2] if "x86_64" not in tag else "x86_64"
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine)
    if tag.startswith("manylinux"):
        return f"{machine}-linux-gnu.{'.'.join(tag.split('_')[1:3])}", ["-shared"]
    if tag.startswith("musllinux"):
        return f"{machine}-linux-musl", ["-shared"]
    if tag.startswith("win"):
        return f"{machine}-windows-gnu", ["-shared"]
    return f"{machine}-macos.{'.'.join(tag.split('_')[1:3])}", ["-shared", "-Wl,-undefined,dynamic_lookup"]


def suffix(tag: str, version: str) -> str:
    short = version.replace(".", "")
    machine = re.sub(r"^(many|musl)linux_\d+_\d+_", "", tag)
    if tag.startswith("win"):
        return f".cp{short}-{tag}.pyd"
    if tag.startswith("macosx"):
        return f".cpython-{short}-darwin.so"
    return f".cpython-{short}-{machine}-linux-{'musl' if tag.startswith('musl') else 'gnu'}.so"


def build(one: dict[str, Any], source: Path, pure: Path, out: Path) -> Path:
    """The wheel of one Python: the pure one, with the kernels compiled for it."""
    triple, link = target(one["tag"])
    short = one["version"].replace(".", "")
    with tempfile.TemporaryDirectory() as work:
        run([sys.executable, "-m", "wheel", "unpack", str(pure), "-d", work])
        (folder,) = Path(work).iterdir()
        kernels = sorted(path.stem for path in (source / "generated" / "kernels").glob("*.pyi"))
        for name in (*MODULES, *(f"generated/kernels/{each}" for each in kernels)):
            made = folder / "kodec" / f"{name}{suffix(one['tag'], one['version'])}"
            libs = [f"-l{'python' + short}" for _ in one.get("libs", [])]
            flags = ["-O3", "-g0", "-fPIC", "-fvisibility=hidden", f"-I{source}/generated/kernels"]
            flags += [f"-I{source}/runtime/native", *(f"-I{each}" for each in one["include"])]
            flags += [f"-L{each}" for each in one.get("libs", [])] + ["-DMS_WIN64"] * one["tag"].startswith(
                "win"
            )
            flags += one.get("flags", [])
            flags += ["-Wl,-s"] * (not one["tag"].startswith("macosx"))
            flags += ["-DPy_GIL_DISABLED=1"] * (one["version"].endswith("t") and one["tag"].startswith("win"))
            compiler = [sys.executable, "-m", "ziglang", "cc", "-target", triple]
            run([*compiler, *link, *flags, f"{source}/{name}.c", "-o", str(made), *libs])
        for left in (folder / "kodec").rglob("*.pdb"):
            left.unlink()
        facts = next(folder.glob("*.dist-info")) / "WHEEL"
        text = facts.read_text(encoding="utf-8").replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
        facts.write_text(text, encoding="utf-8")
        run([sys.executable, "-m", "wheel", "pack", str(folder), "-d", work])
        (packed,) = Path(work).glob("*.whl")
        tags = [
            "--python-tag",
            f"cp{short.rstrip('t')}",
            "--abi-tag",
            f"cp{short}",
            "--platform-tag",
            one["tag"],
        ]
        name = run([sys.executable, "-m", "wheel", "tags", *tags, packed.name], cwd=work).strip()
        return Path(shutil.copy(Path(work, name), out))


def platform_of(tag: str) -> str:
    """As uv calls it."""
    if tag.startswith("win"):
        return "x86_64-pc-windows-msvc"
    machine = "x86_64" if "x86_64" in tag else "aarch64"
    if tag.startswith("musl"):
        return f"{machine}-unknown-linux-musl"
    return f"{machine}-manylinux_2_28"


def try_wheel(one: dict[str, Any], source: Path, wheel: Path) -> dict[str, str]:
    """Install the wheel into an empty environment and try it, then add the packages of the tests and run
    them."""
    seen = (lambda path: "Z:" + str(path).replace("/", "\\")) if one.get("paths") == "windows" else str
    install = ["uv", "pip", "install", "-q", "--only-binary", ":all:"]
    install += ["--python-version", one["version"].rstrip("t"), "--python-platform", platform_of(one["tag"])]
    if one["version"].endswith("t"):
        install = ["uv", "pip", "install", "-q", "-p", one["command"][0]]
    found = {}
    with tempfile.TemporaryDirectory() as work:
        for name, needs in (("installed", []), ("tests", NEEDS)):
            if needs and one.get("tests") == []:
                continue
            site = Path(work, name)
            found_too = ["--find-links", one["wheels"]] if needs and "wheels" in one else []
            try:
                run([*install, *found_too, "--target", str(site), str(wheel), *needs])
            except RuntimeError as error:
                missing = re.search(r"Because (\S+?)[>=]\S* has no usable wheels", str(error))
                said = f"{missing[1]} has no wheel" if missing else str(error).strip().splitlines()[-1][:80]
                return {**found, name: f"not installed: {said}"}
            if one.get("paths") == "windows":
                (site / "sitecustomize.py").write_text(NOT_IN_WINE)
            environment = {**os.environ, "PYTHONPATH": seen(site), "PYTHONDONTWRITEBYTECODE": "1"}
            environment["QEMU_SET_ENV"] = f"PYTHONPATH={site}"
            log = Path(f"{wheel}.{name}.txt")
            if name == "installed":
                smoke = source / "tests" / "packaging" / "smoke.py"
                said, code = attempt(
                    [*one["command"], seen(smoke), "native"], Path(work), environment, SECONDS
                )
                log.write_text("\n".join(said))
                found[name] = f"failed: {said[-1]}" if code else said[-1]
            else:
                with log.open("w") as out:
                    found[name] = run_tests(one, source, environment, out)
                found["ran"] = ", ".join(one.get("tests") or TESTS)
    return found


def attempt(
    command: list[str], where: Path, environment: dict[str, str], seconds: float
) -> tuple[list[str], int | None]:
    """The output of a command, and its exit code; None if it did not end in time."""
    options: dict[str, Any] = {"cwd": where, "env": environment, "stdin": subprocess.PIPE, "check": False}
    options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        done = subprocess.run(["timeout", "-k", "5", str(seconds), *command], **options)
    except OSError as error:
        return [str(error)], 1
    said = done.stdout.decode(errors="replace").replace("\r", "").strip().splitlines()
    return said or [f"exit code {done.returncode}"], None if done.returncode in (
        124,
        137,
    ) else done.returncode


def run_tests(one: dict[str, Any], source: Path, environment: dict[str, str], log: TextIO) -> str:
    """The closing line of pytest; of several runs, the sum, and the files that did not pass."""
    command = [*one["command"], "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    sums: Counter[str] = Counter()
    wrong = []
    for given in parts(one, source):
        said, code = attempt([*command, *given], source, environment, one.get("seconds", SECONDS))
        print(f"== {' '.join(given)}", *said, sep="\n", file=log, flush=True)
        counted = {
            word: int(count)
            for count, word in re.findall(r"(\d+) (passed|failed|error|deselected)", said[-1])
        }
        sums.update(counted)
        if code is None:
            wrong.append(f"{given[0]} did not end in {one.get('seconds', SECONDS)} s")
        elif code == 1 and counted:
            wrong.append(f"{given[0]}: {counted.get('failed', 0) + counted.get('error', 0)} failed")
        elif code not in (0, 5):  # 5: all were deselected
            wrong.append(f"{given[0]}: {said[-1].strip('= ')[:120]}")
    text = ", ".join(
        f"{sums[word]} {word}" for word in ("passed", "failed", "error", "deselected") if sums[word]
    )
    return f"failed: {text}; {'; '.join(wrong)}" if wrong else text


def parts(one: dict[str, Any], source: Path) -> Iterator[list[str]]:
    """The arguments of each run of pytest."""
    given = one.get("tests") or TESTS
    if "seconds" not in one:
        yield given
        return
    options = [each for each in given if not each.startswith("tests/")]
    for pattern in given:
        for path in sorted(source.glob(pattern)) if pattern not in options else ():
            yield [path.relative_to(source).as_posix(), *options]


def named(wheel: Path) -> dict[str, Any]:
    """The parts of a wheel's name."""
    _, _, _, abi, tag = wheel.stem.split("-")
    tag = tag.split(".")[0]
    system = next(name for key, name in SYSTEMS.items() if tag.startswith(key))
    machine = "aarch64" if tag.endswith(("aarch64", "arm64")) else "x86-64"
    return {
        "name": system.format(machine),
        "version": f"3.{abi[3:]}",
        "tag": tag,
        "size": wheel.stat().st_size,
    }


def table(rows: list[dict[str, Any]], commit: str, days: str) -> str:
    lines = [
        "# Platforms",
        "",
        f"`python release/platforms.py` writes this page, of commit {commit} ({days}). For each platform",
        "it builds a wheel, installs it into an empty environment and tries it: first with",
        "`tests/packaging/smoke.py` and only the libraries that kodec needs, then with tests of the clone.",
        f"All tests are {', '.join(f'`{each}`' for each in TESTS)}; where fewer ran, the table names them.",
        "",
        "| platform | Python | wheel | KB | installed, alone | tests |",
        "|---|---|---|--:|---|---|",
    ]
    for one in rows:
        cells = [one["name"], one["version"], f"`{one['tag']}`", str(one["size"] // 1000)]
        cells += [
            re.sub(r"^Python (\S+): (\w+) .*", r"passed (\1, \2)", one.get("installed", "not run here"))
        ]
        ran = one.get("ran", ", ".join(TESTS)).replace("/test_*.py", "")
        fewer = "" if ran == ", ".join(TESTS) else f" (`{ran.replace(', ', '`, `')}`)"
        lines.append(f"| {' | '.join(cells)} | {one.get('tests', 'not run here')}{fewer} |")
    notes = [f"{one['name']}, {one['version']}: {one['note']}" for one in rows if one.get("note")]
    return "\n".join(lines) + "\n" + "".join(f"\n{each}\n" for each in notes)


def write(page: Path, rows: list[dict[str, Any]], commit: str) -> None:
    """The page, in the order of systems, machines and versions."""
    order = list(SYSTEMS)
    first = [next(n for n, each in enumerate(order) if one["tag"].startswith(each)) for one in rows]
    shown = sorted(
        zip(first, rows, strict=True), key=lambda each: (each[0], each[1]["name"], each[1]["version"])
    )
    days = sorted({one["day"] for one in rows})
    page.write_text(
        table([one for _, one in shown], commit, " to ".join(dict.fromkeys((days[0], days[-1])))), "utf-8"
    )


def short(commit: str) -> str:
    return run(["git", "rev-parse", "--short=8", commit], cwd=ROOT).strip()


def key_of(one: dict[str, Any]) -> str:
    return f"{one['name']} {one['version']}"


def prepared(work: Path, commit: str) -> tuple[Path, Path]:
    """A copy of the commit, and its wheel without kernels."""
    source = work / "source"
    source.mkdir()
    run(["git", "archive", "-o", f"{work}/source.tar", commit], cwd=ROOT)
    run(["tar", "xf", f"{work}/source.tar", "-C", str(source)])
    python = ROOT / ".venv" / "bin" / "python"
    run([str(python), "-m", "cython", "-3", f"{source}/runtime/native/bindings.pyx"])
    build = ["uv", "build", "-q", "--wheel", "-p", str(python), "-o", str(work), str(source)]
    run(build, env={**os.environ, "KODEC_NATIVE": "off"})
    (pure,) = work.glob("*.whl")
    return source, pure


def missing(
    rows: list[dict[str, Any]], results: dict[str, Any], only: list[str] | None
) -> list[dict[str, Any]]:
    """The rows to run: those without a result, or those that were named."""
    if only:
        return [one for one in rows if any(word in key_of(one) for word in only)]
    return [one for one in rows if key_of(one) not in results]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("interpreters", type=Path, nargs="?")
    parser.add_argument("--tried", type=Path)
    parser.add_argument("--to", type=Path, default=ROOT / "dist" / "platforms")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--commit", default="HEAD")
    given = parser.parse_args()
    commit = short(given.commit)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    if given.tried:
        # cibuildwheel keeps no wheel that it could not install, or whose tests failed
        passed = {"installed": "passed", "tests": "passed", "day": today}
        rows = [{**named(path), **passed} for path in sorted(given.tried.glob("*.whl"))]
        write(given.table, rows, commit)
        return not rows
    if not given.interpreters:
        parser.error("INTERPRETERS.json or --tried is needed")
    rows = json.loads(given.interpreters.read_text(encoding="utf-8"))
    given.to.mkdir(parents=True, exist_ok=True)
    record = given.to / f"{commit}.json"
    results = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    lock = threading.Lock()
    with tempfile.TemporaryDirectory() as work:
        source, pure = prepared(Path(work), commit)

        def one_row(one: dict[str, Any]) -> None:
            key = key_of(one)
            folder = given.to / re.sub(r"[^\w.-]+", "-", key)
            folder.mkdir(exist_ok=True)
            wheel = build(one, source, pure, folder)
            said = {name: one[name] for name in FACTS if name in one}
            said |= {"day": today, "size": wheel.stat().st_size}
            if one.get("command"):
                said |= try_wheel(one, source, wheel)
            with lock:
                results[key] = said
                record.write_text(json.dumps(results, indent=1))
                print(f"== {key}: {said.get('installed', 'built')}; {said.get('tests', '')}", flush=True)

        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(one_row, missing(rows, results, given.only)))
    if given.table:
        if left := missing(rows, results, None):
            names = ", ".join(map(key_of, left))
            print(f"{given.table} is not written: commit {commit} has no result of {names}")
            return 1
        write(given.table, [results[key_of(one)] for one in rows], commit)
    return any("failed" in str(each) for each in results.values())


if __name__ == "__main__":
    sys.exit(main())
