"""Tiled layout transforms compute what plain ones do, with runs of elements on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import te, topi
from tvm.ffi import get_global_func
from tvm.meta_schedule.schedule.cuda import layout_transform as rule
from tvm.meta_schedule.schedule_rule import ApplyCustomRule
from tvm.meta_schedule.space_generator import PostOrderApply
from tvm.meta_schedule.tune_context import TuneContext
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.pure
A100 = Target("nvidia/nvidia-a100")


def transform(shape: tuple[object, ...], source: str, target: str) -> PrimFunc:
    """A layout transform between two maps, which are to be inlined."""
    a = te.placeholder(shape, "float32", "A")
    doubled = te.compute(shape, lambda *i: a(*i) * 2.0, "doubled")
    moved = topi.layout_transform(doubled, source, target, "layout_transform")
    return te.create_prim_func([a, topi.tanh(moved)])


@pytest.mark.parametrize(
    ("shape", "source", "target", "sizes"),
    [
        ((1, 3, 7, 33), "NCHW", "NHWC", (2, 32)),
        ((1, 16, 4, 9), "NCHW", "NCHW4c", (8, 32)),
        ((1, 13, 3, 9), "NCHW", "NCHW4c", (2, 8)),  # padded
        ((1, 4, 5, 6, 4), "NCHW4c", "NCHW8c", (8,)),
        ((1, 8, 5, 6, 4), "NCHW4c", "NHWC", (4, 32)),
        ((3, 5, 7), "NCW", "CNW", (2, 32)),
        ((20, 67), "NC", "CN", (8, 16)),
    ],
)
def test_numbers(shape: tuple[int, ...], source: str, target: str, sizes: tuple[int, ...]) -> None:
    func = transform(shape, source, target)
    sch = Schedule(func)
    made = rule.cuda_layout_transform_schedule_rule(
        sch, sch.get_block("T_layout_trans"), list(sizes)
    )
    assert len(made) == len(sizes)
    data = np.random.default_rng(0).standard_normal(shape).astype("float32")
    block = sch.get(sch.get_block("compute"))
    expected = np.zeros([int(n) for n in block.writes[0].buffer.shape], "float32")
    run(func, data, expected)
    assert expected.any()
    for one in made:
        text = one.mod["main"].script()
        assert text.count('thread="blockIdx.x"') == 1
        assert text.count('thread="threadIdx.x"') == 2
        assert text.count("T.alloc_buffer(") == text.count('scope="shared"') == 1
        found = np.zeros_like(expected)
        run(one.mod, data, found)
        np.testing.assert_array_equal(found, expected)


def test_tiles_have_runs_on_both_sides() -> None:
    sch = Schedule(transform((1, 64, 64, 64), "NCHW", "NHWC"))
    (made,) = rule.cuda_layout_transform_schedule_rule(sch, sch.get_block("T_layout_trans"), [32])
    text = made.mod["main"].script()
    assert 'T.thread_binding(256, thread="blockIdx.x")' in text  # 64 rows, 2 x 2 tiles each


def test_the_steps_by_hand() -> None:
    sch = Schedule(transform((1, 8, 4, 8), "NCHW", "NHWC"))
    write = rule.auto_inline_into(sch, sch.get_block("T_layout_trans"))
    assert [b.name_hint for b in map(sch.get, sch.get_child_blocks(sch.get_block("root")))] == [
        "T_layout_trans"
    ]
    read, shape, source, target = rule.create_cached_read(sch, write, [1, 8, 4, 8], "NCHW", "NHWC")
    assert (shape, source, target) == ([1, 8, 4, 8], "NCHW", "NHWC")
    size = sch.sample_categorical([4], [1.0])
    rule.tile_layout_transform(sch, read, write, source, target, shape, size)
    assert 'T.thread_binding(16, thread="threadIdx.x")' in sch.mod["main"].script()


def test_targets_bound_the_tiles() -> None:
    assert rule.get_max_tile_size() == 32
    with Target("rocm -mcpu=gfx90a -thread_warp_size=64"):
        assert rule.get_max_tile_size() == 64
    with A100:
        assert rule.get_max_tile_size() == 32


def test_the_rule_is_found_by_name() -> None:
    assert get_global_func("meta_schedule.cuda.layout_transform") is not None
    context = TuneContext(
        Schedule(transform((1, 8, 8, 8), "NCHW", "NHWC")).mod,
        target=A100,
        space_generator=PostOrderApply(
            sch_rules=[ApplyCustomRule()], postprocs=[], mutator_probs={}
        ),
    )
    spaces = context.generate_design_space()
    assert len(spaces) == 6  # without tiles, and tiles of 2, 4, 8, 16, 32


def test_what_cannot_be_tiled() -> None:
    sch = Schedule(transform((te.var("n"), 8), "NC", "CN"))
    block = sch.get_block("T_layout_trans")
    assert rule.cuda_layout_transform_schedule_rule(sch, block, [4]) == [sch]
    with pytest.raises(ValueError, match="block doubled without src_layout, dst_layout, input_sh"):
        rule.cuda_layout_transform_schedule_rule(sch, sch.get_block("doubled"))
    fused = Schedule(transform((8, 8), "NC", "CN"))
    write = rule.auto_inline_into(fused, fused.get_block("T_layout_trans"))
    read, *_ = rule.create_cached_read(fused, write, [8, 8], "NC", "CN")
    fused.fuse(*fused.get_loops(write))
    with pytest.raises(ValueError, match="1 loops around the block"):
        rule.tile_layout_transform(fused, read, write, "NC", "CN", [8, 8], 4)
