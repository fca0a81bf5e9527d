"""Boxes of a single-shot detector against plain loops over numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, rng
from tests.topi.vision.test_proposal import union
from tvm import topi

pytestmark = pytest.mark.pure


def test_boxes_of_a_single_shot_detector() -> None:
    random = rng(8)
    prob = random.random((1, 3, 4)).astype("float32")
    moves = random.normal(0, 0.2, (1, 16)).astype("float32")
    corner = random.random((1, 4, 2)) * 0.5
    anchors = np.concatenate([corner, corner + 0.3], 2).astype("float32")
    moved = evaluate(topi.vision.ssd.multibox_transform_loc, prob, moves, anchors)
    rows = moved[0][0, : int(moved[1][0])]
    kept: list[Any] = []
    for row in sorted(rows, key=lambda r: -r[1]):
        if all(r[0] != row[0] or union(r[2:], row[2:], 0.0) < 0.5 for r in kept):
            kept.append(row)
    (found,) = evaluate(lambda *t: [topi.vision.ssd.multibox_detection(*t)], prob, moves, anchors)
    close(found[0][found[0][:, 0] >= 0], np.array(kept))
