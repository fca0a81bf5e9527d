"""The threads of a block share the work of copying to shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tvm.meta_schedule.structure import FETCH, WARP, extent_of
from tvm.tir.schedule import BlockRV, Instruction, Schedule

from .postproc import Postproc

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class RewriteCooperativeFetch(Postproc):
    """Splits the loop of each marked copy by the threads of its block, and vectorizes the rest.

    for i: S    ->    for i_0: for i_1 in threadIdx.x: for i_2 in vectorized: S
    """

    def __init__(self) -> None:
        self._warp = -1

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        if context.target is not None:
            self._warp = int(context.target.attrs.get("thread_warp_size", -1))

    def apply(self, sch: Schedule) -> bool:
        """Always True: a copy of an unknown extent stays as it is."""
        for copy in self._copies(sch):
            _share(sch, copy)
        return True

    def _copies(self, sch: Schedule) -> list[_Copy]:
        """The marked copies of the trace, each with the threads that were bound before it."""
        found: list[_Copy] = []
        threads: dict[str, int] = {}
        for inst in sch.trace.insts:
            if inst.kind.name == "Bind" and _text(inst.attrs[0]).startswith("threadIdx."):
                extent = extent_of(sch.get(inst.inputs[0]))
                if extent is not None:
                    threads[_text(inst.attrs[0])[-1]] = extent
            elif _annotates(inst, WARP) and self._warp != -1:
                threads["x"] = self._warp
            elif _annotates(inst, FETCH):
                lanes = inst.inputs[1]
                lanes = lanes if isinstance(lanes, int) else int(sch.get(lanes))
                found.append(_Copy(inst.inputs[0], threads.get("x", 1), threads.get("y"), lanes))
        return found


class _Copy(NamedTuple):
    block: BlockRV
    x: int
    y: int | None
    lanes: int


def _text(value: Any) -> str:
    return str(getattr(value, "value", value))


def _annotates(inst: Instruction, key: str) -> bool:
    return inst.kind.name == "Annotate" and _text(inst.attrs[0]) == key


def _share(sch: Schedule, copy: _Copy) -> None:
    sch.unannotate(copy.block, FETCH)
    loop = sch.get_loops(copy.block)[-1]
    extent = extent_of(sch.get(loop))
    if extent is None:
        return
    lanes = copy.lanes if extent % copy.lanes == 0 else 1
    threads = [copy.x] if copy.y is None else [copy.y, copy.x]
    parts = sch.split(loop, [None, *threads, *([lanes] if lanes > 1 else [])])
    if lanes > 1:
        sch.vectorize(parts.pop())
    sch.bind(parts.pop(), "threadIdx.x")
    if copy.y is not None:
        sch.bind(parts.pop(), "threadIdx.y")
