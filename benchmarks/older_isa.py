"""Runs a program as if this processor had AVX2 and no more, whatever it asks CPUID.

    TVM_NUM_THREADS=1 python -m benchmarks.older_isa -m benchmarks.vs_peers \\
        --target "llvm -mcpu=haswell" [--files FOLDER]

What follows is given to Python. All runtimes in that process choose kernels for AVX2, as ours do
for `-mcpu=haswell`: `older_isa.c` is compiled by the C compiler and preloaded. Takes Linux on an
x86-64 processor whose CPUID can fault; alone, it says whether this is one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_suffix(".c")
# A child asks CPUID for AVX-512 through the compiler's own builtin.
PROBE: Final = '#include <stdio.h>\nint main(void) { __builtin_cpu_init(); printf("%d %d\\n", \
!!__builtin_cpu_supports("avx2"), !!__builtin_cpu_supports("avx512f")); }\n'


def library(folder: Path) -> Path:
    """The compiled library, to be preloaded."""
    made = folder / "older_isa.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"], check=True
    )
    return made


def environment(folder: Path) -> dict[str, str]:
    """That of a process which has AVX2 and no more."""
    loaded = [str(library(folder)), os.environ.get("LD_PRELOAD", "")]
    return os.environ | {"LD_PRELOAD": ":".join(filter(None, loaded))}


def seen(folder: Path, env: dict[str, str]) -> tuple[bool, bool]:
    """Whether a program finds AVX2, and AVX-512."""
    source, program = folder / "probe.c", folder / "probe"
    source.write_text(PROBE)
    subprocess.run([os.environ.get("CC", "cc"), "-o", str(program), str(source)], check=True)
    told = subprocess.run([str(program)], env=env, capture_output=True, text=True, check=True)
    first, second = told.stdout.split()
    return first == "1", second == "1"


def main(arguments: list[str]) -> int:
    """Run Python with the arguments; without any, say what a program finds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = environment(folder)
        plain, masked = seen(folder, dict(os.environ)), seen(folder, env)
        print(f"AVX2, AVX-512 as found: {plain}; as told: {masked}", flush=True)
        if masked != (True, False):
            print("this machine cannot be held to AVX2", file=sys.stderr)
            return 1 if arguments else 0
        return subprocess.run([sys.executable, *arguments], env=env).returncode if arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
