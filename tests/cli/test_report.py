"""kodec report as a user calls it: the page, the same facts as JSON, damage, hidden space, hostile names."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.repair import survey
from kodec.report.facts import look_into
from kodec.report.times import Timeline
from tests.data import LOGS

OLD = LOGS.parents[1] / "kafka-0.10.2.2" / "logs"


class _Tags(HTMLParser):
    """Which tags a page has, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_and_its_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(LOGS), "--to", str(out), "--json", "--sample", "1"]) == 0
    facts = json.loads(capsys.readouterr().out)
    page = _Tags(out.read_text("utf-8"))
    assert "script" not in page.tags and page.tags.count("svg") == 5
    assert all(link.startswith("#") for link in page.links)
    assert "default-src 'none'" in out.read_text("utf-8")
    assert "Not checked: checksums" in page.text and "hanging" in page.text
    logs = list(kodec.LogDirectory(LOGS))
    assert [(each["topic"], each["bytes"]) for each in facts["partitions"]] == [
        (log.topic_partition.topic, survey(log).bytes) for log in logs
    ]
    records = sum(len(list(log.records(control=True))) for log in logs if log.start_offset == 0)
    assert 0 < records <= sum(each["records"] for each in facts["partitions"])
    assert sum(each["bytes"] for each in facts["stored"]) <= sum(
        each["bytes"] for each in facts["partitions"]
    )
    assert {(each["magic"], each["codec"]) for each in facts["savings"]["formats"]} >= {
        (0, "gzip"),
        (2, "zstd"),
    }
    assert [each["transactionalId"] for each in facts["transactions"]] == ["payments-open"]
    spans = sum(each["records"] for each in facts["spans"]) + facts["outside"] + facts["timeless"]
    assert spans == sum(each["records"] for each in facts["partitions"])


def test_where_a_page_may_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(LOGS / "orders-0", logs / "orders-0")
    out = tmp_path / "report.html"
    for command, code in (
        ([str(logs)], 2),
        ([str(logs), "--to", str(logs / "report.html")], 1),
        ([str(logs), "--to", str(logs / "orders-0" / "report.html")], 1),
        ([str(logs / "orders-0"), "--to", str(logs / "report.html")], 1),
        ([str(logs), "--to", str(tmp_path / "nowhere" / "report.html")], 2),
    ):
        assert main(["report", *command]) == code
    assert sorted(path.name for path in logs.iterdir()) == ["orders-0"]
    assert main(["report", str(logs), "--to", str(out), "--sample", "0"]) == 0
    assert main(["report", str(logs), "--to", str(out)]) == 1
    assert main(["report", str(logs), "--to", str(out), "--overwrite"]) == 0
    assert main(["report", str(tmp_path / "nothing"), "--json"]) == 2
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_damage_gaps_and_hidden_space(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in ("orders-0", "orders-1", "segments-0"):
        shutil.copytree(LOGS / name, logs / name)
    gone = sorted((logs / "segments-0").glob("*.log"))[1]
    gone.rename(gone.with_name(gone.name + ".deleted"))
    shutil.copytree(LOGS / "orders-2", logs / f"orders-2.{'a' * 32}-stray")
    first = next((logs / "orders-0").glob("*.log"))
    data = bytearray(first.read_bytes())
    data[70] ^= 1
    first.write_bytes(data)
    facts = look_into(logs, sample_bytes=0)
    assert facts.healthy and facts.savings is None and "checksums" in facts.not_checked
    assert facts.gap_count == 1 and facts.gaps[0].explained and ".deleted" in facts.gaps[0].why
    assert any(each.kind.startswith(".deleted") and each.bytes for each in facts.hidden)
    assert any(each.kind.startswith("-stray") and each.files > 2 for each in facts.hidden)
    facts = look_into(logs, sample_bytes=0, verify=True)
    assert not facts.healthy and not facts.not_checked
    assert any("CrcMismatch" in text for text in facts.problems)


def test_old_formats() -> None:
    facts = look_into(OLD, sample_bytes=1 << 16)
    assert {each.magic for each in facts.stored} <= {0, 1}
    assert any(each.records is None for each in facts.stored if each.codec != "none")
    assert facts.savings is not None and all(each.ratio for each in facts.savings.formats)


def test_hostile_names_are_text(tmp_path: Path) -> None:
    logs = tmp_path / "<script>alert(1)<" / "\u202elogs\x07"
    shutil.copytree(LOGS / "orders-0", logs / "orders-0")
    first = next((logs / "orders-0").glob("*.log"))
    first.write_bytes(first.read_bytes()[:-3])
    shutil.copytree(LOGS / "codec-gzip-0", logs / "codec-gzip-0")
    damaged = next((logs / "codec-gzip-0").glob("*.log"))
    damaged.write_bytes(b"\0" * 16 + b"\7" + b"x" * 100)
    out = tmp_path / "report.html"
    assert main(["report", str(logs), "--to", str(out)]) == 1
    text = out.read_text("utf-8")
    page = _Tags(text)
    assert "script" not in page.tags and "\u202e" not in text and "\x07" not in text
    assert "<script>alert(1)<" in page.text


def test_times_are_bounded() -> None:
    rows = kodec.read_batch_table(next((LOGS / "segments-0").glob("*.log")))
    timeline = Timeline()
    other = Timeline()
    for batch in rows.to_batches():
        timeline.take(batch)
        other.take(batch)
    far = rows.to_pylist() * 40
    for number, row in enumerate(far):
        row["max_timestamp"] = number * 86_400_000 * 7
    for batch in type(rows).from_pylist(far, schema=rows.schema).to_batches():
        timeline.take(batch)
    timeline.merge(other)
    assert len(timeline._steps) <= Timeline.MOST
    everything = timeline.between(0, 1 << 63)
    assert everything.records == 42 * sum(rows["count"].to_pylist())
    ends = timeline.usual()
    assert ends is not None and len(timeline.spans(*ends, 60)) <= 62


def test_the_page_says_what_it_cuts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kodec.report.page.MOST", 2)
    out = tmp_path / "report.html"
    assert main(["report", str(LOGS), "--to", str(out), "--sample", "0"]) == 0
    assert re.search(r"26 more are not shown", out.read_text("utf-8"))
