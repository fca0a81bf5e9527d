"""Asynchronous copies that are not of one piece are refused: some DMA engines cannot do them."""

from __future__ import annotations

from tvm.error import TVMError
from tvm.meta_schedule.lowered import lowered, without_blocks
from tvm.meta_schedule.structure import func_names
from tvm.tir.analysis.identify_memcpy import identify_memcpy
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import AttrStmt

from .postproc import Postproc


class DisallowAsyncStridedMemCopy(Postproc):
    """Refuses schedules that copy anything but one contiguous piece in the background."""

    def __init__(self) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        """True if each asynchronous copy is of one piece."""
        for name, func in func_names(sch):
            try:
                mod = lowered(name, func, without_blocks())
            except TVMError:
                return False
            if any(_copies_strides(made) for made in mod.functions.values()):
                return False
        return True


def _copies_strides(func: object) -> bool:
    assert isinstance(func, PrimFunc), "lowered from one"
    scopes = [n for n in statements(func.body, AttrStmt) if n.attr_key == "async_scope"]
    return any(isinstance(copy, str) for scope in scopes for copy in identify_memcpy(scope.body))
