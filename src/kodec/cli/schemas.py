"""Options that several verbs have which read by a schema."""

from __future__ import annotations

from kodec.cli.parser import Option

__all__ = ["IMPORT_PATH", "OVERLAY", "PARAM", "REPORT_FORMAT"]

IMPORT_PATH = Option(
    "-I",
    metavar="DIR",
    exists=True,
    file_okay=False,
    help="A further folder of schemas to import from; repeatable.",
)
REPORT_FORMAT = Option(
    "--report-format", help="How problems or results are shown: to people, programs or CI."
)
OVERLAY = Option(
    "--overlay",
    help="Further keys for a schema: x.overlay.yaml, or the id of one that kodec has; repeatable.",
)
PARAM = Option(
    "--param",
    metavar="NAME=VALUE",
    help="A parameter of the schema's type: version=3, raw=true, bytes in hexadecimal, an enum by its name; "
    "repeatable.",
)
