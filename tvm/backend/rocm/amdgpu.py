"""What LLVM calls the threads, barriers and shuffles of AMD's GPUs, and code objects of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Final

from tvm.backend.llvm.jit import Machine
from tvm.backend.llvm.module_text import ModuleText
from tvm.backend.llvm_gpu.emitter import KernelEmitter
from tvm.ir.expr import PrimExpr
from tvm.target import Target
from tvm.target.gpu_model import is_rdna

TRIPLE: Final = "amdgcn-amd-amdhsa"
OLDEST: Final = "gfx900"  # of the machines that ROCm 6 knows
_OBJECTS: Final = 400  # code objects of the fourth form: ROCm 4.1 and later load them
_AXES: Final = "xyz"


class AmdgpuEmitter(KernelEmitter):
    """One function of AMD's machine code."""

    CONVENTION: ClassVar[str] = "amdgpu_kernel"
    SPACES: ClassVar[Mapping[str, int]] = {"global": 1, "shared": 3, "own": 5, "constant": 4}

    @classmethod
    def begin_module(cls, module: ModuleText) -> None:
        flag = module.metadata(f'!{{i32 1, !"amdhsa_code_object_version", i32 {_OBJECTS}}}')
        module.named_metadata["llvm.module.flags"] = flag

    def thread_number(self, tag: str) -> str:
        where, _, axis = tag.partition(".")
        word = {"threadIdx": "workitem", "blockIdx": "workgroup"}.get(where)
        if word is None or axis not in _AXES:
            self.refuse(f"threads {tag!r}", "no such threads",
                        "blockIdx.x, .y, .z and threadIdx.x, .y, .z")  # fmt: skip
        name = f"llvm.amdgcn.{word}.id.{axis}"
        return self.out.temp(f"call i32 {self.module.declare(name, 'i32', '')}()")

    def barrier(self, scope: str) -> None:
        if scope.startswith("shared"):
            group, name = "workgroup", "llvm.amdgcn.s.barrier"
        elif scope == "warp":  # in step, but writes have to be seen
            group, name = "wavefront", "llvm.amdgcn.wave.barrier"
        else:
            self.refuse(f"a barrier over {scope!r}", "blocks of a launch do not wait for each "
                        "other", "barriers of scope shared and warp")  # fmt: skip
        self.out.line(f'fence syncscope("{group}") release')
        self.out.line(f"call void {self.module.declare(name, 'void', '')}()")
        self.out.line(f'fence syncscope("{group}") acquire')

    def shuffle(self, how: str, mask: PrimExpr, word: str, at: str, width: str) -> str:
        """Lanes of a wavefront run in step and take no mask; who is outside keeps its own."""
        out = self.out
        low = self.module.declare("llvm.amdgcn.mbcnt.lo", "i32", "i32, i32")
        high = self.module.declare("llvm.amdgcn.mbcnt.hi", "i32", "i32, i32")
        mine = out.temp(f"call i32 {low}(i32 -1, i32 0)")
        mine = out.temp(f"call i32 {high}(i32 -1, i32 {mine})")
        in_group = out.temp(f"sub i32 {width}, 1")
        own = out.temp(f"and i32 {mine}, {in_group}")
        first = out.temp(f"sub i32 {mine}, {own}")
        if how == "":
            within = out.temp(f"and i32 {at}, {in_group}")
            lane = out.temp(f"add i32 {first}, {within}")
        else:
            step = out.temp(f"{'sub' if how == '_up' else 'add'} i32 {own}, {at}")
            # below zero is above all
            inside = out.temp(f"icmp ult i32 {step}, {width}")
            there = out.temp(f"add i32 {first}, {step}")
            lane = out.temp(f"select i1 {inside}, i32 {there}, i32 {mine}")
        callee = self.module.declare("llvm.amdgcn.ds.bpermute", "i32", "i32, i32")
        address = out.temp(f"shl i32 {lane}, 2")
        return out.temp(f"call i32 {callee}(i32 {address}, i32 {word})")

    def words_of_kernel(self) -> str:
        threads = self.kernel.threads
        if threads is None:
            return ""
        count = math.prod(threads)
        return f' "amdgpu-flat-work-group-size"="{count},{count}" "uniform-work-group-size"="true"'


def machine_of(target: Target) -> Machine:
    """What LLVM makes code for."""
    cpu = str(target.attrs.get("mcpu", "")) or OLDEST
    features = list(target.mattr)
    if is_rdna(cpu):  # which can run both sizes
        features.append(f"+wavefrontsize{target.gpu.warp_size}")
    return Machine(TRIPLE, cpu, ",".join(features))
