"""How an operator of Relay is declared: once, its name, options, type and meaning together.

    @relay_op("nn.softmax", "SoftmaxAttrs", lower=lambda bb, x, *, axis: R.nn.softmax(x, axis))
    def softmax(data: Expr, axis: int = -1) -> Call:
        return softmax.call(data, axis=axis)

`lower` says the meaning in Relax, which has kernels, numbers in numpy and passes; the type of a
result follows from it too. A `relation` tells the type where that is quicker, or where operands
without a type get theirs from the others. Parameters after the operands are the options; their
defaults are those of the attributes' node type.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, ParamSpec, TypeAlias

from tvm import topi as _topi
from tvm.error import TVMError
from tvm.ir.attrs import Attrs
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.node import NODE_TYPES, fields
from tvm.ir.op import OPS, Op
from tvm.ir.type import Type
from tvm.relay.expr import Call, Constant, Tuple, as_relay
from tvm.relay.text_printer import type_text
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm

from .refusals import refusing

P = ParamSpec("P")
topi: Final[Any] = _topi  # its packages pass names on by star imports, which checkers do not see
Expr: TypeAlias = Any  # an expression of Relay; operators of Python make them of each other
Lower: TypeAlias = Callable[..., Any]
Relation: TypeAlias = "Callable[[Relate], Type | None]"

# How an operator may be fused with its neighbours (attribute TOpPattern).
ELEMWISE: Final = 0
BROADCAST: Final = 1
INJECTIVE: Final = 2
COMM_REDUCE: Final = 3
OUT_FUSABLE: Final = 4
TUPLE: Final = 7
OPAQUE: Final = 8


class _Required:
    """Stands for the default of an option that has none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = _Required()


class RelayAttrs(Attrs):
    """The options of an operator's calls; `attrs_class` makes the subclasses."""

    __slots__ = ()
    DEFAULTS: ClassVar[Mapping[str, Any]] = {}
    FLOAT_SLACK: ClassVar[float] = 1e-9  # 1e-5 is what it is after a while as a float32, too

    def __init__(self, **given: Any) -> None:
        unknown = [name for name in given if name not in self.DEFAULTS]
        if unknown:
            raise TypeError(
                f"{self.TYPE_KEY} has no field {unknown[0]!r}; legal: {', '.join(self.DEFAULTS)}"
            )
        for name, default in self.DEFAULTS.items():
            value = given.get(name, default)
            if value is REQUIRED:
                raise TypeError(f"{self.TYPE_KEY}: the field {name!r} has no value and no default")
            if is_open(value) and not isinstance(value, (BaseFunc, GlobalVar)):
                raise TypeError(
                    f"{self.TYPE_KEY}: the option {name!r} is a {type(value).__name__}, whose "
                    "value is known when the program runs; legal: numbers, texts, lists of them"
                )
            setattr(self, name, _frozen(value))

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> RelayAttrs:
        """A node of these options; extents of saved graphs become numbers."""
        return cls(**{name: _as_numbers(value) for name, value in values.items()})

    def items(self) -> list[tuple[str, Any]]:
        """Names with values, in order."""
        return [(name, getattr(self, name)) for name in self.DEFAULTS]

    def non_default(self) -> list[tuple[str, Any]]:
        """The options that are not what they are by default."""
        return [(n, v) for n, v in self.items() if not _same(v, self.DEFAULTS[n])]

    def replaced(self, **changes: Any) -> RelayAttrs:
        """A copy with some options changed."""
        return type(self)(**{**dict(self.items()), **changes})


def _same(value: Any, default: Any) -> bool:
    if default is REQUIRED or (value is None) is not (default is None):
        return False
    if type(value) is float is type(default):
        return abs(value - default) < RelayAttrs.FLOAT_SLACK or value == default
    return (type(value) is type(default) and bool(value == default)) or value is default


def _as_numbers(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_as_numbers(item) for item in value)
    return int(value.value) if isinstance(value, IntImm) else value


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, DataType):
        return str(value)
    return value


ATTRS_CLASSES: Final[dict[str, type[RelayAttrs]]] = {}


def attrs_class(name: str, defaults: Mapping[str, Any]) -> type[RelayAttrs]:
    """The node type `relay.attrs.<name>`; operators of one name for it share it."""
    known = ATTRS_CLASSES.get(name)
    if known is not None:
        lacking = [field for field in defaults if field not in known.DEFAULTS]
        assert not lacking, f"{name} is declared with other fields elsewhere: {lacking}"
        return known
    body = {
        "__slots__": tuple(sorted(defaults)),
        "__module__": __name__,
        "DEFAULTS": {key: _frozen(value) for key, value in defaults.items()},
        "TYPE_KEY": f"relay.attrs.{name}",
        "FIELDS": fields(*defaults),
        "__doc__": f"Options {', '.join(defaults)}.",
    }
    made: type[RelayAttrs] = type(name, (RelayAttrs,), body)
    NODE_TYPES.register(made.TYPE_KEY, made, depth=2)
    ATTRS_CLASSES[name] = made
    return made


class Relate:
    """A call whose type is being found: the operands' types, the options, and what follows."""

    __slots__ = ("_assign", "args", "call", "type_definitions", "types")

    def __init__(
        self,
        call: Call,
        types: Sequence[Type],
        assign: Callable[[int, Type], None],
        type_definitions: Sequence[Any] = (),
    ) -> None:
        self.type_definitions: Final = type_definitions  # the module's, by their variables
        self.call: Final = call
        self.args: Final = call.args
        self.types: Final = list(types)
        self._assign = assign

    @property
    def attrs(self) -> Any:
        """The options; each is an attribute."""
        return self.call.attrs

    def assign(self, index: int, found: Type) -> None:
        """Say what the type of an operand is; it may have been unknown."""
        self._assign(index, found)
        self.types[index] = found

    def fail(self, asked: str, legal: str) -> TVMError:
        """The error for operands that do not fit."""
        from tvm.error import DiagnosticError, message

        name = getattr(self.call.op, "name", "call")
        found = ", ".join(type_text(t) for t in self.types)
        return DiagnosticError(message(f"{name}: {asked}", found=found, legal=legal))


class RelayOp(Generic[P]):
    """A declared operator: calling it makes a call."""

    def __init__(
        self, op: Op, build: Callable[P, Any], attrs_type: type[RelayAttrs] | None
    ) -> None:
        functools.update_wrapper(self, build)
        self.op: Final = op
        self.attrs_type: Final = attrs_type
        self._build = refusing(build, op.name)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self._build(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Relay operator {self.op.name}>"

    def call(self, *operands: Any, **options: Any) -> Call:
        """The call with these operands and options."""
        attrs = None if self.attrs_type is None else self.attrs_type(**options)
        return Call(self.op, [as_expr(operand) for operand in operands], attrs)


def as_expr(value: Any) -> RelaxExpr:
    """An operand: an expression, or a list of them as a tuple."""
    value = as_relay(value)
    if isinstance(value, (list, tuple)):
        return Tuple([as_expr(item) for item in value])
    if not isinstance(value, RelaxExpr):
        raise TypeError(
            f"an operand is a {type(value).__name__}: {value!r}; legal: Relay expressions; "
            'relay.const(value, "float32") makes one of a number'
        )
    return value


def relay_op(
    name: str,
    attrs: str | None = None,
    *,
    lower: Lower | None = None,
    relation: Relation | None = None,
    pattern: int = OPAQUE,
    operands: Sequence[str] | None = None,
    level: int = 10,
    optional: Mapping[str, Any] | None = None,
    hidden: Sequence[str] = (),
    first: Sequence[str] = (),
) -> Callable[[Callable[P, Any]], RelayOp[P]]:
    """Declare the operator `name`; the decorated function makes its calls.

    `attrs` names the attributes' type. Parameters that are not among `operands` (by default: those
    without a default) are its fields; `optional` gives other defaults, REQUIRED for none, and adds
    fields; `hidden` parameters are no fields. The fields stand in the order of the parameters, but
    for those that come `first`.
    """

    def decorate(build: Callable[P, Any]) -> RelayOp[P]:
        parameters = inspect.signature(build).parameters
        taken = list(operands) if operands is not None else _without_default(parameters)
        attrs_type = None
        if attrs is not None:
            found = {
                key: REQUIRED if p.default is inspect.Parameter.empty else p.default
                for key, p in parameters.items()
                if key not in taken and key not in hidden
            }
            found = {**dict.fromkeys(first), **found, **(optional or {})}
            attrs_type = attrs_class(attrs, found)
        op = declare_op(name, len(taken), attrs_type, lower, relation, pattern, level, build)
        return RelayOp(op, build, attrs_type)

    return decorate


def _without_default(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    return [n for n, p in parameters.items() if p.default is inspect.Parameter.empty]


def declare_op(
    name: str,
    inputs: int,
    attrs_type: type[RelayAttrs] | None = None,
    lower: Lower | None = None,
    relation: Relation | None = None,
    pattern: int = OPAQUE,
    level: int = 10,
    build: Callable[..., Any] | None = None,
) -> Op:
    """Declare an operator without a function that makes its calls."""
    op = Op(name, (build.__doc__ or "").partition("\n")[0] if build else "", inputs)
    op.set_support_level(level)
    if attrs_type is not None:
        op.set_attrs_type_key(attrs_type.TYPE_KEY)
    op.set_attr("TOpPattern", pattern)
    if build is not None:
        op.set_attr("FRelayCall", build)
    if lower is not None:
        op.set_attr("FRelayLower", lower)
    if relation is not None:
        op.set_attr("FRelayType", relation)
    return OPS.register(name, op, depth=3)


def options_of(call: Call) -> dict[str, Any]:
    """The options of a call by name."""
    if call.attrs is None:
        return {}
    return dict(call.attrs.items()) if hasattr(call.attrs, "items") else {}


def te(func: Callable[..., Any]) -> Lower:
    """The meaning of an operator as a function on tensor expressions, options by name."""

    def lower(bb: Any, *args: Any, **options: Any) -> Any:
        return bb.call_te(func, *args, **options)

    return lower


def is_open(*values: Any) -> bool:
    """True when a value is an expression that is no constant."""
    return any(isinstance(v, RelaxExpr) and not isinstance(v, Constant) for v in values)


def dynamic(name: str, attrs: RelayAttrs | None, *operands: Any) -> Call:
    """The call of an operator whose shape is a value of the program; numbers become constants."""
    given = [
        v if isinstance(v, RelaxExpr) else Constant(_array(v)) for v in operands
    ]
    return Call(Op.get(name), given, attrs)


def _array(value: Any) -> Any:
    import numpy as np

    array = np.asarray(value)
    narrow = {"int64": "int64", "float64": "float32"}.get(str(array.dtype), str(array.dtype))
    return array.astype(narrow)


def scalar(value: Any) -> float:
    """A number, or that of a constant."""
    return float(value.data.numpy().item() if isinstance(value, Constant) else value)


def constant_ints(value: Any) -> list[int] | None:
    """The numbers of a list, or of a constant; None for what is known only later."""
    if isinstance(value, Constant):
        return [int(item) for item in value.data.numpy().reshape(-1)]
    if isinstance(value, RelaxExpr):
        return None
    if isinstance(value, int):
        return [value]
    return [int(item) for item in value]
