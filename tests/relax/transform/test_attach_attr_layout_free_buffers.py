from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.relax.transform import AttachAttrLayoutFreeBuffers
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Before:
    @T.prim_func(private=True)
    def sub(
        A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            with T.block("sub"):
                v = T.axis.spatial(4, i)
                C[v] = A[v] - B[v]

    @R.function
    def main(
        x: R.Tensor((4,), "float32"),
        w1: R.Tensor((4,), "float32"),
        w2: R.Tensor((4,), "float32"),
    ):
        cls = Before
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.call_tir(cls.sub, (x, w1), out_sinfo=R.Tensor((4,), "float32"))
            b = R.call_tir(cls.sub, (a, w2), out_sinfo=R.Tensor((4,), "float32"))
            gv = R.call_tir(cls.sub, (w2, b), out_sinfo=R.Tensor((4,), "float32"))
            R.output(gv)
        return gv


@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def sub1(
        A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
    ):
        T.func_attr({"layout_free_buffers": [1]})
        for i in range(4):
            with T.block("sub"):
                v = T.axis.spatial(4, i)
                C[v] = A[v] - B[v]

    @T.prim_func(private=True)
    def sub2(
        A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
    ):
        T.func_attr({"layout_free_buffers": [0]})
        for i in range(4):
            with T.block("sub"):
                v = T.axis.spatial(4, i)
                C[v] = A[v] - B[v]

    @R.function
    def main(
        x: R.Tensor((4,), "float32"),
        w1: R.Tensor((4,), "float32"),
        w2: R.Tensor((4,), "float32"),
    ):
        cls = Expected
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.call_tir(cls.sub1, (x, w1), out_sinfo=R.Tensor((4,), "float32"))
            b = R.call_tir(cls.sub1, (a, w2), out_sinfo=R.Tensor((4,), "float32"))
            gv = R.call_tir(cls.sub2, (w2, b), out_sinfo=R.Tensor((4,), "float32"))
            R.output(gv)
        return gv


class TestWeights(RelaxPassTest):
    """One function for each set of weights; those without callers go."""

    run = AttachAttrLayoutFreeBuffers()
    Before, Expected = Before, Expected


def test_constants_are_weights() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        const = relax.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")
        bb.emit_func_output(bb.emit(relax.op.add(x, const)))
    mod = AttachAttrLayoutFreeBuffers()(relax.transform.LegalizeOps()(bb.get()))
    assert [v.name_hint for v in mod.get_global_vars()] == ["add1", "main"]
    assert list(mod["add1"].attrs["layout_free_buffers"]) == [1]
    assert_structural_equal(AttachAttrLayoutFreeBuffers()(mod), mod)


def test_without_weights_the_list_is_empty() -> None:
    after = AttachAttrLayoutFreeBuffers()(relax.transform.LegalizeOps()(_sum_of_inputs()))
    assert sorted(var.name_hint for var in after.functions) == ["add1", "main"]
    assert list(after["add1"].attrs["layout_free_buffers"]) == []


def _sum_of_inputs() -> object:
    @I.ir_module
    class Inputs:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            gv = R.add(x, y)
            return gv

    return Inputs
