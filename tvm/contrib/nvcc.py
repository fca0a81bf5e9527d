"""The CUDA compiler, if one is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tvm.contrib import nvrtc
from tvm.error import TVMError, message
from tvm.ffi import register_global_func
from tvm.runtime import cuda
from tvm.support.scratch import scratch
from tvm.target import Target

FORMATS = ("ptx", "cubin", "fatbin")


def find_cuda_path() -> str:
    """The folder of CUDA's tools: CUDA_PATH, the one of `nvcc` on the path, or the usual path."""
    given = os.environ.get("CUDA_PATH")
    if given:
        return given
    found = shutil.which("nvcc")
    if found is not None:
        return str(Path(found).resolve().parent.parent)
    if Path("/usr/local/cuda/bin/nvcc").exists():
        return "/usr/local/cuda"
    raise TVMError(
        message(
            "find CUDA's compiler",
            found="no nvcc on the path and no /usr/local/cuda",
            legal="the environment variable CUDA_PATH, or nvcc on the path",
        )
    )


def _nvcc() -> str:
    folder = find_cuda_path()
    inside = Path(folder) / "bin" / "nvcc"
    return str(inside) if inside.exists() else shutil.which("nvcc") or str(inside)


def get_cuda_version(cuda_path: str | None = None) -> tuple[int, ...]:
    """The version of the compiler, as (13, 0)."""
    tool = _nvcc() if cuda_path is None else str(Path(cuda_path) / "bin" / "nvcc")
    said = _run([tool, "--version"])
    release = re.search(r"release (\d+)\.(\d+)", said)
    if release is None:
        raise TVMError(message("read the version of nvcc", found=said.strip() or "no text"))
    return tuple(map(int, release.groups()))


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """(9, 0) of "9.0"."""
    parts = re.fullmatch(r"(\d+)(?:\.(\d+))?(?:\.\d+)*[a-z]?", compute_version)
    if parts is None:
        raise RuntimeError(
            message(
                "Compute version parsing error", found=repr(compute_version), legal='as "8.0"'
            )
        )
    return int(parts[1]), int(parts[2] or 0)


def get_target_compute_version(target: Target | None = None) -> str:
    """The compute version of a target, of the current target, or of the first device.

    That of a CUDA target that tells none, where there is no device, is 5.0: what any may have.
    """
    target = target or Target.current()
    version = _told_version(target)
    if version is not None:
        return version
    if target is not None and target.kind.name == "cuda":
        return "5.0"
    raise ValueError(
        message(
            "tell the compute version of a target",
            found=f"target {target}, and no CUDA device here",
            legal="a target with an arch, as Target('cuda -arch=sm_80')",
        )
    )


def _told_version(target: Target | None) -> str | None:
    arch = str(target.attrs.get("arch", "")) if target is not None else ""
    digits = re.fullmatch(r"sm_(\d+)(\d)([a-z]?)", arch)
    if digits is not None:
        return f"{digits[1]}.{digits[2]}{digits[3]}"
    return str(cuda(0).compute_version) if cuda(0).exist else None


def _at_least(compute_version: str | None, least: tuple[int, int]) -> bool:
    version = compute_version or get_target_compute_version()
    return parse_compute_version(version) >= least


def have_fp16(compute_version: str) -> bool:
    """Whether a machine computes with half floats."""
    return compute_version == "5.3" or _at_least(compute_version, (6, 0))


def have_int8(compute_version: str) -> bool:
    """Whether a machine has dot products of bytes."""
    return _at_least(compute_version, (6, 1))


def have_tensorcore(compute_version: str | None = None, target: Target | None = None) -> bool:
    """Whether a machine, or that of a target, has tensor cores."""
    if compute_version is None and target is not None:
        compute_version = get_target_compute_version(target)
    return _at_least(compute_version, (7, 0))


def have_cudagraph() -> bool:
    """Whether the toolkit here has graphs of launches."""
    try:
        return get_cuda_version() >= (10, 0)
    except TVMError:
        return False


def have_bf16(compute_version: str) -> bool:
    """Whether a machine computes with bfloat16."""
    return _at_least(compute_version, (8, 0))


def have_fp8(compute_version: str) -> bool:
    """Whether a machine computes with 8-bit floats."""
    return _at_least(compute_version, (8, 9))


def have_fp4(compute_version: str) -> bool:
    """Whether a machine computes with 4-bit floats."""
    return _at_least(compute_version, (10, 0))


def compile_cuda(
    code: str,
    target_format: str | None = None,
    arch: str | Sequence[str] | None = None,
    options: str | Sequence[str] | None = None,
    path_target: str | None = None,
) -> bytearray:
    """CUDA text compiled to "ptx", "cubin" or "fatbin"; `path_target` keeps the file too."""
    form = target_format or "ptx"
    if form not in FORMATS:
        raise ValueError(
            message("compile CUDA", found=f"target_format={form!r}", legal=", ".join(FORMATS))
        )
    if isinstance(options, str):
        options = [options]
    with scratch("tvm-nvcc-") as folder:
        source, result = Path(folder) / "kernel.cu", path_target or f"{folder}/kernel.{form}"
        source.write_text(code)
        flags = _arch_flags(arch, form)
        _run([_nvcc(), f"--{form}", "-O3", *flags, *(options or ()), "-o", result, str(source)])
        return bytearray(Path(result).read_bytes())


def _arch_flags(arch: str | Sequence[str] | None, form: str) -> list[str]:
    if isinstance(arch, str):
        return [f"-arch={arch}"]
    if arch is not None:
        return list(arch)
    version = _told_version(Target.current())
    if version is None:
        # a text that any newer device can take; a binary is for one machine
        return [] if form == "ptx" else ["-arch=native"]
    return [f"-arch=sm_{version.replace('.', '')}"]


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as err:
        raise TVMError(
            message("run nvcc", found=f"{command[0]}: {err.strerror}", legal="CUDA_PATH")
        ) from err
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise TVMError(message("compile CUDA", found=said, where=" ".join(command)))
    return done.stdout


@register_global_func("tvm_callback_cuda_compile", override=False)
def tvm_callback_cuda_compile(code: str, target: Any = None) -> bytes:
    """CUDA text as a binary for the target's machine, by NVRTC where that is installed, or as
    PTX by nvcc; register another function to replace it."""
    arch = target.attrs.get("arch") if isinstance(target, Target) else None
    if nvrtc.available():
        return nvrtc.compile_source(code, "cubin", None if arch is None else str(arch))
    return bytes(compile_cuda(code, "ptx", None if arch is None else str(arch)))
