"""The committed jar of the Spark source for the JVM: it is of the sources that are here."""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import pytest

from kodec.pipeline import KafkaLogDataSource
from tests.data import ROOT


@pytest.fixture(scope="module")
def fresh() -> ModuleType:
    """The module that setup.py and `make jar` ask."""
    spec = importlib.util.spec_from_file_location(
        "fresh", ROOT / "src" / "kodec" / "pipeline" / "jvm" / "fresh.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_jar_is_of_its_sources(fresh: ModuleType) -> None:
    assert fresh.is_fresh(ROOT), "the Java sources have changed: `make jar`, and commit the jar with them"


def test_any_other_source_is_noticed(fresh: ModuleType, tmp_path: Path) -> None:
    for folder in ("src/kodec/pipeline/jvm", "runtime/java", "generated/java"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    assert fresh.is_fresh(tmp_path)
    for name in (
        "src/kodec/pipeline/jvm/org/kodec/spark/Gaps.java",
        "src/kodec/pipeline/jvm/META-INF/services/org.apache.spark.sql.sources.DataSourceRegister",
        "runtime/java/org/kodec/runtime/Varints.java",
        "generated/java/org/kodec/kafka/log/RecordBatch.java",
    ):
        path = tmp_path / name
        text = path.read_bytes()
        path.write_bytes(text.replace(b"\n", b"\r\n"))
        assert fresh.is_fresh(tmp_path), "a checkout may end lines otherwise"
        path.write_bytes(text + b" ")
        assert not fresh.is_fresh(tmp_path), name
        path.write_bytes(text)
    more = tmp_path / "src" / "kodec" / "pipeline" / "jvm" / "More.java"
    more.touch()
    assert not fresh.is_fresh(tmp_path)
    more.unlink()
    assert fresh.is_fresh(tmp_path)
    (tmp_path / fresh.JAR).write_bytes(b"no jar")
    assert not fresh.is_fresh(tmp_path)


def test_the_same_classes_give_the_same_bytes(fresh: ModuleType, tmp_path: Path) -> None:
    for folder in ("src/kodec/pipeline/jvm", "runtime/java", "generated/java"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    with zipfile.ZipFile(tmp_path / fresh.JAR) as jar:
        compiler = jar.read("META-INF/MANIFEST.MF").decode().split("Created-By: ")[1].splitlines()[0]
        for name in jar.namelist():
            if name.endswith(".class"):
                jar.extract(name, tmp_path / "classes")
    fresh.pack(tmp_path, tmp_path / "classes", compiler)
    # how well it is packed may depend on zlib; what is in it does not
    with zipfile.ZipFile(tmp_path / fresh.JAR) as made, zipfile.ZipFile(ROOT / fresh.JAR) as committed:
        assert made.testzip() is None
        entries = [
            [(each.filename, each.CRC, each.date_time) for each in jar.infolist()]
            for jar in (made, committed)
        ]
    assert entries[0] == entries[1]


def test_a_session_without_the_jar_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from kodec.pipeline import spark

    monkeypatch.setattr(spark, "JAR", tmp_path / "kodec-spark.jar")
    monkeypatch.setattr(spark, "_has_jar", lambda _: False)
    session = MagicMock(version="4.3.0")
    spark._registered(session, True, True)
    spark._registered(session, False, True)
    (line,) = caplog.messages
    assert line.startswith(
        f"{tmp_path / 'kodec-spark.jar'} is not there: the source in Python serves kafka-log"
    )
    assert session.dataSource.register.call_args.args == (KafkaLogDataSource,)
