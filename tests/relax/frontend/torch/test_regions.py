"""Regions of pictures, against torchvision."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
ops = pytest.importorskip("torchvision.ops")

from tvm.relax.frontend.torch import relax_dynamo  # noqa: E402

from .running import assert_same  # noqa: E402


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
