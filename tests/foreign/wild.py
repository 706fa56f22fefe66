"""Schemas of public repositories, as people write them, through ksc and through all of the generator.

`make wild` counts them.

    python -m tests.foreign.wild [--only-accept] [--no-values] [--no-languages] [--no-compile]
        [--sample N] [--minutes N] [--git DIR] [--table FILE] [--fresh] [REPOSITORY...]

`wild.tsv` lists repositories and commits; their `.ksy` files are fetched with git and stay outside. A text
that occurs several times counts once, and those of Kaitai's own gallery do not count: `make foreign` has
them. What ksc refuses counts neither way. The stages: both compilers accept a schema; both readers read the
same bytes, which a search finds, and kodec's writes them back, unchanged and changed; other languages are
generated; their compilers take that. Each schema is examined in a process of its own, with bounds. Results
are kept by the commit of the generator: a run that was ended goes on where it stopped.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaError
from tests.foreign.compare import mended
from tests.foreign.run import (
    CACHE,
    GIB,
    URL,
    Bounds,
    Corpus,
    Result,
    apart,
    closure,
    copy_closure,
    examine,
    fetched,
    put_table,
)
from tests.foreign.wild_languages import LANGUAGES, WRITERS, compiled, made_in_all
from tests.ksc import oracle

HERE = Path(__file__).parent
LIST = HERE / "wild.tsv"
HOST = "https://github.com/{}.git"
STORE = CACHE / "wild"
AT_ONCE = 100
"""Schemas that one run of Node compiles."""
TOGETHER = 12
"""Schemas that one run of a compiler takes."""
BOUNDS = Bounds(work=300_000, work_of_type=20_000, seconds=60, memory=2 * GIB, edits=6)
FACTS = "refused.json"
Job = tuple[Corpus, str]
STAGES = ("accept", "values", "languages", "compile")


# -- repositories -----------------------------------------------------------------------------------


def repositories() -> dict[str, str]:
    """The commit of each repository."""
    lines = (line.split("\t") for line in LIST.read_text("utf-8").splitlines() if line[:1] not in ("", "#"))
    return dict(lines)  # type: ignore[arg-type]  # two columns


def fetched_at(name: str, commit: str, local: Path | None = None) -> Path:
    """The `.ksy` files of a repository at a commit, from its host or a git directory here.

    Raises: CalledProcessError.
    """
    place = STORE / "schemas" / name.replace("/", "+") / commit
    if not place.is_dir():
        part = place.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        if local is None:
            _check_out(part, HOST.format(name), commit)
        else:
            _copy(part, local / name, commit)
        part.rename(place)
    return place


def _check_out(part: Path, host: str, commit: str) -> None:
    for arguments in (
        ("init", "--quiet"),
        ("sparse-checkout", "set", "--no-cone", "*.ksy"),
        ("fetch", "--quiet", "--depth", "1", "--filter=blob:none", host, commit),
        ("config", "remote.origin.url", host),
        ("config", "remote.origin.promisor", "true"),
        ("checkout", "--quiet", "FETCH_HEAD"),
    ):
        subprocess.run(["git", "-C", str(part), *arguments], check=True)


def _copy(part: Path, git: Path, commit: str) -> None:
    """The files out of a git directory, which may lack large objects."""

    def said(*arguments: str) -> bytes:
        line = ["git", f"--git-dir={git}", *arguments]
        return subprocess.run(line, check=True, capture_output=True).stdout

    for line in said("ls-tree", "-r", "-z", commit).decode().split("\0"):
        facts, _, path = line.partition("\t")
        if path.endswith(".ksy") and facts.startswith("100"):
            (part / path).parent.mkdir(parents=True, exist_ok=True)
            (part / path).write_bytes(said("cat-file", "blob", facts.split()[2]))


# -- schemas and what ksc makes of them -------------------------------------------------------------


def corpora(folders: dict[str, Path], known: set[str], most: int) -> Iterator[Job]:
    """Schemas whose text is not `known` yet, at most `most` of a repository, and what ksc makes of them."""
    for repository, folder in folders.items():
        files = oracle.schemas(folder)
        fresh = []
        for name, path in files.items():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            fresh += [name] if digest not in known else []
            known.add(digest)
        jobs = []
        for name in spread(repository, fresh):
            if _is_whole(files, name):
                own = closure(files, name)
                out = STORE / "ksc" / folder.parent.name / folder.name / name
                jobs.append((Corpus(repository, {each: files[each] for each in own}, out), name))
            if len(jobs) == most:
                break
        for start in range(0, len(jobs), AT_ONCE):
            yield from _compiled_by_ksc(jobs[start : start + AT_ONCE])


def spread(repository: str, names: Iterable[str]) -> list[str]:
    """In an order that has nothing to do with names, so that the first ones are a fair sample."""
    return sorted(names, key=lambda each: drawn(repository, each))


def drawn(repository: str, name: str) -> bytes:
    """What puts schemas in such an order."""
    return hashlib.sha256(f"{repository}/{name}".encode()).digest()


@functools.cache
def _tree(path: Path) -> dict[str, Any] | None:
    try:
        tree = oracle.load_yaml(path)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        return None
    return tree if isinstance(tree, dict) else None


def _is_whole(files: dict[str, Path], name: str) -> bool:
    """Whether a file is a schema, and all that it imports can be read."""
    try:
        return all("meta" in (_tree(files[each]) or {}) for each in closure(files, name))
    except (yaml.YAMLError, ValueError, AttributeError):
        return False


def _compiled_by_ksc(jobs: list[Job]) -> Iterator[Job]:
    """The same schemas with what ksc refuses of them, which is kept beside what it generates."""
    new = [corpus for corpus, _ in jobs if not (corpus.ksc / FACTS).is_file()]
    trees = [(each.ksc, {name: _tree(path) for name, path in each.files.items()}) for each in new]
    for corpus, failures in zip(new, oracle.compile_each(trees) if trees else (), strict=True):
        if (corpus.ksc / "python").is_dir():
            mended(corpus.ksc / "python")
        corpus.ksc.mkdir(parents=True, exist_ok=True)
        facts = json.dumps({each.schema: each.error for each in failures})
        (corpus.ksc / FACTS).write_text(facts, "utf-8")
    for corpus, name in jobs:
        refused = json.loads((corpus.ksc / FACTS).read_text("utf-8"))
        bounded = replace(corpus, ksc=corpus.ksc / "python", refused=refused, listed=False, bounds=BOUNDS)
        yield bounded, name


# -- the stages of one schema -----------------------------------------------------------------------


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


def _accept(corpus: Corpus, name: str) -> dict[str, Any]:
    found, why = apart(lambda: accepted(corpus, name), corpus.bounds)
    return asdict(found if why is None else Result(corpus.name, name, "crash", [why]))


def _values(corpus: Corpus, name: str) -> dict[str, Any]:
    found, why = apart(lambda: examine(corpus, name, quick=False), corpus.bounds)
    if why is not None:
        found = Result(corpus.name, name, _without_result(why), [why])
    # thousands of names, of which the table has none
    return asdict(replace(found, members=[], declared=[], notes=[]))


def _languages(corpus: Corpus, name: str) -> dict[str, Any]:
    bounds = replace(corpus.bounds, seconds=len(LANGUAGES) * corpus.bounds.seconds)
    found, why = apart(lambda: made_in_all(corpus.files, name), bounds)
    return found if why is None else {each: [_without_result(why), why, False] for each in LANGUAGES}


def _without_result(why: str) -> str:
    return "out of bounds" if why.startswith(("longer", "more")) else "crash"


CALLS: dict[str, Callable[[Corpus, str], dict[str, Any]]] = {
    "accept": _accept,
    "values": _values,
    "languages": _languages,
}


# -- a run ------------------------------------------------------------------------------------------


@dataclass
class Store:
    """Results by stage and schema, in a file to which each is appended as soon as it is there."""

    path: Path
    found: dict[str, dict[tuple[str, str], Any]] = field(
        default_factory=lambda: {each: {} for each in STAGES}
    )

    def load(self) -> None:
        if self.path.is_file():
            for line in self.path.read_text("utf-8").splitlines():
                try:
                    stage, repository, name, result = json.loads(line)
                except ValueError:
                    continue  # the last line of a run that was ended
                self.found[stage][repository, name] = result

    def put(self, stage: str, key: tuple[str, str], result: Any) -> None:
        self.found[stage][key] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([stage, *key, result]) + "\n")


def run_stage(stage: str, jobs: list[Job], store: Store, workers: int, seconds: float) -> None:
    """Give a stage the schemas that it has not had, as many as fit in the time."""
    todo = [each for each in jobs if (each[0].name, each[1]) not in store.found[stage]]
    end = time.monotonic() + seconds
    # compilers leave others on the machine room to work
    with ProcessPoolExecutor(workers, initializer=os.nice, initargs=(10 * (stage == "compile"),)) as pool:
        try:
            for index, (key, result) in enumerate(_each(pool, stage, todo, end)):
                store.put(stage, key, result)
                _say(stage, key, result)
                if (index + 1) % 50 == 0:
                    print(f"{stage}: {index + 1} of {len(todo)}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


def _each(
    pool: ProcessPoolExecutor, stage: str, todo: list[Job], end: float
) -> Iterator[tuple[tuple[str, str], Any]]:
    if stage == "compile":
        for start in range(0, len(todo), TOGETHER):
            if time.monotonic() > end:
                return
            batch = todo[start : start + TOGETHER]
            found = pool.submit(compiled, [(corpus.files, name) for corpus, name in batch]).result()
            for (corpus, name), result in zip(batch, found, strict=True):
                yield (corpus.name, name), result
        return
    futures = {
        pool.submit(_in_time, end, CALLS[stage], corpus, name): (corpus.name, name) for corpus, name in todo
    }
    for future in as_completed(futures):
        if (result := future.result()) is not None:
            yield futures[future], result


def _in_time(end: float, call: Callable[[Corpus, str], Any], corpus: Corpus, name: str) -> Any:
    return call(corpus, name) if time.monotonic() < end else None


def _say(stage: str, key: tuple[str, str], result: Any) -> None:
    """What is wrong with a schema, for people."""
    repository, name = key
    if stage in ("accept", "values"):
        if result["verdict"] not in ("taken", "ksc refuses", "unmeasured"):
            print(f"{repository} {name}: {result['verdict']}", flush=True)
        reasons = () if result["verdict"] in ("ksc refuses", "unmeasured") else result["reasons"]
        for reason in dict.fromkeys(reasons):
            print(f"    {reason}"[:600], flush=True)
    else:
        for language, (state, reason, *_) in result.items():
            if state in ("crash", "failed"):
                print(f"{repository} {name}: {language}: {state}: {reason}"[:600], flush=True)


# -- tables -----------------------------------------------------------------------------------------


def construct(reason: str) -> str:
    """A problem without its place and names, so that those of one kind are alike."""
    text = reason.partition("\n")[0]
    text = re.sub(r"^\S+:\d+:\d+: ", "", text)
    text = re.sub(r"^[\w./:-]+: ", "", text)
    return re.sub(r"`[^`]*`", "`…`", re.sub(r"\d+", "n", text))[:110]


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _ratio(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / whole:.1%})" if whole else "0"


def by_repository(store: Store) -> list[str]:
    """The stages of the schemas of each repository."""
    columns = [
        "schemas",
        "ksc accepts",
        "kodec accepts",
        "values equal",
        "written back",
        "read again after a change",
    ]
    columns += [f"{each} compiles" for each in LANGUAGES.values()]
    lines = [_row("repository", *columns), "|---" * (len(columns) + 1) + "|"]
    for name in (*dict.fromkeys(repository for repository, _ in store.found["accept"]), "all"):
        own = {
            stage: {key: each for key, each in results.items() if name in ("all", key[0])}
            for stage, results in store.found.items()
        }
        count = Counter(each["verdict"] for each in own["accept"].values())
        both = sum(count.values()) - count["ksc refuses"]
        values = [
            each for each in own["values"].values() if each["values"] and each["verdict"] != "out of bounds"
        ]
        equal = sum(each["verdict"] == "taken" for each in values)
        cells: list[object] = [sum(count.values()), both, count["taken"], f"{equal}/{len(values)}"]
        for kind, good in (
            ("back", ("same bytes", "same values")),
            ("edited", ("read again equal", "computed")),
        ):
            tried = [each[kind] for each in values if {*each[kind]} - {"refused", "unread"}]
            sound = [each for each in tried if any(map(each.get, good)) and not _unsound(each)]
            cells.append(f"{len(sound)}/{len(tried)}")
        for language in LANGUAGES:
            states = [each[language][0] for each in own["compile"].values() if language in each]
            cells.append(f"{states.count('compiled')}/{len(states) - states.count('refused')}")
        lines.append(_row(name, *cells))
    return lines


def _unsound(counts: dict[str, int]) -> int:
    return counts.get("differs", 0) + counts.get("crash", 0)


def by_stage(store: Store) -> list[str]:
    """What came of all that were read and written, in numbers."""
    results = list(store.found["values"].values())
    verdicts = Counter(each["verdict"] for each in results if each["values"] or each["verdict"] != "taken")
    lines = [_row("read and written", "count"), "|---|---|"]
    both = sum(each["verdict"] == "taken" for each in store.found["accept"].values())
    lines.append(_row("schemas examined", _ratio(len(results), both)))
    lines.append(_row("with values, all equal to ksc's or by a rule", verdicts["taken"]))
    lines.append(
        _row(
            "no bytes found that both read",
            sum(not each["values"] for each in results if each["verdict"] == "taken"),
        )
    )
    lines += [_row(kind, number) for kind, number in sorted(verdicts.items()) if kind != "taken"]
    refusing = sum({*each["edited"]} == {"refused"} for each in results)
    lines.append(_row("schemas that refuse every change that was tried", refusing))
    lines.append(_row("values compared", f"{sum(each['values'] for each in results):,}"))
    for title, kind in (("inputs", "inputs"), ("written back", "back"), ("with a field changed", "edited")):
        total: Counter[str] = Counter()
        for each in results:
            total.update(each[kind])
        lines += [_row(f"{title}: {key}", f"{number:,}") for key, number in total.most_common()]
    return lines


def by_language(store: Store) -> list[str]:
    """How many schemas each language generates, with a writer, and compiles."""
    columns = (
        "language",
        "generated",
        "with a writer",
        "refused",
        "crash",
        "out of bounds",
        "compiled",
        "compiler refuses",
    )
    lines = [_row(*columns), "|---" * len(columns) + "|"]
    made = list(store.found["languages"].values())
    for language, title in LANGUAGES.items():
        states = Counter(each[language][0] for each in made)
        writers: object = sum(each[language][0] == "made" and each[language][2] for each in made)
        compiled_ = Counter(each.get(language, "-")[0] for each in store.found["compile"].values())
        tried = compiled_["compiled"] + compiled_["failed"]
        lines.append(
            _row(
                title,
                _ratio(states["made"], len(made)),
                writers if language in WRITERS else "reads",
                states["refused"],
                states["crash"],
                states["out of bounds"],
                _ratio(compiled_["compiled"], tried),
                compiled_["failed"],
            )
        )
    return lines


def reasons(store: Store) -> list[str]:
    """What was refused, by construct."""
    lost = [
        ("Python", each["reasons"]) for each in store.found["accept"].values() if each["verdict"] == "refused"
    ]
    for each in store.found["languages"].values():
        for language, (state, reason, *_) in each.items():
            if state == "refused":
                lost.append((LANGUAGES[language], [reason]))
    lines = [_row("refused by", "for", "schemas"), "|---|---|---|"]
    counts = Counter((language, construct(several[0])) for language, several in lost if several)
    return [
        *lines,
        *(_row(*key, number) for key, number in sorted(counts.items(), key=lambda e: (e[0][0], -e[1]))),
    ]


def table(store: Store, sample: int, minutes: float) -> str:
    """All tables, with what was sampled."""
    parts = [by_repository(store), by_stage(store), by_language(store), reasons(store)]
    sampled = f" Of each repository at most {sample} schemas, by a hash of their names." if sample > 0 else ""
    counts = ", ".join(f"{stage} {len(results):,}" for stage, results in store.found.items())
    head = f"With the generator of commit {store.path.stem}.{sampled}"
    head += f" Stages had {minutes:g} minutes: {counts} schemas."
    return head + "\n\n" + "\n\n".join("\n".join(each) for each in parts)


# -- the command ------------------------------------------------------------------------------------


def generator_commit() -> str:
    """The last commit that changed what is measured."""
    line = ["git", "log", "-1", "--format=%h", "--", "generator", "runtime", "src"]
    return subprocess.run(line, cwd=oracle.ROOT, check=True, capture_output=True, text=True).stdout.strip()


def failed(store: Store) -> bool:
    bad = ("wrong", "crash")
    compared = any(
        each["verdict"] in bad for stage in ("accept", "values") for each in store.found[stage].values()
    )
    made = [each for stage in ("languages", "compile") for each in store.found[stage].values()]
    written = any(
        _unsound(each[kind]) for each in store.found["values"].values() for kind in ("back", "edited")
    )
    return (
        compared
        or written
        or any(state[0] in ("crash", "failed") for each in made for state in each.values())
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only-accept", action="store_true", help="the first stage only")
    parser.add_argument("--no-values", action="store_true", help="do not read and write")
    parser.add_argument("--no-languages", action="store_true", help="do not generate other languages")
    parser.add_argument("--no-compile", action="store_true", help="do not compile other languages")
    parser.add_argument("--sample", type=int, default=-1, help="so many schemas of a repository, not all")
    parser.add_argument(
        "--minutes", type=float, default=600, help="for each stage: what has no time is not measured"
    )
    parser.add_argument("--git", type=Path, help="a folder of git directories, OWNER/NAME, instead of a host")
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"), help="Kaitai's own gallery")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured of this generator")
    parser.add_argument("--table", type=Path, help="the file whose table is rewritten")
    parser.add_argument("repositories", nargs="*", help="only these")
    given = parser.parse_args(arguments)
    folders = {
        name: fetched_at(name, commit, given.git)
        for name, commit in repositories().items()
        if not given.repositories or name in given.repositories
    }
    known = {hashlib.sha256(path.read_bytes()).hexdigest() for path in fetched(given.formats).rglob("*.ksy")}
    store = Store(STORE / "results" / f"{generator_commit()}.jsonl")
    if given.fresh:
        store.path.unlink(missing_ok=True)
    store.load()
    jobs = sorted(corpora(folders, known, given.sample), key=lambda each: drawn(each[0].name, each[1]))
    left_out = {stage for stage in STAGES[1:] if given.only_accept or getattr(given, f"no_{stage}")}
    for stage in (each for each in STAGES if each not in left_out):
        taken = store.found["accept"]
        wanted = [each for each in jobs if stage == "accept" or _is_taken(taken.get((each[0].name, each[1])))]
        run_stage(stage, wanted, store, given.jobs, given.minutes * 60)
    text = table(store, given.sample, given.minutes)
    print(text)
    if given.table is not None:
        put_table(given.table, ("<!-- wild -->\n", "<!-- end of wild -->"), text)
    return 1 if failed(store) else 0


def _is_taken(result: dict[str, Any] | None) -> bool:
    return result is not None and result["verdict"] == "taken"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
