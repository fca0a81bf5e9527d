"""Proposed regions against plain loops over numpy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.relay.run import value_of
from tests.topi.numerics import evaluate, rng
from tvm import relay, te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure
SCALES, RATIOS, STRIDE = (2.0, 3.0), (0.5, 1.0), 16


def union(a: Any, b: Any, more: float) -> float:
    across = max(0.0, min(a[2], b[2]) - max(a[0], b[0]) + more)
    down = max(0.0, min(a[3], b[3]) - max(a[1], b[1]) + more)
    area = [(c[2] - c[0] + more) * (c[3] - c[1] + more) for c in (a, b)]
    return float(across * down / (sum(area) - across * down))


def anchor(ratio: float, scale: float) -> list[float]:
    columns = math.floor(math.sqrt(math.floor(STRIDE * STRIDE / ratio)) + 0.5)
    size = columns * scale, math.floor(columns * ratio + 0.5) * scale
    middle = (STRIDE - 1) / 2
    return [middle + sign * (s - 1) / 2 for sign in (-1, 1) for s in size]


def proposed(
    prob: Any, moves: Any, info: Any, limit: float, before: int, after: int, least: int, iou: bool
) -> Any:  # fmt: skip
    out = []
    anchors = [anchor(r, s) for r in RATIOS for s in SCALES]
    for b, (high, wide, scale) in enumerate(info):
        found = []
        for y, x, k in np.ndindex(*prob.shape[2:], len(anchors)):
            box = [c + STRIDE * at for c, at in zip(anchors[k], (x, y, x, y))]
            d = moves[b, 4 * k : 4 * k + 4, y, x]
            if iou:
                box = [c + m for c, m in zip(box, d)]
            else:
                sizes = [box[a + 2] - box[a] + 1 for a in (0, 1)]
                middles = [box[a] + (sizes[a] - 1) / 2 + d[a] * sizes[a] for a in (0, 1)]
                halves = [(np.exp(d[a + 2]) * sizes[a] - 1) / 2 for a in (0, 1)]
                box = [m + sign * h for sign in (-1, 1) for m, h in zip(middles, halves)]
            box = [min(max(c, 0.0), e - 1) for c, e in zip(box, (wide, high, wide, high))]
            score = prob[b, len(anchors) + k, y, x]
            size = least * scale
            if min(box[2] - box[0], box[3] - box[1]) + 1 < size:
                box, score = [c + s * size / 2 for c, s in zip(box, (-1, -1, 1, 1))], -1
            if y >= int(high / STRIDE) or x >= int(wide / STRIDE):
                score = -1
            found.append((score, box))
        kept: list[Any] = []
        for _, box in sorted(found, key=lambda f: -f[0])[:before]:
            if all(union(box, other, 1.0) <= limit for other in kept):
                kept.append(box)
        out += [[b, *kept[k % len(kept[:after])]] for k in range(after)]
    return np.array(out, "float32")


@pytest.mark.covering(1)
@pytest.mark.parametrize("iou", [False, True])
@pytest.mark.parametrize(("before", "after", "least"), [(30, 4, 16), (10, 20, 40), (1000, 8, 1)])
def test_proposals(iou: bool, before: int, after: int, least: int) -> None:
    random = rng(3)
    prob = random.permutation(2 * 8 * 4 * 5).reshape(2, 8, 4, 5).astype("float32") / 320
    moves = random.normal(0, 0.3, (2, 16, 4, 5)).astype("float32")
    info = np.array([[64, 80, 1], [50, 60, 1.5]], "float32")
    options = (SCALES, RATIOS, STRIDE, 0.6, before, after, least, iou)
    wanted = proposed(prob, moves, info, 0.6, before, after, least, iou)
    found = evaluate(lambda *t: topi.vision.rcnn.proposal(*t, *options), prob, moves, info)
    np.testing.assert_allclose(np.squeeze(found), wanted, rtol=1e-4, atol=1e-3)
    again, kind = value_of(lambda *t: relay.vision.proposal(*t, *options), [prob, moves, info])
    assert kind == relay.TensorType((2 * after, 5))
    np.testing.assert_allclose(again, wanted, rtol=1e-4, atol=1e-3)


def test_proposals_of_other_channels_are_refused() -> None:
    tensors = [te.placeholder(s) for s in ((1, 6, 4, 4), (1, 16, 4, 4), (1, 3))]
    with pytest.raises(ShapeError, match="channels of cls_prob"):
        topi.vision.proposal(*tensors, SCALES, RATIOS, STRIDE, 0.6, 10, 10, 1, False)
