"""How many operations of which kind a store computes."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.functor import walk


@dataclass
class ArithOps:
    """Operations by kind; multiply-adds are counted as both."""

    float_mad: float = 0
    float_add_sub: float = 0
    float_mul: float = 0
    float_div_mod: float = 0
    float_cmp: float = 0
    float_math_func: float = 0
    float_other_func: float = 0
    int_mad: float = 0
    int_add_sub: float = 0
    int_mul: float = 0
    int_div_mod: float = 0
    int_cmp: float = 0
    int_math_func: float = 0
    int_other_func: float = 0
    bool_op: float = 0
    select_op: float = 0

    def as_list(self) -> list[float]:
        """The counts in the order of the fields."""
        return [getattr(self, f.name) for f in fields(self)]

    @property
    def floats(self) -> float:
        """All operations on floats."""
        names = [f.name for f in fields(self)]
        return sum([x for name, x in zip(names, self.as_list()) if name.startswith("float_")])


_SIMPLE = (
    ((e.Add, e.Sub), "add_sub"),
    ((e.Mul,), "mul"),
    ((e.Div, e.Mod, e.FloorDiv, e.FloorMod), "div_mod"),
    ((e.Min, e.Max, e.EQ, e.NE, e.LT, e.LE, e.GT, e.GE), "cmp"),
)
_PURE = (e.CallEffectKind.ExprAnnotation, e.CallEffectKind.Pure)


def count_ops(value: PrimExpr, times: int) -> ArithOps:
    """The operations of an expression that is computed so often, those of indices included."""
    found = ArithOps()
    for node in walk(value):
        name = _kind(node)
        if name:
            setattr(found, name, getattr(found, name) + times)
    return found


def _kind(node: object) -> str:
    if isinstance(node, (e.And, e.Or, e.Not)):
        return "bool_op"
    if isinstance(node, e.Select):
        return "select_op"
    if isinstance(node, e.Call):
        pure = getattr(node.op, "get_attr", None)
        effect = pure("TCallEffectKind") if pure is not None else None
        return _typed(node, "math_func" if effect in _PURE else "other_func")
    for classes, name in _SIMPLE:
        if isinstance(node, classes):
            return _typed(node, name)  # what a comparison gives is no float
    return ""


def _typed(node: PrimExpr, name: str) -> str:
    return f"{'float' if str(node.dtype).startswith('float') else 'int'}_{name}"
