"""Values that are computed again for the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.error import TVMError
from tvm.ir.structural import assert_structural_equal
from tvm.relax import interp, op
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            start = R.grad.start_checkpoint(x)
            a = R.exp(start)
            b = R.exp(a)
            end = R.grad.end_checkpoint(b)
            gv = R.sum(end)
            R.output(gv)
        return gv


@I.ir_module
class Expected:
    @R.function
    def main_adjoint(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(a)
            gv = R.sum(b)
            gv_adjoint = R.ones(R.shape([]), dtype="float32")
            a_cp = R.exp(x)
            b_cp = R.exp(a_cp)
            b_adjoint = R.broadcast_to(gv_adjoint, R.shape([3]))
            a_adjoint = R.multiply(b_adjoint, b_cp)
            x_adjoint = R.multiply(a_adjoint, a_cp)
            x_adjoint_out = x_adjoint
            R.output(gv, x_adjoint_out)
        return (gv, (x_adjoint_out,))


def test_what_stands_between_the_marks_is_computed_again() -> None:
    made = relax.transform.Gradient("main")(Before)
    assert_structural_equal(made["main_adjoint"], Expected["main_adjoint"])
    x = np.float32([0.1, 0.2, 0.3])
    _, (grad,) = interp.run(made, x, name="main_adjoint")
    np.testing.assert_allclose(grad, np.exp(np.exp(x)) * np.exp(x), rtol=1e-6)


def test_a_result_that_is_marked() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                a = R.grad.start_checkpoint(x)
                b = R.sin(a)
                c = R.exp(b)
                d = R.sum(c)
                e = R.grad.end_checkpoint(d)
                R.output(e)
            return e

    @R.function
    def main_adjoint(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            b = R.sin(x)
            c = R.exp(b)
            d = R.sum(c)
            d_adjoint = R.ones(R.shape([]), dtype="float32")
            b_cp = R.sin(x)
            c_cp = R.exp(b_cp)
            c_adjoint = R.broadcast_to(d_adjoint, R.shape([3]))
            b_adjoint = R.multiply(c_adjoint, c_cp)
            lv = R.cos(x)
            x_adjoint = R.multiply(b_adjoint, lv)
            x_adjoint_out = x_adjoint
            R.output(d, x_adjoint_out)
        return (d, (x_adjoint_out,))

    made = relax.transform.Gradient("main")(Mod)
    assert_structural_equal(made["main_adjoint"], main_adjoint)
    x = np.float32([0.1, 0.2, 0.3])
    value, (grad,) = interp.run(made, x, name="main_adjoint")
    np.testing.assert_allclose(value, np.exp(np.sin(x)).sum(), rtol=1e-6)
    np.testing.assert_allclose(grad, np.exp(np.sin(x)) * np.cos(x), rtol=1e-6)


def test_operands_are_computed_again_in_their_order() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                s = R.grad.start_checkpoint(x)
                a = R.exp(s)
                b = R.sin(s)
                t = (a, b)
                c = t[0]
                d = R.multiply(c, b)
                e = R.grad.end_checkpoint(d)
                f = R.exp(e)
                gv = R.sum(f)
                R.output(gv)
            return gv

    made = relax.transform.Gradient("main")(Mod)
    names = [b.var.name_hint for b in made["main_adjoint"].body.blocks[0].bindings]
    again = [name for name in names if name.endswith("_cp")]
    assert again == ["a_cp", "b_cp", "t_cp", "c_cp"]  # f and gv are outside and are kept
    x = np.float32([0.1, 0.2, 0.3])
    _, (grad,) = interp.run(made, x, name="main_adjoint")
    inner = np.exp(x) * np.sin(x)
    wanted = np.exp(inner) * np.exp(x) * (np.sin(x) + np.cos(x))
    np.testing.assert_allclose(grad, wanted, rtol=1e-5)


@pytest.mark.parametrize("mark", [op.grad.start_checkpoint, op.grad.end_checkpoint])
@pytest.mark.parametrize("value", [relax.const(1.0), relax.Tuple([])], ids=["const", "tuple"])
def test_a_mark_takes_a_variable(mark: Any, value: relax.Expr) -> None:
    with pytest.raises(TVMError, match="should be a Var"):
        relax.BlockBuilder().normalize(mark(value))
