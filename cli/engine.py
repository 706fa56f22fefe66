"""Where a verb works: here, or in Spark's workers."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from kodec.cli import output
from kodec.cli.outcome import FAILED
from kodec.runtime.errors import KodecError, MissingDependency

__all__ = ["ENGINE", "MASTER", "Engine", "job", "require_spark"]


class Engine(enum.Enum):
    """`kodec.pipeline.workers.Engine` for typer."""

    local = "local"
    spark = "spark"


ENGINE = typer.Option("--engine", help="Work in this process (local), or in Spark's workers (spark).")
MASTER = typer.Option("--master", help="Spark master, for --engine spark.  [default: local[*]]")


def require_spark(engine: Engine, master: str | None) -> str:
    """The Spark master. Raises BadParameter where one is given and not used."""
    if master is not None and engine is not Engine.spark:
        raise typer.BadParameter("--master is for --engine spark")
    return "local[*]" if master is None else master


@contextmanager
def job() -> Iterator[None]:
    """Import and run a job: report what is refused in a line, and a library that is missing."""
    try:
        yield
    except ImportError as error:
        raise MissingDependency(f"this needs `{error.name}`: pip install 'kodec[spark]'") from error
    except KodecError:
        raise
    except (OSError, ValueError) as error:
        # a target that is not empty, a topic that is not there, an option out of range
        output.warn(f"kodec: {error}")
        raise typer.Exit(FAILED) from None
