"""Constant arrays of functions stand in the module's attribute `constants`, each once.

AllocateConst([1, 2, 3])     ->     AllocateConst([1, 2, 3], number 0), constants = [[1, 2, 3]]
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator


@declare_module_pass("tir.ExtractPrimFuncConstants")
def ExtractPrimFuncConstants(mod: IRModule, ctx: PassContext) -> IRModule:
    """Constants have a number, by which they are found in the module."""
    present = mod.get_attr("constants")
    constants = list(present) if isinstance(present, (list, tuple)) else []
    extractor = _Extractor(constants)
    functions = {
        var: func.with_body(extractor.visit_stmt(func.body)) if isinstance(func, PrimFunc) else func
        for var, func in mod.functions.items()
    }
    if not extractor.found:
        return mod
    return mod.with_functions(functions).with_attr("constants", tuple(extractor.constants))


class _Extractor(StmtExprMutator):
    def __init__(self, constants: list[HostTensor]) -> None:
        super().__init__()
        self.constants = constants
        self.found = False

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_allocate_const_(self, op: s.AllocateConst) -> s.Stmt:
        body = self.visit_stmt(op.body)
        if op.data is None or op.irmod_storage_idx is not None:
            same = body is op.body
            return op if same else s.AllocateConst(
                op.buffer_var, op.dtype, op.extents, (op.data, op.irmod_storage_idx), body,
                op.annotations, op.span,
            )  # fmt: skip
        self.found = True
        number = self._number(op.data)
        return s.AllocateConst(
            op.buffer_var, op.dtype, op.extents, (op.data, number), body, op.annotations, op.span
        )

    def _number(self, data: HostTensor) -> int:
        """The index of the data among the constants; equal data is stored once."""
        for number, known in enumerate(self.constants):
            if known is data or _same(known, data):
                return number
        self.constants.append(data)
        return len(self.constants) - 1


def _same(a: HostTensor, b: HostTensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
