from __future__ import annotations

import re

import numpy as np
import pytest

import tvm
from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Fallback
from tvm.target import Target

REASON = "windows over"


def depthwise(
    shape: tuple[object, ...], kernel: int, stride: int, pad: int, dilation: int = 1,
    epilogue: bool = False,
) -> tir.PrimFunc:  # fmt: skip
    x = te.placeholder(shape, name="X")
    w = te.placeholder((shape[1], 1, kernel, kernel), name="W")
    y = topi.nn.depthwise_conv2d_nchw(x, w, stride, pad, dilation)
    if not epilogue:
        return te.create_prim_func([x, w, y])
    bias = te.placeholder((shape[1], 1, 1), name="bias")
    return te.create_prim_func([x, w, bias, topi.nn.relu(topi.add(y, bias))])


def pool(shape: tuple[object, ...], kind: str, kernel: int, stride: int, pad: int) -> tir.PrimFunc:
    x = te.placeholder(shape, name="X")
    y = topi.nn.pool2d(
        x, [kernel] * 2, [stride] * 2, [1, 1], [pad] * 4, kind, False, "NCHW", False
    )
    return te.create_prim_func([x, y])


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize(
    ("size", "kernel", "stride"),
    [(8, 3, 1), (7, 3, 2), (17, 3, 2), (20, 5, 1), (35, 3, 4), (14, 5, 2), (12, 2, 3)],
)
def test_depthwise(size: int, kernel: int, stride: int, target: Target) -> None:
    func = depthwise((1, 3, size, size), kernel, stride, kernel // 2, epilogue=True)
    after = scheduled(Fallback(), func, target)
    assert target is not SPR or REASON in str(after.attrs["schedule_reason"])


def test_accumulators_are_rows_of_vectors() -> None:
    after = scheduled(Fallback(), depthwise((1, 4, 28, 28), 3, 1, 1))
    assert "windows over 7 rows of vectors" in str(after.attrs["schedule_reason"])
    assert "T.vectorized(T.int64(16))" in after.script() or "T.vectorized(16)" in after.script()


def test_borders_are_made_by_whole_vectors() -> None:
    """Rows of 114 are no two vectors of 57 lanes."""
    after = scheduled(Fallback(), depthwise((1, 2, 112, 112), 3, 1, 1))
    found = set(re.findall(r"T\.vectorized\((?:T\.int64\()?(\d+)", after.script()))
    assert found == {"16"}


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(("kernel", "stride", "pad"), [(2, 2, 0), (3, 2, 1), (5, 1, 2), (9, 1, 4)])
def test_pools(kind: str, kernel: int, stride: int, pad: int) -> None:
    after = scheduled(Fallback(), pool((2, 3, 18, 18), kind, kernel, stride, pad))
    assert REASON in str(after.attrs["schedule_reason"])


def test_dilated() -> None:
    after = scheduled(Fallback(), depthwise((2, 3, 19, 19), 3, 1, 2, dilation=2))
    assert REASON in str(after.attrs["schedule_reason"])


def test_one_and_three_dimensions() -> None:
    x = te.placeholder((2, 3, 40), name="X")
    y = topi.nn.pool1d(x, [3], [2], [1], [1, 1], "max", False, "NCW", True)
    scheduled(Fallback(), te.create_prim_func([x, y]))
    x = te.placeholder((1, 3, 6, 9, 10), name="X")
    y = topi.nn.pool3d(x, [3] * 3, [2] * 3, [1] * 3, [1] * 6, "avg", False, "NCDHW", True)
    scheduled(Fallback(), te.create_prim_func([x, y]))


def test_groups_of_channels() -> None:
    x, w = te.placeholder((1, 6, 9, 9), name="X"), te.placeholder((4, 3, 3, 3), name="W")
    y = topi.nn.group_conv2d_nchw(x, w, 1, 1, 1, 2)
    after = scheduled(Fallback(), te.create_prim_func([x, w, y]))
    assert REASON in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize("stride", [1, 2])
def test_symbolic_sizes(stride: int) -> None:
    n, h, w = (tir.SizeVar(name, "int64") for name in "nhw")
    func = depthwise((n, 3, h, w), 3, stride, 1)
    rows, columns = func.buffer_map[func.params[-1]].shape[2:]
    sizes = {"n": 2, "h": 9, "w": 21, str(rows): -(-9 // stride), str(columns): -(-21 // stride)}
    after = scheduled(Fallback(), func, sizes=sizes)
    assert stride > 1 or REASON in str(after.attrs["schedule_reason"])


@pytest.mark.cpu
@pytest.mark.parametrize(("size", "kernel", "stride"), [(7, 5, 1), (14, 5, 2), (28, 3, 2)])
def test_any_number_of_planes_of_a_known_size(size: int, kernel: int, stride: int) -> None:
    func = depthwise((tir.SizeVar("n", "int64"), 3, size, size), kernel, stride, kernel // 2)
    after = scheduled(Fallback(), func, SPR, sizes={"n": 2})
    assert "of any size" not in str(after.attrs["schedule_reason"])
    rules = tvm.dlight.ApplyDefaultSchedule(Fallback())
    with Target("llvm"):
        run = tvm.compile(rules(tvm.IRModule({"main": func})), target="llvm")["main"]
    rng = np.random.default_rng(size)
    w = rng.standard_normal((3, 1, kernel, kernel)).astype("float32")
    for n in (1, 2, 5):
        x = rng.standard_normal((n, 3, size, size)).astype("float32")
        wide = np.pad(x, ((0, 0), (0, 0), (kernel // 2,) * 2, (kernel // 2,) * 2))
        view = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), (2, 3))
        expected = np.einsum("ncyxij,cij->ncyx", view[:, :, ::stride, ::stride], w[:, 0])
        out = tvm.runtime.empty(expected.shape)
        run(tvm.runtime.tensor(x), tvm.runtime.tensor(w), out)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_sums_over_an_axis_are_no_windows() -> None:
    a, k = te.placeholder((12, 64), name="A"), te.reduce_axis((0, 12), name="k")
    b = te.compute((64,), lambda j: te.sum(a[k, j], axis=k), name="B")
    after = scheduled(Fallback(), te.create_prim_func([a, b]))
    assert REASON not in str(after.attrs["schedule_reason"])


@pytest.mark.covering(1)
@pytest.mark.cpu
@pytest.mark.parametrize("size", [1, 2, 3, 7, 13, 14, 28, 33, 63, 65])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_machine_code(size: int, stride: int) -> None:
    func = depthwise((2, 3, size, size), 3, stride, 1)
    rng = np.random.default_rng(size)
    x, w = (rng.standard_normal(s).astype("float32") for s in ((2, 3, size, size), (3, 1, 3, 3)))
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
    expected = np.einsum("ncyxij,cij->ncyx", windows[:, :, ::stride, ::stride], w[:, 0])
    after = tvm.dlight.ApplyDefaultSchedule(Fallback())
    with Target("llvm"):
        built = tvm.compile(after(tvm.IRModule({"main": func})), target="llvm")
    out = tvm.runtime.empty(expected.shape)
    built["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(w), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)
