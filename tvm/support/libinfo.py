"""What this build is and has, under the names that the options of a build have."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys

# What there is no part of here; the word is that of a build without it.
_WITHOUT = (
    "USE_ARM_COMPUTE_LIB", "USE_BLAS", "USE_BNNS", "USE_CCACHE", "USE_CLML", "USE_CUBLAS",
    "USE_CUDA", "USE_CUDNN", "USE_CUTLASS", "USE_DNNL", "USE_HEXAGON", "USE_HIPBLAS", "USE_MKL",
    "USE_MSCCL", "USE_NCCL", "USE_NNPACK", "USE_NVSHMEM", "USE_OPENMP", "USE_ROCM", "USE_RPC",
    "USE_TENSORRT_CODEGEN", "USE_THRUST", "USE_VULKAN",
)  # fmt: skip
_PARTS = {"NUMPY": "numpy", "ML_DTYPES": "ml_dtypes", "TVM_FFI": "apache-tvm-ffi"}


def libinfo() -> dict[str, str]:
    """The options of the build and the versions of what it stands on."""
    found = dict.fromkeys(_WITHOUT, "OFF")
    found["USE_LLVM"] = "ON" if importlib.util.find_spec("llvmlite") is not None else "OFF"
    found["LLVM_VERSION"] = _llvm_version()
    found |= dict.fromkeys(("USE_PROFILER", "USE_RANDOM", "USE_THREADS"), "ON")
    found["TVM_VERSION"] = _version("tvm-py")
    found["PYTHON_VERSION"] = platform.python_version()
    for key, package in _PARTS.items():
        found[f"{key}_VERSION"] = _version(package)
    return dict(sorted(found.items()))


def describe() -> None:
    """Print the build, the machine, and where the interpreter lies."""
    print("Python Environment")
    print(f"  version        = {sys.version.splitlines()[0]}")
    print(f"  executable     = {sys.executable}")
    print(f"  platform       = {platform.platform()}")
    print("Build")
    for key, value in libinfo().items():
        print(f"  {key:<14} = {value}")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "NOT-FOUND"


def _llvm_version() -> str:
    try:
        from llvmlite.binding import llvm_version_info  # 100 ms, which few want to spend
    except ImportError:
        return "NOT-FOUND"
    return ".".join(str(part) for part in llvm_version_info)
