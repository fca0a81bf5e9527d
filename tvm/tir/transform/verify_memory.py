"""Functions for a device read and write its memory only from its threads.

Raises TVMError where one does not; functions for the host are not looked at.
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.tir.analysis import verify_memory
from tvm.tir.function import PrimFunc


@declare_module_pass("tir.VerifyMemory")
def VerifyMemory(mod: IRModule, ctx: PassContext) -> IRModule:
    """The module itself, if all of its functions pass."""
    for var, func in mod.functions_items():
        if isinstance(func, PrimFunc) and not verify_memory(func):
            raise CheckError(
                message(
                    "Memory verification failed with the following errors:\n    "
                    f"{var.name_hint}: Did you forget to bind?",
                    found="device memory is accessed outside of the device's threads",
                    where=str(func),
                    legal="loops bound to threads around all accesses, as tvm.dlight makes them",
                )
            )
    return mod
