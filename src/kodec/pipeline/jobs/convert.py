"""Converts logs to another message format or codec, here or in Spark's workers, without the JVM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.partition import plan_conversion
from kodec.log.conversion.report import ConversionReport
from kodec.log.files.checkpoints import read_offsets, write_offsets
from kodec.log.files.descriptors import make_folders
from kodec.log.files.durable import sync_folder
from kodec.log.files.listing import TopicPartition, list_partition
from kodec.log.files.names import CLEANER_OFFSETS, LOG_START_OFFSETS
from kodec.log.files.paths import require_apart
from kodec.log.remote.opening import open_partition
from kodec.pipeline.staging import Staging, require_free, staged
from kodec.pipeline.workers import Engine, workers
from kodec.runtime.errors import KodecError
from kodec.stores.storage import readable

__all__ = ["convert"]


@dataclass(frozen=True, slots=True)
class _Convert:
    """Converts one topic-partition into an attempt's folder; without a staging folder, only reports."""

    options: ConvertOptions
    target: Path
    staging: Staging | None
    step: Callable[[int], None] | None

    def __call__(self, source: Path) -> tuple[Path, ConversionReport]:
        name = open_partition(source).path.name
        root = self.target if self.staging is None else self.staging.attempt()
        plan = plan_conversion(source, root / name, self.options, progress=self.step)
        return root, plan.preview() if self.staging is None else plan.apply()


@dataclass(frozen=True, slots=True)
class _Preview:
    """The result of a conversion, or why it cannot be done."""

    convert: _Convert

    def __call__(self, source: Path) -> ConversionReport | KodecError | OSError:
        try:
            return self.convert(source)[1]
        except (KodecError, OSError) as error:
            return error


def _size(source: Path) -> int:
    """The bytes of its segments; 0 if they cannot be listed, which the conversion then reports."""
    with suppress(OSError):
        return sum(segment.size for segment in list_partition(source).segments)
    return 0


def convert(
    folders: Iterable[str | os.PathLike[str]],
    to: str | os.PathLike[str],
    options: ConvertOptions,
    *,
    apply: bool = True,
    engine: Engine = "spark",
    master: str = "local[*]",
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
    step: Callable[[int], None] | None = None,
    refused: Callable[[Path, KodecError | OSError], None] | None = None,
) -> list[ConversionReport]:
    """Convert topic-partitions as `plan_conversion` does, each in one task, into a new log directory.

    The directory appears at the end, complete: a failed run leaves nothing, and ends with the first folder
    that cannot be converted. Without `apply` nothing is written, the reports have the expected result, and
    `refused` is called with each folder that cannot be converted; without it the first one's error is raised.

    Args: folders are those of topic-partitions; to is new or empty; `step` is called with the
    bytes of the sources read since the last call (engine="local" only); the rest as in `export`.
    Returns: a report for each folder that can be converted, in their order.
    Raises: as `plan_conversion` and its `apply`; FileExistsError if `to` is not empty; MissingDependency
    if there is no Java; PySparkException if a task fails otherwise.

    Example:
        >>> from kodec.operations import ConvertOptions
        >>> from kodec.pipeline import convert
        >>> options = ConvertOptions(compression="zstd")
        >>> (report,) = convert(["/data/kafka-logs/orders-0"], "zstd", options, engine="local")
        >>> report.records == report.records_written
        True
    """
    say = progress or (lambda text: None)
    target = readable(to).resolve()
    sources = [open_partition(folder).path for folder in folders]
    if not sources:
        raise ValueError("there is nothing to convert: no folder is given")
    for source in sources:
        require_apart(source, target)
    if len({source.name for source in sources}) < len(sources):
        raise ValueError("a topic-partition occurs twice: convert one log directory at a time")
    sizes = list(map(_size, sources))
    say(f"{len(sources)} topic-partitions")
    progress_step = step if engine == "local" else None
    with workers("convert", engine=engine, master=master, config=config, progress=progress) as crew:
        if not apply:
            reports = []
            previews = crew.run_sized(
                _Preview(_Convert(options, target, None, progress_step)), sources, sizes
            )
            for source, preview in zip(sources, previews, strict=True):
                if isinstance(preview, ConversionReport):
                    reports.append(preview)
                elif refused is None:
                    raise preview
                else:
                    refused(source, preview)
            return reports
        require_free(target)
        with staged(target, sources) as staging:
            results = crew.run_sized(_Convert(options, target, staging, progress_step), sources, sizes)
            noted: dict[str, dict[TopicPartition, int]] = {LOG_START_OFFSETS: {}, CLEANER_OFFSETS: {}}
            staging.result.rmdir()
            make_folders(staging.result, sources[0].parent.stat())
            for root, report in results:
                assert report.target is not None
                staging.take(report.target, report.target.name)
                for name, offsets in noted.items():
                    if (root / name).is_file():
                        offsets |= read_offsets(root / name)
                report.target = target / report.target.name
            for name, offsets in noted.items():
                if offsets:
                    write_offsets(staging.result / name, offsets)
            sync_folder(staging.result)
            require_free(target)
            staging.publish(target)
    return [report for _, report in results]
