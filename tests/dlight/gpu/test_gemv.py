from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import ADRENO, CUDA, KINDS, check, target
from tests.dlight.gpu.workloads import dequantized, elementwise, product
from tests.dlight.programs import reduction
from tvm import te, tir
from tvm.dlight.gpu import GEMV
from tvm.target import Target


@pytest.mark.parametrize("kind", KINDS)
def test_rows_along_memory(kind: str) -> None:
    check(GEMV(), product(1, 3, 37, epilogue=True), target(kind))


@pytest.mark.parametrize("kind", ["cuda", "metal"])
def test_several_blocks(kind: str) -> None:
    check(GEMV(), product(1, 20, 128), target(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_batches(kind: str) -> None:
    check(GEMV(), product(1, 2, 64, batch=2), target(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_four_bits(kind: str) -> None:
    check(GEMV(), dequantized(2, 256), target(kind))


def test_half_floats_summed_as_floats() -> None:
    after = str(check(GEMV(), product(1, 16, 256, dtype="float16", out="float32"), CUDA))
    assert "T.vectorized(2)" in after  # four bytes of the matrix at once


@pytest.mark.parametrize("n", [1, 5])
def test_symbolic_results(n: int) -> None:
    m = te.var("n", "int32")
    a, w = te.placeholder((1, 64), name="A"), te.placeholder((m, 64), name="W")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((1, m), lambda i, j: te.sum(a[i, k] * w[j, k], axis=k), name="C")
    func = te.create_prim_func([a, w, c])
    check(GEMV(), func, CUDA, sizes={"n": n})


def test_the_vector_goes_to_shared_memory_where_it_fits() -> None:
    small = str(check(GEMV(), product(1, 4, 256), CUDA))
    assert 'A_shared = T.alloc_buffer((1, 256), scope="shared")' in small
    assert '"pragma_unroll_explicit": 256, "pragma_vectorize": 1' in small
    sch = GEMV().apply(product(1, 64, 16384), CUDA, False)
    assert isinstance(sch, tir.Schedule)
    assert 'scope="shared"' not in str(sch.mod)


def test_columns_along_memory_on_phones() -> None:
    after = str(check(GEMV(), product(1, 256, 64, transposed=False, epilogue=True), ADRENO))
    assert 'T.thread_binding(128, thread="threadIdx.x")' in after
    check(GEMV(), product(1, 128, 128, transposed=False), ADRENO)
    check(GEMV(), dequantized(64, 128, transposed=False), ADRENO)


@pytest.mark.parametrize("broadcast", [False, True])
def test_epilogues(broadcast: bool) -> None:
    a, w = te.placeholder((64,), name="A"), te.placeholder((6, 64), name="W")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((6,), lambda j: te.sum(a[k] * w[j, k], axis=k), name="C")
    if broadcast:
        d = te.compute((6, 5), lambda i, j: c[i] * j, name="D")
    else:
        d = te.compute((6,), lambda i: c[i] * 2.0, name="D")
    text = str(check(GEMV(), te.create_prim_func([a, w, d]), target("webgpu")))
    assert ('scope="shared"' in text) is broadcast


def test_other_functions_are_left() -> None:
    assert GEMV().apply(elementwise(8, 8), CUDA, False) is None
    assert GEMV().apply(reduction((8, 8), (1,)), CUDA, False) is None
    assert GEMV().apply(product(1, 8, 8, transposed=False), CUDA, False) is None
    assert GEMV().apply(product(4, 8, 8), Target("llvm"), False) is None
