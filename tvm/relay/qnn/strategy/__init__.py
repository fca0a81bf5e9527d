"""How quantized operators are computed for a target."""

from . import generic as generic
