"""Refining the best schedules of a finished search."""

from .droplet import Droplet
from .post_opt import PostOpt
from .space import Space

__all__ = ["Droplet", "PostOpt", "Space"]
