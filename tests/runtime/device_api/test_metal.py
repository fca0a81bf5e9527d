"""Apple's GPUs by a stand-in for pyobjc: tensors, kernels, graphs, errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.device.programs import PROGRAMS
from tests.runtime.device_api import metal_stand_in, programs
from tvm.error import TVMError
from tvm.runtime.device_api import kinds
from tvm.runtime.device_module import DeviceModule
from tvm.support.kernel_info import KernelInfo
from tvm.target import Target

pytestmark = pytest.mark.cpu


@pytest.fixture(scope="module", autouse=True)
def driver() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "Metal", metal_stand_in)
        kinds._started.cache_clear()
        yield
    kinds._started.cache_clear()


@pytest.fixture
def metal() -> Any:
    metal_stand_in.calls.clear()
    return tvm.metal(0)


def _kernel(name: str, device: Any) -> tuple[Any, list[Any], Any]:
    """A program compiled for Metal, its arguments there, and what is right."""
    one = PROGRAMS[name]
    built = tvm.compile(tvm.IRModule({name: one.func}), Target("metal", host="llvm"))
    args = one.make(np.random.default_rng(3))
    given = [tvm.runtime.tensor(a, device) if isinstance(a, np.ndarray) else a for a in args]
    return built[name], given, one.meaning(*args[:-1])


def test_attributes(metal: Any) -> None:
    assert metal.exist
    assert not tvm.metal(2).exist
    assert (metal.device_name, metal.warp_size) == ("stand-in", 32)
    assert (metal.max_threads_per_block, metal.max_shared_memory_per_block) == (1024, 32768)
    assert metal.max_thread_dimensions == [1024, 1024, 1024]
    assert metal.total_global_memory >= metal.available_global_memory > 0


def test_values_go_there_and_back(metal: Any) -> None:
    for dtype in ("float32", "int8", "bool", "float16", "bfloat16", "int64"):
        values = np.arange(15).reshape(3, 5)
        there = tvm.runtime.empty((3, 5), dtype, metal).copyfrom(values)
        beside = tvm.runtime.empty((3, 5), dtype, metal)
        there.copyto(beside)  # on the device, and waited for
        back = beside.copyto(tvm.metal(1)).numpy()
        np.testing.assert_array_equal(back.astype("f4"), values.astype(back.dtype).astype("f4"))
    assert metal_stand_in.calls.count("copy") == 6


def test_memory_that_is_not_there(metal: Any) -> None:
    with pytest.raises(MemoryError, match="1,073,741,824"):
        tvm.runtime.empty((1 << 28,), "float32", metal)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax", "layer norm", "matmul"])
def test_graphs(metal: Any, name: str) -> None:
    make, arrays = programs.CASES[name]
    programs.compare(metal, make, *arrays)
    options = metal_stand_in.devices[0].options
    assert options is not None
    assert options.fast is False  # sums that round would be folded


@pytest.mark.parametrize("name", ["scaled", "two_kernels"])
def test_kernels(metal: Any, name: str) -> None:
    run, given, wanted = _kernel(name, metal)
    run(*given)
    np.testing.assert_allclose(given[-1].numpy(), wanted, rtol=1e-5)


def test_launches_are_handed_over_together(metal: Any) -> None:
    run, (a, b), _ = _kernel("add_one", metal)
    a.copyfrom(np.zeros(64, "f4"))
    metal_stand_in.calls.clear()
    for _ in range(100):
        run(a, b)
        run(b, a)
    assert set(a.numpy().tolist()) == {200.0}
    assert metal_stand_in.calls.count("dispatch") == 200
    assert metal_stand_in.calls.count("commit") == 4  # three times 64, and the rest


def test_memory_is_there_until_its_work_is_done(metal: Any) -> None:
    run, (a, b), _ = _kernel("add_one", metal)
    a.copyfrom(np.ones(64, "f4"))
    run(a, b)
    del a
    kinds.api_of("metal").drop_pool()
    assert set(b.numpy().tolist()) == {2.0}


def test_memory_of_another_device(metal: Any) -> None:
    text = "kernel void f(device int* a, device int* b, uint3 blockIdx, uint3 threadIdx) {}"
    module = DeviceModule("metal", "metal", text, {"f": KernelInfo(("handle", "handle"), ())})
    here, there = (tvm.runtime.empty((1,), "int32", tvm.metal(n)) for n in range(2))
    with pytest.raises(TVMError, match=r"kernel 'f' on metal:0[\s\S]*found: memory of metal:1"):
        kinds.api_of("metal").launcher(module, "f")(here.data_ptr(), there.data_ptr())


def test_text_that_does_not_compile(metal: Any) -> None:
    bad = DeviceModule("metal", "metal", "kernel void f(device int* a) { b; }",
                       {"f": KernelInfo(("handle",), ("threadIdx.x",))})  # fmt: skip
    memory = tvm.runtime.empty((1,), "int32", metal)
    with pytest.raises(TVMError, match=r"compile kernels for stand-in[\s\S]*not declared"):
        kinds.api_of("metal").launcher(bad, "f")(memory.data_ptr(), 1)


def test_more_threads_than_registers_leave_room_for(metal: Any) -> None:
    text = "kernel void f(device int* a, uint3 blockIdx, uint3 threadIdx) { a[0] = 1; }"
    module = DeviceModule("metal", "metal", text, {"f": KernelInfo(("handle",), ("threadIdx.x",))})
    memory = tvm.runtime.empty((1,), "int32", metal)
    launch = kinds.api_of("metal").launcher(module, "f")
    launch(memory.data_ptr(), 512)
    assert memory.numpy()[0] == 1
    with pytest.raises(TVMError, match="legal: 512 threads of a block"):
        launch(memory.data_ptr(), 513)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Metal", None)
    kinds._started.cache_clear()
    try:
        assert not tvm.metal(0).exist
        with pytest.raises(TVMError, match=r"pip install 'tvm-py\[metal\]' brings it"):
            tvm.runtime.empty((2,), "float32", tvm.metal(0))
    finally:
        kinds._started.cache_clear()
