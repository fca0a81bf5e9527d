"""LowerShapeToTensor: sizes read as numbers are written by a kernel."""

import numpy as np
import pytest

from tests.relax.programs import RelaxPassTest, calls, run_interp
from tvm import relax
from tvm.relax.interp import Shape
from tvm.relax.transform import LowerShapeToTensor
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestSymbolic(RelaxPassTest):
    run = LowerShapeToTensor()
    sizes = {"n": 3, "m": 5}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor((3,), "int64"):
            n, m = T.int64(), T.int64()
            with R.dataflow():
                gv = R.shape_to_tensor(R.shape([n, m * 2 + n, 4]))
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def shape_to_tensor(out: T.Buffer((T.int64(3),), "int64"), n: T.int64, m: T.int64):
            T.func_attr({"tir.noalias": True, "tir.is_scheduled": True})
            out[T.int64(0)] = n
            out[T.int64(1)] = m * T.int64(2) + n
            out[T.int64(2)] = T.int64(4)

        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor((3,), "int64"):
            n, m = T.int64(), T.int64()
            with R.dataflow():
                gv = R.call_tir(Expected.shape_to_tensor, R.tuple(), R.Tensor((3,), "int64"),
                                tir_vars=R.shape([n, m]))
                R.output(gv)
            return gv


class TestStatic(RelaxPassTest):
    run = LowerShapeToTensor()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "int64"):
            gv = R.shape_to_tensor(R.shape([7, 4]))
            return gv

    def test_no_numbers_are_passed(self):
        call = self._after()["main"].body.blocks[0].bindings[0].value
        assert len(call.args) == 2


def test_a_shape_variable_with_known_symbols():
    @I.ir_module
    class Mod:
        @R.function
        def main(s: R.Shape(["n", "m"])) -> R.Tensor((2,), "int64"):
            gv = R.shape_to_tensor(s)
            return gv

    after = LowerShapeToTensor()(Mod)
    assert calls(after) == ["shape_to_tensor"]
    assert run_interp(after, [Shape((5, 6))]).tolist() == [5, 6]


def test_an_empty_shape():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    with bb.function("main", [x]):
        out = bb.emit(relax.op.shape_to_tensor(relax.ShapeExpr([])))
        bb.emit_func_output(out)
    after = LowerShapeToTensor()(bb.get())
    assert run_interp(after, [np.zeros(2, "float32")]).shape == (0,)


def test_a_shape_of_unknown_extents_stays():
    @I.ir_module
    class Mod:
        @R.function
        def main(s: R.Shape(ndim=2)) -> R.Tensor((2,), "int64"):
            gv = R.shape_to_tensor(s)
            return gv

    assert calls(LowerShapeToTensor()(Mod)) == ["relax.shape_to_tensor"]
