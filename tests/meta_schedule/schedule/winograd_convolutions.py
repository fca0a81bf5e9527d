"""Small convolutions by Winograd's algorithm, and the spaces of their schedules."""

from __future__ import annotations

import numpy as np

from tests.meta_schedule.workloads import arguments, interpreted
from tvm import meta_schedule as ms
from tvm import te
from tvm.ir.module import IRModule
from tvm.meta_schedule.testing.space_generation import generate_design_space
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import Block
from tvm.topi.nn.conv2d_winograd import (
    conv2d_winograd_nchw_without_weight_transform,
    conv2d_winograd_nhwc_without_weight_transform,
)


def convolution(layout: str) -> PrimFunc:
    """Tiles of 2 by 2 of a padded image of 5 x 5, 4 channels to 8."""
    if layout == "nhwc":
        data = te.placeholder((1, 5, 5, 4), name="data")
        weight = te.placeholder((4, 4, 8, 4), name="weight")
        op = conv2d_winograd_nhwc_without_weight_transform
    else:
        data = te.placeholder((1, 4, 5, 5), name="data")
        weight = te.placeholder((4, 4, 4, 8), name="weight")
        op = conv2d_winograd_nchw_without_weight_transform
    return te.create_prim_func([data, weight, op(data, weight, 1, 1, 1, "float32")])


def space(kind: str, target: Target, layout: str) -> list[Schedule]:
    """What the rules of a kind make of the convolution."""
    with target:
        func = convolution(layout)
    return generate_design_space(kind, IRModule({"main": func}), target, ms.ScheduleRule)


def same_numbers(sch: Schedule, layout: str) -> bool:
    """Whether a schedule computes what the convolution does."""
    args = arguments(convolution(layout))
    wanted, got = (interpreted(m, args) for m in (convolution(layout), sch.mod))
    return bool(np.allclose(wanted, got, 1e-4, 1e-4))


def scopes(sch: Schedule) -> dict[str, str]:
    """Where what each block writes lies."""
    found: dict[str, str] = {}
    for child in sch.get_child_blocks(sch.get_block("root")):
        block = sch.get(child)
        assert isinstance(block, Block)
        found[block.name_hint] = block.writes[0].buffer.scope()
    return found
