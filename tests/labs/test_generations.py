"""What kodec reads from the logs of each older generation, compared with its own kafka-dump-log.

The rows of its Java consumer are compared in test_against_dump_log.py, for all releases alike.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import real_logs

import kodec

LOGS = real_logs.dumped(".log", ".checkpoint", releases=real_logs.GENERATIONS)


def test_the_generations_with_old_formats_are_committed() -> None:
    names = [real_logs.manifest(release)["generation"] for release in real_logs.GENERATIONS]
    assert names == ["0.10", "0.11", "0.9", "2.8", "3.9"]


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_batches_agree(file: Path, text: Path) -> None:
    # Before 2.8 the bytes after the last batch are not spoken of.
    printed = real_logs.entries(text).entries
    for entry, batch in zip(printed, kodec.read_batches(file), strict=True):
        facts = dict(entry.facts)
        if (timestamp := facts.pop("timestamp", None)) is not None:
            assert batch.max_timestamp == timestamp
        if (kind := facts.pop("timestamp_type", None)) is not None:
            assert str(batch.timestamp_type) == kind
        assert {name: getattr(batch, name) for name in facts} == facts
        assert batch.next_offset == facts["last_offset"] + 1
        assert batch.count == len(entry.records)


@pytest.mark.parametrize(("file", "text"), LOGS, ids=real_logs.label)
def test_records_agree(file: Path, text: Path) -> None:
    lines = [line for entry in real_logs.entries(text).entries for line in entry.records]
    for line, record in zip(lines, kodec.read_records(file, control=True), strict=True):
        facts = dict(line)
        assert facts.pop("is_valid", True)
        # The number in the batch is compared above; of a transaction's end the consumers need the kind only.
        facts.pop("sequence", None)
        facts.pop("coordinator_epoch", None)
        ours = {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestamp_type": str(record.timestamp_type),
            "key_size": -1 if record.key is None else len(record.key),
            "value_size": -1 if record.value is None else len(record.value),
            "header_keys": ",".join(key for key, _ in record.headers),
        }
        if isinstance(record, kodec.ControlRecord):
            ours["control_type"] = record.type.name
        assert {name: ours[name] for name in facts} == facts
        assert ("control_type" in facts) == ("control_type" in ours) or "header_keys" not in facts


@pytest.mark.parametrize("release", real_logs.GENERATIONS, ids=real_logs.label)
def test_each_format_and_codec_of_the_generation_occurs(release: Path) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for partition in sorted((release / "logs").glob("v[0-9]-*")):
        for batch in kodec.read_batches(partition / f"{0:020}.log"):
            seen[str(batch.magic), batch.codec] += 1
    formats = real_logs.manifest(release)["formats"]
    assert set(seen) == {(magic, codec) for magic, codecs in formats.items() for codec in codecs}
    assert all(count >= 5 for count in seen.values())


@pytest.mark.parametrize("release", real_logs.GENERATIONS, ids=real_logs.label)
def test_a_topic_upgraded_in_place_mixes_the_formats_in_one_log(release: Path) -> None:
    formats = sorted(int(magic) for magic in real_logs.manifest(release)["formats"])
    if len(formats) == 1:
        assert not (release / "logs" / "upgraded-0").exists()
        return
    magics = [batch.magic for batch in kodec.read_batches(release / f"logs/upgraded-0/{0:020}.log")]
    assert magics == sorted(magics)
    assert sorted(set(magics)) == formats


@pytest.mark.parametrize("release", real_logs.GENERATIONS, ids=real_logs.label)
def test_a_compacted_log_keeps_the_last_of_each_key(release: Path) -> None:
    segments = sorted((release / "logs" / "compacted-0").glob("*.log"))
    cleaned = [record for segment in segments[:-1] for record in kodec.read_records(segment)]
    keys = Counter(record.key for record in cleaned)
    assert max(keys.values()) == 1
    assert any(record.value is None for record in cleaned)
    assert cleaned[-1].offset + 1 > len(cleaned)


def test_all_generations_together_are_small() -> None:
    files = (path for release in real_logs.GENERATIONS for path in release.rglob("*") if path.is_file())
    assert sum(path.stat().st_size for path in files) < 4 * 1024 * 1024


@pytest.mark.parametrize("release", real_logs.GENERATIONS, ids=real_logs.label)
def test_a_killed_broker_left_padded_indexes_and_a_readable_log(release: Path) -> None:
    crashed = release / "crashed" / "segments-0"
    active = max(crashed.glob("*.log"))
    index = active.with_suffix(".index").read_bytes()
    assert len(index) == 4096
    assert not any(index[-8:])
    assert len(list(kodec.read_batches(active))) > 0
    # The same log after the restart holds what was written since.
    later = [
        r for log in sorted((release / "logs" / "segments-0").glob("*.log")) for r in kodec.read_records(log)
    ]
    before = [r for log in sorted(crashed.glob("*.log")) for r in kodec.read_records(log)]
    assert later[: len(before)] == before
    assert len(later) == len(before) + 5
