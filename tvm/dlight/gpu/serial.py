"""What no other rule takes: each statement that has no threads is the work of one thread.

    for i in range(n):                        for bx in T.thread_binding(1, "blockIdx.x"):
        with T.block("scatter"): ...    ->        for tx in T.thread_binding(1, "threadIdx.x"):
                                                      for i in range(n): ...

Loops whose steps depend on each other, such as those of a scatter with indices that may repeat,
run on a device at least, beside the kernels that use their results.
"""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import launches_threads
from tvm.dlight.base import open_schedule
from tvm.ir.node import with_fields
from tvm.target.target import Target
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import BlockRealize, For, ForKind, SeqStmt, Stmt

from .base import GPUScheduleRule


class Serial(GPUScheduleRule):
    """Gives what has no threads one."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule; None if all has threads already."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        root = func.body
        if not isinstance(root, BlockRealize) or root.block.init is not None:
            return None
        body = root.block.body
        parts = body.seq if isinstance(body, SeqStmt) else (body,)
        if all(launches_threads(part) for part in parts):
            return None
        new = SeqStmt.flatten([
            part if launches_threads(part) else _by_one_thread(part) for part in parts
        ])  # fmt: skip
        block = with_fields(root.block, body=new)
        return open_schedule(func.with_body(with_fields(root, block=block)))


def _by_one_thread(body: Stmt) -> Stmt:
    for tag in ("threadIdx.x", "blockIdx.x"):
        thread = IterVar(None, Var("", "int32"), IterVar.ThreadIndex, tag)
        name = Var(tag[0] + "x", "int32")
        zero, one = IntImm("int32", 0), IntImm("int32", 1)
        body = For(name, zero, one, ForKind.THREAD_BINDING, body, thread)
    return body
