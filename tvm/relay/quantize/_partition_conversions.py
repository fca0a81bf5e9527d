"""A quantized network in three functions: what makes integers, the integers, and back.

    def @main(%x) { @dequantize_outputs(@quantized_main(@quantize_inputs(%x))) }
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.relay.analysis import all_dtypes
from tvm.relay.expr import Call, Tuple, TupleGetItem, Var
from tvm.relay.expr_functor import ExprMutator, ExprVisitor
from tvm.relay.function import Function
from tvm.relay.scope_builder import ScopeBuilder
from tvm.relay.transform import InferType
from tvm.relay.ty import TensorType
from tvm.relay.variables import free_vars

_CONVERSIONS: Final = frozenset({"add", "multiply", "right_shift", "clip", "round", "cast"})


def partition_conversions(
    mod: IRModule, quantized_dtypes: Collection[str], ensure_fully_integral: bool
) -> IRModule:
    """The module in three functions; with `ensure_fully_integral` the middle is of integers."""
    assert len(mod.functions) == 1, "one function is cut"
    first, rest = partition_prefix(mod, quantized_dtypes)
    middle, last = partition_suffix(rest, quantized_dtypes)
    if ensure_fully_integral:
        found = {str(d) for d in all_dtypes(middle["main"])}
        for part in (first, last):
            assert has_only_conversion_ops(part["main"]), "only conversions stand outside"
        assert found <= set(quantized_dtypes), f"the middle has {sorted(found)}"
    return fuse_partitions(first, middle, last)


def fuse_partitions(pre_mod: IRModule, mid_mod: IRModule, post_mod: IRModule) -> IRModule:
    """Three modules as one that calls their functions in turn."""
    names = ("quantize_inputs", "quantized_main", "dequantize_outputs")
    mods = (pre_mod, mid_mod, post_mod)
    callees = [GlobalVar(name) for name in names]
    made = IRModule({var: mod["main"] for var, mod in zip(callees, mods)})
    first: Any = pre_mod["main"]
    params = [Var(param.name_hint) for param in first.params]
    scope = ScopeBuilder()
    inputs = scope.let("quantized_inputs", Call(callees[0], params))
    fields = [TupleGetItem(inputs, at) for at in range(len(first.ret_type.fields))]
    outputs = scope.let("quantized_outputs", Call(callees[1], fields))
    scope.ret(scope.let("dequantized_outputs", Call(callees[2], [outputs])))
    made["main"] = Function(params, scope.get())
    return InferType()(made)


def _is_conversion(call: Call) -> bool:
    return getattr(call.op, "name", None) in _CONVERSIONS


class PrefixCutter(ExprMutator):
    """Takes what converts parameters out of a program; parameters of its own stand for it."""

    def __init__(self, params: Sequence[Var], quantized_dtypes: Collection[str]) -> None:
        super().__init__()
        self.params = set(params)
        self.quantized_dtypes = set(quantized_dtypes)
        self.subtree_params: set[Var] = set()
        self.prefix_sb = ScopeBuilder()
        self.prefix_binding_map: dict[Var, Var] = {}

    def visit_var(self, var: Var) -> Any:
        if var in self.params:
            self.subtree_params.add(var)
        return var

    def visit_call(self, call: Call) -> Any:
        if _is_conversion(call):
            return super().visit_call(call)
        return Call(call.op, [self._cut(arg) for arg in call.args], call.attrs)

    def _cut(self, arg: RelaxExpr) -> RelaxExpr:
        made: RelaxExpr = self.visit(arg)
        if not self.subtree_params:
            return made
        if len(self.subtree_params) > 1:
            raise TVMError("quantize: an operand is converted from several parameters")
        (param,) = self.subtree_params
        self.subtree_params.clear()
        inner = Var(param.name_hint, getattr(arg, "checked_type", None))
        self.prefix_binding_map[inner] = self.prefix_sb.let(param.name_hint, made)
        return inner


def partition_prefix(
    mod: IRModule, quantized_dtypes: Collection[str]
) -> tuple[IRModule, IRModule]:
    """What converts inputs, and the rest."""
    main: Any = mod["main"]
    cutter = PrefixCutter(main.params, quantized_dtypes)
    body = cutter.visit(main.body)
    rest = Function(free_vars(body), body)
    made = cutter.prefix_binding_map
    cutter.prefix_sb.ret(Tuple([made.get(param, param) for param in rest.params]))
    first = cutter.prefix_sb.get()
    return _module(Function(free_vars(first), first)), _module(rest)


class SuffixCutter(ExprMutator):
    """Leaves what comes after the last integers; `mid_body` are these."""

    def __init__(self, quantized_dtypes: Collection[str]) -> None:
        super().__init__()
        self.mid_body: RelaxExpr | None = None
        self.quantized_dtypes = set(quantized_dtypes)

    def visit(self, expr: RelaxExpr) -> Any:
        found = getattr(expr, "checked_type_", None)
        if isinstance(found, TensorType) and str(found.dtype) in self.quantized_dtypes:
            self.mid_body = expr
            return Var("input", found)
        return super().visit(expr)


def partition_suffix(
    mod: IRModule, quantized_dtypes: Collection[str]
) -> tuple[IRModule, IRModule]:
    """The integers, and what makes numbers of them."""
    main: Any = mod["main"]
    cutter = SuffixCutter(quantized_dtypes)
    last = cutter.visit(main.body)
    body = main.body if cutter.mid_body is None else cutter.mid_body
    after = Function(free_vars(last), last, main.ret_type)
    return _module(Function(main.params, body)), _module(after)


def _module(func: Function) -> IRModule:
    return InferType()(IRModule.from_expr(func))


class ConversionOpChecker(ExprVisitor):
    """Whether all calls convert; `valid` says so."""

    def __init__(self) -> None:
        super().__init__()
        self.valid = True

    def visit_call(self, call: Call) -> Any:
        self.valid = self.valid and _is_conversion(call)
        return super().visit_call(call)


def has_only_conversion_ops(func: Any) -> bool:
    """True when a function only converts between numbers and integers."""
    checker = ConversionOpChecker()
    checker.visit(func)
    return checker.valid
