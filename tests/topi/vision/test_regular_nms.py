"""Detections class by class against plain loops over numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relay.run import value_of
from tests.topi.numerics import close, evaluate, rng
from tests.topi.vision.test_proposal import union
from tvm import relay, topi

pytestmark = pytest.mark.pure


def best_by_class(boxes: Any, scores: Any, each: int, most: int, classes: int, iou: float,
                  least: float) -> Any:  # fmt: skip
    out = [np.zeros((len(boxes), most, 4)), np.zeros((len(boxes), most)),
           np.zeros((len(boxes), most)), np.zeros(len(boxes))]  # fmt: skip
    for b in range(len(boxes)):
        found = []
        for c in range(classes):
            values = scores[b, :, scores.shape[2] - classes + c]
            kept: list[int] = []
            for i in np.argsort(-values, kind="stable"):
                clear = all(union(boxes[b, i], boxes[b, k], 0.0) <= iou for k in kept)
                if values[i] >= least and clear and len(kept) < each:
                    kept.append(i)
            found += [(-values[i], c, i) for i in kept]
        for at, (score, c, i) in enumerate(sorted(found, key=lambda f: f[0])[:most]):
            out[0][b, at], out[1][b, at], out[2][b, at] = boxes[b, i], c, -score
            out[3][b] += 1
    return out


@pytest.mark.parametrize(("background", "each", "most", "least"),
                         [(0, 3, 5, 0.2), (1, 2, 20, 0.5), (1, 9, 4, 2.0)])  # fmt: skip
def test_detections_by_class(background: int, each: int, most: int, least: float) -> None:
    random = rng(5)
    corner, size = random.random((2, 9, 2)), random.random((2, 9, 2)) * 0.6
    boxes = np.concatenate([corner, corner + size], 2).astype("float32")
    scores = random.random((2, 9, 3 + background)).astype("float32")
    wanted = best_by_class(boxes, scores, each, most, 3, 0.3, least)
    options = (each, most, 3, 0.3, least)
    op = lambda *t: topi.vision.regular_non_max_suppression(*t, *options)
    for have, want in zip(evaluate(op, boxes, scores), wanted):
        close(have, want.astype("float32"))
    found, _ = value_of(
        lambda *t: relay.vision.regular_non_max_suppression(*t, *options).astuple(),
        [boxes, scores],
    )
    for have, want in zip(found, wanted):
        np.testing.assert_allclose(have, want, rtol=1e-6)
