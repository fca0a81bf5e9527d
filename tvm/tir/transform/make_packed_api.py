"""Functions with a symbol can be called from outside, by the calling convention of tvm-ffi.

    def f(A: T.Buffer((n,), "float32")):  ->  def __tvm_ffi_f(self_handle, args, num_args, result):
        body                                      assert num_args == 1, ...
                                                  A_handle = (DLTensor*) args[0]; assert ...
                                                  n = A_handle.shape[0]; A = A_handle.data
                                                  body
                                                  return 0

Arguments are checked in few words: how many there are, and of which kind. In
`MakeCheckedPackedAPI`, as compiled functions have it, all checks tell what was found, and numbers
have to fit their type. A returned value goes to `result`.

Functions without a symbol stay as they are (`MakeDirectAPI` says how they are called); a call of
one with a symbol becomes a packed call. `MakePackedAPI` asks for a target, and leaves functions
whose target has no host: these are lowered already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import BaseFunc, CallingConv
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PointerType, PrimType
from tvm.runtime.imports import FFI_PREFIX
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField, TypeIndex

from .argument_checks import ArgumentChecks
from .nodes_used import FUNCTION, nodes_used
from .number_checks import NumberChecks
from .plain_checks import PlainChecks
from .result_tensors import result_count, with_results

# Statements that enclose one another: passes visit them by recursion. Functions of more tensors
# have checks that follow one another.
_DEEPEST: Final = 200


@declare_module_pass("tir.MakePackedAPI")
def MakePackedAPI(mod: IRModule, ctx: PassContext) -> IRModule:
    """No host function with a symbol has buffers among its parameters afterwards."""
    return _all_packed(mod, found_values=False, lowered=_is_lowered)


@declare_module_pass("tir.MakePackedAPI")
def MakeCheckedPackedAPI(mod: IRModule, ctx: PassContext) -> IRModule:
    """The same, as compiled functions have it: all checks tell what was found."""
    return _all_packed(mod, found_values=True, lowered=lambda func: False)


def _is_lowered(func: PrimFunc) -> bool:
    """A function is lowered once it runs on its target, which has no host then."""
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        raise CheckError(
            message(
                f"MakePackedAPI of {func.attrs['global_symbol']}: MakePackedAPI required the "
                "function to be annotated with tvm::attr::kTarget",
                found="no attribute target",
                legal="run BindTarget first",
            )
        )
    return target.host is None


def _all_packed(
    mod: IRModule, *, found_values: bool, lowered: Callable[[PrimFunc], bool]
) -> IRModule:
    symbols = {
        var: str(func.attrs["global_symbol"])
        for var, func in mod.functions.items()
        if isinstance(func, PrimFunc)
        and func.attrs.get("global_symbol") is not None
        and func.attrs.get("calling_conv") is None
    }
    _require_distinct(symbols)
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            if FUNCTION in nodes_used(func.body):
                func = func.with_body(_CallsBySymbol(symbols).visit_stmt(func.body))
            stays = var not in symbols or lowered(func)
            functions[var] = func if stays else _packed(func, found_values)
        else:
            functions[var] = func
    return mod.with_functions(functions)


def _require_distinct(symbols: dict[GlobalVar, str]) -> None:
    owners: dict[str, GlobalVar] = {}
    for var, symbol in symbols.items():
        if symbol in owners:
            raise CheckError(
                message(
                    f"MakePackedAPI: functions {owners[symbol].name_hint} and {var.name_hint}",
                    found=f"both have the global_symbol {symbol!r}",
                    legal="symbols that tell the functions apart",
                )
            )
        owners[symbol] = var


class _CallsBySymbol(StmtExprMutator):
    """Calls of functions that become packed ones use their calling convention too."""

    def __init__(self, symbols: dict[GlobalVar, str]) -> None:
        super().__init__()
        self._symbols = symbols

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        symbol = self._symbols.get(call.op) if isinstance(call, e.Call) else None  # type: ignore[arg-type]
        if symbol is None or not isinstance(call, e.Call):
            return call
        return e.Call("int32", "tir.tvm_call_cpacked", (symbol, *call.args), call.span)


def _packed(func: PrimFunc, found_values: bool) -> PrimFunc:
    symbol = str(func.attrs["global_symbol"])
    handle = DataType("handle")
    self_handle, args = e.Var("self_handle", handle), e.Var("args", handle)
    num_args = e.Var("num_args", "int32")
    result = e.Var("result", PointerType(PrimType("void"), "global"))
    given = func.params[: len(func.params) - result_count(func)]
    buffers = {param: func.buffer_map[param] for param in given if param in func.buffer_map}
    checks: ArgumentChecks | NumberChecks
    if buffers or found_values:
        checks = _checks(symbol, args, num_args, given, buffers, _device_of(func), found_values)
    else:
        checks = NumberChecks(symbol, args, num_args, given)
    body = _Returner(result).visit_stmt(func.body)
    scope = e.StringImm(f"{symbol}_compute_")
    body = s.AttrStmt(ops.const(0, "int32"), "compute_scope", scope, body, func.span)
    number = checks.device_id if isinstance(checks, ArgumentChecks) else None
    body = with_results(func, result, body)
    if isinstance(checks, PlainChecks) or "Allocate" in nodes_used(func.body):
        body = _on_device(func, body, number)
    body = checks.around(s.SeqStmt.flatten(body, s.Evaluate(builtin.ret(0))))
    params = (self_handle, args, num_args, result)
    target = func.attrs.get("target")
    host = {"target": target.host} if isinstance(target, Target) and target.host else {}
    attrs = {
        **dict(func.attrs.items()),
        **host,
        "calling_conv": int(CallingConv.C_PACKED_FUNC),
        "global_symbol": symbol if symbol.startswith(FFI_PREFIX) else FFI_PREFIX + symbol,
    }
    return PrimFunc(params, body, PrimType("int32"), {}, attrs, func.span)


def _checks(
    symbol: str, args: e.Var, num_args: e.Var, given: Sequence[e.Var],
    buffers: dict[e.Var, Buffer], device: int, found_values: bool,
) -> ArgumentChecks:  # fmt: skip
    if not found_values:
        plain = PlainChecks(symbol, args, given, buffers, device)
        plain.bind(num_args)
        if plain.depth <= _DEEPEST:
            return plain
    checks = ArgumentChecks(symbol, args, given, buffers, device)
    checks.bind(num_args)
    return checks


def _device_of(func: PrimFunc) -> int:
    """The type of the device that the function's tensors are on."""
    target = func.attrs.get("target")
    return target.get_target_device_type() if isinstance(target, Target) else 1


def _on_device(func: PrimFunc, body: s.Stmt, number: PrimExpr | None) -> s.Stmt:
    """The body with the facts about the device that tensors are on, and workspaces taken from."""
    kind, zero = ops.const(_device_of(func), "int32"), ops.const(0, "int32")
    for key, value in (("device_type", kind), ("device_id", zero if number is None else number)):
        body = s.AttrStmt("default", key, value, body, body.span)
    return body


class _Returner(StmtExprMutator):
    """Stores what the function returns in the result slot that the caller gives."""

    def __init__(self, result: e.Var) -> None:
        super().__init__()
        self._result = result

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        call = op.value
        if not e.is_call_of(call, "tir.ret"):
            return op
        done = s.Evaluate(builtin.ret(0), op.span)
        if not call.args:
            return done
        index, value = _as_any(call.args[0])
        return self._store(index, value, done)

    def _store(self, index: TypeIndex, value: PrimExpr, done: s.Stmt) -> s.Stmt:
        fields = (
            (StructField.ANY_TYPE_INDEX, ops.const(int(index), "int32")),
            (StructField.ANY_ZERO_PADDING, ops.const(0, "int32")),
            (StructField.ANY_UNION_VALUE, value),
        )
        stores = [
            s.Evaluate(builtin.tvm_struct_set(self._result, 0, int(field), content))
            for field, content in fields
        ]
        return s.SeqStmt.flatten(stores, done)


def _as_any(value: PrimExpr) -> tuple[TypeIndex, PrimExpr]:
    """The kind of a value, and its 64-bit form."""
    dtype = value.dtype
    if dtype.is_bool:
        return TypeIndex.BOOL, e.Cast("int64", value)
    if dtype.is_integer:
        return TypeIndex.INT, e.Cast("int64", value)
    if dtype.is_floating:
        return TypeIndex.FLOAT, e.Cast("float64", value)
    if ops.literal(value) == 0:
        return TypeIndex.NONE, value
    return TypeIndex.OPAQUE_PTR, value
