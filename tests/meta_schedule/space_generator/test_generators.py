"""Spaces by rules, by functions, and several as one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.workloads import LLVM, context, matmul
from tvm import meta_schedule as ms
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.meta_schedule import space_generator as G
from tvm.meta_schedule.tune_context import TuneContext
from tvm.meta_schedule.utils import derived_object
from tvm.target import Target
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.pure


def tile(sch: Schedule) -> None:
    i, _, _ = sch.get_loops(sch.get_block("matmul"))
    sch.split(i, [*sch.sample_perfect_tile(i, n=2)])


def test_functions() -> None:
    (sch,) = G.ScheduleFn(tile).generate_design_space(Matmul)
    assert len(sch.get_loops(sch.get_block("matmul"))) == 4
    (one,) = G.ScheduleFn(lambda sch: sch).generate_design_space(Matmul)
    assert one.mod is Matmul
    two = G.ScheduleFn(lambda sch: [sch, sch.copy()]).generate_design_space(Matmul)
    assert len(two) == 2


@pytest.mark.parametrize("bad", [3, "x", [1]])
def test_functions_return_schedules(bad: Any) -> None:
    with pytest.raises(TypeError, match="Unable to recognize return type"):
        G.ScheduleFn(lambda sch: bad).generate_design_space(Matmul)


def test_union() -> None:
    union = G.SpaceGeneratorUnion([G.ScheduleFn(tile), G.ScheduleFn(tile)])
    assert len(union.generate_design_space(Matmul)) == 2
    ctx = TuneContext(Matmul, target=Target(LLVM), space_generator=union)
    assert len(ctx.generate_design_space()) == 2
    assert len(union.clone().space_generators) == 2


def test_create() -> None:
    assert isinstance(G.create("post-order-apply"), G.PostOrderApply)
    assert isinstance(G.create("union", []), G.SpaceGeneratorUnion)
    assert isinstance(G.create(tile), G.ScheduleFn)
    with pytest.raises(ValueError, match="Unknown SpaceGenerator: random"):
        G.create("random")


def test_rules_need_a_target_or_a_list() -> None:
    with pytest.raises(ValueError, match="`sch_rules` is not set"):
        TuneContext(Matmul, space_generator=G.PostOrderApply()).generate_design_space()


def test_parts_from_the_target_or_a_kind() -> None:
    ctx = context(matmul(), LLVM)
    generator = ctx.space_generator
    assert generator is not None
    assert [type(r).__name__ for r in generator.sch_rules or ()] == [
        "ApplyCustomRule", "InlineConstantScalars", "AutoInline", "AddRFactor",
        "MultiLevelTiling", "ParallelizeVectorizeUnroll", "RandomComputeLocation",
    ]  # fmt: skip
    assert len(generator.postprocs or ()) == 4
    assert len(generator.mutator_probs or ()) == 4
    named = G.PostOrderApply(sch_rules="cuda", postprocs=[], mutator_probs={})
    assert len(named.sch_rules or ()) == 7
    assert named.postprocs == []
    assert named.mutator_probs == {}


def test_same_seed_same_space() -> None:
    texts = [
        [str(s.trace) for s in context(matmul(), LLVM, seed=4).generate_design_space()]
        for _ in range(2)
    ]
    assert texts[0] == texts[1]
    other = [str(s.trace) for s in context(matmul(), LLVM, seed=5).generate_design_space()]
    assert other != texts[0]


def test_blocks_may_be_filtered() -> None:
    ctx = context(matmul(relu=True), LLVM)
    filtered = G.PostOrderApply(f_block_filter=lambda block: block.name_hint == "D")
    skipped = TuneContext(ctx.mod, target=Target(LLVM), space_generator=filtered)
    (sch,) = skipped.generate_design_space()
    assert len(sch.get_loops(sch.get_block("C"))) == 3


def test_rejects_blocks_of_one_name() -> None:
    twice = Schedule(matmul(relu=True)).mod["main"]
    text = twice.script().replace('T.block("D")', 'T.block("C")')
    from tvm.script import from_source

    mod = IRModule({"main": from_source(text)})
    with pytest.raises(TVMError, match="Duplicated block name C in function main not supported!"):
        context(mod["main"], LLVM).generate_design_space()  # type: ignore[arg-type]


@ms.derived_object
class Both(G.PySpaceGenerator):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self.seen.append(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        return [Schedule(mod), Schedule(mod)]

    def clone(self) -> G.SpaceGenerator:
        return Both()


def test_generators_of_users() -> None:
    generator = Both()
    ctx = TuneContext(Add, space_generator=generator)
    assert generator.seen == [ctx]
    assert len(ctx.generate_design_space()) == 2
    assert isinstance(ctx.clone().space_generator, Both)
    with pytest.raises(TVMError, match="GenerateDesignSpace method not implemented"):
        G.SpaceGenerator().generate_design_space(Add)


def test_a_generator_of_nothing() -> None:
    @derived_object
    class Idle(ms.space_generator.PySpaceGenerator):
        """Defines no method."""

    idle = Idle()
    with pytest.raises(TVMError, match="InitializeWithTuneContext method not implemented!"):
        idle._initialize_with_tune_context(context(matmul(), LLVM))
    with pytest.raises(TVMError, match="GenerateDesignSpace method not implemented!"):
        idle.generate_design_space(IRModule({"main": matmul()}))
