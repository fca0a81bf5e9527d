"""Detections: boxes around points, choosing boxes, values of regions."""

from .multibox import multibox_prior as multibox_prior
from .multibox import multibox_transform_loc as multibox_transform_loc
from .nms import all_class_non_max_suppression as all_class_non_max_suppression
from .nms import get_valid_counts as get_valid_counts
from .nms import non_max_suppression as non_max_suppression
from .nms import regular_non_max_suppression as regular_non_max_suppression
from .rcnn import proposal as proposal
from .rcnn import roi_align as roi_align
from .rcnn import roi_pool as roi_pool
from .yolo import yolo_reorg as yolo_reorg
