"""Without a library of an extra, each verb names it, and one command that installs what the extra needs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.data import DATA, LOGS, ROOT
from tests.stored_tiers import STORED

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SCHEMA = "meta:\n  id: point\n  endian: be\nseq:\n  - id: x\n    type: s4\n"
VALUES = DATA / "values/logs"
LOG = LOGS / "orders-0" / "00000000000000000000.log"
CODE = """
import sys
gone = sys.argv.pop(1)
class Finder:
    def find_spec(name, *_):
        if name.partition(".")[0] == gone:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Finder)
from kodec.cli.main import main
sys.exit(main())
"""
MODULES = {
    "pyyaml": "yaml",
    "markdown-it-py": "markdown_it",
    "protobuf": "google",
    "pycryptodomex": "Cryptodome",
}
# A command that needs a library, which is named in one line.
NEEDS = [
    ("pyyaml", "generator", "generate --schemas SCHEMAS --to OUT"),
    ("jinja2", "generator", "generate --schemas SCHEMAS --to OUT"),
    ("ruff", "generator", "generate --schemas SCHEMAS --to OUT"),
    ("jinja2", "generator", "generate --schemas SCHEMAS --to OUT --target java --option java.package=a"),
    ("pyyaml", "generator", "check-evolution SCHEMAS SCHEMAS"),
    ("pyyaml", "generator", "conform --schemas SCHEMAS -- true"),
    ("jinja2", "generator", "handoff --schemas SCHEMAS --to OUT"),
    ("markdown-it-py", "generator", "handoff --schemas SCHEMAS --to OUT"),
    ("pyyaml", "generator", "import-kafka SCHEMAS"),
    ("pyyaml", "generator", "explain LOG --offset 20 --limit 1"),
    ("pyyaml", "generator", "scan --schema SCHEMAS/point.ksy LOG --to OUT"),
    ("pyarrow", "arrow", "scan --schema SCHEMAS/point.ksy LOG --to OUT"),
    ("pygal", "report", "report LOGS --to OUT"),
    ("pyarrow", "arrow", "export LOGS --to OUT"),
    ("pyspark", "spark", "export LOGS --to OUT --engine spark"),
    ("deltalake", "lake", "export LOGS --to OUT --format delta"),
    ("pyiceberg", "lake", "export LOGS --to OUT --format iceberg"),
    ("obstore", "store", "ls s3://bucket/logs"),
    ("pycryptodomex", "tier", "verify TIER --tier-key KEY"),
    ("fastavro", "values", "find VALUES --topic orders"),
    ("protoxy", "values", "find VALUES --topic shipments"),
    ("protobuf", "values", "find VALUES --topic shipments"),
    ("pyruhvro", "values", "export VALUES --topic orders --value-format avro --to OUT"),
]
# A command that does without a library.
WORKS = [
    ("rich", "cli", "export LOGS --to OUT"),
    ("isal", "fast", "verify LOGS"),
    ("lz4", "fast", "verify LOGS"),
]
# Tests that `kodec generate` makes import `testing`, as the command reports; `all` has the others.
OTHERS = {"testing", "all"}


@pytest.mark.parametrize(("library", "extra", "words"), NEEDS)
def test_a_missing_library(library: str, extra: str, words: str, tmp_path: Path) -> None:
    module = MODULES.get(library, library)
    done = without(module, words, tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (said,) = [each for each in done.stderr.splitlines() if "pip install" in each]
    assert re.search(rf"(needs? `|read with |need ){module if extra != 'tier' else library}\b", said)
    installed = shlex.split(said[said.index("pip install") :])[2:]
    assert not any(each.startswith("kodec") for each in installed)
    names = {re.match(r"[\w.-]+", each)[0] for each in installed}
    assert library in names
    assert names >= {re.match(r"[\w.-]+", each)[0] for each in EXTRAS[extra]}
    assert not (tmp_path / "out").exists()


def without(module: str, words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where a module cannot be imported."""
    (folder / "schemas").mkdir()
    (folder / "schemas" / "point.ksy").write_text(SCHEMA)
    places = {"SCHEMAS": folder / "schemas", "OUT": folder / "out", "LOGS": LOGS, "LOG": LOG}
    places |= {"VALUES": VALUES, "TIER": STORED / "aes", "KEY": STORED / "key1.pem"}
    line = re.sub(r"\b[A-Z]{3,}\b", lambda found: str(places[found[0]]), words)
    command = [sys.executable, "-c", CODE, module, *line.split()]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize(("library", "extra", "words"), WORKS)
def test_what_is_done_without_a_library(library: str, extra: str, words: str, tmp_path: Path) -> None:
    assert library in " ".join(EXTRAS[extra])
    done = without(library, words, tmp_path)
    assert (done.returncode, "Traceback" in done.stderr, "pip install" in done.stderr) == (0, False, False)


def test_every_library_of_every_extra_is_tried() -> None:
    tried = {extra: {library for library, of, _ in (*NEEDS, *WORKS) if of == extra} for extra in EXTRAS}
    # those that others bring to their readers
    tried["report"] |= {"jinja2", "pyarrow"}
    tried["lake"] |= {"pyarrow"}
    tried["spark"] |= {"pyarrow"}
    for extra in EXTRAS.keys() - OTHERS:
        assert {re.match(r"[\w.-]+", each)[0] for each in EXTRAS[extra]} == tried[extra], extra


def test_code_names_only_extras_that_exist() -> None:
    named = {
        extra
        for folder in ("generator", "runtime", "src/kodec")
        for path in (ROOT / folder).rglob("*.py")
        for call in re.findall(r"install_command\(([^)]*)\)", path.read_text())
        for extra in re.findall(r"[\"'](\w+)[\"']", call)
    }
    assert named - EXTRAS.keys() == set()
    assert named >= {"arrow", "generator", "report", "spark", "store", "testing", "tier", "values"}
