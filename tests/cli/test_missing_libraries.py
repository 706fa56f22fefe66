"""Without a library of an extra, each verb names it, and one command that installs what the extra needs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SCHEMA = "meta:\n  id: point\n  endian: be\nseq:\n  - id: x\n    type: s4\n"
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
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
MODULES = {"pyyaml": "yaml", "markdown-it-py": "markdown_it"}


@pytest.mark.parametrize(
    ("library", "extra", "words"),
    [
        ("pyyaml", "generator", "generate --schemas SCHEMAS --out OUT"),
        ("jinja2", "generator", "generate --schemas SCHEMAS --out OUT"),
        ("ruff", "generator", "generate --schemas SCHEMAS --out OUT"),
        ("jinja2", "generator", "generate --schemas SCHEMAS --out OUT --target java --option java.package=a"),
        ("pyyaml", "generator", "check-evolution SCHEMAS SCHEMAS"),
        ("pyyaml", "generator", "conform --schemas SCHEMAS -- true"),
        ("jinja2", "generator", "handoff --schemas SCHEMAS --out OUT"),
        ("markdown-it-py", "generator", "handoff --schemas SCHEMAS --out OUT"),
        ("pyyaml", "generator", "import-kafka SCHEMAS"),
        ("pyyaml", "generator", "explain LOG --offset 20 --count 1"),
        ("pyyaml", "generator", "scan --schema SCHEMAS/point.ksy LOG --to OUT"),
        ("pyarrow", "arrow", "scan --schema SCHEMAS/point.ksy LOG --to OUT"),
        ("pygal", "report", "report LOGS --out OUT"),
        ("pyarrow", "arrow", "export LOGS --to OUT"),
        ("pyspark", "spark", "export LOGS --to OUT --engine spark"),
        ("deltalake", "lake", "export LOGS --to OUT --format delta"),
        ("pyiceberg", "lake", "export LOGS --to OUT --format iceberg"),
        ("obstore", "store", "ls s3://bucket/logs"),
    ],
)
def test_a_missing_library(library: str, extra: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "point.ksy").write_text(SCHEMA)
    places = {"SCHEMAS": tmp_path / "schemas", "OUT": tmp_path / "out", "LOGS": LOGS, "LOG": LOG}
    line = re.sub("|".join(places), lambda found: str(places[found[0]]), words)
    module = MODULES.get(library, library)
    command = [sys.executable, "-c", CODE, module, *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (said,) = [each for each in done.stderr.splitlines() if "pip install" in each]
    assert re.search(rf"(needs? `|read with ){module}\b", said)
    installed = shlex.split(said[said.index("pip install") :])[2:]
    assert not any(each.startswith("kodec") for each in installed)
    names = {re.match(r"[\w.-]+", each)[0] for each in installed}
    assert library in names
    assert names >= {re.match(r"[\w.-]+", each)[0] for each in EXTRAS[extra]}
    assert not (tmp_path / "out").exists()


def test_code_names_only_extras_that_exist() -> None:
    named = {
        extra
        for folder in ("generator", "runtime", "src/kodec")
        for path in (ROOT / folder).rglob("*.py")
        for call in re.findall(r"install_command\(([^)]*)\)", path.read_text())
        for extra in re.findall(r"[\"'](\w+)[\"']", call)
    }
    assert named - EXTRAS.keys() == set()
    assert named >= {"arrow", "generator", "report", "spark", "store", "testing", "values"}
