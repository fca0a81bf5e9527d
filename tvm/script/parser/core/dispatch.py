"""Which function reads which syntax, by dialect; and operators by the type of their operands."""

from __future__ import annotations

import importlib
from ast import AST
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from .parser import Parser

ParseMethod = Callable[["Parser", Any], Any]
OpMethod = Callable[..., Any]
M = TypeVar("M", bound=Callable[..., Any])

_METHODS: Final[dict[tuple[str, str], ParseMethod]] = {}
_OPERATORS: Final[dict[tuple[type, type, int], OpMethod]] = {}
_SUBSCRIPTS: Final[dict[type, OpMethod]] = {}
# Dialects and the modules with their rules; one is loaded when its first word is met.
_HOMES: Final[dict[str, str]] = {
    "ir": "tvm.script.ir_dialect.parser",
    "tir": "tvm.tir.script.parser",
    "relax": "tvm.relax.script.parser",
}


def register(token: str, type_name: str) -> Callable[[M], M]:
    """Decorate the function that reads syntax of a kind within a dialect."""

    def wrap(method: M) -> M:
        _METHODS[(token, type_name)] = method
        return method

    return wrap


def get(token: str, type_name: str, default: ParseMethod | None = None) -> ParseMethod | None:
    """The function that reads syntax of a kind within a dialect."""
    found = _METHODS.get((token, type_name))
    if found is None and token in _HOMES:
        importlib.import_module(_HOMES[token])
        found = _METHODS.get((token, type_name))
    return default if found is None else found


def register_op(
    operand_type: type, op_node_type: type[AST], operand_index: int
) -> Callable[[M], M]:
    """Decorate what an operator means where the operand at an index has a type."""

    def wrap(method: M) -> M:
        _OPERATORS[(operand_type, op_node_type, operand_index)] = method
        return method

    return wrap


def get_op(
    operand_type: type, op_node_type: type, operand_index: int, default: OpMethod | None = None
) -> OpMethod | None:
    """What an operator means for an operand's type or the nearest of its base types."""
    for base in operand_type.__mro__:
        found = _OPERATORS.get((base, op_node_type, operand_index))
        if found is not None:
            return found
    return default


def register_subscript(operand_type: type) -> Callable[[M], M]:
    """Decorate what `value[index]` means for values of a type."""

    def wrap(method: M) -> M:
        _SUBSCRIPTS[operand_type] = method
        return method

    return wrap


def get_subscript(operand_type: type) -> OpMethod | None:
    """What `value[index]` means for values of exactly this type."""
    return _SUBSCRIPTS.get(operand_type)
