"""What each extra takes: the size of the distributions that are installed here for it, and its import.

python tools/installed_size.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

IMPORTS = {
    "arrow": "pyarrow",
    "cli": "rich",
    "fast": "isal",
    "generator": "jinja2, yaml",
    "spark": "pyspark",
}
IMPORTS |= {"values": "fastavro, google.protobuf, protoxy, pyruhvro", "": "kodec"}


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


def seconds(modules: str) -> float:
    times = []
    for code in (f"import {modules}", "pass") * 3:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - begin)
    return min(times[::2]) - min(times[1::2])


def main() -> None:
    core = closure("kodec", frozenset({""}), set())
    print("| extra | MB of its packages | import, ms |\n|---|---|---|")
    for extra, modules in IMPORTS.items():
        names = closure("kodec", frozenset({extra}), set()) - (core if extra else {"kodec"})
        total = sum(map(size, names)) / 1e6
        print(f"| {extra or 'none'} | {total:.0f} | {seconds(modules) * 1000:.0f} |")


if __name__ == "__main__":
    main()
