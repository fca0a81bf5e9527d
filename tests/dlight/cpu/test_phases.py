"""Rows that windows take steps of two along, copied in two parts."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_window import depthwise
from tests.dlight.programs import HASWELL, NEON, SPR, built_here, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.phases import Phases, has_phases
from tvm.dlight.cpu.window_axes import Axis
from tvm.ir.expr import Range
from tvm.target import Target
from tvm.tir.expr import IterVar
from tvm.tir.functor import walk

SIZES = [(5, 4), (4, 17), (9, 31), (23, 32), (6, 33), (40, 64), (7, 95), (5, 1501)]


def axis(taps: int, step: int = 2, scale: int = 1) -> Axis:
    size = te.size_var("w", "int64")
    place, tap = (tir.Var(name, "int64") for name in ("x", "rx"))
    along = IterVar(Range(tir.const(0, "int64"), size), place, IterVar.DataPar)
    steps = Range(tir.const(0, "int64"), tir.const(taps, "int64"))
    window = IterVar(steps, tap, IterVar.CommReduce)
    return Axis(along, 0, step, window, scale)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize(
    ("taps", "before", "scale"), [(3, 1, 1), (3, 0, 1), (5, 2, 1), (3, 2, 2), (7, 3, 1)]
)
def test_each_step_finds_its_elements(lanes: int, taps: int, before: int, scale: int) -> None:
    """By numbers: element v of a row lies in part v % 2, and lanes beside one another."""
    phases = Phases(axis(taps, scale=scale), before, lanes, "float32", 4096)
    odd = -before % 2
    assert phases.odd == odd
    for tap in range(taps):
        place = int(tvm.arith.Analyzer().simplify(phases.place(tir.const(tap, "int64"))).value)
        part, index = divmod(place, phases.apart)
        assert 2 * index + part == tap * scale + odd
    wanted = [(tap * scale + odd) // 2 for tap in range(taps)]
    assert phases.broken == sum((place + phases.shift) % lanes != 0 for place in wanted)


@pytest.mark.parametrize(
    ("target", "step", "lanes", "wanted"),
    [(SPR, 2, 16, True), (HASWELL, 2, 8, True), (NEON, 2, 4, False), (SPR, 1, 16, False),
     (SPR, 3, 16, False), (SPR, 2, 2, False), (Target("llvm -mcpu=x86-64"), 2, 4, False)],
)  # fmt: skip
def test_who_has_them(target: Target, step: int, lanes: int, wanted: bool) -> None:
    assert has_phases(target.cpu, axis(3, step), lanes) is wanted


def shuffles(func: tir.PrimFunc) -> int:
    return sum(isinstance(node, tir.Shuffle) for node in walk(func.body))


@pytest.mark.parametrize("target", [SPR, HASWELL])
@pytest.mark.parametrize(("h", "w"), [(3, 3), (6, 35), (5, 8)])
def test_meaning(target: Target, h: int, w: int) -> None:
    n, height, width = (te.size_var(name) for name in "nhw")
    func = depthwise((n, 2, height, width), 3, 2, 1)
    after = scheduled(Fallback(), func, target, {"n": 1, "h": h, "w": w})
    assert shuffles(after)


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", ["znver4", "haswell"])
@pytest.mark.parametrize(("kernel", "pad"), [(3, 1), (5, 2), (3, 0), (2, 1), (4, 3)])
def test_values_of_rows_of_all_lengths(cpu: str, kernel: int, pad: int) -> None:
    """Less than a vector, ends anywhere in a pair of vectors, several blocks of columns."""
    n, h, w = (te.size_var(name) for name in "nhw")
    x = te.placeholder((n, 3, h, w), name="X")
    y = topi.nn.pool2d(x, [kernel] * 2, [2, 2], [1, 1], [pad] * 4, "max")
    run = built_here(te.create_prim_func([x, y]), Fallback(), cpu, "windows over")
    rng = np.random.default_rng(kernel)
    for height, width in SIZES:
        data = rng.standard_normal((2, 3, height, width)).astype("float32")
        wide = np.pad(data, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=-np.inf)
        view = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), (2, 3))
        want = view[:, :, ::2, ::2].max((4, 5))
        out = tvm.runtime.empty(want.shape)
        run(tvm.runtime.tensor(data), out)
        finite = np.isfinite(want)
        np.testing.assert_array_equal(out.numpy()[finite], want[finite], err_msg=f"{data.shape}")
