"""Build lets and conditionals in the order in which a program is read.

    sb = relay.ScopeBuilder()
    with sb.if_scope(cond):
        one = sb.let("one", relay.const(1.0))
        sb.ret(one)
    with sb.else_scope():
        sb.ret(x)
    func = relay.Function([cond, x], sb.get())
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr
from tvm.ir.type import Type

from .expr import If, Let, TupleWrapper, Var
from .function import Function


class WithScope:
    """A block that calls back when it is left."""

    def __init__(self, enter_value: Any, exit_cb: Callable[[], None]) -> None:
        self._enter_value = enter_value
        self._exit_cb = exit_cb

    def __enter__(self) -> Any:
        return self._enter_value

    def __exit__(self, ptype: object, value: object, trace: object) -> None:
        if value is None:
            self._exit_cb()


class ScopeBuilder:
    """Collects lets and a result; scopes nest for the branches of conditionals."""

    def __init__(self) -> None:
        self._bindings: list[list[tuple[Var, RelaxExpr]]] = [[]]
        self._ret_values: list[RelaxExpr | None] = [None]

    def _enter_scope(self) -> None:
        self._bindings.append([])
        self._ret_values.append(None)

    def _exit_scope(self) -> tuple[list[tuple[Var, RelaxExpr]], RelaxExpr | None]:
        return self._bindings.pop(), self._ret_values.pop()

    @staticmethod
    def _wrap(bindings: list[tuple[Var, RelaxExpr]], value: RelaxExpr) -> RelaxExpr:
        for var, bound in reversed(bindings):
            value = Let(var, bound, value)
        return value

    def _branch(self, what: str) -> RelaxExpr:
        bindings, value = self._exit_scope()
        if value is None:
            raise RuntimeError(
                f"Does not see valid return value in the {what}: call ret() in the scope"
            )
        return self._wrap(bindings, value)

    def let(self, var: Var | str | tuple[str, Type], value: Any) -> Var:
        """Bind `value` to a variable (or a new one of that name) and give the variable."""
        if isinstance(var, (tuple, list)):
            if len(var) > 2:
                raise ValueError("Expect var to be Tuple[str, relay.Type]")
            var = Var(*var)
        elif isinstance(var, str):
            var = Var(var)
        value = value.astuple() if isinstance(value, TupleWrapper) else value
        self._bindings[-1].append((var, value))
        return var

    def if_scope(self, cond: RelaxExpr) -> WithScope:
        """The block that says what the value is when the condition holds."""
        self._enter_scope()

        def leave() -> None:
            self._ret_values[-1] = If(cond, self._branch("if scope"), _NoBranch())

        return WithScope(None, leave)

    def else_scope(self) -> WithScope:
        """The block that says what the value is when the condition of `if_scope` does not hold."""
        open_if = self._ret_values[-1]
        if not isinstance(open_if, If) or not isinstance(open_if.false_branch, _NoBranch):
            raise RuntimeError("else scope must follow if scope")
        self._enter_scope()

        def leave() -> None:
            other = self._branch("else scope")
            self._ret_values[-1] = If(open_if.cond, open_if.true_branch, other, open_if.span)

        return WithScope(None, leave)

    def type_of(self, expr: RelaxExpr) -> Any:
        """The type of a variable, or of an expression whose type was inferred."""
        if isinstance(expr, Var):
            return expr.type_annotation
        if isinstance(expr, Function) and expr.ret_type is not None:
            return expr.func_type_annotation
        return expr.checked_type

    def ret(self, value: Any) -> None:
        """Make `value` the result of the present scope."""
        if self._ret_values[-1] is not None:
            raise RuntimeError("ret value is already set in this scope.")
        self._ret_values[-1] = value.astuple() if isinstance(value, TupleWrapper) else value

    def get(self) -> RelaxExpr:
        """The whole expression."""
        if len(self._bindings) != 1:
            raise RuntimeError("can only call get at the outmost scope")
        value = self._ret_values[-1]
        if isinstance(value, If) and isinstance(value.false_branch, _NoBranch):
            raise TVMError("get: the if scope has no else scope; add `with sb.else_scope():`")
        if value is None:
            raise RuntimeError("no return value is set; call ret() first")
        return self._wrap(self._bindings[-1], value)


class _NoBranch(RelaxExpr):
    """Stands for the other branch until it is written."""

    __slots__ = ()

    def __init__(self) -> None:
        self.struct_info_ = None
        self.span = None
