"""Operators of object detection."""

from .anchors import multibox_detection, multibox_prior, multibox_transform_loc, reorg
from .nms import all_class_non_max_suppression, get_valid_counts
from .proposal import proposal
from .rcnn import roi_align, roi_align_nchw, roi_align_nhwc, roi_pool_nchw
from .regular_nms import regular_non_max_suppression
from .suppression import non_max_suppression

__all__ = [
    "all_class_non_max_suppression", "get_valid_counts", "multibox_detection", "multibox_prior",
    "multibox_transform_loc", "non_max_suppression", "proposal", "regular_non_max_suppression",
    "reorg", "roi_align", "roi_align_nchw", "roi_align_nhwc", "roi_pool_nchw",
]  # fmt: skip
