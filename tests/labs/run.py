#!/usr/bin/env python3
"""Runs the lab: golden logs of each generation of Kafka, both directions, the table, and the comparisons."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import adoption_lab
import client_readers
import compatibility
import coordinators_lab
import edit_lab
import kafka_reads_ours
import make_generation
import make_logs
import make_tiered
import make_views
import plugin_lab
import rebuild_lab
import remote_rebuild_lab
import remote_segments
import repair_lab
import repair_table
import replicas_lab
import sink_lab
import states_lab
import tutorial_lab
from kafka_lab import CACHE, GENERATIONS, Generation, Unusable, kafka_version, say, stop_on_signal, work_of

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
EXIT_UNUSABLE = 2
PARTS = ("tiered", "repair", "views", "sink", "replicas", "plugin")


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


def only(repository: Path, *, replicas: bool) -> None:
    """A round with three damaged replicas; or remote storage, with the plugin. Raises Unusable."""
    try:
        if replicas:
            replicas_lab.make(repository, 1, random.randrange(1 << 20))
            return
        remote_segments.make(repository, 2_000, random.randrange(1 << 20))
        source = os.environ.get("KODEC_PLUGIN_SOURCE", plugin_lab.SOURCE)
        names = list(plugin_lab.TRANSFORMS)
        plugin_lab.make(repository, source, names, GENERATIONS["4.3"], store_too=False)
    except (replicas_lab.Wrong, plugin_lab.Wrong) as problem:
        raise Unusable(str(problem)) from problem


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
    parser.add_argument(
        "--replicas", action="store_true", help="three brokers with damaged disks, and nothing else"
    )
    parser.add_argument(
        "--plugin",
        action="store_true",
        help="a broker with Aiven's plugin for remote storage, and nothing else",
    )
    options = parser.parse_args(arguments)
    names = options.generation or ["all"]
    if "all" in names:
        names = list(GENERATIONS)
    signal.signal(signal.SIGTERM, stop_on_signal)
    parts = [getattr(options, name) for name in PARTS]
    named = f"--{', --'.join(PARTS[:-1])} and --{PARTS[-1]}"
    if any(parts) and (options.generation or options.ours_only):
        parser.error(f"{named} go with neither --generation nor --ours-only")
    if sum(parts) > 1:
        parser.error(f"{named} do not go together")
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
        elif options.replicas or options.plugin:
            only(options.maven_repository, replicas=options.replicas)
            say(f"all in {time.monotonic() - begun:.0f} s")
            return 0
        else:
            lab(names, out, options.maven_repository, options.ours_only)
            if "4.3" in names:
                make_views.make(CACHE / "work" / "views", out, options.maven_repository)
                repair(options.maven_repository)
                sink_lab.make(options.maven_repository)
                adoption_lab.make(options.maven_repository)
                only(options.maven_repository, replicas=True)
                only(options.maven_repository, replicas=False)
            for line in rebuild_lab.LINES:
                if line in names:
                    say(rebuild_lab.make(line, options.maven_repository))
            differ = [
                f"{lab.__name__} {line}: {each}"
                for lab in (states_lab, coordinators_lab, tutorial_lab)
                for line in lab.LINES
                if line in names
                for each in lab.make(line, options.maven_repository)
            ]
            if differ:
                raise Unusable("\n".join(differ))
            for storage, line in remote_rebuild_lab.STORAGES.items():
                if line in names:
                    say(remote_rebuild_lab.make(storage, options.maven_repository))
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
