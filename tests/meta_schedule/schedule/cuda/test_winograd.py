"""The transforms of Winograd's convolution on GPUs: whole tiles by a thread, equal numbers."""

from __future__ import annotations

import pytest

from tests.meta_schedule.schedule.winograd_convolutions import (
    convolution,
    same_numbers,
    scopes,
    space,
)
from tvm.ffi import get_global_func
from tvm.target import Target
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.pure
TURING = Target("nvidia/geforce-rtx-2080")


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_space(layout: str) -> None:
    (sch,) = space("cuda", TURING, layout)
    found = scopes(sch)
    assert "data_pad" not in found
    assert found["input_tile"] == found["data_pack"] == found["bgemm"] == "local"
    assert found["data_pack_shared"] == "shared"
    assert found["inverse"] == "global"
    assert same_numbers(sch, layout)


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_tiles_of_all_sizes(layout: str) -> None:
    with TURING:
        func = convolution(layout)
    for seed in (1, 4, 13):
        sch = Schedule(func, seed=seed)
        for stage in ("data_pack", "inverse"):
            rule = get_global_func(f"meta_schedule.cuda.conv2d_{layout}_winograd_{stage}")
            rule(sch, sch.get_block(stage))
        assert same_numbers(sch, layout)


def test_product_is_gathered_at_the_third_level() -> None:
    (sch,) = space("cuda", TURING, "nhwc")
    notes = sch.get(sch.get_block("bgemm")).annotations
    assert [int(n) for n in notes["meta_schedule.write_cache_level"]] == [3]
