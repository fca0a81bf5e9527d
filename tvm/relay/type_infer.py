"""Find the type of every expression: unification, with the operators' rules run when they can.

Types that are not written down are variables; equalities between types bind them. A rule of an
operator that needs a type that is still open waits until something else tells it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.error import DiagnosticError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall
from tvm.tir.expr import IntImm

from . import ty
from .adt import (
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from .expr import (
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
from .function import Function
from .match_cases import unmatched_cases
from .op.declare import Relate
from .op.refusals import RAW, misfit, says_nothing
from .rewrite import substitute_types
from .text_printer import pattern_text, type_text
from .to_relax_types import type_by_meaning
from .traverse import children

_UNIT: Final = TupleType(())


class Unifier:
    """Which open types stand for what."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}

    def find(self, found: Type) -> Type:
        """What a type stands for, as far as its outside goes."""
        while found in self._bound if isinstance(found, ty.IncompleteType) else False:
            found = self._bound[found]
        return found

    def resolve(self, found: Type) -> Type:
        """A type with everything inside that is known by now."""
        found = self.find(found)
        if isinstance(found, TupleType):
            fields = [self.resolve(field) for field in found.fields]
            same = all(a is b for a, b in zip(fields, found.fields))
            return found if same else TupleType(fields, found.span)
        if isinstance(found, ty.FuncType):
            args = [self.resolve(arg) for arg in found.arg_types]
            ret = self.resolve(found.ret_type)
            if ret is found.ret_type and all(a is b for a, b in zip(args, found.arg_types)):
                return found
            return ty.FuncType(args, ret, found.type_params, found.type_constraints, found.span)
        if isinstance(found, ty.RefType):
            value = self.resolve(found.value)
            return found if value is found.value else ty.RefType(value, found.span)
        if isinstance(found, TypeCall):
            args = [self.resolve(arg) for arg in found.args]
            same = all(a is b for a, b in zip(args, found.args))
            return found if same else TypeCall(found.func, args, found.span)
        return found

    def unify(self, a: Type, b: Type, where: RelaxExpr) -> Type:
        """Make two types one; a DiagnosticError when they cannot be."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return a
        if isinstance(a, ty.IncompleteType):
            return self._bind(a, b, where)
        if isinstance(b, ty.IncompleteType):
            return self._bind(b, a, where)
        made = self._inside(a, b, where)
        if made is None:
            raise mismatch(self.resolve(a), self.resolve(b), where)
        return made

    def _bind(self, open_type: Type, known: Type, where: RelaxExpr) -> Type:
        """Let an open type stand for another one, which must not hold it."""
        stack = [known]
        while stack:
            part = self.find(stack.pop())
            if part is open_type:
                raise DiagnosticError(
                    message(
                        "InferType: a type would have to contain itself",
                        where=f"{where.span or ''}\n{where}".strip()[:400],
                        legal="types of finite size; data types may refer to themselves",
                    )
                )
            stack.extend(_parts(part))
        self._bound[open_type] = known
        return known

    def _inside(self, a: Type, b: Type, where: RelaxExpr) -> Type | None:
        if isinstance(a, ty.TensorType) and isinstance(b, ty.TensorType):
            return _one_tensor(a, b)
        if isinstance(a, TupleType) and isinstance(b, TupleType):
            if len(a.fields) != len(b.fields):
                return None
            return TupleType([self.unify(x, y, where) for x, y in zip(a.fields, b.fields)])
        if isinstance(a, ty.FuncType) and isinstance(b, ty.FuncType):
            return self._functions(a, b, where)
        if isinstance(a, ty.RefType) and isinstance(b, ty.RefType):
            return ty.RefType(self.unify(a.value, b.value, where))
        if isinstance(a, TypeCall) and isinstance(b, TypeCall):
            if len(a.args) != len(b.args) or self.find(a.func) != self.find(b.func):
                return None
            return TypeCall(a.func, [self.unify(x, y, where) for x, y in zip(a.args, b.args)])
        if isinstance(a, TypeCall) and not a.args:
            return self.unify(a.func, b, where)
        if isinstance(b, TypeCall) and not b.args:
            return self.unify(a, b.func, where)
        return a if a == b else None

    def _functions(self, a: ty.FuncType, b: ty.FuncType, where: RelaxExpr) -> Type | None:
        if len(a.arg_types) != len(b.arg_types):
            return None
        if len(a.type_params) != len(b.type_params):
            a, b = self.instance(a)[0], self.instance(b)[0]
        elif a.type_params:
            renamed = substitute_types(
                ty.FuncType(b.arg_types, b.ret_type), dict(zip(b.type_params, a.type_params))
            )
            assert isinstance(renamed, ty.FuncType), "a function type stays one"
            b = renamed
        args = [self.unify(x, y, where) for x, y in zip(a.arg_types, b.arg_types)]
        ret = self.unify(a.ret_type, b.ret_type, where)
        return ty.FuncType(args, ret, a.type_params, a.type_constraints)

    def instance(
        self, func: ty.FuncType, given: tuple[Type, ...] = ()
    ) -> tuple[ty.FuncType, list[Type]]:
        """A function type with types (given or open) for its type parameters."""
        if not func.type_params:
            return func, []
        known = self.resolve(func)
        assert isinstance(known, ty.FuncType), "a function type stays one"
        func = known
        if len(given) > len(func.type_params):
            raise DiagnosticError(
                message(
                    "InferType: Incorrect number of type args",
                    found=f"{len(given)} in a call of {func}",
                    legal=f"{len(func.type_params)}, one for each type parameter",
                )
            )
        chosen: list[Type] = [
            *given, *[ty.IncompleteType() for _ in func.type_params[len(given) :]]
        ]
        made = substitute_types(
            ty.FuncType(func.arg_types, func.ret_type), dict(zip(func.type_params, chosen))
        )
        assert isinstance(made, ty.FuncType), "a function type stays one"
        return made, chosen


def _parts(found: Type) -> tuple[Type, ...]:
    if isinstance(found, TupleType):
        return tuple(found.fields)
    if isinstance(found, ty.FuncType):
        return (*found.arg_types, found.ret_type)
    if isinstance(found, ty.RefType):
        return (found.value,)
    return found.args if isinstance(found, TypeCall) else ()


def _one_tensor(a: ty.TensorType, b: ty.TensorType) -> Type | None:
    """The more precise of two tensor types that do not contradict each other."""
    if a.dtype != b.dtype or len(a.shape) != len(b.shape):
        return None
    dims: list[Any] = []
    for x, y in zip(a.shape, b.shape):
        if isinstance(x, ty.Any) or isinstance(y, ty.Any):
            dims.append(y if isinstance(x, ty.Any) and isinstance(y, ty.Any) else ty.Any())
            continue
        if not (x is y or _same_number(x, y) or structural_equal(x, y)):
            return None
        dims.append(x)
    return a if all(d is x for d, x in zip(dims, a.shape)) else ty.TensorType(dims, a.dtype)


def _same_number(x: Any, y: Any) -> bool:
    return isinstance(x, IntImm) and isinstance(y, IntImm) and x.value == y.value


def mismatch(a: Type, b: Type, where: RelaxExpr) -> DiagnosticError:
    """The error for two types that should be one."""
    text = str(where)
    shown = text if len(text) < 400 else text[:400] + " ..."
    return DiagnosticError(
        message(
            "InferType: two types that should be one differ",
            found=f"{type_text(a)}\nand {type_text(b)}",
            where=f"{where.span or ''}\n{shown}".strip(),
            legal="one type in both",
        )
    )


class Inference:
    """The types of one module's expressions, as far as they are known."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.types = Unifier()
        self.found: dict[int, Type] = {}
        self.vars: dict[Node, Type] = {}
        self.globals: dict[str, Type] = {}
        self.type_args: dict[int, list[Type]] = {}
        self.waiting: list[tuple[Call, list[Type], Type]] = []
        self.items: list[tuple[TupleGetItem, Type, Type]] = []
        self._kept: list[object] = []

    # --- order of the walk ---

    def infer(self, root: RelaxExpr) -> Type:
        """The type of an expression; parts first, and a variable before its uses."""
        stack: list[tuple[RelaxExpr, int]] = [(root, 0)]
        self._kept.append(root)
        while stack:
            expr, step = stack.pop()
            if id(expr) in self.found:
                continue
            if isinstance(expr, Let):
                self._let(expr, step, stack)
            elif step == 0 and isinstance(expr, Match):
                stack.extend([(expr, 1), (expr.data, 0)])
            elif step == 1 and isinstance(expr, Match):
                for clause in expr.clauses:
                    self._pattern(clause.lhs, self.found[id(expr.data)], expr)
                stack.extend([(expr, 2), *[(c.rhs, 0) for c in reversed(expr.clauses)]])
            else:
                parts = children(expr)
                if step == 0 and parts:
                    stack.append((expr, 1))
                    stack.extend([(p, 0) for p in reversed(parts) if id(p) not in self.found])
                    continue
                self.found[id(expr)] = self._visit(expr)
        return self.found[id(root)]

    def _let(self, expr: Let, step: int, stack: list[tuple[RelaxExpr, int]]) -> None:
        if step == 0:
            own = self._var(expr.var)
            if isinstance(expr.value, Function) and isinstance(
                self.types.find(own), ty.IncompleteType
            ):
                self.types.unify(own, self._signature(expr.value), expr.value)
            stack.extend([(expr, 1), (expr.value, 0)])
        elif step == 1:
            self.types.unify(self._var(expr.var), self.found[id(expr.value)], expr.value)
            self.found[id(expr.var)] = self._var(expr.var)
            stack.extend([(expr, 2), (expr.body, 0)])
        else:
            self.found[id(expr)] = self.found[id(expr.body)]

    def _visit(self, expr: RelaxExpr) -> Type:
        rule = _RULES.get(type(expr))
        if rule is None:
            raise DiagnosticError(
                message(f"InferType: a {type(expr).__name__} has no type", found=str(expr),
                        legal="expressions of Relay")
            )  # fmt: skip
        return rule(self, expr)

    def type_of(self, expr: RelaxExpr) -> Type:
        return self.found[id(expr)]

    # --- rules ---

    def _var(self, var: Var) -> Type:
        if var.vid not in self.vars:
            self.vars[var.vid] = self._opened(var.type_annotation)
        return self.vars[var.vid]

    def _opened(self, annotation: Type | None) -> Type:
        return ty.IncompleteType() if annotation is None else annotation

    def _signature(self, func: Function) -> ty.FuncType:
        ret = self._opened(func.ret_type)
        if func.ret_type is None:
            ret = self.found.setdefault(-id(func), ret)
        return ty.FuncType([self._var(p) for p in func.params], ret, func.type_params)

    def global_type(self, var: GlobalVar) -> Type:
        """The type of a function of the module; it is inferred if it is not written down."""
        name = var.name_hint
        if name in self.globals:
            return self.globals[name]
        if name not in self.mod:
            self.globals[name] = ty.IncompleteType()
            raise DiagnosticError(
                message(
                    f"InferType: @{name} is not in the module",
                    legal=f"one of {sorted(v.name_hint for v in self.mod.functions)}",
                )
            )
        func = self.mod[name]
        if not isinstance(func, Function):
            known = getattr(func, "checked_type_", None) or getattr(var, "checked_type_", None)
            self.globals[name] = known or ty.IncompleteType()
            return self.globals[name]
        self.globals[name] = self._signature(func)
        if func.ret_type is None or any(p.type_annotation is None for p in func.params):
            self.infer(func)
        return self.globals[name]

    def _tuple(self, expr: Tuple) -> Type:
        return TupleType([self.type_of(field) for field in expr.fields])

    def _item(self, expr: TupleGetItem) -> Type:
        result = ty.IncompleteType()
        if not self._field(expr, self.type_of(expr.tuple_value), result):
            self.items.append((expr, self.type_of(expr.tuple_value), result))
        return self.types.find(result)

    def _field(self, expr: TupleGetItem, source: Type, result: Type) -> bool:
        found = self.types.find(source)
        if isinstance(found, ty.IncompleteType):
            return False
        if not isinstance(found, TupleType) or not 0 <= expr.index < len(found.fields):
            raise DiagnosticError(
                message(
                    f"InferType: field {expr.index} is taken of what has none such",
                    found=type_text(self.types.resolve(found)),
                    legal="a tuple with that many fields",
                )
            )
        self.types.unify(result, found.fields[expr.index], expr)
        return True

    def _if(self, expr: If) -> Type:
        self.types.unify(self.type_of(expr.cond), ty.scalar_type("bool"), expr.cond)
        return self.types.unify(
            self.type_of(expr.true_branch), self.type_of(expr.false_branch), expr
        )

    def _function(self, expr: Function) -> Type:
        made = self._signature(expr)
        ret = self.types.unify(self.type_of(expr.body), made.ret_type, expr.body)
        del ret
        return made

    def _call(self, expr: Call) -> Type:
        args = [self.type_of(arg) for arg in expr.args]
        if isinstance(expr.op, Op):
            return self._operator(expr, args)
        callee = self.types.find(self.type_of(expr.op))
        result: Type = ty.IncompleteType()
        if isinstance(callee, ty.FuncType):
            callee, chosen = self.types.instance(callee, expr.type_args)
            self.type_args[id(expr)] = chosen
            if len(callee.arg_types) != len(args):
                raise DiagnosticError(
                    message(
                        "InferType: a call with the wrong number of arguments",
                        found=f"{len(args)} arguments in {expr}",
                        legal=f"those of {type_text(self.types.resolve(callee))}",
                    )
                )
            for want, have, arg in zip(callee.arg_types, args, expr.args):
                self.types.unify(want, have, arg)
            return self.types.find(callee.ret_type)
        if not isinstance(callee, ty.IncompleteType):
            raise mismatch(self.types.resolve(callee), ty.FuncType(args, result), expr)
        self.types.unify(callee, ty.FuncType(args, result), expr)
        return result

    def _operator(self, expr: Call, args: list[Type]) -> Type:
        count = expr.op.num_inputs  # type: ignore[attr-defined]
        if count >= 0 and len(args) != count:
            raise DiagnosticError(
                message(
                    f"InferType: {expr.op.name} is called with {len(args)} arguments",  # type: ignore[attr-defined]
                    found=str(expr),
                    legal=str(count),
                )
            )
        found = self._relate(expr, args)
        if found is not None:
            return found
        result = ty.IncompleteType()
        self.waiting.append((expr, args, result))
        return result

    def _relate(self, expr: Call, args: list[Type]) -> Type | None:
        types = [self.types.resolve(arg) for arg in args]
        rule = expr.op.get_attr("FRelayType")  # type: ignore[attr-defined]
        if rule is not None:

            def assign(index: int, found: Type) -> None:
                self.types.unify(args[index], found, expr.args[index])

            related = Relate(expr, types, assign, tuple(self.mod.type_definitions))
            try:
                made: Type | None = rule(related)
            except RAW as err:
                if not says_nothing(err):
                    raise
                shown = ", ".join(type_text(found) for found in types)
                raise DiagnosticError(misfit(expr.op, expr.attrs, shown, err)) from err
            return made
        if not all(_is_closed(found) for found in types):
            return None
        return type_by_meaning(expr, types)

    def _ref_write(self, expr: RefWrite) -> Type:
        self.types.unify(self.type_of(expr.ref), ty.RefType(self.type_of(expr.value)), expr)
        return _UNIT

    def _ref_read(self, expr: RefRead) -> Type:
        result = ty.IncompleteType()
        self.types.unify(self.type_of(expr.ref), ty.RefType(result), expr)
        return self.types.find(result)

    def _constructor(self, expr: Constructor) -> Type:
        data = self.mod.type_definitions.get(expr.belong_to)
        if data is None:
            raise DiagnosticError(
                message(
                    f"InferType: the type {expr.belong_to.name_hint} is not in the module",
                    legal=str([v.name_hint for v in self.mod.type_definitions]),
                )
            )
        made = TypeCall(expr.belong_to, data.type_vars)
        return ty.FuncType(expr.inputs, made, data.type_vars)

    def _pattern(self, pattern: Pattern, found: Type, where: Match) -> None:
        if isinstance(pattern, PatternVar):
            self.types.unify(self._var(pattern.var), found, where)
            self.found[id(pattern.var)] = self._var(pattern.var)
            self._kept.append(pattern.var)
        elif isinstance(pattern, PatternTuple):
            fields: list[Type] = [ty.IncompleteType() for _ in pattern.patterns]
            self.types.unify(found, TupleType(fields), where)
            for inner, field in zip(pattern.patterns, fields):
                self._pattern(inner, field, where)
        elif isinstance(pattern, PatternConstructor):
            made, _ = self.types.instance(self._constructor(pattern.constructor))  # type: ignore[arg-type]
            self.types.unify(found, made.ret_type, where)
            if pattern.patterns and len(pattern.patterns) != len(made.arg_types):
                raise DiagnosticError(
                    message(
                        f"InferType: the pattern of {pattern.constructor.name_hint} has "
                        f"{len(pattern.patterns)} fields",
                        legal=str(len(made.arg_types)),
                    )
                )
            for inner, field in zip(pattern.patterns, made.arg_types):
                self._pattern(inner, field, where)
        else:
            assert isinstance(pattern, PatternWildcard), "four kinds of patterns"

    def _match(self, expr: Match) -> Type:
        found: Type = ty.IncompleteType()
        for clause in expr.clauses:
            found = self.types.unify(found, self.type_of(clause.rhs), expr)
        missing = unmatched_cases(expr, self.mod) if expr.complete else []
        if missing:
            raise DiagnosticError(
                message(
                    "InferType: Match clauses do not handle the following cases: "
                    + ", ".join(map(pattern_text, missing)),
                    legal="a clause for each, or complete=False (match? in text)",
                )
            )
        return found

    # --- what had to wait ---

    def solve(self) -> None:
        """Run the rules that wait, until none of them learns anything."""
        progress = True
        while progress and (self.waiting or self.items):
            progress = False
            items, self.items = self.items, []
            for item in items:
                done = self._field(*item)
                progress |= done
                if not done:
                    self.items.append(item)
            waiting, self.waiting = self.waiting, []
            for call, args, result in waiting:
                made = self._relate(call, args)
                if made is None:
                    self.waiting.append((call, args, result))
                else:
                    self.types.unify(result, made, call)
                    progress = True

    def check_solved(self) -> None:
        """All rules have run."""
        if not self.waiting:
            return
        call, args, _ = self.waiting[0]
        shown = ", ".join(type_text(self.types.resolve(arg)) for arg in args)
        raise DiagnosticError(
            message(
                f"InferType: the types of the operands of {call.op} are not known",
                found=shown,
                where=str(call)[:400],
                legal="an annotation where nothing else tells the type",
            )
        )


def _is_closed(found: Type) -> bool:
    if isinstance(found, TupleType):
        return all(_is_closed(field) for field in found.fields)
    return not isinstance(found, ty.IncompleteType)


_RULES: Final[dict[type, Callable[[Inference, Any], Type]]] = {
    Constant: lambda i, e: e.tensor_type,
    Var: Inference._var,
    GlobalVar: Inference.global_type,
    Op: lambda i, e: ty.IncompleteType(),
    Constructor: Inference._constructor,
    Tuple: Inference._tuple,
    TupleGetItem: Inference._item,
    Call: Inference._call,
    If: Inference._if,
    Function: Inference._function,
    RefCreate: lambda i, e: ty.RefType(i.type_of(e.value)),
    RefRead: Inference._ref_read,
    RefWrite: Inference._ref_write,
    Match: Inference._match,
}
