"""Which results of kernel calls lie in the memory of operands, and what that asks of the order.

    a = exp(x)
    y = sin(a)                                        # has to stay before
    b = call_tir_inplace(twice, (a,), [0])            # what overwrites a

Nothing in `b` reads `y`: passes that move bindings take the edge from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tvm.error import CheckError, message
from tvm.ir.expr import RelaxExpr
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    Function,
    Tuple,
    TupleGetItem,
    Var,
    is_call_of,
)
from tvm.relax.transform.rebuild import all_bindings, vars_needed, vars_used


def operand_indices(call: Call, results: int) -> list[int]:
    """For each result the operand that it stands in for, or -1."""
    given = getattr(call.attrs, "inplace_indices", None)
    return [int(index) for index in given] if given is not None else [-1] * results


def operand_of_result(value: RelaxExpr | None, index: int) -> RelaxExpr | None:
    """The operand whose memory result `index` of a call has; None for memory of its own."""
    if not is_call_of(value, "relax.call_tir_inplace"):
        return None
    operands = value.args[1]
    assert isinstance(operands, Tuple), "the call is in normal form"
    operand = operand_indices(value, 0)[index]
    return operands.fields[operand] if operand >= 0 else None


def overwritten(value: RelaxExpr) -> list[Var]:
    """The variables that a call writes results into."""
    return [operand for operand in _operands_overwritten(value) if isinstance(operand, Var)]


def overwrites_constant(value: RelaxExpr) -> bool:
    """Whether a call writes a result into a constant."""
    return any(isinstance(operand, Constant) for operand in _operands_overwritten(value))


def _operands_overwritten(value: RelaxExpr) -> list[RelaxExpr | None]:
    if not is_call_of(value, "relax.call_tir_inplace"):
        return []
    return [operand_of_result(value, i) for i in range(len(operand_indices(value, 0)))]


def shared(value: RelaxExpr) -> list[Var]:
    """The variables whose memory the value of a binding has, or may have a part of."""
    if isinstance(value, (Var, Tuple, TupleGetItem)):
        return list(vars_used(value))
    if is_call_of(value, "relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"):
        return [value.args[0]] if isinstance(value.args[0], Var) else []
    return overwritten(value)


class Memory:
    """The variables of a block by the memory they lie in: each by the first ones there."""

    def __init__(self) -> None:
        self._origins: dict[Var, frozenset[Var]] = {}

    def of(self, var: Var) -> frozenset[Var]:
        """The variables that came first."""
        return self._origins.get(var, frozenset((var,)))

    def of_all(self, several: Iterable[Var]) -> set[Var]:
        """The variables that came first in the memory of any of several."""
        return {first for var in several for first in self.of(var)}

    def bind(self, var: Var, sources: Sequence[Var]) -> None:
        """`var` lies where the sources do."""
        if sources:
            self._origins[var] = frozenset(self.of_all(sources))


def order_edges(bindings: Sequence[Binding]) -> list[tuple[int, int]]:
    """Pairs (i, j): binding i reads what binding j overwrites later."""
    if not any(overwritten(binding.value) for binding in bindings):
        return []
    memory = Memory()
    readers: dict[Var, list[int]] = {}
    found: dict[tuple[int, int], None] = {}
    for j, binding in enumerate(bindings):
        value = binding.value
        for first in memory.of_all(overwritten(value)):
            found.update(((i, j), None) for i in readers.get(first, ()))
        for first in memory.of_all(vars_needed(value)):
            readers.setdefault(first, []).append(j)
        memory.bind(binding.var, shared(value))
    return list(found)


def overwritten_in(func: Function) -> set[Var]:
    """The variables of a function that may lie in memory which some call overwrites."""
    changed = [var for binding in all_bindings(func) for var in overwritten(binding.value)]
    if not changed:
        return set()
    memory = Memory()
    for binding in all_bindings(func):
        memory.bind(binding.var, shared(binding.value))
    firsts = memory.of_all(changed)
    inside = {b.var for b in all_bindings(func) if memory.of(b.var) & firsts}
    return inside | firsts


def refuse_overwritten_constants(func: Function, name: str) -> None:
    """An error where a call writes into a constant: the next run would see what it left."""
    changed = overwritten_in(func)
    for binding in all_bindings(func):
        value = binding.value
        held = isinstance(value, Constant) and binding.var in changed
        if held or overwrites_constant(value):
            raise CheckError(
                message(
                    f"{name}: what call_tir_inplace overwrites",
                    found=f"a constant, {binding.var.name_hint} = {value}",
                    where=None if binding.span is None else str(binding.span),
                    legal="a tensor that the function gets or computes",
                )
            )
