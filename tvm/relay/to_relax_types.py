"""Types of Relay as struct info of Relax, and back; the type of a call from its meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.error import DiagnosticError, TVMError, message
from tvm.ir.expr import PrimExpr, StructInfo
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.type import TupleType, Type
from tvm.relax import BlockBuilder
from tvm.relax import Var as RelaxVar
from tvm.relax import op as R
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.target import Target
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import BinaryOpExpr, IntImm
from tvm.tir.expr import Var as TirVar
from tvm.tir.stmt_functor import substitute

from .expr import Call
from .op.declare import options_of
from .op.refusals import RAW, misfit, says_nothing
from .op.strategies import best_implementation, has_users_rule, users_implementations
from .text_printer import type_text
from .ty import Any as AnyDim
from .ty import TensorType


class NotFirstOrder(TVMError):
    """A program has values that are no tensors or tuples of them: there are no kernels for it."""


class Symbols:
    """Variables for extents that are known only at run time."""

    def __init__(self) -> None:
        self.made: set[TirVar] = set()
        # extents of other types than Relax has, and the variables that stand for them
        self.standing: list[tuple[PrimExpr, TirVar]] = []

    def info(self, found: Type) -> StructInfo:
        """The struct info of a type; each unknown extent gets a variable."""
        if isinstance(found, TensorType):
            return TensorStructInfo([self._dim(extent) for extent in found.shape], found.dtype)
        if isinstance(found, TupleType):
            return TupleStructInfo([self.info(field) for field in found.fields])
        raise NotFirstOrder(
            message("no tensor", found=type_text(found), legal="tensors and tuples of them")
        )

    def _dim(self, extent: Any) -> Any:
        if isinstance(extent, AnyDim):
            var = TirVar(f"any_{len(self.made)}", "int64")
            self.made.add(var)
            return var
        if isinstance(extent, IntImm):
            return int(extent.value)
        return extent if str(extent.dtype) == "int64" else self._stand_in(extent)

    def _stand_in(self, extent: PrimExpr) -> TirVar:
        for known, var in self.standing:
            if known is extent or structural_equal(known, extent):
                return var
        var = TirVar(getattr(extent, "name", f"extent_{len(self.standing)}"), "int64")
        self.standing.append((extent, var))
        return var

    def type(self, info: StructInfo) -> Type:
        """The type that a struct info says; extents of unknown ones are unknown."""
        if isinstance(info, TupleStructInfo):
            return TupleType([self.type(field) for field in info.fields])
        if not isinstance(info, TensorStructInfo):
            raise NotFirstOrder(f"{info} is no tensor; legal: tensors and tuples of them")
        if info.shape is None or not hasattr(info.shape, "values"):
            return TensorType([AnyDim() for _ in range(info.ndim)], str(info.dtype))
        return TensorType([self._extent(v) for v in info.shape.values], str(info.dtype))

    def _extent(self, value: Any) -> Any:
        if isinstance(value, IntImm):
            return int(value.value)
        inside = undefined_vars(value)
        if self.made & set(inside):
            return AnyDim()
        return _again({var: extent for extent, var in self.standing if var in inside}, value)


def _again(given: Mapping[TirVar, PrimExpr], value: PrimExpr) -> PrimExpr:
    """`value` with extents for the variables that stood for them, in the extents' own type."""
    if not given:
        return value
    if isinstance(value, TirVar):
        return given.get(value, value)
    if isinstance(value, BinaryOpExpr):
        a, b = _again(given, value.a), _again(given, value.b)
        wide = next(x.dtype for x in (a, b) if not isinstance(x, IntImm))
        a, b = (IntImm(wide, x.value) if isinstance(x, IntImm) else x for x in (a, b))
        return value.__class__(a, b)
    return substitute(value, {var: e.astype("int64") for var, e in given.items()})


def lowered(bb: BlockBuilder, call: Call, args: Sequence[Any]) -> Any:
    """What a call of an operator with a type means in Relax, for operands in Relax."""
    return _in_dtype_of(bb, _meaning(bb, call, args), call.checked_type_)


def _meaning(bb: BlockBuilder, call: Call, args: Sequence[Any]) -> Any:
    rule = call.op.get_attr("FRelayLower")  # type: ignore[attr-defined]
    if rule is None and call.op.get_attr("FRelayNumbers") is not None:  # type: ignore[attr-defined]
        raise NotFirstOrder(f"{call.op}: the shape of the result is a value of the program")
    if rule is None and has_users_rule(call.op):
        return bb.normalize(bb.call_te(_as_its_strategy_says(call), *args))
    if rule is None:
        name = getattr(call.op, "name", str(call.op))
        raise TVMError(
            message(
                f"{name}: the operator has no meaning in Relax",
                legal="operators of relay.op",
            )
        )
    return bb.normalize(rule(bb, *args, **options_of(call)))


def _in_dtype_of(bb: BlockBuilder, made: Any, found: Type | None) -> Any:
    """A tensor in the data type that the call's type says: sums of kernels may be wider."""
    info = getattr(made, "struct_info_", None)
    if not isinstance(found, TensorType) or not isinstance(info, TensorStructInfo):
        return made
    if not info.dtype or str(info.dtype) == str(found.dtype):
        return made
    return bb.normalize(R.astype(bb.normalize_argument(made), str(found.dtype)))


def _as_its_strategy_says(call: Call) -> Any:
    """The meaning of a user's operator: what its best implementation computes."""

    def compute(*tensors: Any) -> Any:
        assert isinstance(call.op, Op), "calls of operators are lowered"
        given, target = list(tensors), Target.current() or Target("llvm")
        found = users_implementations(call.op, call.attrs, given, call.checked_type_, target)
        made = best_implementation(found).compute(call.attrs, given, call.checked_type_)
        return made[0] if len(made) == 1 else made

    return compute


def type_by_meaning(call: Call, types: Sequence[Type]) -> Type:
    """The type of a call, found by writing it in Relax."""
    symbols = Symbols()
    params = [RelaxVar(f"x{at}", symbols.info(found)) for at, found in enumerate(types)]
    bb = BlockBuilder()
    bb.begin_scope(params)
    bb.begin_binding_block()
    try:
        made = _meaning(bb, call, params)  # what type the call had is asked for anew
    except DiagnosticError:
        raise
    except RAW as err:
        name = getattr(call.op, "name", str(call.op))
        shown = ", ".join(type_text(found) for found in types)
        if says_nothing(err):
            raise DiagnosticError(misfit(call.op, call.attrs, shown, err)) from err
        raise DiagnosticError(
            message(f"{name}: the operands do not fit", found=shown, legal=str(err))
        ) from err
    finally:
        bb.end_block()
        bb.end_scope()
    return symbols.type(made.struct_info)
