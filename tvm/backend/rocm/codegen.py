"""Lowered kernels to HIP, which is CUDA C++ with headers and shuffles of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from tvm.backend.c_family.expr import Rule
from tvm.backend.cuda.codegen import CudaEmitter, emit_cuda
from tvm.backend.cuda.intrinsics import RULES
from tvm.backend.cuda.ptx import PTX
from tvm.backend.cuda.types import TYPES
from tvm.backend.device.expr import FLOAT32
from tvm.backend.device.kernels import DeviceText
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.support.dtype import DataType
from tvm.target import Target

from .amdgcn import AMDGCN

_HEAD: Final = """\
#ifndef __HIPCC_RTC__
#include <hip/hip_runtime.h>
#include <stdint.h>
#endif
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulonglong;"""
_NOT_THERE: Final = {*PTX, *(name for name in RULES if "mma" in name or "fragment" in name
                            or "matrix_sync" in name)}  # fmt: skip


class HipEmitter(CudaEmitter):
    """One function of HIP."""

    LANGUAGE = "HIP"
    MASKED_WAITS: ClassVar[bool] = False  # they run in step
    RULES: ClassVar[Mapping[str, Rule]] = {
        **{name: rule for name, rule in RULES.items() if name not in _NOT_THERE}, **AMDGCN
    }  # fmt: skip
    TYPES: ClassVar[Mapping[str, str]] = {
        name: word for name, word in TYPES.items() if not name.startswith(("float8", "bfloat"))
    }
    HEADERS: ClassVar[Mapping[str, str]] = {"float16": "hip/hip_fp16.h"}

    def shuffle(self, name: str, mask: PrimExpr, value: PrimExpr, at: PrimExpr,
                width: PrimExpr) -> str:  # fmt: skip
        """Lanes of a wavefront run in step and take no mask."""
        lane, size = self.lane_of(at, None), self.lane_of(width, None)
        return f"__shfl{name}({self.lane_of(value, self.lane)}, {lane}, {size})"

    def smaller(self, name: str, dtype: DataType, a: str, b: str) -> str:
        """Headers before ROCm 6 have neither `__hmin` nor `__hmax`; floats give the same half."""
        if str(dtype) != "float16":
            return super().smaller(name, dtype, a, b)
        wide = [self.convert(dtype, FLOAT32, part) for part in (a, b)]
        return self.convert(FLOAT32, dtype, super().smaller(name, FLOAT32, *wide))

    def active_mask(self) -> str:
        return "0u"

    def barrier(self, scope: str) -> str:
        if scope == "warp":  # in step, but writes have to be seen
            return "__threadfence_block(); __builtin_amdgcn_wave_barrier();"
        return super().barrier(scope)

    def dot_of_bytes(self, a: PrimExpr, b: PrimExpr, start: PrimExpr | None) -> str:
        return super(CudaEmitter, self).dot_of_bytes(a, b, start)


def emit_file(mod: IRModule, target: Target) -> DeviceText:
    """The HIP file of the device functions of a module."""
    return emit_cuda(mod, target, HipEmitter, _HEAD)


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The HIP text of lowered device functions."""
    return emit_file(mod, Target(target)).text
