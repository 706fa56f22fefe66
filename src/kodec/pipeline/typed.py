"""Decoded keys and values, as columns next to the stored ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from kodec.log.values.columns import json_column, typed_fields, typed_part
from kodec.log.values.decoder import ValueDecoder
from kodec.log.values.framing import Part
from kodec.log.values.plain import exact_json
from kodec.pipeline.columns import COLUMNS

__all__ = ["VARIANT", "TypedAs", "TypedColumns", "typed_names"]

TypedAs = Literal["struct", "json", "variant"]

VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
"""The Arrow type for Spark's type of that name."""


def typed_names(part: Part) -> list[str]:
    """The columns of keys, or of values: decoded, the id of their schema, why they are not decoded."""
    return [column.name for column in COLUMNS if column.option == f"{part}Format"]


@dataclass(frozen=True, slots=True)
class TypedColumns:
    """Decodes keys, values or both: keyTyped, keySchema, keyReason, and the same of values.

    Attributes: decoders, for `key` and `value`; form: `struct` is JSON text for a decoder without a reader's
    schema; `json` is always JSON text; `variant`: Spark's VARIANT of that JSON; types: other types, by
    column.
    """

    decoders: Mapping[Part, ValueDecoder]
    form: TypedAs = "struct"
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def fields(self) -> list[pa.Field]:
        """The columns. Raises BadSchema, MissingDependency."""
        columns = [
            column
            for part, decoder in self.decoders.items()
            for column in typed_fields(decoder, *typed_names(part))
        ]
        if self.form != "struct":
            kind = VARIANT if self.form == "variant" else pa.string()
            columns = [
                column.with_type(kind) if column.name.endswith("Typed") else column for column in columns
            ]
        return columns

    def of(
        self, batch: pa.RecordBatch, topic: str, names: Iterable[str] | None = None
    ) -> dict[str, pa.Array]:
        """The columns of rows with headers and decoded values; with `names` only these."""
        columns: dict[str, pa.Array] = {}
        for part, decoder in self.decoders.items():
            column_names = typed_names(part)
            if names is None or not set(column_names).isdisjoint(names):
                values, schema, reason = self._decoded(decoder, batch, topic, part)
                if (kind := self.types.get(column_names[0], values.type)) != values.type:
                    values, reason = _cast(values, kind, reason)
                columns |= zip(column_names, (values, schema, reason), strict=True)
        return columns

    def _decoded(
        self, decoder: ValueDecoder, batch: pa.RecordBatch, topic: str, part: Part
    ) -> list[pa.Array]:
        if self.form == "struct":
            return typed_part(decoder, batch[part], batch["headers"], topic, part)
        json = json_column(decoder, batch[part], batch["headers"], topic, part)
        if self.form == "json":
            return [json.values, json.schema, json.reason]
        values, reasons = _variants(json.values, json.reason)
        return [values, json.schema, reasons]


def _cast(values: pa.Array, kind: pa.DataType, reasons: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Values of another type; a value that it cannot hold is null, with a reason."""
    try:
        return values.cast(kind), reasons
    except pa.ArrowInvalid:
        pass
    parts, wrong = [], dict[int, str]()
    for row in range(len(values)):
        try:
            parts.append(values.slice(row, 1).cast(kind))
        except pa.ArrowInvalid as error:
            wrong[row] = f"outside the range of a column of {kind}: {error}"[:300]
            parts.append(pa.nulls(1, kind))
    return pa.concat_arrays(parts), _with(reasons, wrong)


def _variants(texts: pa.Array, reasons: pa.Array) -> tuple[pa.Array, pa.Array]:
    """JSON as Spark's VARIANT, with reasons for values that are none: one may be too large."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import VariantVal

    variants: list[dict[str, bytes] | None] = []
    wrong: dict[int, str] = {}
    for row, text in enumerate(texts.to_pylist()):
        try:
            if text is not None and _LONG_NUMBER.search(text):
                json.loads(text, parse_float=_require_variant, parse_int=_require_variant)
            value = None if text is None else VariantVal.parseJson(text)
        except (PySparkException, ValueError, OverflowError) as error:
            value, wrong[row] = None, f"no VARIANT: {error}"
        variants.append(None if value is None else {"value": value.value, "metadata": value.metadata})
    return pa.array(variants, VARIANT), _with(reasons, wrong)


# Others are exact as a double or a decimal.
_LONG_NUMBER = re.compile(r"[0-9.]{16}|[0-9][eE]")
_DECIMAL = re.compile(r"-?([0-9]+)(\.[0-9]+)?")
_MOST_DIGITS = 38


def _require_variant(number: str) -> None:
    """Raises ValueError for a number that VARIANT would round: it has doubles and decimals of 38 digits."""
    parts = _DECIMAL.fullmatch(number)
    if parts is not None and len(parts[1].lstrip("0")) + len(parts[2] or ".") - 1 <= _MOST_DIGITS:
        return
    if not isinstance(exact_json(number), float):
        raise ValueError(f"it has no exact form of the number {number:.100}")


def _with(reasons: pa.Array, more: Mapping[int, str]) -> pa.Array:
    if not more:
        return reasons
    return pa.array([more.get(row, text) for row, text in enumerate(reasons.to_pylist())], pa.string())
