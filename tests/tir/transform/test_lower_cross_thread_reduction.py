from __future__ import annotations

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.script import tir as T
from tvm.tir.function import PrimFunc
from tvm.tir.interp import run
from tvm.tir.transform import LowerCrossThreadReduction

pytestmark = pytest.mark.pure


def lowered(func: PrimFunc) -> PrimFunc:
    """The function after the pass."""
    return LowerCrossThreadReduction()(IRModule({"main": func}))["main"]


def expect(func: PrimFunc, expected: PrimFunc) -> None:
    """The pass gives the expected function."""
    assert_structural_equal(lowered(func), expected.with_attr("global_symbol", "main"))


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


@T.prim_func
def split(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4,), "float32")) -> None:
    T.func_attr({"global_symbol": "main"})
    for i, ko in T.grid(4, 4):
        for ki in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(32, ko * 8 + ki)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func(check_well_formed=False)
def split_lowered(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4,), "float32")) -> None:
    every = T.alloc_buffer((1,), strides=[1], scope="local")
    own = T.alloc_buffer((1,), strides=[1], scope="local")
    for i in range(4):
        for ki in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B_in_thread_init"):
                T.reads()
                T.writes(own[0])
                own[0] = T.float32(0)
            for ko in range(4):
                with T.block("B_in_thread"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(32, ko * 8 + ki)
                    T.reads(A[vi, vk])
                    T.writes(own[0])
                    own[0] = own[0] + A[vi, vk]
            with T.block("B_cross_thread"):
                T.reads(own[0])
                T.writes(every[0])
                with T.attr(
                    T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
                    "reduce_scope", T.reinterpret("handle", T.uint64(0)),
                ):  # fmt: skip
                    T.tvm_thread_allreduce(T.uint32(1), own[0], True, every[0], ki)
            with T.block("B_write_back"):
                vi = T.axis.spatial(4, i)
                T.where(ki == 0)
                T.reads(every[0])
                T.writes(B[vi])
                B[vi] = every[0]


def test_loops_within_each_thread_and_over_them() -> None:
    expect(split, split_lowered)
    a, b = numbers(4, 32), np.zeros(4, "float32")
    run(lowered(split), a, b)
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-5)


@T.prim_func
def local_result(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")) -> None:
    T.func_attr({"global_symbol": "main"})
    total = T.alloc_buffer((4,), scope="local")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + A[vi, vk]
        with T.block("add"):
            vi = T.axis.spatial(4, i)
            B[vi] = total[vi] + T.float32(1)


@T.prim_func(check_well_formed=False)
def local_result_lowered(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")) -> None:
    total = T.alloc_buffer((4,), scope="local")
    every = T.alloc_buffer((1,), strides=[1], scope="local")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("sum_cross_thread"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(every[0])
                with T.attr(
                    T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
                    "reduce_scope", T.reinterpret("handle", T.uint64(0)),
                ):  # fmt: skip
                    T.tvm_thread_allreduce(T.uint32(1), A[vi, vk], True, every[0], k)
            with T.block("sum_write_back"):
                vi = T.axis.spatial(4, i)
                T.reads(every[0])
                T.writes(total[vi])
                total[vi] = every[0]
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("add"):
                vi = T.axis.spatial(4, i)
                T.where(tx == 0)
                T.reads(total[vi])
                T.writes(B[vi])
                B[vi] = total[vi] + T.float32(1)


def test_a_block_outside_of_the_threads_runs_in_the_first() -> None:
    expect(local_result, local_result_lowered)
    a, b = numbers(4, 8), np.zeros(4, "float32")
    run(lowered(local_result), a, b)
    np.testing.assert_allclose(b, a.sum(1) + 1, rtol=1e-5)


@T.prim_func
def guarded(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")) -> None:
    top = T.alloc_buffer((4,), scope="shared")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("top"):
                vi, vk = T.axis.spatial(4, i), T.axis.reduce(6, k)
                T.where(k < 6)
                with T.init():
                    top[vi] = T.min_value("float32")
                top[vi] = T.max(top[vi], A[vi, vk])
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.spatial(4, i), T.axis.spatial(6, k)
                T.where(k < 6)
                B[vi, vk] = A[vi, vk] - top[vi]


def test_a_guard_makes_each_thread_reduce_first() -> None:
    text = lowered(guarded).script()
    assert 'with T.block("top_in_thread"):' in text
    assert "T.where(k == 0)" in text
    a, b = numbers(4, 6), np.zeros((4, 6), "float32")
    run(lowered(guarded), a, b)
    np.testing.assert_allclose(b, a - a.max(1, keepdims=True))


@T.prim_func
def greatest(
    A: T.Buffer((4, 32), "float32"), at: T.Buffer((4,), "int32"), value: T.Buffer((4,), "float32")
) -> None:
    for i, ko in T.grid(4, 4):
        for ki in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.spatial(4, i), T.axis.reduce(32, ko * 8 + ki)
                with T.init():
                    value[vi] = T.min_value("float32")
                    at[vi] = -1
                place: T.int32 = T.Select(value[vi] >= A[vi, vk], at[vi], vk)
                best: T.float32 = T.Select(value[vi] >= A[vi, vk], value[vi], A[vi, vk])
                at[vi] = place
                value[vi] = best


def test_pairs() -> None:
    a, at, value = numbers(4, 32), np.zeros(4, "int32"), np.zeros(4, "float32")
    run(lowered(greatest), a, at, value)
    np.testing.assert_array_equal(at, a.argmax(1))
    np.testing.assert_array_equal(value, a.max(1))


@T.prim_func
def moments(
    A: T.Buffer((4, 8), "float32"), S: T.Buffer((4,), "float32"), Q: T.Buffer((4,), "float32")
) -> None:
    for i in range(4):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                    Q[vi] = T.float32(0)
                s: T.float32 = S[vi] + A[vi, vk]
                q: T.float32 = Q[vi] + A[vi, vk] * A[vi, vk]
                S[vi] = s
                Q[vi] = q


def test_sums_side_by_side() -> None:
    a, s, q = numbers(4, 8), np.zeros(4, "float32"), np.zeros(4, "float32")
    run(lowered(moments), a, s, q)
    np.testing.assert_allclose(s, a.sum(1), rtol=1e-5)
    np.testing.assert_allclose(q, (a * a).sum(1), rtol=1e-5)


@T.prim_func
def after_another(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")) -> None:
    twice = T.alloc_buffer((4, 8), scope="local")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("twice"):
                vi, vk = T.axis.remap("SS", [i, k])
                twice[vi, vk] = A[vi, vk] * T.float32(2)
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + twice[vi, vk]


def test_a_block_before_it_stays_in_the_threads() -> None:
    a, b = numbers(4, 8), np.zeros(4, "float32")
    run(lowered(after_another), a, b)
    np.testing.assert_allclose(b, a.sum(1) * 2, rtol=1e-5)


@T.prim_func
def not_innermost(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")) -> None:
    for k in T.thread_binding(8, thread="threadIdx.x"):
        for i in range(4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def over_blocks(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")) -> None:
    for i in range(4):
        for k in T.thread_binding(8, thread="blockIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def no_reducer(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")) -> None:
    for i in range(4):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] - A[vi, vk]


@T.prim_func
def not_last(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer(8)) -> None:
    for i in range(4):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
            with T.block("C"):
                vk = T.axis.spatial(8, k)
                C[vk] = T.float32(0)


@pytest.mark.parametrize(
    ("func", "text"),
    [
        (not_innermost, "not the innermost ones"),
        (over_blocks, "bound to blockIdx.x"),
        (no_reducer, "not known to be commutative"),
        (not_last, "another block follows"),
    ],
)
def test_refusals(func: PrimFunc, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        lowered(func)
    assert isinstance(caught.value, TVMError)


def test_other_reductions_stay() -> None:
    @T.prim_func
    def serial(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")) -> None:
        for i in T.thread_binding(4, thread="threadIdx.x"):
            for k in range(8):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    mod = IRModule({"main": serial})
    assert LowerCrossThreadReduction()(mod)["main"].body is mod["main"].body


def test_results_beyond_the_end_are_not_written() -> None:
    @T.prim_func
    def uneven(A: T.Buffer((3, 8), "float32"), B: T.Buffer((3,), "float32")) -> None:
        for i in T.thread_binding(4, thread="threadIdx.y"):
            for k in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.where(i < 3)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    text = str(LowerCrossThreadReduction()(IRModule({"main": uneven}))["main"])
    assert "T.where(k == 0 and i < 3)" in text
