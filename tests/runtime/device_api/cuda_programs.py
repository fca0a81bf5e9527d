"""Programs on CUDA devices that a stand-in plays (cuda_driver.cpp), each a function of this file.

    LD_LIBRARY_PATH=<folder with the stand-in> python -m tests.runtime.device_api.cuda_programs

prints a line of JSON for each: its name, and what went wrong or "". The calls go through
cuda-bindings; only the driver below it and the compiler of kernels are the tests' own.
"""

from __future__ import annotations

import ctypes
import gc
import json
import re
import tempfile
import threading
import traceback
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.device.harness import shared_library
from tests.runtime.device_api import programs
from tvm import relax
from tvm.backend.llvm import target
from tvm.error import TVMError
from tvm.relax import op as o
from tvm.runtime import vm_builtin_graph
from tvm.runtime.cuda_module import CUDAModule
from tvm.runtime.device_api import kinds
from tvm.runtime.device_api.api import DYNAMIC_SHARED
from tvm.script import tir as T
from tvm.support.kernel_info import KernelInfo
from tvm.target import Target

KERNEL = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(')
TARGET = Target("cuda -arch=sm_80", host="llvm")
api: Any = None


def as_cubin(code: str, target: Any = None) -> bytes:
    """CUDA text as what the stand-in loads."""
    assert str(target.attrs["arch"]) == "sm_80"  # the machine that the stand-in is
    return shared_library(code, "cuda", dict.fromkeys(KERNEL.findall(code)), "-O0")


def attributes() -> None:
    dev = tvm.cuda(0)
    assert dev.exist
    assert tvm.cuda(1).exist
    assert not tvm.cuda(2).exist
    assert dev.device_name == "stand-in 0"
    assert dev.compute_version == "8.0"
    assert (dev.warp_size, dev.multi_processor_count) == (32, 2)
    assert dev.max_thread_dimensions == [1024, 1024, 64]
    assert dev.max_shared_memory_per_block == 48 << 10
    assert dev.total_global_memory >= dev.available_global_memory > 0
    assert tvm.runtime.enabled("cuda")


def tensors() -> None:
    dev = tvm.cuda(0)
    for dtype in ("float32", "int8", "bool", "float16", "bfloat16", "int64"):
        values = np.arange(15).reshape(3, 5)
        back = tvm.runtime.empty((3, 5), dtype, dev).copyfrom(values).numpy()
        np.testing.assert_array_equal(back.astype("f4"), values.astype(back.dtype).astype("f4"))
    there = tvm.runtime.tensor(programs.floats(7), dev).copyto(tvm.cuda(1))
    assert there.device == tvm.cuda(1)
    np.testing.assert_array_equal(there.numpy(), programs.floats(7))


def memory_that_is_not_there() -> None:
    with pytest.raises(MemoryError, match="1,073,741,824"):
        tvm.runtime.empty((1 << 28,), "float32", tvm.cuda(0))


def graphs() -> None:
    for name in ("softmax", "convolution", "attention"):
        make, arrays = programs.CASES[name]
        programs.compare(tvm.cuda(0), make, *arrays)


def a_second_device() -> None:
    x = programs.floats(9, 9)
    programs.compare(tvm.cuda(1), o.exp, x)


def streams_follow_each_other() -> None:
    """Work of a stream sees what was queued in the one before; tvm_ffi and we mean the same."""
    dev, x = tvm.cuda(0), programs.floats(64)
    vm = programs.machine(programs.module(lambda v: o.add(v, v), x), dev)
    one, two = dev.create_raw_stream(), dev.create_raw_stream()
    given = tvm.runtime.tensor(x, dev)
    for stream in (one, two, one, 0):
        dev.set_raw_stream(stream)
        assert api.current_stream(0) == stream
        given = vm["main"](given)
    dev.sync()
    np.testing.assert_allclose(given.numpy(), 16 * x, rtol=1e-6)
    for stream in (one, two):
        dev.free_raw_stream(stream)


def threads_have_streams() -> None:
    x = programs.floats(64)
    vm = programs.machine(programs.module(lambda v: o.exp(o.add(v, v)), x), tvm.cuda(0))
    wrong: list[int] = []

    def work(seed: int) -> None:
        dev, a = tvm.cuda(0), programs.floats(64, seed=seed)
        stream = dev.create_raw_stream()
        dev.set_raw_stream(stream)
        for _ in range(10):
            if not np.allclose(vm["main"](a).numpy(), np.exp(2 * a), rtol=1e-5):
                wrong.append(seed)
        dev.set_raw_stream(0)
        dev.free_raw_stream(stream)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def memory_comes_back() -> None:
    x = programs.floats(16, 16)
    vm = programs.machine(programs.module(lambda v: o.nn.softmax(o.matmul(v, v)), x), tvm.cuda(0))
    given = tvm.runtime.tensor(x, tvm.cuda(0))
    vm["main"](given)
    gc.collect()
    before = api.memory_in_use(0)
    for _ in range(8):
        vm["main"](given)
    gc.collect()
    assert api.memory_in_use(0) == before


@T.prim_func
def scaled(a: T.handle, b: T.handle, by: T.float32, less: T.int32) -> None:
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.thread_binding((n + T.int64(31)) // T.int64(32), "blockIdx.x"):
        for j in T.thread_binding(T.int64(32), "threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(n, i * T.int64(32) + j)
                T.where(i * T.int64(32) + j < n)
                B[v] = A[v] * by - T.Cast("float32", less)


def numbers_as_arguments() -> None:
    built = tvm.compile(tvm.IRModule({"main": scaled}), TARGET)
    for n in (1, 33, 1000):
        x = programs.floats(n)
        given, out = tvm.runtime.tensor(x, tvm.cuda(0)), tvm.runtime.empty((n,), "float32",
                                                                           tvm.cuda(0))  # fmt: skip
        built["main"](given, out, 0.5, -3)
        np.testing.assert_allclose(out.numpy(), x * 0.5 + 3, rtol=1e-6)
    none = tvm.runtime.empty((0,), "float32", tvm.cuda(0))
    built["main"](none, none, 0.5, 1)  # launches nothing


SHARED = '''
extern "C" __global__ void turned(float* a, short less) {
  extern __shared__ float rows[];
  rows[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = rows[63 - threadIdx.x] - less;
}
'''


def kernels_of_binaries() -> None:
    info = KernelInfo(("handle", "int16"), ("threadIdx.x", DYNAMIC_SHARED))
    binary = as_cubin(SHARED, TARGET)
    module = CUDAModule(binary, "cubin", {"turned": info}, SHARED)
    x = programs.floats(64)
    for nbytes in (64 * 4, 64 << 10):
        given = tvm.runtime.tensor(x, tvm.cuda(0))
        module["turned"](ctypes_pointer(given), -2, 64, nbytes)
        np.testing.assert_allclose(given.numpy(), x[::-1] + 2, rtol=1e-6)
    with pytest.raises(TVMError, match="cuFuncSetAttribute"):
        module["turned"](ctypes_pointer(given), 0, 64, 1 << 20)
    with pytest.raises(TVMError, match=r"launch kernel 'turned'[\s\S]*4096, 1, 1\] threads"):
        module["turned"](ctypes_pointer(given), 0, 4096, 64)
    with pytest.raises(TVMError, match="cuModuleLoadData"):
        CUDAModule(b"no binary", "cubin", {"turned": info})["turned"](None, 0, 1, 0)


def ctypes_pointer(tensor: Any) -> Any:
    return ctypes.c_void_p(tensor.data_ptr())


def launches_are_recorded() -> None:
    dev, x = tvm.cuda(0), programs.floats(64)
    built = tvm.compile(tvm.IRModule({"main": scaled}), TARGET)
    given, out = (tvm.runtime.tensor(x, dev) for _ in range(2))
    built["main"](given, out, 0.5, 0)  # loads the kernel
    result, repeat = api.record(0, lambda: built["main"](given, out, 2.0, 1) or "done")
    assert result == "done"
    np.testing.assert_allclose(out.numpy(), x * 0.5, rtol=1e-6)  # recorded, not run
    repeat()
    np.testing.assert_allclose(out.numpy(), x * 2 - 1, rtol=1e-6)
    given.copyfrom(x + 1)
    repeat()
    np.testing.assert_allclose(out.numpy(), (x + 1) * 2 - 1, rtol=1e-5)


def time_is_the_device_s() -> None:
    built = tvm.compile(tvm.IRModule({"main": scaled}), TARGET)
    given = tvm.runtime.tensor(programs.floats(64), tvm.cuda(0))
    seconds = api.seconds(0, lambda: [built["main"](given, given, 1.0, 0) for _ in range(5)])
    assert seconds == pytest.approx(0.005)  # the stand-in's clock: a millisecond a launch
    timed = built.time_evaluator("main", tvm.cuda(0), number=3, repeat=2)(given, given, 1.0, 0)
    assert timed.mean == pytest.approx(0.001)
    x = programs.floats(8, 8)
    vm = programs.machine(programs.module(lambda v: o.matmul(o.matmul(v, v), v), x), tvm.cuda(0))
    report = vm.profile("main", tvm.runtime.tensor(x, tvm.cuda(0)))
    kernels = [c["Duration (us)"].microseconds for c in report.calls if "matmul" in c["Name"]]
    assert kernels == pytest.approx([1000.0, 1000.0])


def regions_of_graphs_are_recorded() -> None:
    x = programs.floats(64)
    mod = programs.module(lambda v: o.cumsum(o.cumsum(o.cumsum(o.cumsum(v)))), x)
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        built = tvm.compile(mod, TARGET)
    vm = relax.VirtualMachine(built, tvm.cuda(0))
    for seed in range(4):
        given = programs.floats(64, seed=seed)
        wanted = given
        for _ in range(4):
            wanted = np.cumsum(wanted)
        np.testing.assert_allclose(vm["main"](given).numpy(), wanted, rtol=1e-3, atol=1e-4)
    (regions,) = vm_builtin_graph._RECORDED.values()
    assert [entry is not None for entry in regions.values()] == [True]


def exported_programs() -> None:
    x = programs.floats(4, 5)
    built = tvm.compile(programs.module(o.exp, x), TARGET)
    with tempfile.TemporaryDirectory() as folder:
        built.export_library(f"{folder}/m.so")
        vm = relax.VirtualMachine(tvm.runtime.load_module(f"{folder}/m.so"), tvm.cuda(0))
        np.testing.assert_allclose(vm["main"](x).numpy(), np.exp(x), rtol=1e-5)


PROGRAMS = (
    attributes, tensors, memory_that_is_not_there, graphs, a_second_device,
    streams_follow_each_other, threads_have_streams, memory_comes_back, numbers_as_arguments,
    kernels_of_binaries, launches_are_recorded, time_is_the_device_s,
    regions_of_graphs_are_recorded, exported_programs,
)  # fmt: skip

if __name__ == "__main__":
    tvm.ffi.register_global_func("tvm_callback_cuda_compile", as_cubin, override=True)
    api = kinds.api_of("cuda")
    target.DEFAULT_LEVEL = 0  # of the host's code; what is looked at is the device
    for program in PROGRAMS:
        try:
            program()
            said = ""
        except Exception:
            said = traceback.format_exc()
        print(json.dumps([program.__name__, said]), flush=True)
