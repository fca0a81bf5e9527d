"""The gradient of a function, by going through it backwards.

    fn (%x) { exp(%x) }    ->    fn (%x) { (exp(%x), (exp(%x) * ones_like(exp(%x)),)) }

The result holds what the function gives and the gradients of its parameters. Programs of tensors,
tuples and lets become a graph first; others keep the way back in references. The rules hang on the
operators (`FPrimalGradient`).
"""

from __future__ import annotations

from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.ir.type import TupleType, Type
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem, Var, const
from tvm.relay.function import Function
from tvm.relay.op import add, ones_like, zeros, zeros_like
from tvm.relay.traverse import post_order
from tvm.relay.ty import TensorType

from .function_pass import expr_pass
from .higher_order_gradient import higher_order_gradient, no_rule
from .infer_type import infer_types_of
from .normal_forms import to_graph


def gradient(
    expr: RelaxExpr, mod: IRModule | None = None, mode: str = "higher_order"
) -> Function:
    """A function of the same parameters that gives the result and the parameters' gradients."""
    if mode not in ("first_order", "higher_order"):
        raise TVMError(f"gradient: mode {mode!r}; legal: 'first_order', 'higher_order'")
    if mode == "first_order" and mod is not None:
        raise RuntimeError(
            "gradient: a module is given for the first order; legal: the pass FirstOrderGradient"
        )
    if not isinstance(expr, Function):
        raise TVMError(f"gradient: a {type(expr).__name__} is given; legal: a function of Relay")
    graph = to_graph(expr)
    assert isinstance(graph, Function), "a function stays one"
    if mode == "higher_order" and not all(map(_is_first_order, post_order(graph.body))):
        return higher_order_gradient(expr, IRModule() if mod is None else mod)
    return _first_order(graph, mod)


def _first_order(func: Function, mod: IRModule | None) -> Function:
    typed = infer_types_of(func, mod)
    assert isinstance(typed, Function), "a function stays one"
    return _differentiated(typed)


def _is_first_order(expr: RelaxExpr) -> bool:
    if isinstance(expr, Call):
        return isinstance(expr.op, Op)
    return isinstance(expr, (Var, Constant, Op, Tuple, TupleGetItem))


@expr_pass("FirstOrderGradient", opt_level=0)
def FirstOrderGradient(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Each function gives its result and the gradients of its parameters."""
    graph = to_graph(func)
    assert isinstance(graph, Function), "a function stays one"
    return _first_order(graph, mod)


def _differentiated(func: Function) -> Function:
    backward = _Backward()
    backward.push(func.body, _ones(func.body, func.body.checked_type))
    for expr in reversed(list(post_order(func.body))):
        backward.visit(expr)
    grads = [backward.of_variable(param) for param in func.params]
    body = Tuple([func.body, Tuple(grads)])
    made = infer_types_of(Function(func.params, body, None, func.type_params, func.attrs))
    assert isinstance(made, Function), "a function stays one"
    return made


def _ones(expr: RelaxExpr, found: Type | None) -> Any:
    if isinstance(found, TupleType):
        fields = [_ones(TupleGetItem(expr, at), t) for at, t in enumerate(found.fields)]
        return Tuple(fields)
    return ones_like(expr)


class _Backward:
    """The gradients that were found so far, by expression; fields of tuples on their own."""

    def __init__(self) -> None:
        self.grads: dict[int, Any] = {}
        self.fields: dict[int, dict[int, Any]] = {}
        self.variables: dict[Any, Any] = {}

    def push(self, expr: RelaxExpr, grad: Any) -> None:
        """Add a gradient to what an expression has."""
        if isinstance(expr, Var):
            known = self.variables.get(expr.vid)
            self.variables[expr.vid] = grad if known is None else _sum(known, grad)
            return
        known = self.grads.get(id(expr))
        self.grads[id(expr)] = grad if known is None else _sum(known, grad)

    def push_field(self, expr: RelaxExpr, index: int, grad: Any) -> None:
        """Add a gradient to one field of a tuple."""
        if isinstance(expr, Tuple):
            self.push(expr.fields[index], grad)
            return
        known = self.fields.setdefault(id(expr), {})
        known[index] = grad if index not in known else _sum(known[index], grad)

    def of(self, expr: RelaxExpr) -> Any:
        """The gradient of an expression, or None if nothing depends on it."""
        whole, parts = self.grads.get(id(expr)), self.fields.get(id(expr))
        if parts is None:
            return whole
        found = expr.checked_type
        assert isinstance(found, TupleType), "tuples have fields"
        fields = []
        for at, field in enumerate(found.fields):
            own = parts.get(at)
            if whole is not None:
                taken = whole.fields[at] if isinstance(whole, Tuple) else TupleGetItem(whole, at)
                own = taken if own is None else _sum(own, taken)
            fields.append(_zero(field) if own is None else own)
        return Tuple(fields)

    def of_variable(self, var: Var) -> Any:
        """The gradient of a parameter; zeros where nothing depends on it."""
        known = self.variables.get(var.vid)
        if known is not None:
            return known
        return zeros_like(var) if isinstance(var.checked_type, TensorType) else _zero(
            var.checked_type
        )

    def visit(self, expr: RelaxExpr) -> None:
        if isinstance(expr, (Var, Constant, Op)):
            return
        if not isinstance(expr, (Call, Tuple, TupleGetItem)):
            raise _refused(expr)
        grad = self.of(expr)
        if grad is None:
            return
        if isinstance(expr, Tuple):
            for at, field in enumerate(expr.fields):
                taken = grad.fields[at] if isinstance(grad, Tuple) else TupleGetItem(grad, at)
                self.push(field, taken)
        elif isinstance(expr, TupleGetItem):
            self.push_field(expr.tuple_value, expr.index, grad)
        else:
            self._call(expr, grad)

    def _call(self, call: Call, grad: Any) -> None:
        if not isinstance(call.op, Op):
            raise _refused(call)
        rule = call.op.get_attr("FPrimalGradient")
        if rule is None:
            raise no_rule(call.op)
        for arg, found in zip(call.args, rule(call, grad)):
            self.push(arg, found)


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return Tuple([_sum(x, y) for x, y in zip(a.fields, b.fields)])
    return add(a, b)


def _zero(found: Type) -> Any:
    if isinstance(found, TupleType):
        return Tuple([_zero(field) for field in found.fields])
    assert isinstance(found, TensorType), "gradients are of tensors"
    shape = found.concrete_shape
    return zeros(shape, str(found.dtype)) if shape else const(0, str(found.dtype))


def _refused(expr: RelaxExpr) -> TVMError:
    return TVMError(
        message(
            f"gradient: no way back through a {type(expr).__name__}",
            found=str(expr)[:200],
            legal="calls of operators, tuples and lets",
        )
    )
