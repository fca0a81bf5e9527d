"""Gradients of users' tensor expressions."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import relax, te, topi
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax import interp
from tvm.relax.training.utils import register_te_gradient

pytestmark = pytest.mark.pure


def product(a: te.Tensor, b: te.Tensor) -> te.Tensor:
    return te.compute(a.shape, lambda *i: a(*i) * b(*i), name="product")


def _module(name: str, **options: object) -> IRModule:
    info = relax.TensorStructInfo((2, 3), "float32")
    a, b = relax.Var("a", info), relax.Var("b", info)
    bb = relax.BlockBuilder()
    with bb.function("main", [a, b]):
        with bb.dataflow():
            call = bb.call_te_with_grad(
                product, a, b, te_grad_name=name, te_grad_kwargs=options
            )
            out = bb.emit_output(relax.op.sum(bb.emit(call)))
        bb.emit_func_output(out)
    return bb.get()


def test_registered_gradient_is_called_with_the_operands() -> None:
    @register_te_gradient("test.product")
    def rule(grad: te.Tensor, a: te.Tensor, b: te.Tensor, factor: float) -> list[te.Tensor]:
        return [topi.multiply(topi.multiply(grad, x), factor) for x in (b, a)]

    mod = _module("test.product", factor=2.0)
    made = relax.transform.Gradient("main")(mod)
    assert relax.analysis.well_formed(made)
    assert "call_tir_with_grad" not in str(made["main_adjoint"])
    assert_structural_equal(made["main"], mod["main"])  # it can be differentiated again
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.ones((2, 3), "float32")
    value, (grad_a, grad_b) = interp.run(made, a, b, name="main_adjoint")
    assert value == a.sum()
    np.testing.assert_array_equal(grad_a, 2 * b)
    np.testing.assert_array_equal(grad_b, 2 * a)


def test_one_operand_takes_one_gradient() -> None:
    register_te_gradient("test.twice", lambda grad, x: topi.multiply(grad, 2.0))
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            call = bb.call_te_with_grad(
                lambda a: topi.multiply(a, 2.0), x, te_grad_name="test.twice",
                primfunc_name_hint="twice",
            )  # fmt: skip
            out = bb.emit_output(relax.op.sum(bb.emit(call)))
        bb.emit_func_output(out)
    made = relax.transform.Gradient("main")(bb.get())
    _, (grad,) = interp.run(made, np.ones(3, "float32"), name="main_adjoint")
    np.testing.assert_array_equal(grad, [2, 2, 2])


def test_a_gradient_that_is_not_registered_is_named() -> None:
    with pytest.raises(TVMError, match=r"'test\.nobody' of a TIR function is not registered"):
        relax.transform.Gradient("main")(_module("test.nobody"))
