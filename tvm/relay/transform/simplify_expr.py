"""Simpler programs of the same meaning: fewer reshapes, transposes, casts, sums and products.

    reshape(reshape(%x, ...), ...)      ->  reshape(%x, ...)
    layout_transform(transpose(%x))     ->  transpose(%x), layout_transform(%x), or %x
    zeros_like(%x)                      ->  zeros(shape, dtype)
    (%x + 1f) + 2f                      ->  %x + 3f
    (%x + 1f) * 2f                      ->  %x * 2f + 2f
    %x + %x                             ->  %x * 2f

Numbers of floats may differ in the last bit where constants meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay import op as R
from tvm.relay.expr import Call, Constant, const
from tvm.relay.ty import TensorType
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm

from .function_pass import expr_pass
from .rewrites import Rule, rewrite_calls


def _called(expr: RelaxExpr, *names: str) -> Call | None:
    """The expression if it is a call of one of the operators."""
    fits = isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names
    return expr if fits else None  # type: ignore[return-value]


def _static(found: Any) -> tuple[int, ...] | None:
    """The extents of a tensor type, if all are numbers."""
    if not isinstance(found, TensorType) or not all(isinstance(d, IntImm) for d in found.shape):
        return None
    return tuple(int(d.value) for d in found.shape)  # type: ignore[attr-defined]


# --- what is like something else ---


def _like(make: Any) -> Rule:
    """Operators that take a shape or a type from their last tensor, which is known."""

    def rule(old: Call, new: Call) -> RelaxExpr:
        source: Any = old.args[0 if old.op.name in _OF_FIRST else 1].checked_type  # type: ignore[attr-defined]
        shape = _static(source)
        if shape is None:
            return new
        made: RelaxExpr = make(new, shape, str(source.dtype))
        return made

    return rule


_OF_FIRST: Final = ("zeros_like", "ones_like", "full_like")


def _reshape_like(call: Call, shape: Sequence[int], dtype: str) -> RelaxExpr:
    o: Any = call.attrs
    whole = int(o.lhs_begin) == 0 and o.lhs_end is None and int(o.rhs_begin) == 0
    if not whole or o.rhs_end is not None:
        return call
    made: RelaxExpr = R.reshape(call.args[0], shape)
    return made


# --- casts ---


_DIGITS: Final = {"float16": 11, "float32": 24, "float64": 53}  # whole numbers that stay exact


def _widens(origin: str, wide: str) -> bool:
    """Whether every number of one type is one of the other."""
    if origin == wide:
        return True
    a, b = DataType(origin), DataType(wide)
    kinds = [next((k for k in ("uint", "int", "float") if t.startswith(k)), "") for t in
             (origin, wide)]  # fmt: skip
    if kinds[0] == kinds[1] != "":
        return a.bits <= b.bits
    if kinds == ["uint", "int"]:
        return a.bits < b.bits
    return kinds[0] in ("int", "uint") and a.bits <= _DIGITS.get(wide, 0)


def _covers(dtype: str, low: float, high: float) -> bool:
    if not dtype.startswith(("int", "uint")):
        return False
    info = np.iinfo(dtype)
    return bool(info.min <= low <= high <= info.max)


def _simple_cast(old: Call, new: Call) -> RelaxExpr:
    wanted = str(new.attrs["dtype"])  # type: ignore[index]
    source: Any = old.args[0].checked_type
    if isinstance(source, TensorType) and str(source.dtype) == wanted:
        return new.args[0]
    inner, before = _called(new.args[0], "cast"), _called(old.args[0], "cast")
    if inner is None or before is None:
        return new
    between, first = str(source.dtype), before.args[0].checked_type
    clip = _called(inner.args[0], "clip")
    limits: Any = None if clip is None else clip.attrs
    kept = clip is not None and _covers(between, limits.a_min, limits.a_max)
    is_whole = isinstance(first, TensorType) and str(first.dtype).startswith(("int", "uint"))
    if not isinstance(first, TensorType) or not (
        _widens(str(first.dtype), between) or (kept and is_whole)
    ):
        return new
    if str(first.dtype) == wanted:
        return inner.args[0]
    made: RelaxExpr = R.cast(inner.args[0], wanted)
    return made


def _wide_clip(old: Call, new: Call) -> RelaxExpr:
    """A clip by the limits of its type, or beyond, is none."""
    found = old.args[0].checked_type
    limits: Any = new.attrs
    if not isinstance(found, TensorType):
        return new
    dtype = str(found.dtype)
    if not dtype.startswith(("int", "uint")):
        return new
    info = np.iinfo(dtype)
    return new.args[0] if limits.a_min <= info.min and info.max <= limits.a_max else new


# --- shapes ---


def _reshape_chain(old: Call, new: Call) -> RelaxExpr:
    """A reshape of a reshape is one."""
    found = old.checked_type
    chain = _called(new.args[0], "reshape", "contrib_reverse_reshape")
    shape = _static(found)
    if chain is not None and shape is not None:
        made: RelaxExpr = R.reshape(chain.args[0], shape)
        return made
    return new


def _order(call: Call, rank: int) -> list[int] | None:
    """The axes that a transpose, or a layout transform that splits none, brings to front."""
    o: Any = call.attrs
    if _called(call, "transpose"):
        axes = o["axes"]
        return list(range(rank))[::-1] if axes is None else [int(a) % rank for a in axes]
    source, target = o.src_layout, o.dst_layout
    if not (source.isupper() and target.isupper() and sorted(source) == sorted(target)):
        return None
    return [source.index(letter) for letter in target]


def _moved_axes(old: Call, new: Call) -> RelaxExpr:
    """A transpose or a layout transform of another one is one of them, or nothing."""
    source: Any = old.args[0].checked_type
    if not isinstance(source, TensorType):
        return new
    rank = len(source.shape)
    axes = _order(new, rank)
    if axes == list(range(rank)):
        return new.args[0]
    inner = _called(new.args[0], "transpose", "layout_transform")
    if inner is None:
        return new
    before: Any = old.args[0].args[0].checked_type  # type: ignore[attr-defined]
    first = _order(inner, len(before.shape))
    o, i = new.attrs, inner.attrs
    made: Any = new
    if axes is not None and first is not None:
        both = [first[axis] for axis in axes]
        same = both == list(range(rank))
        made = inner.args[0] if same else R.transpose(inner.args[0], both)
    elif axes is None and first is not None:  # the outer one splits an axis: it reads the source
        position = {axis: at for at, axis in enumerate(first)}
        layout = o.src_layout  # type: ignore[union-attr]
        if layout.isupper():
            layout = "".join(layout[position[axis]] for axis in range(rank))
            made = R.layout_transform(inner.args[0], layout, o.dst_layout)  # type: ignore[union-attr]
    elif axes is not None and _called(inner, "layout_transform"):
        pieces = _pieces(i.dst_layout)  # type: ignore[union-attr]
        layout = "".join(pieces[axis] for axis in axes)
        made = R.layout_transform(inner.args[0], i.src_layout, layout)  # type: ignore[union-attr]
    return made  # type: ignore[no-any-return]


def _pieces(layout: str) -> list[str]:
    """The axes of a layout: letters, with their block's size before them."""
    found, number = [], ""
    for sign in layout:
        if sign.isdigit():
            number += sign
        else:
            found.append(number + sign)
            number = ""
    return found


# --- sums and products ---


def _is_fill(expr: RelaxExpr, value: float) -> bool:
    if isinstance(expr, Constant):
        return bool(np.all(expr.data.numpy() == value))
    names = {0.0: ("zeros", "zeros_like"), 1.0: ("ones", "ones_like")}
    if _called(expr, *names[value]) is not None:
        return True
    full = _called(expr, "full", "full_like")
    return full is not None and _is_fill(full.args[-1], value)


def _neutral(value: float, both: bool) -> Rule:
    """Drops an operand that changes nothing, where the other has the result's type."""

    def rule(old: Call, new: Call) -> RelaxExpr:
        for at in (1, 0) if both else (1,):
            kept = old.args[1 - at].checked_type
            if _is_fill(new.args[at], value) and kept == old.checked_type:
                return new.args[1 - at]
        return new

    return rule


def _rsqrt(old: Call, new: Call) -> RelaxExpr:
    """1 / sqrt(x) is rsqrt(x); x / sqrt(y) is x * rsqrt(y)."""
    below = _called(new.args[1], "sqrt")
    if below is None:
        return _neutral(1.0, False)(old, new)
    root: RelaxExpr = R.rsqrt(below.args[0])
    if _is_fill(new.args[0], 1.0) and old.args[1].checked_type == old.checked_type:
        return root
    made: RelaxExpr = R.multiply(new.args[0], root)
    return made


def _scalar_of(expr: RelaxExpr, dtype: str) -> RelaxExpr | None:
    """The one number that a tensor is full of."""
    for value, names in ((0, ("zeros", "zeros_like")), (1, ("ones", "ones_like"))):
        if _called(expr, *names) is not None:
            return const(value, dtype)
    full = _called(expr, "full", "full_like")
    number = None if full is None else full.args[-1]
    fits = isinstance(number, Constant) and str(number.data.dtype) == dtype
    return number if fits else None


def _full_as_scalar(old: Call, new: Call) -> RelaxExpr:
    """An operand that is full of one number is that number, where the other gives the shape."""
    for at in (0, 1):
        other: Any = old.args[1 - at].checked_type
        if not isinstance(other, TensorType) or other != old.checked_type:
            continue
        number = _scalar_of(new.args[at], str(other.dtype))
        if number is not None:
            args = [number, new.args[1]] if at == 0 else [new.args[0], number]
            return Call(new.op, args, new.attrs, new.type_args, new.span)
    return new


def _with_constant(call: RelaxExpr, name: str) -> tuple[RelaxExpr, Constant] | None:
    """The operands of a call of `name` with one constant, that last."""
    found = _called(call, name)
    if found is None:
        return None
    a, b = found.args
    if isinstance(a, Constant) is isinstance(b, Constant):
        return None
    return (a, b) if isinstance(b, Constant) else (b, a)  # type: ignore[return-value]


def _add(old: Call, new: Call) -> RelaxExpr:
    made = _neutral(0.0, True)(old, new)
    if made is not new:
        return made
    found: Any = old.checked_type
    same = new.args[0] is new.args[1] and isinstance(found, TensorType)
    if same and str(found.dtype) != "bool":
        twice: RelaxExpr = R.multiply(new.args[0], const(2, str(found.dtype)))
        return twice
    return _adjacent("add", new) or _full_as_scalar(old, new)


def _adjacent(name: str, new: Call) -> RelaxExpr | None:
    """(x op c) op d is x op (c op d)."""
    outer = _with_constant(new, name)
    inner = None if outer is None else _with_constant(outer[0], name)
    if outer is None or inner is None:
        return None
    joined = _folded(new.op, inner[1], outer[1])
    return Call(new.op, [inner[0], joined], None, None, new.span)


def _folded(op: RelaxExpr, a: Constant, b: Constant) -> RelaxExpr:
    """What an operator makes of two constants."""
    from .fold_constant import FoldConstantExpr

    return FoldConstantExpr(Call(op, [a, b]), IRModule())


def _multiply(old: Call, new: Call) -> RelaxExpr:
    made = _neutral(1.0, True)(old, new)
    if made is not new:
        return made
    joined = _adjacent("multiply", new)
    if joined is not None:
        return joined
    outer = _with_constant(new, "multiply")
    inner = None if outer is None else _with_constant(outer[0], "add")
    if outer is not None and inner is not None:  # the factor goes to the constants
        spread: RelaxExpr = R.add(
            R.multiply(inner[0], outer[1]), _folded(new.op, inner[1], outer[1])
        )
        return spread
    return _full_as_scalar(old, new)


def _first_of(*rules: Rule) -> Rule:
    def rule(old: Call, new: Call) -> RelaxExpr:
        made = (each(old, new) for each in rules)
        return next((found for found in made if found is not new), new)

    return rule


def _of_real_numbers(old: Call, new: Call) -> RelaxExpr:
    """The indices of the greatest real numbers are those of the greatest integers."""
    inner = _called(new.args[0], "qnn.dequantize")
    if inner is None or not all(isinstance(a, Constant) for a in inner.args[1:]):
        return new
    scale: Any = inner.args[1]
    if scale.data.ndim or not scale.data.numpy() > 0:
        return new
    return Call(new.op, [inner.args[0]], new.attrs, new.type_args, new.span)


_SIMPLER: Final[dict[str, Rule]] = {
    "zeros_like": _like(lambda call, shape, dtype: R.zeros(shape, dtype)),
    "ones_like": _like(lambda call, shape, dtype: R.ones(shape, dtype)),
    "full_like": _like(lambda call, shape, dtype: R.full(call.args[1], shape, dtype)),
    "reshape_like": _like(_reshape_like),
    "collapse_sum_like": _like(lambda call, shape, _: R.collapse_sum_to(call.args[0], shape)),
    "broadcast_to_like": _like(lambda call, shape, _: R.broadcast_to(call.args[0], shape)),
    "cast_like": _like(lambda call, _, dtype: R.cast(call.args[0], dtype)),
    "cast": _simple_cast,
    "clip": _wide_clip,
    "reshape": _reshape_chain,
    "contrib_reverse_reshape": _reshape_chain,
    "transpose": _moved_axes,
    "layout_transform": _moved_axes,
    "add": _add,
    "subtract": _first_of(_neutral(0.0, False), _full_as_scalar),
    "multiply": _multiply,
    "divide": _first_of(_rsqrt, _full_as_scalar),
    **dict.fromkeys(("argmax", "argmin", "argsort"), _of_real_numbers),
}


@expr_pass("SimplifyExpr", opt_level=0)
def SimplifyExpr(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function once none of the rules above finds anything."""
    from .infer_type import infer_types_of

    before: RelaxExpr | None = None
    while func is not before:
        before = func
        func = rewrite_calls(func, _SIMPLER)
        func = func if func is before else infer_types_of(func, mod)
    return func
