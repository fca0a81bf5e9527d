"""How much memory the functions of a module allocate, before and after planning, as a text."""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relax.expr import Call, DataTypeImm, Function, StringImm
from tvm.relax.expr_functor import PyExprVisitor
from tvm.relax.struct_info import ShapeExpr, const_int
from tvm.support.arguments import explained
from tvm.support.dtype import DataType

GIB = 2**30


class _Allocations(PyExprVisitor):
    """Sums over the allocations of one function."""

    def __init__(self) -> None:
        self.tensors = self.dynamic = self.planned = 0
        self.tensor_bytes = self.planned_bytes = 0

    def visit_call_(self, op: Call) -> None:
        name = op.op.name if isinstance(op.op, Op) else ""
        if name == "relax.builtin.alloc_tensor":
            size = self._tensor(op, 0)
            if size is not None:
                self.planned += 1
                self.planned_bytes += size
        elif name == "relax.memory.alloc_tensor":
            self._tensor(op, 2)
        elif name == "relax.memory.alloc_storage":
            size = _bytes(op, 0, None)
            if size is not None:
                self.planned += 1
                self.planned_bytes += size
        super().visit_call_(op)

    def _tensor(self, call: Call, index: int) -> int | None:
        size = _bytes(call, index, index + 1)
        if size is None:
            self.dynamic += 1
        else:
            self.tensors += 1
            self.tensor_bytes += size
        return size

    def text(self, name: str) -> str:
        """The lines of one function."""
        dynamic = f", and {self.dynamic} dynamic-size allocation(s)" if self.dynamic else ""
        lines = [
            f"- Function {name}:",
            f" * Without memory planning, there are {self.tensors} constant-size memory "
            f"allocation(s) with total size {self.tensor_bytes / GIB:.4} GB{dynamic}.",
            f" * With memory planning, there are {self.planned} constant-size memory "
            f"allocation(s) with total size {self.planned_bytes / GIB:.4} GB.",
        ]
        last = ""  # an empty line, as v0.22 writes it
        if self.tensor_bytes:
            share = self.planned_bytes / self.tensor_bytes
            last = f" * Memory planning reduces constant memory size to {share:.1%}."
        return "".join(f"{line}\n" for line in [*lines, last])


def _bytes(call: Call, shape_at: int, dtype_at: int | None) -> int | None:
    """The size that a call allocates; None where it is not a number."""
    shape = call.args[shape_at]
    extents = [const_int(v) for v in shape.values] if isinstance(shape, ShapeExpr) else [None]
    size = 1
    for extent in extents:
        if extent is None:
            return None
        size *= extent
    dtype = call.args[dtype_at] if dtype_at is not None else None
    if isinstance(dtype, (DataTypeImm, StringImm)):
        kind = DataType(dtype.value)
        size *= (kind.bits + 7) // 8 * kind.lanes
    return size


@explained
def estimate_memory_usage(mod: IRModule | Function) -> str:
    """The text for all Relax functions of a module after memory planning, or for one function.

    Tensors count as without planning; storages, and tensors that were not planned, as with it. The
    control flow is not looked at: every allocation counts once.
    """
    if isinstance(mod, Function):
        named = [("foo", mod)]
    else:
        named = [
            (var.name_hint, func)
            for var, func in mod.functions_items()
            if isinstance(func, Function)
        ]
    text = "Memory usage estimation:\n"
    for name, func in named:
        found = _Allocations()
        found.visit_expr(func)
        text += found.text(name)
    return text
