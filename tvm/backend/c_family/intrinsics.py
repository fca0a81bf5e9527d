"""TIR operators that all languages in the manner of C say alike: one rule an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.tir import expr as e

from .code import ATOM, UNARY
from .expr import Rule
from .stmt import StmtWriter

Writer = StmtWriter[object]
COMMON: Final[dict[str, Rule]] = {}


def rule_in(table: dict[str, Rule], *names: str) -> Callable[[Rule], Rule]:
    """Put a rule into a table, under names of operators."""

    def add(rule: Rule) -> Rule:
        table.update({f"tir.{name}": rule for name in names})
        return rule

    return add


@rule_in(COMMON, "bitwise_not")
def _bitwise_not(emit: Writer, op: e.Call) -> str:
    dtype, value = op.dtype.element_of(), emit.lane_of(op.args[0], emit.lane)
    if dtype.is_bool:
        return emit.loose(f"!{value.at(ATOM)}", UNARY)
    return emit.fit(dtype, emit.loose(f"~{value.at(ATOM)}", UNARY))


@rule_in(COMMON, "large_uint_imm")
def _large_uint(emit: Writer, op: e.Call) -> str:
    low, high = (a.value for a in op.args)
    return emit.int_literal(op.dtype, int(low) | int(high) << 32)


@rule_in(COMMON, "if_then_else")
def _if_then_else(emit: Writer, op: e.Call) -> str:
    return emit.if_then_else(*op.args)


@rule_in(COMMON, "likely", "ignore_loop_partition")
def _same(emit: Writer, op: e.Call) -> str:
    return emit.lane_of(op.args[0], emit.lane)


@rule_in(COMMON, "type_annotation", "start_profile_intrinsic", "end_profile_intrinsic")
def _nothing(emit: Writer, op: e.Call) -> str:
    return "0"


@rule_in(COMMON, "break_loop")
def _break(emit: Writer, op: e.Call) -> str:
    return emit.jump("break")


@rule_in(COMMON, "continue_loop")
def _continue(emit: Writer, op: e.Call) -> str:
    return emit.jump("continue")
