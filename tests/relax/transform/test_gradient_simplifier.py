"""Gradients of transposed products: transpositions meet and cancel."""

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.analysis import well_formed
from tvm.relax.transform import Gradient
from tvm.relax.transform.gradient_simplifier import simplified
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def test_gradients_of_transposed_operands_are_products():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((3, 4), "float32"), y: R.Tensor((5, 3), "float32")):
            with R.dataflow():
                a = R.permute_dims(x)
                b = R.permute_dims(y)
                c = R.matmul(a, b, out_dtype="float32")
                d = R.sum(c)
                R.output(d)
            return d

    @I.ir_module
    class Expected:
        @R.function
        def main_adjoint(x: R.Tensor((3, 4), "float32"), y: R.Tensor((5, 3), "float32")):
            with R.dataflow():
                a = R.permute_dims(x)
                b = R.permute_dims(y)
                c = R.matmul(a, b, out_dtype="float32")
                d = R.sum(c)
                d_adjoint = R.ones(R.shape([]), "float32")
                c_adjoint = R.broadcast_to(d_adjoint, R.shape([4, 5]))
                lv = R.permute_dims(c_adjoint, axes=[1, 0])
                lv1 = R.permute_dims(x, axes=[1, 0])
                y_adjoint = R.matmul(lv, lv1)
                lv2 = R.permute_dims(y, axes=[1, 0])
                lv3 = R.permute_dims(c_adjoint, axes=[1, 0])
                x_adjoint = R.matmul(lv2, lv3)
                x_out = x_adjoint
                y_out = y_adjoint
                R.output(d, x_out, y_out)
            return (d, (x_out, y_out))

    after = Gradient("main")(Mod)
    assert_structural_equal(after["main_adjoint"], Expected["main_adjoint"])
    assert well_formed(after)


@I.ir_module
class Batches:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32"), y: R.Tensor((5, 3), "float32"),
             v: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.permute_dims(x, [0, 2, 1])
            b = R.permute_dims(a, [0, 2, 1])
            c = R.permute_dims(R.matmul(y, b), [0, 2, 1])
            d = R.permute_dims(R.matmul(v, c))
            e = R.permute_dims(R.matmul(x, c), [2, 0, 1])
            out = b
            R.output(c, d, e, out)
        return (c, d, e, out)


def test_other_dimensions_and_vectors_stay():
    after = simplified(Batches["main"])
    mod = IRModule({"main": after})
    assert well_formed(mod)
    text = after.script()
    # two for c; that of the product with a vector; that of three dimensions
    assert text.count("R.permute_dims") == 4
    rng = np.random.default_rng(0)
    args = [rng.uniform(-1, 1, s).astype("float32") for s in ((2, 3, 4), (5, 3), (4,))]
    for found, wanted in zip(run_interp(mod, args), run_interp(Batches, args), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
