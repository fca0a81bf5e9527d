"""Modules of CUDA kernels: what they tell and refuse; tests/runtime/device_api runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvm
from tvm.error import TVMError
from tvm.runtime.cuda_module import CUDAModule
from tvm.support.kernel_info import KernelInfo

pytestmark = pytest.mark.cpu
KERNEL = KernelInfo(
    ("handle", "int64", "float32", "int32", "float16", "bool"),
    ("threadIdx.x", "blockIdx.x", "blockIdx.y"),
)


def module(**kernels: KernelInfo) -> CUDAModule:
    return CUDAModule(b".version 9.0", "ptx", kernels, "__global__ void scale();")


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


def test_bytes_come_back() -> None:
    again = tvm.ir.load_json(tvm.ir.save_json(module(scale=KERNEL)))
    assert isinstance(again, CUDAModule)
    assert (again.code, again.format) == (b".version 9.0", "ptx")
    assert again.kernels == {"scale": KERNEL}
    with pytest.raises(TVMError, match="a damaged description"):
        CUDAModule.from_record({"code": ""})


def test_refused() -> None:
    with pytest.raises(TVMError, match=r"launch parameters warpIdx\.x"):
        module(scale=KernelInfo((), ("warpIdx.x",)))
    with pytest.raises(TVMError, match=r"1 values[\s\S]*6 arguments, then threadIdx.x"):
        module(scale=KERNEL)["scale"](1)
