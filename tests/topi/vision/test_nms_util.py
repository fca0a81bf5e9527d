from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.tir import interp
from tvm.topi.vision.nms_util import calculate_overlap

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ([0, 0, 2, 2], [0, 0, 2, 2], 1.0),
        ([0, 0, 2, 2], [1, 1, 3, 3], 1 / 7),
        ([0, 0, 1, 1], [2, 2, 3, 3], 0.0),
        ([2, 2, 0, 0], [1, 1, 3, 3], 1 / 7),
        ([0, 0, 0, 0], [0, 0, 0, 0], 0.0),
    ],
)
def test_overlap(a: list[int], b: list[int], wanted: float) -> None:
    boxes, out = tir.decl_buffer((8,), name="boxes"), tir.decl_buffer((1,), name="out")
    value = calculate_overlap(boxes, tir.const(0), tir.const(4))
    result = np.zeros(1, "float32")
    func = tir.PrimFunc([boxes, out], tir.BufferStore(out, value, [0]))
    interp.run(func, np.array([*a, *b], "float32"), result)
    assert result[0] == pytest.approx(wanted)
