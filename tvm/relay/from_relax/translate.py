"""Functions of Relax as functions of Relay: bindings become the expressions that they name.

    def main(x: R.Tensor((2,), "float32")):         def @main(%x: Tensor[(2), float32]) {
        lv = R.add(x, x)                               %0 = add(%x, %x);
        gv = R.nn.relu(lv)                      ->     nn.relu(%0)
        return gv                                    }

What a call means in Relay stands in tables (`rules`). Extents that are known only when the program
runs are unknown to Relay's types; where a program computes with them, they are read from the shape
of a tensor that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm import relax, tir
from tvm.error import OpNotImplemented, message
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.ir.type import TupleType, Type
from tvm.relax.bind import Binder
from tvm.relax.struct_info import ShapeStructInfo, TensorStructInfo, TupleStructInfo
from tvm.relay import op as _op
from tvm.relay.expr import Constant, If, Tuple, TupleGetItem, Var, const
from tvm.relay.function import Function
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType

Rule = Callable[..., Any]
RULES: Final[dict[str, Rule]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """What calls of Relax operators mean: a function of the translation, the call, its operands.

    Operands are expressions of Relay; shapes are lists of extents or tensors, numbers are numbers.
    """

    def decorate(func: Rule) -> Rule:
        for name in names:
            assert name not in RULES, f"{name} has a rule already"
            RULES[name] = func
        return func

    return decorate


def relay_type(info: StructInfo) -> Type:
    """The type that a struct info says; extents that are no numbers are unknown."""
    if isinstance(info, TupleStructInfo):
        return TupleType([relay_type(field) for field in info.fields])
    if isinstance(info, ShapeStructInfo):
        return TensorType([info.ndim], "int64")
    if not isinstance(info, TensorStructInfo) or info.ndim < 0:
        found = f"a value of {info}"
        raise OpNotImplemented(
            message("from Relax to Relay", found=found, legal="tensors of known rank, tuples")
        )
    shape = info.shape
    extents = [AnyDim()] * info.ndim if shape is None else shape_values(shape)
    known = [e if isinstance(e, int) else AnyDim() for e in map(as_number, extents)]
    return TensorType(known, str(info.dtype))


def array_of(value: Any) -> Any:
    """The numbers of a weight: a constant, a tensor, an array."""
    value = value.data if isinstance(value, relax.Constant) else value
    return value.numpy() if hasattr(value, "numpy") else value


def shape_values(shape: Any) -> list[Any]:
    """The extents of a shape expression."""
    return list(getattr(shape, "values", None) or ())


def as_number(value: Any) -> Any:
    """An int for a constant."""
    return int(value.value) if isinstance(value, tir.IntImm) else value


class Translator:
    """One function on its way to Relay: the values of variables, and of extents."""

    def __init__(self, mod: IRModule, names: Mapping[GlobalVar, GlobalVar]) -> None:
        self.mod = mod
        self.names = names
        self.values: dict[Any, Any] = {}
        self.extents: dict[tir.Var, Any] = {}  # an int64 scalar for each named extent

    def function(self, func: relax.Function, params: Sequence[Var] | None = None) -> Function:
        """The function in Relay."""
        given = params or [Var(p.name_hint, relay_type(p.struct_info)) for p in func.params]
        for param, made in zip(func.params, given):
            self.values[param.vid] = made
            self._note(made, param.struct_info)
        body = self.sequence(func.body)
        return Function(given, _op_tuple(body))

    def _note(self, value: Any, info: StructInfo) -> None:
        """Remember where an extent can be read."""
        if not isinstance(info, TensorStructInfo) or info.shape is None:
            return
        for axis, extent in enumerate(shape_values(info.shape)):
            if isinstance(extent, tir.Var) and extent not in self.extents:
                self.extents[extent] = _op.take(
                    _op.shape_of(value, "int64"), const(axis, "int64"), axis=0
                )

    def sequence(self, body: RelaxExpr) -> Any:
        """The value of bindings with a result."""
        if not isinstance(body, relax.SeqExpr):
            return self.expr(body)
        for block in body.blocks:
            for binding in block.bindings:
                with span_scope(binding.var.span):
                    self.bind(binding)
        return self.expr(body.body)

    def bind(self, binding: Any) -> None:
        """Keep the value of a binding for its users."""
        value = self.expr(binding.value)
        if isinstance(binding, relax.MatchCast):
            self._match(value, binding.struct_info)
        self.values[binding.var.vid] = value

    def _match(self, value: Any, info: StructInfo) -> None:
        """The extents that a cast names are those of its value."""
        if isinstance(info, ShapeStructInfo) and info.values is not None:
            for at, extent in enumerate(info.values):
                if isinstance(extent, tir.Var) and extent not in self.extents:
                    self.extents[extent] = self.extent_at(value, at)
        elif isinstance(value, RelaxExpr):
            self._note(value, info)

    def extent_at(self, shape: Any, at: int) -> Any:
        """One extent of a shape: an int, or a scalar of int64."""
        if isinstance(shape, list):
            found = as_number(shape[at])
            return found if isinstance(found, int) else self.scalar(found)
        return _op.take(shape, const(at, "int64"), axis=0)

    # --- expressions ---

    def expr(self, expr: RelaxExpr) -> Any:
        """The value of an expression: of Relay, a list for a shape, a number for a PrimValue."""
        found = _EXPRESSIONS.get(type(expr))
        if found is None:
            raise OpNotImplemented(
                message(
                    f"a {type(expr).__name__} has no form in Relay",
                    found=str(expr)[:300],
                    legal="calls, tuples, constants, conditionals",
                )
            )
        return found(self, expr)

    def call(self, call: relax.Call) -> Any:
        """A call by its operator's rule, or of a function of the module."""
        callee = call.op
        if isinstance(callee, GlobalVar):
            args = [self.tensor(self.expr(arg)) for arg in call.args]
            return self.names[callee](*args)
        name = callee.name if isinstance(callee, Op) else type(callee).__name__
        found = RULES.get(name)
        if found is None:
            return self.by_kernels(call, name)
        args = [self.expr(arg) for arg in call.args if not isinstance(arg, GlobalVar)]
        return found(self, call, *args)

    def by_kernels(self, call: relax.Call, name: str) -> Any:
        """An operator that Relay does not have, by the kernels that Relax makes of it."""
        bb = relax.BlockBuilder()
        free = relax.analysis.free_vars(call)
        params = [(v, relax.Var(v.name_hint, v.struct_info)) for v in free]
        same = Binder({v.vid: p for v, p in params}, {}).visit_expr(call)
        with bb.function("main", [param for _, param in params]):
            bb.emit_func_output(bb.emit(same))
        kernels = relax.transform.LegalizeOps()(bb.finalize())
        main = kernels["main"]
        assert isinstance(main, relax.Function), "a function stays one"
        inner = Translator(kernels, {})
        inner.extents = self.extents
        for var, param in params:
            inner.values[param.vid] = self.values[var.vid]
        if any(_is_call(e, name) for e in _values(main)):
            raise OpNotImplemented(
                message(f"{name} has no form in Relay", found=str(call)[:300], legal="see RULES")
            )
        return inner.sequence(main.body)

    def choice(self, expr: relax.If) -> Any:
        """A conditional; what its branches compute is theirs."""
        cond = self.tensor(self.expr(expr.cond))
        outer, sides = dict(self.values), []
        for branch in (expr.true_branch, expr.false_branch):
            sides.append(_op_tuple(self.sequence(branch)))
            self.values = dict(outer)
        return If(cond, *sides)

    # --- values of different kinds ---

    def tensor(self, value: Any, dtype: str = "int64") -> Any:
        """A tensor for a shape or a number; tensors stay."""
        if isinstance(value, (list, tuple)):
            return self.shape_tensor(value)
        if isinstance(value, (bool, int, float)):
            return const(value, dtype)
        return self.scalar(value) if isinstance(value, PrimExpr) else value

    def shape_tensor(self, extents: Sequence[Any]) -> Any:
        """The extents as a vector of int64."""
        import numpy as np

        known = [as_number(extent) for extent in extents]
        if all(isinstance(extent, int) for extent in known):
            return const(np.array(known, "int64"))
        return _op.stack([self.scalar(extent) for extent in known], axis=0)

    def shape(self, value: Any) -> Any:
        """A shape as an option: a list of ints where it is known, else a tensor."""
        if not isinstance(value, (list, tuple)):
            return value
        known = [as_number(extent) for extent in value]
        return known if all(isinstance(e, int) for e in known) else self.shape_tensor(value)

    def scalar(self, value: Any) -> Any:
        """An extent as a scalar of int64."""
        if isinstance(value, int):
            return const(value, "int64")
        if not isinstance(value, PrimExpr):
            return value
        number = as_number(value)
        if isinstance(number, int):
            return const(number, "int64")
        if isinstance(value, tir.Var):
            if value not in self.extents:
                raise OpNotImplemented(
                    message(f"the extent {value} stands in no shape of an input", legal="it does")
                )
            return self.tensor(self.extents[value])
        if isinstance(value, tir.Cast):
            return self.scalar(value.value)
        combine = _ARITHMETIC.get(type(value))
        if combine is None:
            raise OpNotImplemented(
                message(f"the extent {value} has no form in Relay", legal="sums, products, ...")
            )
        return combine(self.scalar(value.a), self.scalar(value.b))  # type: ignore[attr-defined]


def _values(func: relax.Function) -> list[RelaxExpr]:
    body = func.body
    blocks = body.blocks if isinstance(body, relax.SeqExpr) else ()
    return [binding.value for block in blocks for binding in block.bindings]


def _is_call(expr: RelaxExpr, name: str) -> bool:
    return isinstance(expr, relax.Call) and getattr(expr.op, "name", "") == name


def _op_tuple(value: Any) -> Any:
    return Tuple([_op_tuple(field) for field in value]) if isinstance(value, tuple) else value


_ARITHMETIC: Final[dict[type, Callable[[Any, Any], Any]]] = {
    tir.Add: _op.add, tir.Sub: _op.subtract, tir.Mul: _op.multiply,
    tir.FloorDiv: _op.floor_divide, tir.FloorMod: _op.floor_mod,
    tir.Min: _op.minimum, tir.Max: _op.maximum,
}  # fmt: skip


def _constant(t: Translator, expr: relax.Constant) -> Constant:
    return Constant(expr.data)


def _tuple(t: Translator, expr: relax.Tuple) -> Any:
    return tuple([t.expr(field) for field in expr.fields])


def _item(t: Translator, expr: relax.TupleGetItem) -> Any:
    value = t.expr(expr.tuple_value)
    if isinstance(value, tuple):
        return value[expr.index]
    return TupleGetItem(getattr(value, "tuple_value", value), expr.index)


_EXPRESSIONS: Final[dict[type, Callable[[Translator, Any], Any]]] = {
    relax.Var: lambda t, e: t.values[e.vid],
    relax.DataflowVar: lambda t, e: t.values[e.vid],
    relax.Constant: _constant,
    relax.Tuple: _tuple,
    relax.TupleGetItem: _item,
    relax.ShapeExpr: lambda t, e: list(e.values),
    relax.PrimValue: lambda t, e: _plain(e.value),
    relax.StringImm: lambda t, e: e.value,
    relax.DataTypeImm: lambda t, e: str(e.value),
    relax.If: Translator.choice,
    relax.Call: Translator.call,
    relax.SeqExpr: Translator.sequence,
}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, (tir.IntImm, tir.FloatImm)) else value


def from_relax(mod: IRModule, params: Mapping[str, Sequence[Var]] | None = None) -> IRModule:
    """The functions of a Relax module in Relay, with types.

    `params` gives parameters for functions by name, where others are wanted than those of the
    same names and types. Raises OpNotImplemented for what Relay does not have.
    """
    from tvm.relay.transform import InferType

    from . import rules  # the tables read this module

    rules.load()
    found = {v: f for v, f in mod.functions.items() if isinstance(f, relax.Function)}
    names = {var: GlobalVar(var.name_hint) for var in found}
    made = IRModule()
    for var, func in found.items():
        given = (params or {}).get(var.name_hint)
        made[names[var]] = Translator(mod, names).function(func, given)
    return InferType()(made)
