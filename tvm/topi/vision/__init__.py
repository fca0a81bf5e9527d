"""Operators of object detection."""

from .anchors import multibox_prior, multibox_transform_loc, reorg
from .nms import all_class_non_max_suppression, get_valid_counts
from .rcnn import roi_align, roi_pool_nchw
from .suppression import non_max_suppression

__all__ = [
    "all_class_non_max_suppression", "get_valid_counts", "multibox_prior",
    "multibox_transform_loc", "non_max_suppression", "reorg", "roi_align", "roi_pool_nchw",
]  # fmt: skip
