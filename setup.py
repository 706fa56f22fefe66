"""What pyproject.toml cannot say: which root folder becomes which package, the native kernels, and the jar.

KODEC_NATIVE=auto     build the kernels where a C compiler works, else pure Python (the default)
KODEC_NATIVE=require  build the kernels or fail (build servers, wheels)
KODEC_NATIVE=off      pure Python; the wheel is tagged py3-none-any

A kernel that fails to compile where the compiler works is an error under `auto` too: pip hides what a
successful build says, so nobody would hear of it.
"""

import importlib.util
import os
import re
import tempfile
import tomllib
from functools import cache
from pathlib import Path

from setuptools import Distribution, Extension, errors, find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

spec = importlib.util.spec_from_file_location("fresh", Path("src", "kodec", "pipeline", "jvm", "fresh.py"))
fresh = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fresh)

PACKAGE = "kodec"
# What stands at the root of a clone; src/kodec has a link to each.
FOLDERS = ["generated", "generator", "runtime", "schemas"]
KERNELS = Path("generated", "kernels")
HEADERS = Path("runtime", "native")
# -O3 and nothing for one processor only: the kernels look at run time for what it can do.
FLAGS = ["/O2"] if os.name == "nt" else ["-O3", "-g0", "-fvisibility=hidden"]

NATIVE = os.environ.get("KODEC_NATIVE", "auto")
if NATIVE not in ("auto", "require", "off"):
    raise SystemExit(f"KODEC_NATIVE={NATIVE!r}: expected auto, require or off")


def extension(source: Path, *parts: Path) -> Extension:
    """One extension: a kernel, which includes its core, or what all kernels are in Python."""
    return Extension(
        f"{PACKAGE}.{'.'.join(source.with_suffix('').parts)}",
        sources=[source.as_posix()],
        depends=[part.as_posix() for part in (*parts, *sorted(HEADERS.glob("*.h")))],
        include_dirs=[KERNELS.as_posix(), HEADERS.as_posix()],
        extra_compile_args=FLAGS,
    )


def extensions() -> list[Extension]:
    """The kernels, and their bindings; messages, and objects of streamed schemas."""
    cores = sorted(KERNELS.glob("*_core.c"))
    kernels = [core.with_name(core.name.replace("_core.c", ".c")) for core in cores]
    return [
        extension(HEADERS / "bindings.pyx", *sorted(HEADERS.glob("*.pxi"))),
        # where files are mapped that others may cut meanwhile, which Windows does not allow
        *([] if os.name == "nt" else [extension(HEADERS / "mapping.c")]),
        extension(HEADERS / "messages.c"),
        extension(HEADERS / "streams.c"),
        *(
            extension(kernel, core, core.with_suffix(".h"))
            for kernel, core in zip(kernels, cores, strict=True)
        ),
    ]


@cache
def why_no_compiler() -> str | None:
    """Why no C extension can be built here; None if one can."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\nPyMODINIT_FUNC PyInit_probe(void) { return NULL; }\n")
        probe = Distribution({"ext_modules": [Extension("probe", [str(source)])]})
        build = probe.get_command_obj("build_ext")
        build.build_lib = build.build_temp = folder
        try:
            build.ensure_finalized()
            build.run()
        except (errors.BaseError, errors.CCompilerError, OSError) as error:
            return str(error)
    return None


class KodecDistribution(Distribution):
    """Asks for the kernels only when they are about to be built, and only where they can be."""

    def has_ext_modules(self) -> bool:
        if self.ext_modules and NATIVE == "auto":
            why = why_no_compiler()
            if why is not None:
                line = "*" * 80
                text = f"kodec: NO NATIVE KERNEL, pure Python only: no C compiler works here ({why})"
                print(line, text, line, sep="\n", flush=True)
                self.ext_modules = []
        return super().has_ext_modules()


class KodecEditable(editable_wheel):
    """An editable install is src/ on the path, whose links are the folders, and no hook of the import system.

    A folder called `kodec` where Python was started is found before a hook is asked; type checkers ask none.
    """

    def finalize_options(self) -> None:
        if all(Path("src", PACKAGE, folder).is_dir() for folder in FOLDERS):
            self.distribution.package_dir = {"": "src"}
        super().finalize_options()


class BuildFiles(build_py):
    """Leaves out a jar that does not match its sources; building it needs a JDK and is a separate step."""

    def find_data_files(self, package: str, src_dir: str) -> list[str]:
        found = super().find_data_files(package, src_dir)
        jars = [path for path in found if path.endswith(".jar")]
        if package == f"{PACKAGE}.pipeline" and not fresh.is_fresh(Path()):
            line = "*" * 80
            text = (
                f"kodec: NO SPARK SOURCE FOR THE JVM: {fresh.JAR} is not of its sources; `make jar` builds it"
            )
            print(line, text, line, sep="\n", flush=True)
            found = [path for path in found if path not in jars]
        return found


own = find_packages(f"src/{PACKAGE}", exclude=[name for each in FOLDERS for name in (each, f"{each}.*")])
packages = [PACKAGE, *(f"{PACKAGE}.{name}" for name in own)]
for folder in FOLDERS:
    packages.append(f"{PACKAGE}.{folder}")
    packages += [f"{PACKAGE}.{folder}.{name}" for name in find_packages(folder)]


def readme() -> str:
    """README.md for a package index, where a link to a file of the repository leads nowhere.

    Links become those of the repository in [project.urls] of pyproject.toml. Without one, their words stay,
    and pictures go.
    """
    urls = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    base = urls.get("Repository", "").rstrip("/")

    def linked(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if base:
            return f"{picture}[{words}]({base}/{'raw' if picture else 'blob'}/HEAD/{target})"
        return "" if picture else words

    text = Path("README.md").read_text("utf-8")
    return re.sub(r"(!?)\[([^\]]*)\]\((?!\w+:)([^)#][^)]*)\)", linked, text)


setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    distclass=KodecDistribution,
    cmdclass={"build_py": BuildFiles, "editable_wheel": KodecEditable},
    packages=packages,
    package_dir={
        PACKAGE: f"src/{PACKAGE}",
        **{f"{PACKAGE}.{folder}": folder for folder in FOLDERS},
    },
    ext_modules=[] if NATIVE == "off" else extensions(),
)
