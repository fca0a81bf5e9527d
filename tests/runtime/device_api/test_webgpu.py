"""Graphs on WebGPU and Vulkan devices."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tvm
from tests.runtime import attention_kernels
from tests.runtime.device_api import programs
from tests.runtime.device_api.devices import needs
from tvm import relax
from tvm.error import TVMError
from tvm.relax import op as o
from tvm.relax.frontend.nn.llm.kv_cache import _attention_decode
from tvm.runtime.device_api import kinds
from tvm.runtime.device_api.webgpu import _check_driver, _folded, _packed

pytestmark = pytest.mark.device


@pytest.fixture(params=[pytest.param(kind, marks=needs(kind)) for kind in ("webgpu", "vulkan")])
def gpu(request: pytest.FixtureRequest) -> Any:
    return tvm.device(request.param, 0)


def test_values_go_there_and_back(gpu: Any) -> None:
    for dtype in ("float32", "int8", "bool", "float16", "int64"):
        tensor = tvm.runtime.empty((3, 5), dtype, gpu)
        values = np.arange(15).reshape(3, 5)
        np.testing.assert_array_equal(tensor.copyfrom(values).numpy(), values.astype(dtype))


def test_bytes_beside_a_part_stay(gpu: Any) -> None:
    """Copies count in words; a part of a tensor may begin and end within one."""
    whole = tvm.runtime.tensor(np.arange(64, dtype="uint8"), gpu)
    for start, count in ((0, 3), (1, 2), (5, 7), (8, 8), (61, 3)):
        view = whole._create_view((count,), "uint8", start)
        np.testing.assert_array_equal(view.numpy(), np.arange(64)[start : start + count])
        view.copyfrom(np.full(count, 180 + start, "uint8"))
        wanted = np.arange(64, dtype="uint8")
        wanted[start : start + count] = 180 + start
        np.testing.assert_array_equal(whole.numpy(), wanted)
        whole.copyfrom(np.arange(64, dtype="uint8"))
    other = tvm.runtime.tensor(np.zeros(64, "uint8"), gpu)
    whole._create_view((5,), "uint8", 3).copyto(other._create_view((5,), "uint8", 9))
    np.testing.assert_array_equal(other.numpy()[9:14], np.arange(3, 8))
    whole._create_view((8,), "uint8", 0).copyto(whole._create_view((8,), "uint8", 32))
    np.testing.assert_array_equal(whole.numpy()[32:40], np.arange(8))


@pytest.mark.parametrize("name", programs.CASES)
def test_graphs(gpu: Any, name: str) -> None:
    make, arrays = programs.CASES[name]
    programs.compare(gpu, make, *arrays)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_small_integers_wrap_as_on_the_cpu(gpu: Any, dtype: str) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 120, (5, 7)).astype(dtype) for _ in range(2))
    for make in (o.add, o.subtract, o.multiply, o.less):
        programs.compare(gpu, make, a, b)
    programs.compare(gpu, lambda x: o.astype(x, "int8"), a)
    programs.compare(gpu, lambda x: o.astype(x, "float32"), a)


@needs("webgpu")
def test_wide_integers_are_pairs_of_words() -> None:
    a = np.arange(-3, 9, dtype="int64").reshape(3, 4) << 31
    for make in (o.add, o.multiply, o.floor_divide, o.greater):
        programs.compare(tvm.webgpu(0), make, a, a + 5)
    x = programs.floats(3, 40)
    programs.compare(tvm.webgpu(0), lambda x: o.argmax(x, axis=-1), x)
    programs.compare(tvm.webgpu(0), lambda x: o.argsort(x, axis=-1, dtype="int64"), x)
    programs.compare(tvm.webgpu(0), lambda x: o.topk(x, 5, ret_type="indices", dtype="int64"), x)


def test_what_is_not_a_number(gpu: Any) -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf, -0.0, -1.2], "float32")
    for make in (o.isnan, o.isinf, o.isfinite, o.erf):
        programs.compare(gpu, make, x)


@pytest.mark.slow
def test_grids_of_many_blocks(gpu: Any) -> None:
    rows = programs.floats(70_001, 4)  # a block each
    programs.compare(gpu, lambda x: o.nn.softmax(x, -1), rows)
    many = np.arange(16_800_001, dtype="float32")
    programs.compare(gpu, lambda x: o.add(x, relax.const(1, "float32")), many)


def test_how_grids_are_folded() -> None:
    assert _folded([65_535, 2, 3]) == [65_535, 2, 3]
    assert _folded([65_536, 5, 1]) == [32_768, 5, 2]
    assert _folded([70_000, 1, 2]) == [70_000, 1, 2]  # the kernel uses z: the device refuses
    x, _, z = _folded([1_000_003, 1, 1])
    assert x <= 65_535
    assert 0 <= x * z - 1_000_003 < z


def test_a_driver_that_compares_wide_numbers_wrongly_is_refused() -> None:
    old = {"device": "llvmpipe (LLVM 15)", "description": "Mesa 22.3.6 (LLVM 15.0.6)"}
    with pytest.raises(TVMError, match="which compares 64-bit numbers wrongly"):
        _check_driver(old, "let a : i64 = 1li;")
    _check_driver(old, "let a : i32 = 1i;")
    _check_driver({**old, "description": "Mesa 24.0.1"}, "let a : i64 = 1li;")


def test_memory_comes_back(gpu: Any) -> None:
    api = kinds.api_of(gpu.type)
    x = programs.floats(8, 8)
    vm = programs.machine(programs.module(o.matmul, x, x), gpu)
    given = tvm.runtime.tensor(x, gpu)
    vm["main"](given, given)
    gc.collect()
    before = api.memory_in_use(0)
    for _ in range(70):  # more launches than are handed over together
        last = vm["main"](given, given)
    np.testing.assert_allclose(last.numpy(), x @ x, rtol=1e-4, atol=1e-5)
    del last
    gc.collect()
    assert api.memory_in_use(0) == before


def test_numbers_lie_at_multiples_of_their_size() -> None:
    assert _packed([("int32", -1), ("float16", 1.0), ("float32", 2.0)]) == (
        b"\xff\xff\xff\xff\x00\x3c\x00\x00\x00\x00\x00\x40" + bytes(4)
    )
    assert len(_packed([("int32", 1), ("int64", 2)])) == 16


@needs("webgpu")
@pytest.mark.parametrize("rope", [0, 1])
def test_rows_attend_to_many_pages(rope: int) -> None:
    """A block of threads a row and head; divisions within its loops are shifts."""
    target, gpu = tvm.target.Target("webgpu"), tvm.device("webgpu", 0)
    func = _attention_decode(2, 4, 32, "float32", False, {}, target)
    library, rng = tvm.compile(func, target), np.random.default_rng(0)
    lengths, page = [300, 5], 16
    counts = [-(-length // page) for length in lengths]
    ends = np.cumsum([0, *counts]).astype("int32")
    numbers = rng.permutation(int(ends[-1])).astype("int32")
    pages = rng.standard_normal((len(numbers), 2, 2, page, 32)).astype("float32")
    last = np.int32([n - (c - 1) * page for n, c in zip(lengths, counts)])
    q = rng.standard_normal((2, 4, 32)).astype("float32")
    out, lse = (tvm.runtime.empty(shape, "float32", gpu) for shape in ((2, 4, 32), (2, 4)))
    given = (q, pages, ends, numbers, last, np.int32([0, 0]), np.int32([299, 4]))
    library(*(tvm.runtime.tensor(a, gpu) for a in given), out, lse, rope, 1.0, 1e4, 0.2)
    for b, length in enumerate(lengths):
        mine = pages[numbers[ends[b] : ends[b + 1]]].transpose(1, 0, 3, 2, 4)
        k, v = mine.reshape(2, -1, 2, 32)[:, :length]
        row = q[b : b + 1]
        if rope:
            row = attention_kernels.rope(row, np.array([length - 1]), 1e4, 1.0)
            k = attention_kernels.rope(k, np.arange(length), 1e4, 1.0)
        wanted, logarithm = attention_kernels.attend(row, k, v, 0.2, np.ones((1, length), bool))
        np.testing.assert_allclose(out.numpy()[b], wanted[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(lse.numpy()[b], logarithm[0], rtol=1e-4, atol=1e-5)
