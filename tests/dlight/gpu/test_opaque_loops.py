"""What no rule takes: parallel loops, updates by owners, and one thread for the remainder."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.backend.device import harness
from tests.dlight.gpu.lowered import CUDA, target
from tvm import dlight as dl
from tvm import tir
from tvm.dlight.gpu import OpaqueLoops
from tvm.ir import structural_equal
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.analysis import verify_well_formed
from tvm.tir.interp import run

pytestmark = pytest.mark.pure


@T.prim_func(private=True)
def scatter(A: T.Buffer((8,), "float32"), P: T.Buffer((5,), "int64"), V: T.Buffer((5,), "float32"),
            B: T.Buffer((8,), "float32")) -> None:  # fmt: skip
    with T.block("root"):
        for i in range(8):
            with T.block("copy"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]
        with T.block("scatter"):
            T.reads(P[0:5], V[0:5])
            T.writes(B[0:8])
            for k in range(5):
                B[P[k]] = B[P[k]] + V[k]


def same(func: tir.PrimFunc, on: Target, arrays: list[np.ndarray]) -> str:
    """The text of the scheduled function, which gives what it gave."""
    with on:
        new = dl.ApplyDefaultSchedule(*dl.gpu.default_rules())(tvm.IRModule({"main": func}))["main"]
    verify_well_formed(new)
    found, wanted = np.full_like(arrays[-1], 7), np.full_like(arrays[-1], 7)
    run(new, *arrays[:-1], found)
    run(func, *arrays[:-1], wanted)
    np.testing.assert_array_equal(found, wanted)
    return str(new)


def test_each_element_has_an_owner_that_keeps_the_order() -> None:
    a, v = np.arange(8, dtype="float32"), np.full(5, 2, "float32")
    places = np.array([1, 1, 7, 0, 1])
    text = same(scatter, CUDA, [a, places, v, np.zeros(8, "float32")])
    assert "% T.int64(4)" not in text  # all threads are owners
    assert "T.bitwise_and(T.shift_right(" in text
    found = np.zeros(8, "float32")
    run(scatter, a, places, v, found)
    np.testing.assert_array_equal(found, [2, 7, 2, 3, 4, 5, 6, 9])


def test_rows_never_meet_and_need_no_owners() -> None:
    @T.prim_func(private=True)
    def rows(P: T.Buffer((40,), "int32"), V: T.Buffer((40, 8192), "float32"),
             B: T.Buffer((30, 8192), "float32")) -> None:  # fmt: skip
        with T.block("rows"):
            T.reads()
            T.writes()
            for i in T.parallel(30 * 8192):
                B[i // 8192, i % 8192] = T.float32(1)
            for k, j in T.grid(40, 8192):
                B[P[k], j] = B[P[k], j] * T.float32(0.5) + V[k, j]

    rng = np.random.default_rng(1)
    arrays = [rng.integers(0, 30, 40, "int32"), rng.random((40, 8192), "float32"),
              np.zeros((30, 8192), "float32")]  # fmt: skip
    with CUDA:
        new = dl.ApplyDefaultSchedule(OpaqueLoops())(tvm.IRModule({"main": rows}))["main"]
    text = str(new)
    assert "shift_right" not in text
    assert text.count('T.thread_binding(32, thread="blockIdx.x")') == 1
    assert text.count("for k in range(40)") == 1
    found, wanted = np.zeros_like(arrays[-1]), np.zeros_like(arrays[-1])
    harness.run(harness.built(tvm.IRModule({"main": new.with_attr("global_symbol", "main")}),
                              "cuda"), "cuda", "main", *arrays[:-1], found)  # fmt: skip
    wanted[...] = 1
    for k in range(40):
        wanted[arrays[0][k]] = wanted[arrays[0][k]] * np.float32(0.5) + arrays[1][k]
    np.testing.assert_array_equal(found, wanted)


def test_symbolic_sizes() -> None:
    @T.prim_func(private=True)
    def added(p: T.handle, v: T.handle, b: T.handle) -> None:
        n, m, w = T.int64(), T.int64(), T.int64()
        P = T.match_buffer(p, (n, w), "int64")
        V = T.match_buffer(v, (n, w), "int32")
        B = T.match_buffer(b, (m, w), "int32")
        with T.block("added"):
            T.reads()
            T.writes()
            for i in T.parallel(m * w):
                B[i // w, i % w] = 0
            for j in T.parallel(w):
                for k in range(n):
                    B[P[k, j], j] = B[P[k, j], j] * 3 + V[k, j]

    rng = np.random.default_rng(2)
    arrays = [rng.integers(0, 7, (50, 6)), rng.integers(0, 9, (50, 6), "int32"),
              np.zeros((7, 6), "int32")]  # fmt: skip
    text = same(added, CUDA, arrays)
    assert "T.uint32(15)" in text  # owners of what may be few threads


def test_loops_of_while_and_memory_of_their_own() -> None:
    @T.prim_func(private=True)
    def search(S: T.Buffer((9,), "float32"), X: T.Buffer((300,), "float32"),
               B: T.Buffer((300,), "int32")) -> None:  # fmt: skip
        with T.block("search"):
            T.reads()
            T.writes()
            for k in T.parallel(300):
                at = T.alloc_buffer((1,), "int32", scope="local")
                at[0] = 0
                while at[0] < 9 and S[at[0]] < X[k]:
                    at[0] = at[0] + 1
                B[k] = at[0]

    rng = np.random.default_rng(3)
    edges = np.append(np.sort(rng.random(8, "float32")), np.float32(9))
    text = same(search, CUDA, [edges, rng.random(300, "float32"), np.zeros(300, "int32")])
    assert text.count('T.thread_binding(T.int64(2), thread="blockIdx.x")') + text.count(
        'T.thread_binding(2, thread="blockIdx.x")') == 1  # fmt: skip


def test_steps_that_read_what_others_store_have_one_thread() -> None:
    @T.prim_func(private=True)
    def running(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")) -> None:
        with T.block("running"):
            T.reads()
            T.writes()
            for k in range(8):
                B[k + 1] = B[k] + A[k]

    text = same(running, CUDA, [np.arange(9, dtype="float32"), np.zeros(9, "float32")])
    assert text.count('T.thread_binding(1, thread="threadIdx.x")') == 1


def test_threads_that_are_there_stay() -> None:
    mod = tvm.IRModule({"main": scatter})
    with CUDA:
        once = dl.ApplyDefaultSchedule(OpaqueLoops())(mod)["main"]
        assert OpaqueLoops().apply(once, CUDA, False) is None


def test_the_cpu_has_no_such_threads() -> None:
    assert OpaqueLoops().apply(scatter, tvm.target.Target("llvm"), False) is None
    assert OpaqueLoops().apply(scatter, target("vulkan"), False) is not None


def test_the_last_of_the_default_rules() -> None:
    rules = dl.gpu.default_rules()
    assert isinstance(rules[-1], OpaqueLoops)
    with CUDA:
        mod = dl.ApplyDefaultSchedule(*rules)(tvm.IRModule({"main": scatter}))
    assert not structural_equal(mod["main"], scatter)
