"""How operators are computed for a target, as functions that a target may have its own of."""

from . import generic as generic
