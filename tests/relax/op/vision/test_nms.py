"""Boxes that overlap too much are left out."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import tir
from tvm.error import TVMError
from tvm.ir import Op
from tvm.relax import op
from tvm.relax.op.vision.nms import overlap

pytestmark = pytest.mark.pure

B = tir.Var("b", "int64")
LIMITS = (var(dtype="int64"), var(), var())


def test_struct_info() -> None:
    call = op.vision.all_class_non_max_suppression(var(B, 6, 4), var(B, 2, 6), *LIMITS)
    selected, count = info(call).fields
    assert tir.interp.evaluate(shape_of(selected)[0], {B: 3}) == 36
    assert shape_of(count) == (1,)
    other = op.vision.all_class_non_max_suppression(
        var(B, 6, 4), var(B, 2, 6), *LIMITS, output_format="tensorflow"
    )
    assert [len(shape_of(f)) for f in info(other).fields] == [3, 2, 1]


def test_refusals() -> None:
    with pytest.raises(TVMError, match="the number of boxes of boxes and scores differs"):
        info(op.vision.all_class_non_max_suppression(var(1, 6, 4), var(1, 2, 5), *LIMITS))
    with pytest.raises(ValueError, match="legal: onnx, tensorflow"):
        op.vision.all_class_non_max_suppression(var(1, 6, 4), var(1, 2, 6), *LIMITS, "coco")


def test_overlap() -> None:
    a, b = np.float32([0, 0, 2, 2]), np.float32([1, 1, 3, 3])
    assert overlap(a, b) == pytest.approx(1 / 7)
    assert overlap(a, b[[2, 3, 0, 1]]) == pytest.approx(1 / 7)
    assert overlap(a, a + 5) == 0


def test_meaning() -> None:
    boxes = np.float32([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [5, 5, 6, 6]]])
    scores = np.float32([[[0.9, 0.8, 0.3]]])
    limits = [np.int64(10), np.float32(0.5), np.float32(0.1)]

    def run(output_format: str) -> object:
        call = op.vision.all_class_non_max_suppression(
            var(1, 3, 4), var(1, 1, 3), *LIMITS, output_format
        )
        name = "relax.vision.all_class_non_max_suppression"
        return Op.get(name).get_attr("FReference")(call, [boxes, scores, *limits])

    selected, count = run("onnx")
    assert count.tolist() == [2]
    assert selected[:2].tolist() == [[0, 0, 0], [0, 0, 2]]
    indices, best, counts = run("tensorflow")
    assert counts.tolist() == [2]
    assert indices[0, :2].tolist() == [[0, 0], [0, 2]]
    assert best[0, 0] == np.float32(0.9)
