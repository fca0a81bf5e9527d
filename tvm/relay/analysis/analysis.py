"""Variables, kinds, features, counts, and whether a program is well-formed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall, TypeRelation
from tvm.relay.adt import (
    Constructor,
    Match,
    TypeData,
    pattern_vars,
)
from tvm.relay.expr import (
    Call,
    Constant,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relay.function import Function
from tvm.relay.match_cases import unmatched_cases
from tvm.relay.op.nn.conv import letters
from tvm.relay.traverse import children, post_order
from tvm.relay.ty import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TypeKind,
    TypeVar,
)
from tvm.relay.variables import (
    all_type_vars,
    all_vars,
    bound_type_vars,
    bound_vars,
    free_type_vars,
    free_vars,
)
from tvm.support.arguments import explained

from .calibration import get_calibration_data as get_calibration_data
from .extract import extract_fused_functions as extract_fused_functions
from .extract import extract_intermdeiate_expr as extract_intermdeiate_expr
from .extract import list_fake_quantized_op_freqs as list_fake_quantized_op_freqs
from .extract import search_fc_transpose as search_fc_transpose
from .feature import Feature
from .scopes import check_basic_block_normal_form as check_basic_block_normal_form

__all__ = [
    "all_dtypes", "all_type_vars", "all_vars", "bound_type_vars", "bound_vars", "check_constant",
    "check_kind", "detect_feature", "free_type_vars", "free_vars", "get_total_mac_number",
    "list_op_freqs", "post_order_visit", "unmatched_cases", "well_formed",
]  # fmt: skip


@explained
def post_order_visit(expr: RelaxExpr, fvisit: Callable[[RelaxExpr], Any]) -> None:
    """Call `fvisit` once for each expression, parts before the whole, values before names."""
    for node in post_order(expr, parts_of=_in_order):
        fvisit(node)


def _in_order(expr: RelaxExpr) -> tuple[RelaxExpr, ...]:
    return (expr.value, expr.var, expr.body) if isinstance(expr, Let) else children(expr)


def well_formed(expr: RelaxExpr | IRModule) -> bool:
    """True when each variable is bound once, and not used outside of what binds it."""
    if isinstance(expr, IRModule):
        return all(well_formed(f) for f in expr.functions.values() if isinstance(f, Function))
    return _Scopes().check(expr)


class _Scopes:
    """Which variables are bound, at each step of a walk in the order of evaluation."""

    def __init__(self) -> None:
        self.bound: set[Node] = set()  # anywhere so far
        self.open: Counter[Node] = Counter()  # in the scopes around
        self.free: set[Node] = set()

    def check(self, root: RelaxExpr) -> bool:
        enter: Any
        stack: list[Any] = [root]
        seen: set[int] = set()
        while stack:
            item = stack.pop()
            if isinstance(item, tuple):
                enter, variables = item
                if not (self._enter(variables) if enter else self._leave(variables)):
                    return False
                continue
            if isinstance(item, Var):
                if item.vid in self.bound and not self.open[item.vid]:
                    return False
                if not self.open[item.vid]:
                    self.free.add(item.vid)
                continue
            if id(item) in seen and not isinstance(item, (Let, Function, Match)):
                continue
            if id(item) in seen:
                continue
            seen.add(id(item))
            if isinstance(item, Let):
                own = [item.var]
                # a value may name its own variable, as functions do that call themselves
                stack.extend([(False, own), item.body, item.value, (True, own)])
            elif isinstance(item, Function):
                stack.extend([(False, item.params), item.body, (True, item.params)])
            elif isinstance(item, Match):
                for clause in reversed(item.clauses):
                    found = pattern_vars(clause.lhs)
                    stack.extend([(False, found), clause.rhs, (True, found)])
                stack.append(item.data)
            else:
                stack.extend(reversed(children(item)))
        return not self.free & self.bound

    def _enter(self, variables: Any) -> bool:
        for var in variables:
            if var.vid in self.bound:
                return False
            self.bound.add(var.vid)
            self.open[var.vid] += 1
        return True

    def _leave(self, variables: Any) -> bool:
        for var in variables:
            self.open[var.vid] -= 1
        return True


def check_kind(t: Type, mod: IRModule | None = None) -> TypeKind:
    """The kind of a type; a TVMError where its parts are of other kinds than they should be."""
    if isinstance(t, (TypeVar, GlobalTypeVar, IncompleteType)):
        return t.kind
    if isinstance(t, TensorType):
        return TypeKind.Type
    if isinstance(t, TupleType):
        return _all_types(t, t.fields, mod)
    if isinstance(t, FuncType):
        for constraint in t.type_constraints:
            if check_kind(constraint, mod) != TypeKind.Constraint:
                raise _kind_error(t, constraint, "constraints")
        return _all_types(t, (*t.arg_types, t.ret_type), mod)
    if isinstance(t, RefType):
        return _all_types(t, (t.value,), mod)
    if isinstance(t, TypeRelation):
        _all_types(t, t.args, mod)
        return TypeKind.Constraint
    if isinstance(t, TypeCall):
        return _type_call(t, mod)
    if isinstance(t, TypeData):
        for made in t.constructors:
            _all_types(t, made.inputs, mod)
            if made.belong_to != t.header:
                raise _kind_error(t, made.belong_to, "constructors of this type")
        return TypeKind.TypeData
    raise TVMError(f"check_kind: a {type(t).__name__} has no kind; legal: types of Relay")


def _all_types(owner: Type, parts: Any, mod: IRModule | None) -> TypeKind:
    for part in parts:
        if check_kind(part, mod) != TypeKind.Type:
            raise _kind_error(owner, part, "types of values")
    return TypeKind.Type


def _type_call(t: TypeCall, mod: IRModule | None) -> TypeKind:
    if check_kind(t.func, mod) != TypeKind.AdtHandle:
        raise _kind_error(t, t.func, "the name of a data type")
    _all_types(t, t.args, mod)
    if mod is not None and isinstance(t.func, GlobalTypeVar):
        data = mod.type_definitions.get(t.func)
        if data is None or len(data.type_vars) != len(t.args):
            count = "unknown" if data is None else len(data.type_vars)
            raise TVMError(
                f"check_kind: {t.func.name_hint} is given {len(t.args)} types; legal: {count}"
            )
    return TypeKind.Type


def _kind_error(owner: Type, part: Type, legal: str) -> TVMError:
    kind = TypeKind(check_kind(part)).name
    return TVMError(message(f"check_kind: {owner} holds {part}", found=f"kind {kind}", legal=legal))


def check_constant(expr: RelaxExpr) -> bool:
    """True when an expression consists of constants alone."""
    return all(
        isinstance(node, (Constant, Tuple, TupleGetItem, Call, Op)) for node in post_order(expr)
    )


def all_dtypes(expr: RelaxExpr) -> set[str]:
    """The data types of all tensors in an expression with types."""
    found: set[str] = set()
    for node in post_order(expr):
        known = getattr(node, "checked_type_", None)
        stack = [known]
        while stack:
            item = stack.pop()
            if isinstance(item, TensorType):
                found.add(str(item.dtype))
            elif isinstance(item, TupleType):
                stack.extend(item.fields)
            elif isinstance(item, FuncType):
                stack.extend((*item.arg_types, item.ret_type))
    return found


def get_total_mac_number(expr: RelaxExpr) -> int:
    """How many multiplications with addition the products of a program with types need."""
    total = 0
    for node in post_order(expr):
        if isinstance(node, Call) and isinstance(node.op, Op):
            rule = _MACS.get(node.op.name)
            total += 0 if rule is None else rule(node)
    return total


def _numbers(expr: RelaxExpr) -> tuple[int, ...]:
    found = expr.checked_type
    assert isinstance(found, TensorType), "products are of tensors"
    return found.concrete_shape


def _product(numbers: Any) -> int:
    total = 1
    for number in numbers:
        total *= int(number)
    return total


def _conv_macs(call: Call) -> int:
    attrs: Any = call.attrs
    kernel = letters(attrs.kernel_layout, _numbers(call.args[1]))
    data = letters(attrs.data_layout, _numbers(call.args[0]))
    window = _product(size for letter, size in kernel.items() if letter not in "OI")
    if call.op.name.endswith("transpose"):  # type: ignore[attr-defined]
        return _product(_numbers(call.args[0])) * window * int(kernel["O"])
    return _product(_numbers(call)) * window * int(data["C"]) // int(attrs.groups)


_MACS: Final[dict[str, Callable[[Call], int]]] = {
    "nn.conv2d": _conv_macs,
    "nn.conv2d_transpose": _conv_macs,
    "nn.dense": lambda call: _product(_numbers(call)) * _numbers(call.args[1])[1],
    "nn.batch_matmul": lambda call: _product(_numbers(call)) * _numbers(call.args[0])[2],
}


@explained
def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """How often main calls each operator."""
    calls = (node for node in post_order(mod["main"]) if isinstance(node, Call))
    return dict(Counter(call.op.name for call in calls if isinstance(call.op, Op)))


_FEATURES: Final[dict[type, Feature]] = {
    Var: Feature.fVar, GlobalVar: Feature.fGlobalVar, Constant: Feature.fConstant,
    Tuple: Feature.fTuple, TupleGetItem: Feature.fTupleGetItem, Function: Feature.fFunction,
    Op: Feature.fOp, Call: Feature.fCall, Let: Feature.fLet, If: Feature.fIf,
    RefCreate: Feature.fRefCreate, RefRead: Feature.fRefRead, RefWrite: Feature.fRefWrite,
    Constructor: Feature.fConstructor, Match: Feature.fMatch,
}  # fmt: skip
_ATOMS = (Var, GlobalVar, Constant, Op, Constructor)


def detect_feature(a: RelaxExpr | IRModule, b: Any = None) -> set[Feature]:
    """What a program uses of the language: kinds of expressions, sharing, recursion.

    Of an expression and the module that it belongs to, in either order, what both use.
    """
    if isinstance(b, IRModule):
        return detect_feature(a) | detect_feature(b)
    if isinstance(a, IRModule) and b is not None:
        return detect_feature(b, a)
    if isinstance(a, IRModule):
        funcs = [f for f in a.functions.values() if isinstance(f, Function)]
        return {feature for func in funcs for feature in detect_feature(func)}
    found: set[Feature] = set()
    uses: Counter[int] = Counter()
    for node in post_order(a):
        feature = _FEATURES.get(type(node))
        if feature is not None:
            found.add(feature)
        uses.update(id(part) for part in children(node) if not isinstance(part, _ATOMS))
        if isinstance(node, Let) and any(v.vid is node.var.vid for v in free_vars(node.value)):
            found.add(Feature.fLetRec)
    if any(count > 1 for count in uses.values()):
        found.add(Feature.fGraph)
    return found
