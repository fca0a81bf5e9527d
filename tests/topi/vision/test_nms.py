from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from tests.topi.image.onnx_reference import run
from tests.topi.numerics import close, evaluate, rng
from tvm import te, topi

pytestmark = pytest.mark.pure


def boxes_and_scores(batch: int = 2, classes: int = 3, count: int = 12) -> tuple[Any, Any]:
    corner, size = rng().random((batch, count, 2)), rng(1).random((batch, count, 2)) * 0.5
    boxes = np.concatenate([corner, corner + size], 2).astype("float32")
    return boxes, rng(2).random((batch, classes, count)).astype("float32")


def reference(boxes: Any, scores: Any, most: int, iou: float, score: float) -> Any:
    limits = [np.array([most], "int64"), np.array([iou], "float32"), np.array([score], "float32")]
    return run("NonMaxSuppression", [boxes, scores, *limits], 11, TensorProto.INT64)


@pytest.mark.parametrize(("most", "iou", "score"), [(12, 0.5, 0.0), (3, 0.2, 0.4), (2, 0.9, 0.8)])
def test_as_onnx_runtime(most: int, iou: float, score: float) -> None:
    boxes, scores = boxes_and_scores()
    wanted = reference(boxes, scores, most, iou, score)
    op = lambda b, s: topi.vision.all_class_non_max_suppression(b, s, most, iou, score)
    indices, total = evaluate(op, boxes, scores)
    assert total == [len(wanted)]
    np.testing.assert_array_equal(indices[: len(wanted)], wanted)
    assert not indices[len(wanted) :].any()


@pytest.mark.parametrize("most", [4, 2**31, 2**63 - 1])
def test_limits_in_tensors(most: int) -> None:
    """Exporters of torch write the largest integer where all boxes are wanted."""
    boxes, scores = boxes_and_scores(1)
    limits = (np.array([most], "int64"), np.array([0.3], "float32"), np.array([0.2], "float32"))
    wanted = reference(boxes, scores, most, 0.3, 0.2)
    indices, total = evaluate(topi.vision.all_class_non_max_suppression, boxes, scores, *limits)
    np.testing.assert_array_equal(indices[: int(total[0])], wanted)


def test_for_each_image() -> None:
    boxes, scores = boxes_and_scores()
    wanted = reference(boxes, scores, 3, 0.4, 0.1)
    op = lambda b, s: topi.vision.all_class_non_max_suppression(b, s, 3, 0.4, 0.1, "tensorflow")
    indices, kept, totals = evaluate(op, boxes, scores)
    for image in range(2):
        own = wanted[wanted[:, 0] == image]
        assert totals[image] == len(own)
        np.testing.assert_array_equal(indices[image, : len(own)], own[:, 1:])
        close(kept[image, : len(own)], scores[image, own[:, 1], own[:, 2]])


def test_valid_counts() -> None:
    data = rng().random((2, 6, 5)).astype("float32")
    data[..., 0] = [[0, 1, -1, 2, 0, 1]] * 2
    counts, boxes, places = evaluate(lambda d: topi.vision.get_valid_counts(d, 0.4), data)
    for image in range(2):
        good = np.flatnonzero((data[image, :, 1] > 0.4) & (data[image, :, 0] >= 0))
        assert counts[image] == len(good)
        np.testing.assert_array_equal(places[image, : len(good)], good)
        close(boxes[image, : len(good)], data[image, good])
        assert (boxes[image, len(good) :] == -1).all()


def test_refuses() -> None:
    with pytest.raises(ValueError, match=r"output_format 'coco'"):
        topi.vision.all_class_non_max_suppression(
            te.placeholder((1, 2, 4)), te.placeholder((1, 1, 2)), 1, 0.5, 0.0, "coco"
        )
