"""Windows over planes within borders whose width only running tells, by all rules."""

from __future__ import annotations

import random

import pytest

from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight import ScheduleRule
from tvm.dlight.cpu import Conv2D, Fallback
from tvm.dlight.cpu.weights import LAYOUT_FREE
from tvm.target import Target

TARGETS = {
    "spr": SPR, "znver4": Target("llvm -mcpu=znver4"), "haswell": HASWELL,
    "sse": Target("llvm -mcpu=x86-64"), "neon": NEON,
}  # fmt: skip


def conv(
    channels: int, filters: int, kernel: int, stride: int, groups: int, *, named: bool = False,
    dtype: str = "float32", free: bool = False, dilation: int = 1,
) -> tir.PrimFunc:  # fmt: skip
    """Borders are a quotient of extents, or symbols of their own."""
    n, h, w = (te.size_var(name, "int64") for name in "nhw")
    x = te.placeholder((n, channels, h, w), dtype, name="X")
    weight = te.placeholder((filters, channels // groups, kernel, kernel), dtype, name="W")
    bias = te.placeholder((filters, 1, 1), dtype, name="bias")
    reach = (kernel - 1) * dilation + 1
    last = [(tir.floordiv(s + (stride - 1), stride) - 1) * stride for s in (h, w)]
    lacking = [begin + reach - s for begin, s in zip(last, (h, w))]
    totals = [tir.max(n, tir.const(0, "int64")) for n in lacking]
    own = [te.size_var(name, "int64") for name in ("top", "left", "bottom", "right")]
    pads = [*(t // 2 for t in totals), *(t - t // 2 for t in totals)]
    y = topi.nn.conv(x, weight, stride, own if named else pads, dilation, groups, "NCHW", "OIHW")
    y = topi.nn.relu(topi.add(y, bias))
    told = [te.placeholder(own, dtype, name="told")] if named else []
    func = te.create_prim_func([*told, x, weight, bias, y], "int64")
    return func.with_attr(LAYOUT_FREE, [1 + len(told)]) if free else func


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "stride", "groups"),
    [(8, 8, 3, 2, 8), (20, 20, 5, 2, 20), (3, 8, 3, 2, 1), (4, 6, 3, 2, 1), (8, 8, 3, 2, 2)],
)
def test_borders_that_extents_tell(
    target: str, channels: int, filters: int, kernel: int, stride: int, groups: int
) -> None:
    rng = random.Random(f"{target}{channels}{kernel}")
    func = conv(channels, filters, kernel, stride, groups, free=rng.random() < 0.5)
    rule: ScheduleRule = Conv2D()
    if rule.apply(func, TARGETS[target], False) is None:
        rule = Fallback()
    sizes = {"n": rng.choice([1, 2]), "h": rng.randint(2, 9), "w": rng.randint(2, 19)}
    scheduled(rule, func, TARGETS[target], sizes)


@pytest.mark.parametrize("target", ["spr", "haswell"])
@pytest.mark.parametrize(("groups", "kernel", "dilation"), [(6, 3, 1), (1, 3, 1), (1, 3, 3)])
def test_borders_that_are_symbols(target: str, groups: int, kernel: int, dilation: int) -> None:
    func = conv(6, 6, kernel, 2, groups, named=True, dilation=dilation)
    border = {"top": 1, "left": 2, "bottom": 3, "right": 1}
    rule: ScheduleRule = Conv2D()
    if rule.apply(func, TARGETS[target], False) is None:
        rule = Fallback()
    scheduled(rule, func, TARGETS[target], {"n": 1, "h": 7, "w": 18, **border})
