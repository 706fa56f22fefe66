"""Measures each extra: the size of its installed distributions, and its import time.

python tools/installed_size.py            # prints a table
python tools/installed_size.py --write    # puts it into docs/install.md
python tools/installed_size.py --writers  # what else writes Parquet; fetches 600 MB
"""

from __future__ import annotations

import compileall
import datetime
import re
import resource
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "install.md"
# This tool writes the text between these marks.
BEGIN, END = "<!-- tools/installed_size.py writes this -->\n", "<!-- to here -->\n"

# The imports of a program that uses the extra.
IMPORTS = {
    "none": "kodec",
    "arrow": "pyarrow, pyarrow.parquet",
    "cli": "rich.progress",
    "fast": "isal, lz4.block, lz4.frame",
    "generator": "jinja2, yaml",
    "lake": "pyiceberg.catalog.sql, deltalake",
    "report": "jinja2, pygal, pyarrow",
    "spark": "pyspark.sql",
    "store": "obstore",
    "testing": "hypothesis, pytest",
    "tier": "Cryptodome.Cipher.AES, Cryptodome.Cipher.PKCS1_OAEP",
    "values": "fastavro, google.protobuf, protoxy, pyruhvro",
}
WRITERS = {
    "pyarrow": ("pyarrow",),
    "arro3-core, arro3-io": ("arro3-core", "arro3-io"),
    "duckdb": ("duckdb",),
    "fastparquet": ("fastparquet",),
    "polars": ("polars",),
}


def closure(name: str, extras: frozenset[str], found: set[str]) -> set[str]:
    """The distributions that one needs, itself too, as far as they are installed."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    try:
        needs = distribution(name).requires or []
    except PackageNotFoundError:
        return found
    found.add(name)
    for text in needs:
        need = Requirement(text)
        wanted = need.marker is None or any(need.marker.evaluate({"extra": each}) for each in extras or {""})
        if wanted and need.name.lower() not in found:
            closure(need.name, frozenset(need.extras), found)
    return found


def size(name: str) -> int:
    return sum(
        each.locate().stat().st_size for each in distribution(name).files or () if each.locate().is_file()
    )


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(modules: str) -> float:
    """CPU time, which other programs on the machine change least."""
    times = []
    for code in (f"import {modules}", "pass") * 5:
        begin = spent()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(spent() - begin)
    return max(0.0, min(times[::2]) - min(times[1::2]))


def extras() -> str:
    """The table: the size that each extra adds to that of kodec alone."""
    # an import that compiles first is not measured
    compileall.compile_dir(ROOT / "src", quiet=1)
    core = closure("kodec", frozenset({""}), set())
    lines = ["| extra | MB | import, ms of CPU |", "|---|--:|--:|"]
    for extra, modules in IMPORTS.items():
        added = core - {"kodec"} if extra == "none" else closure("kodec", frozenset({extra}), set()) - core
        total = sum(map(size, added)) / 1e6
        lines.append(f"| {extra} | {total:.0f} | {seconds(modules) * 1000:.0f} |")
    return "\n".join(lines) + "\n"


def writers() -> str:
    """The table: the size of libraries that write Parquet, with their dependencies."""
    lines = ["| library | MB |", "|---|--:|"]
    for name, packages in WRITERS.items():
        with tempfile.TemporaryDirectory() as folder:
            install = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--target", folder]
            subprocess.run([*install, *packages], check=True)
            total = sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file()) / 1e6
        lines.append(f"| {name} | {total:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    if "--writers" in sys.argv:
        print(writers(), end="")
        return
    table = extras()
    if "--write" in sys.argv:
        page = PAGE.read_text("utf-8")
        head, _, rest = page.partition(BEGIN)
        _, _, tail = rest.partition(END)
        python = ".".join(map(str, sys.version_info[:2]))
        intro = f"{sys.platform}, Python {python}, {datetime.date.today()}:\n\n"
        PAGE.write_text(f"{head}{BEGIN}\n{intro}{table}\n{END}{tail}", "utf-8")
    print(table, end="")


if __name__ == "__main__":
    main()
