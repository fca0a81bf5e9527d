"""Functions that compiled code calls: scratch memory, new tensors, arrays, look-up, the clock."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tvm.backend.llvm import host
from tvm.error import ShapeError, TVMError
from tvm.ffi import library, register_global_func, remove_global_func
from tvm.runtime import Tensor, tensor

pytestmark = pytest.mark.cpu
P, I32, I64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
NAME = ctypes.c_char_p


def function(name: str, result: object, *params: object):
    return ctypes.CFUNCTYPE(result, *params)(host.host_functions()[name])


alloc = function("TVMBackendAllocWorkspace", P, I32, I32, I64, I32, I32)
free = function("TVMBackendFreeWorkspace", I32, I32, I32, P)


def test_scratch_memory_is_aligned_and_reused() -> None:
    sizes = [1, 64, 1000, 100_000, 3_000_000]
    places = [alloc(1, 0, size, 2, 32) for size in sizes]
    assert all(place % 64 == 0 for place in places)
    for place, size in zip(places, sizes):
        ctypes.memset(place, 7, size)
        assert free(1, 0, place) == 0
    assert alloc(1, 0, 3_000_000, 2, 32) == places[-1]
    free(1, 0, places[-1])


def test_more_blocks_than_are_kept() -> None:
    places = [alloc(1, 0, 256, 0, 8) for _ in range(3 * host.SLOTS)]
    assert len(set(places)) == len(places)
    assert all(free(1, 0, place) == 0 for place in places)


def test_memory_that_nobody_has_is_an_error() -> None:
    assert alloc(1, 0, 1 << 60, 0, 8) is None


def new_value(make) -> object:
    """What a C function leaves in a TVMFFIAny, as a Python value."""

    def call(_self, _args, _count, result) -> int:
        return int(make(ctypes.cast(result, P).value))

    kind = ctypes.CFUNCTYPE(I32, P, P, I32, ctypes.POINTER(I64))
    callback = kind(call)
    address = ctypes.cast(callback, P).value
    return library().Function.__from_extern_c__(address, keep_alive_object=callback)()


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (4, 5, 6)])
def test_new_tensors(shape: tuple[int, ...]) -> None:
    make = function("tvm_rt_tensor_new", I32, P, I32, I32, I32, I32, NAME, P)
    extents = (I64 * max(len(shape), 1))(*shape)
    made = new_value(lambda out: make(extents, len(shape), 2, 32, 1, b"x of float32", out))
    assert isinstance(made, Tensor)
    assert (tuple(made.shape), str(made.dtype)) == (shape, "float32")
    assert made.is_contiguous()
    assert made.data_ptr() % 64 == 0
    values = np.arange(int(np.prod(shape)), dtype="float32").reshape(shape)
    made.copyfrom(values)
    np.testing.assert_array_equal(made.numpy(), values)


def test_memory_of_tensors_is_used_again() -> None:
    make = function("tvm_rt_tensor_new", I32, P, I32, I32, I32, I32, NAME, P)
    extents = (I64 * 1)(123_456)
    first = new_value(lambda out: make(extents, 1, 2, 32, 1, b"x", out)).data_ptr()
    assert new_value(lambda out: make(extents, 1, 2, 32, 1, b"x", out)).data_ptr() == first


def test_a_tensor_that_does_not_fit_is_an_error() -> None:
    make = function("tvm_rt_tensor_new", I32, P, I32, I32, I32, I32, NAME, P)
    extents = (I64 * 1)(1 << 58)
    with pytest.raises(MemoryError, match=r"memory for tensor x of float32\n.* 288230376151711744"):
        new_value(lambda out: make(extents, 1, 2, 32, 1, b"x of float32", out))


@pytest.mark.parametrize("shape", [(1 << 31, 1 << 31), (1 << 32, 1 << 30)])
def test_sizes_that_wrap_around_are_errors(shape: tuple[int, ...]) -> None:
    make = function("tvm_rt_tensor_new", I32, P, I32, I32, I32, I32, NAME, P)
    extents = (I64 * len(shape))(*shape)
    with pytest.raises(MemoryError, match=f"no room for {shape[0]} x {shape[1]}$"):
        new_value(lambda out: make(extents, len(shape), 2, 32, 1, b"x of float32", out))


@pytest.mark.parametrize("shape", [(-1, -1), (3, -(1 << 62)), (0, -1)])
def test_extents_below_zero_are_errors(shape: tuple[int, ...]) -> None:
    make = function("tvm_rt_tensor_new", I32, P, I32, I32, I32, I32, NAME, P)
    extents = (I64 * len(shape))(*shape)
    with pytest.raises(ShapeError, match=f"x of float32\n.*\n  found: {shape[0]} x {shape[1]}$"):
        new_value(lambda out: make(extents, len(shape), 2, 32, 1, b"x of float32", out))


def test_arrays_of_values() -> None:
    make = function("tvm_rt_array_new", I32, P, I32, P)
    items = (I64 * 4)(1, 42, 1, 43)  # two TVMFFIAny: type index 1 (int), value
    assert list(new_value(lambda out: make(items, 2, out))) == [42, 43]


def test_functions_are_found_by_name() -> None:
    find = function("tvm_rt_find_function", I32, P, ctypes.c_char_p, P)
    register_global_func("testing.found", lambda: 1, override=True)
    place = (P * 1)()
    assert find(None, b"testing.found", ctypes.addressof(place)) == 0
    assert place[0]
    remove_global_func("testing.found")
    with pytest.raises(RuntimeError, match=r"function 'testing\.found', which is not"):
        new_value(lambda _: find(None, b"testing.found", ctypes.addressof(place)))


def test_the_clock_runs() -> None:
    clock = function("tvm_rt_clock_ns", I64)
    first = clock()
    assert clock() >= first > 0


def test_exported_host_functions_are_hidden() -> None:
    text = host.host_text(host.pool_platform("x86_64-linux-gnu", exported=True))
    assert "define hidden i32 @TVMBackendParallelLaunch" in text
    assert "@pthread_atfork" in text


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "arm64-apple-macos", "riscv64-linux-gnu"])
def test_host_functions_compile_for_other_systems(triple: str) -> None:
    from tvm.backend.llvm.jit import Machine

    assert len(host.exported_object(Machine(triple))) > 1000
    assert isinstance(tensor(np.zeros(1)), Tensor)
    assert issubclass(TVMError, Exception)


def test_less_than_no_memory_is_an_error() -> None:
    """A size that was negative, or has become so, is none."""
    take = function("TVMBackendAllocWorkspace", I32, I32, I64, I32, I32)
    take.restype = P
    assert take(1, 0, -4, 0, 32) is None
