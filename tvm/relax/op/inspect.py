"""Facts about a tensor read at run time: its dtype, extents, strides, offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tvm.error import message
from tvm.ir.expr import OPERATORS, PrimExpr, RelaxExpr, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, PrimValue
from tvm.relax.struct_info import (
    VOID,
    PrimStructInfo,
    TensorStructInfo,
    const_int,
    prim_value,
)
from tvm.support.dtype import DataType
from tvm.tir.expr import make_const

from .declare import Array, Expr, Infer, RelaxOp, relax_op
from .tensor_header import header_reader

Known = Callable[[TensorStructInfo], "int | None"]


def _fact(name: str, doc: str, dtype: str, known: Known, numpy: Callable[[Array], int]) -> Any:
    """An operator that reads one number of a tensor; `known` gives it where it is known before."""

    def build(tensor: ExprLike) -> Call:
        return op.call(tensor)

    build.__name__ = build.__qualname__ = f"tensor_{name}"
    build.__doc__ = doc
    op = relax_op(f"relax.inspect.tensor_{name}", "tensor: Tensor", script=False)(build)
    kind = DataType(dtype)

    @op.infer
    def info(ctx: Infer, tensor: TensorStructInfo) -> StructInfo:
        value = known(tensor)
        if value is None:
            return PrimStructInfo(kind)
        return PrimStructInfo(value=make_const(value, kind))

    _read_when_run(op)
    op.reference(numpy)
    return op


def _read_when_run(op: RelaxOp[Any]) -> None:
    """Legalise to the number itself where it is known, else to a function that reads it."""
    name = op.op.name.removeprefix("relax.inspect.")

    @op.legalize
    def legal(bb: BlockBuilder, *operands: Expr) -> Expr:
        info = bb.normalize(op.call(*operands)).struct_info
        assert isinstance(info, PrimStructInfo), "what these operators give"
        if info.value is not None:
            return PrimValue(info.value)
        return Call(bb.add_func(header_reader(name, info.dtype), f"_get_{name}"), operands)

    op.op.set_attr("RequiresArgumentShapes", False)


def _of_dtype(read: Callable[[DataType], int]) -> Known:
    return lambda info: None if info.dtype is VOID else read(info.dtype)


def _numpy_dtype(read: Callable[[DataType], int]) -> Callable[[Array], int]:
    return lambda tensor: read(DataType(tensor.dtype))


def _code(dtype: DataType) -> int:
    return dtype.type_code


def _bits(dtype: DataType) -> int:
    return dtype.bits


def _lanes(dtype: DataType) -> int:
    return dtype.lanes


tensor_dtype_code = _fact(
    "dtype_code", "The kind of a tensor's elements, as DLPack numbers it.", "uint8",
    _of_dtype(_code), _numpy_dtype(_code),
)  # fmt: skip
tensor_dtype_bits = _fact(
    "dtype_bits", "The bits of a tensor's elements.", "uint8", _of_dtype(_bits),
    _numpy_dtype(_bits),
)  # fmt: skip
tensor_dtype_lanes = _fact(
    "dtype_lanes", "The lanes of a tensor's elements.", "uint16", _of_dtype(_lanes),
    _numpy_dtype(_lanes),
)  # fmt: skip
tensor_ndim = _fact(
    "ndim", "The number of a tensor's dimensions.", "int32",
    lambda info: None if info.ndim == -1 else info.ndim, lambda tensor: tensor.ndim,
)  # fmt: skip
tensor_byte_offset = _fact(
    "byte_offset", "Where a tensor begins in its memory, in bytes.", "uint64",
    lambda info: None, lambda tensor: 0,
)  # fmt: skip
tensor_elem_offset = _fact(
    "elem_offset", "Where a tensor begins in its memory, in elements.", "uint64",
    lambda info: None, lambda tensor: 0,
)  # fmt: skip


def _axis(ctx: Infer, tensor: TensorStructInfo, axis: PrimStructInfo) -> int | None:
    number = const_int(axis.value)
    if number is not None and (
        number < 0 or (tensor.ndim != -1 and number >= tensor.ndim)
    ):
        raise ctx.shape_error(
            "the axis is out of range", f"axis {number} of {tensor.ndim} dimensions", "0 <= axis"
        )
    return number


@relax_op("relax.inspect.tensor_shape_i", "tensor: Tensor, axis: Prim", script=False)
def tensor_shape_i(tensor: ExprLike, axis: Any) -> Call:
    """The extent of one dimension."""
    return tensor_shape_i.call(tensor, axis if isinstance(axis, RelaxExpr) else PrimValue(axis))


@tensor_shape_i.infer
def _shape_i_info(ctx: Infer, tensor: TensorStructInfo, axis: PrimStructInfo) -> StructInfo:
    number = _axis(ctx, tensor, axis)
    if number is None or tensor.values is None:
        return PrimStructInfo("int64")
    return PrimStructInfo(value=tensor.values[number])


_read_when_run(tensor_shape_i)
tensor_shape_i.reference(lambda tensor, axis: tensor.shape[int(axis)])


@relax_op("relax.inspect.tensor_stride_i", "tensor: Tensor, axis: Prim", script=False)
def tensor_stride_i(tensor: ExprLike, axis: Any) -> Call:
    """The elements from one index of a dimension to the next."""
    return tensor_stride_i.call(tensor, axis if isinstance(axis, RelaxExpr) else PrimValue(axis))


@tensor_stride_i.infer
def _stride_i_info(ctx: Infer, tensor: TensorStructInfo, axis: PrimStructInfo) -> StructInfo:
    _axis(ctx, tensor, axis)  # struct info says nothing of strides
    return PrimStructInfo("int64")


_read_when_run(tensor_stride_i)
tensor_stride_i.reference(
    lambda tensor, axis: tensor.strides[int(axis)] // tensor.dtype.itemsize
)


class DTypeView:
    """`x.dtype` of a tensor in a script: its parts are read at run time."""

    def __init__(self, tensor: RelaxExpr) -> None:
        self._tensor = tensor

    @property
    def code(self) -> Call:
        """The kind of the elements."""
        return tensor_dtype_code(self._tensor)  # type: ignore[no-any-return]

    type_code = code

    @property
    def bits(self) -> Call:
        """The bits of the elements."""
        return tensor_dtype_bits(self._tensor)  # type: ignore[no-any-return]

    @property
    def lanes(self) -> Call:
        """The lanes of the elements."""
        return tensor_dtype_lanes(self._tensor)  # type: ignore[no-any-return]


class AxisView:
    """`x.shape` or `x.strides` of a tensor in a script: `x.shape[i]` is read at run time."""

    def __init__(self, tensor: RelaxExpr, read: RelaxOp[Any]) -> None:
        self._tensor = tensor
        self._read = read

    def __getitem__(self, axis: int | PrimExpr | RelaxExpr) -> Call:
        value = axis if isinstance(axis, RelaxExpr) else PrimValue(prim_value(axis))
        return self._read(self._tensor, value)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            message(
                f"{self._read}: extents that are read at run time cannot be gone through",
                found=f"{type(self._tensor).__name__} {self._tensor}",
                legal="one of them by its axis, or what is known in `struct_info.shape`",
            )
        )


# what `x.dtype`, `x.shape[i]`, ... of a tensor mean; the words ask for them by name
OPERATORS["relax"].update(
    {
        "view_dtype": DTypeView,
        "view_shape": lambda tensor: AxisView(tensor, tensor_shape_i),
        "view_strides": lambda tensor: AxisView(tensor, tensor_stride_i),
        "view_ndim": tensor_ndim,
        "view_byte_offset": tensor_byte_offset,
        "view_elem_offset": tensor_elem_offset,
    }
)
