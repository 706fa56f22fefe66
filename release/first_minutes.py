"""Measures the first minutes on a bare system: from nothing but Python to a record, a Parquet file, a module.

Usage: first_minutes.py WHEEL ROOT [WHEEL ROOT]... [--page docs/install.md]   (root; ROOT is a bare system)

ROOT is a folder that debootstrap made, in which the package python3-venv was installed, or the root file
system of Alpine with Python. Everything runs in there by chroot, with an empty environment: a virtual
environment, the wheel with pip, which may compile nothing, and the first result. The page gets a table for
each system between its two marks. What pip downloads is counted.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
BEGIN, END = "<!-- first minutes -->", "<!-- end of first minutes -->"
INSIDE = Path("/tmp/first-minutes")
LOG = f"{INSIDE}/logs/orders-0/00000000000000000000.log"
SCHEMA = """meta:
  id: point
  endian: be
seq:
  - id: x
    type: s4
  - id: y
    type: s4
"""


@dataclass
class First:
    """One first result: what is installed for it, and the command that gives it."""

    name: str
    extras: str
    command: list[str]
    makes: str


FIRSTS = [
    First(
        "record, in Python",
        "",
        ["python", "-c", f"import kodec; print(next(iter(kodec.read_records('{LOG}'))))"],
        "",
    ),
    First("record, on the command line", "cli", ["kodec", "dump", LOG], ""),
    First(
        "Parquet file",
        "arrow,cli",
        ["kodec", "export", f"{INSIDE}/logs", "--topic", "orders", "--to", f"{INSIDE}/out"],
        "out/**/*.parquet",
    ),
    First(
        "generated module",
        "cli,generator",
        ["kodec", "generate", "--schemas", f"{INSIDE}/schemas", "--to", f"{INSIDE}/made"],
        "made/**/point.py",
    ),
]


def inside(root: Path, *command: str) -> str:
    """Run in the bare system, and return the output."""
    chroot = shutil.which("chroot") or "chroot"
    clean = {"PATH": f"{INSIDE}/env/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    done = subprocess.run([chroot, root, *command], env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(first: First, wheel: Path, root: Path) -> str:
    """A row of the table."""
    place = root / INSIDE.relative_to("/")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    shutil.copytree(LOGS, place / "logs")
    (place / "schemas").mkdir()
    (place / "schemas" / "point.ksy").write_text(SCHEMA)
    shutil.copy(wheel, place)
    what = f"{INSIDE}/{wheel.name}" + (f"[{first.extras}]" if first.extras else "")
    begin = time.perf_counter()
    inside(root, "python3", "-m", "venv", f"{INSIDE}/env")
    said = inside(root, f"{INSIDE}/env/bin/pip", "install", "--no-cache-dir", "--only-binary", ":all:", what)
    installed = time.perf_counter()
    found = inside(root, f"{INSIDE}/env/bin/{first.command[0]}", *first.command[1:])
    end = time.perf_counter()
    if not (list(place.glob(first.makes)) if first.makes else found):
        sys.exit(f"{first.name}: nothing was made")
    units = {"kB": 1e3, "MB": 1e6}
    sizes = re.findall(r"Downloading \S+ \(([\d.]+) (kB|MB)\)", said)
    loaded = sum(float(number) * units[unit] for number, unit in sizes) + wheel.stat().st_size
    on_disk = sum(each.lstat().st_size for each in (place / "env").rglob("*") if each.is_file())
    shutil.rmtree(place)
    extras = f"`{first.extras}`" if first.extras else "none"
    seconds = f"{installed - begin:.0f} | {end - installed:.1f}"
    return f"| {first.name} | {extras} | {loaded / 1e6:.1f} | {on_disk / 1e6:.0f} | {seconds} |"


def table(wheel: Path, root: Path) -> str:
    """The table of one system."""
    system = re.search('PRETTY_NAME="(.*)"', (root / "etc" / "os-release").read_text())
    version = inside(root, "python3", "--version").strip()
    return "\n".join(
        [
            f"On a bare {system[1] if system else 'system'} with {version}"
            f" ({datetime.now(UTC):%Y-%m-%d}, two busy cores, `python release/first_minutes.py`):",
            "",
            "| first | extras | MB downloaded | MB on disk, with pip | install, s | result, s |",
            "|---|---|--:|--:|--:|--:|",
            *(measure(each, wheel, root) for each in FIRSTS),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("systems", type=Path, nargs="+", metavar="WHEEL ROOT")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    if len(given.systems) % 2:
        parser.error("each WHEEL needs a ROOT")
    pairs = zip(given.systems[::2], given.systems[1::2], strict=True)
    text = "\n".join([BEGIN, "\n\n".join(table(*pair) for pair in pairs), END])
    if given.page:
        page = given.page.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        given.page.write_text(before + text + rest.partition(END)[2], encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
