"""Stages with numbered axes, equality of extents, and the index arithmetic of reshaping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.te.operation import computed
from tvm.tir.expr import as_expr


@explained
def compute(
    shape: Sequence[Any],
    body: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> te.Tensor:
    """`te.compute` of a single tensor."""
    tensor = te.compute(tuple(shape), body, name, tag, attrs, varargs_names)
    assert isinstance(tensor, te.Tensor), "the body gives one expression"
    return tensor


@explained
def stage(
    shape: Sequence[Any],
    body: Callable[..., Any],
    name: str,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> te.Tensor:
    """A computed tensor whose axes are called ax0, ax1, ... and start at a zero of their type."""
    axes = numbered(shape)
    tensor = computed(tuple(shape), lambda *i: body(*i), name, tag, attrs, axes, typed=True)
    assert isinstance(tensor, te.Tensor), "the body gives one expression"
    return tensor


@explained
def stages(
    shape: Sequence[Any], body: Callable[..., Any], name: str, tag: str = ""
) -> tuple[te.Tensor, ...]:
    """Several tensors computed together, with axes ax0, ax1, ..."""
    axes = numbered(shape)
    tensors = computed(tuple(shape), lambda *i: body(*i), name, tag, None, axes, typed=True)
    assert isinstance(tensors, tuple), "the body gives several expressions"
    return tensors


def numbered(shape: Sequence[Any]) -> list[str]:
    """The axis names ax0, ax1, ... for a shape."""
    return [f"ax{i}" for i in range(len(shape))]


@explained
def same_extent(a: Any, b: Any) -> bool:
    """Whether two extents are known to be equal."""
    if a is b:
        return True
    x, y = as_expr(a), as_expr(b)
    if isinstance(x, tir.IntImm) and isinstance(y, tir.IntImm):
        return bool(x.value == y.value)
    if isinstance(x, tir.Var) and isinstance(y, tir.Var):
        return False
    if x.dtype != y.dtype:
        return False
    return bool(Analyzer().can_prove_equal(x, y))


@explained
def extents(tensor: te.Tensor, axes: str, what: str) -> tuple[PrimExpr, ...]:
    """The shape of a tensor that has one dimension for each letter of `axes`.

    n, c, h, w = extents(data, "nchw", "depth_to_space")
    """
    if tensor.ndim != len(axes):
        raise ShapeError(
            message(
                f"{what}: {tensor.name}",
                found=f"shape ({', '.join(map(str, tensor.shape))})",
                legal=f"{len(axes)} dimensions: {', '.join(axes)}",
            )
        )
    return tensor.shape


def check_same(what: str, meaning: str, left: Any, right: Any) -> None:
    """Refuse extents that are known to differ where both are that of one axis."""
    if known(left) and known(right) and not same_extent(left, right):
        raise ShapeError(
            message(f"{what}: {meaning}", found=f"{left} and {right}", legal="equal extents")
        )


@explained
def is_one(extent: Any) -> bool:
    """Whether an extent is known to be one."""
    value = as_expr(extent)
    return isinstance(value, tir.IntImm) and value.value == 1


@explained
def known(extent: Any) -> bool:
    """Whether an extent is a number."""
    return isinstance(as_expr(extent), tir.IntImm)


def ravel(indices: Sequence[Any], shape: Sequence[Any]) -> PrimExpr:
    """The number of an element in row-major order."""
    total: PrimExpr | None = None
    for index, extent in zip(indices, shape):
        total = as_expr(index) if total is None else total * extent + index
    return tir.const(0, "int32") if total is None else total


def unravel(number: PrimExpr, shape: Sequence[Any]) -> list[PrimExpr]:
    """The indices of an element by its number in row-major order."""
    indices: list[PrimExpr] = []
    for extent in reversed(shape):
        indices.append(tir.indexmod(number, extent))
        number = tir.indexdiv(number, extent)
    return indices[::-1]
