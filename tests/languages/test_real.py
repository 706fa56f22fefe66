"""What brokers and clients wrote, as vectors and as segments with rows."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import jsonschema

from kodec.generator.targets.vectors import CONTRACT

from .odd import ODD, odd
from .real import CODECS, OBSERVED, archive, observed


def test_the_observed_vectors_are_what_the_logs_hold() -> None:
    text = OBSERVED.read_text()
    assert text == observed()
    document = json.loads(text)
    jsonschema.Draft202012Validator(json.loads(CONTRACT.read_text())).validate(document)
    tested = {each["tests"] for each in document["vectors"]}
    assert tested >= {f"magic 2, {codec}" for codec in CODECS} | {"magic 2, control batch"}
    assert tested >= {f"magic {magic}, {codec}" for magic in (0, 1) for codec in CODECS[:4]}
    brokers = {
        each["origin"]["version"] for each in document["vectors"] if each["origin"]["kind"] == "broker"
    }
    assert len(brokers) >= 6


def test_odd_entries_are_what_their_table_says() -> None:
    text = ODD.read_text()
    assert text == odd()
    jsonschema.Draft202012Validator(json.loads(CONTRACT.read_text())).validate(json.loads(text))


def test_the_archive_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        archive(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as made:
        found = json.loads(made.read("MANIFEST.json"))["segments"]
        assert len({each["broker"] for each in found}) == 6 and len(found) > 100
        for each in found:
            data = made.read(each["segment"])
            assert hashlib.sha256(data).hexdigest() == each["sha256"]
            rows = made.read(each["segment"].removesuffix(".log") + ".rows.jsonl").splitlines()
            assert len(rows) == each["rows"]
