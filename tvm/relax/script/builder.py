"""The builder functions of `R` for functions, blocks, bindings and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm.error import ScriptError, TVMError
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.relax.expr import Tuple, Var, VarBinding, convert_to_expr
from tvm.relax.struct_info_rules import BaseCheckResult, base_check
from tvm.script.ir_builder.base import IRBuilder
from tvm.script.ir_dialect.frame import IRModuleFrame

from . import frames as f
from .proxies import as_struct_info

# --- functions ---


def function(is_pure: bool = True, is_private: bool = False) -> f.FunctionFrame:
    """A function."""
    return f.FunctionFrame(is_pure, is_private)


def _function_frame(asked: str) -> f.FunctionFrame:
    frame = IRBuilder.current().find(f.FunctionFrame)
    if frame is None:
        raise ScriptError(f"{asked} needs to be under R.function()")
    return frame


def arg(name: str, struct_info: StructInfo) -> Var:
    """A parameter."""
    var = Var(name, as_struct_info(struct_info), IRBuilder.current().span)
    _function_frame("R.arg").params.append(var)
    return var


def func_name(name: str) -> None:
    """Name the function."""
    frame = _function_frame("R.func_name")
    if frame.name is not None:
        raise ValueError(f"Duplicate function name, previous one is: {frame.name}")
    frame.name = name


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Give the function attributes."""
    frame = _function_frame("R.func_attr")
    for key, value in attrs.items():
        if key == "global_symbol" and frame.is_private:
            raise ValueError(
                'A private function may not have the kGlobalSymbol ("global_symbol") attribute; '
                "remove it, or the option private=True"
            )
        if key in frame.attrs:
            raise ValueError(f"Duplicate function attr {key!r}")
        frame.attrs[key] = value


def func_ret_struct_info(ret_sinfo: StructInfo) -> None:
    """Say what the function returns."""
    frame = _function_frame("R.func_ret_struct_info")
    if frame.ret_struct_info is not None:
        raise ValueError(f"Duplicate return type, previous one is: {frame.ret_struct_info}")
    frame.ret_struct_info = as_struct_info(ret_sinfo)


def func_ret_value(value: RelaxExpr) -> None:
    """The function's value; nothing may follow.

    In a dataflow block at the end of the function it is what the block gives.
    """
    frame = IRBuilder.current().last_frame()
    if isinstance(frame, f.BlockFrame) and frame.is_dataflow:
        frame.give(f.ready_to_emit().normalize_argument(convert_to_expr(value)))
        return
    if not isinstance(frame, f.FunctionFrame):
        raise ScriptError("the return of a Relax function stands at the end of its body")
    if frame.output is not None:
        raise ScriptError(
            "Relax functions don't support multiple return statement. Please make sure "
            "the return statement appears at the end of function."
        )
    builder = f.ready_to_emit()
    frame.output = builder.normalize_argument(convert_to_expr(value))


# --- blocks ---


def dataflow() -> f.BlockFrame:
    """A dataflow block."""
    return f.BlockFrame(is_dataflow=True)


def output(*vars: Var | Tuple) -> None:
    """The variables of a dataflow block that are seen outside of it.

    Those of a tuple count one by one, so `R.output(R.tuple())` lets none be seen.
    """
    frame = IRBuilder.current().frames[-1] if IRBuilder.current().frames else None
    if not isinstance(frame, f.BlockFrame):
        raise ScriptError("R.output needs to be under `with R.dataflow():`")
    frame.output([v for given in vars for v in _fields(given)])


def _fields(value: Var | Tuple) -> tuple[RelaxExpr, ...]:
    return value.fields if isinstance(value, Tuple) else (value,)


def SeqExpr() -> f.SeqExprFrame:
    """A sequence."""
    return f.SeqExprScope()


def If(condition: Any) -> f.IfFrame:
    """A choice."""
    return f.IfFrame(convert_to_expr(condition))


def Then() -> f.ThenFrame:
    """The branch of R.If for a condition that holds."""
    return f.ThenFrame()


def Else() -> f.ElseFrame:
    """The branch of R.If for a condition that does not hold."""
    return f.ElseFrame()


# --- bindings ---


def emit(value: Any, annotate_struct_info: StructInfo | None = None) -> Var:
    """Bind a value to a new variable.

    An annotation tells of a new call what it is; of a value that is known it may say less, and is
    only compared.
    """
    builder = f.ready_to_emit()
    expr = convert_to_expr(value)
    if annotate_struct_info is not None:
        info = as_struct_info(annotate_struct_info)
        found = expr.struct_info_
        if found is None:
            expr.struct_info_ = info
        elif base_check(info, found) is BaseCheckResult.FAIL_L0:
            raise TVMError(
                f"Invalid annotation. Got rhs value struct info: {found}, given struct info: {info}"
            )
    var = builder.emit(expr)
    if var.span is None:
        var.span = IRBuilder.current().span
    f.note_emitted(var)
    return var


def emit_match_cast(value: Any, struct_info: StructInfo) -> Var:
    """Bind a value that is checked at run time to be what the struct info says."""
    builder = f.ready_to_emit()
    var = builder.match_cast(convert_to_expr(value), as_struct_info(struct_info))
    f.note_emitted(var)
    return var


def emit_var_binding(value: VarBinding) -> Var:
    """Add a finished binding."""
    builder = f.ready_to_emit()
    builder.emit_normalized(value)
    f.note_emitted(value.var)
    return value.var


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> RelaxExpr:
    """A call of the TIR function that `func` computes; the function joins the module."""
    builder = f.ready_to_emit()
    before = set(builder.get().functions)
    call = builder.call_te(func, *args, **kwargs)
    module = IRBuilder.current().find(IRModuleFrame)
    for var, made in builder.get().functions.items():
        if var not in before and module is not None:
            module.adopt(var, made)
    return call
