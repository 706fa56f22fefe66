"""Starts a Spark session that can read Kafka's log directories, or teaches a running one to."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from kodec.pipeline.java import java_home
from kodec.pipeline.source import KafkaLogDataSource

__all__ = ["JAR", "QUIET", "register", "served_by", "session"]

JAR = Path(__file__).parent / "jvm" / "kodec-spark.jar"
"""The source for the JVM, where it was built: with a wheel, or by `make jar`."""

_ALWAYS = {
    # Without it Spark does not give a Python source a query's filters.
    "spark.sql.python.filterPushdown.enabled": "true",
    # Cheaper than TCP for what the Python workers send to the JVM.
    "spark.python.unix.domain.socket.enabled": "true",
}

# One machine that talks to itself: no open port, and no need for its own name to resolve.
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}

# For a job that says itself how it goes, and raises what goes wrong.
_LOG4J = Path(__file__).parent / "log4j2.properties"
QUIET = {
    "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"',
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}


class _Beside(KafkaLogDataSource):
    """The source in Python where the one for the JVM has its name: for what that one hands over."""

    @classmethod
    def name(cls) -> str:
        return "kafka-log-python"


def register(spark: SparkSession, *, jvm: bool = True) -> SparkSession:
    """Make ``spark.read.format("kafka-log")`` work in this session; the same session is returned.

    The source for the JVM serves it, where its jar was built and `jvm` is not false; `served_by` says so. What
    that one does not do itself it hands over to the one in Python, for which the session's workers need kodec
    installed: on one machine set ``PYSPARK_PYTHON`` to the Python that has it before the session starts, as
    `session` does.
    """
    if jvm and JAR.is_file():
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            spark.addArtifacts(str(JAR))
        elif not _has_jar(spark):
            spark.sql(f"ADD JAR '{JAR.as_uri()}'")
        spark.dataSource.register(_Beside)
    else:
        spark.dataSource.register(KafkaLogDataSource)
    return spark


def served_by(frame: DataFrame) -> Literal["jvm", "python"]:
    """Which of the two sources reads the logs of a DataFrame."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        frame.explain()
    return "jvm" if "kafka-log (JVM)" in text.getvalue() else "python"


def _has_jar(spark: SparkSession) -> bool:
    return any(JAR.name in each[0] for each in spark.sql("LIST JARS").collect())


def session(
    master: str | None = "local[*]",
    *,
    app_name: str = "kodec",
    config: Mapping[str, str] | None = None,
    jvm: bool = True,
) -> SparkSession:
    """Start Spark, or take the session that runs already, with the `kafka-log` source registered.

    Args: master is Spark's master URL, None to leave it to spark-submit; config holds further settings,
    which win over those made here; jvm is as in `register`. For the processes that Spark starts JAVA_HOME is set (see
    `kodec.pipeline.java`); where unset, so are PYSPARK_PYTHON and, with a local master, SPARK_LOCAL_IP.
    Raises: MissingDependency where there is no Java that Spark supports.
    """
    if SparkSession.getActiveSession() is None:
        os.environ["JAVA_HOME"] = str(java_home())
        # Spark would take `python3` from PATH, which need not be the one that has kodec.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = dict(_ALWAYS)
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            settings |= _LOCAL
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for key, value in (settings | dict(config or {})).items():
        builder = builder.config(key, value)
    if jvm and JAR.is_file():
        others = [each for each in (config or {}).get("spark.jars", "").split(",") if each]
        builder = builder.config("spark.jars", ",".join([*others, str(JAR)]))
    return register(builder.getOrCreate(), jvm=jvm)
