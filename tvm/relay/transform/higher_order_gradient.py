"""The gradient of a function that calls functions, branches, matches or keeps references.

    fn (%x) { %f(%x) }
    ->
    fn (%x) {
      let %back = ref(fn () { () });
      let %r = %f'((%x, ref(zeros_like(%x))), %back);     a value, and where its gradient gathers
      ... := ones_like(%r.0);  %back^();                   every call adds a step to %back
      (%r.0, (<what gathered for %x>,))
    }

A tensor becomes a pair with the reference of its gradient; a function takes the reference of the
way back as a last parameter. (B. Pearlmutter, J. Siskind: Reverse-Mode AD in a Functional
Framework, 2008.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.type import TupleType, Type
from tvm.relay.adt import Clause, Constructor, Match, map_pattern_vars
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
from tvm.relay.op import add, ones_like, zeros_like
from tvm.relay.traverse import children, lets, rebuild
from tvm.relay.ty import FuncType, RefType, TensorType
from tvm.relay.type_functor import TypeMutator
from tvm.support.recursion import nested_programs

from .infer_type import infer_types_of
from .normal_forms import ToANormalFormExpr
from .partial_evaluate import Lets

_STEP = FuncType([], TupleType([]))
_BACK = RefType(_STEP)


def higher_order_gradient(func: Function, mod: IRModule) -> Function:
    """A function of the same parameters that gives the result and their gradients.

    Functions of `mod` that it calls are added to it with their way back (`NAME_grad`).
    """
    with nested_programs():
        made = infer_types_of(_Converter(mod).outermost(_in_steps(func, mod)), mod)
    assert isinstance(made, Function), "a function stays one"
    return made


def _in_steps(func: Function, mod: IRModule) -> Function:
    typed = infer_types_of(ToANormalFormExpr(infer_types_of(func, mod)), mod)
    while isinstance(typed, Let):  # the function itself is named as a step
        typed = typed.value
    assert isinstance(typed, Function), "a function stays one"
    return typed


class _Paired(TypeMutator):
    """Types of values with their gradients."""

    def visit_tensor_type(self, tt: TensorType) -> Any:
        return TupleType([tt, RefType(tt)])

    def visit_func_type(self, ft: FuncType) -> Any:
        args = [self.visit(arg) for arg in ft.arg_types]
        return FuncType([*args, _BACK], self.visit(ft.ret_type), ft.type_params)


class _Converter:
    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.vars: dict[Node, Var] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.paired = _Paired()

    def outermost(self, func: Function) -> Function:
        for param in func.params:
            _check_data(param.checked_type)
        out = Lets()
        back = out.push(RefCreate(Function([], Tuple([]))), "back")
        params = [Var(p.name_hint, p.checked_type) for p in func.params]
        pairs = [
            out.push(_lifted(p, old.checked_type, out), p.name_hint)
            for p, old in zip(params, func.params)
        ]
        result = out.push(Call(self.function(func), [*pairs, back]), "result")
        found = func.checked_type
        assert isinstance(found, FuncType), "functions have the type of one"
        _check_data(found.ret_type)
        _each_gradient(result, found.ret_type, out, lambda ref, value: RefWrite(
            ref, ones_like(value)
        ))  # fmt: skip
        out.push(Call(RefRead(back), []), "_")
        grads = [_gradient(pair, p.checked_type) for pair, p in zip(pairs, func.params)]
        value = Tuple([_value(result, found.ret_type), Tuple(grads)])
        return Function(params, out.around(value), None, func.type_params, func.attrs)

    def function(self, func: Function) -> Function:
        params = [self.var(param) for param in func.params]
        back = Var("back", _BACK)
        found = func.checked_type
        assert isinstance(found, FuncType), "functions have the type of one"
        ret = self.paired.visit(found.ret_type)
        body = self.scope(func.body, back)
        return Function([*params, back], body, ret, func.type_params, None, func.span)

    def var(self, var: Var) -> Var:
        known = self.vars.get(var.vid)
        if known is None:
            known = self.vars[var.vid] = Var(
                var.name_hint, self.paired.visit(var.checked_type), var.span
            )
        return known

    def global_var(self, var: GlobalVar) -> GlobalVar:
        known = self.globals.get(var.name_hint)
        if known is None:
            func = self.mod[var.name_hint]
            if not isinstance(func, Function):
                raise TVMError(f"gradient: @{var.name_hint} is no function of Relay")
            known = self.globals[var.name_hint] = GlobalVar(f"{var.name_hint}_grad")
            self.mod[known] = self.function(_in_steps(func, self.mod))
        return known

    def scope(self, root: RelaxExpr, back: Var) -> RelaxExpr:
        chain, last = lets(root)
        out = Lets()
        for let in chain:
            var = self.var(let.var)  # a function may call itself by it
            out.steps.append((var, self.step(let.value, out, back)))
        return out.around(self.step(last, out, back))

    def step(self, expr: RelaxExpr, out: Lets, back: Var) -> RelaxExpr:
        """What a step becomes; its operands are names."""
        if isinstance(expr, Var):
            return self.var(expr)
        if isinstance(expr, GlobalVar):
            return self.global_var(expr)
        if isinstance(expr, Function):
            return self.function(expr)
        if isinstance(expr, Constant):
            return _lifted(expr, expr.checked_type, out)
        if isinstance(expr, Call):
            return self.call(expr, out, back)
        if isinstance(expr, If):
            taken = TupleGetItem(self.step(expr.cond, out, back), 0)
            true_branch = self.scope(expr.true_branch, back)
            return If(taken, true_branch, self.scope(expr.false_branch, back), expr.span)
        if isinstance(expr, Match):
            clauses = [
                Clause(map_pattern_vars(c.lhs, self.var), self.scope(c.rhs, back))
                for c in expr.clauses
            ]
            return Match(self.step(expr.data, out, back), clauses, expr.complete)
        if isinstance(expr, (Op, Constructor)):
            raise TVMError(
                message(
                    f"gradient: {expr} is passed as a value",
                    legal="calls of it; a function that calls it is a value, too",
                )
            )
        parts = [self.step(part, out, back) for part in children(expr)]
        made = rebuild(expr, parts)
        made.checked_type_ = None
        return made

    def call(self, call: Call, out: Lets, back: Var) -> RelaxExpr:
        args = [self.step(arg, out, back) for arg in call.args]
        types = [self.paired.visit(found) for found in call.type_args]
        if isinstance(call.op, Constructor):
            return Call(call.op, args, call.attrs, types, call.span)
        if not isinstance(call.op, Op):
            return Call(self.step(call.op, out, back), [*args, back], None, types, call.span)
        return self._operator(call, call.op, args, out, back)

    def _operator(
        self, call: Call, op: Op, args: Sequence[RelaxExpr], out: Lets, back: Var
    ) -> RelaxExpr:
        values = []
        for arg, old in zip(args, call.args):
            value = out.push(_value(arg, _type_of(old)))
            value.checked_type_ = old.checked_type
            values.append(value)
        plain = Call(op, values, call.attrs, None, call.span)
        plain.checked_type_ = call.checked_type
        result = out.push(_lifted(out.push(plain), call.checked_type, out))
        rule = op.get_attr("FPrimalGradient")
        if rule is None:
            if _is_counted(call.checked_type):  # a number of steps has no slope
                return result
            raise no_rule(op)
        before = out.push(RefRead(back), "before")
        steps = Lets()
        grad = steps.push(_gradient(result, call.checked_type))
        grad.checked_type_ = call.checked_type
        for arg, old, found in zip(args, call.args, rule(plain, grad)):
            _add_gradient(arg, steps.push(found), _type_of(old), steps)
        out.push(RefWrite(back, Function([], steps.around(Call(before, [])), _STEP.ret_type)), "_")
        return result


def _type_of(expr: RelaxExpr) -> Type:
    found: Type | None = expr.checked_type
    assert found is not None, "types are known"
    return found


def no_rule(op: Op) -> TVMError:
    """The refusal of an operator that says nothing of its gradient."""
    return TVMError(
        message(
            f"gradient: the operator {op.name} has no rule",
            legal="operators with a rule; relay.op.register_gradient adds one",
        )
    )


def _is_counted(found: Type) -> bool:
    if isinstance(found, TupleType):
        return all(_is_counted(field) for field in found.fields)
    return isinstance(found, TensorType) and "float" not in str(found.dtype)


def _check_data(found: Type) -> None:
    if isinstance(found, TupleType):
        for field in found.fields:
            _check_data(field)
    elif not isinstance(found, TensorType):
        raise TVMError(
            f"gradient: a parameter or a result is a {found}; legal: tensors and tuples of them"
        )


def _lifted(value: RelaxExpr, found: Type, out: Lets) -> RelaxExpr:
    """A value with references of zeros beside its tensors."""
    if isinstance(found, TupleType):
        fields = enumerate(found.fields)
        return Tuple([_lifted(out.push(TupleGetItem(value, at)), t, out) for at, t in fields])
    return Tuple([value, RefCreate(zeros_like(value))])


def _value(pair: RelaxExpr, found: Type) -> RelaxExpr:
    if isinstance(found, TupleType):
        return Tuple([_value(TupleGetItem(pair, at), t) for at, t in enumerate(found.fields)])
    return TupleGetItem(pair, 0)


def _gradient(pair: RelaxExpr, found: Type) -> RelaxExpr:
    if isinstance(found, TupleType):
        return Tuple([_gradient(TupleGetItem(pair, at), t) for at, t in enumerate(found.fields)])
    return RefRead(TupleGetItem(pair, 1))


def _each_gradient(pair: RelaxExpr, found: Type, out: Lets, write: Any) -> None:
    if isinstance(found, TupleType):
        for at, field in enumerate(found.fields):
            _each_gradient(TupleGetItem(pair, at), field, out, write)
    else:
        out.push(write(TupleGetItem(pair, 1), TupleGetItem(pair, 0)), "_")


def _add_gradient(pair: RelaxExpr, grad: RelaxExpr, found: Type, out: Lets) -> None:
    if isinstance(found, TupleType):
        for at, field in enumerate(found.fields):
            _add_gradient(TupleGetItem(pair, at), TupleGetItem(grad, at), field, out)
    else:
        ref = TupleGetItem(pair, 1)
        out.push(RefWrite(ref, add(RefRead(ref), grad)), "_")
