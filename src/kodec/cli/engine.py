"""Where a verb runs: in this process or in Spark's workers."""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kodec.cli import output
from kodec.cli.outcome import BAD_USAGE, FAILED
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.log.remote.resolve import NotALog
from kodec.runtime.errors import KodecError, MissingDependency
from kodec.runtime.extras import install_command

# Of the libraries that jobs import, other than Spark's: what brings each.
_EXTRAS = {"deltalake": "lake", "pyarrow": "arrow", "pyiceberg": "lake"}

__all__ = ["ENGINE", "MASTER", "Engine", "job", "require_spark"]


class Engine(enum.Enum):
    """`kodec.pipeline.workers.Engine` for the command line."""

    local = "local"
    spark = "spark"


ENGINE = Option("--engine", help="Run in this process (local) or in Spark's workers (spark).")
MASTER = Option("--master", help="Spark master, for --engine spark.  [default: local[*]]")


def require_spark(engine: Engine, master: str | None) -> str:
    """The Spark master. Raises BadParameter if one is given but not used."""
    if master is not None and engine is not Engine.spark:
        raise BadParameter("--master needs --engine spark")
    return "local[*]" if master is None else master


@contextmanager
def job() -> Iterator[None]:
    """Import and run a job; report refusals, missing libraries and Spark's errors in one line each.

    The exit code is 2 for a path without a log, and for an option that cannot be followed, else 1.
    """
    root = logging.getLogger()
    root.addFilter(_is_ours)
    try:
        yield
    except KodecError as error:
        if (failure := _source_failure(error)) is None:
            raise
        text, code = failure
        output.warn(f"kodec: {text}")
        raise Exit(code) from None
    except ImportError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0], "spark")
        raise MissingDependency(f"this needs `{error.name}`: {install_command(extra)}") from error
    except NotALog as error:
        output.warn(*output.lines_of(error))
        raise Exit(BAD_USAGE) from None
    except (OSError, ValueError) as error:
        # a target that is not empty
        output.warn(*output.lines_of(error))
        raise Exit(FAILED) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "pyspark":
            raise
        # A killed worker, a cancelled job: Java's stack trace helps nobody.
        output.warn(f"kodec: Spark: {str(error).partition(chr(10))[0]}")
        raise Exit(FAILED) from None
    finally:
        root.removeFilter(_is_ours)


def _is_ours(record: logging.LogRecord) -> bool:
    """Hide what Py4J logs about a call to Java that Ctrl-C interrupted."""
    return "py4j" not in Path(record.pathname).parts


def _source_failure(error: KodecError) -> tuple[str, int] | None:
    """An error in an option of `kafka-log`, in the command's words, and the exit code; None for others."""
    try:
        from kodec.pipeline.options import OptionError
        from kodec.pipeline.plan import DataLoss
    except ImportError:  # no Spark, no data source
        return None
    if not isinstance(error, OptionError):
        return None
    text = error.text.partition("; failOnDataLoss=false")[0]
    # lost offsets are no option's fault, though with an option they are left out
    code = FAILED if isinstance(error, DataLoss) else BAD_USAGE
    return f"--topic: {text}" if error.option == "subscribe" else text, code
