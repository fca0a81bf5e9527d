"""Tensors, streams, kernels and graphs on OpenCL devices."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import tvm
from tests.runtime.device_api import programs
from tests.runtime.device_api.devices import needs
from tvm import relax
from tvm.error import TVMError
from tvm.relax import op as o
from tvm.runtime._tensor import tensor_at
from tvm.runtime.device_api import kinds
from tvm.runtime.device_module import DeviceModule
from tvm.script import tir as T
from tvm.support.dtype import DataType
from tvm.support.kernel_info import KernelInfo
from tvm.target import Target

pytestmark = [pytest.mark.device, needs("opencl")]


@pytest.fixture(scope="module")
def cl() -> Any:
    return tvm.opencl(0)


@T.prim_func
def shift(a: T.handle, b: T.handle) -> None:
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.thread_binding((n + 63) // 64, "blockIdx.x"):
        for j in T.thread_binding(64, "threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(n, i * 64 + j)
                T.where(i * 64 + j < n)
                B[v] = A[v] + T.float32(1)


def test_attributes(cl: Any) -> None:
    assert cl.exist
    assert isinstance(cl.device_name, str)
    assert cl.max_threads_per_block >= 1
    assert len(cl.max_thread_dimensions) == 3
    assert cl.total_global_memory >= cl.available_global_memory > 0
    assert tvm.runtime.enabled("opencl")


def test_values_go_there_and_back(cl: Any) -> None:
    for dtype in ("float32", "int8", "bool", "float16", "bfloat16", "int64"):
        tensor = tvm.runtime.empty((3, 5), dtype, cl)
        values = np.arange(15).reshape(3, 5)
        back = tensor.copyfrom(values).numpy()
        np.testing.assert_array_equal(back.astype("f4"), values.astype(back.dtype).astype("f4"))
        assert tensor.device == cl


@pytest.mark.parametrize("name", programs.CASES)
def test_graphs(cl: Any, name: str) -> None:
    make, arrays = programs.CASES[name]
    programs.compare(cl, make, *arrays)


def test_kernels_of_tir(cl: Any) -> None:
    built = tvm.compile(tvm.IRModule({"main": shift}), Target("opencl", host="llvm"))
    for n in (1, 64, 65, 1000):
        a = np.random.default_rng(n).random(n, "float32")
        A, B = tvm.runtime.tensor(a, cl), tvm.runtime.empty((n,), "float32", cl)
        built["main"](A, B)
        np.testing.assert_array_equal(B.numpy(), a + np.float32(1))
    none = tvm.runtime.empty((0,), "float32", cl)
    built["main"](none, none)  # launches nothing


def test_views_that_start_anywhere(cl: Any) -> None:
    """A device starts buffers at steps of its own; memory that others hand over where it does."""

    def part(tensor: Any, count: int, start: int) -> Any:
        at = tensor.data_ptr() + start
        return tensor_at(tensor, at, cl, (count,), DataType("float32"))

    built = tvm.compile(tvm.IRModule({"main": shift}), Target("opencl", host="llvm"))
    values = np.arange(4096, dtype="float32")
    whole = tvm.runtime.tensor(values, cl)
    for start in (0, 4, 1024, 4100):
        view = part(whole, 100, start)
        out = tvm.runtime.empty((100,), "float32", cl)
        built["main"](view, out)
        np.testing.assert_array_equal(out.numpy(), values[start // 4 :][:100] + 1)
        target = tvm.runtime.tensor(np.zeros(4096, "float32"), cl)
        built["main"](out, part(target, 100, start))
        wanted = np.zeros(4096, "float32")
        wanted[start // 4 : start // 4 + 100] = out.numpy() + 1
        np.testing.assert_array_equal(target.numpy(), wanted)
    with pytest.raises(TVMError, match="several tensors in one buffer"):
        built["main"](part(whole, 8, 4), part(whole, 8, 44))


def test_tensors_on_the_host_are_refused_and_arrays_taken(cl: Any) -> None:
    x = programs.floats(4, 5)
    vm = programs.machine(programs.module(o.exp, x), cl)
    np.testing.assert_allclose(vm["main"](x).numpy(), np.exp(x), rtol=1e-5)
    with pytest.raises(ValueError, match="a tensor on device type 1"):
        vm["main"](tvm.runtime.tensor(x))
    vm.set_input("main", tvm.runtime.tensor(x))  # moves it
    vm.invoke_stateful("main")
    np.testing.assert_allclose(vm.get_outputs("main").numpy(), np.exp(x), rtol=1e-5)


def test_constants_go_to_the_device_once(cl: Any) -> None:
    weight = programs.floats(5, 6)
    x = programs.floats(4, 5)
    mod = programs.module(lambda v: o.matmul(v, relax.const(weight)), x)
    target = Target("opencl", host="llvm")
    built = tvm.compile(mod, target)
    machines = [relax.VirtualMachine(built, cl) for _ in range(2)]
    for vm in machines:
        np.testing.assert_allclose(vm["main"](x).numpy(), x @ weight, rtol=1e-4, atol=1e-5)
    ours = [vm.module.constants_on(cl) for vm in machines]
    assert ours[0] is ours[1]


def test_memory_comes_back(cl: Any) -> None:
    api = kinds.api_of("opencl")
    x = programs.floats(64, 64)
    vm = programs.machine(programs.module(lambda v: o.nn.softmax(o.matmul(v, v)), x), cl)
    given = tvm.runtime.tensor(x, cl)
    vm["main"](given)
    gc.collect()
    before = api.memory_in_use(0)
    for _ in range(200):
        vm["main"](given)
    gc.collect()
    assert api.memory_in_use(0) == before


def test_programs_are_loaded_from_files(cl: Any, tmp_path: Any) -> None:
    x = programs.floats(4, 5)
    built = tvm.compile(programs.module(o.exp, x), Target("opencl", host="llvm"))
    built.export_library(str(tmp_path / "m.so"))
    vm = relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "m.so")), cl)
    np.testing.assert_allclose(vm["main"](x).numpy(), np.exp(x), rtol=1e-5)


def test_streams(cl: Any) -> None:
    stream = cl.create_raw_stream()
    try:
        cl.set_raw_stream(stream)
        x = programs.floats(30)
        np.testing.assert_array_equal(tvm.runtime.tensor(x, cl).numpy(), x)
        cl.sync(stream)
    finally:
        cl.set_raw_stream(0)
        cl.free_raw_stream(stream)
    with pytest.raises(TVMError, match="no stream of it"):
        cl.set_raw_stream(12345)


def test_threads_share_a_program(cl: Any) -> None:
    x = programs.floats(16, 16)
    vm = programs.machine(programs.module(o.matmul, x, x), cl)
    vm["main"](x, x)
    wrong: list[int] = []

    def work(seed: int) -> None:
        a = programs.floats(16, 16, seed=seed)
        for _ in range(20):
            if not np.allclose(vm["main"](a, a).numpy(), a @ a, rtol=1e-4, atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_the_driver_refuses_is_said(cl: Any) -> None:
    made = DeviceModule("opencl", "opencl", "__kernel void f(", {"f": KernelInfo((), ())})
    with pytest.raises(TVMError, match="compile kernels for"):
        made["f"]()
    with pytest.raises(TVMError, match="found: 1 values"):
        made["f"](3)
