"""Functions of CUDA's math library, by type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tvm.backend.device.expr import FLOAT32
from tvm.support.dtype import DataType

if TYPE_CHECKING:
    from .codegen import CudaEmitter

# The hardware's approximations of float functions (CUDA C++ Programming Guide, Intrinsic Functions)
_FAST: Final = {"exp", "exp10", "log", "log2", "log10", "sin", "cos", "pow"}
_HALF: Final = {
    "exp": "hexp", "exp2": "hexp2", "exp10": "hexp10", "log": "hlog", "log2": "hlog2",
    "log10": "hlog10", "sin": "hsin", "cos": "hcos", "sqrt": "hsqrt", "rsqrt": "hrsqrt",
    "ceil": "hceil", "floor": "hfloor", "trunc": "htrunc", "round": "hrint", "nearbyint": "hrint",
    "fabs": "__habs", "fma": "__hfma",
}  # fmt: skip
_RENAMED: Final = {"round": "rint", "nearbyint": "nearbyint"}  # ties to even, as numpy


def math_call(emit: CudaEmitter, name: str, dtype: DataType, args: Sequence[str]) -> str:
    """A call on values of a type; small floats without a function of their own go through float."""
    if dtype.is_floating and dtype.bits < 32:
        if dtype.bits == 16 and name in _HALF:
            return f"{_HALF[name]}({', '.join(args)})"
        wide = [emit.convert(dtype, FLOAT32, a) for a in args]
        return emit.convert(FLOAT32, dtype, math_call(emit, name, FLOAT32, wide))
    if dtype.is_integer:
        if name == "fabs":
            return f"abs({args[0]})"
        return emit.refuse(f"{name} of {dtype}", "a function of floating numbers",
                           "a cast to a floating type first")  # fmt: skip
    if dtype.bits == 64:
        return f"{_RENAMED.get(name, name)}({', '.join(args)})"
    if name in _FAST:
        return f"__{name}f({', '.join(args)})"
    return f"{_RENAMED.get(name, name)}f({', '.join(args)})"
