"""Expressions of Relay: pure functional programs over tensors, tuples, functions and references.

A value that is used twice is one node with two users, or a variable bound by a `Let`. Types are
filled into `checked_type_` by `transform.InferType`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast, final

from typing_extensions import Self

from tvm.error import TVMError
from tvm.ir.attrs import Attrs
from tvm.ir.expr import OPERATORS, GlobalVar, RelaxExpr
from tvm.ir.host_tensor import HostTensor, as_host_tensor
from tvm.ir.node import Field, Node, fields, register_nodes, with_fields
from tvm.ir.scriptable import PRINTERS
from tvm.ir.span import Span, ambient_span
from tvm.ir.type import Type
from tvm.relax.base_expr import Id
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.support.lazy import lazy_names
from tvm.target.virtual_device import VirtualDevice

from .ty import TensorType

if TYPE_CHECKING:
    import numpy as np

UNCONSTRAINED: Final = VirtualDevice()  # of which nothing is known
RelayNode = Node
Expr = RelaxExpr  # what every dialect of graphs shares: operators and global variables too


class RelayExpr(RelaxExpr):
    """The root of Relay's expressions; `checked_type` is known once types were inferred."""

    __slots__ = ()
    TYPE_KEY = "relay.Expr"
    DIALECT: ClassVar[str] = "relay"
    checked_type_: Type | None
    virtual_device_: VirtualDevice  # UNCONSTRAINED where nothing was decided

    @property
    def checked_type(self) -> Type:
        """The type; a ValueError before it was inferred."""
        if self.checked_type_ is None:
            raise ValueError(
                "The type checker has not populated the checked_type for this node; "
                "run relay.transform.InferType() on its module first"
            )
        return self.checked_type_

    @property
    def _checked_type_(self) -> Type | None:
        return self.checked_type_

    def script(self, **options: Any) -> str:
        """This expression in Relay's text format, without the format's version."""
        shown = bool(options.get("show_meta", False))
        return PRINTERS.get("relay")(self, {"show_meta_data": shown, "head": False})

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """This expression in the text format that `relay.parse_expr` reads."""
        return PRINTERS.get("relay")(
            self, {"show_meta_data": show_meta_data, "annotate": annotate}
        )

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Self:
        """A node with its type, which is no parameter of the constructor."""
        rest = {name: value for name, value in values.items() if name != "checked_type_"}
        made = super().from_fields(rest)
        made.checked_type_ = cast("Type | None", values.get("checked_type_"))
        return made

    def _begin(self, span: Span | None) -> None:
        self.struct_info_ = None
        self.checked_type_ = None
        self.virtual_device_ = UNCONSTRAINED
        self.span = ambient_span() if span is None else span


class ExprWithOp(RelayExpr):
    """An expression that takes part in Python arithmetic and can be called."""

    __slots__ = ()

    def _apply(self, name: str, *operands: object) -> Any:
        for other in operands:
            if isinstance(other, (bool, int, float)):
                raise TypeError(f'convert "{other!s}" with `const` first')
        rule = OPERATORS["relay"].get(name)
        if rule is None:
            raise TypeError(f"{type(self).__name__} does not take the operator {name!r}")
        return rule(*operands)

    def astype(self, dtype: str, span: Span | None = None) -> Any:
        """This value cast to `dtype`."""
        return OPERATORS["relay"]["astype"](self, dtype)

    def __call__(self, *args: RelaxExpr) -> Call:
        """This function applied to arguments."""
        return Call(self, args)


@final
class Constant(ExprWithOp):
    """A tensor that is known while compiling."""

    __slots__ = ("data",)
    TYPE_KEY = "relay.Constant"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("data", "checked_type_~", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("data", "span")

    def __init__(
        self, data: HostTensor | np.ndarray[Any, Any] | Any, span: Span | None = None
    ) -> None:
        self._begin(span)
        self.data: Final = as_host_tensor(data)

    @property
    def tensor_type(self) -> TensorType:
        """The type that follows from the data."""
        return TensorType(self.data.shape, self.data.dtype)

    def is_scalar(self) -> bool:
        """True when the tensor has no dimension."""
        return self.data.ndim == 0


@final
class Tuple(ExprWithOp):
    """Several values as one."""

    __slots__ = ("fields",)
    TYPE_KEY = "relay.Tuple"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields("fields", "checked_type_~", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("fields", "span")

    @explained
    def __init__(self, fields: Sequence[RelaxExpr], span: Span | None = None) -> None:
        self._begin(span)
        self.fields: Final = _exprs(fields, "Tuple")

    def __getitem__(self, index: int) -> RelaxExpr:
        if index >= len(self.fields) or index < -len(self.fields):
            raise IndexError("Tuple index out of range")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def astype(self, _: str, span: Span | None = None) -> Any:
        """Tuples have no element type."""
        raise TypeError("astype cannot be used on tuple")


@final
class Var(ExprWithOp):
    """A variable, known by its id."""

    __slots__ = ("type_annotation", "vid")
    TYPE_KEY = "relay.Var"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "vid", "type_annotation", "checked_type_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("vid", "type_annotation", "span")

    def __init__(
        self, name_hint: str | Id, type_annotation: Type | None = None, span: Span | None = None
    ) -> None:
        if type_annotation is not None and not isinstance(type_annotation, Type):
            raise TypeError(
                f"Var {name_hint!r}: the annotation is a {type(type_annotation).__name__}; "
                "legal: a Type such as relay.TensorType((2, 3))"
            )
        if not isinstance(name_hint, (str, Id)):
            raise TypeError(f"Var: the name is a {type(name_hint).__name__}; legal: a str or an Id")
        self._begin(span)
        self.vid: Final = name_hint if isinstance(name_hint, Id) else Id(name_hint)
        self.type_annotation: Final = type_annotation

    @property
    def name_hint(self) -> str:
        """The name that was asked for; the printer makes names unique."""
        return self.vid.name_hint


@final
class Call(ExprWithOp):
    """A function, operator or constructor applied to arguments."""

    __slots__ = ("args", "attrs", "op", "type_args")
    TYPE_KEY = "relay.Call"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "op", "args", "attrs", "type_args~", "checked_type_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("op", "args", "attrs", "type_args", "span")

    @explained
    def __init__(
        self,
        op: RelaxExpr,
        args: Sequence[RelaxExpr],
        attrs: Attrs | None = None,
        type_args: Sequence[Type] | None = None,
        span: Span | None = None,
    ) -> None:
        if not isinstance(op, RelaxExpr):
            raise TypeError(
                f"Call: the callee is a {type(op).__name__}; legal: an operator, a function, "
                "a constructor, or an expression whose value is a function"
            )
        self._begin(span)
        self.op: Final = op
        self.args: Final = _exprs(args, "Call")
        self.attrs: Final = attrs
        self.type_args: tuple[Type, ...] = tuple(type_args or ())


@final
class Let(ExprWithOp):
    """`let var = value; body`."""

    __slots__ = ("body", "value", "var")
    TYPE_KEY = "relay.Let"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "var*", "value", "body", "checked_type_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("var", "value", "body", "span")

    def __init__(
        self, variable: Var, value: RelaxExpr, body: RelaxExpr, span: Span | None = None
    ) -> None:
        if not isinstance(variable, Var):
            raise TypeError(f"Let: the variable is a {type(variable).__name__}; legal: a Var")
        self._begin(span)
        self.var: Final = variable
        self.value: Final[RelaxExpr] = operand(value, "Let")
        self.body: Final[RelaxExpr] = operand(body, "Let")


@final
class If(ExprWithOp):
    """One of two values; the condition is a bool scalar."""

    __slots__ = ("cond", "false_branch", "true_branch")
    TYPE_KEY = "relay.If"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "cond", "true_branch", "false_branch", "checked_type_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("cond", "true_branch", "false_branch", "span")

    def __init__(
        self,
        cond: RelaxExpr,
        true_branch: RelaxExpr,
        false_branch: RelaxExpr,
        span: Span | None = None,
    ) -> None:
        self._begin(span)
        self.cond: Final[RelaxExpr] = operand(cond, "If")
        self.true_branch: Final[RelaxExpr] = operand(true_branch, "If")
        self.false_branch: Final[RelaxExpr] = operand(false_branch, "If")


@final
class TupleGetItem(ExprWithOp):
    """One field of a tuple."""

    __slots__ = ("index", "tuple_value")
    TYPE_KEY = "relay.TupleGetItem"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "tuple_value", "index", "checked_type_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("tuple_value", "index", "span")

    @explained
    def __init__(self, tuple_value: RelaxExpr, index: int, span: Span | None = None) -> None:
        self._begin(span)
        self.tuple_value: Final[RelaxExpr] = operand(tuple_value, "TupleGetItem")
        self.index: Final = int(index)


@final
class RefCreate(ExprWithOp):
    """A new reference that holds `value`."""

    __slots__ = ("value",)
    TYPE_KEY = "relay.RefCreate"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "checked_type_~", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("value", "span")

    def __init__(self, value: RelaxExpr, span: Span | None = None) -> None:
        self._begin(span)
        self.value: Final[RelaxExpr] = operand(value, "RefCreate")


@final
class RefRead(ExprWithOp):
    """What a reference holds."""

    __slots__ = ("ref",)
    TYPE_KEY = "relay.RefRead"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields("ref", "checked_type_~", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("ref", "span")

    def __init__(self, ref: RelaxExpr, span: Span | None = None) -> None:
        self._begin(span)
        self.ref: Final[RelaxExpr] = operand(ref, "RefRead")


@final
class RefWrite(ExprWithOp):
    """Write `value` to a reference; the result is the empty tuple."""

    __slots__ = ("ref", "value")
    TYPE_KEY = "relay.RefWrite"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields("ref", "value", "checked_type_~", "span~")
    CTOR: ClassVar[tuple[str, ...]] = ("ref", "value", "span")

    def __init__(self, ref: RelaxExpr, value: RelaxExpr, span: Span | None = None) -> None:
        self._begin(span)
        self.ref: Final[RelaxExpr] = operand(ref, "RefWrite")
        self.value: Final[RelaxExpr] = operand(value, "RefWrite")


class TempExpr(ExprWithOp):
    """A value that only a pass knows; `realize` gives the expression that it stands for."""

    __slots__ = ()
    TYPE_KEY = "relay.TempExpr"

    def realize(self) -> RelaxExpr:
        """The expression that this one stands for."""
        raise TypeError(f"{type(self).__name__} does not say what it stands for")


class TupleWrapper:
    """An expression with a tuple for its value, that Python can unpack and index."""

    def __init__(self, tuple_value: RelaxExpr, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> RelaxExpr:
        """The expression itself, for operators that take a tuple."""
        return self.tuple_value

    def astext(self) -> str:
        """The text of the expression."""
        return cast("RelayExpr", self.tuple_value).astext()

    def __getitem__(self, index: int) -> TupleGetItem:
        if index >= self.size:
            raise IndexError("Tuple index out of range")
        return TupleGetItem(self.tuple_value, index)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"

    def astype(self, _: str) -> Any:
        """Tuples have no element type."""
        raise TypeError("astype cannot be used on tuple")


def as_relay(value: Any) -> Any:
    """The expression that a tuple which Python can unpack stands for; any other as it is.

    A call of a global function without arguments, which could be of any dialect, is one of Relay.
    """
    if isinstance(value, TupleWrapper):
        return value.tuple_value
    if not isinstance(value, RelaxExpr) and isinstance(getattr(value, "op", None), GlobalVar):
        return value if value.args else Call(value.op, [])
    return value


def operand(value: Any, owner: str) -> RelaxExpr:
    """The expression that a field of `owner` is; a TypeError for what is none."""
    found = as_relay(value)
    if not isinstance(found, RelaxExpr):
        raise TypeError(
            f"{owner}: an operand is a {type(found).__name__}: {found!r}; legal: Relay "
            "expressions; relay.const makes one of a number or an array"
        )
    return found


def _exprs(values: Sequence[Any], owner: str) -> tuple[RelaxExpr, ...]:
    return tuple([operand(value, owner) for value in values])


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """A variable, with a type given whole, as the name of a scalar type, or as shape and dtype."""
    if type_annotation is not None and shape is not None:
        raise ValueError("Can only specify either type_annotation or shape.")
    if shape is not None:
        type_annotation = TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span)


def const(value: Any, dtype: str | None = None, span: Span | None = None) -> Constant:
    """A constant of a number, an array or a tensor.

    Without a dtype, numbers and arrays of 64 bits become 32 bits wide; a tensor stays as it is.
    """
    import numpy as np  # the words load without numpy

    from tvm.relax.numpy_dtype import numpy_dtype

    if isinstance(value, HostTensor):
        return Constant(value, span)
    plain = isinstance(value, (bool, int, float, list, np.bool_))
    if not plain and not isinstance(value, (np.ndarray, np.generic)):
        if not hasattr(value, "numpy"):
            raise ValueError("value has to be scalar or NDArray")
        return Constant(value, span)
    wanted = None if dtype is None else numpy_dtype(DataType(dtype))
    array = np.array(value, dtype=wanted)
    if wanted is None:
        narrow = {"float64": np.float32, "int64": np.int32}.get(array.dtype.name)
        array = array if narrow is None else array.astype(narrow)
    return Constant(array, span)


def bind(expr: RelaxExpr, binds: Mapping[Var, RelaxExpr]) -> RelaxExpr:
    """`expr` with values for some variables; a function's bound parameters disappear."""
    from .rewrite import bind as bound  # walks read these words

    return bound(expr, binds)


def _with(node: Any, virtual_device: VirtualDevice | None, **changes: object) -> Any:
    given = {name: value for name, value in changes.items() if value is not None}
    made = with_fields(node, **given)
    device = node.virtual_device_ if virtual_device is None else virtual_device
    if made.virtual_device_ is not device:
        made = type(node).from_fields(made.field_values()) if made is node else made
        made.virtual_device_ = device
    return made


def copied(expr: RelayExpr) -> Any:
    """Another node of the same parts, type and device."""
    made = type(expr).from_fields(expr.field_values())
    made.virtual_device_ = expr.virtual_device_
    return made


@explained
def ConstantWithFields(
    constant: Constant, data: Any = None, virtual_device: Any = None, span: Span | None = None
) -> Constant:
    """A copy of a constant with some fields changed."""
    made = _with(constant, virtual_device, data=data, span=span)
    return Constant(made.data, made.span) if data is not None else made


@explained
def TupleWithFields(
    tup: Tuple, fields: Any = None, virtual_device: Any = None, span: Span | None = None
) -> Tuple:
    """A copy of a tuple with some fields changed."""
    return cast("Tuple", _with(tup, virtual_device, fields=fields, span=span))


@explained
def VarWithFields(
    variable: Var,
    vid: Id | None = None,
    type_annotation: Type | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> Var:
    """A copy of a variable with some fields changed."""
    return cast(
        "Var",
        _with(variable, virtual_device, vid=vid, type_annotation=type_annotation, span=span),
    )


@explained
def CallWithFields(
    call: Call,
    op: RelaxExpr | None = None,
    args: Sequence[RelaxExpr] | None = None,
    attrs: Attrs | None = None,
    type_args: Sequence[Type] | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> Call:
    """A copy of a call with some fields changed."""
    made = _with(
        call, virtual_device, op=op, args=args, attrs=attrs, type_args=type_args, span=span
    )
    return cast("Call", made)


@explained
def LetWithFields(
    let: Let,
    variable: Var | None = None,
    value: RelaxExpr | None = None,
    body: RelaxExpr | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> Let:
    """A copy of a let with some fields changed."""
    made = _with(let, virtual_device, var=variable, value=value, body=body, span=span)
    return cast("Let", made)


@explained
def IfWithFields(
    if_expr: If,
    cond: RelaxExpr | None = None,
    true_branch: RelaxExpr | None = None,
    false_branch: RelaxExpr | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> If:
    """A copy of a conditional with some fields changed."""
    made = _with(
        if_expr, virtual_device, cond=cond, true_branch=true_branch, false_branch=false_branch,
        span=span,
    )  # fmt: skip
    return cast("If", made)


@explained
def TupleGetItemWithFields(
    tuple_get_item: TupleGetItem,
    tuple_value: RelaxExpr | None = None,
    index: int | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> TupleGetItem:
    """A copy of a tuple access with some fields changed."""
    made = _with(tuple_get_item, virtual_device, tuple_value=tuple_value, index=index, span=span)
    return cast("TupleGetItem", made)


@explained
def RefCreateWithFields(
    ref_create: RefCreate,
    value: RelaxExpr | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> RefCreate:
    """A copy of a reference's making with some fields changed."""
    return cast("RefCreate", _with(ref_create, virtual_device, value=value, span=span))


@explained
def RefReadWithFields(
    ref_read: RefRead,
    ref: RelaxExpr | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> RefRead:
    """A copy of a read with some fields changed."""
    return cast("RefRead", _with(ref_read, virtual_device, ref=ref, span=span))


@explained
def RefWriteWithFields(
    ref_write: RefWrite,
    ref: RelaxExpr | None = None,
    value: RelaxExpr | None = None,
    virtual_device: Any = None,
    span: Span | None = None,
) -> RefWrite:
    """A copy of a write with some fields changed."""
    return cast("RefWrite", _with(ref_write, virtual_device, ref=ref, value=value, span=span))


def _call_global(var: GlobalVar, *args: RelaxExpr) -> Call:
    return Call(var, args)


def as_type(value: object) -> Type:
    """A type given as such; anything else is refused."""
    if isinstance(value, Type):
        return value
    raise TVMError(f"a type is expected, found {type(value).__name__}: {value!r}")


__getattr__ = lazy_names(
    __name__,
    {
        "StaticMemoryPlan": "tvm.relay.storage:StaticMemoryPlan",
        "StorageInfo": "tvm.relay.storage:StorageInfo",
    },
)

OPERATORS["relay"]["call_global"] = _call_global

register_nodes(
    Constant, Tuple, Var, Call, Let, If, TupleGetItem, RefCreate, RefRead, RefWrite,
)  # fmt: skip
