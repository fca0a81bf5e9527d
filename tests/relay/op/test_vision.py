"""Detections against plain loops over numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.run import value_of
from tvm import relay

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(11)


def bilinear(image: Any, y: float, x: float) -> Any:
    """Values of all channels of (c, h, w) between the grid points."""
    _, height, width = image.shape
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros(image.shape[0])
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    fy, fx = y - y0, x - x0
    top = (1 - fx) * image[:, y0, x0] + fx * image[:, y0, x1]
    return (1 - fy) * top + fy * ((1 - fx) * image[:, y1, x0] + fx * image[:, y1, x1])


def aligned(data: Any, rois: Any, size: Any, scale: float, ratio: int, mode: str) -> Any:
    out = np.zeros((len(rois), data.shape[1], *size), "float32")
    for r, (image, *corners) in enumerate(rois):
        left, top, right, bottom = (c * scale for c in corners)
        tall, wide = max(bottom - top, 1.0), max(right - left, 1.0)
        for i, j in np.ndindex(*size):
            down = ratio if ratio > 0 else int(np.ceil(tall / size[0]))
            across = ratio if ratio > 0 else int(np.ceil(wide / size[1]))
            found = [
                bilinear(data[int(image)], top + (i + (v + 0.5) / down) * tall / size[0],
                         left + (j + (u + 0.5) / across) * wide / size[1])
                for v in range(down) for u in range(across)
            ]  # fmt: skip
            out[r, :, i, j] = np.mean(found, 0) if mode == "avg" else np.max(found, 0)
    return out


@pytest.mark.covering(2)
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [2, -1])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_samples_of_regions(mode: str, ratio: int, layout: str) -> None:
    data = RNG.uniform(0, 1, (2, 3, 8, 8)).astype("float32")
    rois = np.array([[0, 1, 2, 9, 12], [1, -3, 0, 30, 6.5], [1, 4, 4, 4, 4]], "float32")
    wanted = aligned(data, rois, (2, 3), 0.5, ratio, mode)
    given = data if layout == "NCHW" else np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    found, kind = value_of(
        lambda x, r: relay.vision.roi_align(
            x, r, (2, 3), 0.5, sample_ratio=ratio, layout=layout, mode=mode
        ),
        [given, rois],
    )
    wanted = wanted if layout == "NCHW" else wanted.transpose(0, 2, 3, 1)
    assert kind == relay.TensorType(wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def pooled(data: Any, rois: Any, size: Any, scale: float) -> Any:
    _, channels, height, width = data.shape
    out = np.zeros((len(rois), channels, *size), "float32")
    for r, (image, *corners) in enumerate(rois):
        left, top, right, bottom = (int(np.round(c * scale)) for c in corners)
        step = max(bottom - top + 1, 1) / size[0], max(right - left + 1, 1) / size[1]
        for i, j in np.ndindex(*size):
            rows = [min(max(int(f(k * step[0])) + top, 0), height)
                    for f, k in ((np.floor, i), (np.ceil, i + 1))]  # fmt: skip
            columns = [min(max(int(f(k * step[1])) + left, 0), width)
                       for f, k in ((np.floor, j), (np.ceil, j + 1))]  # fmt: skip
            cell = data[int(image), :, slice(*rows), slice(*columns)]
            if cell.size:
                out[r, :, i, j] = cell.max((1, 2))
    return out


def test_windows_of_regions() -> None:
    data = RNG.uniform(-1, 1, (1, 2, 8, 8)).astype("float32")
    rois = np.array([[0, 1, 2, 9, 12], [0, 0, 0, 3, 3], [0, 20, 20, 25, 25]], "float32")
    found, _ = value_of(lambda x, r: relay.vision.roi_pool(x, r, (2, 2), 0.5), [data, rois])
    np.testing.assert_allclose(found, pooled(data, rois, (2, 2), 0.5))
    last, _ = value_of(lambda x, r: relay.vision.roi_pool(x, r, (2, 2), 0.5, layout="NHWC"),
                       [np.ascontiguousarray(data.transpose(0, 2, 3, 1)), rois])  # fmt: skip
    np.testing.assert_array_equal(last, found.transpose(0, 2, 3, 1))
    with pytest.raises(ValueError, match="legal: 'NCHW'"):
        relay.vision.roi_pool(relay.var("x"), relay.var("r"), (2, 2), 0.5, layout="HWNC")


def overlap(a: Any, b: Any) -> float:
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = float(np.prod(np.maximum(high - low, 0)))
    return shared / float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared)


def suppressed(boxes: Any, count: int, limit: float, force: bool, most: int, top_k: int) -> Any:
    """The places of the boxes that stay, by falling score."""
    order = np.argsort(-boxes[:count, 1], kind="stable")[: top_k if top_k > 0 else count]
    kept: list[int] = []
    for at in order:
        if 0 <= most <= len(kept):
            break
        same = [k for k in kept if force or boxes[k, 0] == boxes[at, 0]]
        if all(overlap(boxes[k, 2:], boxes[at, 2:]) < limit for k in same):
            kept.append(int(at))
    return kept


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize(("most", "top_k"), [(-1, -1), (2, -1), (-1, 5)])
def test_boxes_that_overlap_no_better_one(force: bool, most: int, top_k: int) -> None:
    corners = RNG.uniform(0, 4, (9, 2))
    scores = RNG.permutation(np.linspace(0.1, 0.9, 9))
    boxes = np.column_stack(
        [RNG.integers(0, 2, 9), scores, corners, corners + RNG.uniform(2, 4, (9, 2))]
    ).astype("float32")[None]
    places = np.arange(9, dtype="int32")[None] + 100
    options = {"max_output_size": most, "iou_threshold": 0.3, "force_suppress": force,
               "top_k": top_k}  # fmt: skip
    inputs = [boxes, np.array([8], "int32"), places]
    (chosen, count), _ = value_of(
        lambda *xs: relay.vision.non_max_suppression(*xs, **options).astuple(), inputs
    )
    wanted = suppressed(boxes[0], 8, 0.3, force, most, top_k)
    assert count.tolist() == [[len(wanted)]]
    assert chosen[0, : len(wanted)].tolist() == [100 + at for at in wanted]
    assert (chosen[0, len(wanted) :] == -1).all()
    found, kind = value_of(
        lambda *xs: relay.vision.non_max_suppression(
            *xs, **options, return_indices=False, invalid_to_bottom=True
        ),
        inputs,
    )
    assert kind == relay.TensorType(boxes.shape)
    np.testing.assert_allclose(found[0, : len(wanted)], boxes[0, wanted])


def test_each_class_on_its_own() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], "float32")
    scores = np.array([[[0.9, 0.8, 0.7], [0.1, 0.6, 0.2]]], "float32")
    (found, count), _ = value_of(
        lambda b, s: relay.vision.all_class_non_max_suppression(b, s, 2, 0.5, 0.15).astuple(),
        [boxes, scores],
    )
    assert found[: int(count[0])].tolist() == [[0, 0, 0], [0, 0, 2], [0, 1, 1], [0, 1, 2]]


def test_boxes_around_points() -> None:
    data = np.zeros((1, 3, 2, 4), "float32")
    found, kind = value_of(
        lambda x: relay.vision.multibox_prior(x, sizes=(0.4, 0.2), ratios=(1, 2), clip=True),
        [data],
    )
    assert kind == relay.TensorType((1, 2 * 4 * 3, 4))
    wanted = []
    for i, j in np.ndindex(2, 4):
        y, x = (i + 0.5) / 2, (j + 0.5) / 4
        for size, ratio in ((0.4, 1), (0.2, 1), (0.4, 2)):
            wide, tall = size * 2 / 4 * np.sqrt(ratio) / 2, size / np.sqrt(ratio) / 2
            wanted.append([x - wide, y - tall, x + wide, y + tall])
    np.testing.assert_allclose(found[0], np.clip(wanted, 0, 1), rtol=1e-5, atol=1e-6)


def test_boxes_where_a_network_moved_them() -> None:
    prob = np.array([[[0.2, 0.5, 0.3], [0.25, 0.3, 0.005], [0.55, 0.2, 0.004]]], "float32")
    moved = RNG.uniform(-1, 1, (1, 12)).astype("float32")
    anchors = np.array([[[-0.1, -0.1, 0.1, 0.1], [-0.2, -0.2, 0.2, 0.2], [1.2, 1.2, 1.5, 1.5]]])
    (boxes, count), _ = value_of(
        lambda *xs: relay.vision.multibox_transform_loc(*xs).astuple(),
        [prob, moved, anchors.astype("float32")],
    )
    assert count.tolist() == [2], "the third box has no class above the threshold"
    np.testing.assert_allclose(boxes[0, :2, :2], [[1, 0.55], [0, 0.3]], rtol=1e-6)
    for box, anchor, shift in zip(boxes[0], anchors[0], moved.reshape(-1, 4)[:2]):
        size, middle = anchor[2:] - anchor[:2], (anchor[2:] + anchor[:2]) / 2
        at, half = middle + shift[:2] * 0.1 * size, np.exp(shift[2:] * 0.2) * size / 2
        wanted = np.clip([*(at - half), *(at + half)], 0, 1)
        np.testing.assert_allclose(box[2:], wanted, rtol=1e-4, atol=1e-5)
    assert (boxes[0, 2] == -1).all()


def test_pixels_as_channels() -> None:
    data = np.arange(2 * 4 * 4 * 6, dtype="float32").reshape(2, 4, 4, 6)
    found, kind = value_of(lambda x: relay.vision.yolo_reorg(x, 2), [data])
    assert kind == relay.TensorType((2, 16, 2, 3))
    flat = []
    for b, k, j, i in np.ndindex(2, 4, 4, 6):
        offset = k // 1
        column, row = i * 2 + offset % 2, j * 2 + offset // 2
        flat.append(data.reshape(-1)[column + 12 * (row + 8 * (0 + b))])
    np.testing.assert_array_equal(found, np.reshape(flat, (2, 16, 2, 3)))


def test_a_threshold_may_be_a_value() -> None:
    boxes = RNG.random((2, 5, 6)).astype("float32")
    fixed, _ = value_of(lambda x: relay.vision.get_valid_counts(x, 0.4, 0, 1).astuple(), [boxes])
    given, _ = value_of(
        lambda x, t: relay.vision.get_valid_counts(x, t, 0, 1).astuple(),
        [boxes, np.array(0.4, "float32")],
    )
    assert given[0].tolist() == (boxes[..., 1] > np.float32(0.4)).sum(1).tolist()
    for have, want in zip(given, fixed):
        np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("form", ["onnx", "tensorflow"])
def test_boxes_by_class_of_open_extents(form: str) -> None:
    boxes, scores = (RNG.random(s).astype("float32") for s in ((1, 6, 4), (1, 2, 6)))

    def run(count: Any) -> Any:
        b, s = relay.var("b", shape=(1, count, 4)), relay.var("s", shape=(1, 2, count))
        out = relay.vision.all_class_non_max_suppression(b, s, 3, 0.5, 0.2, form).astuple()
        mod = tvm.IRModule.from_expr(relay.Function([b, s], out))
        return relay.create_executor("vm", mod=mod, target="llvm").evaluate()(boxes, scores)

    for have, want in zip(run(relay.Any()), run(6), strict=True):
        np.testing.assert_array_equal(have.numpy(), want.numpy())


def test_boxes_that_overlap_a_better_one_are_gone_whole() -> None:
    rows = [[0, 0.9, 1, 1, 5, 5], [0, 0.8, 1, 1, 5, 6], [1, 0.7, 5, 5, 9, 9]]
    boxes = np.array([rows], "float32")

    def kept(threshold: float, top_k: int) -> list[list[float]]:
        data = relay.var("data", shape=(1, 3, 6))
        body = relay.vision.non_max_suppression(
            data, relay.const([3]), relay.const([[0, 1, 2]]), iou_threshold=threshold,
            top_k=top_k, return_indices=False,
        )  # fmt: skip
        mod = tvm.IRModule.from_expr(relay.Function([data], body))
        run = relay.create_executor("graph", mod, tvm.cpu(), "llvm").evaluate()
        found: list[list[float]] = run(boxes).numpy()[0].tolist()
        return found

    first, second, third = boxes[0].tolist()
    gone = [-1.0] * 6
    assert kept(0.5, -1) == [first, gone, third]
    assert kept(0.5, 2) == [first, gone, gone]
    assert kept(0.0, 2) == [first, second, third]  # without a limit nothing is left out


def test_resizing_rounds_halves_up() -> None:
    data = relay.const(np.arange(4, dtype="float32").reshape(1, 1, 4))
    body = relay.image.resize1d(data, (7,), None, "NCW", "nearest_neighbor", "align_corners")
    mod = tvm.IRModule.from_expr(relay.Function([], body))
    run = relay.create_executor("graph", mod, tvm.cpu(), "llvm").evaluate()
    assert run().numpy().reshape(-1).tolist() == [0, 1, 1, 2, 2, 3, 3]
