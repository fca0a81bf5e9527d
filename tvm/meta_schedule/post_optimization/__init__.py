"""Refining the best schedules of a finished search."""

from .post_opt import PostOpt

__all__ = ["PostOpt"]
