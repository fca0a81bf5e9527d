"""Windows that start in the data, and where the largest element of each is."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tvm import relax, tir
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.pools import max_pool_indices, within_data
from tvm.relax.interp import Interpreter


def _module(make: Any) -> Any:
    bb = BlockBuilder()
    n, h, w = (tir.Var(name, "int64") for name in "nhw")
    x = relax.Var("x", relax.TensorStructInfo((n, 2, h, w), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(make(bb, x)))
    return bb.get()


def _starts(size: int, kernel: int, stride: int, before: int, after: int) -> list[int]:
    """The first places of windows, as far as they reach the padded data, and begin before its end.

    A window that is not whole counts when there is something behind the last whole one.
    """
    room = size + before + after - kernel
    last = -(-room // stride)
    return [i * stride - before for i in range(last + 1) if i * stride - before < size]


@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("stride", [2, 3])
def test_windows_start_in_the_data(kernel: int, stride: int) -> None:
    before, after = 0, kernel // 2
    pads, ones = [before, before, after, after], [1, 1]

    def make(bb: BlockBuilder, x: Any) -> Any:
        size = [kernel] * 2
        made = op.nn.max_pool2d(x, size, [stride] * 2, pads, ceil_mode=True)
        return within_data(bb, made, x.struct_info.shape.values[2:], size, [stride] * 2, pads, ones)

    main = Interpreter(_module(make))
    for h, w in ((3, 4), (5, 6), (7, 8)):
        x = np.arange(2 * h * w, dtype="float32").reshape(1, 2, h, w)
        rows, columns = (_starts(s, kernel, stride, before, after) for s in (h, w))
        wanted = [x[0, 0, i : i + kernel, j : j + kernel].max() for i in rows for j in columns]
        found = main.run("main", x)
        np.testing.assert_array_equal(found[0, 0].reshape(-1), wanted)


def test_windows_that_cannot_start_behind_are_left_alone() -> None:
    bb = BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, 2, 8, 9), "float32"))
    with bb.function("main", [x]):
        pool = op.nn.max_pool2d(x, [3, 3], [2, 2], [1, 1], ceil_mode=True)
        same = within_data(bb, pool, [8, 9], [3, 3], [2, 2], [1, 1, 1, 1], [1, 1])
        assert isinstance(same, relax.Call)
        assert same.op is pool.op
        bb.emit_func_output(bb.emit(same))


@pytest.mark.parametrize("of_plane", [True, False])
@pytest.mark.parametrize("by_column", [True, False])
def test_places_are_those_of_the_first_largest(of_plane: bool, by_column: bool) -> None:
    def make(bb: BlockBuilder, x: Any) -> Any:
        n, c, h, w = x.struct_info.shape.values
        out = [n, c, h // 2, w - 1]
        return max_pool_indices(bb, x, out, [2, 2], [2, 1], [0, 0], [1, 1], of_plane=of_plane,
                                 by_column=by_column)  # fmt: skip

    main = Interpreter(_module(make))
    x = np.random.default_rng(0).integers(0, 3, (2, 2, 4, 5)).astype("float32")
    found = main.run("main", x)
    for n, c, i, j in itertools.product(range(2), range(2), range(2), range(4)):
        window = x[n, c, 2 * i : 2 * i + 2, j : j + 2]
        row, column = np.unravel_index(window.argmax(), window.shape)
        row, column = 2 * i + int(row), j + int(column)
        place = column * 4 + row if by_column else row * 5 + column
        assert found[n, c, i, j] == place + (0 if of_plane else (n * 2 + c) * 20)
