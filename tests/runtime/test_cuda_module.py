"""Modules of CUDA kernels: what a launch hands to the driver."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path
from typing import Any

import pytest

from tvm.error import TVMError
from tvm.runtime import cuda_module
from tvm.runtime.cuda_module import DYNAMIC_SHARED, CUDAModule
from tvm.support.kernel_info import KernelInfo

pytestmark = pytest.mark.cpu
KERNEL = KernelInfo(
    ("handle", "int64", "float32", "int32", "float16", "bool"),
    ("threadIdx.x", "blockIdx.x", "blockIdx.y"),
)


def module(**kernels: KernelInfo) -> CUDAModule:
    return CUDAModule(b".version 9.0", "ptx", kernels, "__global__ void scale();")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the driver was asked to do; of a launch with the bytes of its six arguments."""
    found: list[tuple[Any, ...]] = []
    sizes = (8, 8, 4, 4, 2, 1)

    def call(name: str, *args: Any) -> None:
        if name == "cuLaunchKernel":
            dims = [getattr(a, "value", a) for a in args[1:8]]
            content = [ctypes.string_at(p, n) for p, n in zip(args[9], sizes)]
            found.append((name, dims, content))
        else:
            found.append((name, *args[1:]))

    monkeypatch.setattr(cuda_module, "driver", lambda: call)
    return found


def test_a_launch(calls: list[tuple[Any, ...]]) -> None:
    launch = module(scale=KERNEL)["scale"]
    for _ in range(2):
        launch(ctypes.c_void_p(4096), -2, 0.5, 7, 1.5, True, 64, 3, 2)
    loads = [call for call in calls if call[0] == "cuModuleLoadData"]
    assert loads == [("cuModuleLoadData", b".version 9.0\0")]  # once
    name, dims, content = calls[-1]
    assert (name, dims) == ("cuLaunchKernel", [3, 2, 1, 64, 1, 1, 0])
    assert content == [
        struct.pack("<q", 4096), struct.pack("<q", -2), struct.pack("<f", 0.5),
        struct.pack("<i", 7), struct.pack("<e", 1.5), b"\1",
    ]  # fmt: skip


def test_dynamic_shared_memory(calls: list[tuple[Any, ...]]) -> None:
    info = KernelInfo((), ("threadIdx.x", DYNAMIC_SHARED))
    launch = module(k=info)["k"]
    launch(32, 1024)
    assert not [call for call in calls if call[0] == "cuFuncSetAttribute"]
    assert calls[-1][1] == [1, 1, 1, 32, 1, 1, 1024]
    launch(32, 64 << 10)
    assert [c[2] for c in calls if c[0] == "cuFuncSetAttribute"] == [64 << 10]


def test_what_a_module_tells(tmp_path: Path) -> None:
    found = module(scale=KERNEL)
    assert found.is_device_module
    assert found.function_names() == ["scale"]
    assert found.implements_function("scale")
    assert found.inspect_source() == "__global__ void scale();"
    assert found.inspect_source("ptx") == ".version 9.0"
    found.write_to_file(str(tmp_path / "k.ptx"))
    assert (tmp_path / "k.ptx").read_bytes() == b".version 9.0"
    with pytest.raises(TVMError, match="format 'cubin'"):
        found.write_to_file(str(tmp_path / "k.cubin"), "cubin")


def test_refused() -> None:
    with pytest.raises(TVMError, match=r"launch parameters warpIdx\.x"):
        module(scale=KernelInfo((), ("warpIdx.x",)))
    with pytest.raises(TVMError, match=r"1 values[\s\S]*6 arguments, then threadIdx.x"):
        module(scale=KERNEL)["scale"](1)


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    cuda_module.driver.cache_clear()
    with pytest.raises(TVMError, match="no CUDA driver here"):
        cuda_module.driver()
