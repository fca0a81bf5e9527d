"""Patterns that describe pieces of a dataflow graph.

    x = wildcard()
    pattern = is_op("relax.nn.relu")(is_op("relax.matmul")(x, is_const()))

A pattern is compared with an expression (`match`), or several are tied together in a
`PatternContext` and looked for in a block. One pattern used twice must match one value.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from tvm.error import CheckError
from tvm.ir.attrs import Attrs, DictAttrs
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.node import Field, Node, fields, listed, of_type, register_nodes
from tvm.ir.op import Op
from tvm.relax.expr import Var
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir.expr import INT64, IntImm, as_expr

from .context import Edge, PatternContext

P = TypeVar("P", bound=type)
ANY_INDEX: Final = -1


def register_df_node(type_key: str | type | None = None) -> Any:
    """Marks a pattern class, with or without a type key; there is nothing to be done."""
    if isinstance(type_key, type):
        return type_key

    def mark(cls: P) -> P:
        return cls

    return mark


class DFPattern(Node):
    """The root of all patterns; compared by identity, so one object stands for one value."""

    __slots__ = ()
    TYPE_KEY = "relax.dpl.DFPattern"

    def __call__(
        self, *args: DFPattern, varg_default_wildcard: bool = False, add_constraint: bool = True
    ) -> CallPattern:
        """A call of what this matches; with `varg_default_wildcard` it may have more arguments."""
        return CallPattern(self, args, varg_default_wildcard, add_constraint)

    def __or__(self, other: DFPattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return reject(self)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.divide")(self, other)

    def has_attr(self, attrs: Mapping[str, object]) -> AttrPattern:
        """This, where the call, operator or function has these attributes."""
        return has_attr(attrs, self)

    def has_struct_info(self, struct_info: StructInfo) -> StructInfoPattern:
        """This, where the struct info is the given one or more precise."""
        return StructInfoPattern(self, struct_info)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """This, where the tensor has the data type."""
        return has_dtype(dtype, self)

    def has_shape(self, shape: Sequence[PrimExpr | int]) -> ShapePattern:
        """This, where the tensor has the shape."""
        return ShapePattern(self, _several("has_shape", shape))

    def match(self, expr: RelaxExpr, var2val: Mapping[Var, RelaxExpr] | None = None) -> bool:
        """True if the expression is what this describes.

        With `var2val` (see `analysis.get_var2val`) variables are looked through.
        """
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(
        self, expr: RelaxExpr, var2val: Mapping[Var, RelaxExpr] | None = None
    ) -> dict[DFPattern, RelaxExpr] | None:
        """What each part of this pattern matches in the expression, or None if it does not."""
        from .matcher import extract_matched_expr  # stands above the patterns

        of_type(expr, RelaxExpr, f"what {type(self).__name__} is compared with")
        return extract_matched_expr(self, expr, var2val)

    def used_by(self, other: DFPattern | PatternSeq, index: int = ANY_INDEX) -> PatternSeq:
        """What this matches is an operand (number `index`) of what `other` matches."""
        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = ANY_INDEX) -> PatternSeq:
        """As `used_by`, and nothing else uses it."""
        return PatternSeq([self]).only_used_by(other, index)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def dup(self) -> DFPattern:
        """An equal pattern, of equal parts, that matches other values."""
        return _copies([self])[0]

    def fork_to(self, *args: DFPattern | PatternSeq) -> None:
        """What this matches is used by each of the others."""
        for other in args:
            self.used_by(other)

    def same_shape_as(self, *args: DFPattern) -> SameShapeConstraint:
        """What this and the others match has one shape, in the current context."""
        return SameShapeConstraint(self, *args)

    def __repr__(self) -> str:
        return pattern_text(self)

    __str__ = __repr__


class DFConstraint(Node):
    """Something that has to hold between the values that patterns match."""

    __slots__ = ()
    TYPE_KEY = "relax.dpl.DFConstraint"


class ExprPattern(DFPattern):
    """An expression that is equal to the given one."""

    __slots__ = ("expr",)
    TYPE_KEY = "relax.dpl.ExprPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("expr")

    def __init__(self, expr: RelaxExpr) -> None:
        self.expr: Final = expr


class VarPattern(DFPattern):
    """A variable; of the given name, if there is one."""

    __slots__ = ("name",)
    TYPE_KEY = "relax.dpl.VarPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name")

    def __init__(self, name_hint: str = "") -> None:
        self.name: Final = of_type(name_hint, str, f"{type(self).__name__}: the name")

    @property
    def name_hint(self) -> str:
        """The name, under the word that variables use."""
        return self.name


class DataflowVarPattern(VarPattern):
    """A variable of a dataflow block."""

    __slots__ = ()
    TYPE_KEY = "relax.dpl.DataflowVarPattern"


class GlobalVarPattern(VarPattern):
    """A function of the module; of the given name, if there is one."""

    __slots__ = ()
    TYPE_KEY = "relax.dpl.GlobalVarPattern"


class ExternFuncPattern(DFPattern):
    """A function that is found by name at run time."""

    __slots__ = ("global_symbol",)
    TYPE_KEY = "relax.dpl.ExternFuncPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("global_symbol")

    def __init__(self, global_symbol: str = "") -> None:
        self.global_symbol: Final = of_type(global_symbol, str, "ExternFuncPattern: the name")


class ConstantPattern(DFPattern):
    """A constant."""

    __slots__ = ()
    TYPE_KEY = "relax.dpl.ConstantPattern"

    def __init__(self) -> None:
        pass


class CallPattern(DFPattern):
    """A call whose callee and arguments match.

    In a `PatternContext` the arguments are tied to the call, unless `add_constraint` is False.
    """

    __slots__ = ("args", "op", "varg_default_wildcard")
    TYPE_KEY = "relax.dpl.CallPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("op", "args", "varg_default_wildcard")

    def __init__(
        self,
        op: DFPattern,
        args: Sequence[DFPattern],
        varg_default_wildcard: bool = False,
        add_constraint: bool = True,
    ) -> None:
        _check_patterns("CallPattern", [op, *listed(args, "CallPattern: args")])
        self.op: Final = op
        self.args: Final = tuple(args)
        self.varg_default_wildcard: Final = varg_default_wildcard
        context = PatternContext.current()
        if add_constraint and context is not None:
            for index, arg in enumerate(self.args):
                context.add_edge(Edge(arg, self, False, index))

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> CallPattern:
        """A copy ties nothing together: who copies a context copies its edges."""
        return CallPattern(
            values["op"], values["args"], bool(values.get("varg_default_wildcard")), False  # type: ignore[arg-type]
        )


class FunctionPattern(DFPattern):
    """A function whose parameters and result match."""

    __slots__ = ("body", "params")
    TYPE_KEY = "relax.dpl.FunctionPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("params", "body")

    def __init__(self, params: Sequence[DFPattern], body: DFPattern) -> None:
        _check_patterns("FunctionPattern", [*listed(params, "FunctionPattern: params"), body])
        self.params: Final = tuple(params)
        self.body: Final = body


class TuplePattern(DFPattern):
    """A tuple whose fields match, in order."""

    __slots__ = ("fields",)
    TYPE_KEY = "relax.dpl.TuplePattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("fields")

    def __init__(self, fields: Sequence[DFPattern]) -> None:
        _check_patterns(type(self).__name__, fields)
        self.fields: Final = tuple(fields)

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        """An item of this tuple; None for any, negative from the end."""
        if index is not None:
            if index < 0:
                index += len(self.fields)
            if not 0 <= index < len(self.fields):
                raise IndexError(
                    f"TuplePattern index out of range: the tuple has {len(self.fields)} fields"
                )
        return TupleGetItemPattern(self, index)

    def __len__(self) -> int:
        return len(self.fields)


class UnorderedTuplePattern(DFPattern):
    """A tuple whose fields match in some order."""

    __slots__ = ("fields",)
    TYPE_KEY = "relax.dpl.UnorderedTuplePattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("fields")

    def __init__(self, fields: Sequence[DFPattern]) -> None:
        _check_patterns(type(self).__name__, fields)
        self.fields: Final = tuple(fields)

    def __len__(self) -> int:
        return len(self.fields)


class TupleGetItemPattern(DFPattern):
    """An item of a tuple; any if the index is None."""

    __slots__ = ("index", "tuple")
    TYPE_KEY = "relax.dpl.TupleGetItemPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("tuple", "index")

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        _check_patterns("TupleGetItemPattern", [tuple_value])
        self.tuple: Final = tuple_value
        self.index: Final = ANY_INDEX if index is None else int(index)


class OrPattern(DFPattern):
    """What the left or, if not, the right pattern matches."""

    __slots__ = ("left", "right")
    TYPE_KEY = "relax.dpl.OrPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        _check_patterns("OrPattern", [left, right])
        self.left: Final = left
        self.right: Final = right


class AndPattern(DFPattern):
    """What both patterns match."""

    __slots__ = ("left", "right")
    TYPE_KEY = "relax.dpl.AndPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        _check_patterns("AndPattern", [left, right])
        self.left: Final = left
        self.right: Final = right


class NotPattern(DFPattern):
    """What the pattern does not match."""

    __slots__ = ("reject",)
    TYPE_KEY = "relax.dpl.NotPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("reject")

    def __init__(self, to_reject: DFPattern) -> None:
        _check_patterns("NotPattern", [to_reject])
        self.reject: Final = to_reject


class WildcardPattern(DFPattern):
    """Anything."""

    __slots__ = ()
    TYPE_KEY = "relax.dpl.WildcardPattern"

    def __init__(self) -> None:
        pass


class StructInfoPattern(DFPattern):
    """What the pattern matches, if its struct info is the given one or more precise."""

    __slots__ = ("pattern", "struct_info")
    TYPE_KEY = "relax.dpl.StructInfoPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pattern", "struct_info")

    def __init__(self, pattern: DFPattern, struct_info: StructInfo | Any) -> None:
        _check_patterns("StructInfoPattern", [pattern])
        if not isinstance(struct_info, StructInfo):
            struct_info = _as_struct_info(struct_info)
        self.pattern: Final = pattern
        self.struct_info: Final = struct_info


class DataTypePattern(DFPattern):
    """What the pattern matches, if it is a tensor of the data type."""

    __slots__ = ("dtype", "pattern")
    TYPE_KEY = "relax.dpl.DataTypePattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pattern", "dtype")

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        _check_patterns("DataTypePattern", [pattern])
        self.pattern: Final = pattern
        self.dtype: Final = DataType(of_type(dtype, str, "DataTypePattern: the data type"))


class ShapePattern(DFPattern):
    """What the pattern matches, if it is a tensor of the shape."""

    __slots__ = ("pattern", "shape")
    TYPE_KEY = "relax.dpl.ShapePattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pattern", "shape")

    def __init__(self, pattern: DFPattern, shape: Sequence[PrimExpr | int]) -> None:
        _check_patterns("ShapePattern", [pattern])
        self.pattern: Final = pattern
        self.shape: Final = _extents(shape)


class SameShapeConstraint(DFConstraint):
    """All patterns match tensors of one shape; noted in the current context, if there is one."""

    __slots__ = ("args",)
    TYPE_KEY = "relax.dpl.SameShapeConstraint"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("args")

    def __init__(self, *args: DFPattern) -> None:
        _check_patterns("SameShapeConstraint", args)
        self.args: Final = tuple(args)
        context = PatternContext.current()
        if context is not None:
            context.add_constraint(self)

    def __repr__(self) -> str:
        every = f"[{', '.join(map(str, self.args))}]"
        return f"SameShapeConstraint({', '.join([every] * len(self.args))})"

    __str__ = __repr__


class PrimArrPattern(DFPattern):
    """A shape with the given extents."""

    __slots__ = ("fields",)
    TYPE_KEY = "relax.dpl.PrimArrPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("fields")

    def __init__(self, shape: Sequence[PrimExpr | int]) -> None:
        self.fields: Final = _extents(shape)

    def __getitem__(self, index: int) -> PrimExpr:
        if index >= len(self.fields):
            raise IndexError("PrimArrPattern index out of range")
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)


class AttrPattern(DFPattern):
    """What the pattern matches, if it has the attributes."""

    __slots__ = ("attrs", "pattern")
    TYPE_KEY = "relax.dpl.AttrPattern"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pattern", "attrs")

    def __init__(self, pattern: DFPattern, attrs: Attrs | Mapping[str, object]) -> None:
        _check_patterns("AttrPattern", [pattern])
        self.pattern: Final = pattern
        self.attrs: Final = attrs if isinstance(attrs, Attrs) else DictAttrs(attrs)


def _check_patterns(what: str, patterns: Sequence[object]) -> None:
    for pattern in listed(patterns, f"{what}: patterns"):
        if not isinstance(pattern, DFPattern):
            raise TypeError(
                f"{what} is made of patterns, found {pattern!r} of type {type(pattern).__name__}; "
                "legal: wildcard(), is_op(...)(...), is_expr(an expression), ..."
            )


def _several(what: str, shape: Sequence[PrimExpr | int]) -> Sequence[PrimExpr | int]:
    if isinstance(shape, Sequence) and not isinstance(shape, (str, bytes)):
        return shape
    raise ValueError(
        f"{what} takes a list or tuple as input, found {shape!r} of type {type(shape).__name__}"
    )


def _extents(shape: Sequence[PrimExpr | int]) -> tuple[PrimExpr, ...]:
    return tuple(
        IntImm(INT64, value) if isinstance(value, int) else as_expr(value)
        for value in listed(shape, "the extents of a pattern")
    )


def _as_struct_info(given: Any) -> StructInfo:
    """`R.Tensor(...)` as it is written in scripts."""
    convert = getattr(given, "as_struct_info", None)
    if convert is None:
        raise TypeError(
            f"StructInfoPattern: {given!r} is no struct info; "
            'legal: TensorStructInfo((2, 3), "float32"), R.Tensor((2, 3), "float32")'
        )
    made: StructInfo = convert()
    return made


# --- words ---


def is_var(name: str = "") -> VarPattern:
    """A variable, of the given name if there is one."""
    return VarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """A function of the module, of the given name if there is one."""
    return GlobalVarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """A variable of a dataflow block, of the given name if there is one."""
    return DataflowVarPattern(name)


def is_const() -> ConstantPattern:
    """Any constant."""
    return ConstantPattern()


def is_expr(expr: RelaxExpr) -> ExprPattern:
    """An expression that is equal to `expr`."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """The operator of this name; KeyError or TVMError if there is none."""
    return ExprPattern(Op.get(op_name))


def is_tuple(
    fields: Sequence[DFPattern], unordered: bool = False
) -> TuplePattern | UnorderedTuplePattern:
    """A tuple of these fields; in any order if `unordered`."""
    if not isinstance(fields, (list, tuple)):
        raise ValueError("fields must be a list, tuple")
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """The item `index` (None: any) of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def wildcard() -> WildcardPattern:
    """Anything; used twice in a pattern, one and the same thing."""
    return WildcardPattern()


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """A tensor of this data type."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def is_shape(shape: Sequence[PrimExpr | int]) -> PrimArrPattern:
    """A shape with these extents."""
    return PrimArrPattern(_several("is_shape", shape))


Arguments: TypeAlias = "Sequence[DFPattern] | TuplePattern | DFPattern | None"


def _call_with_tuple(op: str, callee: DFPattern, args: Arguments, *rest: DFPattern) -> CallPattern:
    if args is None:
        args = wildcard()
    elif isinstance(args, (list, tuple)):
        args = TuplePattern(args)
    if not isinstance(args, DFPattern):
        raise TypeError(f"{op}: arguments are patterns, or one pattern for all; found {args!r}")
    return is_op(op)(callee, args, *rest, add_constraint=False)


@explained
def is_call_tir(
    func_name: str, args: Arguments = None, tir_vars: DFPattern | None = None
) -> CallPattern:
    """A `call_tir` of the function of this name; any arguments if none are given."""
    rest = () if tir_vars is None else (tir_vars,)
    return _call_with_tuple("relax.call_tir", GlobalVarPattern(func_name), args, *rest)


@explained
def is_call_dps_packed(func_name: str, args: Arguments = None) -> CallPattern:
    """A `call_dps_packed` of the function of this name; any arguments if none are given."""
    return _call_with_tuple("relax.call_dps_packed", ExternFuncPattern(func_name), args)


@explained
def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """A call of the packed function of this name; any arguments if none are given."""
    callee = ExternFuncPattern(func_name)
    if args is None:
        return callee(varg_default_wildcard=True)
    return callee(*args)


def reject(pattern: DFPattern) -> NotPattern:
    """What the pattern does not match."""
    return NotPattern(pattern)


@explained
def has_attr(attrs: Mapping[str, object], pattern: DFPattern | None = None) -> AttrPattern:
    """What has these attributes."""
    return AttrPattern(wildcard() if pattern is None else pattern, attrs)


# --- sequences ---


class PatternSeq(Node):
    """Patterns of which each is used by the next; `only_use` if by nothing else."""

    __slots__ = ("only_use", "patterns")
    TYPE_KEY = "relax.dpl.PatternSeq"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("patterns", "only_use")

    def __init__(self, patterns: Sequence[DFPattern], only_use: bool = False) -> None:
        _check_patterns("PatternSeq", patterns)
        if not patterns:
            raise CheckError("PatternSeq must have at least one pattern; found none")
        self.patterns: Final = tuple(patterns)
        self.only_use: Final = only_use
        context = PatternContext.current()
        if context is not None:
            for producer, consumer in itertools.pairwise(patterns):
                context.add_edge(Edge(producer, consumer, only_use, ANY_INDEX))

    def used_by(self, other: DFPattern | PatternSeq, index: int = ANY_INDEX) -> PatternSeq:
        """The last of these is used by the first of the others."""
        return self._joined(other, False, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = ANY_INDEX) -> PatternSeq:
        """As `used_by`, and nothing else uses it."""
        return self._joined(other, True, index)

    def _joined(self, other: DFPattern | PatternSeq, only: bool, index: int) -> PatternSeq:
        if not isinstance(other, (DFPattern, PatternSeq)):
            raise TypeError(
                f"a pattern is used by a pattern or a sequence of them, found {other!r}"
            )
        rest = other.patterns if isinstance(other, PatternSeq) else (other,)
        context = PatternContext.current()  # outside of any, patterns are in sequence only
        if context is not None:
            context.add_edge(Edge(self.patterns[-1], rest[0], only, index))
        return _chain((*self.patterns, *rest), only)

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]

    def dup(self) -> PatternSeq:
        """Equal patterns for other values, tied together in the same way."""
        return _chain(_copies(self.patterns), self.only_use)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def __repr__(self) -> str:
        return f"[{' ^ '.join(map(repr, self.patterns))}]"

    __str__ = __repr__


def _chain(patterns: Sequence[DFPattern], only_use: bool) -> PatternSeq:
    """A sequence whose edges stand in the context already."""
    seq = PatternSeq(patterns[:1], only_use)
    seq.patterns = tuple(patterns)  # type: ignore[misc]  # the constructor would add edges again
    return seq


def _copies(patterns: Sequence[DFPattern]) -> list[DFPattern]:
    """Copies with all their parts; the current context ties them together as it does these."""
    copies: dict[DFPattern, DFPattern] = {}
    result = [_copy(pattern, copies) for pattern in patterns]
    context = PatternContext.current()
    for edge in list(context.edges) if context is not None else []:
        if edge.producer in copies and edge.consumer in copies:
            assert context is not None, "only a context has edges"
            producer, consumer = copies[edge.producer], copies[edge.consumer]
            context.add_edge(edge._replace(producer=producer, consumer=consumer))
    return result


def _copy(pattern: DFPattern, copies: dict[DFPattern, DFPattern]) -> DFPattern:
    """A copy of the pattern; one that is shared is copied once."""
    if pattern not in copies:
        values = {name: _copied(value, copies) for name, value in pattern.field_values().items()}
        copies[pattern] = type(pattern).from_fields(values)
    return copies[pattern]


def _copied(value: object, copies: dict[DFPattern, DFPattern]) -> object:
    if isinstance(value, DFPattern):
        return _copy(value, copies)
    if isinstance(value, tuple):
        return tuple([_copied(part, copies) for part in value])
    return value


# --- text ---


def pattern_text(pattern: DFPattern) -> str:
    """A pattern in one line, for messages."""
    kind = type(pattern).__name__
    match pattern:
        case WildcardPattern():
            return "*"
        case NotPattern():
            return f"!({pattern.reject!r})"
        case CallPattern():
            args = [repr(arg) for arg in pattern.args]
            return f"{pattern.op!r}({', '.join(args + ['...'] * pattern.varg_default_wildcard)})"
        case OrPattern() | AndPattern():
            sign = "|" if isinstance(pattern, OrPattern) else "&"
            return f"{kind}({pattern.left!r} {sign} {pattern.right!r})"
        case ExprPattern():
            op = pattern.expr
            return f"Op({op.name})" if isinstance(op, Op) else repr(op)
        case StructInfoPattern():
            return f"{kind}({pattern.pattern!r} has relax StructInfo {pattern.struct_info})"
        case ShapePattern():
            return f"{kind}({pattern.pattern!r} has shape {_listed(pattern.shape)})"
        case DataTypePattern():
            return f"{kind}({pattern.pattern!r} has dtype {pattern.dtype})"
        case AttrPattern():
            names = map(str, pattern.attrs.keys())
            pairs = [f"{_quoted(name)}: {_quoted(pattern.attrs[name])}" for name in names]
            return f"{kind}({pattern.pattern!r} has attributes {{{', '.join(pairs)}}})"
    values = pattern.field_values().values()
    return f"{kind}({', '.join(_listed(value) for value in values)})"


def _quoted(value: object) -> str:
    """Strings as TVM prints them, in double quotes."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _listed(value: object) -> str:
    """Nodes in brackets, names and numbers bare."""
    if isinstance(value, IntImm):
        return str(value.value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_listed, value))}]"
    return value if isinstance(value, str) else repr(value)


# --- common patterns ---


def _add_bias(out: DFPattern) -> CallPattern:
    return is_op("relax.add")(out, wildcard())


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> DFPattern:
    """An operator of two operands, then maybe the sum with a bias, then maybe an activation."""
    out = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        out = _add_bias(out)
    return out if activation is None else is_op(activation)(out)


register_nodes(
    ExprPattern, VarPattern, DataflowVarPattern, GlobalVarPattern, ExternFuncPattern,
    ConstantPattern, CallPattern, FunctionPattern, TuplePattern, UnorderedTuplePattern,
    TupleGetItemPattern, OrPattern, AndPattern, NotPattern, WildcardPattern, StructInfoPattern,
    DataTypePattern, ShapePattern, SameShapeConstraint, PrimArrPattern, AttrPattern,
)  # fmt: skip

__all__ = [
    "AndPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFConstraint", "DFPattern",
    "DataTypePattern", "DataflowVarPattern", "ExprPattern", "ExternFuncPattern",
    "FunctionPattern", "GlobalVarPattern", "NotPattern", "OrPattern", "PatternSeq",
    "PrimArrPattern", "SameShapeConstraint", "ShapePattern", "StructInfoPattern",
    "TupleGetItemPattern", "TuplePattern", "UnorderedTuplePattern", "VarPattern",
    "WildcardPattern", "has_attr", "has_dtype", "is_call_dps_packed", "is_call_packed",
    "is_call_tir", "is_const", "is_dfv", "is_expr", "is_gv", "is_op", "is_shape", "is_tuple",
    "is_tuple_get_item", "is_var", "make_fused_bias_activation_pattern",
    "register_df_node", "reject", "wildcard",
]  # fmt: skip
