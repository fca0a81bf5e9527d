"""Two forms of a kernel in one: the sizes of the call choose."""

from __future__ import annotations

import pytest

from tests.dlight.cpu.test_shifted import conv
from tests.dlight.programs import HASWELL, scheduled
from tvm import tir
from tvm.arith import Analyzer
from tvm.dlight.cpu import Conv2D
from tvm.dlight.cpu.forms import faster_for
from tvm.dlight.cpu.tiles import choose_tile
from tvm.tir.functor import walk
from tvm.tir.stmt import IfThenElse


@pytest.mark.parametrize(("kernel", "stride"), [(1, 2), (3, 1)])
@pytest.mark.parametrize("call", [(2, 1, 1), (1, 2, 3), (1, 5, 9), (0, 2, 2)])
def test_both_forms_mean_the_same(
    kernel: int, stride: int, call: tuple[int, int, int]
) -> None:
    func = conv(2, 5, kernel, stride, kernel // 2)
    after = scheduled(Conv2D(), func, HASWELL, dict(zip("nhw", call)))
    assert any(isinstance(node, IfThenElse) for node in walk(after.body))
    assert "where that is faster" in str(after.attrs["schedule_reason"])


def test_narrow_tiles_are_for_few_columns() -> None:
    cpu, count = HASWELL.cpu, tir.Var("count", "int64")
    narrow, wide = choose_tile(cpu, 32, 64, None, None, [8]), choose_tile(cpu, 32, 64, None, None)
    assert narrow.columns < wide.columns
    condition = faster_for(cpu, count, narrow, wide)

    def chosen(value: int) -> bool:
        known = tir.functor.substitute(condition, {count: tir.const(value, "int64")})
        return bool(Analyzer().can_prove(known))

    assert chosen(1)
    assert chosen(narrow.columns)
    assert not chosen(wide.columns)
    assert not chosen(wide.columns * 50)
