#!/usr/bin/env python3
"""Runs the lab: golden logs of each generation of Kafka, both directions, the table, and the comparisons."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import adoption_lab
import client_readers
import compatibility
import edit_lab
import kafka_reads_ours
import make_generation
import make_logs
import make_tiered
import make_views
import repair_lab
import repair_table
import sink_lab
from kafka_lab import CACHE, GENERATIONS, Generation, Unusable, kafka_version, say, stop_on_signal, work_of

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
EXIT_UNUSABLE = 2


def make(generation: Generation, out: Path, repository: Path) -> None:
    """Make the golden directory of one generation. Raises: Unusable."""
    work = work_of(generation)
    if generation.golden:
        make_generation.make(work, out, repository, generation)
    else:
        make_logs.make(work, out, repository)


def repair(repository: Path) -> None:
    """What kodec writes and repairs, given to the newest Kafka, and its table. Raises: Unusable."""
    works = {name: work_of(GENERATIONS[name]) for name in ("4.3", repair_lab.OLD_LINE)}
    failed = repair_lab.make(works, repository, CACHE / "repair.json")
    if failed:
        raise Unusable("kodec and Kafka differ:\n" + "\n".join(failed))


def lab(names: list[str], out: Path, repository: Path, ours_only: bool) -> None:
    """Both directions for each generation, and the table. Raises: Unusable."""
    client_readers.versions()
    results = compatibility.load(compatibility.RESULTS)
    for name in names:
        generation = GENERATIONS[name]
        begun = time.monotonic()
        say(f"==== Kafka {kafka_version(generation)}")
        if not ours_only:
            make(generation, out, repository)
        verdicts = kafka_reads_ours.judge(work_of(generation), repository, generation)
        compatibility.add(results, generation, compatibility.kodec_reads(out, generation), verdicts)
        say(f"==== Kafka {kafka_version(generation)}: {time.monotonic() - begun:.0f} s")
    compatibility.save(results, CACHE / "compatibility.json")
    (CACHE / "compatibility.md").write_text(compatibility.page(results), encoding="utf-8")
    failed = [
        f"Kafka {found['kafka']}, v{cell['magic']} {cell['codec']}, {cell['direction']}: {cell['reason']}"
        for found in results["generations"].values()
        for cell in found["cells"]
        if cell["state"] == "failed"
    ]
    if failed:
        raise Unusable("kodec and Kafka differ:\n" + "\n".join(failed))


def main(arguments: list[str] | None = None) -> int:
    """Returns 0; 1 when interrupted or a comparison fails; 2 when something is missing or failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Needs a JDK 17+, Maven and the dependency group interop."
    )
    parser.add_argument(
        "--generation", action="append", choices=[*GENERATIONS, "all"], help="may be repeated (default: all)"
    )
    parser.add_argument(
        "--ours-only", action="store_true", help="do not make golden directories, take the committed ones"
    )
    parser.add_argument(
        "--update", action="store_true", help="replace the committed directories, results and page"
    )
    parser.add_argument("--tiered", action="store_true", help="make the tiered log, and nothing else")
    parser.add_argument("--views", action="store_true", help="make the log of the views, and nothing else")
    parser.add_argument(
        "--repair", action="store_true", help="give Kafka what kodec writes and repairs, and nothing else"
    )
    parser.add_argument(
        "--maven-repository", type=Path, default=CACHE / "maven-repository", help="Maven's local repository"
    )
    parser.add_argument(
        "--sink", action="store_true", help="have Kafka serve what the Spark sink writes, and nothing else"
    )
    options = parser.parse_args(arguments)
    names = options.generation or ["all"]
    if "all" in names:
        names = list(GENERATIONS)
    signal.signal(signal.SIGTERM, stop_on_signal)
    parts = [options.tiered, options.repair, options.views, options.sink]
    if any(parts) and (options.generation or options.ours_only):
        parser.error("--tiered, --repair, --views and --sink go with neither --generation nor --ours-only")
    if sum(parts) > 1:
        parser.error("--tiered, --repair, --views and --sink do not go together")
    out = DATA if options.ours_only else CACHE / "data"
    begun = time.monotonic()
    try:
        if options.tiered:
            make_tiered.make(CACHE / "work" / "tiered", out, options.maven_repository)
        elif options.views:
            make_views.make(CACHE / "work" / "views", out, options.maven_repository)
        elif options.repair:
            repair(options.maven_repository)
        elif options.sink:
            sink_lab.make(options.maven_repository)
            adoption_lab.make(options.maven_repository)
            say(f"all in {time.monotonic() - begun:.0f} s")
            return 0
        else:
            lab(names, out, options.maven_repository, options.ours_only)
            if "4.3" in names:
                make_views.make(CACHE / "work" / "views", out, options.maven_repository)
                repair(options.maven_repository)
                sink_lab.make(options.maven_repository)
                adoption_lab.make(options.maven_repository)
            for line in edit_lab.LINES:
                if line in names:
                    edit_lab.make(line, options.maven_repository)
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        return EXIT_UNUSABLE
    except KeyboardInterrupt:
        print("interrupted; the broker is stopped", file=sys.stderr)
        return 1
    tables = (
        []
        if options.tiered or options.views
        else sorted(CACHE.glob("repair.md" if options.repair else "*.md"))
    )
    say(f"all in {time.monotonic() - begun:.0f} s; tables: {', '.join(map(str, tables)) or 'none'}")
    if options.update and options.tiered:
        replace(out, "tiered-*")
    elif options.update and options.views:
        replace(out, "views-*")
    elif options.update and options.repair:
        update_repair()
    elif options.update:
        update(out)
        if "4.3" in names:
            replace(out, "views-*")
            update_repair()
    for release in sorted(path for name in ("kafka-*", "tiered-*", "views-*") for path in DATA.glob(name)):
        # Generations that were not made now are compared as they were committed.
        if not (out / release.name).exists():
            shutil.copytree(release, out / release.name)
    environment = {**os.environ, "KODEC_REAL_LOGS": str(out)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(HERE), "--ignore", str(HERE / "differential")],
        env=environment,
        check=False,
    ).returncode


def update(out: Path) -> None:
    """Put what was made in the place of what is committed."""
    if out != DATA:
        replace(out, "kafka-*")
    shutil.copyfile(CACHE / "compatibility.json", compatibility.RESULTS)
    shutil.copyfile(CACHE / "compatibility.md", compatibility.PAGE)


def update_repair() -> None:
    """Put what Kafka reports about what kodec repairs in the place of what is committed."""
    shutil.copyfile(CACHE / "repair.json", repair_table.RESULTS)
    shutil.copyfile(CACHE / "repair.md", repair_table.PAGE)


def replace(out: Path, names: str) -> None:
    """Put the made directories of these names in the place of the committed ones."""
    for made in sorted(out.glob(names)):
        shutil.rmtree(DATA / made.name, ignore_errors=True)
        shutil.copytree(made, DATA / made.name)


if __name__ == "__main__":
    sys.exit(main())
