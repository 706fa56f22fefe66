"""Parses the text that kafka-dump-log prints into typed rows.

The text was made for people: nothing in it is escaped. Header keys with a comma, keys with " payload: " in
them and values with line breaks cannot be told apart from the text around them; the topics that are dumped
with their payloads hold none of these. A line that is not understood is a ValueError, so that a change of
Kafka's text is noticed.

`parse_log` reads the text of Kafka 4.3 (with --deep-iteration), `parse_entries` that of any line from 0.9 on,
whose words differ.
Source: org.apache.kafka.tools.DumpLogSegments of Kafka 4.3, kafka.tools.DumpLogSegments of 0.9 to 3.9.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

# Words of the dump, and the name that kodec gives to the same control record.
_CONTROL_WORDS = {
    "LeaderChange": "LEADER_CHANGE",
    "SnapshotHeader": "SNAPSHOT_HEADER",
    "SnapshotFooter": "SNAPSHOT_FOOTER",
    "KRaftVersion": "KRAFT_VERSION",
    "KRaftVoters": "KRAFT_VOTERS",
}
_TIMESTAMP = r"(?P<timestamp_type>CreateTime|LogAppendTime|NoTimestampType): (?P<timestamp>-?\d+)"
_BATCH = re.compile(
    r"baseOffset: (?P<base_offset>\d+) lastOffset: (?P<last_offset>\d+) count: (?P<count>\d+)"
    r" baseSequence: (?P<base_sequence>-?\d+) lastSequence: (?P<last_sequence>-?\d+)"
    r" producerId: (?P<producer_id>-?\d+) producerEpoch: (?P<producer_epoch>-?\d+)"
    r" partitionLeaderEpoch: (?P<partition_leader_epoch>-?\d+)"
    r" isTransactional: (?P<is_transactional>true|false) isControl: (?P<is_control>true|false)"
    r" deleteHorizonMs: (?P<delete_horizon_ms>OptionalLong\S+) position: (?P<position>\d+) " + _TIMESTAMP +
    r" size: (?P<size>\d+) magic: (?P<magic>\d+) compresscodec: (?P<compresscodec>\w+)"
    r" crc: (?P<crc>\d+) isvalid: (?P<is_valid>true|false)"
)  # fmt: skip
_RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) " + _TIMESTAMP +
    r" keySize: (?P<key_size>-?\d+) valueSize: (?P<value_size>-?\d+)"
    r" sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<header_keys>.*?)\](?: (?P<rest>.*))?"
)  # fmt: skip
_END_MARKER = re.compile(r"endTxnMarker: (?P<type>ABORT|COMMIT) coordinatorEpoch: (?P<epoch>-?\d+)")
_CONTROL_JSON = re.compile(r"(?P<word>[A-Z]\w+):? (?P<json>\{.*\})")
_PAYLOAD = re.compile(r"(?:key: (?P<key>.*?))?(?:(?:^| )payload: (?P<payload>.*))?")
_OPTIONAL_LONG = re.compile(r"OptionalLong\[(-?\d+)\]|Some\((\d+)\)")
_OFFSET_ENTRY = re.compile(r"offset: (\d+) position: (\d+)")
_TIME_ENTRY = re.compile(r"timestamp: (-?\d+) offset: (\d+)")
_ABORTED = re.compile(
    r"version: (?P<version>\d+) producerId: (?P<producer_id>\d+) firstOffset: (?P<first_offset>\d+)"
    r" lastOffset: (?P<last_offset>\d+) lastStableOffset: (?P<last_stable_offset>\d+)"
)
_PRODUCER = re.compile(
    r"producerId: (?P<producer_id>\d+) producerEpoch: (?P<producer_epoch>-?\d+)"
    r" coordinatorEpoch: (?P<coordinator_epoch>-?\d+)"
    r" currentTxnFirstOffset: (?P<current_txn_first_offset>OptionalLong\S+|None|Some\(\d+\))"
    # Since 3.0; before, a producer without batches has no line.
    r"(?: lastTimestamp: (?P<last_timestamp>-?\d+))? ?"
    r"(?:firstSequence: (?P<first_sequence>-?\d+) lastSequence: (?P<last_sequence>-?\d+)"
    r" lastOffset: (?P<last_offset>-?\d+) offsetDelta: (?P<offset_delta>-?\d+)"
    r" timestamp: (?P<timestamp>-?\d+))?"
)
# In 0.11 the same facts come in another order.
_PRODUCER_0_11 = re.compile(
    r"producerId: (?P<producer_id>\d+) producerEpoch: (?P<producer_epoch>-?\d+)"
    r" lastSequence: (?P<last_sequence>-?\d+) lastOffset: (?P<last_offset>-?\d+)"
    r" offsetDelta: (?P<offset_delta>-?\d+) lastTimestamp: (?P<last_timestamp>-?\d+)"
    r" coordinatorEpoch: (?P<coordinator_epoch>-?\d+)"
    r" currentTxnFirstOffset: (?P<current_txn_first_offset>None|Some\(\d+\))"
)
_GAP = re.compile(r"  (-?\d+) is followed by (\d+)")
_TRAILING = re.compile(r"Found (\d+) invalid bytes at the end of .+")
_MISMATCH = re.compile(
    r"  Index (?:offset|timestamp): (-?\d+),"
    r" (?:log (?:offset|timestamp)|Previously indexed timestamp): (-?\d+)"
    r"|Indexed offset: (\d+), found log offset: (-?\d+)"
)
_PROBLEM_TITLE = re.compile(
    r"The following indexed offsets are not found in the log\."
    r"|(?:Non-(?:con)?secutive offsets in |Mismatches in :"
    r"|Found out of order timestamp in :|Found timestamp mismatch in :).+"
)


@dataclass(frozen=True, slots=True)
class DumpedRecord:
    """One `| offset: ...` line.

    Sizes are bytes, -1 = null; timestamps ms; `header_keys` is joined by commas as printed. `key` and
    `payload` are None if nothing was printed. A control record has `control_type` (the name kodec uses),
    and `coordinator_epoch` (end-of-transaction markers) or `control_data` (the JSON of a KRaft record).
    """

    offset: int
    timestamp_type: str
    timestamp: int
    key_size: int
    value_size: int
    sequence: int
    header_keys: str
    key: str | None = None
    payload: str | None = None
    control_type: str | None = None
    coordinator_epoch: int | None = None
    control_data: dict[str, Any] | None = None


@dataclass(slots=True)
class DumpedBatch:
    """One `baseOffset: ...` line with its records.

    `position` and `size` are bytes; `timestamp` is the batch's largest, ms.
    """

    base_offset: int
    last_offset: int
    count: int
    base_sequence: int
    last_sequence: int
    producer_id: int
    producer_epoch: int
    partition_leader_epoch: int
    is_transactional: bool
    is_control: bool
    delete_horizon_ms: int | None
    position: int
    timestamp_type: str
    timestamp: int
    size: int
    magic: int
    compresscodec: str
    crc: int
    is_valid: bool
    records: list[DumpedRecord] = field(default_factory=list)


@dataclass(slots=True)
class LogDump:
    """The dump of a .log or .checkpoint file.

    `snapshot` is (end offset, epoch) of a KRaft snapshot; `gaps` are (offset, next offset); `exception` says
    why Kafka gave up, if it did.
    """

    name: str
    starting_offset: int | None = None
    snapshot: tuple[int, int] | None = None
    batches: list[DumpedBatch] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    invalid_bytes: int = 0
    exception: str | None = None


@dataclass(slots=True)
class IndexDump:
    """The dump of an .index (offset, position) or .timeindex (timestamp, offset).

    Mismatches are (what the index says, what the log says) as Kafka saw them.
    """

    name: str
    entries: list[tuple[int, int]] = field(default_factory=list)
    is_empty: bool = False
    mismatches: list[tuple[int, int]] = field(default_factory=list)
    exception: str | None = None


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """One line of a .txnindex dump."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(frozen=True, slots=True)
class Producer:
    """One line of a producer .snapshot dump.

    The last five are None when the state holds no batch of it, `last_timestamp` where it was not printed.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    current_txn_first_offset: int | None
    last_timestamp: int | None
    first_sequence: int | None
    last_sequence: int | None
    last_offset: int | None
    offset_delta: int | None
    timestamp: int | None


def _optional_long(text: str) -> int | None:
    match = _OPTIONAL_LONG.fullmatch(text)
    if match is None and text not in ("OptionalLong.empty", "None"):
        raise ValueError(f"not an OptionalLong: {text!r}")
    return int(match[1] or match[2]) if match else None


def _name_and_lines(text: str) -> tuple[str, list[str]]:
    # Only "\n" ends a line: payloads may hold the other characters that splitlines() cuts at.
    first, *lines = text.removesuffix("\n").split("\n")
    if not first.startswith("Dumping "):
        raise ValueError(f"not a dump of one file: it begins {first[:80]!r}")
    return first.removeprefix("Dumping "), lines


def _unknown(name: str, number: int, line: str) -> ValueError:
    return ValueError(f"{name}: line {number} of the dump is not understood: {line[:200]!r}")


def _batch(match: re.Match[str]) -> DumpedBatch:
    texts = {"timestamp_type", "compresscodec"}
    flags = {"is_transactional", "is_control", "is_valid"}
    values: dict[str, Any] = {}
    for name, text in match.groupdict().items():
        if name in texts:
            values[name] = text
        elif name in flags:
            values[name] = text == "true"
        elif name == "delete_horizon_ms":
            values[name] = _optional_long(text)
        else:
            values[name] = int(text)
    return DumpedBatch(**values)


def _record(match: re.Match[str], is_control: bool) -> DumpedRecord | None:
    facts: dict[str, Any] = {
        "offset": int(match["offset"]),
        "timestamp_type": match["timestamp_type"],
        "timestamp": int(match["timestamp"]),
        "key_size": int(match["key_size"]),
        "value_size": int(match["value_size"]),
        "sequence": int(match["sequence"]),
        "header_keys": match["header_keys"],
    }
    rest = match["rest"] or ""
    if is_control:
        if marker := _END_MARKER.fullmatch(rest):
            return DumpedRecord(**facts, control_type=marker["type"], coordinator_epoch=int(marker["epoch"]))
        control = _CONTROL_JSON.fullmatch(rest)
        if control is None or control["word"] not in _CONTROL_WORDS:
            return None
        data = json.loads(control["json"])
        return DumpedRecord(**facts, control_type=_CONTROL_WORDS[control["word"]], control_data=data)
    printed = _PAYLOAD.fullmatch(rest)
    return None if printed is None else DumpedRecord(**facts, key=printed["key"], payload=printed["payload"])


def parse_log(text: str) -> LogDump:
    """Parse the dump of one .log or .checkpoint file of v2 batches.

    Raises: ValueError naming the line that is not understood.
    """
    name, lines = _name_and_lines(text)
    dump = LogDump(name)
    for number, line in enumerate(lines, start=2):
        if match := _BATCH.fullmatch(line):
            dump.batches.append(_batch(match))
        elif match := _RECORD.fullmatch(line):
            record = _record(match, dump.batches[-1].is_control) if dump.batches else None
            if record is None:
                raise _unknown(name, number, line)
            dump.batches[-1].records.append(record)
        elif match := _GAP.fullmatch(line):
            dump.gaps.append((int(match[1]), int(match[2])))
        elif match := re.fullmatch(r"Log starting offset: (\d+)", line):
            dump.starting_offset = int(match[1])
        elif match := re.fullmatch(r"Snapshot end offset: (\d+), epoch: (\d+)", line):
            dump.snapshot = int(match[1]), int(match[2])
        elif match := _TRAILING.fullmatch(line):
            dump.invalid_bytes = int(match[1])
        elif line.startswith("Exception: "):
            dump.exception = line.removeprefix("Exception: ")
        elif line != "KRaft bootstrap snapshot" and not _PROBLEM_TITLE.fullmatch(line):
            raise _unknown(name, number, line)
    return dump


def parse_index(text: str) -> IndexDump:
    """Parse the dump of one .index or .timeindex file.

    Raises: ValueError naming the line that is not understood.
    """
    name, lines = _name_and_lines(text)
    dump = IndexDump(name)
    for number, line in enumerate(lines, start=2):
        if match := _OFFSET_ENTRY.fullmatch(line) or _TIME_ENTRY.fullmatch(line):
            dump.entries.append((int(match[1]), int(match[2])))
        elif match := _MISMATCH.fullmatch(line):
            dump.mismatches.append((int(match[1] or match[3]), int(match[2] or match[4])))
        elif line == f"{name} is empty.":
            dump.is_empty = True
        elif line.startswith("Exception: "):
            dump.exception = line.removeprefix("Exception: ")
        elif not _PROBLEM_TITLE.fullmatch(line):
            raise _unknown(name, number, line)
    return dump


def parse_txnindex(text: str) -> list[AbortedTransaction]:
    """Parse the dump of one .txnindex file.

    Raises: ValueError naming the line that is not understood.
    """
    name, lines = _name_and_lines(text)
    rows = []
    for number, line in enumerate(lines, start=2):
        match = _ABORTED.fullmatch(line)
        if match is None:
            raise _unknown(name, number, line)
        rows.append(AbortedTransaction(**{key: int(value) for key, value in match.groupdict().items()}))
    return rows


def parse_producers(text: str) -> list[Producer]:
    """Parse the dump of one producer .snapshot file.

    Raises: ValueError naming the line that is not understood.
    """
    name, lines = _name_and_lines(text)
    rows = []
    for number, line in enumerate(lines, start=2):
        match = _PRODUCER.fullmatch(line) or _PRODUCER_0_11.fullmatch(line)
        if match is None:
            raise _unknown(name, number, line)
        values: dict[str, int | None] = {
            key: None if value is None else int(value)
            for key, value in match.groupdict().items()
            if key != "current_txn_first_offset"
        }
        if "first_sequence" not in values:
            last, delta = values["last_sequence"] or 0, values["offset_delta"] or 0
            values |= {"first_sequence": last - delta, "timestamp": values["last_timestamp"]}
        open_since = _optional_long(match["current_txn_first_offset"])
        rows.append(Producer(**values, current_txn_first_offset=open_since))
    return rows


# ------------------------------------------------------------------ the text of older lines

_PAIRS = re.compile(r"(?:\w+: (?:\[.*?\]|\S+)(?: |$))+")
_PAIR = re.compile(r"(\w+): (\[.*?\]|\S+)")
# What each word of the text is called here; one that is not listed is an error.
_ENTRY_WORDS = {
    "baseOffset": "base_offset",
    "baseSequence": "base_sequence",
    "compresscodec": "codec",
    "count": "count",
    "crc": "crc",
    "deleteHorizonMs": "delete_horizon",
    "isControl": "is_control",
    "isTransactional": "is_transactional",
    "isvalid": "crc_ok",
    "keysize": "key_size",
    "lastOffset": "last_offset",
    "lastSequence": "last_sequence",
    "magic": "magic",
    "offset": "last_offset",
    "partitionLeaderEpoch": "partition_leader_epoch",
    "payloadsize": "value_size",
    "position": "position",
    "producerEpoch": "producer_epoch",
    "producerId": "producer_id",
    "size": "size",
}
_RECORD_WORDS = {
    "controlType": "control_type",
    "coordinatorEpoch": "coordinator_epoch",
    "endTxnMarker": "control_type",
    "headerKeys": "header_keys",
    "isValid": "is_valid",
    "isvalid": "is_valid",
    "keySize": "key_size",
    "keysize": "key_size",
    "offset": "offset",
    "payloadsize": "value_size",
    "position": "position",
    "sequence": "sequence",
    "valueSize": "value_size",
    "valuesize": "value_size",
}
# A record's line repeats these of its batch; the batch has a line of its own.
_REPEATED = {
    "baseOffset", "baseSequence", "batchSize", "compressType", "compresscodec", "crc", "isTransactional",
    "lastOffset", "lastSequence", "magic", "partitionLeaderEpoch", "producerEpoch", "producerId",
}  # fmt: skip
_TITLE = re.compile(
    r"(?:Log s|S)tarting offset: \d+|Snapshot end offset: \d+, epoch: \d+|KRaft bootstrap snapshot"
)
# In 3.9 the control records of KRaft end in their content.
_CONTROL_REST = re.compile(
    r" (LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters):? \{.*\}$"
)
_TIMES = ("CreateTime", "LogAppendTime", "NoTimestampType")
_OLD_CODECS = {
    "NoCompressionCodec": "none",
    "GZIPCompressionCodec": "gzip",
    "SnappyCompressionCodec": "snappy",
    "LZ4CompressionCodec": "lz4",
}


@dataclass(slots=True)
class Entry:
    """What was printed of one batch or message, and no more: which facts there are depends on the line.

    The names are those of kodec.Batch, and `timestamp` (the largest), in ms. `size` of a message before 0.11
    is computed from the sizes of its key and value. `records` have `offset`, `key_size` and `value_size`
    (bytes, -1 = null) and what else was printed.
    """

    facts: dict[str, Any]
    records: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class EntryDump:
    """The dump of a log in the words of any line from 0.9 to 4.3.

    `remarks` are the lines about trouble; `exception` says why Kafka gave up, if it did.
    """

    name: str
    entries: list[Entry] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    exception: str | None = None


def _facts(line: str, words: dict[str, str], ignored: set[str]) -> dict[str, Any] | None:
    if not _PAIRS.fullmatch(line):
        return None
    facts: dict[str, Any] = {}
    for word, text in _PAIR.findall(line):
        if word in _TIMES:
            facts["timestamp_type"], facts["timestamp"] = word, int(text)
        elif word in words:
            # A record of 2.8 has two; one reports about the record what the other reports about the message.
            facts[words[word]] = _value(words[word], text)
        elif word not in ignored:
            return None
    return facts


def _value(name: str, text: str) -> Any:
    if name == "control_type":
        kind = text.partition("(")[0]
        return _CONTROL_WORDS.get(kind, kind)
    if name == "codec":
        return _OLD_CODECS.get(text, text.lower())
    if name == "delete_horizon":
        return _optional_long(text)
    if name == "header_keys":
        return text[1:-1]
    return text == "true" if text in ("true", "false") else int(text)


def parse_entries(deep: str, shallow: str | None = None) -> EntryDump:
    """Parse the dump of one log by any line from 0.9 on.

    Before 2.8 the text of --deep-iteration has the records only: then `shallow`, the text without that
    option, has the batches and messages.
    Raises: ValueError naming the line that is not understood.
    """
    name, lines = _name_and_lines(deep)
    dump = EntryDump(name)
    if shallow is not None:
        _, outer = _name_and_lines(shallow)
        for number, line in enumerate(outer, start=2):
            if not _remark(dump, line):
                dump.entries.append(_entry(name, number, line))
        dump.remarks.clear()
    entries = {entry.facts["position"]: entry for entry in dump.entries}
    for number, line in enumerate(lines, start=2):
        if _remark(dump, line):
            continue
        if shallow is None and not line.startswith("| "):
            dump.entries.append(_entry(name, number, line))
            continue
        facts = _facts(
            _CONTROL_REST.sub(r" controlType: \1", line).removeprefix("| "), _RECORD_WORDS, _REPEATED
        )
        if facts is None or not dump.entries:
            raise _unknown(name, number, line)
        facts.setdefault("key_size", -1)
        at = facts.pop("position", None)
        entry = dump.entries[-1] if shallow is None else entries[at]
        entry.records.append(facts)
    return dump


def _entry(name: str, number: int, line: str) -> Entry:
    facts = _facts(line, _ENTRY_WORDS, set())
    if facts is None:
        raise _unknown(name, number, line)
    key, value = facts.pop("key_size", -1), facts.pop("value_size", None)
    if value is not None:
        facts["size"] = (34 if facts["magic"] else 26) + max(key, 0) + max(value, 0)
    return Entry(facts)


def _remark(dump: EntryDump, line: str) -> bool:
    """Keep a line that is about no batch or record. Returns False if it is about one."""
    if line.startswith("Exception: "):
        dump.exception = line.removeprefix("Exception: ")
    elif _GAP.fullmatch(line) or _TRAILING.fullmatch(line) or _PROBLEM_TITLE.fullmatch(line):
        dump.remarks.append(line)
    elif not _TITLE.fullmatch(line):
        return False
    return True
