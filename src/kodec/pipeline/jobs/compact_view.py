"""Exports the latest record of each key to Parquet, as compaction would leave it, in Spark's workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from kodec.log.cleaning.offset_map import OffsetMap
from kodec.log.directories.segment import Segment
from kodec.log.omissions import Omissions
from kodec.log.selection import Isolation, Partitions, Selection, Topics
from kodec.pipeline.columns import arrow_columns, chosen_columns
from kodec.pipeline.files import FileFormat
from kodec.pipeline.jobs.export import (
    ExportSummary,
    FileWriter,
    TaskResult,
    is_of_an_export,
    prepared,
    publish_export,
)
from kodec.pipeline.options import Options
from kodec.pipeline.plan import SourceSegment, Task, list_segments
from kodec.pipeline.rows import SegmentRows
from kodec.pipeline.staging import Staging, require_free, staged
from kodec.pipeline.workers import Engine, workers
from kodec.runtime.errors import KodecError

__all__ = ["compact_view"]

_KEYS = arrow_columns(chosen_columns(names=("key", "value", "offset")))


@dataclass(frozen=True, slots=True)
class _View:
    """Reads the log of a topic-partition twice: first for each key's newest offset, then for its record."""

    options: Options
    form: FileFormat
    buffer_bytes: int
    tombstones: bool
    staging: Staging

    def __call__(self, task: Task) -> TaskResult:
        folder, owner = self.staging.attempt(), task[0].topic_partition
        newest = self._newest(task)
        columns = arrow_columns(chosen_columns(headers=self.options.include_headers))
        writer = FileWriter(folder, owner, columns, self.form)
        for part in task:
            writer.add(part, self.options, lambda batch: self._kept(batch, newest))
        return TaskResult(folder, [writer.close()], writer.omissions)

    def _newest(self, task: Task) -> OffsetMap:
        with Segment(task[-1].segment) as last:
            offsets = OffsetMap(self.buffer_bytes, task[0].start, max(last.next_offset, task[0].start))
        for part in task:
            for batch in self._rows(part):
                gone = batch["value"].is_null().to_pylist()
                rows = zip(batch["key"].to_pylist(), batch["offset"].to_pylist(), gone, strict=True)
                if not offsets.add(rows):
                    raise KodecError(
                        f"{part.topic_partition}: its keys do not fit {self.buffer_bytes} bytes, about "
                        f"{offsets.capacity} of them: give a larger --buffer-bytes (24 for each key)"
                    )
        return offsets

    def _rows(self, part: SourceSegment) -> Iterator[pa.RecordBatch]:
        options = self.options
        rows = SegmentRows(
            part,
            _KEYS,
            options=options.reading,
            committed=options.committed,
            fail_on_loss=options.fail_on_data_loss,
        )
        return rows.batches()

    def _kept(self, batch: pa.RecordBatch, newest: OffsetMap) -> pa.RecordBatch:
        rows = zip(
            batch["key"].to_pylist(),
            batch["offset"].to_pylist(),
            batch["value"].is_null().to_pylist(),
            strict=True,
        )
        keep = [
            key is not None and (self.tombstones or not gone) and newest.is_newest(key, offset)
            for key, offset, gone in rows
        ]
        return batch.filter(pa.array(keep, pa.bool_()))


def compact_view(
    logs: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    topics: Topics = None,
    partitions: Partitions = None,
    isolation: Isolation = "read_uncommitted",
    tombstones: bool = False,
    include_headers: bool = True,
    buffer_bytes: int = 128 << 20,
    compression: str = "zstd",
    overwrite: bool = False,
    engine: Engine = "spark",
    master: str = "local[*]",
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> ExportSummary:
    """Write the latest record of each key to Parquet, with one task per topic-partition.

    Records without a key are left out, as by the log cleaner; so are keys whose latest record is a
    tombstone, unless `tombstones`.

    Args: buffer_bytes is the memory of a task for keys, 24 bytes for each, with a hash of 128 bits instead
    of the key; the rest, Returns, Raises: as in `export`; KodecError if the keys of a topic-partition do
    not fit.

    Example:
        >>> from kodec.pipeline import compact_view
        >>> compact_view("/data/kafka-logs", "latest", engine="local", topics=["compacted"]).records
        29
    """
    started = time.monotonic()
    form = FileFormat.of("parquet", compression)
    target, opened = prepared(logs, to, overwrite)
    selection = Selection.of(topics, partitions, isolation=isolation)
    options = Options(paths=(opened,), include_headers=include_headers).with_selection(selection)
    omissions = Omissions()
    listed = list_segments(options, omissions)
    tasks = [tuple(parts) for _, parts in groupby(listed, key=lambda part: part.topic_partition)]
    sizes = [sum(part.segment.size for part in task) for task in tasks]
    with (
        staged(target, options.paths) as staging,
        workers("compact-view", engine=engine, master=master, config=config, progress=progress) as crew,
    ):
        view = _View(options, form, buffer_bytes, tombstones, staging)
        results = crew.run_sized(view, tasks, sizes)
        require_free(target, overwrite=overwrite, ours=is_of_an_export)
        written = publish_export(staging, target, results, omissions)
    return ExportSummary(target, written, len(tasks), time.monotonic() - started, omissions)
