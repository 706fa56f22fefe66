"""What the verbs have in common that answer from the files of log directories."""

from __future__ import annotations

from uuid import UUID

import typer

from kodec.cli import output
from kodec.cli.outcome import FAILED
from kodec.log.messages.plain import uuid_text
from kodec.log.views.reading import Account

__all__ = ["GROUPS", "LOG_DIRS", "TOPICS", "id_text", "moment", "tell"]

LOG_DIRS = typer.Argument(
    metavar="DIR...", exists=True, file_okay=False, help="log.dirs folders, of one broker or of several."
)
TOPICS = typer.Option("--topic", help="Only this topic; may be given several times.")
GROUPS = typer.Option("--group", help="Only this group; may be given several times.")


def tell(account: Account) -> int:
    """Say on stderr what could not be read; the exit code: 1 where something could not, else 0."""
    for text in (*account.problems, *account.torn):
        output.warn(text)
    if account.omitted:
        output.warn(f"{output.count(account.omitted, 'more problem')}")
    if account.problems:
        output.warn(
            f"kodec: {output.count(account.skipped_bytes, 'byte')} could not be read: what is shown may be "
            "incomplete or out of date"
        )
    for text, number in account.unknown.most_common():
        output.warn(f"kodec: {output.count(number, 'record')} not known: {text}")
    return FAILED if account.problems else 0


def id_text(identity: UUID | None) -> str | None:
    """An id as Kafka prints it."""
    return None if identity is None else uuid_text(identity)


def moment(timestamp: int | None) -> str | None:
    """A time without its milliseconds, for a table."""
    return None if timestamp is None or timestamp < 0 else output.time_of(timestamp).partition(".")[0]
