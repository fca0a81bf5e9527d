"""Buffers: typed, shaped views of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, TypeAlias, final

from tvm.error import CheckError, DTypeError, ShapeError
from tvm.ir.expr import OPERATORS, PrimExpr, PrimExprConvertible, Range
from tvm.ir.node import Field, Node, fields, of_type, register_nodes
from tvm.ir.span import Span
from tvm.ir.type import PointerType, PrimType
from tvm.support.compiled import mypyc_attr
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenArray

from .expr import INT32, INT64, BufferLoad, Call, ExprLike, IntImm, Ramp, Var, as_expr
from .stmt import BufferRegion, BufferStore

Index: TypeAlias = "ExprLike | slice | Range"


@final
class Buffer(Node):
    """Memory behind `data`, read as an array of `dtype` with `shape`.

    Without `strides` the layout is row-major and dense. Two buffers are the same only if they are
    one object; several may share `data`.
    """

    __slots__ = (
        "axis_separators", "buffer_type", "data", "data_alignment", "dtype", "elem_offset", "name",
        "offset_factor", "shape", "span", "strides",
    )  # fmt: skip
    TYPE_KEY = "tir.Buffer"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "data*", "dtype", "shape*", "strides*", "axis_separators*", "elem_offset*", "name~",
        "data_alignment", "offset_factor", "buffer_type", "span~",
    )  # fmt: skip
    CTOR: ClassVar[tuple[str, ...]] = (
        "data", "dtype", "shape", "strides", "elem_offset", "name", "data_alignment",
        "offset_factor", "buffer_type", "axis_separators", "span",
    )  # fmt: skip

    READ: ClassVar[int] = 1
    WRITE: ClassVar[int] = 2
    __iter__: ClassVar[None] = None  # any index is legal, so that a loop over it would not end

    def __init__(
        self,
        data: Var,
        dtype: DataType | str,
        shape: Sequence[ExprLike],
        strides: Sequence[ExprLike] = (),
        elem_offset: ExprLike | None = None,
        name: str = "buffer",
        data_alignment: int = 64,
        offset_factor: int = 1,
        buffer_type: str = "",
        axis_separators: Sequence[int | IntImm] = (),
        span: Span | None = None,
    ) -> None:
        of_type(data, Var, f"Buffer {name}: data")
        if not isinstance(data.type_annotation, PointerType):
            raise DTypeError(
                f"Buffer {name}: data variable {data.name} is {data.dtype}; "
                "legal: a variable of pointer type"
            )
        self.data: Final = data
        self.dtype: Final = DataType(dtype)
        self.shape: Final[tuple[PrimExpr, ...]] = FrozenArray([as_expr(e) for e in shape])
        self.strides: Final[tuple[PrimExpr, ...]] = FrozenArray([as_expr(e) for e in strides])
        offset = IntImm(self._index_dtype(), 0) if elem_offset is None else as_expr(elem_offset)
        self.elem_offset: Final[PrimExpr] = offset
        self.name = name
        self.data_alignment: Final = 64 if data_alignment <= 0 else int(data_alignment)
        self.offset_factor: Final = 1 if offset_factor == 0 else int(offset_factor)
        self.buffer_type: Final = "" if buffer_type == "default" else buffer_type
        self.axis_separators: Final[tuple[IntImm, ...]] = tuple(
            [i if isinstance(i, IntImm) else IntImm(INT32, i) for i in axis_separators]
        )
        self.span = span
        self._check_separators()

    def checked_strides(self) -> tuple[PrimExpr, ...]:
        """The strides, for those who compute an address; a buffer may be written with too few.

        One step of 1 for several dimensions, which `cache_index` writes, is a dense buffer.
        """
        if self.strides and len(self.strides) != len(self.shape):
            step = self.strides[0]
            if len(self.strides) == 1 and isinstance(step, IntImm) and step.value == 1:
                return ()
            raise ShapeError(
                f"Buffer {self.name}: {len(self.shape)} dimensions but {len(self.strides)} "
                "strides. If strides are defined, their number must match the dimensionality"
            )
        return self.strides

    def _check_separators(self) -> None:
        """Each lies between two axes, and they are in order."""
        for at, cut in enumerate(self.axis_separators):
            if not 0 <= cut.value <= len(self.shape):
                raise ShapeError(
                    "All axis separators must be within the range 0 <= sep <= buffer_dim. "
                    f"However, the last axis_separators[{at}] = {cut} is greater than the "
                    f"buffer's dimensionality of {len(self.shape)}"
                )
            before = self.axis_separators[at - 1]
            if at and before.value >= cut.value:
                raise ShapeError(
                    "Axis separators must be in increasing order, but "
                    f"axis_separators[{at - 1}] = {before} is greater than or equal to "
                    f"axis_separators[{at}] = {cut}"
                )

    def _index_dtype(self) -> DataType:
        """That of the first extent that is an integer; int64 without extents."""
        for extent in self.shape:
            if extent.dtype.is_integer:
                return extent.dtype
        return INT32 if self.shape else INT64

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def scope(self) -> str:
        """The memory it lives in: global, shared, local, ..."""
        annotation = self.data.type_annotation
        assert isinstance(annotation, PointerType), "the constructor made sure"
        return annotation.storage_scope

    def with_changes(self, **changes: object) -> Buffer:
        """A new buffer with some fields changed."""
        return Buffer.from_fields({**self.field_values(), **changes})

    def offset_of(self, indices: Sequence[ExprLike]) -> tuple[PrimExpr, ...]:
        """Indices into the flattened buffer (one, or one more than there are axis separators).

        They are simplified, and indices that an offset was split into become that offset again.
        """
        tir = OPERATORS["tir"]
        given = tuple([as_expr(i) for i in indices])
        return tir["buffer_offset"](self, given, tir["merge_quotients"])  # type: ignore[return-value]

    def get_flattened_buffer(self) -> Buffer:
        """This buffer with one dimension (one more for each axis separator)."""
        return OPERATORS["tir"]["flattened_buffer"](self)  # type: ignore[return-value]

    def vload(
        self, begin: ExprLike | Sequence[ExprLike], dtype: str | None = None, predicate: Any = None
    ) -> PrimExpr:
        """Load `dtype` (by default one element) at `begin`; a vector runs along the last axis."""
        indices = self._vector_indices(begin, dtype, "load")
        return BufferLoad(self, indices, predicate)

    def vstore(
        self, begin: ExprLike | Sequence[ExprLike], value: ExprLike, predicate: Any = None
    ) -> BufferStore:
        """Store `value` at `begin`; a vector runs along the last axis."""
        expr = as_expr(value)
        return BufferStore(self, expr, self._vector_indices(begin, expr.dtype, "store"), predicate)

    def _vector_indices(
        self, begin: ExprLike | Sequence[ExprLike], dtype: str | None, asked: str
    ) -> list[PrimExpr]:
        start = begin if isinstance(begin, (list, tuple)) else [begin]
        indices = [as_expr(i) for i in start]
        wanted = DataType(dtype) if dtype is not None else self.dtype
        if wanted.element_of() is not self.dtype.element_of():
            raise DTypeError(f"Buffer {self.name} holds {self.dtype}, cannot {asked} {wanted}")
        lanes = wanted.lanes // self.dtype.lanes
        if indices and indices[-1].dtype.is_scalar and (lanes > 1 or wanted.is_scalable):
            count: ExprLike = lanes
            if wanted.is_scalable:
                count = Call(INT32, "tir.vscale", ()) * lanes
            indices[-1] = Ramp(indices[-1], IntImm(indices[-1].dtype, 1), count)
        return indices

    def access_ptr(
        self,
        access_mask: int | str,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: ExprLike = 0,
        extent: ExprLike | None = None,
    ) -> PrimExpr:
        """The address of the elements, for opaque calls; the mask says read, write, or both."""
        if isinstance(access_mask, str):
            mask = 0
            for letter in access_mask:
                if letter not in "rw":
                    raise ValueError(f"access_ptr: unknown access {letter!r}; legal: r, w, rw")
                mask |= Buffer.READ if letter == "r" else Buffer.WRITE
            access_mask = mask
        build = OPERATORS["tir"]["buffer_access_ptr"]
        return build(self, access_mask, ptr_type, content_lanes, offset, extent)  # type: ignore[return-value]

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> BufferLoad | BufferRegion:
        """An element, a vector (constant slice as the last index), or else a region."""
        parts = list(indices) if isinstance(indices, (tuple, list)) else [indices]
        if any(isinstance(p, Range) or (isinstance(p, slice) and p.step is None) for p in parts):
            return self._region(parts)
        return BufferLoad(self, [self._index(p, dim) for dim, p in enumerate(parts)])

    def _index(self, part: Any, dim: int) -> PrimExpr:
        if not isinstance(part, slice):
            return as_expr(part)
        start = as_expr(0 if part.start is None else part.start)
        stop = as_expr(self.shape[dim] if part.stop is None else part.stop)
        step = as_expr(1 if part.step is None else part.step)
        simplify = OPERATORS["tir"]["simplify"]
        lanes = simplify((stop - start + step - 1) // step)
        if isinstance(lanes, IntImm) and lanes.value == 1:
            return start
        return Ramp(start, step, lanes)  # type: ignore[arg-type]

    def _region(self, parts: list[Any]) -> BufferRegion:
        region = []
        for dim, part in enumerate(parts):
            if isinstance(part, Range):
                region.append(part)
            elif isinstance(part, slice):
                if part.step is not None:
                    raise CheckError(f"Buffer {self.name}: a region takes no step in its slices")
                start = 0 if part.start is None else part.start
                stop = self.shape[dim] if part.stop is None else part.stop
                low = as_expr(start)
                extent: Any = OPERATORS["tir"]["simplify"](as_expr(stop) - low)
                region.append(Range.from_min_extent(low, extent))
            else:
                region.append(Range.from_min_extent(as_expr(part), 1))
        for dim in range(len(parts), len(self.shape)):
            region.append(Range.from_min_extent(0, self.shape[dim]))
        return BufferRegion(self, region)


def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    span: Span | None = None,
) -> Buffer:
    """A new buffer; where `offset_factor` is given without an offset, the offset is a variable.

    `buffer_type="auto_broadcast"` takes tensors of extent 1 for any extent, by strides of 0.
    """
    dims = shape if isinstance(shape, (tuple, list)) else (shape,)
    element = DataType("float32" if dtype is None else dtype)
    extents = [as_expr(e) for e in dims]
    for extent in extents:
        if not extent.dtype.is_integer:
            raise TypeError(f"decl_buffer: an extent of {name} is {extent}; legal: integers")
    index_dtype = extents[0].dtype if extents else INT32
    if offset_factor != 0 and elem_offset is None:
        elem_offset = Var(f"{name}_elem_offset", index_dtype)
    if data is None:
        # bool is kept in bytes, so its pointer is one to int8
        pointee = DataType("int8").with_lanes(element.lanes) if element.is_bool else element
        data = Var(name, PointerType(PrimType(pointee), scope), span)
    return Buffer(
        data, element, extents, strides or open_strides(extents, buffer_type), elem_offset, name,
        data_alignment, offset_factor, buffer_type, axis_separators or (), span,
    )  # fmt: skip


def open_strides(
    shape: Sequence[PrimExpr], buffer_type: str, hint: str = "stride"
) -> list[Var]:
    """The strides of a buffer that broadcasts, which its argument tells; none for others."""
    if buffer_type != "auto_broadcast":
        return []
    return [Var(hint, extent.dtype) for extent in shape]


@mypyc_attr(allow_interpreted_subclasses=True)
class DataProducer(PrimExprConvertible):
    """Something that makes a tensor: a `te` tensor."""

    __slots__ = ()
    TYPE_KEY = "tir.DataProducer"

    def get_dtype(self) -> DataType:
        """The data type of the elements."""
        raise TypeError(f"{type(self).__name__} does not say what it produces")

    def get_shape(self) -> tuple[PrimExpr, ...]:
        """The extents of the tensor."""
        raise TypeError(f"{type(self).__name__} does not say what it produces")

    def get_name_hint(self) -> str:
        """The tensor's name."""
        raise TypeError(f"{type(self).__name__} does not say what it produces")


register_nodes(Buffer)
