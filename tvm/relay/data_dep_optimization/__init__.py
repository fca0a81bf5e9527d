"""Rewrites of a function together with the values of its parameters."""

from . import bsr_conv2d as bsr_conv2d
from . import bsr_dense as bsr_dense
from . import simplify_fc_transpose as simplify_fc_transpose
