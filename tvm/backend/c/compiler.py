"""The system's C compiler, with the options that generated code relies on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tvm.ffi import library
from tvm.runtime import linker
from tvm.target import Target

from .source_text import FLAGS


def options_of(target: Target | None) -> list[str]:
    """The options for code, with the CPU that a target names."""
    found = list(FLAGS)
    if target is not None:
        march = str(target.attrs.get("march", ""))
        if march:
            found.append(f"-march={march}")
        elif target.mcpu:
            found.append(f"-mcpu={target.mcpu}")
    return found


def link_options() -> list[str]:
    """The libraries that generated code may call."""
    ffi = Path(library().libinfo.find_libtvm_ffi())
    return [f"-L{ffi.parent}", "-ltvm_ffi", "-lm"]


def compile_shared(
    files: Sequence[str],
    output: str,
    target: Target | None = None,
    cc: str | None = None,
    options: Sequence[str] = (),
) -> None:
    """Make a shared library of C files and objects; LinkError says what the compiler said."""
    linker.create_shared(
        output, list(files), [*options_of(target), *link_options(), *options], cc=cc
    )
