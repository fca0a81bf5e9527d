"""Bring functions to normal form: nested calls get bindings, struct info is filled in.

    return add(multiply(x, y), z)      ->      lv = multiply(x, y); gv = add(lv, z); return gv
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Function
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.transform.pass_form import relax_pass


@relax_pass("Normalize", opt_level=1)
def Normalize(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Normalise one function."""
    # a second time by calls: operators have forms of their own (FNormalize)
    new = PyExprMutator(mod).visit_expr(BlockBuilder(mod).normalize(func))
    assert isinstance(new, Function), "a function stays one"
    return new
