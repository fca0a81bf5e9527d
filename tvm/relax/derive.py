"""What a call returns, from the signature of its callee.

Symbols of the parameters are matched with the arguments' extents, and replaced in the result:

    f: (Tensor((n, m))) -> Tensor((m, n))       f(x: Tensor((4, k)))  is  Tensor((k, 4))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tvm.arith import Analyzer
from tvm.error import CheckError, message
from tvm.ffi import get_global_func, register_global_func
from tvm.ir.env_func import EnvFunc
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.support.arguments import explained
from tvm.support.registry import Registry
from tvm.tir import expr as tir

from .expr import INFER_BY_SINFO_ARGS, Call
from .struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .struct_info_rules import BaseCheckResult, base_check, map_struct_info, substitute_struct_info

if TYPE_CHECKING:
    from .block_builder import BlockBuilder

Deriver: TypeAlias = Callable[[Call, Any], StructInfo]
# Rules for the results of opaque functions, by the name that scripts and JSON carry.
DERIVERS: Final[Registry[Deriver]] = Registry(
    "derivation rule", "tvm.relax", "tvm.relax.op.memory.view"
)


def infer_by_sinfo_args(call: Call, ctx: object) -> StructInfo:
    """What the caller said: nothing, one struct info, or several for a tuple."""
    infos = call.sinfo_args
    if not infos:
        return ObjectStructInfo()
    return infos[0] if len(infos) == 1 else TupleStructInfo(infos)


DERIVERS.register(INFER_BY_SINFO_ARGS, infer_by_sinfo_args)
register_global_func(INFER_BY_SINFO_ARGS, infer_by_sinfo_args)


@explained
def derive_call_ret_struct_info(
    func_sinfo: StructInfo, call: Call, ctx: BlockBuilder | None = None
) -> StructInfo:
    """The struct info of `call`, whose callee has the struct info `func_sinfo`."""
    if not isinstance(func_sinfo, FuncStructInfo):
        raise CheckError(f"the callee {call.op} is no function: its struct info is {func_sinfo}")
    if func_sinfo.derive_func is not None:
        derive = func_sinfo.derive_func
        return _deriver(derive)(call, ctx)
    if func_sinfo.params is None:
        return func_sinfo.ret
    analyzer = None if ctx is None else ctx.analyzer
    dims = match_arguments(func_sinfo, call, analyzer)
    return map_struct_info(func_sinfo.ret, dims.get, lambda expr: None, analyzer)


def _deriver(derive: EnvFunc | Deriver) -> Deriver:
    """A rule, or the one with that name; a global function of a user is a rule as well."""
    if not isinstance(derive, EnvFunc):
        return derive
    name = derive.name
    found: Deriver | None = DERIVERS.find(name) or get_global_func(name, allow_missing=True)
    return DERIVERS.get(name) if found is None else found


def match_arguments(
    func_sinfo: FuncStructInfo, call: Call, analyzer: Analyzer | None
) -> dict[tir.Var, PrimExpr]:
    """What each symbol of the parameters is for this call; an error if an argument cannot fit."""
    params = func_sinfo.params or ()
    if len(params) != len(call.args):
        raise CheckError(
            message(
                f"number of arguments and parameters mismatch in the call of {_name(call.op)}",
                found=f"{len(call.args)} arguments: {', '.join(_text(a) for a in call.args)}",
                legal=f"{len(params)} arguments: {', '.join(str(p) for p in params)}",
            )
        )
    dims: dict[tir.Var, PrimExpr] = {}
    for index, (param, arg) in enumerate(zip(params, call.args)):
        info = arg.struct_info
        bind_symbols(param, info, dims)
        expected = substitute_struct_info(param, dims) if dims else param
        # extents are checked as the program runs; rank and type have to be known (match_cast)
        if base_check(expected, info, analyzer) <= BaseCheckResult.FAIL_L1:
            raise CheckError(
                message(
                    f"argument {index} of {_name(call.op)}: type mismatch",
                    found=f"{_text(arg)} is {info}",
                    legal=str(param) if expected is param else f"{param}, here {expected}",
                )
            )
    return dims


def bind_symbols(param: StructInfo, arg: StructInfo, dims: dict[tir.Var, PrimExpr]) -> None:
    """Note in `dims` the extent that each symbol standing alone in `param` has in `arg`."""
    if isinstance(param, TupleStructInfo) and isinstance(arg, TupleStructInfo):
        for a, b in zip(param.fields, arg.fields):
            bind_symbols(a, b, dims)
        return
    if isinstance(param, PrimStructInfo) and isinstance(arg, PrimStructInfo):
        if isinstance(param.value, tir.Var) and arg.value is not None:
            dims.setdefault(param.value, arg.value)
        return
    shaped = (TensorStructInfo, ShapeStructInfo)
    if isinstance(param, shaped) and isinstance(arg, shaped):
        for extent, value in zip(param.values or (), arg.values or ()):
            if isinstance(extent, tir.Var):
                dims.setdefault(extent, value)


def _name(callee: RelaxExpr) -> str:
    name = getattr(callee, "name_hint", None) or getattr(callee, "global_symbol", None)
    return str(name) if name else "the function"


def _text(arg: RelaxExpr) -> str:
    return str(getattr(arg, "name_hint", arg))
