"""vscale: its values by target, and proofs that try them one by one."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import Analyzer, IntSet
from tvm.arith.scalable import uses_vscale, vscale_values
from tvm.target import Target
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
SVE = "llvm -mtriple=aarch64-linux-gnu -mattr=+sve"
PLAIN = "llvm -mtriple=aarch64-linux-gnu"
RVV = "llvm -mtriple=riscv64-linux-gnu -mattr=+64bit,+m,+v"
x = e.Var("x", "int32")


def test_values_by_target() -> None:
    assert vscale_values() == tuple(range(1, 17))
    for text, last in ((SVE, 16), (RVV, 1024)):
        with Target(text):
            values = vscale_values()
            assert values is not None
            assert values[-1] == last
    with Target(PLAIN):
        assert vscale_values() is None
        assert Analyzer().const_int_bound(tir.vscale()).min_value < 0


@pytest.mark.parametrize("condition", [
    lambda v: v * 8 < v * 16,
    lambda v: v * 3 * (v * 3) >= v * 9,
    lambda v: (v * 4 + 90) // (v * 4) * (v * 4) >= 91,
    lambda v: 48 % v <= v,
])  # fmt: skip
def test_proofs_by_value(condition, capsys) -> None:
    asked = condition(tir.vscale())
    assert uses_vscale(asked)
    with Target(SVE):
        assert Analyzer().can_prove(asked)
    with Target(PLAIN):
        assert not Analyzer().can_prove(asked)
    assert "known values of vscale was not performed" in capsys.readouterr().err


def test_rules_with_vscale() -> None:
    with Target(SVE):
        simplify = Analyzer().rewrite_simplify
        assert simplify(tir.min(x + tir.vscale() * 4, x)).same_as(x)
        assert str(simplify(tir.vscale() * x < tir.vscale() * 4)) == "x < 4"
        interval = IntSet.vector(tir.Ramp(10, 3, tir.vscale() * 4))
        assert int(interval.min_value) == 10
        assert not interval.has_upper_bound()
