"""Torch's symbolic sizes as Relax's: one variable a symbol, expressions of torch's as ours."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from tvm import tir
from tvm.error import OpAttributeUnImplemented, message
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import SizeVar, Var

from .sizes import floor_mod


class Symbols:
    """The symbols of one program, each a variable from its first use on."""

    def __init__(self) -> None:
        self._values: dict[str, PrimExpr] = {}
        self.variables: dict[str, Var] = {}
        self._signed: set[str] = set()
        # variables of extents that are scale * symbol + offset, by the symbol
        self._wholes: dict[str, tuple[str, int, int]] = {}

    def shape(self, extents: Any) -> list[Any]:
        """A shape of torch: numbers, and expressions over symbols."""
        return [self.extent(extent) for extent in extents]

    def extent(self, extent: Any) -> Any:
        if isinstance(extent, (int, PrimExpr)):
            return extent
        expr = extent.node.expr if hasattr(extent, "node") else extent
        return self._converted(expr)

    def define(self, extents: Any) -> list[Any]:
        """The shape of an input, which gives symbols their values.

        A symbol that no extent is by itself follows from the first one that it is part of, as
        in 2 * s + 1: that extent gets a variable of its own.
        """
        return [self._defined(extent) for extent in extents]

    def know(self, extents: Any) -> None:
        """Note the symbols that extents of an input are by themselves."""
        for extent in extents:
            expr = getattr(getattr(extent, "node", None), "expr", None)
            if expr is not None and expr.is_Symbol:
                self._variable(str(expr))

    def has(self, extent: Any) -> bool:
        """Whether all symbols of an extent have values."""
        return all(str(symbol) in self._values for symbol in extent.node.expr.free_symbols)

    def limit(self, constraints: Mapping[Any, Any]) -> None:
        """Note the symbols that may be negative: numbers that a program reads from tensors."""
        self._signed |= {str(symbol) for symbol, span in constraints.items() if span.lower < 0}

    def learn(self, extents: Any, found: Any) -> None:
        """Symbols for what depends on values are the extents that were found for it."""
        for extent, size in zip(extents, found):
            expr = getattr(getattr(extent, "node", None), "expr", None)
            if expr is not None and expr.is_Symbol and isinstance(size, PrimExpr):
                self._values.setdefault(str(expr), size)

    def _variable(self, name: str) -> PrimExpr:
        if name not in self._values:
            kind = Var if name in self._signed else SizeVar
            self.variables[name] = kind(name, "int64")
            self._values[name] = self.variables[name]
        return self._values[name]

    def _defined(self, extent: Any) -> Any:
        expr = getattr(getattr(extent, "node", None), "expr", None)
        if expr is None or expr.is_Integer:
            return int(extent) if not isinstance(extent, PrimExpr) else extent
        unknown = [s for s in expr.free_symbols if str(s) not in self._values]
        if len(unknown) != 1:
            return self._converted(expr)
        symbol = unknown[0]
        scale, offset = expr.coeff(symbol, 1), expr.coeff(symbol, 0)
        if expr != scale * symbol + offset or not (scale.is_Integer and offset.is_Integer):
            return self._converted(expr)
        name = f"{symbol}_size"
        self.variables[name] = whole = SizeVar(name, "int64")
        self._values[str(symbol)] = tir.floordiv(whole - int(offset), int(scale))
        self._wholes[str(symbol)] = (name, int(scale), int(offset))
        return whole

    def _converted(self, expr: Any) -> Any:
        if expr.is_Integer:
            return int(expr)
        if expr.is_Symbol:
            return self._variable(str(expr))
        if expr.is_Float:
            return _real(float(expr))
        if expr.is_Boolean and not expr.args:
            return bool(expr)
        rule = _RULES.get(type(expr).__name__)
        if rule is None:
            raise OpAttributeUnImplemented(
                message(
                    "a symbolic size of torch",
                    found=f"{expr} ({type(expr).__name__})",
                    legal=", ".join(sorted(_RULES)),
                )
            )
        return rule([self._converted(arg) for arg in expr.args])

    def bounds(self, constraints: Mapping[Any, Any]) -> dict[str, Any]:
        """The attributes of a function that say between which values its variables lie."""
        low: dict[str, int] = {}
        high: dict[str, int] = {}
        for symbol, span in constraints.items():
            name, scale, offset = self._wholes.get(str(symbol), (str(symbol), 1, 0))
            if name not in self.variables:
                continue
            if (upper := _finite(span.upper)) is not None:
                high[name] = scale * upper + offset
            if (lower := _finite(span.lower)) is not None:
                least = scale * lower + offset
                if least > 0 or upper is not None:  # a range from 0 on without an end says nothing
                    low[name] = least
        attrs: dict[str, Any] = {}
        if low:
            attrs["tir_var_lower_bound"] = low
        if high:
            attrs["tir_var_upper_bound"] = high
        return attrs


def _finite(bound: Any) -> int | None:
    """A bound as a number, if it is one that a size can come near to."""
    if getattr(bound, "is_infinite", False) or "oo" in str(bound) or math.isinf(float(bound)):
        return None
    return int(bound) if abs(int(bound)) < 2**62 else None


def _real(value: Any) -> Any:
    """A number for arithmetic in float64."""
    if isinstance(value, PrimExpr):
        return value if "float" in str(value.dtype) else value.astype("float64")
    return tir.FloatImm("float64", float(value))


def _product(factors: list[Any]) -> Any:
    return math.prod(factors[1:], start=factors[0])


def _sum(terms: list[Any]) -> Any:
    return sum(terms[1:], terms[0])


_RULES: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "Add": _sum,
    "Mul": _product,
    "Pow": lambda a: _product([a[0]] * a[1]),
    "PowByNatural": lambda a: _product([a[0]] * a[1]),
    "FloorDiv": lambda a: tir.floordiv(*a),
    "CleanDiv": lambda a: tir.floordiv(*a),
    "CeilDiv": lambda a: tir.floordiv(a[0] + a[1] - 1, a[1]),
    "Mod": lambda a: floor_mod(*a),
    "PythonMod": lambda a: floor_mod(*a),
    "Max": lambda a: functools.reduce(tir.max, a),
    "Min": lambda a: functools.reduce(tir.min, a),
    "IntTrueDiv": lambda a: tir.div(_real(a[0]), _real(a[1])),
    "FloatTrueDiv": lambda a: tir.div(_real(a[0]), _real(a[1])),
    "FloatPow": lambda a: tir.pow(_real(a[0]), _real(a[1])),
    "ToFloat": lambda a: _real(a[0]),
    "FloorToInt": lambda a: tir.floor(a[0]).astype("int64"),
    "TruncToInt": lambda a: tir.trunc(a[0]).astype("int64"),
    "CeilToInt": lambda a: tir.ceil(a[0]).astype("int64"),
    "RoundToInt": lambda a: tir.nearbyint(a[0]).astype("int64"),
    "Identity": lambda a: a[0],
    "ModularIndexing": lambda a: tir.floormod(tir.floordiv(a[0], a[1]), a[2]),
    "Where": lambda a: tir.if_then_else(*a),
    "Equality": lambda a: tir.EQ(*a),
    "Unequality": lambda a: tir.NE(*a),
    "GreaterThan": lambda a: a[0] >= a[1],
    "StrictGreaterThan": lambda a: a[0] > a[1],
    "LessThan": lambda a: a[0] <= a[1],
    "StrictLessThan": lambda a: a[0] < a[1],
    "And": lambda a: tir.all(*a),
    "Or": lambda a: tir.any(*a),
    "Not": lambda a: tir.Not(a[0]),
}
