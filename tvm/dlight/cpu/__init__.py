"""Rules for CPUs."""

from tvm.dlight.base import ScheduleRule

from .base import CPUScheduleRule
from .conv2d import Conv2D
from .depthwise_integers import DepthwiseIntegers
from .dots import DotProducts
from .empty import Empty
from .fallback import Fallback
from .gemm import GEMM
from .gemv import GEMV
from .matrix_vector import MatrixVector
from .turned_parts import TurnedParts
from .winograd import Winograd
from .winograd_or_direct import WinogradOrDirect


def default_rules() -> list[ScheduleRule]:
    """The rules in the order in which a function is offered to them; the last takes all others."""
    return [
        Empty(), WinogradOrDirect(), Winograd(), DotProducts(), DepthwiseIntegers(), GEMM(),
        MatrixVector(), Conv2D(), TurnedParts(), Fallback(),
    ]  # fmt: skip


__all__ = [
    "GEMM", "GEMV", "CPUScheduleRule", "Conv2D", "DepthwiseIntegers", "DotProducts", "Empty",
    "Fallback", "MatrixVector", "TurnedParts", "Winograd", "WinogradOrDirect", "default_rules",
]  # fmt: skip
