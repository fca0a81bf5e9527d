from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import ADRENO, CUDA, KINDS, check, target
from tests.dlight.gpu.workloads import dequantized, elementwise, product
from tests.dlight.programs import reduction
from tvm import te, tir
from tvm.dlight.gpu import GEMV
from tvm.script import tir as T
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


_APPLE = Target(
    "metal -max_num_threads=1024 -max_threads_per_block=1024 -max_shared_memory_per_block=32768"
)


@pytest.mark.parametrize("where", [ADRENO, _APPLE], ids=["adreno", "apple"])
def test_columns_along_memory_of_any_length(where: Target) -> None:
    after = str(check(GEMV(), product(1, 300, 130, transposed=False), where))
    assert "C_rf_local" in after  # partial sums of 32 words, some of which lie behind the end
    m = te.var("n", "int32")
    a, w = te.placeholder((1, 128), name="A"), te.placeholder((128, m), name="W")
    k = te.reduce_axis((0, 128), name="k")
    c = te.compute((1, m), lambda i, j: te.sum(a[i, k] * w[k, j], axis=k), name="C")
    after = str(check(GEMV(), te.create_prim_func([a, w, c]), where, sizes={"n": 5}))
    assert "T.thread_binding((n + 255) // 256" in after
    assert 'A_shared = T.alloc_buffer((1, 128), scope="shared")' in after


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


def attention_scores(heads: int, depth: int) -> tir.PrimFunc:
    """Scores of one query with the keys seen so far, and what is done to them."""
    n = te.var("n", "int64")
    h, one, d = (tir.IntImm("int64", size) for size in (heads, 1, depth))
    q, keys = te.placeholder((one, h, one, d), name="Q"), te.placeholder((one, h, n, d), name="K")
    mask = te.placeholder((one, one, one, n), name="M")
    k = te.reduce_axis((tir.IntImm("int64", 0), d), name="k")
    scores = te.compute(
        (one, h, one, n),
        lambda b, i, s, j: te.sum(q[b, i, s, k] * keys[b, i, j, k], axis=k),
        name="S",
    )
    scaled = te.compute(scores.shape, lambda *at: scores[at] * 0.125, name="scaled")
    bounded = te.compute(scores.shape, lambda *at: te.max(scaled[at], -1e4), name="bounded")
    masked = te.compute(
        scores.shape, lambda b, i, s, j: te.min(bounded[b, i, s, j], mask[b, 0, s, j]), name="out"
    )
    return te.create_prim_func([q, keys, mask, masked])


@pytest.mark.parametrize("n", [1, 7])
def test_scores_of_growing_length(n: int) -> None:
    after = str(check(GEMV(), attention_scores(4, 64), CUDA, sizes={"n": n}))
    loads = after[: after.index('T.block("K_local")')].splitlines()[-3:]
    assert not any(", n" in line for line in loads), "one row of keys at a time"


def test_a_product_for_each_expert() -> None:
    @T.prim_func(private=True)
    def experts(
        X: T.Buffer((1, 128), "float32"),
        W: T.Buffer((3, 16, 128), "float32"),
        C: T.Buffer((3, 16), "float32"),
    ):
        for expert in T.thread_binding(3, thread="blockIdx.y"):
            with T.block("expert"):
                e = T.axis.spatial(3, expert)
                for i, k in T.grid(16, 128):
                    with T.block("C"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        with T.init():
                            C[e, vi] = T.float32(0)
                        C[e, vi] = C[e, vi] + X[0, vk] * W[e, vi, vk]

    after = str(check(GEMV(), experts, CUDA))
    assert 'thread="blockIdx.y"' in after
    assert 'thread="blockIdx.x"' in after
