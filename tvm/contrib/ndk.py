"""Linking for Android, by the compiler of its NDK.

    lib.export_library("model.so", fcompile=ndk.create_shared)

The environment variable TVM_NDK_CC names the compiler, as in
`$NDK/toolchains/llvm/prebuilt/linux-x86_64/bin/aarch64-linux-android30-clang++`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tvm.error import message
from tvm.runtime import linker

_VARIABLE = "TVM_NDK_CC"


def create_shared(
    output: str, objects: str | Sequence[str], options: Sequence[str] | None = None
) -> None:
    """Link object files to a shared library for Android."""
    compiler = _compiler()
    chosen = ["-fPIC", "-lm"] if options is None else options
    linker.create_shared(output, objects, ["-shared", *chosen], cc=compiler)


def create_staticlib(output: str, inputs: Sequence[str]) -> None:
    """Put object files into an archive."""
    linker.create_staticlib(output, inputs, ar=_tool("llvm-ar"))


def get_global_symbol_section_map(path: str, *, nm: str | None = None) -> dict[str, str]:
    """The global symbols of a file with the letter of the section that each is in."""
    return linker.get_global_symbol_section_map(path, nm=nm or _tool("llvm-nm"))


def _compiler() -> str:
    compiler = os.environ.get(_VARIABLE)
    if not compiler:
        raise RuntimeError(
            message(
                "link for Android",
                found=f"no environment variable {_VARIABLE}",
                legal=f"{_VARIABLE} with the path of a compiler of the NDK",
            )
        )
    return compiler


def _tool(name: str) -> str:
    """A program of the NDK, which stands beside its compiler."""
    beside = Path(_compiler()).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name) or shutil.which(name[5:])
    if found is None:
        raise RuntimeError(
            message(f"find {name}", found=f"none beside {_compiler()}", legal="an NDK from r23 on")
        )
    return found


def _target_triple() -> str | None:
    compiler = os.environ.get(_VARIABLE)
    return linker.get_target_by_dump_machine(compiler)() if compiler else None


create_shared.output_format = "so"  # type: ignore[attr-defined]
create_shared.get_target_triple = _target_triple  # type: ignore[attr-defined]
create_staticlib.output_format = "a"  # type: ignore[attr-defined]
