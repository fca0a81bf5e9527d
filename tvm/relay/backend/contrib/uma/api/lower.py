"""An accelerator's functions of Relay as PrimFuncs, by its strategies and its passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te
from tvm.ffi import register_global_func
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import Pass, Sequential
from tvm.relay.backend.te_compiler import get_shape, lower_call
from tvm.relay.backend.to_tir import to_tir
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.op.strategies import best_implementation
from tvm.relay.rewrite import bind
from tvm.relay.transform import InferType
from tvm.relay.traverse import post_order, transform
from tvm.relay.ty import TensorType
from tvm.target import Target
from tvm.tir.function import PrimFunc

from .utils import PassPhase

_STAGED = (PassPhase.TIR_PHASE_1, PassPhase.TIR_PHASE_2, PassPhase.TIR_PHASE_3)


class UMALower:
    """How an accelerator computes operators, and the passes over what is made of them."""

    def __init__(self, target_name: str) -> None:
        self.target_name = target_name
        self._operator_strategies: list[tuple[str, Callable[..., Any], int | None]] = []
        self._tir_passes: list[tuple[PassPhase, Pass]] = []

    def add_operator_strategy(
        self, op: str, strategy: Callable[..., Any], plevel: int | None = 11
    ) -> None:
        """How an operator is computed here: `strategy(attrs, inputs, out_type, target)`."""
        self._operator_strategies.append((op, strategy, plevel))

    def add_tir_pass(self, phase: PassPhase, tir_pass: Pass) -> None:
        """A pass on TIR, in its phase."""
        self._tir_passes.append((phase, tir_pass))

    def lower_passes(self) -> list[tuple[int, Pass]]:
        """The passes on loops, as `tir.add_lower_pass` takes them."""
        return [(_STAGED.index(p) + 1, each) for p, each in self._tir_passes if p in _STAGED]

    def relay_to_tir(self, mod: IRModule) -> IRModule:
        """The module with PrimFuncs for the accelerator's functions."""
        made = dict(mod.functions)
        for var, func in mod.functions.items():
            if isinstance(func, Function) and func.attrs.get("Compiler") == self.target_name:
                made[var] = self.lower(func, var.name_hint)
        return mod.with_functions(made)

    def lower(self, func: Function, name: str) -> PrimFunc:
        """A function as a PrimFunc after the passes of phase 0."""
        symbol = str(func.attrs.get("global_symbol", name))
        plain = _without_composites(func)
        named = {op for op, _, _ in self._operator_strategies}
        own = any(isinstance(e, Op) and e.name in named for e in post_order(plain.body))
        prim = self._by_strategies(plain) if own else to_tir(IRModule(), {symbol: plain})[symbol]
        assert isinstance(prim, PrimFunc), "a function becomes one PrimFunc"
        prim = prim.with_attrs({
            "global_symbol": symbol, "target": Target(self.target_name), "relay_attrs": func.attrs,
        })  # fmt: skip
        first = [each for phase, each in self._tir_passes if phase is PassPhase.TIR_PHASE_0]
        made = Sequential(first)(IRModule({symbol: prim}))[symbol]
        assert isinstance(made, PrimFunc), "a pass on TIR keeps a PrimFunc"
        return made

    def _by_strategies(self, func: Function) -> PrimFunc:
        typed = InferType()(IRModule.from_expr(func))["main"]
        assert isinstance(typed, Function), "a function stays one"
        target = Target(self.target_name)
        values: dict[Any, Any] = {p.vid: _placeholder(p) for p in typed.params}
        params = list(values.values())
        for expr in post_order(typed.body):
            values[id(expr)] = self._tensors(expr, values, target)
        found = values[id(typed.body)]
        outs = found if isinstance(found, list) else [found]
        return te.create_prim_func([*params, *outs])

    def _tensors(self, expr: RelaxExpr, values: dict[Any, Any], target: Target) -> Any:
        if isinstance(expr, Var):
            return values[expr.vid]
        if isinstance(expr, Tuple):
            return [values[id(field)] for field in expr.fields]
        if isinstance(expr, TupleGetItem):
            return values[id(expr.tuple_value)][expr.index]
        if isinstance(expr, Constant):
            number = expr.data.numpy()
            if number.ndim:
                raise TypeError(
                    f"UMALower: a constant of shape {number.shape}; legal beside strategies: "
                    "numbers, and parameters of the function"
                )
            return te.compute((), lambda: te.const(number.item(), str(number.dtype)))
        if not isinstance(expr, Call):
            return None
        assert isinstance(expr.op, Op), "the accelerator's functions call operators"
        inputs: list[Any] = []
        for arg in expr.args:
            value = values[id(arg)]
            inputs += value if isinstance(value, list) else [value]
        ways = []
        for name, strategy, plevel in self._operator_strategies:
            if name == expr.op.name:
                with target:
                    made = strategy(expr.attrs, inputs, expr.checked_type, target)
                for way in [w for group in made.specializations for w in group.implementations]:
                    way.plevel = way.plevel if plevel is None else max(way.plevel, plevel)
                    ways.append(way)
        if ways:
            outs = best_implementation(ways).compute(expr.attrs, inputs, expr.checked_type)
        else:
            outs = lower_call(expr, inputs, target).outputs
        return outs[0] if isinstance(expr.checked_type, TensorType) else outs

    def register(self) -> None:
        """Make `relay_to_tir` known as `relay.ext.uma.TARGET.relay_to_tir`."""
        name = f"relay.ext.uma.{self.target_name}.relay_to_tir"
        register_global_func(name, self.relay_to_tir, override=True)


def _placeholder(var: Var) -> Any:
    found = var.checked_type
    assert isinstance(found, TensorType), "the accelerator's functions take tensors"
    return te.placeholder(get_shape(found.shape), str(found.dtype), var.name_hint)


def _without_composites(func: Function) -> Function:
    """The function with the bodies of composites in place of their calls."""
    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Call) and isinstance(new.op, Function) and "Composite" in new.op.attrs:
            return bind(new.op.body, dict(zip(new.op.params, new.args)))
        return new

    body = transform(func.body, rule)
    return Function(func.params, body, func.ret_type, func.type_params, None, func.span)
