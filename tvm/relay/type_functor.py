"""Visitors and mutators of types: one method a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.error import TVMError
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall, TypeRelation

from .adt import Constructor, TypeData
from .expr_functor import MissingRule
from .ty import FuncType, GlobalTypeVar, IncompleteType, RefType, TensorType, TypeVar


class TypeFunctor:
    """Calls the method for the kind of a type."""

    def __init__(self) -> None:
        self.memo_map: dict[Type, Any] = {}

    def visit(self, typ: Type) -> Any:
        """The result of the method for this kind of type."""
        rule = _RULES.get(type(typ))
        if rule is None:
            raise TVMError(
                f"{type(self).__name__}: no rule for a {type(typ).__name__}; "
                f"legal: {', '.join(sorted(kind.__name__ for kind in _RULES))}"
            )
        return rule(self, typ)

    def _refuse(self, typ: Type) -> Any:
        raise MissingRule(
            f"{type(self).__name__} has no rule for a {type(typ).__name__}; define its method"
        )

    def visit_type_var(self, _: TypeVar) -> Any:
        return self._refuse(_)

    def visit_incomplete_type(self, _: IncompleteType) -> Any:
        return self._refuse(_)

    def visit_tensor_type(self, _: TensorType) -> Any:
        return self._refuse(_)

    def visit_func_type(self, _: FuncType) -> Any:
        return self._refuse(_)

    def visit_tuple_type(self, _: TupleType) -> Any:
        return self._refuse(_)

    def visit_type_relation(self, _: TypeRelation) -> Any:
        return self._refuse(_)

    def visit_ref_type(self, _: RefType) -> Any:
        return self._refuse(_)

    def visit_global_type_var(self, _: GlobalTypeVar) -> Any:
        return self._refuse(_)

    def visit_type_call(self, _: TypeCall) -> Any:
        return self._refuse(_)

    def visit_type_data(self, _: TypeData) -> Any:
        return self._refuse(_)


_RULES: Final[dict[type, Callable[[TypeFunctor, Any], Any]]] = {
    TypeVar: lambda f, t: f.visit_type_var(t),
    IncompleteType: lambda f, t: f.visit_incomplete_type(t),
    TensorType: lambda f, t: f.visit_tensor_type(t),
    FuncType: lambda f, t: f.visit_func_type(t),
    TupleType: lambda f, t: f.visit_tuple_type(t),
    TypeRelation: lambda f, t: f.visit_type_relation(t),
    RefType: lambda f, t: f.visit_ref_type(t),
    GlobalTypeVar: lambda f, t: f.visit_global_type_var(t),
    TypeCall: lambda f, t: f.visit_type_call(t),
    TypeData: lambda f, t: f.visit_type_data(t),
}


class TypeVisitor(TypeFunctor):
    """Visits everything inside; a subclass overrides the kinds it cares for."""

    def visit_type_var(self, tv: TypeVar) -> Any:
        pass

    def visit_incomplete_type(self, it: IncompleteType) -> Any:
        pass

    def visit_tensor_type(self, tt: TensorType) -> Any:
        pass

    def visit_func_type(self, ft: FuncType) -> Any:
        for arg_type in ft.arg_types:
            self.visit(arg_type)
        self.visit(ft.ret_type)
        for type_param in ft.type_params:
            self.visit(type_param)
        for constraint in ft.type_constraints:
            self.visit(constraint)

    def visit_tuple_type(self, tt: TupleType) -> Any:
        for field in tt.fields:
            self.visit(field)

    def visit_type_relation(self, tr: TypeRelation) -> Any:
        for arg in tr.args:
            self.visit(arg)

    def visit_ref_type(self, rt: RefType) -> Any:
        self.visit(rt.value)

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Any:
        pass

    def visit_type_call(self, tc: TypeCall) -> Any:
        self.visit(tc.func)
        for arg in tc.args:
            self.visit(arg)

    def visit_type_data(self, td: TypeData) -> Any:
        self.visit(td.header)
        for type_var in td.type_vars:
            self.visit(type_var)
        for constructor in td.constructors:
            for given in constructor.inputs:
                self.visit(given)


class TypeMutator(TypeFunctor):
    """Rebuilds types from what the methods give for the parts."""

    def visit_type_var(self, tv: TypeVar) -> Any:
        return tv

    def visit_incomplete_type(self, it: IncompleteType) -> Any:
        return it

    def visit_tensor_type(self, tt: TensorType) -> Any:
        return tt

    def visit_func_type(self, ft: FuncType) -> Any:
        return FuncType(
            [self.visit(arg_type) for arg_type in ft.arg_types],
            self.visit(ft.ret_type),
            [self.visit(type_param) for type_param in ft.type_params],
            [self.visit(constraint) for constraint in ft.type_constraints],
            ft.span,
        )

    def visit_tuple_type(self, tt: TupleType) -> Any:
        return TupleType([self.visit(field) for field in tt.fields], tt.span)

    def visit_type_relation(self, tr: TypeRelation) -> Any:
        args = [self.visit(arg) for arg in tr.args]
        return TypeRelation(tr.func, args, tr.num_inputs, tr.attrs, tr.span)

    def visit_ref_type(self, rt: RefType) -> Any:
        return RefType(self.visit(rt.value), rt.span)

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Any:
        return gtv

    def visit_type_call(self, tc: TypeCall) -> Any:
        return TypeCall(self.visit(tc.func), [self.visit(arg) for arg in tc.args], tc.span)

    def visit_type_data(self, td: TypeData) -> Any:
        constructors = [
            Constructor(c.name_hint, [self.visit(t) for t in c.inputs], c.belong_to, c.tag)
            for c in td.constructors
        ]
        type_vars = [self.visit(type_var) for type_var in td.type_vars]
        return TypeData(self.visit(td.header), type_vars, constructors, td.span)
