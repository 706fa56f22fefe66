"""What is installed is one package, whole, with no more asked of its user than was said."""

import importlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ["cli", "generated", "generator", "log", "pipeline", "runtime", "schemas"]
NOT_PACKAGED = {".venv", ".cache", ".git", "build", "dist", "out", "tests", "benchmarks", "docs"}


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_on_disk_imports_under_the_package(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    for path in paths:
        parts = path.relative_to(ROOT).with_suffix("").parts
        importlib.import_module(".".join(("kodec", *parts)).removesuffix(".__init__"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_links_for_type_checkers_point_at_the_root_folders(folder: str) -> None:
    assert (ROOT / "src" / "kodec" / folder).resolve() == (ROOT / folder).resolve()


def test_no_root_folder_is_importable_by_its_own_name() -> None:
    code = f"import importlib.util as u; print([n for n in {FOLDERS!r} if u.find_spec(n)])"
    assert run(sys.executable, "-I", "-c", code).strip() == "[]"


def test_the_codec_needs_none_of_the_extras() -> None:
    extras = ["jinja2", "py4j", "pyarrow", "pyspark", "rich", "typer", "yaml"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({extras!r}))\n"
        "import kodec\n"
        "from kodec import Record, encode, read_records\n"
        "print(len(list(read_records(encode([Record(0, 0, 0, b'k', b'v', ())])))))"
    )
    assert run(sys.executable, "-I", "-c", code).strip() == "1"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist and the wheel that is made from it, built from a copy of the tree."""
    source = tmp_path_factory.mktemp("source") / "kodec"

    def skip(directory: str, names: list[str]) -> set[str]:
        return NOT_PACKAGED & set(names) if Path(directory) == ROOT else set()

    shutil.copytree(ROOT, source, symlinks=True, ignore=skip)
    target = tmp_path_factory.mktemp("dist")
    hook = f"import setuptools.build_meta as b; b.build_sdist({str(target)!r})"
    run(sys.executable, "-c", hook, cwd=source)
    sdist = next(target.glob("*.tar.gz"))
    install = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*install, "--no-index", "--wheel-dir", target, sdist)
    return target


def test_the_wheel_holds_one_package_with_its_data(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"kodec"}
    for folder in FOLDERS:
        on_disk = {f"kodec/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / folder).rglob("*.py")}
        assert on_disk <= set(names)
    for pattern in ("schemas/**/*.ksy", "generator/templates/**/*.j2"):
        data = {f"kodec/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob(pattern)}
        assert data
        assert data <= set(names)
    assert "kodec/py.typed" in names


def test_the_sdist_holds_the_root_folders_and_no_links(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        members = sdist.getmembers()
    assert not [member.name for member in members if member.issym()]
    held = {"/".join(member.name.split("/")[1:]) for member in members}
    assert {f"{folder}/__init__.py" for folder in FOLDERS} <= held


def test_every_extra_is_in_all_and_none_is_in_the_core() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    everything = re.fullmatch(r"kodec\[(.+)\]", extras["all"][0])
    assert everything is not None
    assert set(everything[1].split(",")) == set(extras) - {"all"}
    core = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]}
    assert core == {"crc32c", "lz4", "python-snappy", "zstandard"}


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.stem)
def test_locks_pin_versions_by_hash_and_name_no_server(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    for entry in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[\w.-]+==\S+", entry)
        assert "--hash=sha256:" in entry


def test_the_lock_of_the_compiler_names_no_server() -> None:
    assert "://" not in (ROOT / "tools" / "ksc" / "package-lock.json").read_text(encoding="utf-8")
