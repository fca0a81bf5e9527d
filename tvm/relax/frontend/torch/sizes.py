"""Arithmetic on sizes: what torch's graphs compute with symbolic integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm import tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo

from .registry import convert
from .values import axis_of, product, refuse, sizes


def _quotient(a: Any, b: Any) -> Any:
    """The quotient of sizes; a number of Python where both are."""
    if isinstance(a, PrimExpr) or isinstance(b, PrimExpr):
        return tir.div(_real(a), _real(b))
    return a / b


def _real(value: Any) -> Any:
    if isinstance(value, PrimExpr):
        return value if "float" in str(value.dtype) else value.astype("float64")
    return tir.FloatImm("float64", float(value))


def _of_one_type(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Two operands, one of which may be a number of Python."""
    if isinstance(a, PrimExpr) and isinstance(b, PrimExpr):
        return a, b
    if isinstance(a, PrimExpr):
        return a, tir.const(b, str(a.dtype))
    return tir.const(a, str(b.dtype)), b


def _power(a: Any, b: Any) -> Any:
    if not (isinstance(a, PrimExpr) or isinstance(b, PrimExpr)):
        return a**b
    return math.prod([a] * b) if isinstance(b, int) and b > 0 else tir.pow(_real(a), _real(b))


def floor_mod(a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor.

    a mod -b is written a - b * ceil(a / b): with it `a - a % -b`, which rounds up to a multiple
    of b, is a product again.
    """
    if not (isinstance(a, PrimExpr) or isinstance(b, PrimExpr)):
        return a % b
    if isinstance(b, int) and b < 0:
        return a + b * tir.floordiv(a - b - 1, -b)
    return tir.floormod(a, b)


def _either(symbolic: Callable[[Any, Any], Any], plain: Callable[[Any, Any], Any]) -> Any:
    def apply(a: Any, b: Any) -> Any:
        known = not (isinstance(a, PrimExpr) or isinstance(b, PrimExpr))
        return plain(a, b) if known else symbolic(a, b)

    return apply


SIZE_OPS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": _either(tir.floordiv, lambda a, b: a // b),
    "mod": lambda a, b: floor_mod(a, b),
    "truediv": _quotient,
    "pow": lambda a, b: _power(a, b),
    "maximum": _either(tir.max, max),
    "minimum": _either(tir.min, min),
    "eq": _either(lambda a, b: tir.EQ(*_of_one_type(a, b)), lambda a, b: a == b),
    "ne": _either(lambda a, b: tir.NE(*_of_one_type(a, b)), lambda a, b: a != b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": _either(tir.And, lambda a, b: a & b),
    "or": _either(tir.Or, lambda a, b: a | b),
}


@convert("sym_size", "size")
def sym_size(bb: BlockBuilder, input: RelaxExpr, dim: int | None = None) -> Any:
    """One extent, or all."""
    found = sizes(input)
    return tuple(found) if dim is None else found[axis_of(dim, len(found))]


@convert("Size")
def size_of_extents(bb: BlockBuilder, extents: Any = ()) -> Any:
    """`torch.Size((2, n))`."""
    return tuple(extents)


@convert("sym_numel", "numel")
def sym_numel(bb: BlockBuilder, input: RelaxExpr) -> Any:
    return product(sizes(input))


@convert("sym_stride", "stride")
def sym_stride(bb: BlockBuilder, input: RelaxExpr, dim: int | None = None) -> Any:
    """Steps through memory; tensors are dense here."""
    found = sizes(input)
    steps = tuple(product(found[i + 1 :]) for i in range(len(found)))
    return steps if dim is None else steps[axis_of(dim, len(found))]


@convert("sym_storage_offset", "storage_offset")
def sym_storage_offset(bb: BlockBuilder, input: RelaxExpr) -> int:
    return 0


@convert("sym_is_contiguous", "is_contiguous")
def sym_is_contiguous(bb: BlockBuilder, input: RelaxExpr) -> bool:
    return True


@convert("dim", "ndimension")
def dim(bb: BlockBuilder, input: RelaxExpr) -> int:
    return len(sizes(input))


@convert("sym_max")
def sym_max(bb: BlockBuilder, a: Any, b: Any) -> Any:
    return SIZE_OPS["maximum"](a, b)


@convert("sym_min")
def sym_min(bb: BlockBuilder, a: Any, b: Any) -> Any:
    return SIZE_OPS["minimum"](a, b)


@convert("sym_sum")
def sym_sum(bb: BlockBuilder, args: Sequence[Any]) -> Any:
    return sum(args[1:], args[0]) if args else 0


@convert("sym_float")
def sym_float(bb: BlockBuilder, a: Any) -> Any:
    return _real(a) if isinstance(a, PrimExpr) else float(a)


@convert("sym_int", "trunc.sym", "floor.sym")
def sym_int(bb: BlockBuilder, a: Any) -> Any:
    """Sizes are not negative: towards zero is down."""
    return tir.floor(a).astype("int64") if isinstance(a, PrimExpr) else int(a)


@convert("ceil.sym")
def sym_ceil(bb: BlockBuilder, a: Any) -> Any:
    return tir.ceil(a).astype("int64") if isinstance(a, PrimExpr) else math.ceil(a)


def _function(name: str) -> None:
    """A function of `math` on a size: of a number, or of what running tells."""

    def apply(bb: BlockBuilder, a: Any) -> Any:
        if isinstance(a, PrimExpr):
            return getattr(tir, name)(_real(a))
        return getattr(math, name)(a)

    convert(f"_sym_{name}")(apply)


for _name in ("acos", "asin", "atan", "cos", "cosh", "log2", "sin", "sinh", "sqrt", "tan", "tanh"):
    _function(_name)


@convert("sym_not")
def sym_not(bb: BlockBuilder, a: Any) -> Any:
    return tir.Not(a) if isinstance(a, PrimExpr) else not a


@convert("sym_ite")
def sym_ite(bb: BlockBuilder, b: Any, t: Any, f: Any) -> Any:
    return tir.if_then_else(b, t, f) if isinstance(b, PrimExpr) else (t if b else f)


def require(bb: BlockBuilder, condition: PrimExpr) -> None:
    """Check as the program runs that a comparison of sizes holds, unless that is sure.

    Numbers are matched so that an error shows them: of a >= b, the larger one is to be a.
    """
    if bb.analyzer.can_prove(condition):
        return
    one = tir.const(1, "int64")
    found, wanted = tir.if_then_else(condition, one, one - 1), one
    if isinstance(condition, (tir.GE, tir.LE)):
        rule = tir.max if isinstance(condition, tir.GE) else tir.min
        found, wanted = rule(condition.a, condition.b), condition.a
    elif isinstance(condition, tir.EQ):
        found, wanted = condition.a, condition.b
    elif isinstance(condition, tir.NE):
        found, wanted = condition.a, tir.if_then_else(condition, condition.a, condition.b + one)
    bb.match_cast(ShapeExpr([found]), ShapeStructInfo([wanted]))


_PAIR: Final = {"values": 0, "indices": 1}


@convert("getattr")
def getattr_(bb: BlockBuilder, input: RelaxExpr, name: str) -> Any:
    """What a traced function reads of a tensor, or of a pair of values and places."""
    if name in _PAIR:
        from .slicing import getitem

        return getitem(bb, input, _PAIR[name])
    if name == "shape":
        return tuple(sizes(input))
    if name == "ndim":
        return len(sizes(input))
    if name == "dtype":
        return str(input.struct_info.dtype)  # type: ignore[attr-defined]
    if name == "device":
        return "cpu"
    if name in ("T", "mT", "H", "mH"):
        from .shape import transposed

        return transposed(bb, input, name.startswith("m"))
    if name in ("data", "real"):
        return input
    raise refuse("an attribute of a tensor", name, "shape, ndim, dtype, device, T, mT, H, mH, data")


@convert(
    "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range",
    "sym_constrain_range_for_size", "_check", "_check_is_size", "_assert", "_linalg_check_errors",
    "_print",
    "_set_grad_enabled", "set_grad_enabled", "_exit_autocast",
)  # fmt: skip
def nothing(bb: BlockBuilder, *args: Any, **options: Any) -> None:
    """What torch checks while it runs; the function's signature checks shapes here."""


@convert("_enter_autocast")
def enter_autocast(bb: BlockBuilder, device: Any, dtype: Any, enabled: Any, cache: Any) -> None:
    """Where it is switched off nothing is cast, as everywhere else."""
    if enabled:
        legal = "a graph of torch.compile, or torch.export's program"
        raise refuse("autocast", f"a graph without its casts to {dtype}", legal)
