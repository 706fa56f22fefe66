"""Avro to Arrow columns: kodec, pyruhvro by itself, and fastavro with pyarrow, in turn.

    python -m benchmarks.values

The values are framed as Confluent's serializers do; the time is that of the processor. kodec checks
UTF-8, types and where each value ends; pyruhvro is given the same bytes as a list, without their framing.
"""

from __future__ import annotations

import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyruhvro

from kodec.values import SchemaFolder, ValueDecoder
from tests.labs.registry_lab import CLICK

ROWS, BATCH, ROUNDS = 500_000, 65_536, 7


def main() -> None:
    parsed, text = fastavro.parse_schema(dict(CLICK)), json.dumps(CLICK)

    def framed(number: int) -> bytes:
        out = io.BytesIO(b"\0\0\0\0\7")
        out.seek(5)
        at = 1_700_000_000_000 + number
        row = {"id": number, "page": f"/p/{number}", "at": at, "referrer": None if number % 2 else "x"}
        fastavro.schemaless_writer(out, parsed, row)
        return out.getvalue()

    values = pa.array([framed(number) for number in range(ROWS)], pa.binary())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "7.avsc").write_text(text)
        decoder = ValueDecoder(SchemaFolder(folder))
        kind = decoder.decode_column(values.slice(0, 1)).values.type.field("7").type

        def by_fastavro(batch: Any) -> Any:
            rows = [
                fastavro.schemaless_reader(io.BytesIO(each[5:]), parsed, None) for each in batch.to_pylist()
            ]
            return pa.array(rows, kind)

        def by_pyruhvro(batch: Any) -> Any:
            return pyruhvro.deserialize_array([each[5:] for each in batch.to_pylist()], text)

        peers: dict[str, tuple[Callable[[Any], Any], int]] = {
            "kodec": (decoder.decode_column, ROWS),
            "pyruhvro": (by_pyruhvro, ROWS),
            "fastavro and pyarrow": (by_fastavro, ROWS // 10),
        }
        found: dict[str, list[float]] = {name: [] for name in peers}
        for _ in range(ROUNDS):
            for name, (decode, count) in peers.items():
                begin = time.process_time()
                for at in range(0, count, BATCH):
                    decode(values.slice(at, min(BATCH, count - at)))
                found[name].append(count / (time.process_time() - begin) / 1e6)
    print("| | M records a second and core, median | best |\n|---|---|---|")
    for name, rates in found.items():
        print(f"| {name} | {statistics.median(rates):.2f} | {max(rates):.2f} |")


if __name__ == "__main__":
    main()
