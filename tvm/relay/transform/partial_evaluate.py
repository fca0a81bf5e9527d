"""Run what is known of a program while compiling, and leave the rest.

    let %r = ref(%d); let %u = ref_write(%r, multiply(ref_read(%r), %d)); ref_read(%r)
    ->
    let %r = ref(%d); let %m = multiply(%d, %d); let %u = ref_write(%r, %m); %m

A value has a dynamic side, an expression of the new program, and, where it is known, a static one:
a tensor, a tuple, a reference, data, or a function. Calls of known functions are written out; a
recursive call is, as long as a number or a piece of data among its operands gets smaller. What
references hold is forgotten where an unknown function may write them. The pass leaves unused lets;
`DeadCodeElimination(inline_once=True)` removes them. (N. D. Jones, C. K. Gomard, P. Sestoft:
Partial Evaluation and Automatic Program Generation, 1993, chapter 7.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.ir.type import Type
from tvm.relay.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    map_pattern_vars,
)
from tvm.relay.backend.op_values import call_value
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
from tvm.relay.rewrite import substitute_types
from tvm.relay.traverse import lets, rebuild
from tvm.support.recursion import nested_programs

from .function_pass import expr_pass
from .normal_forms import ToANormalFormExpr

_MAX_CALLS: Final = 20_000  # written out in one function; what needs more keeps its calls
_UNKNOWN: Final = float("inf")


@expr_pass("PartialEval", opt_level=1)
def PartialEvaluate(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function with everything computed that does not depend on its parameters."""
    assert isinstance(func, Function), "a pass gets functions"
    if func.attrs.get("Primitive"):
        return func
    with nested_programs():
        evaluator = _Evaluator(mod)
        name = next((var for var, one in mod.functions.items() if one is func), None)
        if name is not None:  # of itself it knows no operands, so that none get smaller
            evaluator.running(name, len(func.params))
        return evaluator.residual(_normal(func), {}, Lets(), None)


def _normal(func: Function) -> Function:
    """A function whose operands are names, so that each step is met once."""
    made = rebuild(func, (*func.params, ToANormalFormExpr(func.body)))
    assert isinstance(made, Function), "a function stays one"
    return made


class _Cell:
    """What a reference is known by."""


class _Data:
    """A value of a known constructor; `size` counts the constructors inside."""

    def __init__(self, constructor: Constructor, fields: Sequence[Value]) -> None:
        self.constructor: Final = constructor
        self.fields: Final = tuple(fields)
        inner = [f.static.size for f in fields if isinstance(f.static, _Data)]
        self.size: Final[int] = 1 + sum(inner)


_Apply = Callable[["Value", list["Value"], Call, "Lets"], "Value"]


class Value:
    """A value of the old program: its expression in the new one, and what is known of it.

    `static` is None, an array, a tuple of values, a `_Cell`, a `_Data` or a function.
    """

    __slots__ = ("dynamic", "static")

    def __init__(self, dynamic: RelaxExpr, static: Any = None) -> None:
        self.dynamic: Final = dynamic
        self.static: Final = static


class Lets:
    """The lets of one scope of the new program."""

    def __init__(self) -> None:
        self.steps: list[tuple[Var, RelaxExpr]] = []

    def push(self, value: RelaxExpr, name: str = "x") -> Var:
        var = Var(name)
        self.steps.append((var, value))
        return var

    def around(self, body: RelaxExpr) -> RelaxExpr:
        for var, value in reversed(self.steps):
            body = Let(var, value, body, value.span)
        return body


Env = Mapping[Node, Value]


class _Evaluator:
    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.store: dict[_Cell, Value] = {}
        self.types: dict[Type, Type] = {}
        self.least: dict[object, list[float]] = {}  # of running functions: the smallest operands
        self.calls = 0
        self.globals: dict[str, Value] = {}

    # -- scopes

    def branch(self, run: Callable[[Lets], RelaxExpr]) -> RelaxExpr:
        """An expression in a scope of its own, which may or may not run."""
        saved = dict(self.store)
        inner = Lets()
        body = inner.around(run(inner))
        self.store = saved
        return body

    def eval(self, root: RelaxExpr, env: Env, out: Lets) -> Value:
        """The value of a scope."""
        chain, rest = lets(root)
        known = dict(env)
        for let in chain:
            if isinstance(let.value, Function):
                known[let.var.vid] = self._named(let.var, let.value, known, out)
            else:
                known[let.var.vid] = self.step(let.value, known, out)
        return self.step(rest, known, out)

    def step(self, expr: RelaxExpr, env: Env, out: Lets) -> Value:
        """The value of one step, whose operands are names, constants or scopes."""
        rule = _RULES.get(type(expr))
        if rule is None:
            raise TVMError(
                f"PartialEvaluate: a {type(expr).__name__} has no value; legal: what Relay has"
            )
        found: Value = rule(self, expr, env, out)
        return found

    # -- atoms

    def var(self, expr: Var, env: Env, out: Lets) -> Value:
        return env.get(expr.vid) or Value(expr)

    def constant(self, expr: Constant, env: Env, out: Lets) -> Value:
        return Value(out.push(expr), expr.data.numpy())

    def running(self, name: GlobalVar, params: int) -> None:
        """The body of a global function is at work."""
        self.least[name.name_hint] = [_UNKNOWN] * params

    def global_var(self, expr: GlobalVar, env: Env, out: Lets) -> Value:
        known = self.globals.get(expr.name_hint)
        if known is None:
            func = self.mod.functions.get(expr)
            apply = None
            if isinstance(func, Function) and not _is_closed(func):
                apply = self._function(_normal(func), {}, expr.name_hint)
            known = self.globals[expr.name_hint] = Value(expr, apply)
        return known

    def op(self, expr: Op | Constructor, env: Env, out: Lets) -> Value:
        return Value(expr)

    # -- tuples and references

    def tuple(self, expr: Tuple, env: Env, out: Lets) -> Value:
        fields = [self.step(field, env, out) for field in expr.fields]
        return Value(out.push(rebuild(expr, [f.dynamic for f in fields])), tuple(fields))

    def item(self, expr: TupleGetItem, env: Env, out: Lets) -> Value:
        value = self.step(expr.tuple_value, env, out)
        if isinstance(value.static, tuple):
            field: Value = value.static[expr.index]
            return field
        return Value(out.push(TupleGetItem(value.dynamic, expr.index, expr.span)))

    def ref_create(self, expr: RefCreate, env: Env, out: Lets) -> Value:
        value = self.step(expr.value, env, out)
        cell = _Cell()
        self.store[cell] = value
        return Value(out.push(RefCreate(value.dynamic, expr.span)), cell)

    def ref_read(self, expr: RefRead, env: Env, out: Lets) -> Value:
        ref = self.step(expr.ref, env, out)
        held = self.store.get(ref.static) if isinstance(ref.static, _Cell) else None
        return held or Value(out.push(RefRead(ref.dynamic, expr.span)))

    def ref_write(self, expr: RefWrite, env: Env, out: Lets) -> Value:
        ref, value = self.step(expr.ref, env, out), self.step(expr.value, env, out)
        if isinstance(ref.static, _Cell):
            self.store[ref.static] = value
        else:
            self.store.clear()
        return Value(out.push(RefWrite(ref.dynamic, value.dynamic, expr.span)), ())

    # -- choices

    def choice(self, expr: If, env: Env, out: Lets) -> Value:
        cond = self.step(expr.cond, env, out)
        if isinstance(cond.static, np.ndarray):
            chosen = expr.true_branch if bool(cond.static) else expr.false_branch
            return self.eval(chosen, env, out)
        yes = self.branch(lambda inner: self.eval(expr.true_branch, env, inner).dynamic)
        no = self.branch(lambda inner: self.eval(expr.false_branch, env, inner).dynamic)
        self.store.clear()
        return Value(out.push(If(cond.dynamic, yes, no, expr.span)))

    def match(self, expr: Match, env: Env, out: Lets) -> Value:
        data = self.step(expr.data, env, out)
        for clause in expr.clauses:
            bound: dict[Node, Value] = {}
            fits = _fits(clause.lhs, data, bound)
            if fits:
                return self.eval(clause.rhs, {**env, **bound}, out)
            if fits is None:
                break
        clauses = [self._clause(clause, env) for clause in expr.clauses]
        self.store.clear()
        return Value(out.push(Match(data.dynamic, clauses, expr.complete)))

    def _clause(self, clause: Clause, env: Env) -> Clause:
        bound: dict[Node, Value] = {}

        def fresh(var: Var) -> Var:
            made = Var(var.name_hint, self._type(var.type_annotation))
            bound[var.vid] = Value(made)
            return made

        pattern = map_pattern_vars(clause.lhs, fresh)
        inside = {**env, **bound}
        return Clause(
            pattern, self.branch(lambda inner: self.eval(clause.rhs, inside, inner).dynamic)
        )

    # -- functions

    def function(self, expr: Function, env: Env, out: Lets) -> Value:
        if _is_closed(expr):
            return Value(expr)
        return Value(out.push(self.residual(expr, env, out, None)), self._function(expr, env, expr))

    def _named(self, var: Var, func: Function, env: Env, out: Lets) -> Value:
        """A function that may call itself by the variable of its let."""
        if _is_closed(func):
            return Value(func)
        name = Var(var.name_hint)
        scope = dict(env)
        value = scope[var.vid] = Value(name, self._function(func, scope, func))
        out.steps.append((name, self.residual(func, scope, out, None)))
        return value

    def residual(self, func: Function, env: Env, out: Lets, name: Var | None) -> Function:
        """The function in the new program; its parameters are unknown."""
        params = [Var(p.name_hint, self._type(p.type_annotation), p.span) for p in func.params]
        inside = dict(env)
        inside.update({p.vid: Value(new) for p, new in zip(func.params, params)})

        def run(inner: Lets) -> RelaxExpr:
            self.store.clear()  # what runs later finds what others have written by then
            return self.eval(func.body, inside, inner).dynamic

        body = self.branch(run)
        ret = self._type(func.ret_type)
        return Function(params, body, ret, func.type_params, func.attrs, func.span)

    def _type(self, found: Type | None) -> Type | None:
        """A type with what is known of the type variables of functions that are written out."""
        return None if found is None else substitute_types(found, self.types)

    def _function(self, func: Function, env: Env, key: object) -> _Apply:
        """What a call of a known function does."""

        def apply(callee: Value, args: list[Value], call: Call, out: Lets) -> Value:
            sizes = [_size(arg) for arg in args]
            least = self.least.get(key)
            smaller = least is None or any(a < b for a, b in zip(sizes, least))
            if not smaller or self.calls > _MAX_CALLS or len(args) != len(func.params):
                return self._unknown(callee, args, call, out)
            self.calls += 1
            self.least[key] = sizes if least is None else [min(p) for p in zip(sizes, least)]
            saved = dict(self.types)
            given = [self._type(t) for t in call.type_args]
            self.types.update({v: t for v, t in zip(func.type_params, given) if t is not None})
            inside = dict(env)
            inside.update({p.vid: arg for p, arg in zip(func.params, args)})
            found = self.eval(func.body, inside, out)
            self.types = saved
            if least is None:
                del self.least[key]
            else:
                self.least[key] = least
            return found

        return apply

    def call(self, expr: Call, env: Env, out: Lets) -> Value:
        args = [self.step(arg, env, out) for arg in expr.args]
        if isinstance(expr.op, Op):
            return self._op_call(expr, args, out)
        if isinstance(expr.op, Constructor):
            made = Call(expr.op, [a.dynamic for a in args], None, None, expr.span)
            return Value(out.push(made), _Data(expr.op, args))
        callee = self.step(expr.op, env, out)
        if callable(callee.static):
            found: Value = callee.static(callee, args, expr, out)
            return found
        return self._unknown(callee, args, expr, out)

    def _unknown(self, callee: Value, args: list[Value], call: Call, out: Lets) -> Value:
        if not isinstance(callee.dynamic, (Op, Constructor)):
            self.store.clear()
        dynamic = [arg.dynamic for arg in args]
        return Value(out.push(Call(callee.dynamic, dynamic, call.attrs, None, call.span)))

    def _op_call(self, expr: Call, args: list[Value], out: Lets) -> Value:
        assert isinstance(expr.op, Op), "asked by the caller"
        if args and not expr.op.get_attr("TOpIsStateful"):
            given = [_arrays(arg) for arg in args]
            if all(arg is not None for arg in given):
                try:
                    return self._lifted(call_value(expr, given), out)
                except TVMError:
                    pass  # it fails when the program runs, or not at all
        made = Call(expr.op, [a.dynamic for a in args], expr.attrs, None, expr.span)
        return Value(out.push(made))

    def _lifted(self, value: Any, out: Lets) -> Value:
        if isinstance(value, (tuple, list)):
            fields = [self._lifted(field, out) for field in value]
            return Value(out.push(Tuple([f.dynamic for f in fields])), tuple(fields))
        array = np.asarray(value)
        return Value(out.push(Constant(array)), array)


_RULES: Final[dict[type, Callable[..., Value]]] = {
    Var: _Evaluator.var,
    Constant: _Evaluator.constant,
    GlobalVar: _Evaluator.global_var,
    Op: _Evaluator.op,
    Constructor: _Evaluator.op,
    Tuple: _Evaluator.tuple,
    TupleGetItem: _Evaluator.item,
    RefCreate: _Evaluator.ref_create,
    RefRead: _Evaluator.ref_read,
    RefWrite: _Evaluator.ref_write,
    If: _Evaluator.choice,
    Match: _Evaluator.match,
    Function: _Evaluator.function,
    Call: _Evaluator.call,
    Let: lambda self, expr, env, out: self.eval(expr, env, out),
}


def _is_closed(func: Function) -> bool:
    """Whether a function is a kernel, or another compiler's."""
    return bool(func.attrs.get("Primitive")) or "Compiler" in func.attrs


def _size(value: Value) -> float:
    """A number that cannot get smaller for ever; infinite where nothing is known."""
    if isinstance(value.static, _Data):
        return value.static.size
    found = value.static
    if isinstance(found, np.ndarray) and found.ndim == 0 and found.dtype.kind in "iu":
        return int(found) if found >= 0 else _UNKNOWN
    return _UNKNOWN


def _arrays(value: Value) -> Any:
    """The arrays of a value that is known in all its parts; None for any other."""
    if isinstance(value.static, np.ndarray):
        return value.static
    if isinstance(value.static, tuple):
        fields = [_arrays(field) for field in value.static]
        return None if any(field is None for field in fields) else tuple(fields)
    return None


def _fits(pattern: Pattern, value: Value, bound: dict[Node, Value]) -> bool | None:
    """Whether a pattern fits; None where that is not known."""
    if isinstance(pattern, PatternWildcard):
        return True
    if isinstance(pattern, PatternVar):
        bound[pattern.var.vid] = value
        return True
    static = value.static
    assert isinstance(pattern, (PatternConstructor, PatternTuple)), "four kinds of patterns"
    if isinstance(pattern, PatternConstructor):
        if not isinstance(static, _Data):
            return None
        if static.constructor.tag != pattern.constructor.tag:
            return False
        fields: Sequence[Value] = static.fields
    elif isinstance(static, tuple):
        fields = static
    else:
        return None
    found: bool | None = True
    for inner, field in zip(pattern.patterns, fields):
        fits = _fits(inner, field, bound)
        if fits is False:
            return False
        found = found if fits else None
    return found
