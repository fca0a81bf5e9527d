"""Calls that name their gradient become plain ones."""

from __future__ import annotations

import pytest

from tvm import relax, topi
from tvm.ir.structural import assert_structural_equal
from tvm.relax.transform.call_tir_with_grad import without_gradients

pytestmark = pytest.mark.pure


def _module(with_grad: bool) -> relax.BlockBuilder:
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        if with_grad:
            out = bb.emit(bb.call_te_with_grad(topi.exp, x, te_grad_name="g"))
        else:
            out = bb.emit(bb.call_te(topi.exp, x))
        bb.emit_func_output(out)
    return bb.get()


def test_changes() -> None:
    assert_structural_equal(without_gradients(_module(True)["main"]), _module(False)["main"],
                            map_free_vars=True)


def test_keeps() -> None:
    func = _module(False)["main"]
    assert without_gradients(func) is func
