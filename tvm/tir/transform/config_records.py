"""Records of options that passes read from the pass context.

`PassContext(config={"tir.UnrollLoop": UnrollLoopConfig(auto_max_step=8)})`; a dict does as well.
"""

from __future__ import annotations

from typing import Any

from tvm.ir.config import ConfigRecord


class LoopPartitionConfig(ConfigRecord):
    """What `LoopPartition` cuts."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        super().__init__("tir.LoopPartition", values)


class InjectDoubleBufferConfig(ConfigRecord):
    """How `InjectDoubleBuffer` splits loops."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        super().__init__("tir.InjectDoubleBuffer", values)


class UnrollLoopConfig(ConfigRecord):
    """What `UnrollLoop` unrolls by itself."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        super().__init__("tir.UnrollLoop", values)


class ReduceBranchingThroughOvercomputeConfig(ConfigRecord):
    """How `ReduceBranchingThroughOvercompute` looks for chances."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        super().__init__("tir.ReduceBranchingThroughOvercompute", values)


class RemoveNoOpConfig(ConfigRecord):
    """How far `RemoveNoOp` looks."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        super().__init__("tir.RemoveNoOp", values)


class SimplifyConfig(ConfigRecord):
    """Which costly rewritings `Simplify` makes."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        super().__init__("tir.Simplify", values)


class HoistIfThenElseConfig(ConfigRecord):
    """What `HoistIfThenElse` hoists out of."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        super().__init__("tir.HoistIfThenElse", values)


class HoistExpressionConfig(ConfigRecord):
    """What `HoistExpression` hoists."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        super().__init__("tir.HoistExpression", values)
