"""SplitLayoutRewritePreproc: the layout of weights changes in a kernel of its own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax
from tvm.error import TVMError
from tvm.ir import assert_structural_equal
from tvm.relax.transform import SplitLayoutRewritePreproc
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class One:
    @T.prim_func
    def f(X: T.Buffer((8, 8), "float32"), W: T.Buffer((8, 8), "float32"),
          Out: T.Buffer((8, 8), "float32")):  # fmt: skip
        T.func_attr({"layout_free_buffers": [1]})
        V = T.alloc_buffer((2, 2, 4, 4), "float32")
        for i, j in T.grid(8, 8):
            with T.block("V"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(W[vi, vj])
                T.writes(V[vi // 4, vj // 4, vi % 4, vj % 4])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                V[vi // 4, vj // 4, vi % 4, vj % 4] = W[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("Out"):
                vi, vj = T.axis.remap("SS", [i, j])
                Out[vi, vj] = X[vi, vj] + V[vi // 4, vj // 4, vi % 4, vj % 4]

    @R.function
    def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        R.func_attr({"num_input": 1})
        cls = One
        with R.dataflow():
            lv = R.call_tir(cls.f, (x, w), out_sinfo=R.Tensor((8, 8), "float32"))
            gv = lv
            R.output(gv)
        return gv


def test_one_buffer() -> None:
    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def f_prepacked(X: T.Buffer((8, 8), "float32"), V: T.Buffer((2, 2, 4, 4), "float32"),
                        Out: T.Buffer((8, 8), "float32")):  # fmt: skip
            for i, j in T.grid(8, 8):
                with T.block("Out"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Out[vi, vj] = X[vi, vj] + V[vi // 4, vj // 4, vi % 4, vj % 4]

        @T.prim_func(private=True)
        def f_weight_prepack(
            W: T.Buffer((8, 8), "float32"), V: T.Buffer((2, 2, 4, 4), "float32")
        ):
            for i, j in T.grid(8, 8):
                with T.block("V"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(W[vi, vj])
                    T.writes(V[vi // 4, vj // 4, vi % 4, vj % 4])
                    V[vi // 4, vj // 4, vi % 4, vj % 4] = W[vi, vj]

        @R.function
        def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32")):
            R.func_attr({"num_input": 1})
            cls = Expected
            with R.dataflow():
                lv = R.call_tir(
                    cls.f_weight_prepack, (w,), out_sinfo=R.Tensor((2, 2, 4, 4), "float32")
                )
                lv1 = R.call_tir(cls.f_prepacked, (x, lv), out_sinfo=R.Tensor((8, 8), "float32"))
                lv2 = lv1
                gv = lv2
                R.output(gv)
            return gv

    after = SplitLayoutRewritePreproc()(One)
    assert_structural_equal(after, Expected)
    x, w = (np.random.default_rng(i).random((8, 8), "float32") for i in (0, 1))
    np.testing.assert_array_equal(run_interp(after, [x, w]), x + w)


def test_several_buffers() -> None:
    @I.ir_module
    class Two:
        @T.prim_func(private=True)
        def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"),
              Out: T.Buffer((8,), "float32")):  # fmt: skip
            A2 = T.alloc_buffer((2, 4), "float32")
            B2 = T.alloc_buffer((4, 2), "float32")
            C = T.alloc_buffer((8,), "float32")
            for i in range(8):
                with T.block("A2"):
                    v = T.axis.spatial(8, i)
                    T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                    A2[v // 4, v % 4] = A[v]
            for i in range(8):
                with T.block("B2"):
                    v = T.axis.spatial(8, i)
                    T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                    B2[v // 2, v % 2] = B[v]
            for i in range(8):
                with T.block("C"):
                    v = T.axis.spatial(8, i)
                    C[v] = A2[v // 4, v % 4] * T.float32(2)
            for i in range(8):
                with T.block("Out"):
                    v = T.axis.spatial(8, i)
                    Out[v] = C[v] + B2[v // 2, v % 2]

        @R.function
        def main(a: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")):
            cls = Two
            y = R.call_tir(cls.f, (a, b), out_sinfo=R.Tensor((8,), "float32"))
            return y

    after = SplitLayoutRewritePreproc()(Two)
    assert sorted(v.name_hint for v in after.functions) == [
        "f_prepacked", "f_weight_prepack", "main",
    ]  # fmt: skip
    shapes = [[int(e) for e in b.shape] for b in after["f_prepacked"].buffer_map.values()]
    assert shapes == [[2, 4], [4, 2], [8]]
    a, b = (np.random.default_rng(i).random(8, "float32") for i in (0, 1))
    np.testing.assert_array_equal(run_interp(after, [a, b]), a * 2 + b)


def test_kernels_without_such_a_part_stay() -> None:
    plain = SplitLayoutRewritePreproc()(One)
    assert SplitLayoutRewritePreproc()(plain) is plain


def test_rejects_a_layout_change_of_something_made_within() -> None:
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def f(A: T.Buffer((8,), "float32"), Out: T.Buffer((8,), "float32")):
            B = T.alloc_buffer((8,), "float32")
            C = T.alloc_buffer((2, 4), "float32")
            for i in range(8):
                with T.block("B"):
                    v = T.axis.spatial(8, i)
                    B[v] = A[v] * T.float32(2)
            for i in range(8):
                with T.block("C"):
                    v = T.axis.spatial(8, i)
                    T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                    C[v // 4, v % 4] = B[v]
            for i in range(8):
                with T.block("Out"):
                    v = T.axis.spatial(8, i)
                    Out[v] = C[v // 4, v % 4]

    with pytest.raises(TVMError, match="a layout change from B to C"):
        SplitLayoutRewritePreproc()(Mod)


def test_the_changed_weight_of_a_result_is_no_result() -> None:
    """The call's variable leaves its dataflow block; that of the changed weight stays."""
    bb = relax.BlockBuilder(One)
    x, w = (relax.Var(name, relax.TensorStructInfo((8, 8), "float32")) for name in "xw")
    with bb.function("direct", [x, w]):
        with bb.dataflow():
            kernel = bb.get().get_global_var("f")
            call = relax.call_tir(kernel, (x, w), relax.TensorStructInfo((8, 8), "float32"))
            out = bb.emit_output(call)
        bb.emit_func_output(out)
    after = SplitLayoutRewritePreproc()(bb.get())["direct"]
    first, second, third = after.body.blocks[0].bindings
    assert isinstance(first.var, relax.DataflowVar)
    assert isinstance(second.var, relax.DataflowVar)
    assert not isinstance(third.var, relax.DataflowVar)
    assert third.value is second.var
