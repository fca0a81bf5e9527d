"""What a test needs: marks that leave it out where a device or a library is not there.

    @tvm.testing.requires_cuda
    def test_it(): ...

    pytest.param("cuda", marks=tvm.testing.requires_cuda.marks())
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, Final

import pytest

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.runtime import device, enabled
from tvm.runtime.device_api.kinds import is_cpu
from tvm.target.host_cpu import host_cpu

from .targets import device_enabled

Check = Callable[[], bool | str]
_YES: Final = ("1", "true", "yes", "on")
# What the environment said when this was loaded.
IS_IN_CI: Final = os.environ.get("CI", "").lower() in _YES
SKIP_SLOW_TESTS: Final = os.environ.get("SKIP_SLOW_TESTS", "").lower() in _YES
_LEVELS: Final = ("compile-and-run", "compile-only", "optional")


class Feature:
    """One thing that tests may need, and how to find out whether it is there.

    A check returns True, or False, or the reason why the feature is not there. A feature needs
    its parents too. Its name is a mark of the tests: `pytest -m gpu` runs those. `cmake_flag` is
    kept as a note: there is no build of ours to ask.
    """

    _all_features: ClassVar[dict[str, Feature]] = {}

    def __init__(
        self,
        name: str,
        long_name: str | None = None,
        cmake_flag: str | None = None,
        target_kind_enabled: str | None = None,
        compile_time_check: Check | None = None,
        target_kind_hardware: str | None = None,
        run_time_check: Check | None = None,
        parent_features: str | Sequence[str] | None = None,
    ) -> None:
        parents = [parent_features] if isinstance(parent_features, str) else parent_features or []
        self.name: Final = name
        self.long_name: Final = long_name or name
        self.cmake_flag: Final = cmake_flag
        self.target_kind_enabled: Final = target_kind_enabled
        self.compile_time_check: Final = compile_time_check
        self.target_kind_hardware: Final = target_kind_hardware
        self.run_time_check: Final = run_time_check
        self.parent_features: Final = tuple(parents)
        self._all_features[name] = self

    def marks(self, support_required: str = "compile-and-run") -> list[pytest.MarkDecorator]:
        """The marks of a test: what compiles on this machine, what runs, or only the name."""
        if support_required not in _LEVELS:
            raise TVMError(
                message(
                    f"mark a test with feature {self.name!r}",
                    found=f"support_required={support_required!r}",
                    legal=", ".join(_LEVELS),
                )
            )
        found: list[pytest.MarkDecorator] = []
        for name in self.parent_features:
            found += self.get(name).marks(support_required)
        found.append(getattr(pytest.mark, self.name))
        if support_required != "optional":
            found += self._skips(self._to_compile())
        if support_required == "compile-and-run":
            found += self._skips(self._to_run())
        return found

    def _skips(self, reasons: Iterator[str]) -> list[pytest.MarkDecorator]:
        return [pytest.mark.skipif(True, reason=f"needs {self.long_name}: {r}") for r in reasons]

    def _to_compile(self) -> Iterator[str]:
        kind = self.target_kind_enabled
        if kind is not None and not device_enabled(kind):
            yield f"{kind} is not among the enabled targets"
        yield from _reasons(self.compile_time_check)

    def _to_run(self) -> Iterator[str]:
        kind = self.target_kind_hardware
        if kind is not None and not device(kind, 0).exist:
            yield f"this machine has no {kind}"
        yield from _reasons(self.run_time_check)

    def __call__(
        self, func: Any = None, *, support_required: str = "compile-and-run"
    ) -> Any:
        """Mark a test, as a decorator with or without arguments."""

        def mark(test: Any) -> Any:
            """Mark a test or a class of tests."""
            for each in self.marks(support_required):
                test = each(test)
            return test

        return mark if func is None else mark(func)

    @classmethod
    def all(cls) -> list[Feature]:
        """Every feature that was made, in that order."""
        return list(cls._all_features.values())

    @classmethod
    def get(cls, name: str) -> Feature:
        """The feature of a name."""
        if name not in cls._all_features:
            raise TVMError(
                message(
                    f"find feature {name!r}",
                    found="no feature of that name",
                    legal=", ".join(sorted(cls._all_features)),
                )
            )
        return cls._all_features[name]

    @classmethod
    def require(
        cls, name: str, support_required: str = "compile-and-run"
    ) -> Callable[[Any], Any]:
        """The decorator of the feature of a name."""
        feature = cls.get(name)
        return lambda test: feature(test, support_required=support_required)


def _reasons(check: Check | None) -> Iterator[str]:
    found = True if check is None else check()
    if isinstance(found, str):
        yield found
    elif not found:
        yield "it is not there"


def _function(name: str) -> Check:
    """A check: some library has registered the function."""
    return lambda: get_global_func(name, allow_missing=True) is not None or f"there is no {name}"


def _any_gpu() -> bool | str:
    kinds = ("cuda", "rocm", "opencl", "metal", "vulkan")
    found = [k for k in kinds if enabled(k) and not is_cpu(k)]
    return bool(found) or "this machine has none that a backend drives"


def _several_gpus() -> bool | str:
    kinds = ("cuda", "rocm", "opencl", "metal", "vulkan")
    found = [k for k in kinds if device(k, 1).exist and not is_cpu(k, 1)]
    return bool(found) or "this machine has no second one"


def compute_version(kind: str = "cuda") -> tuple[int, ...]:
    """Major and minor version of the first device of a kind; (0, 0) without one."""
    gpu = device(kind, 0)
    text = gpu.compute_version if gpu.exist else None
    return tuple(int(part) for part in text.split(".")) if text else (0, 0)


def is_ampere_or_newer() -> bool:
    """Whether the first CUDA device is of compute version 8.0 or above."""
    return compute_version() >= (8, 0)


def _compute(major: int, minor: int = 0, kind: str = "cuda") -> Check:
    wanted = (major, minor)
    return lambda: compute_version(kind) >= wanted or f"compute version < {major}.{minor}"


def _machine(*names: str) -> Check:
    found = platform.machine()
    return lambda: found.lower() in names or f"this machine is of type {found}"


def _cpu_feature(*names: str) -> Check:
    def check() -> bool | str:
        missing = [n for n in names if n not in host_cpu().features]
        return not missing or f"this CPU has no {', '.join(missing)}"

    return check


requires_gpu = Feature("gpu", run_time_check=_any_gpu)
uses_gpu = requires_gpu(support_required="optional")
requires_multi_gpu = Feature("multi_gpu", run_time_check=_several_gpus)
uses_multi_gpu = requires_multi_gpu(support_required="optional")
requires_llvm = Feature("llvm", "LLVM", "USE_LLVM", "llvm", target_kind_hardware="llvm")
requires_x86 = Feature("x86", "x86 architecture", run_time_check=_machine("x86_64", "amd64"))
requires_x86_vnni = Feature(
    "x86_vnni", "x86 VNNI", run_time_check=_cpu_feature("avx512vnni"), parent_features="x86"
)
requires_x86_avx512 = Feature(
    "x86_avx512", "x86 AVX512", parent_features="x86",
    run_time_check=_cpu_feature("avx512f", "avx512bw"),
)  # fmt: skip
requires_x86_amx = Feature(
    "x86_amx", "x86 AMX", run_time_check=_cpu_feature("amx-int8"), parent_features="x86"
)
requires_aarch64 = Feature("AArch64", run_time_check=_machine("aarch64", "arm64"))
requires_arm_dot = Feature(
    "arm_dot", "ARM dot product", run_time_check=_cpu_feature("dotprod"), parent_features="AArch64"
)
requires_arm_fp16 = Feature(
    "arm_fp16", "Arm(R) Neon(TM) in FP16", run_time_check=_cpu_feature("fullfp16"),
    parent_features="AArch64",
)  # fmt: skip
requires_aarch64_sve = Feature(
    "arm_sve", "AArch64 SVE", run_time_check=_cpu_feature("sve"), parent_features="AArch64"
)
requires_aarch64_sme = Feature(
    "arm_sme", "AArch64 SME", run_time_check=_cpu_feature("sme"), parent_features="AArch64"
)
requires_cuda = Feature(
    "cuda", "CUDA", "USE_CUDA", "cuda", target_kind_hardware="cuda", parent_features="gpu"
)
requires_tensorcore = Feature(
    "tensorcore", "CUDA tensor cores", run_time_check=_compute(7), parent_features="cuda"
)
requires_cudnn = Feature(
    "cudnn", "cuDNN", compile_time_check=_function("tvm.contrib.cudnn.conv2d.forward"),
    parent_features="cuda",
)  # fmt: skip
requires_cublas = Feature(
    "cublas", "cuBLAS", compile_time_check=_function("tvm.contrib.cublas.matmul"),
    parent_features="cuda",
)  # fmt: skip
requires_nccl = Feature("nccl", "NCCL", "USE_NCCL", parent_features="cuda")
requires_nvptx = Feature("nvptx", "NVPTX", None, "nvptx", parent_features=["llvm", "cuda"])
requires_cudagraph = Feature("cudagraph", "CUDA graphs", parent_features="cuda")
requires_opencl = Feature(
    "opencl", "OpenCL", "USE_OPENCL", "opencl", target_kind_hardware="opencl", parent_features="gpu"
)
requires_rocm = Feature(
    "rocm", "ROCm", "USE_ROCM", "rocm", target_kind_hardware="rocm", parent_features="gpu"
)
requires_hipblas = Feature(
    "hipblas", "hipBLAS", compile_time_check=_function("tvm.contrib.hipblas.matmul"),
    parent_features="rocm",
)  # fmt: skip
requires_matrixcore = Feature(
    "matrixcore", "AMD Matrix Core", run_time_check=_compute(8, kind="rocm"), parent_features="rocm"
)
requires_metal = Feature(
    "metal", "Metal", "USE_METAL", "metal", target_kind_hardware="metal", parent_features="gpu"
)
requires_vulkan = Feature(
    "vulkan", "Vulkan", "USE_VULKAN", "vulkan", target_kind_hardware="vulkan", parent_features="gpu"
)
requires_hexagon = Feature(
    "hexagon", "Hexagon", "USE_HEXAGON", "hexagon", target_kind_hardware="hexagon",
    parent_features="llvm",
)  # fmt: skip
requires_openclml = Feature(
    "OpenCLML", "CLML", compile_time_check=_function("relax.ext.openclml"),
    parent_features="opencl",
)  # fmt: skip
requires_nnapi = Feature("NNAPI", compile_time_check=_function("relax.ext.nnapi"))
requires_rpc = Feature("rpc", "RPC", "USE_RPC", compile_time_check=_function("rpc.Connect"))
requires_cutlass = Feature(
    "cutlass", "CUTLASS", parent_features="cuda",
    compile_time_check=_function("relax.ext.cutlass"),
)  # fmt: skip


# code generators of partners that programs of Relay hand parts of a network to
requires_bnns = Feature("bnns", "BNNS", compile_time_check=_function("relay.ext.bnns"))
requires_cmsisnn = Feature(
    "cmsisnn", "CMSIS NN", compile_time_check=_function("relay.ext.cmsis-nn")
)
requires_coreml = Feature(
    "coreml", "Core ML", compile_time_check=_function("relay.ext.coremlcompiler")
)
requires_ethosn = Feature(
    "ethosn", "Arm Ethos-N", compile_time_check=_function("relay.ext.ethos-n")
)
requires_ethosu = Feature(
    "ethosu", "Arm Ethos-U", compile_time_check=_function("relay.ext.ethos-u")
)
requires_libtorch = Feature(
    "libtorch", "LibTorch", compile_time_check=_function("relay.ext.torch")
)
requires_mrvl = Feature("mrvl", "Marvell", compile_time_check=_function("relay.ext.mrvl"))
requires_vitis_ai = Feature(
    "vitis_ai", "Vitis AI", compile_time_check=_function("relay.ext.vitis_ai")
)

# bare machines and their simulators
requires_micro = Feature(
    "micro", "MicroTVM", compile_time_check=lambda: "tvm.micro is no more; see backend 'c'"
)
requires_corstone300 = Feature(
    "corstone300", "Corstone-300", parent_features="cmsisnn",
    compile_time_check=lambda: shutil.which("arm-none-eabi-gcc") is not None,
)  # fmt: skip
requires_aprofile_aem_fvp = Feature(
    "aprofile-aem-fvp", "AArch64 simulator", parent_features="llvm",
    compile_time_check=lambda: shutil.which("aarch64-none-elf-gcc") is not None,
)  # fmt: skip


def _skipped_where(variable: str) -> Callable[[Any], Any]:
    """A mark that leaves tests out where a variable of the environment is set to yes."""
    asked = os.environ.get(variable, "").lower() in _YES
    return pytest.mark.skipif(asked, reason=f"{variable} is set")


def slow(test: Any) -> Any:
    """Leave a test out where SKIP_SLOW_TESTS is set."""
    return _skipped_where("SKIP_SLOW_TESTS")(test)


def skip_if_wheel_test(test: Any) -> Any:
    """Leave a test out where WHEEL_TEST is set: a wheel is tried without its sources."""
    return _skipped_where("WHEEL_TEST")(test)


def requires_package(*packages: str) -> pytest.MarkDecorator:
    """Leave a test out where one of the packages is not installed."""
    missing = [p for p in packages if importlib.util.find_spec(p.partition(".")[0]) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def skip_if_32bit(reason: str) -> pytest.MarkDecorator:
    """Leave a test out on machines with addresses of 32 bits."""
    return pytest.mark.skipif(sys.maxsize < 1 << 32, reason=reason)


def skip_if_no_reference_system(func: Callable[..., Any]) -> Any:
    """Leave a test out where the simulator of a reference system cannot run."""
    return skip_if_32bit("the reference system needs addresses of 64 bits")(func)


def _requires(check: Check, name: str, parent: str) -> Callable[[Any], Any]:
    reasons = list(_reasons(check))
    skip = pytest.mark.skipif(bool(reasons), reason=f"needs {name}: {', '.join(reasons)}")
    return lambda test: skip(Feature.get(parent)(test))


def requires_llvm_minimum_version(major_version: int) -> Callable[[Any], Any]:
    """Leave a test out where LLVM is older."""

    def check() -> bool | str:
        from llvmlite.binding import llvm_version_info  # a heavy package

        return llvm_version_info[0] >= major_version or f"this is LLVM {llvm_version_info[0]}"

    return _requires(check, f"LLVM {major_version}", "llvm")


@cache
def _nvcc_version() -> tuple[int, ...]:
    path = shutil.which("nvcc")
    if path is None:
        return (0, 0, 0)
    text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    words = [w for w in text.replace(",", " ").split() if w.startswith("V") and "." in w]
    return tuple(int(part) for part in words[-1][1:].split(".")) if words else (0, 0, 0)


def requires_nvcc_version(
    major_version: int, minor_version: int = 0, release_version: int = 0
) -> Callable[[Any], Any]:
    """Leave a test out where the CUDA compiler is missing or older."""
    wanted = (major_version, minor_version, release_version)
    shown = ".".join(map(str, wanted))
    return _requires(lambda: _nvcc_version() >= wanted, f"nvcc {shown}", "cuda")


def requires_cuda_compute_version(
    major_version: int, minor_version: int = 0, exact: bool = False
) -> Callable[[Any], Any]:
    """Leave a test out where the first CUDA device is older, or if `exact` of another version."""
    shown = f"compute version {major_version}.{minor_version}"
    if not exact:
        return _requires(_compute(major_version, minor_version), shown, "cuda")
    wanted = (major_version, minor_version)
    return _requires(lambda: compute_version() == wanted, f"exactly {shown}", "cuda")
