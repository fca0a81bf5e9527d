"""Operators that no kernel is made for as they stand (attribute TNonComputational).

They are written in other operators first, or done by the executor itself.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.op import DERIVED, Op

_BY_EXECUTOR: Final = frozenset({
    "call_lowered", "memory.alloc_storage", "memory.alloc_tensor", "memory.kill", "on_device",
    "vm.invoke_tvm_op", "vm.reshape_tensor", "vm.shape_of",
})  # fmt: skip


def non_computational(op: Op) -> bool | None:
    """True for such operators, else None."""
    written = op.own_attr("FTVMQnnCanonicalize") is not None and op.name != "qnn.avg_pool2d"
    return True if written or op.name in _BY_EXECUTOR else None


DERIVED["TNonComputational"] = non_computational
