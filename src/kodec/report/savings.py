"""The estimated size of records in other formats and codecs, measured on samples of these records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kodec.log.batches.batch import CODECS, Batch
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import MAGICS
from kodec.log.conversion.batches import Converter
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.report import ConversionReport
from kodec.log.directories.partition import PartitionLog
from kodec.runtime.errors import EncodeError, KodecError

__all__ = ["Saving", "Savings", "measure_savings"]

_MOST_TOPICS = 50
_LEAST = 64 << 10


@dataclass(frozen=True, slots=True)
class Saving:
    """The sample in one format and codec.

    Attributes:
        magic, codec: the format and the codec.
        sample_bytes: the size of the converted sample; None if the format cannot hold it.
        bytes: the estimated size of all sampled topics, each by its own sample; None as above.
        ratio: `bytes` to the current size.
    """

    magic: int
    codec: str
    sample_bytes: int | None
    bytes: int | None
    ratio: float | None


@dataclass(slots=True)
class Savings:
    """A sample, with its estimated size in other formats.

    Attributes:
        batches, records, sample_bytes: of the sample, as stored.
        topics: the number of sampled topics: those with the most bytes, 50 at most.
        bytes: of all logs of these topics.
        formats: by format and codec.
    """

    batches: int = 0
    records: int = 0
    sample_bytes: int = 0
    topics: int = 0
    bytes: int = 0
    formats: list[Saving] = field(default_factory=list)


def measure_savings(topics: Mapping[str, Sequence[PartitionLog]], most: int) -> Savings:
    """Convert a sample of each topic to each format and codec: `most` bytes in all, at least 64 KiB of each.

    Batches stay as producers made them; single messages are gathered into batches of 16 KiB. Codecs have
    their default levels. Unreadable data is not in the sample.
    """
    sizes = {topic: sum(log.size for log in logs) for topic, logs in topics.items()}
    largest = sorted(sizes, key=lambda topic: (-sizes[topic], topic))[:_MOST_TOPICS]
    total = sum(sizes[topic] for topic in largest)
    savings = Savings()
    samples: list[tuple[list[Batch], int]] = []
    for topic in largest:
        batches = list(_sample(topics[topic], max(_LEAST, most * sizes[topic] // max(total, 1))))
        if batches:
            samples.append((batches, sizes[topic]))
            savings.topics += 1
            savings.bytes += sizes[topic]
            savings.batches += len(batches)
            savings.records += sum(batch.count for batch in batches)
            savings.sample_bytes += sum(batch.size for batch in batches)
    if samples:
        for magic in MAGICS:
            for codec in CODECS:
                if codec in KAFKA.kind(magic).codecs:
                    savings.formats.append(_saving(magic, codec, samples, savings.bytes))
    return savings


def _sample(logs: Sequence[PartitionLog], most: int) -> Iterator[Batch]:
    """Batches from the middle of the middle segment of the largest partition that has some."""
    for log in sorted(logs, key=lambda log: -log.size):
        segments = sorted(
            sorted(log.segments, key=lambda segment: -segment.size)[:3],
            key=lambda segment: segment.base_offset,
        )
        sampled, reached = 0, -1
        for segment in segments:
            with suppress(KodecError, OSError), segment:
                middle = (segment.base_offset + segment.next_offset) // 2
                first_batch = segment.find(middle)
                for batch in segment.batches(0 if first_batch is None else first_batch.position):
                    # descending offsets, which old cleaners left, fit no batch
                    if batch.is_control or not batch.count or batch.base_offset <= reached:
                        continue
                    reached = batch.last_offset
                    batch.records()
                    yield batch
                    sampled += batch.size
                    if sampled >= most:
                        return
        if sampled:
            return


def _saving(magic: int, codec: str, samples: Iterable[tuple[list[Batch], int]], stored: int) -> Saving:
    sample_bytes = whole = 0
    options = ConvertOptions(magic=magic, compression=codec, negative_timestamps="none")
    for batches, size in samples:
        try:
            converted = sum(map(len, Converter(options, ConversionReport()).convert(batches)))
        except EncodeError:
            return Saving(magic, codec, None, None, None)
        sample_bytes += converted
        whole += size * converted // sum(batch.size for batch in batches)
    return Saving(magic, codec, sample_bytes, whole, whole / stored)
