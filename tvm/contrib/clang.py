"""The clang compiler of the system, as a maker of LLVM code from C."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tvm.error import message
from tvm.target.codegen import llvm_version_major

from . import utils

_SOURCES = (".c", ".cc", ".cpp")


def find_clang(required: bool = True) -> list[str]:
    """The clang compilers on the path, the newest first; RuntimeError if there has to be one."""
    newest = llvm_version_major(allow_none=True) or 0
    names = [*(f"clang-{version}" for version in (newest, newest - 1) if version > 0), "clang"]
    found = [path for path in map(shutil.which, names) if path is not None]
    if required and not found:
        raise RuntimeError(
            message("find clang", found="none on PATH", legal=f"one of {', '.join(names)}")
        )
    return found


def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """LLVM text of C sources: files, or the code itself; it is also written to `output`."""
    compiler = find_clang()[0] if cc is None else cc
    temp = utils.tempdir()
    sources = []
    for number, given in enumerate([inputs] if isinstance(inputs, str) else inputs):
        if given.endswith(_SOURCES):
            sources.append(given)
            continue
        source = Path(temp.relpath(f"input{number}.cc"))
        source.write_text(given, encoding="utf-8")
        sources.append(str(source))
    target = output or temp.relpath("output.ll")
    command = [compiler, "-S", "-emit-llvm", *(options or ()), "-o", target, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        found = done.stderr.strip() or f"code {done.returncode}"
        raise RuntimeError(message(" ".join(command), found=found, legal="C or C++ code"))
    return Path(target).read_text(encoding="utf-8")
