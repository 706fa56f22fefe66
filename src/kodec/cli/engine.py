"""Where a verb works: here, or in Spark's workers."""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kodec.cli import output
from kodec.cli.outcome import BAD_USAGE, FAILED
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.log.files.resolve import NotALog
from kodec.runtime.errors import KodecError, MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["ENGINE", "MASTER", "Engine", "job", "require_spark"]


class Engine(enum.Enum):
    """`kodec.pipeline.workers.Engine` for the command line."""

    local = "local"
    spark = "spark"


ENGINE = Option("--engine", help="Work in this process (local), or in Spark's workers (spark).")
MASTER = Option("--master", help="Spark master, for --engine spark.  [default: local[*]]")


def require_spark(engine: Engine, master: str | None) -> str:
    """The Spark master. Raises BadParameter where one is given and not used."""
    if master is not None and engine is not Engine.spark:
        raise BadParameter("--master is for --engine spark")
    return "local[*]" if master is None else master


@contextmanager
def job() -> Iterator[None]:
    """Import and run a job: report in a line what is refused, a library that is missing, and Spark's errors.

    The exit code is 2 for a path at which there is no log, else 1.
    """
    root = logging.getLogger()
    root.addFilter(_is_ours)
    try:
        yield
    except KodecError as error:
        if (text := _of_the_source(error)) is None:
            raise
        output.warn(f"kodec: {text}")
        raise Exit(BAD_USAGE if isinstance(error.__context__, NotALog) else FAILED) from None
    except ImportError as error:
        raise MissingDependency(f"this needs `{error.name}`: {install_command('spark')}") from error
    except NotALog as error:
        output.warn(*output.lines_of(error))
        raise Exit(BAD_USAGE) from None
    except (OSError, ValueError) as error:
        # a target that is not empty, a topic that is not there, an option out of range
        output.warn(*output.lines_of(error))
        raise Exit(FAILED) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "pyspark":
            raise
        # A worker that was killed, a job that was cancelled: the trace of Java's calls helps nobody.
        output.warn(f"kodec: Spark: {str(error).partition(chr(10))[0]}")
        raise Exit(FAILED) from None
    finally:
        root.removeFilter(_is_ours)


def _is_ours(record: logging.LogRecord) -> bool:
    """Not what Py4J logs of a call to Java that Ctrl-C has ended."""
    return "py4j" not in Path(record.pathname).parts


def _of_the_source(error: KodecError) -> str | None:
    """What the options of `kafka-log` say of a job's, in the command's words; None for another error."""
    try:
        from kodec.pipeline.options import OptionError
    except ImportError:  # without Spark there is no source
        return None
    if not isinstance(error, OptionError):
        return None
    text = error.text.partition("; failOnDataLoss=false")[0]
    return f"--topic: {text}" if error.option == "subscribe" else text
