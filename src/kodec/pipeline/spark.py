"""Starts a Spark session that reads Kafka's log directories, or registers the source in a running one."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from kodec.pipeline.java import java_home
from kodec.pipeline.source import KafkaLogDataSource
from kodec.runtime.errors import MissingDependency
from kodec.runtime.logger import logger

__all__ = ["JAR", "QUIET", "register", "running", "served_by", "session"]

JAR = Path(__file__).parent / "jvm" / "kodec-spark.jar"
"""The source for the JVM; it is in a clone, and in all that is built of one."""


# With it SQL reads the log at a path: SELECT * FROM `kafka-log`.`/data/kafka-logs`.
_CATALOG = ("spark.sql.catalog.kafka-log", "org.kodec.spark.LogCatalog")

_ALWAYS = {
    # Cheaper than TCP for the data that the Python workers send to the JVM.
    "spark.python.unix.domain.socket.enabled": "true",
}

# Spark on one machine: no open port, and its host name need not resolve.
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}

# For a job that reports its own progress and raises its errors.
_LOG4J = Path(__file__).parent / "log4j2.properties"
QUIET = {
    "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"',
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}


class _Beside(KafkaLogDataSource):
    """The source in Python when the one for the JVM has its name: for queries that that one hands over."""

    @classmethod
    def name(cls) -> str:
        return "kafka-log-python"


def register(spark: SparkSession, *, jvm: bool = True) -> SparkSession:
    """Make ``spark.read.format("kafka-log")`` work in this session; the same session is returned.

    The source for the JVM serves it if its jar was built and `jvm` is not false, or if the session already
    has it; `served_by` returns which one it is. The source for the JVM hands unsupported queries over to the
    one in Python.

    The source in Python needs the same version of kodec on the session's workers: on one machine set
    ``PYSPARK_PYTHON`` to the Python that has it before the session starts, as `session` does. kodec has
    native code, so it is not sent to workers.

    Args:
        spark: a running session.
        jvm: use the source for the JVM; false: the one in Python.

    Returns: the same session.
    Raises: MissingDependency if workers have no kodec, or another version, and there is no jar.

    Example:
        >>> from kodec.pipeline import register, session
        >>> spark = register(session())
        >>> spark.read.format("kafka-log").load("/data/kafka-logs").columns[:3]
        ['key', 'value', 'topic']
    """
    return _registered(spark, jvm, False)


def _registered(spark: SparkSession, jvm: bool, known: bool) -> SparkSession:
    """The session with the sources; `known` if its workers certainly have this kodec."""
    connect = type(spark).__module__.startswith("pyspark.sql.connect")
    there = not connect and _has_jar(spark)
    if not (there or (jvm and JAR.is_file())):
        if jvm:
            logger().warning(
                "%s is not there: the source in Python serves kafka-log, at three times the cost, from local "
                "paths only; install a wheel or a clone of kodec (`make jar` builds it), or use --jars",
                JAR,
            )
        if not known:
            _require_workers(spark)
        spark.dataSource.register(KafkaLogDataSource)
        return spark
    if connect:
        spark.addArtifacts(str(JAR))
    elif not there:
        spark.sql(f"ADD JAR '{JAR.as_uri()}'")
    spark.conf.set(*_CATALOG)
    try:
        if not known:
            _require_workers(spark)
        spark.dataSource.register(_Beside)
    except MissingDependency as error:
        logger().warning("%s; until then there is the source for the JVM alone", error)
    return spark


def served_by(frame: DataFrame) -> Literal["jvm", "python"]:
    """Which of the two sources reads the logs of a DataFrame.

    Args:
        frame: read from `kafka-log`.

    Returns: "jvm" or "python".
    Raises: nothing of its own.

    Example:
        >>> from kodec.pipeline import served_by, session
        >>> frame = session().read.format("kafka-log").load("/data/kafka-logs")
        >>> served_by(frame) in ("jvm", "python")
        True
    """
    with contextlib.redirect_stdout(io.StringIO()) as text:
        frame.explain()
    return "jvm" if "kafka-log (JVM)" in text.getvalue() else "python"


def _has_jar(spark: SparkSession) -> bool:
    return any(JAR.name in each[0] for each in spark.sql("LIST JARS").collect())


def _look(*_: object) -> str:
    """The Python that runs this, and its version of kodec."""
    import importlib
    import sys

    try:
        return f"{importlib.import_module('kodec').__version__} {sys.executable}"
    except ImportError as error:
        return f"- {sys.executable} ({error})"


# As text it goes to workers that cannot import this module.
_look.__module__ = "__main__"
# As many tasks as are likely to reach every machine of a small cluster.
_LOOKS = 8


def _require_workers(spark: SparkSession) -> None:
    """Check the version of kodec on the workers. Raises MissingDependency."""
    if hasattr(spark, "_jsparkSession"):
        found = set(spark.sparkContext.parallelize(range(_LOOKS), _LOOKS).map(_look).collect())
    else:
        rows = spark.range(0, _LOOKS, 1, _LOOKS).select(udf(_look, "string")("id")).collect()
        found = {row[0] for row in rows}
    here = _look().split(" ", 1)[0]
    for version, python in sorted(each.split(" ", 1) for each in found):
        if version == here:
            continue
        has = "no kodec" if version == "-" else f"kodec {version}, and here is {here}"
        raise MissingDependency(
            f"Spark's workers run {python}, which has {has}: install kodec {here} there, or set "
            "PYSPARK_PYTHON to a Python that has it before the session starts"
        )


def running() -> SparkSession | None:
    """The running session, of any thread: `getActiveSession` knows only that of its own thread."""
    try:
        found = SparkSession.active()
    except PySparkException:
        return None
    # Over Connect there is no context; a context that was stopped alone leaves its session.
    context = getattr(found, "_sc", None)
    return None if context is not None and context._jsc is None else found


def session(
    master: str | None = "local[*]",
    *,
    app_name: str = "kodec",
    config: Mapping[str, str] | None = None,
    jvm: bool = True,
) -> SparkSession:
    """Start Spark, or use the running session, with the `kafka-log` source registered.

    Args: master is Spark's master URL, None to leave it to spark-submit; config holds further settings,
    which win over those made here; jvm is as in `register`; app_name is what Spark shows. For the
    processes that Spark starts JAVA_HOME is set (see `kodec.pipeline.java`); where unset, so are
    PYSPARK_PYTHON and, with a local master, SPARK_LOCAL_IP.

    Returns: the session.
    Raises: MissingDependency if there is no Java that Spark supports.

    Example:
        >>> from kodec.pipeline import session
        >>> spark = session()
        >>> spark.read.format("kafka-log").option("subscribe", "orders").load("/data/kafka-logs").count()
        1200
    """
    started = running() is None
    if started:
        os.environ["JAVA_HOME"] = str(java_home())
        # Spark would use `python3` from PATH, which may not be the one with kodec.
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
    spark = builder.getOrCreate()
    own = os.environ.get("PYSPARK_PYTHON") == sys.executable
    # The workers run the same Python as this process, so they need not be checked.
    known = started and own and master is not None and master.startswith("local")
    return _registered(spark, jvm, known)
