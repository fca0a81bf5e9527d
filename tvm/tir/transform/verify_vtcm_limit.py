"""Functions keep to the size of the tightly coupled memory of their device (scope global.vtcm)."""

from __future__ import annotations

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.target.target import Target
from tvm.tir.analysis import calculate_allocated_bytes
from tvm.tir.function import PrimFunc

VTCM = "global.vtcm"


@declare_module_pass("tir.VerifyVTCMLimit")
def VerifyVTCMLimit(
    mod: IRModule, ctx: PassContext, limit: int | Target | None = None
) -> IRModule:
    """The module itself; RuntimeError if a function allocates more than the limit, in bytes.

    Without a limit that of the function's target holds (`vtcm-capacity`); 0 means none.
    """
    if isinstance(limit, Target):
        limit = _capacity(limit)
    for var, func in mod.functions_items():
        if not isinstance(func, PrimFunc):
            continue
        target = func.attrs.get("target")
        most = limit
        if most is None:
            most = _capacity(target) if isinstance(target, Target) else 0
        used = calculate_allocated_bytes(func)["main"].get(VTCM, 0)
        if 0 < most < used:
            raise RuntimeError(
                message(
                    f"The global.vtcm memory allocation limit has been exceeded "
                    f"(allocated: {used}, limit: {most}).",
                    found=f"{used} bytes in function {var.name_hint}",
                    where=str(func),
                    legal=f"at most {most} bytes at one time",
                )
            )
    return mod


def _capacity(target: Target) -> int:
    return int(target.attrs.get("vtcm-capacity", 0))
