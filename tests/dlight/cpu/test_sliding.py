"""Windows over planes whose sizes the call brings: one kernel, many sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tvm
from tests.covering import long
from tests.dlight.cpu.test_window import depthwise, pool
from tests.dlight.programs import HASWELL, SPR, scheduled
from tvm import te, tir
from tvm.dlight.cpu import Fallback
from tvm.target import Target
from tvm.tir.expr import BufferLoad
from tvm.tir.functor import walk
from tvm.tir.stmt import Block, BufferStore, For, ForKind, IfThenElse

# shorter than half a vector, a vector, two; planes of one row, of a tile, of tiles that overlap
SIZES = [(1, 1), (3, 2), (7, 7), (4, 16), (9, 17), (14, 14), (28, 33), (30, 70), (2, 300)]
REASON = "of planes of any size"


def built(func: tir.PrimFunc) -> Callable[..., None]:
    mod = tvm.IRModule({"main": func})
    with Target("llvm"):
        scheduled = tvm.dlight.ApplyDefaultSchedule(Fallback())(mod)
    assert REASON in str(scheduled["main"].attrs["schedule_reason"])
    run: Callable[..., None] = tvm.compile(scheduled, target="llvm")["main"]
    return run


def windows(
    x: np.ndarray, size: int, stride: int, pad: int, dilation: int, value: float
) -> np.ndarray:
    """What each place of the result reads, (..., h, w, size, size)."""
    wide = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=value)
    reach = (size - 1) * dilation + 1
    view = np.lib.stride_tricks.sliding_window_view(wide, (reach, reach), (2, 3))
    return view[:, :, ::stride, ::stride, ::dilation, ::dilation]


def random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "dilation"),
    [(3, 2, 1, 1), (5, 1, 2, 1), (3, 1, 2, 2), (2, 3, 0, 1), long(7, 1, 3, 1), long(5, 2, 2, 1)],
)
def test_depthwise(kernel: int, stride: int, pad: int, dilation: int) -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    run = built(depthwise((n, 5, h, w), kernel, stride, pad, dilation, epilogue=True))
    rng = np.random.default_rng(kernel)
    weights, bias = random(rng, 5, 1, kernel, kernel), random(rng, 5, 1, 1)
    for batch, (height, width) in enumerate(SIZES, 1):
        if min(height, width) + 2 * pad < (kernel - 1) * dilation + 1:
            continue
        x = random(rng, batch, 5, height, width)
        view = windows(x, kernel, stride, pad, dilation, 0.0)
        expected = np.maximum(np.einsum("ncyxij,cij->ncyx", view, weights[:, 0]) + bias, 0)
        out = tvm.runtime.empty(expected.shape)
        run(*map(tvm.runtime.tensor, (x, weights, bias)), out)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("kind", "kernel", "stride", "pad"), [("max", 3, 2, 1), ("avg", 3, 1, 1), ("avg", 2, 2, 0)]
)
def test_pools(kind: str, kernel: int, stride: int, pad: int) -> None:
    n, c, h, w = (te.size_var(name) for name in "nchw")
    run = built(pool((n, c, h, w), kind, kernel, stride, pad))
    rng = np.random.default_rng(kernel)
    for channels, (height, width) in enumerate(SIZES, 1):
        if min(height, width) + 2 * pad < kernel:
            continue
        x = random(rng, 2, channels, height, width)
        if kind == "max":
            expected = windows(x, kernel, stride, pad, 1, -np.inf).max((-2, -1))
        else:
            there = windows(np.ones_like(x), kernel, stride, pad, 1, 0.0).sum((-2, -1))
            expected = windows(x, kernel, stride, pad, 1, 0.0).sum((-2, -1)) / there
        out = tvm.runtime.empty(expected.shape)
        run(tvm.runtime.tensor(x), out)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.cpu
def test_rows_wider_than_the_copy_are_cut() -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    run = built(depthwise((n, 1, h, w), 5, 1, 2))
    rng = np.random.default_rng(0)
    x, weights = random(rng, 1, 1, 9, 5003), random(rng, 1, 1, 5, 5)
    expected = np.einsum("ncyxij,cij->ncyx", windows(x, 5, 1, 2, 1, 0.0), weights[:, 0])
    out = tvm.runtime.empty(expected.shape)
    run(tvm.runtime.tensor(x), tvm.runtime.tensor(weights), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.cpu
def test_empty_planes() -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    run = built(depthwise((n, 2, h, w), 3, 1, 1))
    weights = tvm.runtime.tensor(np.ones((2, 1, 3, 3), "float32"))
    for shape in [(0, 2, 4, 4), (1, 2, 0, 4), (1, 2, 4, 0)]:
        run(tvm.runtime.empty(shape), weights, tvm.runtime.empty(shape))


@pytest.mark.parametrize("target", [SPR, HASWELL])
def test_means_the_same(target: Target) -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    func = depthwise((n, 2, h, w), 3, 2, 1)
    rows, columns = func.buffer_map[func.params[-1]].shape[2:]
    for height, width in [(3, 5), (5, 39)]:
        sizes = {"n": 1, "h": height, "w": width, str(rows): -(-height // 2),
                 str(columns): -(-width // 2)}  # fmt: skip
        scheduled(Fallback(), func, target, sizes=sizes)


def test_nothing_is_looked_at_within_sums_of_whole_vectors() -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    after = scheduled(
        Fallback(), depthwise((n, 2, h, w), 3, 1, 1), HASWELL, sizes={"n": 1, "h": 4, "w": 18}
    )
    taps = [f for f in walk(after.body) if isinstance(f, For) and f.kind is ForKind.UNROLLED]
    copied = [
        f for f in taps
        if any(isinstance(b, BufferLoad) and b.buffer.name == "copy" for b in walk(f))
    ]  # fmt: skip
    assert copied
    for loop in copied:
        names = [getattr(getattr(node, "op", None), "name", "") for node in walk(loop)]
        assert "tir.if_then_else" not in names
        assert not any(isinstance(node, IfThenElse) for node in walk(loop))


def test_sums_of_few_rows_do_not_wait_for_one_another() -> None:
    """Tiles of 4, 2 and 1 rows have 2, 3 and 3 sums for each; maxima are not taken apart."""
    n, h, w = (te.size_var(name) for name in "nhw")
    funcs = depthwise((n, 2, h, w), 3, 1, 1), pool((n, 2, h, w), "max", 3, 1, 1)
    for func, most in zip(funcs, (8, 7)):
        with SPR:
            after = tvm.dlight.ApplyDefaultSchedule(Fallback())(tvm.IRModule({"main": func}))
        made = [buffer for node in walk(after["main"].body) if isinstance(node, Block)
                for buffer in node.alloc_buffers if buffer.name == "sums"]  # fmt: skip
        assert [int(size) for buffer in made for size in buffer.shape] == [most, 16]


@pytest.mark.parametrize(("h", "w"), [(1, 16), (2, 17), long(7, 31), long(9, 40), (15, 3)])
def test_rows_with_a_border_are_read_in_place_where_a_window_fits_registers(h: int, w: int) -> None:
    n, height, width = (te.size_var(name) for name in "nhw")
    for kernel, pad in ((3, 1), (3, 0), (2, 1)):
        func = depthwise((n, 2, height, width), kernel, 1, pad)
        if min(h, w) + 2 * pad < kernel:
            continue
        sizes = {"n": 2, "h": h, "w": w}
        moved = {str(v): int(s) + 2 * pad - kernel + 1
                 for v, s in zip(func.buffer_map[func.params[-1]].shape[2:], (h, w))}  # fmt: skip
        after = scheduled(Fallback(), func, SPR, sizes={**sizes, **moved, **sizes})
        assert "copy[" not in after.script()
    after = scheduled(Fallback(), depthwise((n, 2, height, width), 5, 1, 2), SPR,
                      sizes={"n": 1, "h": h, "w": w})  # fmt: skip
    assert "copy[" in after.script()  # 25 factors do not fit


@pytest.mark.parametrize(("pad", "tested"), [(1, 2), (2, 4)])
def test_rows_in_the_middle_of_a_tile_are_not_tested(pad: int, tested: int) -> None:
    """A border has `pad` rows above and below; those alone may be no rows of the plane."""
    n, h, w = (te.size_var(name) for name in "nhw")
    func = depthwise((n, 2, h, w), 3, 1, pad)
    with SPR:
        after = tvm.dlight.ApplyDefaultSchedule(Fallback())(tvm.IRModule({"main": func}))
    choices = [node for node in walk(after["main"].body) if isinstance(node, IfThenElse)
               and node.else_case is not None and _fills_a_row(node.then_case)
               and _fills_a_row(node.else_case)]  # fmt: skip
    tiles = [node for node in walk(after["main"].body) if isinstance(node, For)
             and node.kind is ForKind.UNROLLED and _fills_a_row(node)]  # fmt: skip
    shapes = 2 * 4  # rows shorter than a vector, and others, in tiles of 7, 4, 2 and 1
    assert len(choices) <= tested * shapes
    assert len(tiles) == (9 + 6 + 4 + 3) * 2 + len(choices)


def _fills_a_row(stmt: tir.Stmt | None) -> bool:
    """Whether a statement is a loop over the columns of a window, of a row that is read."""
    stores = [node for node in walk(stmt) if isinstance(node, BufferStore)] if stmt else []
    return isinstance(stmt, For) and {store.buffer.name for store in stores} == {"row"}


def test_other_blocks_stay() -> None:
    """Weights that move along the rows of a tile, as those of channels in one dimension do."""
    n, h = te.size_var("n"), te.size_var("h")
    x, w = te.placeholder((n, 3, h), name="X"), te.placeholder((3, 5), name="W")
    k = te.reduce_axis((0, 5), name="k")
    y = te.compute(
        (n, 3, h - 4), lambda b, c, i: te.sum(x[b, c, i + k] * w[c, k], axis=k), name="Y"
    )
    mod = tvm.IRModule({"main": te.create_prim_func([x, w, y])})
    with SPR:
        after = tvm.dlight.ApplyDefaultSchedule(Fallback())(mod)
    assert REASON not in str(after["main"].attrs["schedule_reason"])
