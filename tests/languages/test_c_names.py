"""What is called as C, or as the generator calls things, is read and written as under any other name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kodec.generator.driver import render_all
from tests.generator.any_name import FIXED, GZIP, VERSIONS, put, rounds, sources, unnamed, vocabulary
from tests.generator.any_name import renamed as with_names

from . import c_testee
from .compilers import is_here
from .test_c import answers

SCHEMAS = ("z000", "z100", "z200", "z400")
COMMENTS = r"//.*|/\*(?s:.*?)\*/|(?m:^ *# *(include|error).*)"
WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while asm typeof bool xor xor_eq and_eq bitand bitor compl class new
    delete this unix linux errno stdin stdout stderr assert complex offsetof isnan environ i386
    template namespace operator private public virtual typename using friend mutable
""".split()  # noqa: SIM905  # sixty words on sixty lines are no list to read

pytestmark = [
    pytest.mark.languages,
    pytest.mark.skipif(not is_here("cc"), reason="no C compiler here"),
    pytest.mark.xdist_group("c"),
]


def test_fields_types_and_enums_called_as_the_generator_and_c_call_things(tmp_path: Path) -> None:
    fixed, texts = sources(FIXED), sources(SCHEMAS)
    made = render_all(put(tmp_path / "plain", texts | fixed), targets=["c", "vectors"]).modules
    vectors = {name: json.loads(made.pop(f"{name}.vectors.json"))["vectors"] for name in SCHEMAS}
    # the words of the runtime's own functions are no matter: they are in files of their own
    own = {
        name: text
        for name, text in made.items()
        if name.endswith((".c", ".h")) and ("/kodec_" not in name or "types" in name) and "test/" not in name
    }
    words = vocabulary(own.values(), COMMENTS, fold=True)
    assert {"at", "found", "items", "hidden", "code", "stored", "tags"} <= set(words)
    first: list[Any] | None = None
    for index, names in enumerate([{}, *rounds(texts, sorted({*words, *WORDS}), step=60)]):
        folder = tmp_path / f"r{index}"
        put(folder / "schemas", {name: with_names(text, names) for name, text in texts.items()} | fixed)
        program = c_testee.build(folder / "schemas", folder, flags=("-O0", "-g0"))
        asked: list[dict[str, Any]] = []
        for name in SCHEMAS:
            every = [each["bytes"] for each in vectors[name] if each["type"] == name and "bytes" in each]
            every += [GZIP] if name == "z000" else []
            asked += [{"do": "round_trip", "type": name, "bytes": data} for data in every]
            if name == "z200":
                asked += [
                    {"do": "round_trip", "type": name, "version": number, "bytes": data}
                    for number, data in VERSIONS.items()
                ]
        found = []
        for each in answers(program, asked):
            error = each.get("error", {})
            found.append([unnamed(each.get("value")), each.get("bytes"), error.get("code"), error.get("at")])
        first = first or found
        assert sum(each[2] is None for each in first) > 12
        assert found == first, names
