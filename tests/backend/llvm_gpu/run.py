"""Kernels that LLVM makes for a GPU, run on this machine: the same text, compiled for this CPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tvm.backend.llvm import jit
from tvm.support.kernel_info import KernelInfo

SHIM = Path(__file__).with_name("shim.h")
_SIZES = {"float32": "float", "float64": "double", "bool": "bool"}


def for_this_cpu(text: str) -> bytes:
    """The object of a GPU's LLVM text: its intrinsics become functions of shim.h."""
    text = re.sub(r'^target (?:datalayout|triple) = ".*"$', "", text, flags=re.M)
    text = re.sub(r"external addrspace\(3\) global \[0 x i8\]",
                  "internal global [65536 x i8] zeroinitializer", text)  # fmt: skip
    text = re.sub(r",? addrspace\(\d+\)", "", text)
    text = re.sub(r"\b(?:ptx|amdgpu|spir)_kernel ", "", text)
    text = re.sub(r'"(?:target-cpu|target-features)"="[^"]*"', "", text)
    text = re.sub(r"@llvm\.(?:nvvm|amdgcn)\.([\w.]+)",
                  lambda m: "@on_" + m[1].replace(".", "_"), text)  # fmt: skip
    text = re.sub(r"^(declare .*@on_.*)$", r"\1 convergent", text, flags=re.M)
    return jit.emit_object(text, jit.host_machine(), keep=False)


def wrapper(kernels: Mapping[str, KernelInfo], warp: int) -> str:
    """C++ with a function `run_<kernel>` for each kernel of an object file."""
    lines = [f'#include "{SHIM}"']
    for name, info in kernels.items():
        kinds = ["void*" if kind == "handle" else _SIZES.get(kind, f"{kind}_t")
                 for kind in info.arg_types]  # fmt: skip
        lines += [
            f'extern "C" void {name}({", ".join(kinds)});',
            f'extern "C" int run_{name}(void** args, const int* extents) '
            f"{{ return launch([] {{ call({name}, arguments); }}, args, extents, {warp}); }}",
        ]
    return "\n".join(lines)
