"""Normalize: operands become leaves."""

import pytest

from tests.relax.programs import calls
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.transform import Normalize

pytestmark = pytest.mark.pure


def _nested(dataflow: bool) -> IRModule:
    info = relax.TensorStructInfo((4,), "float32")
    x, y = relax.Var("x", info), relax.Var("y", info)
    deep = relax.op.add(relax.op.multiply(x, y), relax.op.exp(relax.op.negative(y)))
    kind = relax.DataflowBlock if dataflow else relax.BindingBlock
    gv = relax.Var("gv", info)
    body = relax.SeqExpr([kind([relax.VarBinding(gv, deep)])], gv)
    return IRModule({"main": relax.Function([x, y], body, info)})


@pytest.mark.parametrize("dataflow", [True, False])
def test_nested_calls_are_bound(dataflow: bool):
    after = Normalize()(_nested(dataflow))
    assert calls(after) == ["relax.multiply", "relax.negative", "relax.exp", "relax.add"]
    (block,) = after["main"].body.blocks
    assert isinstance(block, relax.DataflowBlock) is dataflow
    inner = [isinstance(b.var, relax.DataflowVar) for b in block.bindings]
    assert inner == ([True, True, True, False] if dataflow else [False] * 4)
    assert relax.analysis.well_formed(after)


def test_the_body_becomes_a_variable():
    info = relax.TensorStructInfo((4,), "float32")
    x = relax.Var("x", info)
    func = relax.Function([x], relax.SeqExpr([], relax.op.exp(x)), info)
    after = Normalize()(IRModule({"main": func}))
    assert isinstance(after["main"].body.body, relax.Var)
    assert calls(after) == ["relax.exp"]


def test_normal_functions_stay_the_same():
    once = Normalize()(_nested(True))
    assert Normalize()(once)["main"] is once["main"]
