from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.backend.device import harness
from tests.covering import long
from tests.dlight.gpu.lowered import CUDA, scheduled
from tests.dlight.programs import reduction
from tvm import te, tir
from tvm.dlight.gpu import LongReduction, Reduction


def on_the_shim(func: tir.PrimFunc, x: np.ndarray) -> np.ndarray:
    """What the kernels give, by C++: the interpreter takes long for so many threads."""
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    found = np.zeros(x.shape[:-1], x.dtype)
    harness.run(harness.built(mod, "cuda"), "cuda", "main", x, found)
    return found


def test_few_long_rows_are_shared_by_many_blocks() -> None:
    func = scheduled(LongReduction(), reduction((2, 40000), (1,)), CUDA)
    text = str(func)
    assert text.count('T.thread_binding(512, thread="blockIdx.x")') == 1  # parts of both rows
    assert text.count('T.thread_binding(2, thread="blockIdx.x")') == 1
    x = np.random.default_rng(5).integers(-4, 5, (2, 40000)).astype("float32")
    np.testing.assert_array_equal(on_the_shim(func, x), x.sum(1))


@pytest.mark.parametrize("length", [long(1), 3001])
def test_rows_of_a_length_that_is_not_known(length: int) -> None:
    n = te.var("n", "int64")
    a, k = te.placeholder((n,), name="A"), te.reduce_axis((0, n), "k")
    whole = te.create_prim_func([a, te.compute((), lambda: te.max(a[k], k), name="B")])
    func = scheduled(LongReduction(), whole, CUDA)
    assert str(func).count('T.thread_binding(T.int64(256), thread="blockIdx.x")') == 1
    x = np.random.default_rng(5).integers(-4, 5, length).astype("float32")
    np.testing.assert_array_equal(on_the_shim(func, x), x.max())


def test_other_reductions_are_left() -> None:
    for shape, axes in (((2, 400), (1,)), ((64, 40000), (1,)), ((40000, 2), (0,))):
        assert LongReduction().apply(reduction(shape, axes), CUDA, False) is None
    text = str(scheduled(Reduction(), reduction((2, 40000), (1,)), CUDA))
    assert text.count('thread="blockIdx.x"') == 1
