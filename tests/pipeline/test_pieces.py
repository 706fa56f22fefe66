"""The data source of the jobs stays in a session: it unpickles nothing for those who write SQL there."""

from __future__ import annotations

import base64
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from kodec.pipeline.spark_workers import SparkWorkers, _packed, _tag, _unpacked
from kodec.runtime.errors import ArgumentError


class Runs:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.folder,)


def options(folder: Path) -> dict[str, str]:
    plain = base64.b64encode(zlib.compress(pickle.dumps(Runs(folder)))).decode()
    return {
        "no tag": plain,
        "an empty tag": f" {plain}",
        "the tag of no key": f"{_tag(plain, b'')} {plain}",
        "the tag of another key": _packed(Runs(folder), b"another"),
        "the tag of another job": f"{_packed(1, b'key').partition(' ')[0]} {plain}",
        "no ASCII": f"é {plain}",
        "nothing": "",
    }


@pytest.mark.parametrize("name", options(Path()))
@pytest.mark.parametrize("key", [b"key", b""])
def test_a_job_of_somebody_else_is_refused(name: str, key: bytes, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="not for queries"):
        _unpacked(options(tmp_path / "made")[name], key)
    assert not (tmp_path / "made").exists()
    _unpacked(_packed(Runs(tmp_path / "made"), b"key"), b"key")
    assert (tmp_path / "made").exists()


def test_sql_cannot_run_a_job(spark: Any, tmp_path: Path) -> None:
    assert SparkWorkers(spark, print).run(str.upper, ["a", "b"]) == ["A", "B"]
    for name, job in options(tmp_path / "made").items():
        with pytest.raises(Exception, match="not for queries"):
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW x USING `kodec-pieces` OPTIONS (job '{job}')")
            spark.table("x").collect()
        assert not (tmp_path / "made").exists(), name
    assert SparkWorkers(spark, print).run(str.upper, ["c"]) == ["C"]
