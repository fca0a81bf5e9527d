"""Functions for a library say how many bytes it needs besides its operands."""

from __future__ import annotations

from typing import ClassVar

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax.expr import Function, SeqExpr, VarBinding
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir.expr import IntImm

from .library_checks import size_of

_BYTES = {"float16": 2, "float32": 4}
_WHEN_UNKNOWN_BYTES = 65536  # for shapes with symbols


class LibraryWorkspace(PyExprMutator):
    """Gives composite functions of attention, and those around them, the attribute WorkspaceSize.

    A kernel keeps unnormalised results of the output's size; narrow heads need none, but what a
    kernel will need is not known here.
    """

    LIBRARY: ClassVar[str] = ""

    def visit_function_(self, f: Function) -> RelaxExpr:
        """The function with the attribute, where it needs memory."""
        composite = str(f.attrs.get("Composite", ""))
        if not composite:
            return self._around(f)
        if "attention" not in composite or self.LIBRARY not in composite:
            return f
        info = f.ret_struct_info
        shape = info.values if isinstance(info, TensorStructInfo) else None
        count = None if shape is None else size_of(shape)
        size = _WHEN_UNKNOWN_BYTES
        if isinstance(info, TensorStructInfo) and isinstance(count, IntImm):
            size = count.value * _BYTES.get(str(info.dtype), 4)
        return f.with_attr("WorkspaceSize", size)

    def _around(self, f: Function) -> RelaxExpr:
        new = super().visit_function_(f)
        symbol = str(f.attrs.get("global_symbol", ""))
        if self.LIBRARY not in symbol or not isinstance(new, Function):
            return new
        inner = _first_value(new)
        if isinstance(inner, Function) and "WorkspaceSize" in inner.attrs:
            return new.with_attr("WorkspaceSize", inner.attrs["WorkspaceSize"])
        return new


def annotated(mod: IRModule, annotator: LibraryWorkspace) -> IRModule:
    """The module with the attribute on all functions that need memory."""
    functions = dict(mod.functions)
    for var, func in functions.items():
        if isinstance(func, Function):
            new = annotator.visit_expr(func)
            assert isinstance(new, Function), "visiting keeps functions"
            functions[var] = new
    return mod.with_functions(functions)


def _first_value(func: Function) -> RelaxExpr | None:
    body = func.body
    for block in body.blocks if isinstance(body, SeqExpr) else ():
        for binding in block.bindings:
            return binding.value if isinstance(binding, VarBinding) else None
    return None
