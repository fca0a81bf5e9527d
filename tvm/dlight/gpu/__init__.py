"""Rules for GPUs, as users write them: `ApplyDefaultSchedule(gpu.Matmul(), gpu.GEMV(), ...)`."""

from tvm.dlight.base import ScheduleRule

from .base import GPUScheduleRule
from .fallback import Fallback
from .few_results import FewResults
from .gemv import GEMV
from .general_reduction import GeneralReduction
from .long_reduction import LongReduction
from .low_batch_gemv import LowBatchGEMV
from .matmul import Matmul
from .opaque_loops import OpaqueLoops
from .reduction import AnyReduction, Reduction
from .rmsnorm import RMSNorm
from .short_reduction import ShortReduction
from .transpose import Transpose
from .warp_tiles import WarpTiles


def default_rules() -> list[ScheduleRule]:
    """The rules in the order in which a function is offered to them; the last takes all others."""
    return [
        WarpTiles(), Matmul(), GEMV(), ShortReduction(), LongReduction(), AnyReduction(),
        GeneralReduction(), FewResults(), Fallback(), OpaqueLoops(),
    ]  # fmt: skip


__all__ = [
    "GEMV", "AnyReduction", "Fallback", "FewResults", "GPUScheduleRule", "GeneralReduction",
    "LongReduction", "LowBatchGEMV", "Matmul", "OpaqueLoops", "RMSNorm", "Reduction",
    "ShortReduction", "Transpose", "WarpTiles", "default_rules",
]  # fmt: skip
