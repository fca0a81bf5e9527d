"""The body of a device function is marked as running on the device.

body     ->     with T.attr(0, "device_scope", 0): body
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.DecorateDeviceScope")
def DecorateDeviceScope(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """The whole body stands under the attribute `device_scope`."""
    zero = ops.const(0, "int32")
    return func.with_body(s.AttrStmt(zero, "device_scope", zero, func.body, func.span))
