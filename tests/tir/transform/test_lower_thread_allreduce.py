from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tvm import tir
from tvm.error import TVMError
from tvm.ir import PrimExpr, assert_structural_equal
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir import stmt as s
from tvm.tir.analysis import verify_well_formed
from tvm.tir.functor import walk
from tvm.tir.interp import run as interpret
from tvm.tir.transform import LowerThreadAllreduce

pytestmark = pytest.mark.pure


class TestInAWarp(PassTest):
    run = LowerThreadAllreduce()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        ty = T.launch_thread("threadIdx.y", 8)
        tx = T.launch_thread("threadIdx.x", 4)
        r = T.decl_buffer((1,), "float32", scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), A[ty * 4 + tx], ty < 5, r[0], tx)
        if tx == 0:
            B[ty] = r[0]

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        ty = T.launch_thread("threadIdx.y", 8)
        tx = T.launch_thread("threadIdx.x", 4)
        r = T.decl_buffer((1,), "float32", scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), "reduce_scope", 0):
            mask = T.decl_buffer((1,), "uint32", scope="local")
            t0 = T.decl_buffer((1,), "float32", scope="local")
            r[0] = T.Select(ty < 5, A[ty * 4 + tx], T.float32(0))
            mask[0] = T.tvm_warp_activemask()
            t0[0] = T.tvm_warp_shuffle_down(mask[0], r[0], 2, 32, 32)
            r[0] = r[0] + t0[0]
            t0[0] = T.tvm_warp_shuffle_down(mask[0], r[0], 1, 32, 32)
            r[0] = r[0] + t0[0]
            r[0] = T.tvm_warp_shuffle(mask[0], r[0], 4 * ty, 32, 32)
        if tx == 0:
            B[ty] = r[0]


class TestOverWarpsWithoutMask(PassTest):
    run = LowerThreadAllreduce()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        T.func_attr({"target": T.target("metal -thread_warp_size=4 -max_num_threads=16")})
        tx = T.launch_thread("threadIdx.x", 16)
        D = T.allocate([1], "int32", "local")
        r = T.Buffer((1,), "int32", data=D, scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a * b, [1]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), r[0], tx)
        if tx == 5:
            B[0] = r[0]

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        T.func_attr({"target": T.target("metal -thread_warp_size=4 -max_num_threads=16")})
        tx = T.launch_thread("threadIdx.x", 16)
        D = T.allocate([1], "int32", "shared")
        T.attr(D, "volatile_scope", 1)
        red_result = T.Buffer((1,), "int32", data=D, scope="shared")
        with T.attr(T.comm_reducer(lambda a, b: a * b, [1]), "reduce_scope", 0):
            r = T.decl_buffer((1,), "int32", scope="local")
            t = T.decl_buffer((1,), "int32", scope="local")
            r_1 = T.decl_buffer((1,), "int32", scope="local")
            t_1 = T.decl_buffer((1,), "int32", scope="local")
            staging = T.decl_buffer((4,), "int32", scope="shared")
            r_1[0] = A[tx]
            t_1[0] = T.tvm_warp_shuffle_down(0, r_1[0], 2, 4, 4)
            r_1[0] = r_1[0] * t_1[0]
            t_1[0] = T.tvm_warp_shuffle_down(0, r_1[0], 1, 4, 4)
            r_1[0] = r_1[0] * t_1[0]
            if tx % 4 == 0:
                staging[tx // 4] = r_1[0]
            T.tvm_storage_sync("shared")
            if tx < 4:
                r[0] = staging[tx]
            t[0] = T.tvm_warp_shuffle_down(0, r[0], 2, 4, 4)
            r[0] = r[0] * t[0]
            t[0] = T.tvm_warp_shuffle_down(0, r[0], 1, 4, 4)
            r[0] = r[0] * t[0]
            if tx == 0:
                red_result[0] = r[0]
            T.tvm_storage_sync("shared")
        if tx == 5:
            B[0] = red_result[0]


class TestInSharedMemory(PassTest):
    run = LowerThreadAllreduce()

    @T.prim_func
    def Before(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")):
        T.func_attr({"target": T.target("opencl -thread_warp_size=2")})
        tx = T.launch_thread("threadIdx.x", 6)
        D = T.allocate([1], "float32", "local")
        r = T.Buffer((1,), "float32", data=D, scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), r[0], tx)
        if tx == 0:
            B[0] = r[0]

    @T.prim_func
    def Expected(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")):
        T.func_attr({"target": T.target("opencl -thread_warp_size=2")})
        tx = T.launch_thread("threadIdx.x", 6)
        D = T.allocate([6], "float32", "shared")
        T.attr(D, "volatile_scope", 1)
        r = T.Buffer((6,), "float32", data=D, scope="shared")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), "reduce_scope", 0):
            T.tvm_storage_sync("shared")
            r[tx] = A[tx]
            T.tvm_storage_sync("shared")
            if tx < 2:
                r[tx] = r[tx] + r[tx + 4]
            T.tvm_storage_sync("shared")
            if tx < 2:
                r[tx] = r[tx] + r[tx + 2]
            T.tvm_storage_sync("shared")
            if tx < 1:
                w: T.float32 = r[tx] + r[tx + 1]
                T.tvm_storage_sync("warp")
                r[tx] = w
                T.tvm_storage_sync("warp")
            T.tvm_storage_sync("shared")
        if tx == 0:
            B[0] = r[0]


class TestNothingToReduce(PassTest):
    run = LowerThreadAllreduce()

    @T.prim_func
    def Before(A: T.Buffer((6,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        ty = T.launch_thread("threadIdx.y", 6)
        tx = T.launch_thread("threadIdx.x", 1)
        r = T.decl_buffer((1,), "float32", scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), A[ty], T.bool(True), r[0], tx)
        A[ty] = r[0] * T.float32(2)

    @T.prim_func
    def Expected(A: T.Buffer((6,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        ty = T.launch_thread("threadIdx.y", 6)
        tx = T.launch_thread("threadIdx.x", 1)
        r = T.decl_buffer((1,), "float32", scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), "reduce_scope", 0):
            r[0] = A[ty]
        A[ty] = r[0] * T.float32(2)


def greatest(target: str, x: int, y: int, over_y: bool = False) -> IRModule:
    """The greatest of each group's elements, and where it is; the last two give none."""
    groups = x if over_y else y

    @T.prim_func
    def main(
        A: T.Buffer((x * y,), "float32"),
        V: T.Buffer((groups,), "float32"),
        P: T.Buffer((groups,), "int32"),
    ):
        T.func_attr({"target": T.target(target)})
        ty = T.launch_thread("threadIdx.y", y)
        tx = T.launch_thread("threadIdx.x", x)
        p = T.decl_buffer((1,), "int32", scope="local")
        v = T.decl_buffer((1,), "float32", scope="local")
        with T.attr(
            T.comm_reducer(
                lambda a, b, c, d: (T.Select(b >= d, a, c), T.Select(b >= d, b, d)),
                [-1, T.float32(-3e38)],
            ),
            "reduce_scope",
            0,
        ):
            T.tvm_thread_allreduce(
                T.uint32(2), ty * x + tx, A[ty * x + tx], ty * x + tx < x * y - 2, p[0], v[0],
                ty if over_y else tx,
            )
        V[tx if over_y else ty] = v[0]
        P[tx if over_y else ty] = p[0]

    return IRModule.from_expr(main)


@pytest.mark.parametrize(
    ("target", "x", "y", "over_y", "shared"),
    [
        ("cuda", 32, 2, False, False),
        ("cuda", 128, 2, False, True),
        ("cuda", 26, 1, False, False),  # lanes beyond the last have nothing to give
        ("cuda", 20, 3, False, True),
        ("cuda", 4, 8, True, True),  # those who reduce do not stand in a row
        ("rocm", 64, 1, False, False),
        ("rocm", 32, 1, False, True),
        ("opencl -thread_warp_size=8", 32, 2, False, True),
        ("vulkan", 12, 3, False, True),
    ],
)
def test_pairs_reduce_on_each_target(
    target: str, x: int, y: int, over_y: bool, shared: bool
) -> None:
    mod = greatest(target, x, y, over_y)
    out = LowerThreadAllreduce()(mod)
    assert verify_well_formed(out, assert_mode=False)
    assert "tvm_thread_allreduce" not in out.script()
    scopes = {
        n.buffer_var.type_annotation.storage_scope
        for n in walk(out["main"].body)
        if isinstance(n, s.Allocate)
    }
    assert ("shared" in scopes) is shared
    data = np.random.default_rng(0).permutation(x * y).astype("float32")
    taken = np.where(np.arange(x * y) < x * y - 2, data, -np.inf).reshape(y, x)
    taken = taken.T if over_y else taken
    groups = len(taken)
    values, places = np.zeros(groups, "float32"), np.zeros(groups, "int32")
    interpret(out, data, values, places, name="main")
    np.testing.assert_array_equal(values, taken.max(axis=1))
    np.testing.assert_array_equal(values, data[places])


def test_a_target_is_needed() -> None:
    mod = greatest("cuda", 4, 1)
    bare = IRModule.from_expr(mod["main"].without_attr("target"))
    with pytest.raises(TVMError, match="without target"):
        LowerThreadAllreduce()(bare)


def sum_of(thread: Callable[[tir.Var], PrimExpr]) -> IRModule:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        tx = T.launch_thread("threadIdx.x", 8)
        r = T.decl_buffer((1,), "float32", scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), A[tx], True, r[0], thread(tx))
        if tx == 0:
            B[0] = r[0]

    return IRModule({"main": func})


def test_threads_are_named_in_any_width() -> None:
    wide = LowerThreadAllreduce()(sum_of(lambda tx: T.Cast("int64", tx)))
    assert_structural_equal(wide, LowerThreadAllreduce()(sum_of(lambda tx: tx)))
    with pytest.raises(TVMError, match=r"tx \+ 1 where a thread is named"):
        LowerThreadAllreduce()(sum_of(lambda tx: tx + 1))


def test_outside_of_a_reducer() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        tx = T.launch_thread("threadIdx.x", 4)
        T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), A[0], tx)

    with pytest.raises(TVMError, match="outside of a reduce_scope"):
        LowerThreadAllreduce()(IRModule.from_expr(func))


def test_threads_that_are_not_launched() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), i: T.int32):
        T.func_attr({"target": T.target("cuda")})
        tx = T.launch_thread("threadIdx.x", 4)
        r = T.decl_buffer((1,), "float32", scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), r[0], i)

    with pytest.raises(TVMError, match="not launched around"):
        LowerThreadAllreduce()(IRModule.from_expr(func))
