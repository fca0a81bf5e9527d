from __future__ import annotations

import inspect

import pytest

from tests.tir.schedule.cases import chain, check, elementwise, matmul
from tvm.tir.schedule import InstructionKind, Schedule, ScheduleError
from tvm.tir.schedule.instruction import INSTRUCTION_KINDS


def test_each_kind_of_instruction_is_a_method() -> None:
    for name in INSTRUCTION_KINDS:
        assert callable(getattr(Schedule, InstructionKind.get(name).method)), name


def test_names_and_variables_mean_the_same() -> None:
    func = chain()
    by_name, by_variable = Schedule(func), Schedule(func)
    by_name.compute_inline("B")
    by_variable.compute_inline(by_variable.get_block("B"))
    assert by_name.mod.script() == by_variable.mod.script()
    assert str(by_name.trace) == str(by_variable.trace)


@pytest.mark.parametrize("factors", [[None, 4], [4, 4]])
def test_open_factors(factors: list[int | None]) -> None:
    func = elementwise(16)
    sch = Schedule(func)
    outer, inner = sch.split(sch.get_loops("B")[0], factors=factors)
    assert [sch.get(outer).extent, sch.get(inner).extent] == [4, 4]
    check(sch, func)


@pytest.mark.parametrize("method", ["split", "loop_partition"])
def test_a_negative_factor_is_no_open_one(method: str) -> None:
    sch = Schedule(elementwise(16))
    with pytest.raises(ScheduleError):
        getattr(sch, method)(sch.get_loops("B")[0], factors=[-1, 4])


def test_a_schedule_in_one_line_each() -> None:
    func = matmul()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    sch.reorder(k, i, j)
    sch.unroll(j)
    sch.annotate(i, "pragma", [1, 2])
    check(sch, func)


@pytest.mark.parametrize("name", sorted(INSTRUCTION_KINDS))
def test_arguments_of_other_types_are_told_by_name(name: str) -> None:
    sch = Schedule(matmul())
    method = getattr(sch, InstructionKind.get(name).method)
    parameters = list(inspect.signature(method).parameters.values())
    required = [p for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    for wrong in (object(), 2.5, {"a": 1}) if required else ():
        before = sch.mod
        with pytest.raises(TypeError, match=r"In `Schedule\.\w+`, type of `\w+` does not match"):
            method(*[wrong for _ in required])
        assert sch.mod is before
    assert len(sch.trace.insts) == 0
