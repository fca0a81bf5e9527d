"""The example that reads text: its numpy parts, and (with the networks) the whole."""

from __future__ import annotations

import numpy as np
import pytest

from examples.ocr.boxes import convex_hull, grown, regions, smallest_rectangle, text_boxes
from examples.ocr.pictures import cut_out, resized, with_boxes
from examples.ocr.reader import as_batch, decoded


@pytest.mark.pure
def test_regions_join_over_corners() -> None:
    mask = np.array([[1, 1, 0, 0, 1], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1]], bool)
    found = sorted(len(rows) for rows, _ in regions(mask))
    assert found == [1, 1, 2, 3]
    u = np.array([[1, 0, 1], [1, 0, 1], [1, 1, 1]], bool)
    assert [len(rows) for rows, _ in regions(u)] == [7]


@pytest.mark.pure
def test_the_rectangle_is_turned() -> None:
    angle = 0.3
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    corners = np.array([[0, 0], [40, 0], [40, 10], [0, 10.0]]) @ turn + 50
    inside = corners.mean(0) + (corners - corners.mean(0)) * 0.3
    box = smallest_rectangle(np.concatenate([corners, inside]))
    np.testing.assert_allclose(box, corners, atol=1e-9)
    wide = grown(box)
    assert np.hypot(*(wide[1] - wide[0])) > 40
    assert len(convex_hull(np.concatenate([corners, inside]))) == 4


@pytest.mark.pure
def test_boxes_of_a_map() -> None:
    scores = np.zeros((60, 100), np.float32)
    scores[10:20, 5:60] = 0.9
    scores[40:50, 30:90] = 0.8
    scores[55, 3] = 0.9
    boxes = text_boxes(scores)
    assert len(boxes) == 2
    assert boxes[0][:, 1].max() < boxes[1][:, 1].min()


@pytest.mark.pure
def test_pieces_are_cut_out_and_turned() -> None:
    picture = np.zeros((40, 60, 3), np.uint8)
    picture[10:20, 20:50] = 200
    box = np.array([[20, 10], [50, 10], [50, 20], [20, 20.0]])
    piece = cut_out(picture, box)
    assert piece.shape == (10, 30, 3)
    assert (piece == 200).all()
    tall = np.array([[20, 10], [25, 10], [25, 20], [20, 20.0]])
    assert cut_out(picture, tall).shape == (5, 10, 3)
    assert resized(picture, 20, 30).shape == (20, 30, 3)
    assert with_boxes(picture, [box])[10, 30].tolist() == [220, 30, 30]
    assert as_batch([piece], 40).shape == (1, 3, 10, 40)


@pytest.mark.pure
def test_columns_become_text() -> None:
    best = [0, 1, 1, 0, 1, 2, 2, 0]
    chances = np.eye(3, dtype=np.float32)[best]
    assert decoded(chances, ["", "a", "b"]) == ("aab", 1.0)
    assert decoded(chances[:1], ["", "a", "b"]) == ("", 0.0)


@pytest.mark.cpu
@pytest.mark.long
def test_both_engines_read_the_same() -> None:
    pytest.importorskip("rapidocr_onnxruntime", reason="the networks are an extra of their own")
    from PIL import Image, ImageDraw, ImageFont

    from examples.ocr.reader import Reader

    page = Image.new("RGB", (480, 200), "white")
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(32)
    draw.text((30, 30), "Any size, full speed", "black", font)
    draw.text((60, 120), "Hello2026", "navy", font)
    picture = np.asarray(page)
    ours, theirs = Reader("tvm").read(picture), Reader("onnxruntime").read(picture)
    assert [line.text for line in ours] == [line.text for line in theirs]
    assert [line.text for line in ours] == ["Any size, full speed", "Hello2026"]
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.box, b.box, atol=1)
        assert abs(a.score - b.score) < 1e-3
