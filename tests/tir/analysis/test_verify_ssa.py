"""Single definitions."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis import verify_ssa
from tvm.tir.function import PrimFunc

pytestmark = pytest.mark.pure


def test_single_definitions() -> None:
    x, z = e.Var("x", "int32"), e.Var("z", "int32")
    assert verify_ssa(matmul)
    assert verify_ssa(PrimFunc([x], s.Evaluate(x)))
    twice = e.Let(z, 1, z) + e.Let(z, 2, z)
    assert not verify_ssa(PrimFunc([x], s.Evaluate(x + twice)))
    loop = s.For(z, 0, 4, 0, s.Evaluate(z))
    assert verify_ssa(PrimFunc([], loop))
    assert not verify_ssa(PrimFunc([], s.SeqStmt([loop, loop])))
