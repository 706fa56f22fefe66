"""What the pages say works: every Python block and every command runs, every link leads somewhere."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What a clone is given to run is run by CI itself, or would install or serve something.
ELSEWHERE = {"make", "pip"}
# Their commands stand on one another: a test of their own follows them from the first to the last.
FOLLOWED = {
    "evolving.md": "test_evolving.py",
    "object-stores.md": "test_object_stores.py",
    "schema-language.md": "schemas/test_language_examples.py",
    **{page.name: "test_tutorials.py" for page in PAGES if page.stem.startswith("tutorial-")},
}


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in _BLOCK.findall(page.read_text("utf-8")) if kind == language]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def environment() -> dict[str, str]:
    scripts = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"], "KODEC_DOCS_TEST": "1"}


def python_of(page: Path) -> str:
    if page.name in FOLLOWED:
        return ""
    return "\n".join(blocks(page, "python"))


# Those with Spark share a process, so that its JVM starts once.
TOGETHER = [page for page in PAGES if "session()" in python_of(page)]
ALONE = [[page] for page in PAGES if python_of(page) and page not in TOGETHER]
SPARK = re.compile(r"--engine spark")
RUN_ALL = "import runpy, sys; [runpy.run_path(path, run_name='__main__') for path in sys.argv[1:]]"


@pytest.mark.parametrize(
    "pages",
    [pytest.param(TOGETHER, marks=pytest.mark.thorough), *ALONE],
    ids=lambda pages: " ".join(map(named, pages)),
)
def test_python_of_pages_runs(pages: list[Path], tmp_path: Path) -> None:
    scripts = [tmp_path / f"{page.stem}.py" for page in pages]
    for page, script in zip(pages, scripts, strict=True):
        script.write_text(python_of(page), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, *map(str, scripts)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def together() -> Iterator[tuple[Path, list[str]]]:
    """The commands of each block, which may need what those before them made; alone in blocks with Spark."""
    for page in PAGES:
        for text in blocks(page, "console") if page.name not in FOLLOWED else ():
            shown = text.startswith("$ ")
            lines = [line for line in text.splitlines() if line.startswith("$ ") or not shown]
            commands = [line.removeprefix("$ ") for line in lines]
            if any(map(SPARK.search, commands)):
                yield from ((page, [each]) for each in commands)
            elif commands:
                yield page, commands


# Each that starts Spark starts a JVM.
@pytest.mark.parametrize(
    ("page", "commands"),
    [
        pytest.param(
            page,
            commands,
            id=f"{named(page)}: {commands[0]}",
            marks=[pytest.mark.thorough] if SPARK.search(commands[0]) else [],
        )
        for page, commands in together()
    ],
)
def test_commands_of_a_page_run(page: Path, commands: list[str]) -> None:
    for command in commands:
        run(page, command)


def run(page: Path, command: str) -> None:
    words = shlex.split(command)
    assert words[0] in ("kodec", "python"), f"{named(page)}: who runs `{command}`?"
    words[:1] = [sys.executable, "-m", "kodec"] if words[0] == "kodec" else [sys.executable]
    done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    # 3: a dry run that has something to show
    assert done.returncode in (0, 3), done.stderr[-3000:]


def test_shell_blocks_are_run_elsewhere() -> None:
    for page in PAGES:
        for text in blocks(page, "sh"):
            for line in text.splitlines():
                assert not line or line.split()[0] in ELSEWHERE, f"{named(page)}: nothing runs `{line}`"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{named(page)}: {target}"


def test_the_page_of_options_is_that_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    import options_page

    assert options_page.PAGE.read_text("utf-8") == options_page.page()
    assert options_page.TABLE.read_text("utf-8") == options_page.table()


def test_options_and_parameters_have_one_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    import all_options

    assert all_options.PAGE.read_text("utf-8") == all_options.page()
    for name, verbs in all_options.options().items():
        kinds = {kind for each in verbs.values() for kind, _ in each}
        assert (len(kinds) > 1) == (name in all_options.OTHER_KINDS), f"{name}: {kinds}"
    selects = {name: {*owners.values()} for name, owners in all_options.parameters().items()}
    for name, (options, _) in all_options.SELECTION.items():
        assert len(selects[name]) == 1, f"{name} is of several types: {selects[name]}"
        assert {*options.split(", ")} <= {*all_options.options()}
    for name in ("read_records", "read_table", "scan_table", "count_rows", "log_dataset", "scan_polars"):
        taken = [each for each in all_options.SELECTION if f"kodec.{name}" in all_options.parameters()[each]]
        assert taken == [*all_options.SELECTION], name
    for name, meaning in all_options.MEANINGS.items():
        assert meaning and name in all_options.options(), f"{name} is no option"
    for name in all_options.PARAMETERS:
        assert len({*all_options.of_functions()[name].values()}) > 1, f"{name} has one type"


def test_generate_names_its_targets() -> None:
    from kodec.cli.app import command
    from kodec.generator.target import known

    (target,) = (each for each in command("generate").parameters if each.name == "--target")
    assert all(name in target.help.replace(",", " ").replace(";", " ").split() for name in known())


def test_the_pictures_are_those_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    import pictures

    made = dict(pictures.pictures())
    assert {path.name for path in pictures.FOLDER.iterdir()} == set(made)
    for name, text in made.items():
        assert (pictures.FOLDER / name).read_text("utf-8") == text, (
            f"run python docs/site/pictures.py: {name}"
        )


GROUPS = ("learn", "use", "operate", "extend", "reference")


def test_every_page_is_in_a_group() -> None:
    """In its table, for readers of the files, and in its contents, for the site."""
    readme = (ROOT / "README.md").read_text("utf-8")
    groups = {name: (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in GROUPS}
    assert all(f"(docs/{name}.md)" in readme for name in GROUPS)
    for page in PAGES[1:]:
        if page.stem not in (*GROUPS, "index"):
            assert any(f"({page.name})" in text for text in groups.values()), page.name
            assert sum(f"\n{page.stem}\n" in text for text in groups.values()) == 1, page.name


def test_pages_of_formats_have_real_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every schema but those of parts, and those of Redpanda, of which no bytes are recorded here."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    found = import_module("samples").sections()
    schemas = {
        path.relative_to(ROOT / "schemas").with_suffix("").as_posix()
        for path in (ROOT / "schemas").rglob("*.ksy")
    }
    no_bytes = ("primitives", "wire", "redpanda")
    without = {each for each in schemas - set(found) if each.split("/")[0] not in no_bytes}
    assert without == {"conformance/wire_types", "log/log_segment"} and set(found) <= schemas
    assert all("wrong: " not in text and "\n0000" in text for text in found.values())
