"""Products with weights of few bits, by the instructions of the target.

    kernel for any CPU, with the attribute `tvm.few_bits`     ->     kernel by VPDPBUSD, say

Frontends make such kernels before the target is known. Where it has no instruction for bytes they
stay, without the attribute.
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.topi.nn.byte_products import for_target
from tvm.topi.nn.few_bits import MADE_FOR


class FewBitsKernels(ModulePass):
    """Make the kernels that `few_bits.product` has made anew for a target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        super().__init__(self._run, PassInfo(0, "FewBitsKernels"))

    def _run(self, mod: IRModule, _: PassContext) -> IRModule:
        made = {
            var: for_target(func, self._target)
            for var, func in mod.functions.items()
            if isinstance(func, PrimFunc) and MADE_FOR in func.attrs
        }
        return mod.with_functions({**mod.functions, **made}) if made else mod
