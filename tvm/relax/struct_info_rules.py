"""Questions about struct infos: is one more general, what do two share, what may be hoisted.

All of them treat symbolic extents as expressions: equality is proved, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final

from tvm.arith import Analyzer
from tvm.ir.env_func import EnvFunc
from tvm.ir.expr import OPERATORS, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.structural import structural_equal
from tvm.ir.type import FuncType, PrimType, TupleType, Type
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir import expr as tir
from tvm.tir.functor import StmtExprMutator, walk

from .distributed.struct_info import DTensorStructInfo
from .shape_math import same_extent, simplify
from .struct_info import (
    VOID,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    dim,
)
from .type import ObjectType, PackedFuncType, ShapeType, TensorType

# What a variable of a shape, or a Relax variable that holds a shape, may be replaced by; None for
# a variable that is not defined where the result will stand.
DimOf = Callable[[tir.Var], "PrimExpr | None"]
ExprOf = Callable[[RelaxExpr], "RelaxExpr | None"]


class BaseCheckResult(IntEnum):
    """How a struct info relates to one that should be more general."""

    FAIL_L0 = 0  # no value is described by both
    FAIL_L1 = 1  # kinds or dtypes may agree at run time, and must be checked there
    FAIL_L2 = 2  # only the shape is open, and must be checked at run time
    PASS = 3


_L0: Final = BaseCheckResult.FAIL_L0
_L1: Final = BaseCheckResult.FAIL_L1
_L2: Final = BaseCheckResult.FAIL_L2
_PASS: Final = BaseCheckResult.PASS


# --- is one more general than the other ---


def base_check(
    base: StructInfo, derived: StructInfo, analyzer: Analyzer | None = None
) -> BaseCheckResult:
    """How well `base` covers everything that `derived` describes."""
    if base is derived or isinstance(base, ObjectStructInfo):
        return _PASS
    if isinstance(derived, ObjectStructInfo):
        return _L1
    if isinstance(base, TensorStructInfo):
        return _check_tensor(base, derived, analyzer)
    if type(base) is not type(derived):
        return _L0
    if isinstance(base, DTensorStructInfo) and isinstance(derived, DTensorStructInfo):
        return _check_distributed(base, derived, analyzer)
    if isinstance(base, ShapeStructInfo) and isinstance(derived, ShapeStructInfo):
        return _check_shape(base, derived, analyzer)
    if isinstance(base, PrimStructInfo) and isinstance(derived, PrimStructInfo):
        return _check_prim(base, derived, analyzer)
    if isinstance(base, TupleStructInfo) and isinstance(derived, TupleStructInfo):
        return _check_all(base.fields, derived.fields, analyzer)
    if isinstance(base, FuncStructInfo) and isinstance(derived, FuncStructInfo):
        return _check_func(base, derived, analyzer)
    return _PASS if structural_equal(base, derived) else _L0


def is_base_of(base: StructInfo, derived: StructInfo, analyzer: Analyzer | None = None) -> bool:
    """True when every value that `derived` describes is described by `base` too."""
    return base_check(base, derived, analyzer) is _PASS


def result_after_rewrite(declared: StructInfo, found: StructInfo) -> StructInfo | None:
    """What a function with a new body says of its result; None for what the body itself gives.

    A body that came to tell less keeps the declaration; one that tells more, or otherwise, wins.
    """
    return declared if is_base_of(found, declared) else None


def _check_extents(
    base: Sequence[PrimExpr], derived: Sequence[PrimExpr], analyzer: Analyzer | None
) -> BaseCheckResult:
    if len(base) != len(derived):
        return _L0
    result = _PASS
    for a, b in zip(base, derived):
        if same_extent(a, b, analyzer):
            continue
        if isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm):
            return _L0
        result = _L2  # of symbols the program tells as it runs, even where n is no n + 1
    return result


def _check_tensor(
    base: TensorStructInfo, derived: StructInfo, analyzer: Analyzer | None
) -> BaseCheckResult:
    if not isinstance(derived, TensorStructInfo):
        return _L0
    if base.dtype is not derived.dtype and base.dtype is not VOID:
        return _L1 if derived.dtype is VOID else _L0
    if base.ndim not in (-1, derived.ndim):
        return _L1 if derived.ndim == -1 else _L0
    if base.vdevice is not None and base.vdevice is not derived.vdevice:
        if derived.vdevice is None:
            return _L1
        if not structural_equal(base.vdevice, derived.vdevice):
            return _L0
    if base.shape is None or base.shape is derived.shape:
        return _PASS
    if derived.shape is None:
        return _L2
    if base.values is None or derived.values is None:
        return _L2
    return _check_extents(base.values, derived.values, analyzer)


def _check_distributed(
    base: DTensorStructInfo, derived: DTensorStructInfo, analyzer: Analyzer | None
) -> BaseCheckResult:
    same_placement = structural_equal(base.device_mesh, derived.device_mesh) and structural_equal(
        base.placement, derived.placement
    )
    if not same_placement:
        return _L1  # a redistribution may bring it there
    return _check_tensor(base.tensor_sinfo, derived.tensor_sinfo, analyzer)


def _check_shape(
    base: ShapeStructInfo, derived: ShapeStructInfo, analyzer: Analyzer | None
) -> BaseCheckResult:
    if base.ndim == -1:
        return _PASS
    if derived.ndim == -1:
        return _L1
    if base.ndim != derived.ndim:
        return _L0
    if base.values is None:
        return _PASS
    if derived.values is None:
        return _L2
    return _check_extents(base.values, derived.values, analyzer)


def _check_prim(
    base: PrimStructInfo, derived: PrimStructInfo, analyzer: Analyzer | None
) -> BaseCheckResult:
    if base.dtype is not derived.dtype:
        return _L0
    if base.value is None:
        return _PASS
    if derived.value is None:
        return _L2
    return _check_extents([base.value], [derived.value], analyzer)


def _check_all(
    base: Sequence[StructInfo], derived: Sequence[StructInfo], analyzer: Analyzer | None
) -> BaseCheckResult:
    if len(base) != len(derived):
        return _L0
    result = _PASS
    for a, b in zip(base, derived):
        result = min(result, base_check(a, b, analyzer))
        if result is _L0:
            break
    return result


def _same_rule(a: FuncStructInfo, b: FuncStructInfo) -> bool:
    """Whether two opaque functions have one derivation rule."""
    rules = (a.derive_func, b.derive_func)
    one, other = (rule.name if isinstance(rule, EnvFunc) else rule for rule in rules)
    return one == other


def _check_func(
    base: FuncStructInfo, derived: FuncStructInfo, analyzer: Analyzer | None
) -> BaseCheckResult:
    if base.purity and not derived.purity:
        return _L0
    if base.derive_func is not None:
        return _PASS if _same_rule(base, derived) else _L2
    if base.params is None:
        return base_check(base.ret, derived.ret, analyzer)
    if derived.params is None:
        return _L2
    if structural_equal(base, derived):
        return _PASS
    found = _check_all(base.params, derived.params, analyzer)
    found = _L2 if found is _L1 else found  # what parameters accept shows when they are given
    return found if found is _L0 else min(found, base_check(base.ret, derived.ret, analyzer))


# --- what two have in common ---


def common_struct_info(
    lhs: StructInfo, rhs: StructInfo, analyzer: Analyzer | None = None
) -> StructInfo:
    """The most precise struct info that describes what either describes."""
    a, b = lhs, rhs
    if a is b:
        return a
    if isinstance(a, TensorStructInfo) and isinstance(b, TensorStructInfo):
        return _common_tensor(a, b, analyzer)
    if isinstance(a, ShapeStructInfo) and isinstance(b, ShapeStructInfo):
        if _check_shape(a, b, analyzer) is _PASS and a.values is not None:
            return a
        return ShapeStructInfo(ndim=a.ndim if a.ndim == b.ndim else -1)
    if isinstance(a, PrimStructInfo) and isinstance(b, PrimStructInfo) and a.dtype is b.dtype:
        same = a.value is not None and _check_prim(a, b, analyzer) is _PASS
        return a if same or a.value is None else PrimStructInfo(a.dtype)
    if isinstance(a, TupleStructInfo) and isinstance(b, TupleStructInfo):
        if len(a.fields) != len(b.fields):
            return ObjectStructInfo()
        parts = [common_struct_info(x, y, analyzer) for x, y in zip(a.fields, b.fields)]
        return a if _same_objects(parts, a.fields) else TupleStructInfo(parts)
    if isinstance(a, FuncStructInfo) and isinstance(b, FuncStructInfo):
        return _common_func(a, b, analyzer)
    if type(a) is type(b) and structural_equal(a, b):
        return a
    return ObjectStructInfo()


def _common_tensor(
    a: TensorStructInfo, b: TensorStructInfo, analyzer: Analyzer | None
) -> TensorStructInfo:
    dtype = a.dtype if a.dtype is b.dtype else VOID
    ndim = a.ndim if a.ndim == b.ndim else -1
    same_device = a.vdevice is b.vdevice or (
        a.vdevice is not None and b.vdevice is not None and structural_equal(a.vdevice, b.vdevice)
    )
    vdevice = a.vdevice if same_device else None
    same_shape = a.shape is b.shape or (
        a.values is not None
        and b.values is not None
        and _check_extents(a.values, b.values, analyzer) is _PASS
    )
    if same_shape and dtype is a.dtype and vdevice is a.vdevice and ndim == a.ndim:
        return a
    if same_shape and a.shape is not None:
        return TensorStructInfo(a.shape, dtype, vdevice)
    return TensorStructInfo(None, dtype, vdevice, ndim)


def _common_func(a: FuncStructInfo, b: FuncStructInfo, analyzer: Analyzer | None) -> StructInfo:
    """Parameters too by what they have in common: a function looks at its arguments when called."""
    purity = a.purity and b.purity
    if structural_equal(a, b):
        return a
    if a.derive_func is not None and _same_rule(a, b):
        return FuncStructInfo.opaque_func(derive_func=a.derive_func, purity=purity)
    ret = common_struct_info(a.ret, b.ret, analyzer)
    if a.params is None or b.params is None or len(a.params) != len(b.params):
        return FuncStructInfo.opaque_func(ret=ret, purity=purity)
    params = [common_struct_info(x, y, analyzer) for x, y in zip(a.params, b.params)]
    return FuncStructInfo(params, ret, purity)


# --- symbols ---


def shape_exprs(info: StructInfo) -> Iterator[PrimExpr]:
    """The extents and values in a struct info, signatures of functions included."""
    if isinstance(info, (TensorStructInfo, ShapeStructInfo)):
        if info.values is not None:
            yield from info.values
    elif isinstance(info, PrimStructInfo):
        if info.value is not None:
            yield info.value
    elif isinstance(info, TupleStructInfo):
        for field in info.fields:
            yield from shape_exprs(field)
    elif isinstance(info, DTensorStructInfo):
        yield from shape_exprs(info.tensor_sinfo)
    elif isinstance(info, FuncStructInfo):
        for param in info.params or ():
            yield from shape_exprs(param)
        yield from shape_exprs(info.ret)


def tir_vars_in(exprs: Iterator[PrimExpr] | Sequence[PrimExpr]) -> list[tir.Var]:
    """The variables of the expressions, each once, in order of appearance."""
    found: dict[tir.Var, None] = {}
    for expr in exprs:
        if isinstance(expr, tir.Var):
            found.setdefault(expr)
        elif not isinstance(expr, tir.IntImm):
            for node in walk(expr):
                if isinstance(node, tir.Var):
                    found.setdefault(node)
    return list(found)


def tir_vars_in_struct_info(sinfo: StructInfo) -> list[tir.Var]:
    """The symbolic variables that appear in a struct info, each once."""
    return tir_vars_in(shape_exprs(sinfo))


@explained
def definable_tir_vars_in_struct_info(sinfo: StructInfo) -> list[tir.Var]:
    """The variables that a value of this struct info defines: extents that are one variable.

    Those of a function are what its parameters define.
    """
    found: dict[tir.Var, None] = {}
    stack: list[StructInfo] = [sinfo]
    while stack:
        info = stack.pop()
        if isinstance(info, TupleStructInfo):
            stack.extend(reversed(info.fields))
        elif isinstance(info, FuncStructInfo):
            stack.extend(reversed(info.params or ()))
        else:
            found.update({expr: None for expr in shape_exprs(info) if isinstance(expr, tir.Var)})
    return list(found)


@explained
def collect_non_negative_expressions(sinfo: StructInfo) -> list[PrimExpr]:
    """The extents of symbols in a struct info, which are never negative; each once."""
    found: list[PrimExpr] = []
    stack: list[StructInfo] = [sinfo]
    while stack:
        info = stack.pop()
        if isinstance(info, TupleStructInfo):
            stack.extend(reversed(info.fields))
        elif isinstance(info, FuncStructInfo):
            stack.extend(reversed([*(info.params or ()), info.ret]))
        elif isinstance(info, (TensorStructInfo, ShapeStructInfo)):
            for expr in info.values or ():
                if not isinstance(expr, tir.IntImm) and not any(
                    structural_equal(expr, known) for known in found
                ):
                    found.append(expr)
    return found


# --- replacing and erasing symbols ---


class _Eraser(StmtExprMutator):
    """Replaces variables by what is known of them, and notes when one is not known."""

    def __init__(self, dim_of: DimOf) -> None:
        super().__init__()
        self.dim_of = dim_of
        self.undefined = False

    def visit_var_(self, op: tir.Var) -> PrimExpr:
        value = self.dim_of(op)
        if value is None:
            self.undefined = True
            return op
        return dim(value) if op.dtype == "int64" else value


def _extents(
    values: Sequence[PrimExpr], dim_of: DimOf, analyzer: Analyzer | None
) -> tuple[PrimExpr, ...] | None:
    """The extents in terms of known variables, or None when one is not known."""
    eraser = _Eraser(dim_of)
    found: list[PrimExpr] = []
    for value in values:
        if isinstance(value, tir.IntImm):
            found.append(value)
            continue
        new = eraser.visit_expr(value)
        if eraser.undefined:
            return None
        found.append(value if new is value else simplify(new, analyzer))
    return tuple(found)


def map_struct_info(
    info: StructInfo,
    dim_of: DimOf,
    expr_of: ExprOf,
    analyzer: Analyzer | None = None,
) -> StructInfo:
    """The struct info in terms of what the two functions know; what they do not know is erased.

    The same object when nothing changes.
    """
    if isinstance(info, TensorStructInfo):
        return _map_tensor(info, dim_of, expr_of, analyzer)
    if isinstance(info, ShapeStructInfo):
        if info.values is None:
            return info
        new = _extents(info.values, dim_of, analyzer)
        if new is None:
            return ShapeStructInfo(ndim=info.ndim, span=info.span)
        return info if _same_objects(new, info.values) else ShapeStructInfo(new, span=info.span)
    if isinstance(info, PrimStructInfo):
        if info.value is None:
            return info
        new = _extents([info.value], dim_of, analyzer)
        if new is None:
            return PrimStructInfo(info.dtype, span=info.span)
        return info if new[0] is info.value else PrimStructInfo(value=new[0], span=info.span)
    if isinstance(info, TupleStructInfo):
        parts = [map_struct_info(part, dim_of, expr_of, analyzer) for part in info.fields]
        return info if _same_objects(parts, info.fields) else TupleStructInfo(parts, info.span)
    if isinstance(info, DTensorStructInfo):
        tensor = _map_tensor(info.tensor_sinfo, dim_of, expr_of, analyzer)
        return info.with_tensor(tensor)
    return info  # a signature binds its own symbols


def _map_tensor(
    info: TensorStructInfo, dim_of: DimOf, expr_of: ExprOf, analyzer: Analyzer | None
) -> TensorStructInfo:
    shape = info.shape
    if shape is None:
        return info
    new: RelaxExpr | None
    if isinstance(shape, ShapeExpr):
        extents = _extents(shape.values, dim_of, analyzer)
        if extents is not None and _same_objects(extents, shape.values):
            return info
        new = None if extents is None else ShapeExpr(extents, shape.span)
    else:
        new = expr_of(shape)
        if new is shape:
            return info
    if new is None:
        return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim, info.span)
    return TensorStructInfo(new, info.dtype, info.vdevice, span=info.span)


def _same_objects(new: Sequence[object], old: Sequence[object]) -> bool:
    return all(a is b for a, b in zip(new, old))


@explained
def erase_to_well_defined(
    sinfo: StructInfo,
    shape_var_map: Mapping[tir.Var, PrimExpr] | None = None,
    var_map: Mapping[RelaxExpr, RelaxExpr] | None = None,
    analyzer: Analyzer | None = None,
) -> StructInfo:
    """The struct info as it may stand where only the variables of the maps are known.

    Symbols are replaced by their values; an extent that needs another symbol makes the shape
    unknown. Kind, number of dimensions and dtype stay. Raises TypeError for what is none.
    """
    if not isinstance(sinfo, StructInfo):
        raise TypeError(f"erase_to_well_defined: a struct info, found {sinfo!r}")
    dims = shape_var_map or {}
    exprs = var_map or {}
    return map_struct_info(sinfo, dims.get, exprs.get, analyzer)


def substitute_struct_info(info: StructInfo, dims: Mapping[tir.Var, PrimExpr]) -> StructInfo:
    """The struct info with symbols replaced; symbols that are not in the map stay.

    Signatures of functions are rewritten too.
    """
    if isinstance(info, FuncStructInfo):
        if info.params is None:
            return info
        params = [substitute_struct_info(param, dims) for param in info.params]
        ret = substitute_struct_info(info.ret, dims)
        if ret is info.ret and _same_objects(params, info.params):
            return info
        return FuncStructInfo(params, ret, info.purity, info.span)
    return map_struct_info(info, lambda var: dims.get(var, var), lambda expr: expr)


def erase_result(found: StructInfo, params: Sequence[StructInfo]) -> StructInfo:
    """What a function's result is known to be outside of it: only the parameters' symbols count."""
    if next(shape_exprs(found), None) is None and not _has_shape_variable(found):
        return found
    known = {var for param in params for var in tir_vars_in_struct_info(param)}
    return map_struct_info(found, lambda v: v if v in known else None, lambda expr: None)


def _has_shape_variable(info: StructInfo) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_has_shape_variable(field) for field in info.fields)
    return isinstance(info, TensorStructInfo) and info.shape is not None


# --- static types ---


@explained
def get_static_type(sinfo: StructInfo) -> Type:
    """The type without shapes and values."""
    if isinstance(sinfo, PrimStructInfo):
        return PrimType(sinfo.dtype)
    if isinstance(sinfo, ShapeStructInfo):
        return ShapeType(sinfo.ndim, sinfo.span)
    if isinstance(sinfo, TensorStructInfo):
        return TensorType(sinfo.ndim, sinfo.dtype, sinfo.span)
    if isinstance(sinfo, TupleStructInfo):
        return TupleType([get_static_type(field) for field in sinfo.fields], sinfo.span)
    if isinstance(sinfo, FuncStructInfo):
        if sinfo.params is None:
            return PackedFuncType(sinfo.span)
        params = [get_static_type(param) for param in sinfo.params]
        return FuncType(params, get_static_type(sinfo.ret), sinfo.span)
    return ObjectType(sinfo.span)


def dtype_of(info: StructInfo) -> DataType | None:
    """The data type of a tensor or a number, when known."""
    if isinstance(info, (TensorStructInfo, PrimStructInfo)) and info.dtype is not VOID:
        return info.dtype
    return None


OPERATORS["relax"]["is_base_of"] = is_base_of
