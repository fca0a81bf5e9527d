"""Whether sums and sorts of NVIDIA's Thrust (AMD's rocThrust) can be called for a target."""

from __future__ import annotations

import warnings

from tvm.ffi import get_global_func
from tvm.target import Target


def maybe_warn(target: Target, func_name: str) -> None:
    """Warn if the target asks for Thrust and its function is not there."""
    if "thrust" in target.libs and get_global_func(func_name, allow_missing=True) is None:
        warnings.warn(
            f"the target's libs name thrust, but there is no function {func_name!r}: "
            "the generated code sorts and sums itself",
            stacklevel=3,
        )


def can_use_thrust(target: Target, func_name: str) -> bool:
    """True for a CUDA target with thrust among its libs, if the function is there."""
    maybe_warn(target, func_name)
    return "cuda" in target.keys and _there(target, "thrust", func_name)


def can_use_rocthrust(target: Target, func_name: str) -> bool:
    """True for a ROCm target with thrust among its libs, if the function is there."""
    maybe_warn(target, func_name)
    return "rocm" in target.keys and _there(target, "thrust", func_name)


def _there(target: Target, lib: str, func_name: str) -> bool:
    return lib in target.libs and get_global_func(func_name, allow_missing=True) is not None
