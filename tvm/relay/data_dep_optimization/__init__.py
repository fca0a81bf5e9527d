"""Rewrites of a function together with the values of its parameters."""

from . import simplify_fc_transpose as simplify_fc_transpose
