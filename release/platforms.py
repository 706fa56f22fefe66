"""Builds a wheel for each Python of a list, tries it in an empty environment, and writes the table.

Usage: platforms.py INTERPRETERS.json [--out dist/platforms] [--table docs/platforms.md] [--only NAME...]
                                       [--step installed|tests]
       platforms.py --table docs/platforms.md [--out dist/platforms]   (the page of what results.json holds)
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
    tests      arguments of pytest; without them, those of TESTS
    wheels     a folder of libraries' wheels that no registry has for this platform
    note       a sentence below the table
Results go to results.json of --out, one after the other: what was not run again stays.
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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SMOKE = ROOT / "tests" / "packaging" / "smoke.py"
# What needs no other client, no other language and no clone: codecs, generated modules, readers, messages.
TESTS = [
    "tests/runtime",
    "tests/generated",
    "tests/log/reading",
    "tests/log/messages",
    "tests/log/verification",
]
NEEDS = ["pytest", "hypothesis", "pyarrow", "typer", "rich", "jinja2", "pyyaml", "jsonschema", "kaitaistruct"]
MODULES = ("runtime/native/bindings", "runtime/native/messages", "runtime/native/streams")
FACTS = ("name", "version", "tag", "note")
SECONDS = 1800
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


def build(one: dict[str, Any], pure: Path, out: Path) -> Path:
    """The wheel of one Python: the pure one, with the kernels compiled for it."""
    triple, link = target(one["tag"])
    short = one["version"].replace(".", "")
    with tempfile.TemporaryDirectory() as work:
        run([sys.executable, "-m", "wheel", "unpack", str(pure), "-d", work])
        (folder,) = Path(work).iterdir()
        kernels = sorted(path.stem for path in (ROOT / "generated" / "kernels").glob("*.pyi"))
        for name in (*MODULES, *(f"generated/kernels/{each}" for each in kernels)):
            made = folder / "kodec" / f"{name}{suffix(one['tag'], one['version'])}"
            libs = [f"-l{'python' + short}" for _ in one.get("libs", [])]
            flags = ["-O3", "-g0", "-fPIC", "-fvisibility=hidden", f"-I{ROOT}/generated/kernels"]
            flags += [f"-I{ROOT}/runtime/native", *(f"-I{each}" for each in one["include"])]
            flags += [f"-L{each}" for each in one.get("libs", [])] + ["-DMS_WIN64"] * one["tag"].startswith(
                "win"
            )
            flags += ["-Wl,-s"] * (not one["tag"].startswith("macosx"))
            flags += ["-DPy_GIL_DISABLED=1"] * (one["version"].endswith("t") and one["tag"].startswith("win"))
            compiler = [sys.executable, "-m", "ziglang", "cc", "-target", triple]
            run([*compiler, *link, *flags, f"{ROOT}/{name}.c", "-o", str(made), *libs])
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


def try_wheel(one: dict[str, Any], wheel: Path, step: str | None) -> dict[str, str]:
    """Install the wheel where nothing is, then with what tests need, and run what it was built for."""
    seen = (lambda path: "Z:" + str(path).replace("/", "\\")) if one.get("paths") == "windows" else str
    install = [
        "uv",
        "pip",
        "install",
        "-q",
        "--only-binary",
        ":all:",
        "--python-version",
        one["version"].rstrip("t"),
    ]
    install += ["--python-platform", platform_of(one["tag"])]
    if one["version"].endswith("t"):
        install = ["uv", "pip", "install", "-q", "-p", one["command"][0]]
    if "wheels" in one:
        install += ["--find-links", one["wheels"]]
    found = {}
    with tempfile.TemporaryDirectory() as work:
        for name, needs in (("installed", []), ("tests", NEEDS)):
            if step not in (None, name):
                continue
            site = Path(work, name)
            try:
                run([*install, "--target", str(site), str(wheel), *needs])
            except RuntimeError as error:
                missing = re.search(r"Because (\S+?)[>=]\S* has no usable wheels", str(error))
                said = f"{missing[1]} has no wheel" if missing else str(error).strip().splitlines()[-1][:80]
                return {**found, name: f"not installed: {said}"}
            if one.get("paths") == "windows":
                (site / "sitecustomize.py").write_text(NOT_IN_WINE)
            environment = {**os.environ, "PYTHONPATH": seen(site), "PYTHONDONTWRITEBYTECODE": "1"}
            environment["QEMU_SET_ENV"] = f"PYTHONPATH={site}"
            if name == "installed":
                command = [*one["command"], seen(SMOKE), "native"]
            else:
                given = one.get("tests") or TESTS
                command = [
                    *one["command"],
                    "-m",
                    "pytest",
                    "-q",
                    "--no-header",
                    "-p",
                    "no:cacheprovider",
                    *given,
                ]
            done = subprocess.run(
                command,
                cwd=ROOT if name == "tests" else work,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                check=False,
            )
            said = done.stdout.decode(errors="replace").replace("\r", "").strip().splitlines()
            found[name] = said[-1].strip("= ") if said else f"exit code {done.returncode}"
            if name == "tests":
                found[name] = re.sub(r" in [\d.]+s.*$", "", found[name])
                found["ran"] = ", ".join(given)
            print(f"   {name}: {found[name]}", flush=True)
            if done.returncode:
                Path(f"{wheel}.{name}.txt").write_text("\n".join(said))
                found[name] = f"failed: {found[name]}"
    return found


def named(wheel: Path) -> dict[str, Any]:
    """What the name of a wheel says."""
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


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "# Platforms",
        "",
        f"`python release/platforms.py` writes this page ({datetime.now(UTC):%Y-%m-%d}). For each",
        "platform it builds a wheel, installs it into an empty environment and tries it: first with",
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
        ran = one.get("ran", ", ".join(TESTS))
        fewer = "" if ran == ", ".join(TESTS) else f" (`{ran.replace(', ', '`, `')}`)"
        lines.append(f"| {' | '.join(cells)} | {one.get('tests_said', 'not run here')}{fewer} |")
    notes = [f"{one['name']}, {one['version']}: {one['note']}" for one in rows if one.get("note")]
    return "\n".join(lines) + "\n" + "".join(f"\n{each}\n" for each in notes)


def write(page: Path, results: dict[str, dict[str, Any]]) -> None:
    """The page, in the order of systems, machines and versions."""
    order = list(SYSTEMS)
    first = {
        key: next(n for n, each in enumerate(order) if one["tag"].startswith(each))
        for key, one in results.items()
    }
    shown = sorted(results, key=lambda key: (first[key], results[key]["name"], results[key]["version"]))
    page.write_text(table([results[key] for key in shown]), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("interpreters", type=Path, nargs="?")
    parser.add_argument("--step", choices=("installed", "tests"))
    parser.add_argument("--tried", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "platforms")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    if given.tried:
        # cibuildwheel keeps no wheel that it could not install, or whose tests failed
        passed = {"installed": "passed", "tests_said": "passed"}
        rows = [{**named(path), **passed} for path in sorted(given.tried.glob("*.whl"))]
        given.table.write_text(table(rows), encoding="utf-8")
        return not rows
    record = given.out / "results.json"
    results = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    if not given.interpreters:
        if not results or not given.table:
            parser.error(f"without interpreters, a --table and results are needed: {record}")
        write(given.table, results)
        return 0
    rows = json.loads(given.interpreters.read_text(encoding="utf-8"))
    given.out.mkdir(parents=True, exist_ok=True)
    python = ROOT / ".venv" / "bin" / "python"
    run([str(python), "-m", "cython", "-3", f"{ROOT}/runtime/native/bindings.pyx"])
    with tempfile.TemporaryDirectory() as work:
        run(
            ["uv", "build", "-q", "--wheel", "-p", str(python), "-o", work, str(ROOT)],
            env={**os.environ, "KODEC_NATIVE": "off"},
        )
        (pure,) = Path(work).glob("*.whl")
        for one in rows:
            key = f"{one['name']} {one['version']}"
            if given.only and not any(word in key for word in given.only):
                continue
            print(f"== {key}", flush=True)
            wheel = build(one, pure, given.out)
            said = results.get(key, {}) | {"size": wheel.stat().st_size}
            if one.get("command"):
                tried = try_wheel(one, wheel, given.step)
                said |= {f"{name}{'_said' * (name == 'tests')}": text for name, text in tried.items()}
            results[key] = said | {name: one[name] for name in FACTS if name in one}
            record.write_text(json.dumps(results, indent=1))
    if given.table:
        write(given.table, results)
    return any("failed" in str(each) for each in results.values())


if __name__ == "__main__":
    sys.exit(main())
