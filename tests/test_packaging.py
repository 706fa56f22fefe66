"""What is installed is one package, whole, with no more asked of its user than was said."""

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from kodec.log import kernel
from kodec.runtime import native
from tests.golden import Golden

ROOT = Path(__file__).parent.parent
LINKED = ["generated", "generator", "runtime", "schemas"]
OWN = ["cli", "formats", "importer", "log", "pipeline", "report"]
PLACES = {name: ROOT / name for name in LINKED} | {name: ROOT / "src" / "kodec" / name for name in OWN}
NOT_PACKAGED = {".venv", ".cache", ".git", "build", "dist", "out", "tests", "benchmarks", "docs"}
KERNELS = sorted(path.stem for path in (ROOT / "generated" / "kernels").glob("*.pyi"))
HEADERS = {"kodec_arrow.h", "kodec_codecs.h", "kodec_core.h", "kodec_kernel.h", "kodec_objects.h"}
HEADERS |= {"kodec_arrow_abi.h", "kodec_bytes.h"}
HEADERS |= {"kodec_message.h", "kodec_message_read.h", "kodec_message_write.h"}
HEADERS |= {
    "kodec_streams.h",
    "kodec_frames.h",
    "kodec_table.h",
    "kodec_fill.h",
    "kodec_program.h",
    "kodec_numbers.h",
}
SOURCES = {"bindings.pyx", "bindings.pyi", "messages.c", "messages.pyi", "streams.c", "streams.pyi"}
PARTS = {"table.pxi", "kernel.pxi", "columns.pxi", "objects.pxi", "writing.pxi", "order.pxi"}
PARTS |= {"hashing.pxi", "heads.pxi"}
NO_COMPILER = {"CC": "/bin/false"}


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", PLACES)
def test_every_module_on_disk_imports_under_the_package(folder: str) -> None:
    # examples are programs for the folder of a hand-off, next to the modules that it holds
    paths = sorted(each for each in PLACES[folder].rglob("*.py") if "examples" not in each.parts)
    assert paths
    for path in paths:
        parts = path.relative_to(PLACES[folder].parent).with_suffix("").parts
        importlib.import_module(".".join(("kodec", *parts)).removesuffix(".__init__"))


@pytest.mark.parametrize("folder", LINKED)
def test_links_for_type_checkers_point_at_the_root_folders(folder: str) -> None:
    assert (ROOT / "src" / "kodec" / folder).resolve() == (ROOT / folder).resolve()


def test_no_root_folder_is_importable_by_its_own_name() -> None:
    code = f"import importlib.util as u; print([n for n in {list(PLACES)!r} if u.find_spec(n)])"
    assert run(sys.executable, "-I", "-c", code).strip() == "[]"


def test_a_folder_of_our_name_hides_nothing(tmp_path: Path) -> None:
    """An editable install is a path, which comes before folders without a module in them."""
    (tmp_path / "kodec").mkdir()
    code = "import kodec; print(kodec.read_records.__module__)"
    assert run(sys.executable, "-c", code, cwd=tmp_path).startswith("kodec")


def test_the_codec_needs_none_of_the_extras() -> None:
    extras = ["jinja2", "py4j", "pyarrow", "pyspark", "rich", "yaml"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({extras!r}))\n"
        "import kodec\n"
        "from kodec import Record, encode, read_records\n"
        "data = encode([Record(offset=0, timestamp=0, timestamp_type=0, key=b'k', value=b'v')])\n"
        "print(len(list(read_records(data))))"
    )
    assert run(sys.executable, "-I", "-c", code).strip() == "1"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist that is made from a copy of the tree."""
    source = tmp_path_factory.mktemp("source") / "kodec"

    def skip(directory: str, names: list[str]) -> set[str]:
        return NOT_PACKAGED & set(names) if Path(directory) == ROOT else set()

    shutil.copytree(ROOT, source, symlinks=True, ignore=skip)
    target = tmp_path_factory.mktemp("sdist")
    hook = f"import setuptools.build_meta as b; b.build_sdist({str(target)!r})"
    run(sys.executable, "-c", hook, cwd=source)
    return next(target.glob("*.tar.gz"))


def build_wheel(sdist: Path, folder: Path, **environment: str) -> tuple[Path | None, str]:
    """The wheel that is made from the unpacked sdist, None if none could be, and what the build said."""
    shutil.unpack_archive(sdist, folder / "source")
    done = subprocess.run(
        [sys.executable, "-c", "import setuptools.build_meta as b; b.build_wheel('../..')"],
        cwd=next((folder / "source").iterdir()),
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    wheel = next(folder.glob("*.whl"), None)
    assert (wheel is not None) == (done.returncode == 0), done.stdout
    return wheel, done.stdout


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is made from the sdist; with the kernels where this clone has them."""
    environment = {"KODEC_NATIVE": "require" if kernel.is_built() else "auto"}
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))[0]
    if shutil.which(compiler) is None and importlib.util.find_spec("ziglang"):
        environment["CC"] = f"{shlex.quote(sys.executable)} -I -m ziglang cc"
    wheel, said = build_wheel(sdist, tmp_path_factory.mktemp("wheel"), **environment)
    assert wheel is not None, said
    return wheel


@pytest.mark.thorough
def test_the_wheel_holds_one_package_with_its_data(wheel: Path) -> None:
    names = names_in(wheel)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"kodec"}
    for folder in PLACES.values():
        # what has no `__init__.py` next to it is no module: a script of the build
        modules = (path for path in folder.rglob("*.py") if (path.parent / "__init__.py").exists())
        on_disk = {f"kodec/{path.relative_to(folder.parent).as_posix()}" for path in modules}
        assert on_disk <= names
    patterns = (
        "schemas/**/*.ksy",
        "generator/targets/*/templates/*.j2",
        "generated/**/*.pyi",
        "runtime/native/*.h",
        "runtime/native/*.pyi",
    )
    for pattern in patterns:
        data = {f"kodec/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob(pattern)}
        assert data
        assert data <= names
    pages = {f"kodec/cli/templates/{each.name}" for each in (ROOT / "src/kodec/cli/templates").iterdir()}
    assert pages
    assert pages <= names
    assert "kodec/py.typed" in names


@pytest.mark.thorough
def test_the_wheel_holds_the_kernels_that_this_clone_has(wheel: Path) -> None:
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    kernels = (f"generated/kernels/{name}" for name in KERNELS)
    native = (f"runtime/native/{name}" for name in ("bindings", "mapping", "messages", "streams"))
    modules = (*native, *kernels)
    wanted = {f"kodec/{name}{suffix}" for name in modules} if kernel.is_built() else set()
    assert {name for name in names_in(wheel) if name.endswith((".so", ".pyd"))} == wanted
    assert wheel.name.endswith("-py3-none-any.whl") == (not kernel.is_built())


def test_the_sdist_holds_the_root_folders_and_no_links(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert not [member.name for member in members if member.issym()]
    held = {"/".join(member.name.split("/")[1:]) for member in members}
    assert {f"{folder.relative_to(ROOT)}/__init__.py" for folder in PLACES.values()} <= held


def test_the_sdist_holds_what_kernels_are_built_from_and_nothing_that_was_built(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {"/".join(name.split("/")[1:]) for name in archive.getnames()}
    assert {f"runtime/native/{name}" for name in (*HEADERS, *PARTS, *SOURCES)} <= held
    assert "runtime/native/bindings.c" not in held
    in_kernels = {name.rpartition("/")[2] for name in held if name.startswith("generated/kernels/")}
    parts = (".c", ".pyi", "_core.c", "_core.h")
    assert KERNELS
    assert in_kernels == {"__init__.py", *(name + part for name in KERNELS for part in parts)}


@pytest.mark.parametrize("environment", [NO_COMPILER, {"KODEC_NATIVE": "off"}], ids=["no compiler", "off"])
def test_a_wheel_without_kernels_is_for_every_platform(
    environment: dict[str, str], sdist: Path, tmp_path: Path
) -> None:
    wheel, said = build_wheel(sdist, tmp_path, **{"KODEC_NATIVE": "auto", **environment})
    assert wheel is not None, said
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in names_in(wheel) if name.endswith((".so", ".pyd"))]
    assert ("NO NATIVE KERNEL" in said) == (environment == NO_COMPILER)


def test_required_kernels_need_a_compiler(sdist: Path, tmp_path: Path) -> None:
    wheel, said = build_wheel(sdist, tmp_path, **NO_COMPILER, KODEC_NATIVE="require")
    assert wheel is None
    assert "/bin/false" in said


def test_the_switch_knows_three_words(sdist: Path, tmp_path: Path, golden: Golden) -> None:
    wheel, said = build_wheel(sdist, tmp_path, KODEC_NATIVE="maybe")
    assert wheel is None
    golden(said)


def test_headers_for_kernels_of_other_schemas_are_where_include_dir_says() -> None:
    assert {path.name for path in Path(native.include_dir()).glob("*.h")} == HEADERS


METADATA = """
import sys
from setuptools import build_meta
print(build_meta.prepare_metadata_for_build_wheel(sys.argv[1]))
"""


@pytest.mark.parametrize("base", ["", "https://example.org/owner/kodec"], ids=["nowhere", "somewhere"])
def test_links_of_the_description_work_on_a_package_index(sdist: Path, tmp_path: Path, base: str) -> None:
    with tarfile.open(sdist) as archive:
        # Python 3.11.3 and older have no filter
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (folder,) = tmp_path.iterdir()
    project = folder / "pyproject.toml"
    if base:
        project.write_text(f'{project.read_text("utf-8")}\n[project.urls]\nRepository = "{base}/"\n', "utf-8")
    made = run(sys.executable, "-c", METADATA, tmp_path, cwd=folder).splitlines()[-1]
    text = (tmp_path / made / "METADATA").read_text("utf-8")
    links = re.findall(r"!?\[[^\]]*\]\([^)]*\)", text)
    assert links and all(re.search(r"\]\(https?://", link) for link in links)
    pictures = [link for link in links if link.startswith("!")]
    assert bool(pictures) == bool(base) and all(f"({base}/raw/HEAD/docs/" in link for link in pictures)
    assert (f"]({base}/blob/HEAD/docs/install.md)" in text) == bool(base)


def test_every_extra_is_in_all_and_none_is_in_the_core() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    everything = re.fullmatch(r"kodec\[(.+)\]", extras["all"][0])
    assert everything is not None
    assert set(everything[1].split(",")) == set(extras) - {"all"}
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    for extra in extras:
        assert re.search(rf"\| `pip install '\.\[(\w+,)*{extra}\b", page), f"docs/install.md: {extra}"
        assert extra == "all" or f"\n| {extra} | " in page, f"docs/install.md: the size of {extra}"
    core = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]}
    assert core == {"crc32c", "cramjam", "python-snappy", "zstandard"}


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.stem)
def test_locks_pin_versions_by_hash_and_name_no_server(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    for entry in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[\w.-]+==\S+", entry)
        assert "--hash=sha256:" in entry


def test_the_lock_of_what_runs_on_node_names_no_server() -> None:
    assert "://" not in (ROOT / "tools" / "node" / "package-lock.json").read_text(encoding="utf-8")
