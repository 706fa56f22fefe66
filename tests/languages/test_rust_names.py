"""Fields, types and enums called as the generator calls things in Rust, and as Rust does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kodec.generator.driver import render_all
from tests.generator.any_name import FIXED, GZIP, VERSIONS, put, renamed, rounds, sources, unnamed, vocabulary

from . import rust_testee
from .compilers import is_here
from .protocol import Conversation

pytestmark = [
    pytest.mark.languages,
    pytest.mark.skipif(not is_here("cargo"), reason="no Rust here: https://rustup.rs"),
    pytest.mark.xdist_group("rust"),
]

SCHEMAS = ("z000", "z100", "z200", "z400")
COMMENTS = r"//.*|\b(?:use|mod) .*;|#!?\[.*\]"
WORDS = """
    abstract as async await become box break const continue crate do dyn else enum extern false final fn
    for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct
    super trait true try type typeof unsafe unsized use virtual where while yield union auto default
    macro_rules bool char str u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64 clone copy
    debug drop eq error fact hash iterator none ok option options ord partial_eq result send some string
    sync text uuid vec to_string arena raw_tag reader code  read write read_from write_to formats
    core std alloc main lib runtime codecs rt
""".split()  # noqa: SIM905  # a hundred words on a hundred lines are no list to read


def test_fields_types_and_enums_called_as_the_generator_and_rust_call_things(tmp_path: Path) -> None:
    fixed, plain = sources(FIXED), sources(SCHEMAS)
    made = render_all(put(tmp_path / "plain", plain | fixed), targets=["rust", "vectors"]).modules
    vectors = {name: json.loads(made.pop(f"{name}.vectors.json")) for name in SCHEMAS}
    # the words of the runtime's own functions are no matter: they are in modules of their own
    own = [path for path in made if path.endswith(".rs") and not path.endswith(("runtime.rs", "codecs.rs"))]
    texts = [re.sub(r"'[a_]\b", " ", made[path]) for path in own]
    words = vocabulary(texts, COMMENTS, fold=True)
    assert {"at", "codec", "found", "stored", "run", "read_from", "budget"} <= set(words)
    first: list[Any] | None = None
    for index, names in enumerate([{}, *rounds(plain, sorted({*words, *WORDS}), step=100)]):
        folder = put(
            tmp_path / f"r{index}", {name: renamed(text, names) for name, text in plain.items()} | fixed
        )
        asked: list[dict[str, Any]] = [
            {"type": renamed(vector["type"], names), "bytes": vector["bytes"]}
            | ({"version": vector["version"]} if "version" in vector else {})
            for name in SCHEMAS
            for vector in vectors[name]["vectors"]
            if "bytes" in vector
        ]
        asked += [{"type": "z200", "bytes": data, "version": version} for version, data in VERSIONS.items()]
        asked.append({"type": "z000", "bytes": GZIP})
        with Conversation(rust_testee.build(folder, tmp_path / f"made{index}")) as testee:
            answers = [*testee.ask({"do": "round_trip", **each} for each in asked)]
        found = [
            (unnamed(each.get("value")), each.get("bytes"), each.get("error", {}).get("code"))
            for each in answers
        ]
        first = first or found
        assert sum(value is not None for value, _, _ in found) > 12
        assert found == first, names
