"""How a Relax operator is declared: once, with all of its rules beside its signature.

    @relax_op("relax.cumsum", "data: Tensor", ScanopAttrs)
    def cumsum(data: Expr, axis: int | None = None, ...) -> Call:
        return cumsum.call(data, axis=axis, ...)

    @cumsum.infer
    def _cumsum_info(ctx: Infer, data: TensorStructInfo, *, axis, ...) -> StructInfo: ...
    @cumsum.legalize
    def _cumsum_te(bb: BlockBuilder, data: Expr, *, axis, ...) -> Expr: ...
    @cumsum.reference
    def _cumsum_numpy(data: Array, *, axis, ...) -> Array: ...

Rules take the operands in order and the attributes by name. From the declaration follow the `Op`
with its attributes (FInferStructInfo, FLegalize, FReference, ...), the attributes' node type, and
the names that scripts use.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, ParamSpec, TypeAlias

from tvm.error import CheckError, DTypeError, ShapeError, TVMError, message
from tvm.ir.attrs import Attrs
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.global_info import VDevice
from tvm.ir.node import NODE_TYPES, fields
from tvm.ir.op import OPS, Op
from tvm.ir.span import ambient_span, caller_place
from tvm.ir.structural import structural_equal
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.distributed.infer import infer_distributed
from tvm.relax.distributed.struct_info import DTensorStructInfo
from tvm.relax.expr import Call, ExprLike, PrimValue, convert_to_expr
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import (
    VOID,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    const_int,
)
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenMap
from tvm.tir.expr import INT64, FloatImm, IntImm, Max

from .shape_variables import ShapeVariables

P = ParamSpec("P")
Array: TypeAlias = Any  # a numpy array; references run on whatever numpy gives them
Expr: TypeAlias = RelaxExpr

# How an operator may be fused with its neighbours (attribute TOpPattern).
ELEMENTWISE: Final = 0
BROADCAST: Final = 1
INJECTIVE: Final = 2
COMM_REDUCE: Final = 3
OUT_FUSABLE: Final = 4
TUPLE: Final = 7
OPAQUE: Final = 8

# What a mixed-precision pass does with an operator (attribute TMixedPrecisionPolicy).
ALWAYS: Final = 0
FOLLOW: Final = 1
NEVER: Final = 2


class OperandError(CheckError, TypeError):
    """An operand that is no value of the kind that an operator takes."""


class OptionError(TVMError, ValueError):
    """An option of an operator that is none of the legal ones."""


class OpAttrs(Attrs):
    """The options of one operator's calls; subclasses are made by `attrs_class`."""

    __slots__ = ()
    NAMES: ClassVar[tuple[str, ...]] = ()
    NUMBERS: ClassVar[frozenset[str]] = frozenset()  # what holds its numbers as nodes

    def __init__(self, *values: object, **named: object) -> None:
        for name, value in zip(self.NAMES, values):
            setattr(self, name, value)
        for name in self.NAMES[len(values) :]:
            value = _frozen(named.get(name))
            setattr(self, name, _as_nodes(value) if name in self.NUMBERS else value)

    def items(self) -> list[tuple[str, Any]]:
        """Names with values, in order."""
        return [(name, getattr(self, name)) for name in self.NAMES]

    if TYPE_CHECKING:  # every option of every operator is an attribute

        def __getattr__(self, name: str) -> Any: ...


def _frozen(value: object) -> object:
    if isinstance(value, dict):
        return FrozenMap(value)
    return tuple(value) if isinstance(value, list) else value


def _as_nodes(value: object) -> object:
    if isinstance(value, tuple):
        return tuple([_as_nodes(item) for item in value])
    if isinstance(value, float):
        return FloatImm("float32", value)
    return IntImm(INT64, value) if isinstance(value, int) else value


def _as_numbers(value: object) -> object:
    if isinstance(value, tuple):
        return tuple([_as_numbers(item) for item in value])
    if isinstance(value, PrimValue):
        value = value.value
    return value.value if isinstance(value, (IntImm, FloatImm)) else value


def attrs_class(name: str, *names: str, numbers: Sequence[str] = ()) -> type[OpAttrs]:
    """The node type `relax.attrs.<name>` with the given options.

    Those named in `numbers` hold numbers as nodes: int64 and float32, or the type that a
    `PrimValue` has. Rules get them as plain numbers.
    """
    body = {
        "__slots__": tuple(sorted(names)),
        "__module__": __name__,
        "NAMES": names,
        "NUMBERS": frozenset(names).intersection(numbers),
        "TYPE_KEY": f"relax.attrs.{name}",
        "FIELDS": fields(*names),
        "__doc__": f"Options {', '.join(names)}.",
    }
    cls: type[OpAttrs] = type(name, (OpAttrs,), body)
    NODE_TYPES.register(cls.TYPE_KEY, cls, depth=2)
    ATTRS_CLASSES[name] = cls
    return cls


ATTRS_CLASSES: Final[dict[str, type[OpAttrs]]] = {}


class Parameter:
    """An operand of an operator: its name, and what kind of value it takes."""

    __slots__ = ("kind", "name", "optional", "variadic")

    def __init__(self, text: str) -> None:
        name, _, kind = text.partition(":")
        self.variadic: Final = name.strip().startswith("*")
        self.optional: Final = kind.strip().endswith("?")
        self.name: Final = name.strip().lstrip("*")
        self.kind: Final = kind.strip().rstrip("?")


_KINDS: Final[dict[str, tuple[str, tuple[type[StructInfo], ...]]]] = {
    "Tensor": ("a tensor", (TensorStructInfo,)),
    "Operand": ("a tensor or a number", (TensorStructInfo, PrimStructInfo)),
    "Shape": ("a shape", (ShapeStructInfo,)),
    "Prim": ("a number", (PrimStructInfo,)),
    "Tensors": ("a tuple of tensors", (TupleStructInfo,)),
    "Tuple": ("a tuple", (TupleStructInfo,)),
    "Expr": ("an expression", (StructInfo,)),
}


class DistributedOperand(Exception):
    """An operand is spread over devices: the rules for whole tensors do not see it."""


class Infer:
    """A call whose result is being described: what rules need, and located errors."""

    __slots__ = ("bb", "call", "op", "parameters")

    def __init__(
        self, op: Op, parameters: Sequence[Parameter], call: Call, bb: BlockBuilder
    ) -> None:
        self.op = op
        self.parameters = parameters
        self.call = call
        self.bb = bb

    @property
    def analyzer(self) -> Any:
        """The analyzer of the scope."""
        return self.bb.analyzer

    def differ(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Whether two extents that must be equal are sure to differ; noted where that is open."""
        same = same_extent(a, b, self.analyzer)
        if same is None:
            self.note_equal(a, b)
        return same is False

    def exceeds(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Whether an extent that may be at most b is sure to be larger; noted where open."""
        if self.analyzer.can_prove(a > b):
            return True
        if not self.analyzer.can_prove(a <= b):
            self.note_equal(Max(a, b), b)
        return False

    def note_equal(self, a: PrimExpr, b: PrimExpr) -> None:
        """Two extents that the running program has to compare."""
        if self.bb.open_extents is not None:
            self.bb.open_extents.append((a, b))

    def shape_error(
        self, what: str, found: str | None = None, legal: str | None = None
    ) -> ShapeError:
        """An error about a shape, an axis or a count; the caller raises it."""
        return ShapeError(self._text(what, found, legal))

    def dtype_error(
        self, what: str, found: str | None = None, legal: str | None = None
    ) -> DTypeError:
        """An error about a data type; the caller raises it."""
        return DTypeError(self._text(what, found, legal))

    def error(self, what: str, found: str | None = None, legal: str | None = None) -> CheckError:
        """Any other error; the caller raises it."""
        return CheckError(self._text(what, found, legal))

    def operand_error(self, what: str, found: str, legal: str | None = None) -> OperandError:
        """An error about the kind of an operand; the caller raises it."""
        return OperandError(self._text(what, found, legal))

    def _text(self, what: str, found: str | None, legal: str | None) -> str:
        where = caller_place() if self.call.span is None else str(self.call.span)
        return message(f"{self.op.name}: {what}", found=found, where=where, legal=legal)

    def operands(self) -> list[StructInfo | None]:
        """The struct infos of the operands, checked for their kinds; None for one left out."""
        args = self.call.args
        required = sum(not (p.optional or p.variadic) for p in self.parameters)
        variadic = any(p.variadic for p in self.parameters)
        if len(args) < required or (len(args) > len(self.parameters) and not variadic):
            names = ", ".join(p.name for p in self.parameters)
            raise self.error(
                "wrong number of operands", f"{len(args)}", f"{len(self.parameters)}: {names}"
            )
        result: list[StructInfo | None] = []
        for index, parameter in enumerate(self.parameters):
            if parameter.variadic:
                result.extend(self._operand(parameter, arg) for arg in args[index:])
            elif index < len(args):
                result.append(self._operand(parameter, args[index]))
            else:
                result.append(None)
        return result

    def _operand(self, parameter: Parameter, arg: RelaxExpr) -> StructInfo:
        info = arg.struct_info_
        if info is None:  # a function of the module may get its struct info later
            info = arg.struct_info if parameter.kind != "Expr" else ObjectStructInfo()
        what, classes = _KINDS[parameter.kind]
        if not isinstance(info, classes):
            if isinstance(info, DTensorStructInfo):
                raise DistributedOperand
            found = f"{arg} with struct info {info}"
            raise OperandError(self._text(f"{parameter.name} must be {what}", found, what))
        if parameter.kind == "Tensors":
            assert isinstance(info, TupleStructInfo), "checked above"
            for i, field in enumerate(info.fields):
                if isinstance(field, DTensorStructInfo):
                    raise DistributedOperand
                if not isinstance(field, TensorStructInfo):
                    wanted = f"{parameter.name} must be a tuple of tensors"
                    raise OperandError(self._text(wanted, f"field {i} is {field}", what))
        return info


def show_shape(info: TensorStructInfo | ShapeStructInfo) -> str:
    """The shape as messages show it: `(n, 4)`, or the number of dimensions."""
    if info.values is None:
        return "an unknown shape" if info.ndim == -1 else f"an unknown shape of {info.ndim} dims"
    return show_extents(info.values)


def show_extent(value: PrimExpr) -> str:
    """One extent as messages show it: a number without its type."""
    known = const_int(value)
    return str(value) if known is None else str(known)


def show_extents(values: Sequence[PrimExpr]) -> str:
    """Extents as messages show them: `(n, 4)`."""
    texts = [show_extent(value) for value in values]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _common_vdevice(ctx: Infer, infos: Sequence[StructInfo | None]) -> VDevice | None:
    """The virtual device of the operands that have one; they must agree.

    Tensors of a tuple may be on several devices: then they say nothing of the result.
    """
    found: VDevice | None = None
    for info in infos:
        if isinstance(info, TupleStructInfo) and found is None:
            found = one_vdevice(info.fields)
        if isinstance(info, TensorStructInfo) and info.vdevice is not None:
            if found is not None and not structural_equal(found, info.vdevice):
                raise ctx.error(
                    "operands are on different virtual devices",
                    f"{found.target} and {info.vdevice.target}",
                    "operands on one device; to_vdevice moves one",
                )
            found = info.vdevice
    return found


def one_vdevice(infos: Sequence[StructInfo]) -> VDevice | None:
    """The virtual device of all tensors that have one; None if they are on several."""
    found = [i.vdevice for i in infos if isinstance(i, TensorStructInfo) and i.vdevice is not None]
    return found[0] if found and all(structural_equal(found[0], v) for v in found[1:]) else None


def _has_tensor(info: StructInfo) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_has_tensor(field) for field in info.fields)
    return isinstance(info, TensorStructInfo)


def _on_vdevice(info: StructInfo, vdevice: VDevice) -> StructInfo:
    if isinstance(info, TensorStructInfo) and info.vdevice is None:
        return TensorStructInfo.of(info.shape, info.dtype, vdevice, info.ndim, info.span)
    if isinstance(info, TupleStructInfo):
        return TupleStructInfo([_on_vdevice(field, vdevice) for field in info.fields], info.span)
    return info


def _add_location(error: TVMError, name: str) -> None:
    """Let an error name the operator and the line that made the call."""
    text = str(error)
    if name.rpartition(".")[2] not in text:
        error.args = (f"{name}: {text}",)
        text = str(error)
    location = caller_place() if ambient_span() is None and "\n  where: " not in text else None
    if location is not None:
        error.args = (message(text, where=location),)


Rule: TypeAlias = Callable[..., Any]


class RelaxOp(Generic[P]):
    """A declared operator: calling it makes a call; its rules are added by decorators."""

    def __init__(
        self,
        op: Op,
        build: Callable[P, RelaxExpr],
        parameters: tuple[Parameter, ...],
        attrs_type: type[OpAttrs] | None,
        reads_shape_variables: bool = False,
    ) -> None:
        functools.update_wrapper(self, build)
        self.reads_shape_variables: Final = reads_shape_variables
        self.op: Final = op
        self.parameters: Final = parameters
        self.attrs_type: Final = attrs_type
        self._build = build

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Call:
        try:
            return self._build(*args, **kwargs)  # type: ignore[return-value]
        except TVMError as error:
            _add_location(error, self.op.name)
            raise

    def __repr__(self) -> str:
        return f"<Relax operator {self.op.name}>"

    def call(self, *operands: ExprLike | None, **options: Any) -> Call:
        """The call with these operands (those left out are None) and options."""
        args = [convert_to_expr(operand) for operand in operands if operand is not None]
        attrs = None if self.attrs_type is None else self.attrs_type(**options)
        return Call(self.op, args, attrs)

    def infer(self, rule: Callable[..., StructInfo]) -> Callable[..., StructInfo]:
        """Set the rule for the struct info of the result."""

        def infer_struct_info(call: Call, bb: BlockBuilder) -> StructInfo:
            ctx = Infer(self.op, self.parameters, call, bb)
            try:
                infos = ctx.operands()
            except DistributedOperand:
                return infer_distributed(call, bb)
            options = self.options(ctx)
            info = rule(ctx, *infos, **options)  # errors are found through all values
            if not self.reads_shape_variables:
                variables = ShapeVariables()
                seen = variables.hide(infos, call.args)
                if any(a is not b for a, b in zip(seen, infos)):
                    info = variables.restore(rule(ctx, *seen, **options))
            if call.sinfo_args or not _has_tensor(info):  # as the caller states it; on no device
                return info
            vdevice = _common_vdevice(ctx, infos)
            return info if vdevice is None else _on_vdevice(info, vdevice)

        self.op.set_attr("FInferStructInfo", infer_struct_info)
        return rule

    def options(self, ctx: Infer) -> dict[str, Any]:
        """The options of the call by name; an error where a call made by hand has none."""
        found = options_of(ctx.call)
        if self.attrs_type is not None and any(name not in found for name in self.attrs_type.NAMES):
            legal = f"{self.attrs_type.TYPE_KEY} with {', '.join(self.attrs_type.NAMES)}"
            raise ctx.error("attributes are missing", f"{', '.join(found) or 'none'}", legal)
        return found

    def legalize(self, rule: Callable[..., Expr]) -> Callable[..., Expr]:
        """Set the rule that writes a call in tensor expressions or simpler operators."""
        self.op.set_attr(
            "FLegalize", lambda bb, call: rule(bb, *call.args, **options_of(call))
        )
        return rule

    def fit(self, rule: Callable[..., list[Expr]]) -> Callable[..., list[Expr]]:
        """Set the rule that makes operands fit whose extents are open (`FitOperands`)."""
        self.op.set_attr(
            "FFitOperands", lambda bb, call: rule(bb, *call.args, **options_of(call))
        )
        return rule

    def reference(self, rule: Rule) -> Rule:
        """Set the meaning in numpy: arrays (numbers, tuples) in, array or tuple out."""
        self.op.set_attr("FReference", lambda call, args: rule(*args, **options_of(call)))
        return rule

    def normalize(self, rule: Callable[[BlockBuilder, Call], Expr]) -> Callable[..., Expr]:
        """Set a rule that brings a call into its one form."""
        self.op.set_attr("FNormalize", rule)
        return rule

    def layout(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule for operands whose dimensions stand in another order (`layout_rules`)."""
        self.op.set_attr("FRelaxInferLayout", rule)
        return rule

    def follow_layout(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """As `layout`, for passes of our own pipelines; `ConvertLayout` knows no such rule."""
        self.op.set_attr("FFollowLayout", rule)
        return rule

    def gradient(self, rule: Callable[..., list[Expr]]) -> Callable[..., list[Expr]]:
        """Set the rule for the gradients of the operands."""
        self.op.set_attr("FPrimalGradient", rule)
        return rule


def options_of(call: Call) -> dict[str, Any]:
    """The attributes of a call by name."""
    attrs = call.attrs
    if attrs is None:
        return {}
    found = {field.name: getattr(attrs, field.name) for field in attrs.FIELDS}
    for name in attrs.NUMBERS if isinstance(attrs, OpAttrs) else ():
        found[name] = _as_numbers(found[name])
    return found


def with_out_dtype(call: Call, out_dtype: DataType | str) -> Call:
    """The call with another data type of its result, where the operator has that option."""
    return with_option(call, "out_dtype", DataType(out_dtype))


def with_option(call: Call, name: str, value: object) -> Call:
    """The call with another value of an option; itself where the operator has no such option."""
    options = options_of(call)
    if name not in options:
        return call
    assert isinstance(call.attrs, OpAttrs), "its options are there"
    attrs = type(call.attrs)(**{**options, name: value})
    return Call(call.op, call.args, attrs, call.sinfo_args, call.span)


def relax_op(
    name: str,
    parameters: str,
    attrs: type[OpAttrs] | None = None,
    *,
    pattern: int = OPAQUE,
    pure: bool = True,
    precision: int = NEVER,
    script: bool = True,
    reads_shape_variables: bool = False,
) -> Callable[[Callable[P, RelaxExpr]], RelaxOp[P]]:
    """Declare the operator `name` with its operands: `"data: Tensor, weight: Tensor?"`.

    `?` marks an operand that may be left out, `*args` any number of them. An operator that
    `reads_shape_variables` computes with the values of a shape that is a variable.
    """
    params = tuple(Parameter(text) for text in parameters.split(",") if text.strip())

    def declare(build: Callable[P, RelaxExpr]) -> RelaxOp[P]:
        op = Op(name, (build.__doc__ or "").split("\n")[0], _count(params))
        for param in params:
            op.add_argument(param.name, _KIND_TEXT.get(param.kind, param.kind), "")
        op.set_attr("FPurity", pure)
        op.set_attr("TOpPattern", pattern)
        op.set_attr("FMakeCall", build)
        op.set_attr("TMixedPrecisionPolicy", precision)
        if precision == ALWAYS:
            op.set_attr("FInferMixedPrecision", with_out_dtype)
        if attrs is not None:
            op.set_attrs_type_key(attrs.TYPE_KEY)
        registered = OPS.register(name, op, depth=2)
        made = RelaxOp(registered, build, params, attrs, reads_shape_variables)
        if script:
            script_function(name.removeprefix("relax."), made)
        return made

    return declare


# How the kinds of operands are called in `Op.arguments`, where other words are used here.
_KIND_TEXT: Final = {"Prim": "PrimValue", "Tensors": "Tuple of Tensors"}


def _count(params: tuple[Parameter, ...]) -> int:
    return -1 if any(p.variadic for p in params) else len(params)


# Python functions that scripts call as R.<name>, dots included (`nn.conv2d`).
_SCRIPT: Final[dict[str, Callable[..., Any]]] = {}


def script_function(name: str, func: Callable[..., Any]) -> None:
    """Let scripts call `func` as `R.<name>`."""
    if name in _SCRIPT:
        raise KeyError(f"the script name R.{name} is given twice")
    _SCRIPT[name] = func


def script_ops() -> dict[str, Callable[..., Any]]:
    """All functions that scripts call as `R.<name>`, by name; dots stand for namespaces."""
    importlib.import_module("tvm.relax.op")
    return dict(_SCRIPT)


class _Lazy:
    """A package that loads when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


# These take longer to load than all of Relax, and only legalisation needs them.
topi: Final[Any] = _Lazy("tvm.topi")
te: Final[Any] = _Lazy("tvm.te")


def dtype_or_void(dtype: DataType | str | None) -> DataType:
    """The data type, or void where it is to follow from the operands."""
    return VOID if dtype is None or dtype == "" else DataType(dtype)


def as_shape(shape: Any) -> RelaxExpr:
    """A shape operand of integers, expressions, or a Relax expression that is a shape."""
    if isinstance(shape, RelaxExpr):
        return shape
    if isinstance(shape, (PrimExpr, int, float)):
        raise DTypeError(
            message("a shape is no single number", found=f"{shape}",
                    legal=f"a tuple or list: ({shape},), or an expression that is a shape")
        )  # fmt: skip
    return ShapeExpr(listed(shape, "shape"))


def whole(value: Any, name: str = "axis") -> int:
    """An option that is an integer; an error for anything else, fractions too."""
    known: Any = const_int(value) if isinstance(value, PrimExpr) else value
    try:
        return operator.index(known)
    except TypeError:
        raise DTypeError(message(f"{name} is no integer", found=f"{value!r}")) from None


def real(value: Any, name: str) -> float:
    """An option that is a number; an error for anything else, text with a number in it too."""
    known: Any = value.value if isinstance(value, (IntImm, FloatImm)) else value
    if isinstance(known, (str, bytes)) or not hasattr(known, "__float__"):
        raise DTypeError(message(f"{name} is no number", found=f"{value!r}"))
    return float(known)


def listed(value: Any, name: str) -> tuple[Any, ...]:
    """An option that is a list; an error for anything that has no parts."""
    try:
        return tuple(value)
    except TypeError:
        raise DTypeError(
            message(f"{name} is no list", found=f"{value!r}", legal="a list or a tuple")
        ) from None


def int_tuple(value: Any, count: int | None = None, name: str = "axes") -> tuple[int, ...]:
    """Integers as a tuple; a single one is repeated `count` times."""
    single = const_int(value)
    if single is not None:
        return (single,) * (1 if count is None else count)
    found = tuple(const_int(item) for item in listed(value, name))
    if any(item is None for item in found):
        raise DTypeError(f"integers are expected, found {value!r}")
    return tuple(item for item in found if item is not None)
