"""What a schedule hands out: names for blocks, loops and integers that may change under them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import Var
from tvm.tir.functor import substitute, vars_in
from tvm.tir.index_map import IndexMap


class BlockRV(Object):
    """Stands for a block of the program being scheduled."""

    __slots__ = ()


class LoopRV(Object):
    """Stands for a loop of the program being scheduled."""

    __slots__ = ()


# Stands for an integer that a sampling primitive chose, or an expression over such.
ExprRV = PrimExpr
RandVar = BlockRV | LoopRV | PrimExpr
Sampled = TypeVar("Sampled", bound=PrimExpr | IndexMap)


def samples_of(value: PrimExpr | IndexMap) -> list[Var]:
    """The variables of an expression or a map that may stand for samples."""
    if isinstance(value, IndexMap):
        return value.samples()
    return list(vars_in(value))


def with_samples(value: Sampled, known: Mapping[Var, PrimExpr | int]) -> Sampled:
    """The expression or map with values for samples."""
    made = value.with_samples(known) if isinstance(value, IndexMap) else substitute(value, known)
    return cast("Sampled", made)


def under_names(value: Sampled, names: Mapping[object, str]) -> Sampled:
    """The expression or map with its samples called as in a trace."""
    called = {v: Var(names[v], v.dtype) for v in samples_of(value) if v in names}
    return with_samples(value, called) if called else value
