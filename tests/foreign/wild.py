"""Schemas of public repositories, as people write them: how many of those that ksc accepts are accepted?

`make wild` counts them.

    python -m tests.foreign.wild [--only-accept] [--folder DIR] [--table FILE] [--json FILE] [REPOSITORY...]

`wild.tsv` lists repositories and commits; their `.ksy` files are fetched with git and stay outside. A text
that occurs several times counts once, and those of Kaitai's own gallery do not count: `make foreign` has
them. What ksc refuses counts neither way. Each accepted schema is read by both, from bytes that a search
finds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

import yaml

from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaError
from tests.foreign.compare import mended
from tests.foreign.run import CACHE, URL, Corpus, Result, alone, closure, copy_closure, fetched, put_table
from tests.ksc import oracle

HERE = Path(__file__).parent
LIST = HERE / "wild.tsv"
HOST = "https://github.com/{}.git"
AT_ONCE = 100
"""Schemas that one run of Node compiles."""


def repositories() -> dict[str, str]:
    """The commit of each repository."""
    lines = (line.split("\t") for line in LIST.read_text("utf-8").splitlines() if line[:1] not in ("", "#"))
    return dict(lines)  # type: ignore[arg-type]  # two columns


def fetched_at(name: str, commit: str) -> Path:
    """The `.ksy` files of a repository at a commit. Raises: CalledProcessError."""
    place = CACHE / "wild" / name.replace("/", "+") / commit
    if not place.is_dir():
        part = place.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        for arguments in (
            ("init", "--quiet"),
            ("sparse-checkout", "set", "--no-cone", "*.ksy"),
            ("fetch", "--quiet", "--depth", "1", "--filter=blob:none", HOST.format(name), commit),
            ("config", "remote.origin.url", HOST.format(name)),
            ("config", "remote.origin.promisor", "true"),
            ("checkout", "--quiet", "FETCH_HEAD"),
        ):
            subprocess.run(["git", "-C", str(part), *arguments], check=True)
        part.rename(place)
    return place


def corpora(folders: dict[str, Path], known: set[str], scratch: Path) -> Iterator[tuple[Corpus, str]]:
    """Each schema whose text is not `known` yet, with its imports and what ksc makes of them."""
    for repository, folder in folders.items():
        trees, wanted = {}, []
        files = oracle.schemas(folder)
        for name, path in files.items():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest not in known:
                wanted.append(name)
            known.add(digest)
            try:
                trees[name] = oracle.load_yaml(path)
            except (yaml.YAMLError, UnicodeDecodeError, ValueError):
                continue
        readable = {name: files[name] for name in trees if isinstance(trees[name], dict)}
        wanted = [name for name in wanted if name in readable and "meta" in trees[name]]
        for start in range(0, len(wanted), AT_ONCE):
            names = wanted[start : start + AT_ONCE]
            inside = [closure(readable, name) for name in names]
            jobs = [
                (
                    scratch / repository.replace("/", "+") / str(start + index),
                    {each: trees[each] for each in own},
                )
                for index, own in enumerate(inside)
            ]
            compiled = oracle.compile_each(jobs)
            for name, own, (out, _), failures in zip(names, inside, jobs, compiled, strict=True):
                if (out / "python").is_dir():
                    mended(out / "python")
                refused = {each.schema: each.error for each in failures}
                files_of_it = {each: readable[each] for each in own}
                yield Corpus(repository, files_of_it, out / "python", refused, {}), name


def accepted(corpus: Corpus, name: str) -> Result:
    """Whether ksc and kodec accept a schema; nothing is read."""
    if name in corpus.refused:
        return Result(corpus.name, name, "ksc refuses", [corpus.refused[name].strip()[:200]])
    with tempfile.TemporaryDirectory() as folder:
        copy_closure(corpus.files, name, Path(folder))
        try:
            render_all(Path(folder), targets=("python",), formatted=False)
        except SchemaError as error:
            return Result(corpus.name, name, "refused", [str(each) for each in error.problems[:3]])
        except Exception as error:
            return Result(corpus.name, name, "crash", [f"generator: {type(error).__name__}: {error}"])
    return Result(corpus.name, name, "taken")


def read_too(corpus: Corpus, name: str) -> Result:
    """As `accepted`, and the values are compared with ksc's."""
    found = accepted(corpus, name)
    return alone(corpus, name, quick=False) if found.verdict == "taken" else found


def construct(reason: str) -> str:
    """A problem without its place and names, so that those of one kind are alike."""
    text = reason.partition("\n")[0]
    text = re.sub(r"^\S+:\d+:\d+: ", "", text)
    text = re.sub(r"^[\w./-]+: ", "", text)
    return re.sub(r"`[^`]*`", "`…`", re.sub(r"\d+", "n", text))[:110]


def table(results: list[Result], *, read: bool) -> str:
    """The counts as Markdown; those of values only where they were read."""
    columns = ["schemas", "ksc accepts", "kodec accepts", "share", "crash"]
    columns += ["wrong", "values compared"] if read else []
    lines = [f"| repository | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in (*dict.fromkeys(each.corpus for each in results), ""):
        own = [each for each in results if name in ("", each.corpus)]
        count = Counter(each.verdict for each in own)
        both = len(own) - count["ksc refuses"]
        ours = both - count["refused"] - count["crash"]
        share = f"{ours / both:.1%}" if both else ""
        values = sum(each.values for each in own)
        cells = [name or "all", len(own), both, ours, share, count["crash"]]
        cells += [count["wrong"], values] if read else []
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lost = [each for each in results if each.verdict in ("refused", "crash") and each.reasons]
    refused = Counter(construct(each.reasons[0]) for each in lost)
    lines += ["", "| refused for | schemas |", "|---|---|"]
    lines += [f"| {text} | {number} |" for text, number in refused.most_common()]
    return "\n".join(lines)


def run(folders: dict[str, Path], known: set[str], *, read: bool, jobs: int) -> Iterable[Result]:
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor(jobs) as pool:
        work = []
        for corpus, name in corpora(folders, known, Path(scratch)):
            work.append(pool.submit(read_too if read else accepted, corpus, name))
        for each in work:
            yield each.result()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only-accept", action="store_true", help="do not compare values")
    parser.add_argument("--folder", type=Path, help="a folder of fetched repositories, as OWNER+NAME")
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"), help="Kaitai's own gallery")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=Path, help="the file whose table is rewritten")
    parser.add_argument("--json", type=Path, help="a file for all that was found")
    parser.add_argument("repositories", nargs="*", help="only these")
    given = parser.parse_args(arguments)
    folders = {
        name: given.folder / name.replace("/", "+") if given.folder else fetched_at(name, commit)
        for name, commit in repositories().items()
        if not given.repositories or name in given.repositories
    }
    gallery = fetched(given.formats)
    known = {hashlib.sha256(path.read_bytes()).hexdigest() for path in gallery.rglob("*.ksy")}
    results = []
    for found in run(folders, known, read=not given.only_accept, jobs=given.jobs):
        results.append(found)
        if found.verdict not in ("taken", "ksc refuses"):
            print(f"{found.corpus} {found.name}: {found.verdict}", flush=True)
            for reason in dict.fromkeys(found.reasons):
                print(f"    {reason}", flush=True)
    text = table(results, read=not given.only_accept)
    print(text)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n", "utf-8")
    if given.table is not None:
        put_table(given.table, ("<!-- wild -->\n", "<!-- end of wild -->"), text)
    return 1 if any(each.verdict in ("wrong", "crash") for each in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
