"""Which calls treat each row of a batch alone, and what they are for a batch of one.

    y = conv2d(x: (8, 3, h, w), weight)   ->   row i of y follows from row i of x only

A tensor belongs to the batch if its first extent is that of the batch. Operators of one family
share a rule here as they share one for layouts: a rule is found by the layout rule of the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from tvm.arith.deep_equal import deep_equal
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.op import Op
from tvm.relax.expr import Call, Constant, PrimValue, Tuple
from tvm.relax.op import layout_moves, layout_rules
from tvm.relax.op.layout_rules import options_of
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo, const_int
from tvm.tir.expr import INT64, IntImm


class Rows:
    """The batch: what belongs to it, and which calls go row by row."""

    def __init__(self, extent: PrimExpr) -> None:
        self.extent = extent

    def has(self, info: StructInfo | None) -> bool:
        """Whether a value is made of rows: a tensor, or a tuple of such tensors."""
        if isinstance(info, TupleStructInfo):
            return bool(info.fields) and all(self.has(field) for field in info.fields)
        if not isinstance(info, TensorStructInfo) or not info.values:
            return False
        return deep_equal(info.values[0], self.extent)

    def apart(self, call: Call) -> bool:
        """Whether each row of the result follows from the same row of the operands."""
        rule = _rule(call.op)
        if rule is None or not self.has(call.struct_info_):
            return False
        operands = [
            field
            for arg in call.args
            for field in (arg.fields if isinstance(arg, Tuple) else (arg,))
        ]
        flags = [self._is_of_rows(operand) for operand in operands]
        return any(flags) and rule(_Asked(call, operands, flags))

    def _is_of_rows(self, operand: RelaxExpr) -> bool:
        return not isinstance(operand, (Constant, ShapeExpr)) and self.has(operand.struct_info_)

    def one(self, info: StructInfo) -> StructInfo:
        """The struct info of one row of a value, as a batch of one."""
        if isinstance(info, TupleStructInfo):
            return TupleStructInfo([self.one(field) for field in info.fields])
        assert isinstance(info, TensorStructInfo), "rows are of tensors"
        assert info.values, "rows are of tensors whose extents are known"
        return TensorStructInfo([IntImm(INT64, 1), *info.values[1:]], info.dtype, info.vdevice)

    def call_of_one(self, call: Call, args: Sequence[RelaxExpr]) -> Call:
        """The call for a batch of one, with operands for it: a shape that it is given is cut."""
        cut = list(args)
        if isinstance(call.op, Op) and call.op.name in _GIVEN_SHAPES:
            shape = args[1]
            assert isinstance(shape, ShapeExpr), "or the call does not go row by row"
            cut[1] = ShapeExpr([IntImm(INT64, 1), *shape.values[1:]])
        return Call(call.op, cut, call.attrs, call.sinfo_args, call.span)


class _Asked(NamedTuple):
    """A call, its operands with the fields of tuples, and which of them are made of rows."""

    call: Call
    operands: Sequence[RelaxExpr]
    rows: Sequence[bool]

    @property
    def ndim(self) -> int:
        return _ndim(self.operands[0])

    def only_first(self) -> bool:
        """The data is made of rows, its parameters are not."""
        return self.rows[0] and not any(self.rows[1:])

    def option(self, name: str) -> Any:
        return options_of(self.call).get(name)


def _ndim(expr: RelaxExpr) -> int:
    info = expr.struct_info_
    return info.ndim if isinstance(info, TensorStructInfo) else 0


def _numbers(value: Any) -> Iterator[int]:
    """The numbers in an option that is one, or several, or nothing."""
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _numbers(one)
    elif value is not None:
        yield int(value)


def _apart_from_first(asked: _Asked, *names: str, ndim: int = 0) -> bool:
    """Whether none of the axes in these options is the first one."""
    count = ndim or asked.ndim
    axes = [axis for name in names for axis in _numbers(asked.option(name))]
    return count > 0 and all(axis % count for axis in axes)


def _pointwise(asked: _Asked) -> bool:
    """Operands without rows are the same for every row."""
    ndim = _ndim(asked.call)
    for operand, has_rows in zip(asked.operands, asked.rows):
        info = operand.struct_info_
        if not isinstance(info, TensorStructInfo) or info.ndim < ndim:
            if has_rows:
                return False
        elif not has_rows and (not info.values or const_int(info.values[0]) != 1):
            return False
    return True


def _windows(asked: _Asked) -> bool:
    layouts = [asked.option(name) for name in ("data_layout", "layout", "out_layout")]
    given = [str(text) for text in layouts if text]
    return asked.only_first() and bool(given) and all(text.startswith("N") for text in given)


def _with_axes(asked: _Asked) -> bool:
    return asked.only_first() and _apart_from_first(asked, "axes", "axis", "channel_axis")


def _reduced(asked: _Asked) -> bool:
    named = asked.option("axis") is not None
    return named and asked.only_first() and _apart_from_first(asked, "axis")


def _expanded(asked: _Asked) -> bool:
    added = len(list(_numbers(asked.option("axis"))))
    return asked.only_first() and _apart_from_first(asked, "axis", ndim=asked.ndim + added)


def _permuted(asked: _Asked) -> bool:
    axes = list(_numbers(asked.option("axes")))
    return asked.only_first() and bool(axes) and axes[0] % asked.ndim == 0


def _joined(asked: _Asked) -> bool:
    return all(asked.rows) and _apart_from_first(asked, "axis")


def _padded(asked: _Asked) -> bool:
    return asked.only_first() and list(asked.option("pad_width"))[:2] == [0, 0]


def _sliced(asked: _Asked) -> bool:
    axes = asked.call.args[1]
    known = [const_int(one.value) for one in axes.fields if isinstance(one, PrimValue)] \
        if isinstance(axes, Tuple) else []  # fmt: skip
    plain = bool(known) and all(axis is not None and axis % asked.ndim for axis in known)
    return plain and asked.rows[0] and not any(asked.rows[1:])


def _reshaped(asked: _Asked) -> bool:
    """The extents behind the batch are as many elements before and after, as the batch is kept."""
    return asked.rows[0] and isinstance(asked.call.args[1], ShapeExpr)


def _broadcast(asked: _Asked) -> bool:
    return _reshaped(asked) and asked.ndim == _ndim(asked.call)


def _product(asked: _Asked) -> bool:
    a, b = (_ndim(operand) for operand in asked.operands[:2])
    if all(asked.rows):
        return a == b >= 3
    return asked.only_first() and a >= 2 and b <= 2


_Rule = Callable[[_Asked], bool]
_BY_LAYOUT_RULE: Final[dict[Any, _Rule]] = {
    layout_rules.same: _pointwise,
    layout_rules.broadcast: _pointwise,
    layout_rules.as_one: _pointwise,
    layout_rules.follow_first: _pointwise,
    layout_rules.pooled: _windows,
    layout_rules.convolved: _windows,
    layout_rules.convolved_as_desired: _windows,
    layout_rules.resized: _windows,
    layout_rules.normalised: _with_axes,
    layout_rules.along_axis: _with_axes,
    layout_rules.divided: _with_axes,
    layout_rules.reduced: _reduced,
    layout_rules.squeezed: _reduced,
    layout_rules.expanded: _expanded,
    layout_rules.permuted: _permuted,
    layout_rules.joined: _joined,
    layout_rules.sliced: _sliced,
    layout_moves.padded: _padded,
    layout_moves.quantized: _with_axes,
}
_GIVEN_SHAPES: Final = ("relax.reshape", "relax.broadcast_to")
_ACROSS_DEVICES: Final = "relax.ccl."
_BY_NAME: Final[dict[str, _Rule]] = {
    "relax.matmul": _product,
    "relax.reshape": _reshaped,
    "relax.broadcast_to": _broadcast,
    "relax.nn.pixel_shuffle": _with_axes,
}


def goes_by_element(call: Call) -> bool:
    """Whether each element of the result follows from the elements there of the operands."""
    return _rule(call.op) is _pointwise


def _rule(callee: RelaxExpr) -> _Rule | None:
    if not isinstance(callee, Op) or callee.name.startswith(_ACROSS_DEVICES):
        return None
    if callee.name in _BY_NAME:
        return _BY_NAME[callee.name]
    for name in ("FRelaxInferLayout", "FFollowLayout"):
        known = _BY_LAYOUT_RULE.get(callee.get_attr(name))
        if known is not None:
            return known
    return None
