"""Starts a Spark session that reads Kafka's log directories, or registers the source in a running one."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from kodec.pipeline.java import java_home
from kodec.pipeline.source import KafkaLogDataSource
from kodec.runtime.errors import MissingDependency
from kodec.runtime.logger import logger

__all__ = ["JAR", "QUIET", "quiet_session", "register", "running", "served_by", "session"]

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
# Before the options of the user's own configuration, whose log level wins.
_LOG_LEVEL = {"spark.driver.defaultJavaOptions": f'"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"'}
QUIET = _LOG_LEVEL | {"spark.ui.showConsoleProgress": "false"}
# Workers return little to a job. If Spark closes the socket of an idle worker, as it does at the end, the
# worker still writes to it: over TCP nobody notices, otherwise pyspark/daemon.py prints a traceback.
_OVER_TCP = {"spark.python.unix.domain.socket.enabled": "false"}
# What the JVM prints about an option with which Spark starts it. No option prevents it.
_OF_THE_JVM = b"WARNING: Using incubator modules:"


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
    Raises: MissingDependency if workers have no kodec, or another version, or Spark is older than 4.1, and
    there is no jar. With the jar this is a warning.

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
    is_registered = not connect and _has_jar(spark)
    if not (is_registered or (jvm and JAR.is_file())):
        if jvm:
            logger().warning(
                "%s is not there: the source in Python serves kafka-log, at three times the cost, from local "
                "paths only; install a wheel or a clone of kodec (`make jar` builds it), or use --jars",
                JAR,
            )
        _require_python_source(spark, known)
        spark.dataSource.register(KafkaLogDataSource)
        return spark
    if connect:
        spark.addArtifacts(str(JAR))
    elif not is_registered:
        spark.sql(f"ADD JAR '{JAR.as_uri()}'")
    spark.conf.set(*_CATALOG)
    try:
        _require_python_source(spark, known)
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
    return any(JAR.name in row[0] for row in spark.sql("LIST JARS").collect())


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
# Spark 4.0 has sources in Python, without some features.
_LEAST = (4, 1)


def _require_python_source(spark: SparkSession, known: bool) -> None:
    """Check that the session can have the source in Python. Raises MissingDependency."""
    if tuple(map(int, spark.version.split(".")[:2])) < _LEAST:
        least = ".".join(map(str, _LEAST))
        raise MissingDependency(
            f"the source in Python needs Spark {least} or later, and this is Spark {spark.version}"
        )
    if not known:
        _require_workers(spark)


def _require_workers(spark: SparkSession) -> None:
    """Check the version of kodec on the workers. Raises MissingDependency."""
    if hasattr(spark, "_jsparkSession"):
        versions = set(spark.sparkContext.parallelize(range(_LOOKS), _LOOKS).map(_look).collect())
    else:
        rows = spark.range(0, _LOOKS, 1, _LOOKS).select(udf(_look, "string")("id")).collect()
        versions = {row[0] for row in rows}
    driver_version = _look().split(" ", 1)[0]
    for version, python in sorted(text.split(" ", 1) for text in versions):
        if version == driver_version:
            continue
        has = "no kodec" if version == "-" else f"kodec {version}, and here is {driver_version}"
        raise MissingDependency(
            f"Spark's workers run {python}, which has {has}: install kodec {driver_version} there, or set "
            "PYSPARK_PYTHON to a Python that has it before the session starts"
        )


def running() -> SparkSession | None:
    """The running session, of any thread: `getActiveSession` knows only that of its own thread."""
    try:
        active = SparkSession.active()
    except PySparkException:
        return None
    # Over Connect there is no context; a context that was stopped alone leaves its session.
    context = getattr(active, "_sc", None)
    return None if context is not None and context._jsc is None else active


def quiet_session(
    master: str, *, app_name: str, config: Mapping[str, str] | None = None, jvm: bool = True
) -> SparkSession:
    """A session as of `session` for a job that reports its own progress: Spark prints errors only.

    If the user has a log4j2 file in Spark's configuration folder, that one decides what Spark prints.
    """
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    is_configured = folder is not None and any(Path(folder).glob("log4j2.*"))
    quiet = {name: value for name, value in QUIET.items() if not (is_configured and name in _LOG_LEVEL)}
    settings = quiet | _OVER_TCP | dict(config or {})
    with _without_lines(_OF_THE_JVM):
        return session(master, app_name=app_name, config=settings, jvm=jvm)


@contextmanager
def _without_lines(start: bytes) -> Iterator[None]:
    """Processes that start here print on this one's stderr, except lines that begin so."""
    try:
        stderr = os.dup(2)
    except OSError:  # closed
        yield
        return
    ours, theirs = os.pipe()
    os.dup2(theirs, 2)
    os.close(theirs)
    threading.Thread(target=_pass_on, args=(ours, stderr, start), daemon=True).start()
    try:
        yield
    finally:
        os.dup2(stderr, 2)


def _pass_on(source: int, target: int, start: bytes) -> None:
    """Copy lines until the last process that writes to `source` has ended."""
    tail = b""
    while data := os.read(source, 1 << 16):
        *lines, tail = (tail + data).split(b"\n")
        for line in lines:
            if not line.startswith(start):
                with contextlib.suppress(OSError):
                    os.write(target, line + b"\n")
    if tail:
        with contextlib.suppress(OSError):
            os.write(target, tail)
    os.close(source)
    os.close(target)


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
        others = [jar for jar in (config or {}).get("spark.jars", "").split(",") if jar]
        builder = builder.config("spark.jars", ",".join([*others, str(JAR)]))
    spark = builder.getOrCreate()
    same_python = os.environ.get("PYSPARK_PYTHON") == sys.executable
    # The workers run the same Python as this process, so they need not be checked.
    known = started and same_python and master is not None and master.startswith("local")
    return _registered(spark, jvm, known)
