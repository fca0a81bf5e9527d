"""How much memory a function asks for, by storage scope."""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor


@explained
def calculate_allocated_bytes(
    func_or_mod: PrimFunc | IRModule,
) -> dict[str, dict[str, int]]:
    """The largest amount of bytes allocated at one time, by function and storage scope.

    A single function goes by the name `main`. Allocations of unknown size count as zero. Constants
    are not counted, nor are buffers of blocks, which become allocations when blocks are lowered.
    """
    if isinstance(func_or_mod, PrimFunc):
        return {"main": _bytes_of(func_or_mod)}
    if isinstance(func_or_mod, IRModule):
        return {
            var.name_hint: _bytes_of(func)
            for var, func in func_or_mod.functions.items()
            if isinstance(func, PrimFunc)
        }
    raise TypeError(
        f"calculate_allocated_bytes: found a {type(func_or_mod).__name__}; "
        "legal: a PrimFunc or an IRModule"
    )


def _bytes_of(func: PrimFunc) -> dict[str, int]:
    counter = _Counter()
    counter.visit_stmt(func.body)
    return counter.most


class _Counter(StmtExprVisitor):
    """Adds on the way down what is allocated, and takes it away on the way up."""

    def __init__(self) -> None:
        super().__init__()
        self.most: dict[str, int] = {}
        self._now: dict[str, int] = {}

    def _add(self, scope: str, size: int) -> None:
        self._now[scope] = self._now.get(scope, 0) + size
        self.most[scope] = max(self.most.get(scope, 0), self._now[scope])

    def visit_allocate_(self, op: s.Allocate) -> None:
        scope, size = _scope_of(op.buffer_var), _size(op.extents, op.dtype.itemsize)
        self._add(scope, size)
        self.visit_stmt_default_(op)
        self._now[scope] -= size


def _scope_of(var: e.Var) -> str:
    scope = getattr(var.type_annotation, "storage_scope", "")
    return scope or "global"


def _size(extents: tuple[object, ...], itemsize: int) -> int:
    total = itemsize
    for extent in extents:
        if not isinstance(extent, e.IntImm):
            return 0
        total *= extent.value
    return total
