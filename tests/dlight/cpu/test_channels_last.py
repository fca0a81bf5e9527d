"""Convolutions whose channels are last: tiles of positions by filters, right on every CPU."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_any_size import CPUS
from tests.dlight.programs import HASWELL, SPR, scheduled
from tvm import dlight, te, topi
from tvm.dlight.cpu import Conv2D
from tvm.target import Target
from tvm.tir.function import PrimFunc


def nhwc(
    n: int, h: int, w: int, ci: int, co: int, kernel: int = 3, stride: int = 1, pad: int = 1,
    dilation: int = 1, epilogue: bool = False, dtype: str = "float32",
) -> PrimFunc:  # fmt: skip
    x = te.placeholder((n, h, w, ci), dtype, "X")
    weights = te.placeholder((kernel, kernel, ci, co), dtype, "W")
    y = topi.nn.conv2d_nhwc(x, weights, stride, pad, dilation, dtype)
    if not epilogue:
        return te.create_prim_func([x, weights, y])
    bias = te.placeholder((co,), dtype, "bias")
    z = te.compute(y.shape, lambda i, j, k, f: te.max(y[i, j, k, f] + bias[f], 0.0), "Z")
    return te.create_prim_func([x, weights, bias, z])


def reason(func: PrimFunc, target: Target = SPR) -> str:
    sch = Conv2D().apply(func, target, False)
    return "" if sch is None else str(sch.mod["main"].attrs["schedule_reason"])  # type: ignore[union-attr]


CASES = [
    nhwc(1, 6, 8, 4, 32),
    nhwc(2, 7, 7, 3, 16, epilogue=True),
    nhwc(1, 9, 12, 5, 24, stride=2, epilogue=True),  # half a vector and one more
    nhwc(1, 8, 13, 4, 16, dilation=2, pad=2),  # a prime row
    nhwc(2, 5, 6, 8, 16, kernel=1, stride=2, pad=0),
    nhwc(1, 4, 6, 3, 8, dtype="float64"),
]


@pytest.mark.covering(2)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("target", [SPR, HASWELL], ids=str)
@pytest.mark.parametrize("func", CASES)
def test_means_the_same(func: PrimFunc, target: Target, free: bool) -> None:
    func = func if free else func.without_attr("layout_free_buffers")  # topi gives it
    after = scheduled(Conv2D(), func, target)
    text = str(after.attrs["schedule_reason"])
    assert "channels last" in text
    assert ("packed beforehand" if free else "read in place") in text


@pytest.mark.parametrize(
    ("func", "tile"),
    [
        (nhwc(1, 56, 56, 64, 64), "14x32"), (nhwc(1, 7, 7, 512, 512), "7x32"),
        (nhwc(1, 112, 112, 3, 24), "8x24"), (nhwc(1, 14, 14, 256, 256), "14x32"),
    ],
)  # fmt: skip
def test_tiles(func: PrimFunc, tile: str) -> None:
    assert f"{tile} tile, channels last" in reason(func)


@pytest.mark.parametrize(
    "func",
    [
        nhwc(1, 9, 19, 4, 16),  # rows of 19: no tile divides them
        nhwc(1, 8, 8, 4, 5),  # five filters are no vector
        nhwc(1, 8, 8, 4, 16, dtype="float16"),  # sums of half floats are made wide elsewhere
    ],
)
def test_others(func: PrimFunc) -> None:
    assert "channels last" not in reason(func)


@pytest.mark.parametrize("mcpu", CPUS)
def test_runs(mcpu: str) -> None:
    """Random shapes, compiled, against sums of products by numpy."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        n, h, width, ci = (int(v) for v in rng.integers(1, 13, 4))
        kernel, stride = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        h, width, co = h + 3, width + 3, int(rng.choice([4, 8, 16, 24, 32, 48]))
        func = nhwc(n, h, width, ci, co, kernel, stride, kernel // 2, epilogue=True)
        target = Target(f"llvm -mcpu={mcpu} -num-cores=2")
        with target:
            rules = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())
            mod = rules(tvm.IRModule({"main": func}))
        x, w, b = (rng.standard_normal(s).astype("float32") for s in
                   ((n, h, width, ci), (kernel, kernel, ci, co), (co,)))  # fmt: skip
        pad = kernel // 2
        wide = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), (1, 2))
        expected = np.einsum("nyxcij,ijcf->nyxf", windows[:, ::stride, ::stride], w)
        out = tvm.runtime.tensor(np.zeros(expected.shape, "float32"))
        tensors = [tvm.runtime.tensor(a) for a in (x, w, b)]
        tvm.tir.build(mod, target)["main"](*tensors, out)
        np.testing.assert_allclose(out.numpy(), np.maximum(expected + b, 0), rtol=1e-4, atol=1e-4)
