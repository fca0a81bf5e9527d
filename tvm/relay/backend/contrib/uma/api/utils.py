"""Phases of an accelerator's passes, its kind of target, and code of its functions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from tvm.contrib import clang
from tvm.error import TVMError, message
from tvm.ffi import get_global_func, register_global_func
from tvm.target.kind import CPU, KindTraits, TargetKind, register_kind
from tvm.tir.schedule import Schedule

REGISTER = "relay.backend.contrib.uma.RegisterTarget"
_TYPES = {bool: "bool", int: "int", str: "string"}


def uma_available() -> bool:
    """Whether accelerators can be registered."""
    return get_global_func(REGISTER, allow_missing=True) is not None


class PassPhase(Enum):
    """When a pass runs: on Relay around the partition, on TIR as `tir.add_lower_pass` counts."""

    PRE_PARTITIONING = auto()
    POST_PARTITIONING_0 = auto()
    POST_PARTITIONING_1 = auto()
    TIR_PHASE_0 = auto()
    TIR_PHASE_1 = auto()
    TIR_PHASE_2 = auto()
    TIR_PHASE_3 = auto()


@register_global_func(REGISTER, override=True)
def register_target(target_name: str, target_attrs: Mapping[str, Any]) -> bool:
    """Add a kind of target whose attributes have these defaults: texts, whole numbers, bools."""
    wrong = [name for name, value in target_attrs.items() if type(value) not in _TYPES]
    if wrong:
        raise TVMError(
            message(
                f"the attribute {wrong[0]} of the target {target_name}",
                found=type(target_attrs[wrong[0]]).__name__,
                legal="a text, a whole number, a bool",
            )
        )
    options = " ".join(f"{name}:{_TYPES[type(v)]}" for name, v in target_attrs.items())
    traits = KindTraits(of_users=True)
    register_kind(TargetKind(target_name, CPU, (), options, target_attrs, traits=traits))
    return True


def add_llvm_to_block(sch: Schedule, block_name: str, c_code_str: str = "") -> Schedule:
    """The schedule with the code of functions, as LLVM text, at the block's outermost loop.

    clang reads the code as C++: functions are called by their names where they are `extern "C"`.
    """
    outermost = sch.get_loops(sch.get_block(block_name))[0]
    sch.annotate(outermost, "pragma_import_llvm", clang.create_llvm(c_code_str))
    return sch
