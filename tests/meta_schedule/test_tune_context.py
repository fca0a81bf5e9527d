"""What a search is about."""

from __future__ import annotations

import pytest

from tests.meta_schedule.programs import Matmul
from tvm.meta_schedule.search_context import normalize_mod
from tvm.meta_schedule.search_strategy import ReplayTrace
from tvm.meta_schedule.space_generator import PostOrderApply, ScheduleFn
from tvm.meta_schedule.tune_context import TuneContext, _normalize_mod
from tvm.target import Target
from tvm.tir import Evaluate, PrimFunc
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.pure


def _nothing(sch: Schedule) -> None:
    pass


def test_parts_by_name() -> None:
    ctx = TuneContext(
        Matmul, target="llvm --num-cores=2", space_generator="post-order-apply",
        search_strategy="replay-trace",
    )  # fmt: skip
    assert isinstance(ctx.space_generator, PostOrderApply)
    assert isinstance(ctx.search_strategy, ReplayTrace)
    assert ctx.target is not None
    assert ctx.target.kind.name == "llvm"
    assert ctx.task_name == "main"


def test_a_function_is_called_main() -> None:
    mod = normalize_mod(Matmul["main"].without_attr("global_symbol"))
    assert [g.name_hint for g in mod.functions] == ["main"]
    other = normalize_mod(mod.with_functions({"other": mod["main"]}))  # type: ignore[dict-item]
    assert [g.name_hint for g in other.functions] == ["main"]
    with pytest.raises(TypeError, match="Expected `mod` to be PrimFunc or IRModule"):
        normalize_mod(3)  # type: ignore[arg-type]


def test_design_space_of_a_function() -> None:
    ctx = TuneContext(Matmul, space_generator=_nothing)
    assert isinstance(ctx.space_generator, ScheduleFn)
    (sch,) = ctx.generate_design_space()
    assert sch.mod is Matmul


@pytest.mark.parametrize("part", ["space_generator", "search_strategy"])
def test_missing_parts(part: str) -> None:
    ctx = TuneContext(Matmul)
    ask = ctx.generate_design_space if part == "space_generator" else ctx.post_tuning
    with pytest.raises(ValueError, match=f"Please construct TuneContext with {part}"):
        ask()


def test_threads() -> None:
    assert TuneContext(Matmul, num_threads=3).num_threads == 3
    assert TuneContext(Matmul, num_threads="logical").num_threads >= 1
    with pytest.raises(ValueError, match="either an integer, 'physical', or 'logical'"):
        TuneContext(Matmul, num_threads="all")  # type: ignore[arg-type]


def test_clone_has_parts_of_its_own() -> None:
    ctx = TuneContext(
        Matmul, target=Target("llvm --num-cores=2"), space_generator=PostOrderApply(),
        search_strategy=ReplayTrace(), rand_state=5,
    )  # fmt: skip
    other = ctx.clone()
    assert other.mod is ctx.mod
    assert other.space_generator is not ctx.space_generator
    assert other.search_strategy is not ctx.search_strategy
    assert len(other.generate_design_space()) == len(ctx.generate_design_space())


def test_a_function_is_searched_as_main() -> None:
    mod = _normalize_mod(PrimFunc([], Evaluate(0)))
    assert [gvar.name_hint for gvar in mod.get_global_vars()] == ["main"]
    assert mod["main"].attrs["tir.noalias"]
