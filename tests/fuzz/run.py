"""Builds the fuzz targets and runs them: python tests/fuzz/run.py [--seconds N] [--cc COMPILER] [KERNEL]...

With a clang that has libFuzzer it is used; else gcc or cc with the sanitizers, and the driver in this folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kodec.runtime.native import include_dir

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KERNELS = ("record_batch", "message_set", "codecs")
FLAGS = ("-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-fno-sanitize-recover=all")
LARGEST = 4096


@dataclass(frozen=True)
class Compiler:
    """A C compiler with sanitizers, and whether it has libFuzzer."""

    command: str
    fuzzer: bool

    def build(self, kernel: str, into: Path) -> Path:
        """The program that fuzzes a kernel. Raises CalledProcessError."""
        program = into / f"fuzz-{kernel}"
        sources = [HERE / f"{kernel}.c", *([] if self.fuzzer else [HERE / "driver.c"])]
        include = [f"-I{ROOT / 'generated' / 'kernels'}", f"-I{include_dir()}"]
        self._run([*FLAGS, *include, *map(str, sources), "-o", str(program)])
        return program

    def _run(self, arguments: Sequence[str]) -> None:
        kinds = "fuzzer,address,undefined" if self.fuzzer else "address,undefined"
        subprocess.run([self.command, f"-fsanitize={kinds}", *arguments], check=True)

    def works(self) -> bool:
        """Whether a program with these sanitizers can be built and run."""
        entry = (
            "int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n)"
            if self.fuzzer
            else "int main(void)"
        )
        with tempfile.TemporaryDirectory(prefix="kodec-fuzz-") as folder:
            source, program = Path(folder, "probe.c"), Path(folder, "probe")
            uses = "(void)p, (void)n; " if self.fuzzer else ""
            source.write_text(f"{entry};\n{entry} {{ {uses}return 0; }}\n")
            arguments = ["-runs=1"] if self.fuzzer else []
            try:
                self._run([str(source), "-o", str(program)])
                subprocess.run([str(program), *arguments], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                return False
        return True


def compiler(command: str | None = None, *, fuzzer: bool = True) -> Compiler | None:
    """The first that works, of the usual ones or the given one; with libFuzzer where it may."""
    usual = [os.environ.get("CLANG", "clang"), *(f"clang-{version}" for version in range(22, 13, -1))]
    clangs = [command] if command else [name for name in usual if shutil.which(name)]
    others = [command] if command else [name for name in ("gcc", "cc", *clangs) if shutil.which(name)]
    found = [Compiler(name, fuzzer=True) for name in clangs if fuzzer]
    found += [Compiler(name, fuzzer=False) for name in others]
    return next((each for each in found if each.works()), None)


def fuzz(tool: Compiler, program: Path, inputs: Path, seconds: float, found: Path, seed: int = 1) -> int:
    """Run a target over the inputs and changed ones; what it returns is 0 if all is well.

    An input that fails is left in the folder `found`.
    """
    found.mkdir(parents=True, exist_ok=True)
    if tool.fuzzer:
        options = [f"-max_total_time={int(seconds)}", f"-max_len={LARGEST}", f"-artifact_prefix={found}/"]
        options += ["-timeout=10", "-print_final_stats=1", "-verbosity=0", f"-seed={seed}"]
        with tempfile.TemporaryDirectory(prefix="kodec-fuzz-") as corpus:
            return subprocess.run([str(program), *options, corpus, str(inputs)], check=False).returncode
    environment = {**os.environ, "KODEC_FUZZ_CRASH": str(found / f"crash-{program.name}")}
    command = [str(program), str(seconds), str(seed), str(inputs)]
    return subprocess.run(command, env=environment, check=False).returncode


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("kernels", nargs="*", default=KERNELS)
    options.add_argument("--seconds", type=float, default=25, help="for each kernel")
    options.add_argument("--cc", help="the compiler")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--into", type=Path, default=ROOT / ".cache" / "fuzz")
    given = options.parse_args()
    tool = compiler(given.cc)
    if tool is None:
        print("no C compiler with sanitizers: clang, gcc or cc", file=sys.stderr)
        return 1
    given.into.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, str(HERE / "inputs.py"), str(given.into / "inputs")], check=True)
    failed = 0
    for kernel in given.kernels:
        print(f"{kernel}: {tool.command}, {'libFuzzer' if tool.fuzzer else 'driver.c'}", flush=True)
        program = tool.build(kernel, given.into)
        inputs, found = given.into / "inputs" / kernel, given.into / "found"
        failed |= fuzz(tool, program, inputs, given.seconds, found, given.seed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
