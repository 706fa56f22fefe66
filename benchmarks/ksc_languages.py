"""ksc's readers in C++ and Rust, compiled and timed: what stands beside Python's for scale.

A runtime is searched for in a folder (`--runtimes`, by default `.cache/ksc-runtimes`), under the name of its
repository, as in `tests.ksc.compilers`. Without a runtime or a compiler the language is left out, with the
reason; so is a format whose sources the compiler refuses.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.ksc import oracle

__all__ = ["LANGUAGES", "Language", "Readers", "prepared"]

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 900

CPP = """\
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <kaitai/kaitaistream.h>
#include "{module}.h"

static double now() {{
  timespec at;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}}

int main(int, char** argv) {{
  std::ifstream file(argv[1], std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (int i = std::atoi(argv[2]); i > 0; i--) {{
    const double start = now();
    kaitai::kstream io(data);
    {module}_t* const found = new {module}_t(&io);
    std::printf("%.4f\\n", now() - start);
    delete found;
  }}
}}
"""

RUST = """\
#![allow(warnings)]
mod formats {{
{modules}
}}
use formats::{module}::{type};
use kaitai::*;

#[repr(C)]
struct Time {{
    seconds: i64,
    nanoseconds: i64,
}}
extern "C" {{
    fn clock_gettime(clock: i32, to: *mut Time) -> i32;
}}

/// Milliseconds of the process's CPU time.
fn now() -> f64 {{
    let mut at = Time {{ seconds: 0, nanoseconds: 0 }};
    unsafe {{ clock_gettime(2, &mut at) }};
    at.seconds as f64 * 1e3 + at.nanoseconds as f64 / 1e6
}}

fn main() {{
    let given: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&given[1]).unwrap();
    for _ in 0..given[2].parse::<usize>().unwrap() {{
        let start = now();
        let io = BytesReader::from(&data[..]);
        let found: OptRc<{type}> = {type}::read_into::<_, {type}>(&io, None, None).unwrap();
        println!("{{:.4}}", now() - start);
        drop(found);
    }}
}}
"""

CARGO = """\
[package]
name = "ksc-readers"
version = "0.0.0"
edition = "2018"
publish = false

[dependencies]
kaitai = {{ path = "{runtime}" }}
"""


@dataclass(frozen=True)
class Language:
    """A language of ksc: its target, its compiler, the repository of its runtime, and how a reader is built.

    `build` gets the folder of sources, that of the runtime, and a module; it returns the program.
    Raises: CalledProcessError, with what the compiler printed.
    """

    name: str
    target: str
    compiler: str
    repository: str
    build: Callable[[Path, Path, str], Path]


def _closure(module: str, text: Callable[[str], str], pattern: str) -> list[str]:
    """A module and all that it uses, and what these use."""
    found: dict[str, None] = {}
    left = [module]
    while left:
        if (name := left.pop()) not in found:
            found[name] = None
            left += re.findall(pattern, text(name))
    return list(found)


def _run(command: Iterable[object], folder: Path, **more: str) -> str:
    done = subprocess.run(
        [str(each) for each in command],
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    return done.stdout


def _cpp(folder: Path, runtime: Path, module: str) -> Path:
    names = _closure(module, lambda name: (folder / f"{name}.h").read_text(), r'#include "(\w+)\.h"')
    main, program = folder / f"main_{module}.cc", folder / f"{module}.out"
    main.write_text(CPP.format(module=module))
    sources = [main, *(folder / f"{name}.cpp" for name in names), runtime / "kaitai" / "kaitaistream.cpp"]
    flags = ["-std=c++11", "-O2", "-w", "-DKS_STR_ENCODING_ICONV", "-DKS_ZLIB", "-I", runtime, "-I", folder]
    _run(["g++", *flags, *sources, "-lz", "-o", program], folder)
    return program


def _rust(folder: Path, runtime: Path, module: str) -> Path:
    names = _closure(module, lambda name: (folder / f"{name}.rs").read_text(), r"use super::(\w+)::")
    crate = folder / "crate"
    sources = crate / "src" / "bin"
    sources.mkdir(parents=True, exist_ok=True)
    (crate / "Cargo.toml").write_text(CARGO.format(runtime=runtime))
    modules = "\n".join(f'    #[path = "{folder / name}.rs"]\n    pub mod {name};' for name in names)
    kind = "".join(part.capitalize() for part in module.split("_"))
    (sources / f"{module}.rs").write_text(RUST.format(modules=modules, module=module, type=kind))
    built = ROOT / ".cache" / "cargo"
    _run(["cargo", "build", "--quiet", "--release", "--bin", module], crate, CARGO_TARGET_DIR=str(built))
    return Path(shutil.copy(built / "release" / module, folder / f"{module}.out"))


LANGUAGES = (
    Language("C++", "cpp_stl", "g++", "kaitai_struct_cpp_stl_runtime", _cpp),
    Language("Rust", "rust", "cargo", "kaitai_struct_rust_runtime", _rust),
)


@dataclass
class Readers:
    """The readers of one language.

    Attributes:
        absent: why the language is left out; empty if it is not.
        refused: of each format that is left out, why.
    """

    language: Language
    folder: Path
    runtime: Path
    absent: str = ""
    refused: dict[str, str] = field(default_factory=dict)

    def milliseconds(self, schema: str, data: bytes, rounds: int) -> float | None:
        """The CPU time of reading `data` into objects, the median of some rounds; None if it is left out."""
        if self.absent:
            return None
        module = schema.rpartition("/")[2]
        sample = self.folder / f"{module}.sample"
        sample.write_bytes(data)
        try:
            program = self.language.build(self.folder, self.runtime, module)
            times = _run([program, sample, rounds], self.folder).split()
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            lines = str(getattr(error, "stderr", None) or error).strip().splitlines()
            self.refused[schema] = next((line for line in lines if "rror" in line), (lines or ["?"])[-1])
            return None
        return statistics.median(map(float, times))


def prepared(scratch: Path, runtimes: Path, formats: Path) -> list[Readers]:
    """The sources of both languages for all schemas in a folder, as far as compilers and runtimes are there.

    Raises: as `tests.ksc.oracle.compile_schemas`.
    """
    found = []
    for language in LANGUAGES:
        runtime = (runtimes / language.repository).resolve()
        absent = "" if shutil.which(language.compiler) else f"no {language.compiler}"
        if not runtime.is_dir():
            absent = f"no {language.repository} in {runtimes}"
        found.append(Readers(language, scratch / language.target, runtime, absent))
    targets = tuple(each.language.target for each in found if not each.absent)
    if targets:
        oracle.compile_schemas(scratch, targets, formats)
    return found
