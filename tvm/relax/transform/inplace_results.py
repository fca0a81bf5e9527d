"""Which results of a kernel call lie in the memory of operands (`call_tir_inplace`)."""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.relax.expr import Call, Tuple, Var, is_call_of


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
    place = operand_indices(value, 0)[index]
    return operands.fields[place] if place >= 0 else None


def overwritten(value: RelaxExpr) -> list[Var]:
    """The variables that a call writes results into."""
    if not is_call_of(value, "relax.call_tir_inplace"):
        return []
    count = len(operand_indices(value, 0))
    found = [operand_of_result(value, i) for i in range(count)]
    return [one for one in found if isinstance(one, Var)]
