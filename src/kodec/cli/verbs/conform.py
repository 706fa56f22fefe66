"""kodec conform: runs a suite of test vectors against a program in any language."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

from kodec.cli import lines
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.schemas import REPORT_FORMAT
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["conform"]

_SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


class Form(Enum):
    """How the report is shown."""

    text = "text"
    json = "json"
    html = "html"


def conform(
    testee: Annotated[list[str], Argument(help="The program and its arguments, behind `--`.")],
    vectors: Annotated[
        Path | None, Option(help="Folder of *.vectors.json.", file_okay=False, exists=True)
    ] = None,
    schemas: Annotated[
        Path | None,
        Option(
            help="Folder of .ksy files for the vectors; Kafka's by default.", file_okay=False, exists=True
        ),
    ] = None,
    known: Annotated[
        Path | None, Option(help="File of known failures, with reasons.", dir_okay=False, exists=True)
    ] = None,
    form: Annotated[Form, REPORT_FORMAT] = Form.text,
    to: Annotated[Path | None, Option(help="File for the report; stdout by default.", dir_okay=False)] = None,
    seconds: Annotated[float, Option(min=0.01, help="Time limit for one answer, in seconds.")] = 10.0,
    memory: Annotated[int, Option(min=1, help="Memory limit of the program, in MiB.")] = 2048,
) -> None:
    """Run a program against test vectors and report which answers are right.

    The program reads a request per line and answers with a line: see docs/conformance.md. One that hangs,
    crashes or uses too much memory is reported and restarted.

    example:  kodec conform -- ./my-testee
              kodec conform --vectors vectors --report-format html --to report.html -- node my.js

    exit:     0 no unexpected failure   1 a failure, an unexpected pass, or no testee
              2 bad usage
    """
    try:
        from kodec.conformance.known import read_known
        from kodec.conformance.process import Failed, Limits
        from kodec.conformance.report import FORMS
        from kodec.conformance.run import run
        from kodec.conformance.suite import from_folder, from_schemas

        if vectors is not None and schemas is not None:
            raise BadParameter("--vectors and --schemas exclude each other")
        try:
            suite = from_folder(vectors) if vectors is not None else from_schemas(schemas or _SCHEMAS)
            report = run(suite, testee, Limits(seconds, memory << 20), read_known(known) if known else None)
        except Failed as error:
            lines.warn(f"{testee[0]}: {error.outcome}: {error}")
            raise Exit(1) from None
        except (ValueError, OSError) as error:
            lines.warn(*lines.lines_of(error))
            raise Exit(1) from None
    except ImportError as error:
        raise MissingDependency(f"schemas need `{error.name}`: {install_command('generator')}") from error
    text = FORMS[form.value](report)
    if form is Form.text:
        text = "\n".join(map(lines.printable, text.split("\n")))
    if to is None:
        sys.stdout.write(text)
    else:
        to.write_text(text, encoding="utf-8")
    if report.results and all(result.outcome == "unsupported" for result in report.results):
        lines.warn("kodec: the testee supports none of these types: nothing was checked")
        raise Exit(1)
    raise Exit(0 if report.is_right else 1)
