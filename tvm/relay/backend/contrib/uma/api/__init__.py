"""The three steps of an accelerator's way: partition, lower, make code."""

from .codegen import UMACodegen as UMACodegen
from .lower import UMALower as UMALower
from .partitioner import UMAPartitioner as UMAPartitioner

__all__ = ["UMACodegen", "UMALower", "UMAPartitioner"]
