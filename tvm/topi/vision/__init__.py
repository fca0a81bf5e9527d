"""Operators of object detection."""

from .nms import all_class_non_max_suppression, get_valid_counts

__all__ = ["all_class_non_max_suppression", "get_valid_counts"]
