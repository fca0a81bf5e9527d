"""CUDA text compiled in this process by NVRTC, where cuda-bindings and NVRTC are installed."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tvm.error import TVMError, message

FORMATS = ("ptx", "cubin")


@functools.cache
def _library() -> Any:
    """cuda.bindings.nvrtc, or None where it or what it loads is missing."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError):
        return None
    return nvrtc


def available() -> bool:
    """Whether NVRTC can be used here."""
    return _library() is not None


def supported_archs() -> list[int]:
    """The machines it makes cubins for, as [75, 80, 90]."""
    return [int(number) for number in _call("nvrtcGetSupportedArchs", None)[1]]


@functools.cache
def include_folders() -> list[str]:
    """Folders with CUDA's headers: of CUDA_PATH, and of the packages of PyPI."""
    folders = []
    if "CUDA_PATH" in os.environ:
        folders.append(Path(os.environ["CUDA_PATH"]) / "include")
    spec = importlib.util.find_spec("nvidia")
    for home in spec.submodule_search_locations or () if spec is not None else ():
        folders += [*Path(home).glob("cu*/include"), *Path(home).glob("cuda_runtime/include")]
    folders.append(Path("/usr/local/cuda/include"))
    return [str(folder) for folder in folders if (folder / "cuda_fp16.h").exists()]


def compile_source(
    code: str, target_format: str = "cubin", arch: str | None = None, options: Sequence[str] = ()
) -> bytes:
    """CUDA text as "cubin" for a machine ("sm_90"), or as "ptx" that newer ones take as well.

    A machine that this NVRTC does not know gets PTX of the newest one that it knows. TVMError
    has the compiler's words.
    """
    if target_format not in FORMATS:
        raise ValueError(
            message("compile CUDA", found=f"{target_format=}", legal=", ".join(FORMATS))
        )
    arch = arch or f"sm_{max(supported_archs())}"
    number = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if number is None:
        raise ValueError(message("compile CUDA", found=f"{arch=}", legal='as "sm_90"'))
    known = supported_archs()
    if int(number[1]) > max(known):
        arch, target_format = f"sm_{max(known)}", "ptx"
    machine = arch if target_format == "cubin" else arch.replace("sm_", "compute_")
    flags = [f"--gpu-architecture={machine}", "-default-device", *options,
             *(f"-I{folder}" for folder in include_folders())]  # fmt: skip
    _, program = _call("nvrtcCreateProgram", None, code.encode(), b"kernels.cu", 0, [], [])
    try:
        _call("nvrtcCompileProgram", program, program, len(flags), [f.encode() for f in flags])
        getter = "nvrtcGetCUBIN" if target_format == "cubin" else "nvrtcGetPTX"
        return _text(program, getter)
    finally:
        _library().nvrtcDestroyProgram(program)


def _text(program: Any, getter: str) -> bytes:
    """A result of a program: its bytes, without a final zero of texts."""
    _, size = _call(f"{getter}Size", None, program)
    into = bytes(size)
    _call(getter, None, program, into)
    return into if getter == "nvrtcGetCUBIN" else into.rstrip(b"\0")


def _call(name: str, program: Any, *args: Any) -> tuple[Any, ...]:
    nvrtc = _library()
    if nvrtc is None:
        raise TVMError(
            message(
                "compile CUDA by NVRTC",
                found="it is not installed here",
                legal="pip install 'tvm-py[cuda]'",
            )
        )
    result: tuple[Any, ...] = getattr(nvrtc, name)(*args)
    if int(result[0]) != 0:
        said = result[0].name
        if program is not None:
            said = _text(program, "nvrtcGetProgramLog").decode(errors="replace").strip() or said
        raise TVMError(message(f"{name} of NVRTC", found=said[:4000]))
    return result
