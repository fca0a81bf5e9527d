"""Rules that users set."""

from __future__ import annotations

import pytest

from tvm import relax, topi
from tvm.ir.op import Op
from tvm.relax.transform.legalize_ops.common import register_legalize

pytestmark = pytest.mark.pure


def test_a_rule_replaces_the_one_before() -> None:
    before = Op.get("relax.exp").get_attr("FLegalize")

    @register_legalize("relax.exp")
    def rule(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        return bb.call_te(topi.tanh, *call.args, primfunc_name_hint="ours")

    try:
        x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
        bb = relax.BlockBuilder()
        with bb.function("main", [x]):
            bb.emit_func_output(bb.emit(relax.op.exp(x)))
        assert "ours" in relax.transform.LegalizeOps()(bb.get()).script()
    finally:
        register_legalize("relax.exp", before)
    assert Op.get("relax.exp").get_attr("FLegalize") is before
