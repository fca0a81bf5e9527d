import numpy as np
import pytest

from tvm import tir
from tvm.arith.analyzer import Analyzer
from tvm.ir import Range
from tvm.tir.interp import evaluate
from tvm.tir.transform.vector_arith import spread, vector_product, vector_quotient, vector_sum

pytestmark = pytest.mark.pure

x, i = tir.Var("x"), tir.Var("i")
LANES = tir.IntImm("int32", 8)
RAMP = tir.Ramp(i * 16, 1, 8)


def kind(expr):
    return type(expr).__name__


@pytest.mark.parametrize(
    ("op", "a", "b", "wanted"),
    [
        (tir.Add, RAMP, x, "Ramp"),
        (tir.Add, RAMP, RAMP, "Ramp"),
        (tir.Sub, RAMP, RAMP, "Broadcast"),
        (tir.Sub, x, RAMP, "Ramp"),
        (tir.Mul, RAMP, x, "Ramp"),
        (tir.Mul, RAMP, RAMP, "Mul"),
        (tir.FloorDiv, RAMP, tir.IntImm("int32", 32), "Broadcast"),
        (tir.FloorMod, RAMP, tir.IntImm("int32", 32), "Ramp"),
        (tir.FloorDiv, RAMP, tir.IntImm("int32", 6), "FloorDiv"),
        (tir.FloorDiv, tir.Ramp(i, 4, 8), tir.IntImm("int32", 4), "Ramp"),
        (tir.FloorMod, tir.Ramp(i, 4, 8), tir.IntImm("int32", 4), "Broadcast"),
    ],
)
def test_form_and_value(op, a, b, wanted):
    analyzer = Analyzer()
    analyzer.bind(i, Range(0, 100))
    scalar = op(tir.Var("p"), tir.Var("q"))
    if op in (tir.Add, tir.Sub):
        found = vector_sum(scalar, a, b, LANES)
    elif op is tir.Mul:
        found = vector_product(scalar, a, b, LANES)
    else:
        found = vector_quotient(scalar, a, b, LANES, analyzer)
    assert kind(found) == wanted
    values = {i: 5, x: 3}
    exact = evaluate(op(spread(a, LANES), spread(b, LANES)), values)
    np.testing.assert_array_equal(evaluate(found, values), exact)
