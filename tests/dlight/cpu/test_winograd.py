from __future__ import annotations

import numpy as np
import pytest

from tests.dlight.programs import HASWELL, NEON, SPR, conv, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Winograd
from tvm.target import Target
from tvm.topi.nn.winograd_panels import Panels, winograd_panels


def program(
    shape: tuple[int | tir.Var, ...], outs: int, panels: Panels, epilogue: str = "",
    padding: tuple[int, int, int, int] = (1, 1, 1, 1),
) -> tir.PrimFunc:  # fmt: skip
    x = te.placeholder(shape, name="X")
    u = te.placeholder((-(-outs // panels.filters), 36, shape[1], panels.filters), name="U")
    y = winograd_panels(x, u, outs, padding, panels)
    if not epilogue:
        return te.create_prim_func([x, u, y])
    bias = te.placeholder((outs, 1, 1), name="bias")
    y = topi.add(y, bias)
    if epilogue == "silu":
        return te.create_prim_func([x, u, bias, topi.multiply(y, topi.sigmoid(y))])
    rest = te.placeholder(y.shape, name="R")
    return te.create_prim_func([x, u, bias, rest, topi.nn.relu(topi.add(y, rest))])


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize("epilogue", ["", "residual", "silu"])
def test_epilogues(target: Target, epilogue: str) -> None:
    after = scheduled(Winograd(), program((1, 3, 8, 8), 4, Panels(2, 4), epilogue), target)
    assert "Winograd's F(4x4, 3x3)" in str(after.attrs["schedule_reason"])
    assert len([p for p in after.script().split() if p == "T.alloc_buffer("]) == 0


@pytest.mark.parametrize(
    ("shape", "outs", "panels", "padding"),
    [
        ((2, 3, 9, 11), 6, Panels(3, 3), (1, 1, 1, 1)),
        ((1, 2, 6, 6), 2, Panels(1, 2), (0, 0, 0, 0)),
        ((1, 2, 5, 70), 2, Panels(1, 2), (1, 1, 1, 1)),
        ((1, 2, 7, 6), 5, Panels(2, 2), (0, 0, 1, 2)),
    ],
)
def test_sizes(
    shape: tuple[int, int, int, int], outs: int, panels: Panels,
    padding: tuple[int, int, int, int],
) -> None:  # fmt: skip
    scheduled(Winograd(), program(shape, outs, panels, "residual", padding))


def test_sums_stay_in_registers() -> None:
    after = scheduled(Winograd(), program((1, 2, 16, 16), 8, Panels(4, 8)))
    text = after.script()
    assert 'scope="local"' in text
    assert "8 filters by 1 vectors in registers" in str(after.attrs["schedule_reason"])


def test_takes_nothing_else() -> None:
    assert Winograd().apply(conv(1, 2, 2, 5), SPR, False) is None


def test_large_work_goes_to_threads() -> None:
    after = Winograd().apply(program((1, 64, 56, 64), 64, Panels(2, 8)), SPR, False)
    assert after is not None
    assert "T.parallel" in after.mod.script()
    assert np.all([name in after.mod.script() for name in ("winograd_tiles", "winograd_pairs")])
