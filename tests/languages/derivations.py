"""The table of derivations as schemas of one package, with objects to write in languages."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kodec.generator.code.stream_writer import StreamWriter
from kodec.generator.driver import load
from kodec.generator.plan.streams import streams_of
from kodec.generator.problems import SchemaError
from kodec.generator.schema.expression_types import Kinds
from kodec.runtime.errors import EncodeError
from tests.generator.test_derivation_table import FORMS, Form, variants

__all__ = ["write_table"]


def write_table(folder: Path) -> dict[str, list[bytes]]:
    """Write a streamed schema for each form and key that is accepted. Returns bytes of objects of each."""
    inputs: dict[str, list[bytes]] = {}
    for form in FORMS.values():
        for _, schema in variants(form, streamed=True):
            name = f"d{len(inputs)}"
            alone = folder.parent / f"{folder.name}_{name}"
            alone.mkdir(parents=True, exist_ok=True)
            text = f"meta: {{id: {name}, endian: be}}\n{schema}"
            (alone / f"{name}.ksy").write_text(text)
            try:
                model = load(alone)
            except SchemaError:
                continue
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.ksy").write_text(text)
            inputs[name] = list(_written(StreamWriter(streams_of(model, Kinds(model))), name, form, schema))
            assert inputs[name], schema
    return inputs


def _written(writer: StreamWriter, name: str, form: Form, schema: str) -> dict[bytes, None]:
    """Objects with each value of `f` and `a`, without what is derived of it."""
    made = SimpleNamespace(P=writer.class_of(f"{name}::p"), Q=writer.class_of(f"{name}::q"), R=None)
    values: tuple[Any, ...] = (*eval(f"({form.values},)", {"x": made}), None)
    others = {"b": 7} if re.search(r"id: b\b", schema) else {}
    found: dict[bytes, None] = {}
    for flag, a in product(range(3), values):
        try:
            found[writer.class_of(name)(f=flag, a=a, z="t", **others).to_bytes()] = None
        except EncodeError:
            continue
    return found
