"""How many bytes are in use while each kernel runs.

    let %f = fn (%p: Tensor[(1, 8), int8], Primitive=1, used_memory=[16]) { nn.relu(%p) };
    let %y = %f(%x);

A value is in use from the let that makes it to its last use. The function gets `io_used_memory`,
the bytes of its parameters and of its result. Programs are in A-normal form, without branches.
"""

from __future__ import annotations

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.transform import PassContext
from tvm.ir.type import TupleType, Type
from tvm.relay.adt import Match
from tvm.relay.expr import Call, If, Let, Var
from tvm.relay.function import Function
from tvm.relay.traverse import lets, post_order, rebuild
from tvm.relay.ty import FuncType, TensorType, is_dynamic
from tvm.relay.variables import free_vars
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm

from .function_pass import expr_pass


@expr_pass("AnnotateUsedMemory", opt_level=0)
def AnnotateUsedMemory(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function with `used_memory` of each kernel, a number for each of its calls."""
    assert isinstance(func, Function), "a pass gets functions"
    if any(isinstance(expr, (If, Match)) for expr in post_order(func.body)):
        raise TVMError(
            "AnnotateUsedMemory does not support control flow; legal: programs without branches"
        )
    chain, result = lets(func.body)
    counted: dict[Node, list[int]] = {}  # of functions that are variables
    kernels = {let.var.vid for let in chain if _is_kernel(let.value)}
    live = {var.vid: _bytes(var) for var in free_vars(result)}
    body = result
    for let in reversed(chain):
        out = live.pop(let.var.vid, None)
        live.update({var.vid: _bytes(var) for var in free_vars(let.value)})
        callee = let.value.op if isinstance(let.value, Call) else None
        size = _bytes(let.var, let.value) if out is None else out
        total = sum(live.values()) + size
        value = let.value
        if isinstance(callee, Var) and callee.vid in kernels:
            counted.setdefault(callee.vid, []).append(total)
        elif _is_kernel(callee) and isinstance(value, Call) and isinstance(callee, Function):
            value = rebuild(value, (_noted(callee, [total]), *value.args))
        if _is_kernel(value) and isinstance(value, Function):
            value = _noted(value, counted.get(let.var.vid, [])[::-1])
        body = Let(let.var, value, body, let.span)
    made = rebuild(func, (*func.params, body))
    assert isinstance(made, Function), "a function stays one"
    ends = sum(_bytes(param) for param in func.params) + _size(func.ret_type)
    return made.with_attr("io_used_memory", ends)


def _is_kernel(expr: object) -> bool:
    return isinstance(expr, Function) and "Primitive" in expr.attrs


def _noted(kernel: Function, totals: list[int]) -> Function:
    return kernel.with_attr("used_memory", totals)


def _bytes(var: RelaxExpr, value: RelaxExpr | None = None) -> int:
    found = getattr(var, "checked_type_", None) or getattr(value, "checked_type_", None)
    return _size(found)


def _size(found: Type | None) -> int:
    """The bytes of a value; functions take none."""
    if isinstance(found, TupleType):
        return sum(_size(field) for field in found.fields)
    if isinstance(found, FuncType):
        return 0
    if not isinstance(found, TensorType):
        raise TVMError(f"AnnotateUsedMemory: a value of type {found}; legal: tensors and tuples")
    if is_dynamic(found):
        raise TVMError(
            "AnnotateUsedMemory does not support dynamic shapes; legal: extents that are numbers"
        )
    dtype = DataType(found.dtype)
    size = (dtype.bits * dtype.lanes + 7) // 8
    for extent in found.shape:
        assert isinstance(extent, IntImm), "all extents are numbers"
        size *= extent.value
    return size
