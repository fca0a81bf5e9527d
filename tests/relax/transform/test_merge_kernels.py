"""MergeKernels: kernels that have become equal are one."""

from __future__ import annotations

import numpy as np

import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.backend import cpu_generic
from tvm.relax.transform.merge_kernels import MergeKernels
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.tir.function import PrimFunc


def kernels(mod: IRModule) -> list[str]:
    return sorted(v.name_hint for v, f in mod.functions.items() if isinstance(f, PrimFunc))


@I.ir_module
class Copies:
    @T.prim_func(private=True)
    def first(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(3)

    @T.prim_func(private=True)
    def other(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(2)

    @T.prim_func(private=True)
    def second(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for j in range(4):
            with T.block("Y"):
                u = T.axis.spatial(4, j)
                Y[u] = X[u] * T.float32(3)

    @T.prim_func
    def public(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(3)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Copies
        a = R.call_tir(cls.first, (x,), out_sinfo=R.Tensor((4,), "float32"))
        b = R.call_tir(cls.other, (a,), out_sinfo=R.Tensor((4,), "float32"))
        c = R.call_tir(cls.second, (b,), out_sinfo=R.Tensor((4,), "float32"))
        d = R.call_tir(cls.public, (c,), out_sinfo=R.Tensor((4,), "float32"))
        return d


def test_equal_kernels_are_one() -> None:
    made = MergeKernels()(Copies)
    assert "second" not in kernels(made)
    assert {"first", "other", "public"} <= set(kernels(made))
    x = np.arange(4, dtype="float32")
    for mod in (Copies, made):
        machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
        found = machine["main"](tvm.runtime.tensor(x)).numpy()
        np.testing.assert_array_equal(found, x * 54)


def test_nothing_to_merge_leaves_the_module() -> None:
    once = MergeKernels()(Copies)
    assert MergeKernels()(once) is once


def test_kernels_that_call_kernels_are_left_alone() -> None:
    @T.prim_func(private=True)
    def caller(A: T.handle) -> None:
        T.evaluate(Copies.get_global_var("first")(A, A))

    mod = Copies.clone()
    mod["caller"] = caller
    assert MergeKernels()(mod) is mod


@I.ir_module
class Halved:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.nn.max_pool1d(R.reshape(x, (1, 4, n)), 3, 2, 1)
            b = R.nn.max_pool1d(a, 3, 2, 1)
            c = R.nn.max_pool1d(b, 3, 2, 1)
            R.output(c)
        return c


def test_sizes_that_are_computed_otherwise_make_no_other_kernel() -> None:
    """The first pool's input has a length that the caller names; the others are the same."""
    target = tvm.target.Target("llvm")
    lowered = cpu_generic.get_default_pipeline(target).graph(Halved)
    assert len([name for name in kernels(lowered) if "max_pool1d" in name]) == 2
    x = np.random.default_rng(0).standard_normal((37, 4), "float32")
    wanted = x.reshape(1, 4, 37)
    for _ in range(3):
        padded = np.pad(wanted, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
        count = (wanted.shape[2] - 1) // 2 + 1
        wanted = np.stack([padded[..., 2 * i : 2 * i + 3].max(-1) for i in range(count)], -1)
    machine = relax.VirtualMachine(relax.build(Halved, target), tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(x)).numpy()
    np.testing.assert_array_equal(found, wanted)
