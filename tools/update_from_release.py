"""Updates the schemas from a release of Kafka: imported definitions, their vectors, and a changelog.

    python tools/update_from_release.py JARS OUT [--schemas DIR] [--version TEXT] [--target LANGUAGE]...

JARS is a jar of Kafka, or a folder of them. Schemas change as `kodec import-kafka --apply` changes them.
OUT becomes a kit as `kodec handoff` makes it, with the vectors for `kodec conform`, pages and the model;
its CHANGELOG.md, which is printed, shows the changes of the formats since the previous schemas, and
whether they are compatible.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kodec.handoff.kit import languages, make_kit, older_kit, write_folder
from kodec.importer.plan import plan_import
from kodec.runtime.errors import KodecError

SCHEMAS = Path(__file__).resolve().parents[1] / "schemas"


def new_suite(jars: Path, out: Path, schemas: Path, version: str, targets: Sequence[str]) -> str:
    """Import and pack, with code in the languages of `targets`; the changelog.

    Nothing is changed if `out` cannot hold a kit.
    Raises: as `plan_import`, `make_kit` and `write_folder`; ValueError if the jars define no message.
    """
    older_kit(out)
    with tempfile.TemporaryDirectory(prefix="kodec-suite-") as scratch:
        before = Path(scratch)
        write_folder(make_kit(schemas, targets=()), before)
        plan = plan_import(jars, schemas)
        if not plan.messages:
            raise ValueError(f"{jars}: no definition of a message")
        plan.apply()
        kit = make_kit(schemas, version=version, targets=targets, previous=before)
    write_folder(kit, out)
    return kit.files["CHANGELOG.md"].decode()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("jars", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--schemas", type=Path, default=SCHEMAS)
    parser.add_argument("--version", default="", help="the format version; a hash of the schemas by default")
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        choices=languages(),
        help="a language to generate; may be repeated",
    )
    given = parser.parse_args(arguments)
    try:
        print(new_suite(given.jars, given.out, given.schemas, given.version, given.target), end="")
    except (KodecError, ValueError, OSError) as error:
        print(f"suite: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
