"""Struct info: what is known of a value at compile time - kind, shape, dtype, fields, signature.

`ShapeExpr` stands here too: a tensor's shape is one, and its own struct info is a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, final

from tvm.error import CheckError, DTypeError, message
from tvm.ir.env_func import EnvFunc
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.global_info import VDevice
from tvm.ir.node import Field, fields, listed, number, register_nodes
from tvm.ir.span import Span
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenArray
from tvm.tir.expr import INT64, Cast, FloatImm, IntImm, as_expr, make_const

from .base_expr import ExprWithOp, expect, expect_all

# A rule that says what a call of an opaque function returns, or the name of one that is registered.
DeriveFunc = EnvFunc | Callable[..., StructInfo]
VOID: Final = DataType("void")


class RelaxStructInfo(StructInfo):
    """The root of Relax's struct infos."""

    __slots__ = ()


def dim(value: PrimExpr | int, of: str = "ShapeExpr") -> PrimExpr:
    """One extent as an int64 expression."""
    if isinstance(value, int) and not isinstance(value, bool):
        return IntImm(INT64, value)
    expr = as_expr(value)
    if expr.dtype is INT64:
        return expr
    if isinstance(expr, IntImm):
        return IntImm(INT64, expr.value, expr.span)
    raise DTypeError(
        message(
            f"{of}: the value in ShapeStructInfo can only have dtype of int64",
            found=f"{expr} of type {expr.dtype}",
            legal='tir.Var("n", "int64"), int, or an expression of them',
        )
    )


@final
class ShapeExpr(ExprWithOp):
    """A shape as a value: one int64 expression for each dimension."""

    __slots__ = ("values",)
    TYPE_KEY = "relax.expr.ShapeExpr"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("values", "struct_info_~", "span~")

    def __init__(self, values: Sequence[PrimExpr | int], span: Span | None = None) -> None:
        self.values: Final[tuple[PrimExpr, ...]] = FrozenArray(
            [dim(value) for value in listed(values, "ShapeExpr: values")]
        )
        self.struct_info_ = ShapeStructInfo(self.values)
        self.span = span

    def __getitem__(self, index: int) -> PrimExpr:  # type: ignore[override]
        if not -len(self.values) <= index < len(self.values):
            raise IndexError(f"ShapeExpr index out of range: {index} of {len(self.values)}")
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)


@final
class ObjectStructInfo(RelaxStructInfo):
    """Any value at all."""

    __slots__ = ()
    TYPE_KEY = "relax.ObjectStructInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("span~")

    def __init__(self, span: Span | None = None) -> None:
        self.span = span


@final
class PrimStructInfo(RelaxStructInfo):
    """A number of type `dtype`; `value` where it is known."""

    __slots__ = ("dtype", "value")
    TYPE_KEY = "relax.PrimStructInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "dtype", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("dtype", "value", "span")

    def __init__(
        self,
        dtype: DataType | str | None = None,
        value: PrimExpr | float | None = None,
        span: Span | None = None,
    ) -> None:
        if isinstance(dtype, (PrimExpr, int, float)):
            raise TypeError(
                f"PrimStructInfo: the first argument is the dtype, found the value {dtype}; "
                "legal: PrimStructInfo('int64'), PrimStructInfo(value=...)"
            )
        if isinstance(value, str):
            raise TypeError(
                f"PrimStructInfo: the value is an expression or a number, found {value!r}; "
                "legal: PrimStructInfo('int64'), PrimStructInfo(value=...)"
            )
        if value is not None and not isinstance(value, PrimExpr):
            default = "float32" if isinstance(value, float) else "int64"
            value = make_const(value, DataType(default if dtype is None else dtype))
        if value is None and dtype is None:
            raise TypeError("PrimStructInfo: neither dtype nor value is given; legal: one of them")
        if value is not None and dtype is not None and value.dtype is not DataType(dtype):
            raise AssertionError(  # the kind of error that TVM's users catch here
                f"PrimStructInfo: the value {value} is {value.dtype}, the dtype given is {dtype}"
            )
        self.value: Final = value
        self.dtype: Final = DataType(dtype) if value is None else value.dtype
        self.span = span


@final
class ShapeStructInfo(RelaxStructInfo):
    """A shape with known extents, or with a known number of dimensions, or any (-1)."""

    __slots__ = ("ndim", "values")
    TYPE_KEY = "relax.ShapeStructInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("values", "ndim", "span~")

    def __init__(
        self,
        values: Sequence[PrimExpr | int] | None = None,
        ndim: int = -1,
        span: Span | None = None,
    ) -> None:
        extents: tuple[PrimExpr, ...] | None = None
        if values is not None:
            extents = FrozenArray(
                [dim(v, "ShapeStructInfo") for v in listed(values, "ShapeStructInfo: values")]
            )
        if extents is not None and ndim != -1:
            raise ValueError(
                f"ShapeStructInfo: cannot both specify values ({len(extents)} of them) and "
                f"ndim={ndim}; legal: one of them"
            )
        ndim = number(int, ndim, "ShapeStructInfo: ndim")
        if ndim < -1:
            raise CheckError(f"ShapeStructInfo: ndim is {ndim}; legal: -1 (unknown) or more")
        self.values: Final = extents
        self.ndim: Final = ndim if extents is None else len(extents)
        self.span = span

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> ShapeStructInfo:
        """Of values and their number, the values are enough."""
        given = dict(values)
        if given.get("values") is not None:
            given.pop("ndim", None)
        return cls(**given)

    def is_unknown_ndim(self) -> bool:
        """True when not even the number of dimensions is known."""
        return self.ndim == -1


ShapeLike = RelaxExpr | Sequence[PrimExpr | int] | None


@final
class TensorStructInfo(RelaxStructInfo):
    """A tensor; `shape` is None, a ShapeExpr, or a variable that holds a shape."""

    __slots__ = ("dtype", "ndim", "shape", "vdevice")
    TYPE_KEY = "relax.TensorStructInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("shape", "dtype", "vdevice", "ndim", "span~")

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DataType | str | None = "float32",
        vdevice: VDevice | None = None,
        ndim: int = -1,
        span: Span | None = None,
    ) -> None:
        ndim = number(int, ndim, "TensorStructInfo: ndim")
        held = shape if shape is None or isinstance(shape, RelaxExpr) else ShapeExpr(shape)
        if held is not None:
            if ndim != -1:
                raise ValueError(
                    f"TensorStructInfo: found the shape {held} and ndim={ndim}; legal: one of them"
                )
            ndim = _ndim_of_shape(held)
        elif ndim < -1:
            raise CheckError(f"TensorStructInfo: ndim is {ndim}; legal: -1 (unknown) or more")
        if vdevice is not None and not isinstance(vdevice, VDevice):
            raise TypeError(
                f"TensorStructInfo: vdevice is a {type(vdevice).__name__}; "
                'legal: a VDevice such as tvm.ir.VDevice("llvm"), or None'
            )
        self.shape: Final = held
        self.dtype: Final = VOID if dtype is None else DataType(dtype)
        self.vdevice: Final = vdevice
        self.ndim: Final = ndim
        self.span = span

    @classmethod
    def of(
        cls,
        shape: ShapeLike,
        dtype: DataType | str | None,
        vdevice: VDevice | None,
        ndim: int,
        span: Span | None = None,
    ) -> TensorStructInfo:
        """Of a shape, or of a rank where there is no shape, as another struct info holds them."""
        return cls(shape, dtype, vdevice, ndim if shape is None else -1, span)

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> TensorStructInfo:
        """Of a shape and its rank, the shape is enough."""
        given = dict(values)
        if given.get("shape") is not None:
            given.pop("ndim", None)
        return cls(**given)

    @property
    def values(self) -> tuple[PrimExpr, ...] | None:
        """The extents, where they are known as expressions."""
        shape = self.shape
        if isinstance(shape, ShapeExpr):
            return shape.values
        if shape is not None:
            info = shape.struct_info_
            if isinstance(info, ShapeStructInfo):
                return info.values
        return None

    def is_unknown_ndim(self) -> bool:
        """True when not even the number of dimensions is known."""
        return self.ndim == -1

    def is_unknown_dtype(self) -> bool:
        """True when the data type is not known."""
        return self.dtype is VOID


def _ndim_of_shape(shape: RelaxExpr) -> int:
    if isinstance(shape, ShapeExpr):
        return len(shape.values)
    info = shape.struct_info_
    if not isinstance(info, ShapeStructInfo):
        raise CheckError(
            f"TensorStructInfo: the shape of a tensor is a ShapeExpr or a variable whose struct "
            f"info is a shape, found {type(shape).__name__} with struct info {info}"
        )
    return info.ndim


@final
class TupleStructInfo(RelaxStructInfo):
    """A tuple, field by field."""

    __slots__ = ("fields",)
    TYPE_KEY = "relax.TupleStructInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("fields", "span~")

    def __init__(self, fields: Sequence[StructInfo], span: Span | None = None) -> None:
        self.fields: Final[tuple[StructInfo, ...]] = FrozenArray(
            expect_all(StructInfo, fields, 0, "relax.TupleStructInfo")
        )
        self.span = span


@final
class FuncStructInfo(RelaxStructInfo):
    """A function: parameters (None when not known), result, and whether it is pure.

    Variables in the parameters' shapes are bound by them, and may be used in `ret`. An opaque
    function may have `derive_func`, a global function (`tvm.ir.EnvFunc`) or another, which says
    what a given call of it returns.
    """

    __slots__ = ("derive_func", "params", "purity", "ret")
    TYPE_KEY = "relax.FuncStructInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("params*", "ret", "derive_func", "purity", "span~")

    def __init__(
        self,
        params: Sequence[StructInfo] | None,
        ret: StructInfo,
        purity: bool = True,
        span: Span | None = None,
    ) -> None:
        self.params: Final = (
            None if params is None else expect_all(StructInfo, params, 0, "relax.FuncStructInfo")
        )
        expect(StructInfo, ret, 1, "relax.FuncStructInfo")
        self.ret: Final = ret
        self.derive_func: DeriveFunc | None = None
        self.purity: Final = bool(purity)
        self.span = span

    @staticmethod
    def opaque_func(
        *,
        ret: StructInfo | None = None,
        derive_func: DeriveFunc | str | None = None,
        purity: bool = False,
        span: Span | None = None,
    ) -> FuncStructInfo:
        """A function of which only the result, or a rule for the result, is known."""
        if ret is not None and derive_func is not None:
            raise ValueError("FuncStructInfo: Cannot specify both ret and derive_func")
        made = FuncStructInfo(None, ObjectStructInfo() if ret is None else ret, purity, span)
        made.derive_func = EnvFunc(derive_func) if isinstance(derive_func, str) else derive_func
        return made

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> FuncStructInfo:
        """The rule is a field, but no parameter of the constructor."""
        made = FuncStructInfo(
            values.get("params"), values["ret"], values["purity"], values.get("span")  # type: ignore[arg-type]
        )
        derive = values.get("derive_func")
        made.derive_func = EnvFunc(derive) if isinstance(derive, str) else derive  # type: ignore[assignment]
        return made

    def is_opaque(self) -> bool:
        """True when the parameters are not known."""
        return self.params is None


def prim_value(value: Any) -> PrimExpr:
    """A number or expression as the value of a PrimValue; plain numbers become 64 bits wide."""
    if isinstance(value, int) and not isinstance(value, bool):
        return IntImm(INT64, value)
    if isinstance(value, float):
        return FloatImm("float64", value)
    return as_expr(value)


def const_int(expr: object) -> int | None:
    """The value of an integer literal (a cast of one too), or None."""
    if isinstance(expr, IntImm):
        return expr.value
    if isinstance(expr, int):
        return expr
    if isinstance(expr, Cast):
        return const_int(expr.value)
    return None


def const_number(expr: object) -> int | float | None:
    """The value of a literal, or None."""
    if isinstance(expr, FloatImm):
        return expr.value
    return const_int(expr)


register_nodes(
    ShapeExpr, ObjectStructInfo, PrimStructInfo, ShapeStructInfo, TensorStructInfo, TupleStructInfo,
    FuncStructInfo,
)  # fmt: skip
