"""Runs work on Spark's workers: each piece is a task, whose result returns to the driver.

It uses a data source and no RDD, so it works over Spark Connect too. Spark may run a piece twice (a retry,
speculation): one of the results is used.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import pickle
import re
import secrets
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kodec.pipeline.reading import freeze_imports_once
from kodec.pipeline.spark import quiet_session, running
from kodec.pipeline.workers import Workers
from kodec.runtime.errors import ArgumentError, KodecError

__all__ = ["SparkWorkers", "spark_workers"]

P = TypeVar("P")
R = TypeVar("R")

# An error of a worker arrives as text, with the pickled error after this prefix and a secret of the job: the
# text may contain data of a hostile log, which must not be unpickled.
_MARK = "kodec raised {secret} "
# The data source stays in the session, where others may write SQL: only jobs with a tag of this key are
# unpickled.
_KEY = secrets.token_bytes(32)
_SECONDS = 2


class SparkWorkers(Workers):
    """The workers of a session."""

    def __init__(self, spark: SparkSession, say: Callable[[str], None]) -> None:
        self.spark = spark
        self._say = say

    def run(self, work: Callable[[P], R], pieces: Sequence[P]) -> list[R]:
        """As in `Workers`. Also raises PySparkException if a task fails for another reason."""
        if not pieces:
            return []
        # Spark gets this class by value, so the key is in no module and in no option.
        self.spark.dataSource.register(type("_Keyed", (PiecesDataSource,), {"key": _KEY}))
        mark = _MARK.format(secret=secrets.token_hex(16))
        job = _packed((work, pieces, mark), _KEY)
        frame = self.spark.read.format(PiecesDataSource.name()).options(job=job).load()
        try:
            with self._watched(self.spark):
                rows = frame.collect()
        except (PySparkException, Py4JError) as error:
            if (raised := re.search(mark + r"([A-Za-z0-9+/=]+)", str(error))) is not None:
                raise pickle.loads(base64.b64decode(raised[1])) from None
            if isinstance(error, PySparkException):
                raise
            # of a worker that died, for one
            raise PySparkException(_message(error)) from error
        results = {row["piece"]: pickle.loads(row["result"]) for row in rows}
        return [results[number] for number in range(len(pieces))]

    def run_in_turn(self, work: Callable[[P], R], pieces: Sequence[P], sizes: Sequence[int]) -> Iterator[R]:
        """As in `Workers`; Spark returns all results at the end."""
        return iter(self.run_sized(work, pieces, sizes))

    def _watched(self, spark: SparkSession) -> Any:
        # Over Connect there is no tracker to ask.
        return _Watch(spark, self._say) if hasattr(spark, "_jsparkSession") else nullcontext()


@contextmanager
def spark_workers(
    name: str, master: str, config: Mapping[str, str], say: Callable[[str], None]
) -> Iterator[SparkWorkers]:
    """The running session, or one that is started and stopped; errors as in `workers`."""
    active = running()
    if active is not None:
        yield SparkWorkers(active, say)
        return
    say(f"starting Spark on {master}")
    try:
        spark = quiet_session(master, app_name=f"kodec {name}", config=config, jvm=False)
    except (PySparkException, Py4JError) as error:
        raise KodecError(f"Spark does not start on {master}: {_message(error)}") from error
    try:
        yield SparkWorkers(spark, say)
    finally:
        spark.stop()


def _message(error: Exception) -> str:
    """Spark's message, without the stack trace."""
    return str(getattr(error, "java_exception", error)).partition("\n")[0]


def _packed(job: object, key: bytes) -> str:
    """Any object as text with its tag, for an option of Spark; a million similar paths take some MiB."""
    text = base64.b64encode(zlib.compress(pickle.dumps(job), 1)).decode("ascii")
    return f"{_tag(text, key)} {text}"


def _unpacked(option: str, key: bytes) -> Any:
    """The object. Raises: ArgumentError for a text that whoever has the key did not make."""
    tag, _, text = option.partition(" ")
    if not key or not hmac.compare_digest(tag.encode(), _tag(text, key).encode()):
        raise ArgumentError(f"{PiecesDataSource.name()} is not for queries: it runs the jobs of kodec")
    return pickle.loads(zlib.decompress(base64.b64decode(text)))


def _tag(text: str, key: bytes) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class _Piece(InputPartition):
    def __init__(self, number: int, piece: object) -> None:
        super().__init__(number)
        self.piece = piece


class _Reader(DataSourceReader):
    """Works on the pieces; the driver knows all, and each task receives its own."""

    def __init__(self, job: str, key: bytes) -> None:
        self.work, self.pieces, self.mark = _unpacked(job, key)

    def __getstate__(self) -> dict[str, object]:
        return {"work": self.work, "pieces": (), "mark": self.mark}

    def partitions(self) -> list[InputPartition]:
        return [_Piece(number, piece) for number, piece in enumerate(self.pieces)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, bytes]]:
        assert isinstance(partition, _Piece)
        freeze_imports_once()
        try:
            result = self.work(partition.piece)
        except Exception as error:
            raise RuntimeError(f"{error}\n{self.mark}{_pickled(error)}") from error
        yield partition.value, pickle.dumps(result)


def _pickled(error: Exception) -> str:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        # an error that cannot be pickled and unpickled
        data = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return base64.b64encode(data).decode("ascii")


class PiecesDataSource(DataSource):
    """The engine of the jobs; private: its option is a pickled job, with a tag of the key.

    Whoever writes SQL in the session can name this data source too, and has no key.
    """

    key = b""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        """Not for any `format`."""
        return "kodec-pieces"

    def schema(self) -> str:
        """The number of a piece, and its result."""
        return "piece long, result binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader that does the work."""
        # Removed, as Spark also sends this object to each task.
        return _Reader(self.options.pop("job", ""), self.key)


class _Watch:
    """Reports the number of finished tasks, about every two seconds, while a query runs."""

    def __init__(self, spark: SparkSession, say: Callable[[str], None]) -> None:
        self.tracker = spark.sparkContext.statusTracker()
        self.say = say
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        before = ""
        while not self.over.wait(_SECONDS):
            stages = [self.tracker.getStageInfo(stage) for stage in self.tracker.getActiveStageIds()]
            text = ", ".join(
                f"{s.numCompletedTasks} of {s.numTasks} tasks done" for s in stages if s is not None
            )
            if text and text != before:
                self.say(text)
            before = text

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
