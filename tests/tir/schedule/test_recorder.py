from __future__ import annotations

import pytest

from tests.tir.schedule.cases import chain, check, elementwise, matmul
from tvm import IRModule, tir
from tvm.ir.structural import structural_equal
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError


def test_a_function_becomes_main() -> None:
    sch = Schedule(matmul())
    assert [g.name_hint for g in sch.mod.get_global_vars()] == ["main"]
    assert sch.func_working_on.name_hint == "main"


def test_the_original_stays() -> None:
    func = matmul()
    text = func.script()
    sch = Schedule(func)
    sch.split(sch.get_loops("C")[0], factors=[None, 2])
    assert func.script() == text


def test_copies_are_independent() -> None:
    func = chain()
    sch = Schedule(func)
    i, j = sch.get_loops("C")
    other = sch.copy()
    other.fuse(i, j)
    assert len(other.get_loops(other.get_block("C"))) == 1
    assert len(sch.get_loops("C")) == 2
    sch.reorder(j, i)
    check(sch, func)
    check(other, func)


def test_variables_follow_the_program() -> None:
    sch = Schedule(chain())
    block = sch.get_block("C")
    sch.compute_inline("B")
    assert isinstance(sch.get(block), tir.Block)
    assert sch.get(block).reads[0].buffer.name == "A"
    assert isinstance(block, BlockRV)
    assert all(isinstance(loop, LoopRV) for loop in sch.get_loops(block))


def test_variables_of_what_is_gone() -> None:
    sch = Schedule(chain())
    i, j = sch.get_loops("B")
    block = sch.get_block("B")
    sch.fuse(i, j)
    with pytest.raises(ValueError, match="the loop no longer exists in the IRModule"):
        sch.parallel(j)
    sch.compute_inline(block)
    with pytest.raises(ScheduleError, match="the block no longer exists in the IRModule"):
        sch.get_loops(block)
    with pytest.raises(IndexError, match="not made by this schedule"):
        sch.parallel(LoopRV())
    sch.remove_rv(i)
    with pytest.raises(IndexError, match="was removed"):
        sch.get(i)


def test_several_functions() -> None:
    mod = IRModule({"one": matmul(), "two": chain()})
    sch = Schedule(mod)
    with pytest.raises(ValueError, match="does not know which function to be working on"):
        sch.get_block("C")
    sch.work_on("two")
    assert len(sch.get_loops(sch.get_block("D"))) == 2
    assert len(sch.get_loops(sch.get_block("C", func_name="one"))) == 3


def test_an_error_changes_nothing() -> None:
    sch = Schedule(chain())
    before, places = sch.mod, [sref for _, sref in sch.state.roots()]
    (i, _) = sch.get_loops("D")
    with pytest.raises(ScheduleError):
        sch.compute_at("B", i)
    assert structural_equal(sch.mod, before)
    assert sch.mod is before
    assert [sref for _, sref in sch.state.roots()] == places
    sch.compute_at("C", i)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="error_render_level can be"):
        Schedule(matmul(), error_render_level="loud")
    with pytest.raises(ValueError, match="Unrecognizable `debug_mask`"):
        Schedule(matmul(), debug_mask="some")
    with pytest.raises(TypeError, match="legal: PrimFunc, IRModule"):
        Schedule(3)
    with pytest.raises(TypeError, match="type of `name` does not match"):
        Schedule(matmul()).get_block(3)
    with pytest.raises(AttributeError):
        Schedule(matmul()).no_such_primitive


def test_seeds() -> None:
    one, two = Schedule(elementwise(8), seed=4), Schedule(elementwise(8), seed=4)
    assert one.fork_seed() == two.fork_seed()
    one.seed(9)
    assert one.fork_seed() != two.fork_seed()
    none, first = Schedule(elementwise(8), seed=0), Schedule(elementwise(8), seed=1)
    assert none.fork_seed() == first.fork_seed()
    Schedule(elementwise(8), seed=-1)  # any
    with pytest.raises(ValueError, match="seed must be non-negative, or -1 for any, found -5"):
        Schedule(elementwise(8), seed=-5)
