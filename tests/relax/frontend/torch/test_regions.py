"""Regions of pictures, against torchvision."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
ops = pytest.importorskip("torchvision.ops")

from tvm.error import OpAttributeUnImplemented  # noqa: E402
from tvm.relax.frontend.torch import from_exported_program, relax_dynamo  # noqa: E402

from .running import assert_same, compiled, exported  # noqa: E402

ROWS = {0: torch.export.Dim.AUTO}
PICTURE = {0: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}


def _boxes(count: int, reach: float = 25.0) -> Any:
    """Corners, some of them beyond the picture or the wrong way round."""
    low = torch.rand(count, 2) * reach - 5
    return torch.cat([low, low + torch.rand(count, 2) * reach - 3], 1)


def _both_sizes(func: Any, dims: Any, first: Any, second: Any) -> None:
    run = compiled(from_exported_program(exported(func, *first, dynamic_shapes=dims)))
    for given in (first, second):
        assert_same(run(*given), func(*given))


@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(aligned: bool) -> None:
    torch._dynamo.reset()

    def func(x: Any, boxes: Any) -> Any:
        return ops.roi_align(x, boxes, (3, 2), 0.5, 2, aligned)

    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    for shape, count in (((2, 4, 9, 12), 5), ((1, 4, 14, 7), 2)):
        x = torch.randn(shape)
        corner = torch.rand(count, 2) * 6
        boxes = torch.cat([torch.zeros(count, 1), corner, corner + 1 + torch.rand(count, 2) * 9], 1)
        assert_same(fast(x, boxes), func(x, boxes))


@pytest.mark.parametrize(
    "func",
    [
        lambda x, r: ops.roi_pool(x, r, (3, 2), 0.5),
        lambda x, r: ops.ps_roi_pool(x, r, (3, 2), 0.5),
        lambda x, r: ops.ps_roi_align(x, r, (3, 2), 0.5),
        lambda x, r: ops.ps_roi_align(x, r, (3, 2), 1.0, 2),
    ],
    ids=["roi_pool", "ps_roi_pool", "ps_roi_align", "ps_roi_align of two places"],
)
def test_bins_of_regions(func: Any) -> None:
    torch.manual_seed(0)
    which = torch.randint(0, 2, (40, 1)).float()
    rois = torch.cat([which, _boxes(40)], 1)
    first, second = torch.randn(2, 12, 16, 20), torch.randn(3, 12, 7, 11)
    _both_sizes(func, (PICTURE, ROWS), (first, rois), (second, rois[:7]))


def test_places_of_what_a_bin_has_are_refused() -> None:
    def func(x: Any, rois: Any) -> Any:
        return torch.ops.torchvision.roi_pool(x, rois, 1.0, 2, 2)[1]

    program = exported(func, torch.randn(1, 2, 8, 8), torch.tensor([[0.0, 1, 1, 6, 6]]))
    with pytest.raises(OpAttributeUnImplemented, match="the places that its results come from"):
        from_exported_program(program)


@pytest.mark.parametrize("limit", [0.0, 0.3, 0.7, 1.0])
def test_boxes_that_overlap_no_better_one(limit: float) -> None:
    torch.manual_seed(1)
    low = torch.rand(60, 2) * 40
    boxes, scores = torch.cat([low, low + torch.rand(60, 2) * 20], 1), torch.rand(60) - 0.5
    ties = (scores * 4).round()
    for rated in (scores, ties):
        _both_sizes(lambda b, s: ops.nms(b, s, limit), (ROWS, ROWS), (boxes, rated),
                    (boxes[:17], rated[:17]))  # fmt: skip


def test_boxes_of_several_classes_and_wide_numbers() -> None:
    torch.manual_seed(2)
    low = torch.rand(30, 2) * 30
    boxes = torch.cat([low, low + torch.rand(30, 2) * 20], 1)
    kinds = torch.randint(0, 3, (30,))
    run = compiled(from_exported_program(exported(
        lambda b, s, k: ops.batched_nms(b, s, k, 0.4), boxes.double(), torch.rand(30).double(),
        kinds,
    )))  # fmt: skip
    scores = torch.rand(30).double()
    assert_same(
        run(boxes.double(), scores, kinds), ops.batched_nms(boxes.double(), scores, kinds, 0.4)
    )


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_taps_that_move(masked: bool, groups: int) -> None:
    torch.manual_seed(0)
    layer = ops.DeformConv2d(6, 4, (3, 2), (2, 1), (1, 0), (1, 2), groups)

    def given(n: int, height: int, width: int) -> Any:
        out = (n, (height - 1) // 2 + 1, width - 2)
        offset = torch.randn(n, 2 * 12, *out[1:]) * 2  # two groups of channels have their own
        mask = (torch.rand(n, 12, *out[1:]),) if masked else ()
        return torch.randn(n, 6, height, width), offset, *mask

    run = compiled(from_exported_program(exported(
        layer, *given(2, 9, 12), dynamic_shapes=(PICTURE,) * (3 if masked else 2)
    )))  # fmt: skip
    for sizes in ((2, 9, 12), (3, 7, 8)):
        inputs = given(*sizes)
        assert_same(run(*inputs), layer(*inputs))
