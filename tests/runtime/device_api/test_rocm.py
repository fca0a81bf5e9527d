"""AMD's GPUs by a stand-in for hip-python: tensors, kernels, streams, graphs, errors."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.device.programs import PROGRAMS
from tests.runtime.device_api import programs
from tests.runtime.device_api.hip_stand_in import Hip, Hiprtc
from tvm.error import TVMError
from tvm.ffi import get_global_func, register_global_func
from tvm.runtime.device_api import kinds
from tvm.runtime.device_api.rocm import ROCmAPI
from tvm.runtime.device_module import DeviceModule
from tvm.support.kernel_info import KernelInfo
from tvm.target import Target

pytestmark = pytest.mark.cpu


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    hip, hiprtc = Hip(), Hiprtc()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "hip", SimpleNamespace(hip=hip, hiprtc=hiprtc))
        kinds._started.cache_clear()
        yield SimpleNamespace(hip=hip, hiprtc=hiprtc)
    kinds._started.cache_clear()


def _api() -> ROCmAPI:
    found = kinds.api_of("rocm")
    assert isinstance(found, ROCmAPI)
    return found


@pytest.fixture
def rocm(driver: Any) -> Any:
    driver.hip.calls.clear()
    return tvm.rocm(0)


def test_attributes(rocm: Any) -> None:
    assert rocm.exist
    assert tvm.rocm(1).exist
    assert not tvm.rocm(2).exist
    assert (rocm.device_name, rocm.warp_size, rocm.multi_processor_count) == ("stand-in", 64, 110)
    assert rocm.compute_version == "9.0"
    assert rocm.max_thread_dimensions == [1024, 1024, 1024]
    assert rocm.total_global_memory >= rocm.available_global_memory > 0


def test_values_go_there_and_back(rocm: Any, driver: Any) -> None:
    for dtype in ("float32", "int8", "bool", "float16", "bfloat16", "int64"):
        values = np.arange(15).reshape(3, 5)
        there = tvm.runtime.empty((3, 5), dtype, rocm).copyfrom(values)
        back = there.copyto(tvm.rocm(1)).numpy()
        np.testing.assert_array_equal(back.astype("f4"), values.astype(back.dtype).astype("f4"))
    assert {"hipSetDevice", "hipMalloc", "hipMemcpyHtoDAsync"} <= set(driver.hip.calls)


def test_memory_that_is_not_there(rocm: Any) -> None:
    with pytest.raises(MemoryError, match="1,073,741,824"):
        tvm.runtime.empty((1 << 28,), "float32", rocm)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax", "layer norm", "matmul"])
def test_graphs(rocm: Any, driver: Any, name: str) -> None:
    make, arrays = programs.CASES[name]
    programs.compare(rocm, make, *arrays)
    assert driver.hiprtc.options == [b"--offload-arch=gfx90a"]  # the device's, whatever is asked
    assert "hipModuleLaunchKernel" in driver.hip.calls


def test_numbers_and_the_clock(rocm: Any) -> None:
    one = PROGRAMS["scaled"]
    built = tvm.compile(tvm.IRModule({"scaled": one.func}), Target("rocm", host="llvm"))
    args = one.make(np.random.default_rng(3))
    given = [tvm.runtime.tensor(a, rocm) if isinstance(a, np.ndarray) else a for a in args]
    built["scaled"](*given)
    np.testing.assert_allclose(given[-1].numpy(), one.meaning(*args[:-1]), rtol=1e-5)
    timer = built.mod.time_evaluator("scaled", rocm, number=3)
    assert timer(*given).mean == pytest.approx(1e-3)  # a launch takes a millisecond there


def test_streams(rocm: Any, driver: Any) -> None:
    stream = rocm.create_raw_stream()
    rocm.set_raw_stream(stream)
    try:
        values = tvm.runtime.tensor(np.arange(3, dtype="f4"), rocm)
        assert "hipStreamWaitEvent" in driver.hip.calls
    finally:
        rocm.set_raw_stream(0)
    rocm.free_raw_stream(stream)
    assert values.numpy().tolist() == [0, 1, 2]


def test_launches_that_are_recorded(rocm: Any, driver: Any) -> None:
    one = PROGRAMS["add_one"]
    built = tvm.compile(tvm.IRModule({"add_one": one.func}), Target("rocm", host="llvm"))
    a, b = (tvm.runtime.tensor(np.zeros(64, "f4"), rocm) for _ in range(2))
    built["add_one"](a, b)  # ready before the recording
    _, repeat = _api().record(0, lambda: built["add_one"](a, b))
    a.copyfrom(np.full(64, 2, "f4"))
    repeat()
    assert set(b.numpy().tolist()) == {3.0}
    assert driver.hip.calls.count("hipGraphLaunch") == 1


def test_text_that_does_not_compile(rocm: Any) -> None:
    bad = DeviceModule("rocm", "hip", 'extern "C" __global__ void f(int* a) { b; }',
                       {"f": KernelInfo(("handle",), ("threadIdx.x",))})  # fmt: skip
    memory = tvm.runtime.empty((1,), "int32", rocm)
    with pytest.raises(TVMError, match=r"compile HIP by hiprtc[\s\S]*not declared"):
        kinds.api_of("rocm").launcher(bad, "f")(memory.data_ptr(), 1)


def test_objects_of_llvm_are_linked(rocm: Any, driver: Any) -> None:
    target = Target("rocm -mcpu=gfx90a -mtriple=amdgcn-amd-amdhsa", host="llvm")
    (made,) = tvm.compile(tvm.IRModule({"f": PROGRAMS["add_one"].func}), target).mod.imports
    api, linked = _api(), []

    def link(binary: bytes) -> bytes:
        linked.append(binary)
        return b"co"

    before = get_global_func("tvm_callback_rocm_link")
    register_global_func("tvm_callback_rocm_link", link, override=True)
    try:
        assert api.compiled(made, 0) == b"co"
    finally:
        register_global_func("tvm_callback_rocm_link", before, override=True)
    assert linked == [made.binary]
    other = DeviceModule("rocm", "amdgcn", "", {}, "gfx1100", b"object")
    with pytest.raises(TVMError, match=r"for gfx1100 on rocm:0[\s\S]*legal: .*-mcpu=gfx90a"):
        api.compiled(other, 0)


@pytest.mark.skipif(shutil.which("ld.lld") is None, reason="no ld.lld; Debian's lld has it")
def test_the_linker_makes_code_objects() -> None:
    target = Target("rocm -mcpu=gfx90a -mtriple=amdgcn-amd-amdhsa", host="llvm")
    (made,) = tvm.compile(tvm.IRModule({"f": PROGRAMS["add_one"].func}), target).mod.imports
    linked = bytes(get_global_func("tvm_callback_rocm_link")(made.binary))
    assert linked.startswith(b"\x7fELF")
    assert b"add_one_kernel.kd" in linked


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    kinds._started.cache_clear()
    try:
        assert not tvm.rocm(0).exist
        with pytest.raises(TVMError, match=r"pip install 'tvm-py\[rocm\]' brings it"):
            tvm.runtime.empty((2,), "float32", tvm.rocm(0))
    finally:
        kinds._started.cache_clear()
