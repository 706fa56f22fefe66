"""A log as lines and back: byte for byte where nothing changed, and what was changed where it was."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.log.editing import load
from kodec.log.editing.dump import log_lines
from kodec.log.editing.load import LoadedLog, lines_of, plan_load
from kodec.log.files.checkpoints import read_leader_epochs
from kodec.log.files.listing import find_partitions
from kodec.log.omissions import Omissions
from kodec.log.verification.verify import verify_partition
from kodec.runtime.errors import EncodeError, FormatError, OffsetsMissing, StalePlan
from tests.data import DATA
from tests.log import made
from tests.log.cleaning.stopping import Stopped, stopping
from tests.log.cleaning.test_compaction import build, logs
from tests.log.cleaning.test_redaction import transactional
from tests.log.made import batch

RELEASES = sorted(DATA.glob("kafka-*"))
Line = dict[str, Any]


def dumped(*folders: Path) -> list[Line]:
    lines = list(log_lines(*map(kodec.PartitionLog, folders)))
    # as a script would read them
    return [json.loads(json.dumps(line)) for line in lines]


def text_of(lines: list[Line]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def loaded(lines: list[Line] | bytes, out: Path) -> list[LoadedLog]:
    """Load, after a dry run that has said the same; what is there then is a log without a problem."""
    text = lines if isinstance(lines, bytes) else text_of(lines)
    plan = plan_load("lines.jsonl", lambda: lines_of(BytesIO(text)), out)
    told = plan.preview()
    assert not out.exists()
    assert plan.apply() == told
    for folder in find_partitions(out):
        with kodec.PartitionLog(folder.path) as log:
            assert [str(each) for each in verify_partition(log) if not each.note] == []
    return told


def stored(folder: Path, *kinds: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in kinds}


@pytest.mark.thorough
@given(logs)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_what_nobody_changes_stays_byte_for_byte(wanted: list[object]) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "logs" / "topic-0"
        build(folder, wanted)
        loaded(dumped(folder), Path(root) / "out")
        kinds = (".log", ".index", ".txnindex")
        assert stored(Path(root) / "out" / "topic-0", *kinds) == stored(folder, *kinds)


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_what_brokers_have_written(release: Path, tmp_path: Path) -> None:
    folders = [each.path for each in find_partitions(release / "logs")]
    out = tmp_path / "out"
    loaded(dumped(*folders), out)
    for folder in folders:
        # That of 0.11 has a transaction in the index of which compaction has left nothing but the marker.
        kinds = (".log",) if folder.name.startswith("compacted") else (".log", ".txnindex")
        assert stored(out / folder.name, *kinds) == stored(folder, *kinds), folder
        with kodec.PartitionLog(folder) as old, kodec.PartitionLog(out / folder.name) as new:
            assert (new.start_offset, new.end_offset) == (old.start_offset, old.end_offset)
            assert new.last_stable_offset == old.last_stable_offset
            committed = [list(log.records(isolation="read_committed")) for log in (old, new)]
            assert committed[0] == committed[1]
            assert [each.epoch for each in new.leader_epochs()][-1:] == [
                each.epoch for each in old.leader_epochs()
            ][-1:] or not old.leader_epochs()
            if (metadata := old.metadata()) is not None:
                assert (found := new.metadata()) is not None and found.topic_id == metadata.topic_id


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_edits_change_what_was_edited(tmp_path: Path, magic: int, codec: str) -> None:
    three = [(b"a", b"1"), (b"b", b"\xff\x00"), (None, None)]
    data = [batch(at, three, codec=codec, magic=magic) for at in (0, 3, 6)]
    folder = made.make(tmp_path / "logs" / "topic-0", [(0, data[:2]), (6, data[2:])])
    before = made.rows(folder)
    lines = dumped(folder)
    for line in lines:
        if line["type"] == "batch":
            line["records"] = [each for each in line["records"] if each["offset"] != 4]
            for record in line["records"]:
                if record["offset"] == 7:
                    record["value"] = "changed"
    (told,) = loaded(lines, tmp_path / "out")
    assert told.records == 8
    after = made.rows(tmp_path / "out" / "topic-0")
    gone, changed = before.pop(4), next(each for each in before if each.offset == 7)
    changed.value = b"changed"
    assert after == before and gone.offset == 4
    first = (tmp_path / "out" / "topic-0" / f"{0:020d}.log").read_bytes()
    assert first.startswith(data[0]) and not first.endswith(data[1])


def test_transactions_producers_and_epochs(tmp_path: Path) -> None:
    folder = transactional(tmp_path / "logs" / "topic-0")
    (folder / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 13\n")
    lines = dumped(folder)
    for line in lines:
        for record in line.get("records", ()):
            if record["key"] == "a":
                record["value"] = "gone"
    loaded(lines, tmp_path / "out")
    new = tmp_path / "out" / "topic-0"
    assert (new / f"{3:020d}.txnindex").read_bytes() == (folder / f"{3:020d}.txnindex").read_bytes()
    assert read_leader_epochs(new / "leader-epoch-checkpoint") == [(0, 0), (3, 13)]
    names = ("base_offset", "last_offset", "producer_id", "producer_epoch", "base_sequence", "is_control")
    with kodec.PartitionLog(folder) as old, kodec.PartitionLog(new) as log:
        assert log.last_stable_offset == old.last_stable_offset == 8
        for (_, one), (_, other) in zip(old.headers(), log.headers(), strict=True):
            assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
        assert {each.value for each in log.records() if each.key == b"a"} == {b"gone"}


def test_producers_from_before_the_start(tmp_path: Path) -> None:
    source = transactional(tmp_path / "first" / "topic-0")
    loaded(dumped(source), tmp_path / "logs")
    folder = tmp_path / "logs" / "topic-0"
    for path in folder.glob(f"{0:020d}.*"):
        path.unlink()
    loaded(dumped(folder), tmp_path / "out")
    ours = tmp_path / "out" / "topic-0"
    assert (
        stored(ours, ".snapshot")[f"{8:020d}.snapshot"] == stored(folder, ".snapshot")[f"{8:020d}.snapshot"]
    )
    assert stored(ours, ".log") == stored(folder, ".log")


def _batch(lines: list[Line]) -> Line:
    return next(line for line in lines if line["type"] == "batch")


WRONG: dict[str, tuple[Callable[[list[Line]], object], str]] = {
    "no offset": (lambda each: _batch(each)["records"][0].pop("offset"), "records[0].offset: is missing"),
    "a text": (lambda each: _batch(each)["records"][1].update(offset="2"), "records[1].offset: not a number"),
    "order": (lambda each: _batch(each)["records"][1].update(offset=0), "records[1].offset"),
    "beyond": (lambda each: _batch(each)["records"][1].update(offset=9), "records[1].offset"),
    "a bool": (lambda each: _batch(each).update(producerId=True), "producerId"),
    "too large": (lambda each: _batch(each).update(baseSequence=2**40), "baseSequence"),
    "codec": (lambda each: _batch(each).update(codec="zip"), "compression: not a codec"),
    "magic": (lambda each: _batch(each).update(magic=3), "magic"),
    "kind": (lambda each: _batch(each).update(timestampType="NoTimestampType"), "timestampType"),
    "unknown": (lambda each: _batch(each).update(valu="x"), "valu: unknown field"),
    "unknown in a record": (lambda each: _batch(each)["records"][0].update(x=1), "records[0].x"),
    "bytes": (lambda each: _batch(each)["records"][0].update(value=[1]), "records[0].value: not bytes"),
    "base64": (lambda each: _batch(each)["records"][0].update(key={"base64": "?"}), "records[0].key.base64"),
    "surrogates": (lambda each: _batch(each)["records"][0].update(key="\udc00"), "records[0].key: not text"),
    "headers": (lambda each: _batch(each)["records"][0].update(headers=[["k"]]), "records[0].headers[0]"),
    "checksum": (lambda each: _batch(each)["stored"].update(crc32c=1), "stored.crc32c: not the checksum"),
    "stored": (lambda each: _batch(each)["stored"].update(base64="??"), "stored.base64"),
    "largest time": (
        lambda each: (_batch(each).update(maxTimestamp=5), _batch(each).pop("stored")),
        "maxTimestamp",
    ),
    "topic": (lambda each: each[0].update(topic="../x"), "topic: not a name"),
    "topic id": (lambda each: each[0].update(topicId="x"), "topicId"),
    "epochs": (lambda each: each[0].update(leaderEpochs=[[1]]), "leaderEpochs[0]"),
    "producers": (lambda each: each[0].update(producers="AAAA"), "producers"),
    "start": (lambda each: each[0].update(startOffset=99), "startOffset: above"),
    "no log": (lambda each: each.pop(0), "type: a line of type log comes first"),
    "type": (lambda each: each[1].update(type="x"), "type: not a type"),
    "no object": (lambda each: each.insert(1, [1]), "not a JSON object"),  # type: ignore[arg-type]
    "twice": (lambda each: each.extend([each[0], each[-2]]), "topic: used before"),
    "no eof": (lambda each: each.pop(), "no line of type eof"),
    "no end": (lambda each: each.pop(-2), "no line of type end"),
    "lines after eof": (
        lambda each: each.extend([each[0] | {"topic": "x"}, each[-2]]),
        "no line of type eof",
    ),
    "eof of more logs": (lambda each: each[-1].update(logs=2), "logs: not the number of logs"),
    "nothing": (lambda each: each.clear(), "no line of type eof"),
    "omitted": (lambda each: each[0].update(omittedOffsets=[[3, 1]]), "omittedOffsets[0]: not a range"),
    "lost": (
        lambda each: each.insert(3, {"type": "lost", "firstOffset": 0, "lastOffset": 1}),
        "firstOffset: not a number that fits",
    ),
    "segments": (lambda each: each.insert(4, each[1]), "baseOffset: segments must ascend"),
    "batches": (lambda each: each.insert(3, each[2]), "offset: offsets must ascend"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str) -> None:
    data = [batch(at, [(b"a", b"1"), (b"b", b"2")], codec="gzip") for at in (0, 2)]
    folder = made.make(tmp_path / "logs" / "topic-0", [(0, data), (4, [])])
    lines = dumped(folder)
    change, message = WRONG[name]
    change(lines)
    out = tmp_path / "out"
    plan = plan_load("x.jsonl", lambda: lines_of(BytesIO(text_of(lines))), out)
    for attempt in (plan.preview, plan.apply):
        with pytest.raises(EncodeError) as caught:
            attempt()
        assert message in str(caught.value), caught.value
        assert "line " in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


@pytest.mark.parametrize("text", [b"{", b"[" * 100_000, b'{"type": NaN}', b'{"a": ' + b"9" * 9999, b"\xff\n"])
def test_what_is_no_json(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(EncodeError, match="line 1 of x"):
        plan_load("x", lambda: [text], tmp_path / "out").preview()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b"[" + b"[]," * 400 + b"[]]",
            "need at most 300 lists and objects and 800 values, have '402 and 400'",
        ),
        (b"[" + b"1," * 900 + b"1]", "have '1 and 900'"),
        (b'{"a": ' + b'{"":' * 400 + b"0" + b"}" * 401, "have '401 and 0'"),
        (b'["\\\\", ' + b"{}," * 900 + b"0]", "have '901 and 901'"),
        # within texts nothing counts
        (b'{"type": "' + b"[{," * 900 + b'"}', "type: not a type of line"),
        (b'{"type": "' + b'\\"[{,' * 900 + b'"}', "type: not a type of line"),
        (b'{"type": "' + b"[" * 900, "not JSON"),
    ],
    ids=["lists", "numbers", "nested", "after an escape", "in a text", "behind quotes", "no end of a text"],
)
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_values_of_a_line_are_counted_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, message: str, piece: int
) -> None:
    monkeypatch.setattr(load, "AT_ONCE", piece)
    with pytest.raises(EncodeError) as caught:
        plan_load("x", lambda: [line], tmp_path / "out", limits=kodec.Limits(elements=100)).preview()
    assert message in str(caught.value)


ANY = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**65), 2**65),
        st.floats(allow_nan=False),
        st.text(st.characters(exclude_categories=()), max_size=8),
        st.sampled_from(["", "none", "gzip", "zstd", "CreateTime", "LogAppendTime", "log", "batch", "AAAA"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["base64", "offset", "codec", "x"]), inner, max_size=2),
    ),
    max_leaves=4,
)


def _places(value: object) -> list[tuple[Any, Any]]:
    """(container, key) of everything in a JSON value."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        return [(value, key) for key in keys] + [each for key in keys for each in _places(value[key])]
    return []


@given(st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_line_is_taken_or_refused(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        entries = [batch(0, [(b"a", b"1")], codec="gzip"), batch(1, [(b"b", None)], magic=1, codec="lz4")]
        folder = made.make(Path(root) / "t-0", [(0, entries), (2, [batch(2, [(None, b"2")])])])
        lines = dumped(folder)
        for _ in range(data.draw(st.integers(1, 3))):
            container, key = data.draw(st.sampled_from(_places(lines)))
            if key not in container if isinstance(container, dict) else key >= len(container):
                continue
            if data.draw(st.booleans()):
                container[key] = data.draw(ANY)
            else:
                del container[key]
        plan = plan_load("x", lambda: lines_of(BytesIO(text_of(lines))), Path(root) / "out")
        try:
            told = plan.preview()
        except EncodeError:
            with pytest.raises(EncodeError):
                plan.apply()
        else:
            assert plan.apply() == told


def test_lines_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "logs" / "topic-0", [(0, [batch(0, [(b"a", b"1")])]), (1, [])])
    text = text_of(dumped(folder))
    for size in range(len(text) - 1):
        with pytest.raises(EncodeError):
            plan_load("x", partial(lines_of, BytesIO(text[:size])), tmp_path / "out").preview()


def test_bytes_that_were_stored_are_not_taken_for_other_records(tmp_path: Path) -> None:
    data = batch(0, [(b"a", b"secret")], codec="gzip")
    folder = made.make(tmp_path / "logs" / "topic-0", [(0, [data])])
    lines = dumped(folder)
    assert base64.b64decode(_batch(lines)["stored"]["base64"]) == data[61:]
    _batch(lines)["records"] = []
    (told,) = loaded(lines, tmp_path / "out")
    assert (told.records, told.as_stored, told.end_offset) == (0, 0, 1)
    with kodec.PartitionLog(tmp_path / "out" / "topic-0") as log:
        assert [(each.count, each.codec, each.size) for each in log.batches()] == [(0, "none", 61)]


def test_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = transactional(tmp_path / "source" / "topic-0")
    text = text_of(dumped(folder))
    wanted = stored(folder, ".log")
    steps = 0
    while True:
        out = tmp_path / "out"
        plan = plan_load("x", lambda: lines_of(BytesIO(text)), out)
        with monkeypatch.context() as patch:
            stopping(patch, steps)
            try:
                plan.apply()
                finished = True
            except Stopped:
                finished = False
        if out.exists():
            assert stored(out / "topic-0", ".log") == wanted
            shutil.rmtree(out)
        if finished:
            break
        plan.apply()
        assert stored(out / "topic-0", ".log") == wanted
        shutil.rmtree(out)
        steps += 1
    assert steps > 20
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_refusals(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "logs" / "topic-0", [(0, [batch(0, [(b"a", b"1")])])])
    log = folder / f"{0:020d}.log"
    whole = log.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + b"x"):
        log.write_bytes(damaged)
        with pytest.raises(FormatError):
            dumped(folder)
    log.write_bytes(whole)
    text = text_of(dumped(folder))
    with pytest.raises(FileExistsError):
        plan_load("x", lambda: lines_of(BytesIO(text)), tmp_path / "logs").apply()
    with pytest.raises(ValueError, match="inside"):
        plan_load("x", lambda: lines_of(BytesIO(text)), folder / "out")


# -- whole, and with the evidence of what is not -------------------------------------------------------


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("header", [["h", "2"], ["i", "1"], ["h", None]])
def test_edited_headers_are_written(tmp_path: Path, codec: str, header: list[str | None]) -> None:
    folder = made.make(tmp_path / "logs" / "topic-0", [(0, [batch(0, [(b"a", b"1")], codec=codec)])])
    lines = dumped(folder)
    assert _batch(lines)["records"][0]["headers"] == [["h", "1"]]
    _batch(lines)["records"][0]["headers"] = [header]
    (told,) = loaded(lines, tmp_path / "out")
    assert told.as_stored == 0
    (record,) = made.rows(tmp_path / "out" / "topic-0")
    value = header[1]
    assert record.headers == ((header[0], None if value is None else value.encode()),)


def test_a_link_in_the_place_of_its_folder_is_not_emptied(tmp_path: Path) -> None:
    """Whoever can write next to the target could have had anything deleted."""
    (tmp_path / "home" / "folder").mkdir(parents=True)
    (tmp_path / "home" / "folder" / "precious").touch()
    (tmp_path / ".out.kodec-load").symlink_to(tmp_path / "home")
    plan = plan_load("x", lambda: [b'{"type":"eof","logs":0}'], tmp_path / "out")
    with pytest.raises(FileExistsError, match="not of a load of this user"):
        plan.apply()
    assert [each.name for each in (tmp_path / "home").rglob("*")] == ["folder", "precious"]
    (tmp_path / ".out.kodec-load").unlink()
    assert plan.apply() == []


def test_lines_that_change_between_the_preview_and_the_load(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "logs" / "topic-0", [(0, [batch(0, [(b"a", b"1")])])])
    lines = dumped(folder)
    plan = plan_load("x", lambda: lines_of(BytesIO(text_of(lines))), tmp_path / "out")
    plan.preview()
    _batch(lines)["records"][0]["value"] = "2"
    with pytest.raises(StalePlan):
        plan.apply()
    assert not (tmp_path / "out").exists()
    plan.preview()
    plan.apply()


def three(folder: Path) -> Path:
    segments = [(at, [batch(at, [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])]) for at in (0, 3, 6, 9)]
    return made.make(folder, segments)


def problems(folder: Path) -> list[str]:
    return [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note]


def test_what_an_edit_leaves_out_does_not_explain_a_later_loss(tmp_path: Path) -> None:
    lines = dumped(three(tmp_path / "logs" / "topic-0"))
    batches = [each for each in lines if each["type"] == "batch"]
    del batches[2]["records"][1]
    lines.remove(batches[1])
    loaded(lines, tmp_path / "out")
    folder = tmp_path / "out" / "topic-0"
    assert (folder / "kodec-omitted-offsets").read_text() == "0\n2\n3 5\n7 7\n"
    (folder / f"{0:020d}.log").write_bytes(b"")
    assert [each for each in problems(folder) if "0 to 2 in no segment" in each]
    # carried on by the next one
    again = dumped(three(tmp_path / "again" / "logs" / "topic-0"))
    again[0]["omittedOffsets"] = [[1, 1]]
    loaded(again, tmp_path / "again" / "out")
    assert (tmp_path / "again" / "out" / "topic-0" / "kodec-omitted-offsets").read_text() == "0\n1\n1 1\n"


def test_a_sound_log_without_edits_gets_no_list(tmp_path: Path) -> None:
    loaded(dumped(three(tmp_path / "logs" / "topic-0")), tmp_path / "out")
    assert not (tmp_path / "out" / "topic-0" / "kodec-omitted-offsets").exists()


def test_a_converted_log_stays_sound(tmp_path: Path) -> None:
    folder = transactional(tmp_path / "logs" / "topic-0")
    target = tmp_path / "old" / "topic-0"
    options = kodec.operations.ConvertOptions(magic=1, compression="gzip")
    kodec.operations.plan_conversion(folder, target, options).apply()
    listed = (target / "kodec-omitted-offsets").read_text()
    assert problems(target) == []
    loaded(dumped(target), tmp_path / "out")
    assert problems(tmp_path / "out" / "topic-0") == []
    first = (tmp_path / "out" / "topic-0" / "kodec-omitted-offsets").read_text().splitlines()[2:]
    assert set(listed.splitlines()[2:]) <= set(first) or first


def test_lost_offsets_stay_lost(tmp_path: Path) -> None:
    folder = three(tmp_path / "logs" / "topic-0")
    (folder / f"{3:020d}.log").unlink()
    (tmp_path / "logs" / "replication-offset-checkpoint").write_text("0\n1\ntopic 0 20\n")
    with pytest.raises(OffsetsMissing):
        dumped(folder)
    omissions = Omissions()
    with kodec.PartitionLog(folder) as log:
        lines = [json.loads(json.dumps(each)) for each in log_lines(log, omissions=omissions)]
    lost = [(each.first_offset, each.last_offset) for each in omissions]
    assert lost == [(3, 5), (12, 19)]
    batches = [each for each in lines if each["type"] == "batch"]
    del batches[-1]["records"][1]
    out = tmp_path / "out"
    (told,) = plan_load("x", lambda: lines_of(BytesIO(text_of(lines))), out).apply()
    assert [(each.first_offset, each.last_offset) for each in told.omissions] == lost
    assert (out / "topic-0" / "kodec-omitted-offsets").read_text() == "0\n1\n10 10\n"
    assert len(problems(out / "topic-0")) == 1
