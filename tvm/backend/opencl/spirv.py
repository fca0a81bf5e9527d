"""What SPIR-V for OpenCL drivers calls threads and barriers: the functions of OpenCL C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from tvm.backend.llvm.jit import Machine
from tvm.backend.llvm_gpu.emitter import INT32, KernelEmitter
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir import expr as e

TRIPLE: Final = "spirv64v1.2-unknown-unknown"  # the version that OpenCL 2.2 takes
_FENCE_LOCAL: Final = 1  # CLK_LOCAL_MEM_FENCE of OpenCL C
_AXES: Final = "xyz"


class SpirvEmitter(KernelEmitter):
    """One function of SPIR-V."""

    CONVENTION: ClassVar[str] = "spir_kernel"
    SPACES: ClassVar[Mapping[str, int]] = {"global": 1, "shared": 3, "own": 0, "constant": 2}

    def thread_number(self, tag: str) -> str:
        where, _, axis = tag.partition(".")
        word = {"threadIdx": "get_local_id", "blockIdx": "get_group_id"}.get(where)
        if word is None or axis not in _AXES:
            self.refuse(f"threads {tag!r}", "no such threads",
                        "blockIdx.x, .y, .z and threadIdx.x, .y, .z")  # fmt: skip
        # by the names that the C++ of OpenCL's headers has: _Z<length><name><operands>
        callee = self.module.declare(f"_Z12{word}j", "i64", "i32", "nounwind memory(none)")
        number = self.out.temp(f"call spir_func i64 {callee}(i32 {_AXES.index(axis)})")
        return self.cast(DataType("int64"), INT32, number)

    def barrier(self, scope: str) -> None:
        if not scope.startswith("shared"):
            self.refuse(f"a barrier over {scope!r}", "threads that wait for all of their block",
                        "barriers of scope shared")  # fmt: skip
        callee = self.module.declare("_Z7barrierj", "void", "i32", "convergent nounwind")
        self.out.line(f"call spir_func void {callee}(i32 {_FENCE_LOCAL}) convergent")

    def shared(self, var: e.Var, scope: str, kind: str, count: int, align: int) -> str:
        if scope == "shared.dyn":
            self.refuse(f"memory {var.name} of scope {scope!r}", "a size told at launch",
                        "scope shared, whose sizes are constants")  # fmt: skip
        return super().shared(var, scope, kind, count, align)


def machine_of(target: Target) -> Machine:
    """What LLVM makes code for."""
    return Machine(str(target.attrs.get("mtriple", "")) or TRIPLE)
