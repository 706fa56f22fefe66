#!/usr/bin/env python3
"""Pages of `kodec explain` in a browser: structure, pointer, keyboard, widths, colours, hostile values.

The browser is the machine's Chromium (Debian's package `chromium`), or $BROWSER; npm fetches its driver.
Screenshots stay in the folder that is printed.

Usage: explain_lab.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kafka_lab import CACHE, HERE, Unusable, find_program, run, say, step

import kodec
from kodec.cli.main import main as kodec_main

LOGS = HERE.parent / "data" / "kafka-4.3.1" / "logs"
NAME = "00000000000000000000.log"
HOSTILE = "<img src=x onerror=alert(2)>\"'&.log"
VALUE = b"</script><img src=x onerror=alert(1)><!--"


def browser() -> str:
    """The path of Chromium or Chrome. Raises Unusable."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("BROWSER") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise Unusable("the lab needs Chromium: install it, or name it by $BROWSER")
    return found


def driver() -> Path:
    """The folder of playwright-core with the script. Raises Unusable."""
    folder = CACHE / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    lock = HERE / "pages" / "package-lock.json"
    known = folder / "package-lock.json"
    if not (
        known.is_file() and known.read_bytes() == lock.read_bytes() and (folder / "node_modules").is_dir()
    ):
        npm = find_program("npm", "the driver of the browser runs on Node (https://nodejs.org)")
        with step("Installing playwright-core through npm"):
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / "pages" / name, folder)
            run(
                [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)],
                "npm failed",
            )
    shutil.copy(HERE / "pages" / "explain.mjs", folder)
    return folder


def pages(folder: Path) -> None:
    """Write the pages that the script opens."""
    source = LOGS / "codec-gzip-0" / NAME
    records = [
        kodec.Record(key=b"key-%d" % number, value=b"value %d" % number, timestamp=1_700_000_000_000 + number)
        for number in range(12_000)
    ]
    large = folder / "orders-0" / NAME
    large.parent.mkdir()
    large.write_bytes(kodec.encode(records))
    hostile = folder / HOSTILE
    hostile.write_bytes(
        kodec.encode([kodec.Record(key=VALUE, value=VALUE, timestamp=1, headers=[(VALUE.decode(), VALUE)])])
    )
    damaged = folder / NAME
    damaged.write_bytes(source.read_bytes()[:100])
    say(f"the large log has {large.stat().st_size:,} bytes")
    for name, file, options in (
        ("small", source, ["--limit", "1"]),
        ("large", large, []),
        ("hostile", hostile, []),
        ("damaged", damaged, []),
    ):
        code = kodec_main(["explain", str(file), *options, "--html", str(folder / f"{name}.html")])
        if code != (name == "damaged"):
            raise Unusable(f"kodec explain exits with {code} for {file}")


def main() -> int:
    try:
        program, script = browser(), driver() / "explain.mjs"
        folder = Path(tempfile.mkdtemp(prefix="explain-"))
        pages(folder)
        say(f"pages and screenshots: {folder}")
        node = find_program("node", "the driver of the browser runs on Node (https://nodejs.org)")
        return subprocess.run([node, str(script), program, str(folder)], check=False).returncode
    except Unusable as error:
        say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
