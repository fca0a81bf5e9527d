from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.backend.device import harness
from tests.dlight.gpu.lowered import CUDA, KINDS, check, scheduled, target
from tests.dlight.gpu.workloads import elementwise
from tests.dlight.programs import reduction
from tvm import te, tir
from tvm.dlight.gpu import Reduction


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((7, 130), (1,)), ((130, 7), (0,)), ((40,), (0,)), ((3, 5, 20), (1, 2)), ((3, 20, 8), (1,))],
)
def test_sums(kind: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    check(Reduction(), reduction(shape, axes), target(kind))


def with_epilogue(broadcast: bool, along: bool) -> tir.PrimFunc:
    a = te.placeholder((6, 48) if along else (48, 6), name="A")
    k = te.reduce_axis((0, 48), name="k")
    s = te.compute((6,), lambda i: te.sum(a[i, k] if along else a[k, i], axis=k), name="S")
    if broadcast:
        return te.create_prim_func([a, te.compute((6, 9), lambda i, j: s[i] + j, name="B")])
    return te.create_prim_func([a, te.compute((6,), lambda i: s[i] + 1.0, name="B")])


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("along", [False, True])
def test_epilogues(broadcast: bool, along: bool) -> None:
    text = str(check(Reduction(), with_epilogue(broadcast, along), target("vulkan")))
    assert ('scope="shared"' in text) is broadcast


@pytest.mark.parametrize("combine", [te.max, te.min])
@pytest.mark.parametrize(("shape", "axes"), [((7, 130), (1,)), ((130, 7), (0,))])
def test_extremes(combine: object, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    check(Reduction(), reduction(shape, axes, combine), CUDA)


def on_the_shim(func: tir.PrimFunc, x: np.ndarray) -> np.ndarray:
    """What the kernels give, by C++: the interpreter takes long for so many threads."""
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    found = np.zeros(x.shape[:-1], x.dtype)
    harness.run(harness.built(mod, "cuda"), "cuda", "main", x, found)
    return found


def test_windows_have_a_thread_for_each_result() -> None:
    assert Reduction().apply(reduction((5000, 9), (1,), te.max), CUDA, False) is None


def test_few_long_rows_are_shared_by_many_blocks() -> None:
    func = scheduled(Reduction(), reduction((2, 40000), (1,)), CUDA)
    text = str(func)
    assert text.count('T.thread_binding(512, thread="blockIdx.x")') == 1  # parts of both rows
    assert text.count('T.thread_binding(2, thread="blockIdx.x")') == 1
    x = np.random.default_rng(5).integers(-4, 5, (2, 40000)).astype("float32")
    np.testing.assert_array_equal(on_the_shim(func, x), x.sum(1))


@pytest.mark.parametrize("length", [1, 3001])
def test_rows_of_a_length_that_is_not_known(length: int) -> None:
    n = te.var("n", "int64")
    a, k = te.placeholder((n,), name="A"), te.reduce_axis((0, n), "k")
    whole = te.create_prim_func([a, te.compute((), lambda: te.max(a[k], k), name="B")])
    func = scheduled(Reduction(), whole, CUDA)
    assert str(func).count('T.thread_binding(T.int64(256), thread="blockIdx.x")') == 1
    x = np.random.default_rng(5).integers(-4, 5, length).astype("float32")
    np.testing.assert_array_equal(on_the_shim(func, x), x.max())


def test_other_functions_are_left() -> None:
    assert Reduction().apply(elementwise(8, 8), CUDA, False) is None


def test_the_form() -> None:
    text = str(check(Reduction(), reduction((7, 130), (1,)), CUDA))
    assert 'T.thread_binding(7, thread="blockIdx.x")' in text
    assert 'T.thread_binding(128, thread="threadIdx.x")' in text
    assert '"pragma_auto_unroll_max_step": 256' in text
    assert "B_rf_init" in text
