"""A door: boxes of single-shot detectors; see `anchors`."""

from .anchors import multibox_detection as multibox_detection
from .anchors import multibox_prior as multibox_prior
from .anchors import multibox_transform_loc as multibox_transform_loc
