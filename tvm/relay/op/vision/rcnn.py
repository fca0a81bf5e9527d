"""The values of regions of an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relay.expr import Call
from tvm.relay.op.declare import OUT_FUSABLE, REQUIRED, Expr, Relate, relay_op, topi
from tvm.relay.op.nn.conv import arranged, letters
from tvm.relay.op.relations import choice, extents, is_any, same_extent, tensor
from tvm.relay.ty import TensorType

from .kernel import kernel


def _region_type(ctx: Relate) -> Type | None:
    x, rois = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or rois is None:
        return None
    if len(rois.shape) != 2:
        raise ctx.fail("regions have two dimensions", "(regions, 5)")
    o = ctx.attrs
    if not (is_any(extents(rois)[1]) or same_extent(extents(rois)[1], 5)):
        raise ctx.fail(f"regions of {extents(rois)[1]} numbers", "5: an image and two corners")
    if "mode" in dict(o.items()):
        choice(ctx, "mode", "avg", "max")
    size = letters(o.layout, extents(x))
    size.update(N=extents(rois)[0], H=o.pooled_size[0], W=o.pooled_size[1])
    return TensorType(arranged(o.layout, size), x.dtype)


def _size(value: Any) -> tuple[int, ...]:
    return (int(value),) * 2 if isinstance(value, int) else tuple(int(v) for v in value)


@relay_op("vision.roi_align", "ROIAlignAttrs", operands=("data", "rois"), level=5,
          relation=_region_type, lower=kernel(topi.vision.roi_align),
          optional={"pooled_size": REQUIRED}, pattern=OUT_FUSABLE)  # fmt: skip
def roi_align(
    data: Expr, rois: Expr, pooled_size: Any, spatial_scale: float, sample_ratio: int = -1,
    layout: str = "NCHW", mode: str = "avg",
) -> Call:  # fmt: skip
    """Samples of each cell of each region, as their mean or the greatest."""
    return roi_align.call(
        data, rois, pooled_size=_size(pooled_size), spatial_scale=float(spatial_scale),
        sample_ratio=sample_ratio, layout=layout, mode=mode,
    )  # fmt: skip


def _roi_pool(
    bb: Any, x: Any, rois: Any, *, pooled_size: Any, spatial_scale: float, layout: str
) -> Any:
    if layout == "NHWC":
        x = bb.normalize_argument(R.permute_dims(x, [0, 3, 1, 2]))
    made = bb.call_te(topi.vision.roi_pool_nchw, x, rois, pooled_size, spatial_scale)
    if layout == "NCHW":
        return made
    return R.permute_dims(bb.normalize_argument(made), [0, 2, 3, 1])


@relay_op("vision.roi_pool", "ROIPoolAttrs", operands=("data", "rois"), level=5,
          relation=_region_type, lower=_roi_pool, pattern=OUT_FUSABLE)  # fmt: skip
def roi_pool(
    data: Expr, rois: Expr, pooled_size: Any, spatial_scale: float, layout: str = "NCHW"
) -> Call:
    """The greatest of each cell of each region."""
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"roi_pool: layout {layout!r}; legal: 'NCHW', 'NHWC'")
    return roi_pool.call(
        data, rois, pooled_size=_size(pooled_size), spatial_scale=float(spatial_scale),
        layout=layout,
    )  # fmt: skip


def _proposal_type(ctx: Relate) -> Type | None:
    scores, moves, images = (tensor(ctx, k) for k in range(3))
    if scores is None or moves is None or images is None:
        return None
    if len(scores.shape) != 4 or len(moves.shape) != 4:
        raise ctx.fail("scores and moves have four dimensions", "(batch, channels, h, w)")
    if len(images.shape) != 2 or not (
        is_any(extents(images)[1]) or same_extent(extents(images)[1], 3)
    ):
        raise ctx.fail("images are told by three numbers", "(batch, 3): height, width, scale")
    batch = extents(scores)[0]
    rows = batch if is_any(batch) else batch * int(ctx.attrs.rpn_post_nms_top_n)
    return TensorType((rows, 5), scores.dtype)


@relay_op("vision.proposal", "ProposalAttrs", level=5, relation=_proposal_type,
          operands=("cls_prob", "bbox_pred", "im_info"),
          lower=lambda bb, *args, **o: bb.call_te(topi.vision.proposal, *args, **o),
          optional={"scales": (4.0, 8.0, 16.0, 32.0), "ratios": (0.5, 1.0, 2.0),
                    "feature_stride": 16, "threshold": 0.7, "rpn_pre_nms_top_n": 6000,
                    "rpn_post_nms_top_n": 300, "rpn_min_size": 16, "iou_loss": False},
          )  # fmt: skip
def proposal(
    cls_prob: Expr, bbox_pred: Expr, im_info: Expr, scales: Sequence[float],
    ratios: Sequence[float], feature_stride: int, threshold: float, rpn_pre_nms_top_n: int,
    rpn_post_nms_top_n: int, rpn_min_size: int, iou_loss: bool,
) -> Call:  # fmt: skip
    """Regions that a network proposes: anchors moved, and the best that differ.

    (batch, 2 * anchors, h, w), (batch, 4 * anchors, h, w), (batch, 3) of height, width and scale
    -> (batch * rpn_post_nms_top_n, 5) of image and corners.
    """
    return proposal.call(
        cls_prob, bbox_pred, im_info, scales=tuple(float(s) for s in scales),
        ratios=tuple(float(r) for r in ratios), feature_stride=int(feature_stride),
        threshold=float(threshold), rpn_pre_nms_top_n=int(rpn_pre_nms_top_n),
        rpn_post_nms_top_n=int(rpn_post_nms_top_n), rpn_min_size=int(rpn_min_size),
        iou_loss=bool(iou_loss),
    )  # fmt: skip
