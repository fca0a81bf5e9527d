"""Spaces: which schedules a module may have."""

from .post_order_apply import PostOrderApply
from .schedule_fn import ScheduleFn
from .space_generator import PySpaceGenerator, SpaceGenerator, create
from .space_generator_union import SpaceGeneratorUnion

__all__ = [
    "PostOrderApply", "PySpaceGenerator", "ScheduleFn", "SpaceGenerator", "SpaceGeneratorUnion",
    "create",
]  # fmt: skip
