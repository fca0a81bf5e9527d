"""Programs without functions as values: a function becomes data, and a call of it a match.

    @twice(fn (%x) { %x + %c }, %v)
    ->
    type Func_0 { Lambda_0(int32) }                          one constructor for each such function,
    def @apply_Func_0(%f: Func_0, %x: int32) -> int32 {      with what it takes from around it
      match (%f) { Lambda_0(%c) => %x + %c }
    }
    @twice_0(Lambda_0(%c), %v)                               and the callee for these very types

(J. Reynolds: Definitional Interpreters for Higher-Order Programming Languages, 1972.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall
from tvm.relay.adt import (
    Clause,
    Constructor,
    Match,
    PatternConstructor,
    PatternVar,
    TypeData,
    map_pattern_vars,
    pattern_vars,
)
from tvm.relay.expr import Call, If, Let, RefCreate, Tuple, Var
from tvm.relay.function import Function
from tvm.relay.rewrite import substitute_types
from tvm.relay.text_printer import type_text
from tvm.relay.traverse import children, rebuild
from tvm.relay.ty import FuncType, GlobalTypeVar, RefType
from tvm.relay.type_functor import TypeMutator
from tvm.relay.variables import free_vars
from tvm.support.recursion import nested_programs

Types = Mapping[Type, Type]


def Defunctionalization(func: Function, mod: IRModule) -> Function:
    """`func` of first order; `mod` gets the types and functions that it needs.

    Types are inferred, and `func` has no type parameters and takes and gives no function.
    """
    if func.type_params:
        raise TVMError(
            f"Defunctionalization: {len(func.type_params)} type parameters; legal: a function "
            "of certain types"
        )
    ends = [*[param.checked_type for param in func.params], _result(func)]
    for found in ends:
        if isinstance(found, FuncType):
            raise TVMError(
                message("Defunctionalization", found=type_text(found),
                        legal="a function that takes and gives tensors, tuples and data")
            )  # fmt: skip
    with nested_programs():
        worker = _Defunctionalizer(mod)
        made = worker.function(func, {})
        worker.finish()
    return made


class _Encoded:
    """The data that stands for functions of one type, and what calling them means."""

    def __init__(self, wanted: FuncType, at: int) -> None:
        self.wanted = wanted
        self.var = GlobalTypeVar(f"Func_{at}")
        self.apply = GlobalVar(f"apply_Func_{at}")
        self.constructors: list[Constructor] = []
        self.known: dict[tuple[Any, ...], Constructor] = {}
        self.clauses: list[Clause] = []
        self.args: list[Var] = []


class _WithData(TypeMutator):
    """Types with data instead of functions."""

    def __init__(self, owner: _Defunctionalizer) -> None:
        super().__init__()
        self._owner = owner

    def visit_func_type(self, ft: FuncType) -> Any:
        return self._owner.of(ft).var


class _Defunctionalizer:
    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.encoded: list[_Encoded] = []
        self.special: list[tuple[str, tuple[Type, ...], GlobalVar]] = []
        self.types: dict[Node, FuncType] = {}  # of the variables that held functions

    # --- types ---

    def type(self, found: Type, given: Types) -> Type:
        """A type with data for functions in it."""
        made = substitute_types(found, given) if given else found
        return self._encoded_type(made)

    def _encoded_type(self, found: Type) -> Type:
        new: Type = _WithData(self).visit(found)
        return new

    def of(self, wanted: FuncType) -> _Encoded:
        """The data for functions of a type."""
        for known in self.encoded:
            if structural_equal(known.wanted, wanted):
                return known
        made = _Encoded(wanted, len(self.encoded))
        self.encoded.append(made)
        types = [self._encoded_type(arg) for arg in wanted.arg_types]
        made.args = [Var(f"arg{at}", kind) for at, kind in enumerate(types)]
        return made

    # --- functions of the module ---

    def function(self, func: Function, given: Types) -> Function:
        """A function for certain types of its type parameters."""
        params = [Var(p.name_hint, self.type(_type_of(p), given)) for p in func.params]
        scope = _Scope({p.vid: new for p, new in zip(func.params, params)}, given)
        for param in func.params:
            self._note(param, given)
        ret = _result(func)
        return Function(params, self.expr(func.body, scope, substitute_types(ret, given)),
                        self.type(ret, given), (), func.attrs, func.span)  # fmt: skip

    def _note(self, var: Var, given: Types) -> None:
        found = substitute_types(_type_of(var), given)
        if isinstance(found, FuncType):
            self.types[var.vid] = found

    def specialised(self, var: GlobalVar, chosen: Sequence[Type]) -> GlobalVar:
        """The function of the module for types; itself if nothing about it is of higher order."""
        func = self.mod[var.name_hint]
        assert isinstance(func, Function), "Relay calls functions of Relay"
        for name, types, made in self.special:
            same = len(types) == len(chosen) and all(map(structural_equal, types, chosen))
            if name == var.name_hint and same:
                return made
        number = sum(1 for name, _, _ in self.special if name == var.name_hint)
        new = GlobalVar(self._free_name(f"{var.name_hint}_{number}"))
        self.special.append((var.name_hint, tuple(chosen), new))
        self.mod[new] = func  # its name is taken, and calls of itself find it
        self.mod[new] = self.function(func, dict(zip(func.type_params, chosen)))
        return new

    def _free_name(self, name: str) -> str:
        taken = {var.name_hint for var in self.mod.functions}
        while name in taken:
            name += "_"
        return name

    # --- expressions ---

    def expr(self, expr: RelaxExpr, scope: _Scope, want: Type | None = None) -> RelaxExpr:
        """An expression of first order; `want` tells a function with type parameters its type."""
        known = scope.made.get(id(expr))
        if known is not None:
            return known
        first = expr
        chain: list[tuple[Var, RelaxExpr, Any]] = []
        while isinstance(expr, Let):
            if isinstance(expr.value, Function) and expr.value.type_params:
                scope.functions[expr.var.vid] = expr.value  # made where it is used, for each type
            else:
                self._note(expr.var, scope.given)
                new = Var(expr.var.name_hint, self.type(_type_of(expr.var), scope.given))
                scope.vars[expr.var.vid] = new
                chain.append((new, self.part(expr.value, scope, None, expr.var), expr.span))
            expr = expr.body
        made = self.part(expr, scope, want, None)
        for var, value, span in reversed(chain):
            made = Let(var, value, made, span)
        if not isinstance(first, (Var, Function, GlobalVar, Constructor)):
            scope.made[id(first)] = made
        return made

    def part(
        self, expr: RelaxExpr, scope: _Scope, want: Type | None, own: Var | None
    ) -> RelaxExpr:
        if isinstance(expr, Var):
            if expr.vid in scope.functions:
                return self.value(scope.functions[expr.vid], scope, want, None)
            return scope.vars.get(expr.vid, expr)
        if isinstance(expr, (Function, GlobalVar)) or (
            isinstance(expr, Constructor) and isinstance(want, FuncType)
        ):
            return self.value(expr, scope, want, own)
        if isinstance(expr, Call):
            return self.call(expr, scope)
        if isinstance(expr, Match):
            return self.match(expr, scope, want)
        parts = children(expr)
        wants = _wanted(expr, want, len(parts))
        made = [self.expr(part, scope, wanted) for part, wanted in zip(parts, wants)]
        return rebuild(expr, made) if parts else expr

    def match(self, expr: Match, scope: _Scope, want: Type | None) -> RelaxExpr:
        clauses = []
        for clause in expr.clauses:
            for var in pattern_vars(clause.lhs):
                self._note(var, scope.given)
            lhs = map_pattern_vars(clause.lhs, scope.renamed)
            clauses.append(Clause(lhs, self.expr(clause.rhs, scope, want)))
        return Match(self.expr(expr.data, scope, None), clauses, expr.complete)

    def call(self, expr: Call, scope: _Scope) -> RelaxExpr:
        """A call of an operator, a constructor, a function of the module, or of data."""
        callee = expr.op
        if isinstance(callee, Op):
            args = [self.expr(arg, scope, None) for arg in expr.args]
            return Call(callee, args, expr.attrs, None, expr.span)
        given = [substitute_types(_type_of(arg), scope.given) for arg in expr.args]
        chosen = [substitute_types(found, scope.given) for found in expr.type_args]
        signature = self.signature(callee, chosen, scope)
        wanted = signature.arg_types if signature is not None else given
        args = [self.expr(arg, scope, want) for arg, want in zip(expr.args, wanted)]
        if isinstance(callee, Constructor):
            return Call(callee, args, expr.attrs, None, expr.span)
        if isinstance(callee, GlobalVar):
            return Call(self.specialised(callee, chosen), args, expr.attrs, None, expr.span)
        if isinstance(callee, Function) and not callee.type_params and not _is_kernel(callee):
            lets = []
            for param, arg in zip(callee.params, args):
                self._note(param, scope.given)
                new = Var(param.name_hint, self.type(_type_of(param), scope.given))
                scope.vars[param.vid] = new
                lets.append((new, arg))
            body = self.expr(callee.body, scope, signature.ret_type if signature else None)
            for var, arg in reversed(lets):
                body = Let(var, arg, body)
            return body
        if _is_kernel(callee):
            return Call(callee, args, expr.attrs, None, expr.span)
        if signature is None:
            raise TVMError(f"Defunctionalization: {callee} is called; its type is not known")
        data = self.expr(callee, scope, signature)
        return Call(self.of(signature).apply, [data, *args], None, None, expr.span)

    def signature(self, callee: Any, chosen: Sequence[Type], scope: _Scope) -> FuncType | None:
        """The type of a callee for the types that a call chose."""
        if isinstance(callee, GlobalVar):
            found: Any = self.mod[callee.name_hint].checked_type
        elif isinstance(callee, Constructor):
            data = self.mod.type_definitions[callee.belong_to]
            made = TypeCall(callee.belong_to, data.type_vars)
            found = FuncType(callee.inputs, made, data.type_vars)
        elif isinstance(callee, Var) and callee.vid in self.types:
            found = self.types[callee.vid]
        else:
            found = callee.checked_type
        if not isinstance(found, FuncType):
            return None
        given: dict[Type, Type] = dict(zip(found.type_params, chosen))
        made_type = substitute_types(FuncType(found.arg_types, found.ret_type), given)
        made_type = substitute_types(made_type, scope.given)
        return made_type if isinstance(made_type, FuncType) else None

    # --- functions as values ---

    def value(
        self, expr: RelaxExpr, scope: _Scope, want: Type | None, own: Var | None
    ) -> RelaxExpr:
        """The data for a function of type `want`; `own` is the variable that it is bound to."""
        if isinstance(expr, Function) and _is_kernel(expr):
            return expr
        found = substitute_types(_type_of(expr), scope.given)
        wanted = want if isinstance(want, FuncType) else found
        if not isinstance(wanted, FuncType) or wanted.type_params:
            raise TVMError(
                message("Defunctionalization: a function whose type is open", found=str(expr)[:200],
                        legal="a use that tells the types of its parameters")
            )  # fmt: skip
        given = _matched(found, wanted) if isinstance(found, FuncType) else {}
        data = self.of(wanted)
        if not isinstance(expr, Function):
            key = (type_text(found), str(expr))
            return self.constructed(data, key, [], [], lambda _, fields: Call(
                self._callee(expr, found, given), data.args))  # fmt: skip
        kinds = {**scope.given, **given}
        taken = [v for v in free_vars(expr) if own is None or v.vid != own.vid]
        taken = [v for v in taken if v.vid not in scope.functions]
        inside = [scope.vars.get(v.vid, v) for v in taken]
        types = [self.type(_type_of(v), scope.given) for v in taken]

        def body(itself: Constructor, fields: list[Var]) -> RelaxExpr:
            inner = _Scope({v.vid: f for v, f in zip(taken, fields)}, kinds, scope.functions)
            inner.vars.update({p.vid: arg for p, arg in zip(expr.params, data.args)})
            for param in expr.params:
                self._note(param, kinds)
            again: Var | None = None
            if own is not None:
                again = Var(own.name_hint, data.var)
                inner.vars[own.vid] = again
            made = self.expr(expr.body, inner, wanted.ret_type)
            if again is None:
                return made
            return Let(again, Call(itself, fields), made)

        return self.constructed(data, (expr, scope), inside, types, body)

    def _callee(self, expr: RelaxExpr, found: Type, given: Types) -> RelaxExpr:
        """A function of the module, or a constructor, that is called where it was a value."""
        if not isinstance(expr, GlobalVar) or not isinstance(found, FuncType):
            return expr
        return self.specialised(expr, [given.get(var, var) for var in found.type_params])

    def constructed(
        self, data: _Encoded, key: tuple[Any, ...], inside: Sequence[RelaxExpr],
        types: Sequence[Type], body: Any,
    ) -> RelaxExpr:  # fmt: skip
        """The data of one function; its clause is made at the first time."""
        constructor = data.known.get(key)
        if constructor is None:
            number = sum(len(e.constructors) for e in self.encoded)
            constructor = Constructor(f"Lambda_{number}", types, data.var)
            data.constructors.append(constructor)
            data.known[key] = constructor
            fields = [Var(f"field{at}") for at in range(len(types))]
            lhs = PatternConstructor(constructor, [PatternVar(field) for field in fields])
            data.clauses.append(Clause(lhs, body(constructor, fields)))
        return Call(constructor, inside)

    def finish(self) -> None:
        """Put the types and their functions into the module."""
        for data in self.encoded:
            self.mod.update_type_def(data.var, TypeData(data.var, [], data.constructors))
            func = Var("f", data.var)
            body = Match(func, data.clauses, True)
            ret = self._encoded_type(data.wanted.ret_type)
            self.mod[data.apply] = Function([func, *data.args], body, ret)


class _Scope:
    """What stands for the variables and type variables that are seen."""

    def __init__(
        self, variables: dict[Node, Var], given: Types,
        functions: dict[Node, Function] | None = None,
    ) -> None:  # fmt: skip
        self.vars = variables
        self.given = given
        self.functions = dict(functions or {})
        self.made: dict[int, RelaxExpr] = {}  # what expressions became, by address

    def renamed(self, var: Var) -> Var:
        made = self.vars[var.vid] = Var(var.name_hint)
        return made


def _type_of(expr: Any) -> Type:
    found = getattr(expr, "checked_type_", None) or getattr(expr, "type_annotation", None)
    if found is None:
        raise TVMError("Defunctionalization: types are not known; legal: InferType before it")
    return found  # type: ignore[no-any-return]


def _result(func: Function) -> Type:
    found = _type_of(func)
    assert isinstance(found, FuncType), "a function has the type of one"
    return found.ret_type


def _is_kernel(expr: object) -> bool:
    return isinstance(expr, Function) and "Primitive" in expr.attrs


def _wanted(expr: RelaxExpr, want: Type | None, count: int) -> list[Type | None]:
    """What the parts of an expression of type `want` have to be."""
    if isinstance(expr, If):
        return [None, want, want]
    if isinstance(expr, Tuple) and isinstance(want, TupleType):
        return list(want.fields)
    if isinstance(expr, RefCreate) and isinstance(want, RefType):
        return [want.value]
    return [None] * count


def _matched(found: FuncType, wanted: FuncType) -> dict[Type, Type]:
    """The types of a function's type parameters that make it of type `wanted`."""
    given: dict[Type, Type] = {}
    stack: list[tuple[Any, Any]] = [*zip(found.arg_types, wanted.arg_types),
                                    (found.ret_type, wanted.ret_type)]  # fmt: skip
    while stack:
        a, b = stack.pop()
        if a in found.type_params:
            given[a] = b
        elif isinstance(a, TupleType) and isinstance(b, TupleType):
            stack.extend(zip(a.fields, b.fields))
        elif isinstance(a, FuncType) and isinstance(b, FuncType):
            stack.extend([*zip(a.arg_types, b.arg_types), (a.ret_type, b.ret_type)])
        elif isinstance(a, TypeCall) and isinstance(b, TypeCall):
            stack.extend(zip(a.args, b.args))
        elif isinstance(a, RefType) and isinstance(b, RefType):
            stack.append((a.value, b.value))
    return given
