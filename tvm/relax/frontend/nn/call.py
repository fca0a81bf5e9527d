"""Calls out of a network: of TIR, of tensor expressions, of functions outside, for debugging."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax as rx
from tvm import tir
from tvm.error import message
from tvm.relax.struct_info import ObjectStructInfo
from tvm.tir.function import PrimFunc

from .core import Object, Tensor, _builder, wrap_nested


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any],
    name_hint: str,
    args: list[Any],
    *,
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Build a tensor expression over the arguments, and call it.

    `tensor_expr_func` takes `te.Tensor` where arguments are tensors. `attrs` go to the function.
    """
    given = [arg._expr if isinstance(arg, Tensor) else arg for arg in args]
    made = _builder().emit_te(
        tensor_expr_func, *given, primfunc_name_hint=name_hint, primfunc_attrs=attrs
    )
    return wrap_nested(made, name_hint)


def tensor_ir_op(func: PrimFunc, name_hint: str, args: Any, out: Any) -> Any:
    """Call a function of TIR: tensors, then integers or shapes; `out` is what it gives.

    `out` is a `Tensor` (`Tensor.placeholder`), or a list or tuple of them. A public function keeps
    its name in the module, a private one is called `name_hint`.
    """
    bb = _builder()
    tensors, tir_vars = _tir_arguments(args)
    gvar = bb.add_func(func, name_hint)
    call = rx.op.call_tir(gvar, tensors, _out_info(out), tir_vars=tir_vars or None)
    return wrap_nested(bb.emit(call), name_hint)


def tensor_ir_inplace_op(
    func: PrimFunc, name_hint: str, args: Any, inplace_indices: int | list[int], out: Any
) -> Any:
    """As `tensor_ir_op`; results are written over the arguments at `inplace_indices`."""
    bb = _builder()
    tensors, tir_vars = _tir_arguments(args)
    gvar = bb.add_func(func, name_hint)
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    call = rx.op.call_tir_inplace(gvar, tensors, indices, _out_info(out), tir_vars=tir_vars)
    return wrap_nested(bb.emit(call), name_hint)


def extern(name: str, args: Sequence[Any], out: Any) -> Any:
    """Call a function that is registered under a name, with results as its last arguments.

    Arguments are tensors, integers, floats, strings; `out` is a `Tensor`, or a list of them.
    """
    parts = args if isinstance(args, (list, tuple)) else [args]
    given = [to_expr(arg, f"argument {i} of {name}") for i, arg in enumerate(parts)]
    return wrap_nested(rx.op.call_dps_packed(name, given, _out_info(out)), name)


def debug_func(name: str, *args: Any, _line_info: str | None = None) -> None:
    """Call a registered function with a source location and values, while the network runs.

    Only in an export with `debug=True`. Arguments are tensors, integers, floats, strings.
    """
    from .exporter import Exporter
    from .io_effect import IOEffect

    io = Exporter.current().io_effect
    if io is None:
        raise RuntimeError(
            message("debug_func", found="an export without debugging",
                    legal="export_tvm(..., debug=True)")
        )  # fmt: skip
    assert isinstance(io, IOEffect), "the exporter has this one"
    effect = io.effect
    assert effect is not None, "it is set while a function is built"
    where = _line_info or _caller()
    given = [to_expr(arg, f"argument {i} of {name}", "float32") for i, arg in enumerate(args)]
    call = rx.op.call_pure_packed(
        "vm.builtin.invoke_debug_func", effect, rx.StringImm(name), rx.StringImm(where), *given,
        sinfo_args=[ObjectStructInfo()],
    )  # fmt: skip
    io.effect = _builder().emit(call, effect.name_hint)


def print_(tensor: Tensor) -> None:
    """Print a tensor while the network runs."""
    debug_func("vm.builtin.debug_print", tensor, _line_info=_caller())


def _caller() -> str:
    """Where the user's line is: out of this file."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return "unknown" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


# --- arguments and results ---


def to_expr(arg: Any, what: str, float_dtype: str = "float64") -> rx.Expr:
    """An argument as an expression; truth values are the numbers 0 and 1."""
    if isinstance(arg, (Tensor, Object)):
        return arg._expr
    if not isinstance(arg, (int, float, str, tir.PrimExpr, rx.Expr, tuple, list)):
        raise TypeError(
            message(what, found=f"{type(arg).__name__}",
                    legal="nn.Tensor, an integer expression, int, float, str, or a tuple of such")
        )  # fmt: skip
    if isinstance(arg, (tuple, list)):
        parts = enumerate(arg)
        return rx.Tuple([to_expr(part, f"{what}, item {i}", float_dtype) for i, part in parts])
    if isinstance(arg, int):
        return rx.PrimValue(tir.IntImm("int64", int(arg)))
    if isinstance(arg, float):
        return rx.PrimValue(tir.FloatImm(float_dtype, arg))
    if isinstance(arg, str):
        return rx.StringImm(arg)
    return rx.PrimValue(arg) if isinstance(arg, tir.PrimExpr) else arg


def _tir_arguments(args: Any) -> tuple[list[rx.Expr], Any]:
    """Tensors, and the integers behind them."""
    tensors: list[rx.Expr] = []
    integers: list[Any] = []
    for arg in args if isinstance(args, (tuple, list)) else [args]:
        if isinstance(arg, Tensor):
            if integers:
                raise TypeError(
                    message("arguments of a function of TIR", found="a tensor behind integers",
                            legal="tensors first")
                )  # fmt: skip
            tensors.append(arg._expr)
        elif isinstance(arg, rx.ShapeExpr):
            integers.extend(arg.values)
        elif isinstance(arg, (int, tir.PrimExpr)):
            integers.append(int(arg) if isinstance(arg, bool) else arg)
        else:
            raise TypeError(
                message("arguments of a function of TIR", found=f"{type(arg).__name__}",
                        legal="nn.Tensor, then int, integer expressions or shapes")
            )  # fmt: skip
    return tensors, integers


def _out_info(out: Any) -> Any:
    """The struct info of results, as that of placeholders."""
    if isinstance(out, Tensor):
        return out._expr.struct_info
    if isinstance(out, (list, tuple)):
        return [_out_info(part) for part in out]
    raise TypeError(
        message("what a call gives", found=f"{type(out).__name__}",
                legal="Tensor.placeholder(shape, dtype), or a list or tuple of such")
    )  # fmt: skip

