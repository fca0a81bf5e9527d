"""Data layouts: which axes a tensor has, in which order, and in which blocks.

`NCHW16c`: four whole axes, then the blocks of 16 into which C is split. An upper-case letter is an
axis (of blocks, if its lower-case letter occurs too), a number with a lower-case letter a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, final

from tvm.error import CheckError, DTypeError, message
from tvm.ir.expr import OPERATORS, PrimExpr, Range
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.support.dtype import DataType

from .expr import ExprLike, IntImm, IterVar, Var, as_expr
from .functor import substitute
from .op.arith import floordiv, floormod

_PART = re.compile(r"(\d*)([A-Za-z])")
UNDEFINED: Final = "__undef__"


class LayoutError(CheckError, ValueError):
    """A layout that cannot be read, or two that do not describe the same tensor."""


@final
class Layout(Node):
    """The axes of a layout; blocks know their size."""

    __slots__ = ("axes", "name")
    TYPE_KEY = "tir.Layout"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name", "axes*")

    def __init__(self, name: str, axes: Sequence[IterVar]) -> None:
        self.name: Final = name
        self.axes: Final = tuple(axes)

    def __len__(self) -> int:
        return len(self.axes)

    def __contains__(self, axis: str) -> bool:
        # a number before an axis is its size; the axis itself is one letter
        return any(letter == axis[-1:] for letter in self.letters)

    def __getitem__(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise IndexError("Layout index out of range")
        return self.letters[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.letters)

    @property
    def letters(self) -> list[str]:
        """The names of the axes, in order."""
        return [axis.var.name for axis in self.axes]

    def index_of(self, axis: str) -> int:
        """The index of an axis, or -1."""
        return self.letters.index(axis) if axis in self.letters else -1

    def factor_of(self, axis: str) -> int:
        """The size of the blocks that an axis is split into, or -1 if it is not split."""
        sizes = [_size(a) for a in self.axes if a.var.name == axis.lower()]
        total = 1
        for size in sizes:
            total *= size
        return total if sizes else -1

    def __str__(self) -> str:
        return f"Layout({self.name})"

    __repr__ = __str__


def _size(axis: IterVar) -> int:
    """The size of a block."""
    assert axis.dom is not None, "axes of layouts have ranges"
    assert isinstance(axis.dom.extent, IntImm), "blocks have known sizes"
    return axis.dom.extent.value


def layout(layout_str: str | Layout, dtype: str = "int32") -> Layout:
    """The layout that a text like `NCHW` or `NCHW16c` describes."""
    if isinstance(layout_str, Layout):
        return layout_str
    if dtype is None or not DataType(dtype).is_int:
        asked = f"layout {layout_str!r}: The input dtype should be integer type"
        raise DTypeError(message(asked, found=f"dtype {dtype}", legal="int32, int64"))
    if layout_str in ("", UNDEFINED):  # a scalar's, and nobody's
        return Layout(layout_str, [])
    axes: list[IterVar] = []
    end = 0
    for part in _PART.finditer(layout_str):
        if part.start() != end:
            raise _bad(layout_str, f"{layout_str[end]!r} at index {end}")
        end = part.end()
        axes.append(_axis(layout_str, part[1], part[2], dtype))
    if end != len(layout_str):
        raise _bad(layout_str, f"{layout_str[end:]!r} at index {end}")
    letters = [a.var.name for a in axes]
    for letter in letters:
        if letter.isupper() and letters.count(letter) > 1:
            raise _bad(layout_str, f"axis {letter} twice")
        if letter.islower() and letter.upper() not in letters:
            raise _bad(layout_str, f"a block of {letter.upper()}, which is not among the axes")
    return Layout(layout_str, axes)


def _axis(text: str, number: str, letter: str, dtype: str) -> IterVar:
    if letter.isupper():
        if number:
            raise _bad(text, f"the number {number} before axis {letter}")
        extent: PrimExpr = Var(f"{letter}_shape", dtype)
    else:
        if not number or int(number) == 0:
            raise _bad(text, f"block {letter} without a size")
        extent = IntImm(dtype, int(number))
    zero = IntImm(dtype, 0)
    return IterVar(Range.from_min_extent(zero, extent), Var(letter, dtype))


def _bad(text: str, found: str) -> LayoutError:
    return LayoutError(
        message(
            f"Invalid layout {text!r}",
            found=found,
            legal="axes as upper-case letters, each once; their blocks as a size with the "
            "lower-case letter (NCHW16c)",
        )
    )


@final
class BijectiveLayout(Node):
    """Two layouts of the same tensor, and how indices and shapes translate."""

    __slots__ = (
        "dst_layout", "index_backward_rule", "index_forward_rule", "shape_backward_rule",
        "shape_forward_rule", "src_layout",
    )  # fmt: skip
    TYPE_KEY = "tir.BijectiveLayout"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "src_layout", "dst_layout", "index_forward_rule", "index_backward_rule",
        "shape_forward_rule", "shape_backward_rule",
    )  # fmt: skip
    CTOR: ClassVar[tuple[str, ...]] = ("src_layout", "dst_layout")

    def __init__(self, src_layout: Layout, dst_layout: Layout) -> None:
        _check_convertible(src_layout, dst_layout)
        self.src_layout: Final = src_layout
        self.dst_layout: Final = dst_layout
        self.index_forward_rule: Final = _index_rule(src_layout, dst_layout)
        self.index_backward_rule: Final = _index_rule(dst_layout, src_layout)
        self.shape_forward_rule: Final = _shape_rule(src_layout, dst_layout)
        self.shape_backward_rule: Final = _shape_rule(dst_layout, src_layout)

    def forward_index(self, index: Sequence[ExprLike]) -> tuple[PrimExpr, ...]:
        """The destination index of an element of the source."""
        return _translate(self.src_layout, self.index_forward_rule, index)

    def backward_index(self, index: Sequence[ExprLike]) -> tuple[PrimExpr, ...]:
        """The source index of an element of the destination."""
        return _translate(self.dst_layout, self.index_backward_rule, index)

    def forward_shape(self, shape: Sequence[ExprLike]) -> tuple[PrimExpr, ...]:
        """The shape in the destination layout."""
        return _translate_shape(self.src_layout, self.shape_forward_rule, shape)

    def backward_shape(self, shape: Sequence[ExprLike]) -> tuple[PrimExpr, ...]:
        """The shape in the source layout."""
        return _translate_shape(self.dst_layout, self.shape_backward_rule, shape)

    def __str__(self) -> str:
        return f"BijectiveLayout({self.src_layout.name}, {self.dst_layout.name})"

    __repr__ = __str__


def bijective_layout(
    src_layout: str | Layout, dst_layout: str | Layout
) -> BijectiveLayout | None:
    """The mapping between two layouts of the same tensor; None if their axes differ."""
    src, dst = layout(src_layout), layout(dst_layout)
    return BijectiveLayout(src, dst) if _whole_axes(src) == _whole_axes(dst) != [] else None


def mapping_of(src_layout: str | Layout, dst_layout: str | Layout) -> BijectiveLayout:
    """The mapping between two layouts; a LayoutError if their axes differ."""
    return BijectiveLayout(layout(src_layout), layout(dst_layout))


def _whole_axes(side: Layout) -> list[str]:
    return sorted([a for a in side.letters if a.isupper()])


def _check_convertible(src: Layout, dst: Layout) -> None:
    whole = [_whole_axes(side) for side in (src, dst)]
    if whole[0] != whole[1] or not whole[0]:
        raise LayoutError(
            message(
                f"map layout {src.name} to {dst.name}",
                found=f"axes {', '.join(whole[0])} and {', '.join(whole[1])}",
                legal="two layouts with the same axes",
            )
        )


def _later_factor(side: Layout, position: int) -> int:
    """The product of the sizes of later blocks of the same axis."""
    total = 1
    for axis in side.axes[position + 1 :]:
        if axis.var.name == side.letters[position]:
            total *= _size(axis)
    return total


def _whole_index(side: Layout, letter: str) -> PrimExpr:
    """The index along an unsplit axis, from the indices of its parts."""
    total: PrimExpr | None = None
    for position, axis in enumerate(side.axes):
        if axis.var.name.upper() != letter:
            continue
        upper = axis.var.name.isupper()
        step = max(side.factor_of(letter), 1) if upper else _later_factor(side, position)
        term: PrimExpr = axis.var * step
        total = term if total is None else total + term
    assert total is not None, "both sides have the same axes"
    return total


def _index_rule(src: Layout, dst: Layout) -> tuple[PrimExpr, ...]:
    rule: list[PrimExpr] = []
    for position, axis in enumerate(dst.axes):
        letter = axis.var.name
        index = _whole_index(src, letter.upper())
        if letter.isupper():
            factor = dst.factor_of(letter)
            rule.append(floordiv(index, factor) if factor > 0 else index)
        else:
            later = _later_factor(dst, position)
            rule.append(floordiv(floormod(index, later * _size(axis)), later))
    return tuple(rule)


def _shape_rule(src: Layout, dst: Layout) -> tuple[PrimExpr, ...]:
    rule: list[PrimExpr] = []
    for axis in dst.axes:
        letter = axis.var.name
        if letter.islower():
            rule.append(IntImm(axis.var.dtype, _size(axis)))
            continue
        source = src.axes[src.index_of(letter)].var
        extent: PrimExpr = source * max(src.factor_of(letter), 1)
        factor = dst.factor_of(letter)
        rule.append(floordiv(extent + (factor - 1), factor) if factor > 0 else extent)
    return tuple(rule)


def _translate(
    side: Layout, rule: tuple[PrimExpr, ...], given: Sequence[ExprLike]
) -> tuple[PrimExpr, ...]:
    if len(given) != len(side):
        raise LayoutError(
            f"layout {side.name} has {len(side)} axes, {len(given)} values are given for it"
        )
    values = {axis.var: as_expr(value) for axis, value in zip(side.axes, given)}
    simplify = OPERATORS["tir"]["simplify"]
    wide = {var: _like(value, var) for var, value in values.items()}
    return tuple([simplify(_substituted(e, wide)) for e in rule])  # type: ignore[misc]


def _like(value: PrimExpr, var: Var) -> PrimExpr:
    """Literals take the type of the layout's variables; other expressions keep theirs."""
    return IntImm(var.dtype, value.value) if isinstance(value, IntImm) else value


def _substituted(expr: PrimExpr, values: dict[Var, PrimExpr]) -> PrimExpr:
    dtypes = {value.dtype for value in values.values()}
    if all(dtype is var.dtype for dtype in dtypes for var in values):
        return substitute(expr, values)
    return _rebuilt(expr, values)


def _rebuilt(expr: PrimExpr, values: dict[Var, PrimExpr]) -> PrimExpr:
    """The expression with values of other integer types: operators match the types again."""
    if isinstance(expr, Var):
        return values.get(expr, expr)
    a, b = getattr(expr, "a", None), getattr(expr, "b", None)
    if not isinstance(a, PrimExpr) or not isinstance(b, PrimExpr):
        return expr
    names = {"tir.Add": "add", "tir.Mul": "multiply", "tir.FloorDiv": "floordiv",
             "tir.FloorMod": "mod"}  # fmt: skip
    rule = OPERATORS["tir"][names[expr.TYPE_KEY]]
    return rule(_rebuilt(a, values), _rebuilt(b, values))  # type: ignore[return-value]


def _translate_shape(
    side: Layout, rule: tuple[PrimExpr, ...], shape: Sequence[ExprLike]
) -> tuple[PrimExpr, ...]:
    for axis, extent in zip(side.axes, shape):
        given = as_expr(extent)
        block = axis.var.name.islower()
        if block and isinstance(given, IntImm) and given.value != _size(axis):
            raise LayoutError(
                message(
                    f"shape {tuple(str(s) for s in shape)} in layout {side.name}",
                    found=f"extent {given.value} for block {axis.var.name}",
                    legal=f"extent {_size(axis)}",
                )
            )
    return _translate(side, rule, shape)


register_nodes(Layout, BijectiveLayout)
