"""Helpers that compare spaces with expectations."""

from __future__ import annotations

import pytest

from tests.meta_schedule.workloads import LLVM, matmul
from tvm.ir.module import IRModule
from tvm.meta_schedule.schedule_rule import AutoInline, MultiLevelTiling
from tvm.meta_schedule.testing.space_generation import (
    check_sketches,
    generate_design_space,
    get_rules,
    print_sketches,
    structural_equal_no_gs,
)
from tvm.target import Target
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.pure


def test_rules_of_a_kind() -> None:
    assert [type(r) for r in get_rules("llvm", (MultiLevelTiling, AutoInline))] == [
        AutoInline, MultiLevelTiling,
    ]  # fmt: skip


def test_symbols_do_not_count() -> None:
    func = matmul()
    one = IRModule({"main": func.with_attr("global_symbol", "a")})
    assert structural_equal_no_gs(one, IRModule({"main": func.with_attr("global_symbol", "b")}))
    assert not structural_equal_no_gs(one, IRModule({"main": matmul(8)}))


def test_sketches(capsys: pytest.CaptureFixture[str]) -> None:
    mod = Schedule(matmul()).mod
    sketches = generate_design_space("llvm", mod, Target(LLVM), MultiLevelTiling)
    decisions = [
        [(i.kind.name, s.trace.decisions[i]) for i in s.trace.insts if i in s.trace.decisions]
        for s in sketches
    ]
    check_sketches(mod, sketches, [s.mod for s in sketches][::-1], decisions[::-1])
    with pytest.raises(AssertionError, match="3 vs 1"):
        check_sketches(mod, sketches, [mod], [[]])
    with pytest.raises(AssertionError, match="Expected sketch #0 doesn't exist"):
        check_sketches(mod, sketches, [mod] * 3, decisions)
    print_sketches(sketches)
    assert 'SamplePerfectTile", [' in capsys.readouterr().out
