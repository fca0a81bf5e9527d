import pytest

from tvm import tir
from tvm.ir.structural import structural_equal
from tvm.tir.transform.folding import FoldingSubstituter

pytestmark = pytest.mark.pure

x, i = tir.Var("x"), tir.Var("i")


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (i * 4 + 1, tir.IntImm("int32", 13)),
        (x + i + 4, x + 7),
        (i * x, 3 * x),
        (tir.floordiv(i, 2) + x, 1 + x),
        (tir.Select(i > 2, x, x + 1), x),
        (tir.if_then_else(i > 5, x, x + 1), x + 1),
        (tir.And(i < 4, x < 9), x < 9),
    ],
)
def test_folds(expr, wanted):
    rule = FoldingSubstituter({i: tir.IntImm("int32", 3)})
    assert structural_equal(rule.visit_expr(expr), wanted)


def test_bytes_wrap():
    byte = tir.Var("b", "uint8")
    expr = (byte + tir.const(200, "uint8")) + tir.const(100, "uint8")
    rule = FoldingSubstituter({byte: tir.const(10, "uint8")})
    assert int(rule.visit_expr(expr)) == (10 + 200 + 100) % 256
