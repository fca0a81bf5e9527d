"""Schedules: rewriting loop programs by checked, recorded steps."""

from typing import TYPE_CHECKING

from tvm.tir.block_scope import BlockScope, Dependency, DepKind, StmtSRef

from .error import ScheduleError
from .instruction import Instruction, InstructionKind
from .random_variable import BlockRV, ExprRV, LoopRV
from .schedule import Schedule
from .state import ScheduleDebugMask, ScheduleState
from .trace import Trace

if TYPE_CHECKING:
    from . import analysis as analysis
    from . import testing as testing
    from . import transform as transform

__all__ = [
    "BlockRV", "BlockScope", "DepKind", "Dependency", "ExprRV", "Instruction", "InstructionKind",
    "LoopRV", "Schedule", "ScheduleDebugMask", "ScheduleError", "ScheduleState", "StmtSRef",
    "Trace",
]  # fmt: skip
