"""Calls in other layouts, and their neighbours following them; transforms only where needed.

    nn.relu(nn.conv2d(%x, %w))
    ->                                                           the convolution wants NHWC
    %0 = nn.conv2d(layout_transform(%x, "NCHW", "NHWC"), ..., data_layout="NHWC")
    layout_transform(nn.relu(%0), "NHWC", "NCHW")

`AlterOpLayout` asks the operator (`FTVMAlterOpLayout`) for another call, `ConvertLayout` brings
the named operators to wanted layouts. A value in another layout than it had is kept beside the
program; what understands it takes it, everything else takes it transformed back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from typing_extensions import Self

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay import op as R
from tvm.relay.expr import Call, Tuple, TupleGetItem
from tvm.relay.op.layout_alterations import OF_TARGETS
from tvm.relay.traverse import transform
from tvm.relay.ty import TensorType, TupleType
from tvm.support.arguments import explained
from tvm.tir.data_layout import LayoutError, bijective_layout
from tvm.tir.expr import IntImm

from .function_pass import expr_pass
from .infer_layout_utils import InferCorrectLayoutOutput as Output
from .layout_rules import primal, rule_of

NewCall = Callable[[Call, Any, list[RelaxExpr]], RelaxExpr | None]


class _Value(NamedTuple):
    """A value with the layout that it has now, and the one that the program knows it by."""

    expr: RelaxExpr
    now: str | None
    was: str | None


class _Rewriter:
    """Rewrites the calls of one function from its parameters on."""

    def __init__(self, alter: NewCall) -> None:
        self.alter = alter
        self.values: dict[int, list[_Value]] = {}  # by old expression; several for tuples
        self.made: dict[tuple[int, str, str], RelaxExpr] = {}
        self._kept: list[RelaxExpr] = []

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(old, TupleGetItem) and id(old.tuple_value) in self.values:
            return self.keep(old, [self.values[id(old.tuple_value)][old.index]])
        if isinstance(old, Call) and isinstance(new, Call) and isinstance(old.op, Op):
            found = self.call(old, new)
            return new if found is None else self.keep(old, found)
        return new

    def keep(self, old: RelaxExpr, values: list[_Value]) -> RelaxExpr:
        """Remember the new values of an expression; in the old layouts they replace it."""
        self.values[id(old)] = values
        back = [self.transformed(v.expr, v.now, v.was) for v in values]
        return Tuple(back) if isinstance(old.checked_type, TupleType) else back[0]

    def transformed(self, expr: RelaxExpr, source: str | None, target: str | None) -> RelaxExpr:
        """`expr` in another layout; once for all users."""
        if source == target or source is None or target is None:
            return expr
        key = (id(expr), source, target)
        if key not in self.made:
            self.made[key] = _transform(expr, source, target)
            self._kept.append(expr)
        return self.made[key]

    def operands(self, old: Call, new: Call) -> list[_Value]:
        """The operands, those inside tuples one by one."""
        found: list[_Value] = []
        for before, after in zip(old.args, new.args):
            if isinstance(before, Tuple) and isinstance(after, Tuple):
                pairs = list(zip(before.fields, after.fields))
            else:
                pairs = [(before, after)]
            for field, made in pairs:
                known = self.values.get(id(field), [])
                found.append(known[0] if len(known) == 1 else _Value(made, None, None))
        return found

    def call(self, old: Call, new: Call) -> list[_Value] | None:
        if any(_is_whole_tuple(arg) for arg in old.args):
            return None
        values = self.operands(old, new)
        types = [arg.checked_type for arg in old.args]
        before = _infer(old.op, old.attrs, None, [v.was for v in values], types)
        if before is None:
            return None
        values = [
            v if v.was is not None else _Value(v.expr, was, was)
            for v, was in zip(values, before.input_layouts)
        ]
        args = _regrouped(old, [v.expr for v in values])
        altered = self.alter(old, before.new_attrs, args)
        call = Call(old.op, args, before.new_attrs) if altered is None else altered
        if not isinstance(call, Call):
            raise TVMError(
                message(
                    f"the new form of {getattr(old.op, 'name', old.op)} is no call",
                    found=str(call)[:400],
                    legal="a call of an operator",
                )
            )
        return self.with_layouts(old, call, values, before, types)

    def with_layouts(
        self, old: Call, call: Call, values: list[_Value], before: Output, types: Sequence[Any]
    ) -> list[_Value] | None:
        """The new call with its operands in the layouts that it takes."""
        if not isinstance(call.op, Op):
            return None
        was = [v.was for v in values]
        now = [v.now for v in values]
        after = _infer(call.op, call.attrs, now, before.input_layouts, types)
        if after is None or len(after.output_layouts) != len(before.output_layouts):
            return None
        if len(after.input_layouts) != len(was):
            return None
        given = _flat_args(call)
        if not all(_can_be(a, b) for a, b in zip(now, after.input_layouts)):
            return None
        moved = [
            self.transformed(expr, source, target)
            for expr, source, target in zip(given, now, after.input_layouts)
        ]
        made = Call(call.op, _regrouped(call, moved), after.new_attrs, None, old.span)
        layouts = list(zip(after.output_layouts, before.output_layouts))
        if isinstance(old.checked_type, TupleType):
            return [_Value(TupleGetItem(made, at), *pair) for at, pair in enumerate(layouts)]
        return [_Value(made, *layouts[0])]


def _is_whole_tuple(arg: RelaxExpr) -> bool:
    """A tuple that is not written where it is used: its fields are not known one by one."""
    return isinstance(arg.checked_type, TupleType) and not isinstance(arg, Tuple)


def _flat_args(call: Call) -> list[RelaxExpr]:
    return [f for arg in call.args for f in (arg.fields if isinstance(arg, Tuple) else (arg,))]


def _regrouped(call: Call, flat: Sequence[RelaxExpr]) -> list[RelaxExpr]:
    """Operands in tuples where the call has tuples."""
    made: list[RelaxExpr] = []
    rest = iter(flat)
    for arg in call.args:
        if isinstance(arg, Tuple):
            made.append(Tuple([next(rest) for _ in arg.fields], arg.span))
        else:
            made.append(next(rest))
    return made


def _infer(
    op: Any, attrs: Any, new: list[str | None] | None, old: Sequence[str | None],
    types: Sequence[Any],
) -> Output | None:  # fmt: skip
    rule = rule_of(op)
    if rule is None:
        return None
    try:
        found = rule(attrs, new, list(old), types)
    except (IndexError, ValueError):  # the layouts have no such axis
        return None
    if found is None or None in found.input_layouts or None in found.output_layouts:
        return None
    return found


def _can_be(source: str | None, target: str | None) -> bool:
    """Whether a transform between two layouts exists."""
    if source is None or target is None or source == target or source == "":
        return True
    if len(primal(source)) < len(primal(target)):
        source = _expanded(source, target)
    try:
        bijective_layout(source, target)
    except LayoutError:
        return False
    return True


def _expanded(source: str, target: str) -> str:
    return "".join(letter for letter in primal(target) if letter not in source) + source


def _transform(expr: RelaxExpr, source: str, target: str) -> RelaxExpr:
    more = len(primal(target)) - len(primal(source))
    if source == "" or _is_scalar(expr):
        return expr  # it is stretched to anything
    made: Any = expr
    if more > 0:
        made = R.expand_dims(made, 0, more)
        source = _expanded(source, target)
    if source == target:
        same: RelaxExpr = made
        return same
    moved: RelaxExpr = R.layout_transform(made, source, target)
    return moved


def _is_scalar(expr: RelaxExpr) -> bool:
    """One element along at most one axis: it is stretched to any layout."""
    found = getattr(expr, "checked_type_", None)
    if not isinstance(found, TensorType) or len(found.shape) > 1:
        return False
    return all(isinstance(dim, IntImm) and dim.value == 1 for dim in found.shape)


def _rewrite(func: RelaxExpr, alter: NewCall) -> RelaxExpr:
    return transform(func, _Rewriter(alter).rule)


def _tensor_infos(call: Call) -> list[Any]:
    """Placeholders of the operands' types, for rules that ask for shapes."""
    from tvm import te

    made: list[Any] = []
    for arg in call.args:
        found = arg.checked_type
        fields = found.fields if isinstance(found, TupleType) else [found]
        made.extend(te.placeholder(t.shape, str(t.dtype)) for t in fields)  # type: ignore[union-attr]
    return made


@expr_pass("AlterOpLayout", opt_level=3)
def AlterOpLayout(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Calls as the rules `FTVMAlterOpLayout(attrs, inputs, tinfos, out_type)` say."""
    return _altered(func, ())


@expr_pass("AlterOpLayout", opt_level=3)
def AlterOpLayoutByUsers(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """As `AlterOpLayout`, by the rules that users hang on operators alone."""
    return _altered(func, tuple(OF_TARGETS.values()))


def _altered(func: RelaxExpr, left_out: Sequence[Any]) -> RelaxExpr:
    def alter(old: Call, attrs: Any, args: list[RelaxExpr]) -> RelaxExpr | None:
        rule = old.op.get_attr("FTVMAlterOpLayout")  # type: ignore[attr-defined]
        if rule is None or rule in left_out:
            return None
        made: RelaxExpr | None = rule(attrs, args, _tensor_infos(old), old.checked_type)
        return made

    return _rewrite(func, alter)


@expr_pass("ConvertLayout", opt_level=3, required=["CanonicalizeOps"])
def ConvertLayout(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, desired_layouts: Mapping[str, Sequence[str]]
) -> RelaxExpr:
    """The operators named as keys are in the wanted layouts (data, and weight if it has one).

    A sequence of passes makes additions of biases before, so that they follow, too.
    """

    def alter(old: Call, attrs: Any, args: list[RelaxExpr]) -> RelaxExpr | None:
        rule = old.op.get_attr("FTVMConvertOpLayout")  # type: ignore[attr-defined]
        wanted = desired_layouts.get(old.op.name)  # type: ignore[attr-defined]
        if rule is None or wanted is None:
            return None
        made: RelaxExpr | None = rule(attrs, args, _tensor_infos(old), [str(w) for w in wanted])
        return made

    return _rewrite(func, alter)


class LayoutConfig:
    """A scope in which `ConvertLayout` leaves some convolutions as they are, by number."""

    current: ClassVar[LayoutConfig | None] = None

    @explained
    def __init__(self, skip_layers: Sequence[int] | None = None) -> None:
        self.skip_counter = 0
        self.skip_layers = list(skip_layers) if skip_layers is not None else []
        self._old_manager: LayoutConfig | None = None

    def check_skip(self) -> bool:
        """Whether the convolution that is asked about now is to be left alone; counts it."""
        skip = self.skip_counter in self.skip_layers
        self.skip_counter += 1
        return skip

    def reset(self) -> None:
        """Count from 0 again, and leave nothing alone."""
        self.skip_counter = 0
        self.skip_layers = []

    def __enter__(self) -> Self:
        self._old_manager = LayoutConfig.current
        LayoutConfig.current = self
        return self

    def __exit__(self, *exc: object) -> None:
        LayoutConfig.current = self._old_manager
