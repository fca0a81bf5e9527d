"""Operators by name, and the rules that users hang on them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final

from tvm.error import TVMError
from tvm.ffi import register_global_func
from tvm.ir.expr import OPERATORS
from tvm.ir.op import OPS, register_op_attr
from tvm.ir.op import Op as Op
from tvm.relax import op as R
from tvm.relay.expr import Call

from . import declare, relations
from .strategies import OpImplementation as OpImplementation
from .strategies import OpSpecialization as OpSpecialization
from .strategies import OpStrategy as OpStrategy
from .strategies import register_broadcast_schedule as register_broadcast_schedule
from .strategies import register_compute as register_compute
from .strategies import register_injective_schedule as register_injective_schedule
from .strategies import register_reduce_schedule as register_reduce_schedule
from .strategies import register_schedule as register_schedule
from .strategies import register_shape_func as register_shape_func
from .strategies import register_strategy as register_strategy


def get(op_name: str) -> Op:
    """The operator called `op_name`."""
    return Op.get(op_name)


def register(op_name: str, describe: str = "") -> Op:
    """A new operator, without any rule yet; a TVMError if there is one of this name."""
    try:
        return OPS.register(op_name, Op(op_name, describe), depth=2)
    except KeyError as error:
        raise TVMError(f"Operator {op_name} is registered before\n  {error.args[0]}") from None


def _add_type_rel(op: Op, rel_name: str, func: Callable[..., Any] | None) -> None:
    rule = _RELATIONS.get(rel_name)
    if func is not None:
        own = func
        rule = lambda ctx: own(ctx.types, ctx.call.attrs)  # noqa: E731
    if rule is None:
        raise TVMError(
            f"add_type_rel: no relation {rel_name!r}; legal: {', '.join(_RELATIONS)}, or a function"
        )
    op.reset_attr("FRelayType")
    op.set_attr("FRelayType", rule)


_RELATIONS: Final[dict[str, Any]] = {
    "Identity": relations.identity, "Broadcast": relations.broadcast,
    "BroadcastComp": relations.compare,
}  # fmt: skip
OPERATORS["relay"]["add_type_rel"] = _add_type_rel


def debug(expr: Any, debug_func: Callable[..., Any] | None = None) -> Call:
    """`expr` as it is; when it is computed by steps, `debug_func` sees its value."""
    if debug_func is None:
        return _debug(expr, "")  # type: ignore[no-any-return]
    look = debug_func
    name = f"debugger_func{next(_DEBUGGERS)}"

    def show(value: Any) -> Any:
        look(value)
        return value

    register_global_func(name, show)
    made: Call = _debug(expr, name)
    return made


_DEBUGGERS: Final = count()


def _seen(bb: Any, x: Any, *, debug_func: str) -> Any:
    if not debug_func:
        return x
    return R.call_pure_packed(debug_func, x, sinfo_args=[x.struct_info])


@declare.relay_op("debug", "DebugAttrs", operands=("code",), relation=lambda ctx: ctx.types[0],
                  level=1, lower=_seen)  # fmt: skip
def _debug(code: Any, debug_func: str = "") -> Call:
    """A value that is shown on the way."""
    made: Call = _debug.call(code, debug_func=debug_func)
    return made


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Say whether calls of an operator have effects."""
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


class OpPattern:
    """How an operator may be fused with its neighbours."""

    ELEMWISE = declare.ELEMWISE
    BROADCAST = declare.BROADCAST
    INJECTIVE = declare.INJECTIVE
    COMM_REDUCE = declare.COMM_REDUCE
    OUT_ELEMWISE_FUSABLE = declare.OUT_FUSABLE
    TUPLE = declare.TUPLE
    OPAQUE = declare.OPAQUE


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, tinfos, out_type)` that gives a call another layout."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, tinfos, desired_layouts)` for a wanted layout."""
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(
    op_name: str, infer_layout: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule `f(attrs, new_in_layouts, old_in_layouts, old_in_types)` about layouts.

    It gives a `relay.transform.infer_layout_utils.InferCorrectLayoutOutput`.
    """
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, types)` that writes a call in other operators."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_pattern(op_name: str, pattern: int, level: int = 10) -> Any:
    """Set how an operator may be fused."""
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_gradient(
    op_name: str, fgradient: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule `f(orig, grad)` for the gradients of the operands."""
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_mixed_precision_conversion(
    op_name: str, func: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule `f(call, dtype)` that says what mixed precision does with an operator."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_fake_quantization_to_integer(
    op_name: str, func: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule `f(expr, type_map)` that computes an operator on quantized integers."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(
    op_name: str, func: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """As `register_fake_quantization_to_integer`, for operators that are asked for by name."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)


def register_external_compiler(
    op_name: str, fexternal: Callable[..., Any] | None = None, level: int = 10
) -> Any:
    """Set the rule that hands an operator to an outside compiler."""
    return register_op_attr(op_name, "FTVMExternalCompiler", fexternal, level)
