"""Functions of a module call each other directly: with addresses, numbers and sizes.

    def main(A: T.Buffer((8,))):  part(A.data)     ->     part(A.data, 8)
    def part(a: T.handle):        a is (n,)        ->     def part(a: pointer, n: int32)

Functions without a symbol take what `direct_params` says. A function with a symbol that is also
called from within the module is kept in both forms: the direct one, and one that calls it, which
becomes its packed form.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.op import builtin

from .direct_api import direct_calls, direct_form, direct_params
from .nodes_used import FUNCTION, nodes_used


@declare_module_pass("tir.MakeDirectAPI")
def MakeDirectAPI(mod: IRModule, ctx: PassContext) -> IRModule:
    """No function without a symbol has buffers among its parameters."""
    called = _called(mod)
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc) or func.attrs.get("calling_conv") is not None:
            functions[var] = func
            continue
        func = direct_calls(func, mod)
        symbol = func.attrs.get("global_symbol")
        if symbol is None:
            functions[var] = direct_form(func)
        elif var in called:
            entry = func.attrs.get("tir.is_entry_func")
            plain = direct_form(func).without_attr("global_symbol")
            functions[var] = plain if entry is None else plain.without_attr("tir.is_entry_func")
            functions[GlobalVar(f"{symbol}_packed")] = _caller(var, func)
        else:
            functions[var] = func
    return mod.with_functions(functions)


def _called(mod: IRModule) -> set[GlobalVar]:
    """The functions that others of the module call."""
    found: set[GlobalVar] = set()
    for func in mod.functions.values():
        if isinstance(func, PrimFunc) and FUNCTION in nodes_used(func.body):
            for node in walk(func.body):
                if isinstance(node, e.Call) and isinstance(node.op, GlobalVar):
                    found.add(node.op)
    return found


def _caller(var: GlobalVar, func: PrimFunc) -> PrimFunc:
    """A function with the same parameters that calls the direct form."""
    given: list[PrimExpr] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        given.append(param if buffer is None else buffer.data)
    given += direct_params(func)[len(func.params) :]
    returned = func.ret_type.dtype if isinstance(func.ret_type, PrimType) else DataType("void")
    call = e.Call(returned, var, given, func.span)
    body = s.Evaluate(call if returned.is_void else builtin.ret(call), func.span)
    return func.with_body(body)
