"""Expressions and bindings of Relax: values over tensors, shapes and tuples.

Programs are kept in normal form: operands of a call are variables, constants or tuples of them, and
each step of a function is a binding in a block. `BlockBuilder` brings them there and fills
`struct_info_`; a hand-made call has none until then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeGuard, final

from tvm.error import CheckError, DTypeError, TVMError, message
from tvm.ir.attrs import Attrs, DictAttrs
from tvm.ir.expr import GlobalVar, PrimExpr, PrimExprConvertible, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc, as_attrs
from tvm.ir.host_tensor import HostTensor, as_host_tensor
from tvm.ir.node import Field, Node, fields, listed, register_nodes
from tvm.ir.op import Op
from tvm.ir.span import Span, ambient_span
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenArray
from tvm.support.lazy import lazy_names
from tvm.tir.expr import FloatImm, IntImm
from tvm.tir.expr import StringImm as TirString

from .base_expr import ExprWithOp, Id, LeafExpr, expect, expect_all
from .struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    prim_value,
)
from .struct_info_rules import erase_result, is_base_of

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Binding", "BindingBlock", "Call", "Constant", "DataTypeImm", "DataflowBlock", "DataflowVar",
    "Expr", "ExprWithOp", "ExternFunc", "Function", "GlobalVar", "Id", "If", "LeafExpr",
    "MatchCast", "PrimValue", "SeqExpr", "ShapeExpr", "StringImm", "StructInfo", "Tuple",
    "TupleGetItem", "Var", "VarBinding", "as_seq", "const", "convert_to_expr", "extern",
    "get_shape_of", "is_call_of", "make_shape", "te_tensor",
]  # fmt: skip

Expr = RelaxExpr
ExprLike: TypeAlias = RelaxExpr | PrimExpr | int | float | bool | str | Sequence[Any]


class Var(ExprWithOp):
    """A variable, known by its id. Its struct info belongs to it; a change makes a new variable."""

    __slots__ = ("vid",)
    TYPE_KEY = "relax.expr.Var"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("vid", "struct_info_", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("vid", "struct_info_", "span")

    def __init__(
        self, name_hint: str | Id, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        if struct_info is not None and not isinstance(struct_info, StructInfo):
            raise TypeError(
                f"{type(self).__name__} {name_hint!r}: struct_info is a "
                f"{type(struct_info).__name__}; legal: a StructInfo such as "
                'TensorStructInfo((2, 3), "float32"), or None'
            )
        expect((Id, str), name_hint, 0, "relax.Var")
        self.vid: Final = name_hint if isinstance(name_hint, Id) else Id(name_hint)
        self.struct_info_ = struct_info
        self.span = span

    @property
    def name_hint(self) -> str:
        """The name that was asked for; the printer makes names unique."""
        return self.vid.name_hint


@final
class DataflowVar(Var):
    """A variable that lives only within its dataflow block."""

    __slots__ = ()
    TYPE_KEY = "relax.expr.DataflowVar"


@final
class Constant(ExprWithOp):
    """A tensor that is known while compiling; the data stays in host memory."""

    __slots__ = ("data",)
    TYPE_KEY = "relax.expr.Constant"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("data", "struct_info_~", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("data", "struct_info_", "span")

    def __init__(
        self,
        data: HostTensor | np.ndarray[Any, Any] | Any,
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        self.data: Final = as_host_tensor(data)
        if struct_info is None:
            struct_info = TensorStructInfo(self.data.shape, self.data.dtype)
        self.struct_info_ = struct_info
        self.span = span

    def is_scalar(self) -> bool:
        """True when the tensor has no dimension."""
        return self.data.ndim == 0


@final
class Tuple(ExprWithOp):
    """Several values as one."""

    __slots__ = ("fields",)
    TYPE_KEY = "relax.expr.Tuple"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("fields", "struct_info_~", "span~")

    def __init__(self, fields: Sequence[ExprLike], span: Span | None = None) -> None:
        if not hasattr(fields, "__iter__"):
            raise DTypeError(
                message("a tuple has a list of fields", found=f"{fields!r}",
                        legal="a list or a tuple of expressions")
            )  # fmt: skip
        self.fields: Final[tuple[RelaxExpr, ...]] = FrozenArray(
            [convert_to_expr(field) for field in fields]
        )
        infos = [field.struct_info_ for field in self.fields]
        known = [info for info in infos if info is not None]
        self.struct_info_ = TupleStructInfo(known) if len(known) == len(infos) else None
        self.span = span

    def __getitem__(self, index: int) -> RelaxExpr:
        if index >= len(self.fields) or index < -len(self.fields):
            raise IndexError(f"Tuple index out of range: {index} of {len(self.fields)}")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)


@final
class TupleGetItem(ExprWithOp):
    """One field of a tuple."""

    __slots__ = ("index", "tuple_value")
    TYPE_KEY = "relax.expr.TupleGetItem"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("tuple_value", "index", "struct_info_~", "span~")

    def __init__(self, tuple_value: RelaxExpr, index: int, span: Span | None = None) -> None:
        expect(RelaxExpr, tuple_value, 0, "relax.TupleGetItem")
        expect((int, IntImm), index, 1, "relax.TupleGetItem")
        info = tuple_value.struct_info_
        if index < 0:
            raise TupleIndexError(f"Index out of bounds: a tuple has no item {index}; legal: 0 ...")
        if isinstance(info, TupleStructInfo) and index >= len(info.fields):
            raise TupleIndexError(
                f"Index out of bounds: item {index} of a tuple with {len(info.fields)} fields"
            )
        self.tuple_value: Final = tuple_value
        self.index: Final = int(index)
        self.struct_info_ = info.fields[index] if isinstance(info, TupleStructInfo) else None
        self.span = span


class TupleIndexError(TVMError, IndexError):
    """An index that the tuple does not have."""


@final
class PrimValue(LeafExpr):
    """A number, or an expression over the function's symbolic variables.

    A Python integer is an int64 (so are True and False, which are integers), a float a float32.
    """

    __slots__ = ("value",)
    TYPE_KEY = "relax.expr.PrimValue"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "struct_info_~", "span~")

    def __init__(self, value: PrimExpr | float, span: Span | None = None) -> None:
        if isinstance(value, bool):
            value = int(value)
        elif isinstance(value, float):
            value = FloatImm("float32", value)
        self.value: Final = prim_value(value)
        self.struct_info_ = PrimStructInfo(value=self.value)
        self.span = span

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> PrimValue:
        """The struct info follows from the value."""
        return PrimValue(values["value"], values.get("span"))  # type: ignore[arg-type]


@final
class StringImm(LeafExpr):
    """A string."""

    __slots__ = ("value",)
    TYPE_KEY = "relax.expr.StringImm"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "struct_info_~", "span~")

    def __init__(self, value: str, span: Span | None = None) -> None:
        expect(str, value, 0, "relax.StringImm")
        self.value: Final = str(value)
        self.struct_info_ = ObjectStructInfo()
        self.span = span

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> StringImm:
        """The struct info is always the same."""
        return StringImm(values["value"], values.get("span"))  # type: ignore[arg-type]


@final
class DataTypeImm(LeafExpr):
    """A data type as a value."""

    __slots__ = ("value",)
    TYPE_KEY = "relax.expr.DataTypeImm"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "struct_info_~", "span~")

    def __init__(self, value: DataType | str, span: Span | None = None) -> None:
        self.value: Final = DataType(value)
        self.struct_info_ = ObjectStructInfo()
        self.span = span

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> DataTypeImm:
        """The struct info is always the same."""
        return DataTypeImm(values["value"], values.get("span"))  # type: ignore[arg-type]


@final
class Call(ExprWithOp):
    """A call of an operator, a function, or a value that is a function.

    `sinfo_args` are struct infos given by the caller, where the callee cannot tell its result.
    """

    __slots__ = ("args", "attrs", "op", "sinfo_args")
    TYPE_KEY = "relax.expr.Call"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "op", "args", "attrs", "sinfo_args", "struct_info_~", "span~"
    )

    def __init__(
        self,
        op: RelaxExpr,
        args: Sequence[ExprLike],
        attrs: Attrs | None = None,
        sinfo_args: Sequence[StructInfo] | None = None,
        span: Span | None = None,
    ) -> None:
        if not isinstance(op, RelaxExpr):
            raise TypeError(
                f"Call: the callee is a {type(op).__name__}; legal: a Relax expression, such as "
                "an Op, a GlobalVar, an ExternFunc or a variable that holds a function"
            )
        info = op.struct_info_
        if info is not None and not isinstance(info, FuncStructInfo):
            raise ValueError(
                message(
                    "Call: the callee is no function",
                    found=f"{op} with struct info {info}",
                    legal="an operator, or an expression whose struct info is a FuncStructInfo",
                )
            )
        self.op: Final = op
        self.args: Final[tuple[RelaxExpr, ...]] = FrozenArray(
            [
                arg if isinstance(arg, RelaxExpr) else convert_to_expr(arg)
                for arg in listed(args, "Call: args")
            ]
        )
        if attrs is not None:
            expect(Attrs, attrs, 2, "relax.Call")
        if sinfo_args:
            sinfo_args = expect_all(StructInfo, sinfo_args, 3, "relax.Call")
        self.attrs: Final = attrs
        self.sinfo_args: Final[tuple[StructInfo, ...]] = FrozenArray(sinfo_args or ())
        self.struct_info_ = None
        self.span = ambient_span() if span is None else span


def is_call_of(expr: object, *names: str) -> TypeGuard[Call]:
    """Whether an expression is a call of an operator by one of these names."""
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names


class Binding(Node):
    """One step of a block: a variable gets a value."""

    __slots__ = ("span", "value", "var")
    TYPE_KEY = "relax.expr.Binding"
    var: Var
    value: RelaxExpr
    span: Span | None


@final
class VarBinding(Binding):
    """`var = value`."""

    __slots__ = ()
    TYPE_KEY = "relax.expr.VarBinding"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "var*", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("var", "value", "span")

    def __init__(self, var: Var, value: RelaxExpr, span: Span | None = None) -> None:
        expect(Var, var, 0, "relax.VarBinding")
        expect(RelaxExpr, value, 1, "relax.VarBinding")
        self.var = var
        self.value = value
        self.span = span

    def binds_first(self) -> bool:
        """A local function may call itself."""
        return isinstance(self.value, Function)


@final
class MatchCast(Binding):
    """`var = value`, checked at run time to be what `struct_info` says; new symbols are bound."""

    __slots__ = ("struct_info",)
    TYPE_KEY = "relax.expr.MatchCast"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "struct_info*", "var*", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("var", "value", "struct_info", "span")

    def __init__(
        self, var: Var, value: RelaxExpr, struct_info: StructInfo, span: Span | None = None
    ) -> None:
        expect(Var, var, 0, "relax.MatchCast")
        expect(RelaxExpr, value, 1, "relax.MatchCast")
        expect(StructInfo, struct_info, 2, "relax.MatchCast")
        self.var = var
        self.value = value
        self.struct_info: Final = struct_info
        self.span = span


class BindingBlock(Node):
    """Bindings in the order of evaluation."""

    __slots__ = ("bindings", "span")
    TYPE_KEY = "relax.expr.BindingBlock"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("bindings", "span~")

    def __init__(self, bindings: Sequence[Binding], span: Span | None = None) -> None:
        self.bindings: Final = expect_all(Binding, bindings, 0, f"relax.{type(self).__name__}")
        self.span: Final = span


@final
class DataflowBlock(BindingBlock):
    """Bindings without side effects or control flow: free to be reordered and dropped."""

    __slots__ = ()
    TYPE_KEY = "relax.expr.DataflowBlock"


@final
class SeqExpr(ExprWithOp):
    """Blocks one after the other, and then a value."""

    __slots__ = ("blocks", "body")
    TYPE_KEY = "relax.expr.SeqExpr"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("blocks", "body", "struct_info_~", "span~")

    def __init__(
        self, blocks: Sequence[BindingBlock], body: RelaxExpr, span: Span | None = None
    ) -> None:
        self.blocks: Final = expect_all(BindingBlock, blocks, 0, "relax.SeqExpr")
        expect(RelaxExpr, body, 1, "relax.SeqExpr")
        self.body: Final = body
        self.struct_info_ = None
        self.span = span


def as_seq(expr: RelaxExpr) -> SeqExpr:
    """`expr` as a sequence; one without blocks if it is none."""
    if isinstance(expr, SeqExpr):
        return expr
    seq = SeqExpr((), expr, expr.span)
    seq.struct_info_ = expr.struct_info_
    return seq


@final
class If(ExprWithOp):
    """One of two branches; the condition is a bool scalar."""

    __slots__ = ("cond", "false_branch", "true_branch")
    TYPE_KEY = "relax.expr.If"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "cond", "true_branch", "false_branch", "struct_info_~", "span~"
    )

    def __init__(
        self,
        cond: RelaxExpr,
        true_branch: RelaxExpr,
        false_branch: RelaxExpr,
        span: Span | None = None,
    ) -> None:
        for at, part in enumerate((cond, true_branch, false_branch)):
            expect(RelaxExpr, part, at, "relax.If")
        self.cond: Final = cond
        self.true_branch: Final = as_seq(true_branch)
        self.false_branch: Final = as_seq(false_branch)
        self.struct_info_ = None
        self.span = span


BindingMap: TypeAlias = Mapping[str | Var, Any]


@final
class Function(BaseFunc, ExprWithOp):
    """A function; its struct info is the signature.

    The result's struct info may be left out when the body is normalised. Where both are known the
    more precise one stands; symbols that only the body binds are erased from it.
    """

    __slots__ = ("body", "is_pure", "params", "ret_struct_info")
    TYPE_KEY = "relax.expr.Function"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "params*", "body", "ret_struct_info", "is_pure", "attrs", "struct_info_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = (
        "params", "body", "ret_struct_info", "is_pure", "attrs", "span",
    )  # fmt: skip

    def __init__(
        self,
        params: Sequence[Var],
        body: RelaxExpr,
        ret_struct_info: StructInfo | None = None,
        is_pure: bool | None = True,
        attrs: DictAttrs | Mapping[str, object] | None = None,
        span: Span | None = None,
    ) -> None:
        self.params: Final[tuple[Var, ...]] = FrozenArray(
            expect_all(Var, params, 0, "relax.Function")
        )
        expect(RelaxExpr, body, 1, "relax.Function")
        self.body: Final = as_seq(body)
        infos = _param_infos(self.params)
        found = self.body.struct_info_
        if found is None and ret_struct_info is None:
            raise CheckError(
                "Function must be constructed with a normalized body or a provided "
                "ret_struct_info; normalise the body with a BlockBuilder, or give one"
            )
        if ret_struct_info is None or (found is not None and is_base_of(ret_struct_info, found)):
            assert found is not None
            ret_struct_info = erase_result(found, infos)
        self.ret_struct_info: Final[StructInfo] = ret_struct_info
        self.is_pure: Final = bool(is_pure)
        self.attrs = as_attrs(attrs)
        self.struct_info_ = FuncStructInfo(infos, ret_struct_info, self.is_pure)
        self.span = span

    @staticmethod
    def create_empty(
        params: Sequence[Var],
        ret_struct_info: StructInfo,
        is_pure: bool | None = True,
        attrs: DictAttrs | Mapping[str, object] | None = None,
        span: Span | None = None,
    ) -> Function:
        """A function with a signature and no body of its own: it calls a stand-in for it."""
        stand_in = ExternFunc("", FuncStructInfo(_param_infos(tuple(params)), ret_struct_info))
        body = Call(stand_in, tuple(params))
        return Function(params, body, ret_struct_info, is_pure, attrs, span)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Function:
        """The struct info follows from the signature."""
        return Function(*(values[name] for name in cls.CTOR if name in values))  # type: ignore[arg-type]

    def bind_symbolic_vars(self, binding_map: Mapping[Any, PrimExpr | int]) -> Function:
        """This function with values for some symbolic variables, given by variable or name."""
        return _function_tool("bind_symbolic_vars")(self, binding_map)

    def bind_params(self, binding_map: BindingMap) -> Function:
        """This function with values for some parameters, given by variable or name."""
        return _function_tool("bind_params")(self, binding_map)

    def inline_functions(self, function_map: Mapping[str | GlobalVar, Function]) -> Function:
        """This function with the bodies of the given functions in place of their calls."""
        return _function_tool("inline_functions")(self, function_map)


def _function_tool(name: str) -> Callable[..., Function]:
    from . import bind  # stands above the words: it needs the functors and the block builder

    tool: Callable[..., Function] = getattr(bind, name)
    return tool


def _param_infos(params: tuple[Var, ...]) -> list[StructInfo]:
    infos = []
    for param in params:
        if param.struct_info_ is None:
            raise CheckError(
                f"relax.Function requires params to contain struct_info: {param.name_hint!r} has "
                'none; give one: relax.Var("x", TensorStructInfo((2, 3), "float32"))'
            )
        infos.append(param.struct_info_)
    return infos


@final
class ExternFunc(BaseFunc, ExprWithOp):
    """A function that is found by name at run time."""

    __slots__ = ("global_symbol",)
    TYPE_KEY = "relax.expr.ExternFunc"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("global_symbol", "struct_info_", "attrs~", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("global_symbol", "struct_info_", "span")

    def __init__(
        self, global_symbol: str, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        if struct_info is not None and not isinstance(struct_info, FuncStructInfo):
            raise CheckError(
                f"ExternFunc {global_symbol!r}: its struct info is a {type(struct_info).__name__}; "
                "legal: FuncStructInfo"
            )
        expect(str, global_symbol, 0, "relax.ExternFunc")
        self.global_symbol: Final = str(global_symbol)
        self.attrs = DictAttrs()
        self.struct_info_ = OPAQUE_EXTERN if struct_info is None else struct_info
        self.span = span

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> ExternFunc:
        """Attributes are no parameter of the constructor."""
        made = ExternFunc(*(values[name] for name in cls.CTOR if name in values))  # type: ignore[arg-type]
        attrs = values.get("attrs")
        if isinstance(attrs, DictAttrs):
            made.attrs = attrs
        return made


# What a call of a function known by name only returns: the struct info that the caller gave.
INFER_BY_SINFO_ARGS: Final = "tvm.relax.struct_info.infer_by_sinfo_args"
OPAQUE_EXTERN: Final = FuncStructInfo.opaque_func(derive_func=INFER_BY_SINFO_ARGS)


def extern(
    name: str, struct_info: StructInfo | None = None, span: Span | None = None
) -> ExternFunc:
    """The function that is called `name` at run time."""
    return ExternFunc(name, struct_info, span)


def const(value: Any, dtype: DataType | str | None = None) -> Constant:
    """A constant tensor of a number, a numpy array or a runtime tensor.

    Without a dtype, 64-bit integers and floats of numpy and Python become 32-bit ones.
    """
    import numpy as np  # the words of Relax load without numpy

    from .numpy_dtype import numpy_dtype

    if isinstance(value, HostTensor):
        return Constant(value)
    is_array = isinstance(value, (np.ndarray, np.generic))
    if isinstance(value, str) and value in ("inf", "-inf", "nan"):
        value = float(value)  # as scripts show them
    if not is_array and not isinstance(value, (bool, int, float, list, tuple)):
        if not hasattr(value, "numpy"):
            raise ValueError(
                f"value has to be scalar or Tensor, found {type(value).__name__}; "
                "legal: bool, int, float, a list of them, a numpy array, a tvm.runtime.Tensor"
            )
        return Constant(value)
    wanted = None if dtype is None else numpy_dtype(DataType(dtype))
    try:
        array = np.asarray(value, dtype=wanted)
    except (TypeError, ValueError) as err:
        raise _no_constant(value) from err
    if array.dtype.kind in "OSUMm":
        raise _no_constant(value)
    if wanted is None:
        narrow = {"int64": np.int32, "float64": np.float32}.get(array.dtype.name)
        array = array if narrow is None else array.astype(narrow)
    return Constant(array)


def _no_constant(value: object) -> ValueError:
    return ValueError(
        message("relax.const: the values of a tensor", found=repr(value),
                legal="numbers, or rows of numbers that are equally long")
    )  # fmt: skip


def make_shape(shape: Sequence[PrimExpr | int]) -> ShapeExpr:
    """A shape of numbers and expressions."""
    if isinstance(shape, (list, tuple)):
        return ShapeExpr(shape)
    raise ValueError(f"Wrong type: a shape is a list or a tuple, found {type(shape).__name__}")


def _update_struct_info(expr: RelaxExpr, struct_info: StructInfo | None) -> None:
    """Fill the struct info of an expression that was made by hand; scripts of TVM call this."""
    expr.struct_info_ = struct_info


@explained
def get_shape_of(expr: RelaxExpr) -> RelaxExpr:
    """The shape of a tensor as an expression: the known one, or a call of `relax.shape_of`."""
    info = expr.struct_info
    if not isinstance(info, TensorStructInfo):
        raise CheckError(f"get_shape_of: the struct info of {expr} is {info}; legal: a tensor")
    if info.shape is not None:
        return info.shape
    call = Call(Op.get("relax.shape_of"), (expr,))
    call.struct_info_ = ShapeStructInfo(ndim=info.ndim)
    return call


@explained
def te_tensor(
    value: RelaxExpr, tir_var_map: Mapping[Any, PrimExpr] | None = None, name: str = "rxplaceholder"
) -> Any:
    """A tensor-expression placeholder with the shape and dtype of a Relax tensor."""
    from . import te_call  # needs tvm.te, which the words load without

    return te_call.te_tensor(value, dict(tir_var_map or {}), name)


def convert_to_expr(value: Any) -> RelaxExpr:
    """A Python or TIR value as a Relax expression.

    Numbers and TIR expressions become PrimValue (a float one of 64 bits), strings StringImm, lists
    and tuples Tuple.
    """
    if isinstance(value, RelaxExpr):
        return value
    if isinstance(value, str):
        return DataTypeImm(value) if isinstance(value, DataType) else StringImm(value)
    if isinstance(value, float):
        return PrimValue(FloatImm("float64", value))
    if isinstance(value, TirString):
        raise TypeError(
            f"cannot convert {value} to a Relax expression: it may be a relax.StringImm or a "
            "relax.PrimValue; legal: a Python string, or one of these"
        )
    if isinstance(value, (PrimExpr, int, PrimExprConvertible)):
        return PrimValue(value)  # type: ignore[arg-type]
    if isinstance(value, (list, tuple)):
        return Tuple(value)
    raise TypeError(
        f"cannot convert a {type(value).__name__} to a Relax expression: {value!r}; "
        "legal: Expr, PrimExpr, int, float, str, and tuples or lists of them; "
        "relax.const makes a constant of an array"
    )


# needs tvm.te, which the words load without
__getattr__ = lazy_names(__name__, {"TEPlaceholderOp": "tvm.relax.te_call:TEPlaceholderOp"})

register_nodes(
    Var, DataflowVar, Constant, Tuple, TupleGetItem, PrimValue, StringImm, DataTypeImm, Call,
    VarBinding, MatchCast, BindingBlock, DataflowBlock, SeqExpr, If, Function, ExternFunc,
)  # fmt: skip
