"""Blocks that are marked for a tensor intrinsic are computed by it."""

from __future__ import annotations

import logging

from tvm.meta_schedule.structure import TENSORIZE, func_names
from tvm.tir.functor import statements
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError
from tvm.tir.stmt import Block

from .postproc import Postproc

_LOGGER = logging.getLogger(__name__)


class RewriteTensorize(Postproc):
    """Tensorizes marked blocks; vectorizes an init without an intrinsic, if that is asked for."""

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        self.vectorize_init_loop = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        """Always True: what cannot be tensorized stays in loops."""
        for func_name, block_name, intrin in _marked(sch):
            block = sch.get_block(block_name, func_name)
            sch.unannotate(block, TENSORIZE)
            if intrin:
                _tensorize(sch, block, intrin)
            elif self.vectorize_init_loop and "init" in block_name:
                _vectorize(sch, block)
        return True


def _marked(sch: Schedule) -> list[tuple[str, str, str]]:
    """Function, name and intrinsic of the marked blocks."""
    return [
        (name, node.name_hint, str(getattr(intrin, "value", intrin)))
        for name, func in func_names(sch)
        for node in statements(func.body, Block)
        if (intrin := node.annotations.get(TENSORIZE)) is not None
    ]


def _tensorize(sch: Schedule, block: BlockRV, intrin: str) -> None:
    try:
        sch.tensorize(block, intrin)
    except ScheduleError as err:
        _LOGGER.warning("Tensorize failed with error %s", err)


def _vectorize(sch: Schedule, block: BlockRV) -> None:
    (child,) = sch.get_child_blocks(block)
    loops = sch.get_loops(child)
    if len(loops) == 1:
        sch.vectorize(loops[0])
