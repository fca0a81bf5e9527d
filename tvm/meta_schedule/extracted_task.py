"""A kernel of a model that is worth tuning."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.module import IRModule
from tvm.target.target import Target

from .base import Component


class ExtractedTask(Component):
    """A kernel with the name it has in the model, and how often the model calls it (`weight`).

    `mod` is what the model says, and `dispatched` the programs to tune for it: the function is
    called `main` there.
    """

    def __init__(
        self,
        task_name: str,
        mod: IRModule,
        target: Target,
        dispatched: Sequence[IRModule],
        weight: int,
    ) -> None:
        self.task_name = task_name
        self.mod = mod
        self.target = target
        self.dispatched = list(dispatched)
        self.weight = weight
