"""AMD's tools, if they are installed: the linker, where ROCm is, and which GPU is here."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tvm.error import message
from tvm.ffi import register_global_func
from tvm.runtime import device
from tvm.target.codegen import llvm_version_major

from . import utils
from .tools import run_tool

_USUAL = "/opt/rocm"
_DEFAULT_ARCH = "gfx900"  # where there is no GPU to ask


def find_lld(required: bool = True) -> list[str]:
    """LLVM's linkers on the path, the newest first; RuntimeError if there has to be one."""
    newest = llvm_version_major(allow_none=True)
    names = [*([] if newest is None else [f"ld.lld-{newest}.0", f"ld.lld-{newest}"]), "ld.lld"]
    candidates = [*names, f"{_USUAL}/llvm/bin/ld.lld"]
    found = [path for path in map(shutil.which, candidates) if path is not None]
    if required and not found:
        raise RuntimeError(
            message("find lld", found="none on PATH", legal=f"one of {', '.join(candidates)}")
        )
    return found


def rocm_link(in_file: str, out_file: str, lld: str | None = None) -> None:
    """Link an object file of a GPU's code to a shared library, which the runtime loads."""
    linker = find_lld()[0] if lld is None else lld
    run_tool([linker, "-shared", in_file, "-o", out_file], "LLVM")


@register_global_func("tvm_callback_rocm_link", override=False)
def callback_rocm_link(obj_bin: bytes | bytearray) -> bytearray:
    """The bytes of an object file, linked."""
    temp = utils.tempdir()
    given, made = Path(temp.relpath("code.o")), Path(temp.relpath("code.co"))
    given.write_bytes(bytes(obj_bin))
    rocm_link(str(given), str(made))
    return bytearray(made.read_bytes())


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """The numbers of a compute version: "9.0" is (9, 0)."""
    parts = re.fullmatch(r"(\d+)\.(\d+)(?:\.\d+)*", compute_version)
    if parts is None:
        raise RuntimeError(
            message("read a compute version", found=repr(compute_version), legal='as "9.0"')
        )
    return int(parts[1]), int(parts[2])


def have_matrixcore(compute_version: str | None = None) -> bool:
    """Whether a GPU, the first one here by default, has matrix cores: from version 8.0 on."""
    if compute_version is None:
        first = device("rocm", 0)
        if not first.exist:
            raise RuntimeError(
                message(
                    "have_matrixcore", found="no GPU of ROCm here", legal='a version, as "9.0"'
                )
            )
        compute_version = str(first.compute_version)
    return parse_compute_version(compute_version)[0] >= 8


@register_global_func("tvm_callback_rocm_get_arch", override=False)
def get_rocm_arch(rocm_path: str = _USUAL) -> str:
    """The architecture of the first GPU as `rocminfo` tells it; gfx900 without ROCm or a GPU."""
    tool = Path(rocm_path) / "bin" / "rocminfo"
    if not tool.exists():
        return _DEFAULT_ARCH
    found = re.search(r"Name:\s+(gfx[0-9a-f]+)", run_tool([str(tool)], "ROCm"))
    return _DEFAULT_ARCH if found is None else found[1]


def find_rocm_path() -> str:
    """The folder of ROCm: ROCM_PATH, the one of `hipcc` on the path, or the usual path."""
    given = os.environ.get("ROCM_PATH")
    if given:
        return given
    found = shutil.which("hipcc")
    if found is not None:
        return str(Path(found).resolve().parent.parent)
    if Path(_USUAL, "bin", "hipcc").exists():
        return _USUAL
    raise RuntimeError(
        message(
            "find ROCm", found=f"no hipcc on the path and no {_USUAL}",
            legal="the environment variable ROCM_PATH, or hipcc on the path",
        )
    )  # fmt: skip
