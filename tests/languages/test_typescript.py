"""The generated TypeScript does with bytes what the generated Python does, and passes strict checks.

`KODEC_MUTATIONS=100` tries so many changes of each vector instead of 4: some 100,000 inputs of Kafka's types.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import kodec
from kodec.generator.driver import generate, render_all
from kodec.generator.problems import SchemaError
from tests.generator import any_name

from . import stream_cases, typescript_testee
from .cases import ask, cases
from .derivations import write_table
from .stream_writing import write_differences, writings
from .test_plan import FOLDERS, ROOT

MUTATIONS = int(os.environ.get("KODEC_MUTATIONS", "4"))
Built = Callable[[str], tuple[list[str], Path]]
pytestmark = [
    pytest.mark.languages,
    pytest.mark.skipif(typescript_testee.node() is None, reason="no TypeScript here: make node"),
    pytest.mark.xdist_group("typescript"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Builds the testee of a folder once: its command, and its package, to which tests only add files."""

    @cache
    def build(folder: str) -> tuple[list[str], Path]:
        made = tmp_path_factory.mktemp(folder)
        return typescript_testee.build(FOLDERS[folder], made), made / "typescript"

    return build


@pytest.mark.parametrize("folder", FOLDERS)
def test_typescript_reads_and_writes_as_the_generated_python(built: Built, folder: str) -> None:
    program, _ = built(folder)
    told = list(cases(FOLDERS[folder], changes=MUTATIONS, seed=12))
    for case, found in zip(told, ask(program, told), strict=True):
        assert found == case


def test_the_package_passes_its_tests_a_linter_and_a_formatter(built: Built) -> None:
    _, module = built("kafka")
    shutil.copyfile(typescript_testee.HERE / "eslint.config.js", module / "eslint.config.js")
    own = ["src/runtime.ts", "src/codecs.ts", "test/runtime.test.ts", "test/codecs.test.ts", "test/testee.ts"]
    ours = [f"!{name}" for name in (*own, "test/types.ts")]
    prettier = "prettier/bin/prettier.cjs"
    for command in (
        ["--test", *(f"dist/{name.removesuffix('.ts')}.js" for name in own[2:4])],
        ["eslint/bin/eslint.js", "src", "test/testee.ts"],
        [prettier, "--check", "--print-width", "320", "src", "tsconfig.json", *ours],
        [prettier, "--check", "--print-width", "110", *own],
    ):
        done = typescript_testee.run(module, *command)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_of_the_documentation_reads_a_log_to_its_end(built: Built, tmp_path: Path) -> None:
    _, module = built("kafka")
    text = (ROOT / "docs" / "typescript.md").read_text("utf-8")
    (program,) = re.findall(r"```ts\n(.*?)```", text, re.S)
    (module / "test" / "example.ts").write_text(program)
    typescript_testee.compile_(module)
    log = next((ROOT / "tests" / "data" / "kafka-3.9.1" / "logs" / "append.time-0").glob("*.log"))
    torn = tmp_path / "torn.log"
    torn.write_bytes(log.read_bytes()[:-1])
    whole, cut = (
        typescript_testee.run(module, "dist/test/example.js", str(path)).stdout.splitlines()
        for path in (log, torn)
    )
    wanted = [
        f"{record.offset}n {'null' if record.key is None else record.key.decode()} "
        f"{'null' if record.value is None else len(record.value)}"
        for record in kodec.read_records(log)
    ]
    assert whole == wanted and whole[: len(cut)] == cut and len(cut) < len(whole)


def test_typescript_reads_and_writes_streams_as_the_plan_says(tmp_path: Path) -> None:
    inputs = stream_cases.write_schemas(tmp_path / "schemas", "typescript")
    table = write_table(tmp_path / "schemas")
    told = list(stream_cases.stream_cases(tmp_path / "schemas", inputs))
    program = typescript_testee.build(tmp_path / "schemas", tmp_path)
    assert list(stream_cases.differences(program, told)) == []
    assert len(inputs) > 40 and stream_cases.refused(told) > 100
    written = list(writings(tmp_path / "schemas", inputs))
    assert list(write_differences(program, written)) == []
    assert len(written) > 1500 and sum(each.data is None for each in written) > 300
    derived = list(writings(tmp_path / "schemas", table, edits=1))
    assert list(write_differences(program, derived, lacking=False)) == []
    assert len(table) > 80 and sum(each.data is None for each in derived) > 60
    module = tmp_path / "typescript"
    shutil.copyfile(typescript_testee.HERE / "eslint.config.js", module / "eslint.config.js")
    runtime = ["src/streams.ts", "src/streams_writing.ts"]
    for command in (
        ["eslint/bin/eslint.js", *runtime],
        ["prettier/bin/prettier.cjs", "--check", "--print-width", "110", *runtime],
    ):
        done = typescript_testee.run(module, *command)
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_typescript_does_not_have_is_a_problem_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq:\n  - {id: a_1, type: u1}\n  - {id: a1, type: u1}\n"
        "  - {id: t, type: str, size: 2, encoding: UTF-16LE}\n"
    )
    (tmp_path / "y.ksy").write_text(
        "meta: {id: y}\nseq: [{id: z, size: 1, process: ours}, {id: constructor, terminator: 0}]\n"
    )
    with pytest.raises(SchemaError) as caught:
        generate(tmp_path, tmp_path / "out", targets=["typescript"])
    told = str(caught.value)
    for text in (
        "`a_1` and `a1` are both `a1` in TypeScript",
        "text in UTF-16LE",
        "its process `ours`",
        "y.constructor: ",
    ):
        assert text in told
    assert not (tmp_path / "out").exists()


def test_the_package_has_the_name_that_was_asked_for(tmp_path: Path) -> None:
    def named(name: str) -> str:
        made = generate(
            FOLDERS["others"], tmp_path, targets=["typescript"], options={"typescript.package": name}
        )
        assert made
        return str(json.loads((tmp_path / "typescript" / "package.json").read_text())["name"])

    for name in ("orders", "@ours/orders-2.x"):
        assert named(name) == name
    for name in ("", "Orders", "_orders", "a b", "ours/orders", '"', "orders\n", 215 * "a"):
        with pytest.raises(ValueError, match="no name of an npm package"):
            named(name)


COMMENTS = r"//.*|/\*(?s:.*?)\*/"
WORDS = """
    any array big_int boolean buffer constructor data_view date error eval global infinity map math na_n never
    number object promise prototype proto record reg_exp set string symbol to_string uint8_array undefined
    unknown value_of void with yield await async class function partial
""".split()  # noqa: SIM905  # forty words on forty lines are no list to read


def test_fields_types_and_enums_called_as_the_generator_and_typescript_call_things(tmp_path: Path) -> None:
    names = ("z000", "z100", "z200", "z400")
    fixed, plain = any_name.sources(any_name.FIXED), any_name.sources(names)
    made = render_all(any_name.put(tmp_path / "plain", plain | fixed), targets=["typescript"]).modules
    words = any_name.vocabulary(made.values(), COMMENTS, fold=True)
    assert {"known", "section", "codec", "stored", "within", "crc32c"} <= set(words)
    called: list[dict[str, str]] = [{}, *any_name.rounds(plain, sorted({*words, *WORDS}), step=40)]
    module = tmp_path / "typescript"
    for index, each in enumerate(called):
        texts = {name: any_name.renamed(text, each) for name, text in plain.items()}
        made = render_all(any_name.put(tmp_path / f"s{index}", texts | fixed), targets=["typescript"]).modules
        for name, text in made.items():
            kept = name.removeprefix("typescript/")
            if kept.startswith("src/") or (index == 0 and not kept.startswith("test/")):
                path = module / (f"r{index}" if kept.startswith("src/") else "") / kept
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace('"include": ["src", "test"]', '"include": ["*/src"]'))
    typescript_testee.compile_(module)
    asked = [
        ["Z000", any_name.GZIP],
        *(["Z200", data, version] for version, data in any_name.VERSIONS.items()),
    ]
    asked += [[name.capitalize(), None, *([2] if name == "z200" else [])] for name in names]
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    script = shutil.copyfile(typescript_testee.HERE / "names.mjs", module / "names.mjs")
    done = typescript_testee.run(
        module, str(script), str(module), str(len(called)), str(tmp_path / "asked.json")
    )
    assert done.returncode == 0, done.stderr
    first, *others = map(json.loads, done.stdout.splitlines())
    # what gzip gives differs with the library, but not from package to package
    assert [each[1] for each in first[1:4]] == list(any_name.VERSIONS.values())
    assert len(others) == len(called) - 1
    for found, each in zip(others, called[1:], strict=True):
        assert found == first, each
