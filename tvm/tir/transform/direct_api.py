"""How functions of one module call each other: addresses, numbers and sizes as plain parameters.

    def f(A: T.Buffer((n, 4), "float32"), k: T.int32)   ->   def f(A: pointer, k: int32, n: int32)

The sizes that are no parameters of their own follow the parameters, in the order in which the
shapes of the buffers name them.
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.module import IRModule
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.buffer_access import element_strides
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, walk
from tvm.tir.op import arith as ops

from .nodes_used import FUNCTION, nodes_used


def direct_params(func: PrimFunc) -> tuple[e.Var, ...]:
    """The parameters of the direct form of a function: one for each of its own, then sizes."""
    params: list[e.Var] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        params.append(param if buffer is None else buffer.data)
    known = set(params)
    for buffer in func.buffer_map.values():
        for extent in buffer.shape:
            for node in walk(extent):
                if isinstance(node, e.Var) and node not in known:
                    known.add(node)
                    params.append(node)
    return tuple(params)


def direct_form(func: PrimFunc) -> PrimFunc:
    """The function that takes `direct_params`; its tensors are dense and start at their address."""
    if not func.buffer_map:
        return func
    body = func.body
    fixed = _layout_values(func)
    if fixed:
        body = substitute(body, fixed)
    return PrimFunc(direct_params(func), body, func.ret_type, {}, func.attrs, func.span)


def _layout_values(func: PrimFunc) -> dict[e.Var, PrimExpr]:
    """Variables for strides and offsets take the values of a dense tensor."""
    values: dict[e.Var, PrimExpr] = {}
    params = set(func.params)
    for buffer in func.buffer_map.values():
        dense = element_strides(buffer.with_changes(strides=()))
        for stride, value in zip(buffer.checked_strides(), dense):
            if isinstance(stride, e.Var) and stride not in params:
                values[stride] = ops.cast(value, stride.dtype)
        offset = buffer.elem_offset
        if isinstance(offset, e.Var) and offset not in params:
            values[offset] = ops.const(0, offset.dtype)
    return values


def direct_calls(func: PrimFunc, mod: IRModule) -> PrimFunc:
    """The function with the arguments that its calls of others need."""
    if FUNCTION not in nodes_used(func.body):
        return func
    return func.with_body(_Completer(func, mod).visit_stmt(func.body))


class _Completer(StmtExprMutator):
    """Passes addresses for tensors, and the sizes that follow from the tensors passed."""

    def __init__(self, func: PrimFunc, mod: IRModule) -> None:
        super().__init__()
        self._func = func
        self._mod = mod
        self._buffers: dict[e.Var, Buffer] = {}
        for param, buffer in func.buffer_map.items():
            self._buffers[param] = self._buffers[buffer.data] = buffer

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        self._buffers.setdefault(buffer.data, buffer)
        return buffer

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if not isinstance(call, e.Call) or not isinstance(call.op, GlobalVar):
            return call
        callee = self._mod.functions.get(call.op)
        if not isinstance(callee, PrimFunc) or not callee.buffer_map:
            return call
        wanted = direct_params(callee)
        args = [self._address(arg) for arg in call.args]
        if len(args) < len(wanted):
            sizes = [self._size(callee, var, call) for var in wanted[len(callee.params) :]]
            args = [*args[: len(callee.params)], *sizes]
        if len(args) == len(call.args) and all(a is b for a, b in zip(args, call.args)):
            return call
        return e.Call(call.dtype, call.op, args, call.span)

    def _address(self, arg: PrimExpr) -> PrimExpr:
        """A parameter that is a tensor stands for the address of its data."""
        buffer = self._func.buffer_map.get(arg) if isinstance(arg, e.Var) else None
        return arg if buffer is None else buffer.data

    def _size(self, callee: PrimFunc, var: e.Var, call: e.Call) -> PrimExpr:
        for param, arg in zip(callee.params, call.args):
            inner = callee.buffer_map.get(param)
            outer = self._buffers.get(arg) if isinstance(arg, e.Var) else None
            if inner is None or outer is None or len(inner.shape) != len(outer.shape):
                continue
            for extent, actual in zip(inner.shape, outer.shape):
                if extent is var:
                    return ops.cast(actual, var.dtype)
        assert isinstance(call.op, GlobalVar), "the caller looked"
        raise CheckError(
            message(
                f"call {call.op.name_hint} from another function of the module",
                found=f"size {var.name} follows from none of the arguments",
                legal=f"pass a tensor with a dimension {var.name}, or make it a parameter",
            )
        )
