"""What LLVM calls the threads, barriers and shuffles of NVIDIA's GPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from tvm.backend.device.stmt import waits_for_warp
from tvm.backend.llvm_gpu.emitter import INT32, KernelEmitter
from tvm.ir.expr import PrimExpr
from tvm.tir import stmt as s
from tvm.tir.op.arith import cast

# PTX ISA, shfl.sync: the operand c is the last lane of a segment, with the segments' mask above
_LAST_LANE, _WARP = 0x1F, 32


class NvptxEmitter(KernelEmitter):
    """One function of PTX."""

    CONVENTION: ClassVar[str] = "ptx_kernel"
    SPACES: ClassVar[Mapping[str, int]] = {"global": 1, "shared": 3, "own": 0, "constant": 4}

    _together = ""  # the threads of a warp that are here; all of them where it is empty

    def thread_number(self, tag: str) -> str:
        where, _, axis = tag.partition(".")
        word = {"threadIdx": "tid", "blockIdx": "ctaid"}.get(where)
        if word is None or axis not in ("x", "y", "z"):
            self.refuse(f"threads {tag!r}", "no such threads",
                        "blockIdx.x, .y, .z and threadIdx.x, .y, .z")  # fmt: skip
        name = f"llvm.nvvm.read.ptx.sreg.{word}.{axis}"
        return self.out.temp(f"call i32 {self.module.declare(name, 'i32', '')}()")

    def barrier(self, scope: str) -> None:
        if scope.startswith("shared"):
            callee = self.module.declare("llvm.nvvm.barrier.cta.sync.aligned.all", "void", "i32")
            self.out.line(f"call void {callee}(i32 0)")
        elif scope == "warp":
            callee = self.module.declare("llvm.nvvm.bar.warp.sync", "void", "i32")
            self.out.line(f"call void {callee}(i32 {self._together or -1})")
        else:
            self.refuse(f"a barrier over {scope!r}", "blocks of a launch do not wait for each "
                        "other", "barriers of scope shared and warp")  # fmt: skip

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        """Threads of a warp that wait where others do not come, name those that do."""
        if waits_for_warp(op.then_case):
            before = self._together

            def restore() -> None:
                self._together = before

            everybody = before or self.active_mask()
            holds = self.visit_data(cast(op.condition, "bool"))
            callee = self.module.declare("llvm.nvvm.vote.ballot.sync", "i32", "i32, i1")
            self._together = self.out.temp(f"call i32 {callee}(i32 {everybody}, i1 {holds})")
            self._work.append(restore)
        super().visit_if_then_else_(op)

    def active_mask(self) -> str:
        callee = self.module.declare("llvm.nvvm.activemask", "i32", "")
        return self.out.temp(f"call i32 {callee}()")

    def shuffle(self, how: str, mask: PrimExpr, word: str, at: str, width: str) -> str:
        kind = {"": "idx", "_up": "up", "_down": "down"}[how]
        callee = self.module.declare(
            f"llvm.nvvm.shfl.sync.{kind}.i32", "i32", "i32, i32, i32, i32"
        )
        last = 0 if how == "_up" else _LAST_LANE
        if width.isdigit():
            clamp = str((_WARP - int(width)) << 8 | last)
        else:
            segments = self.out.temp(f"sub i32 {_WARP}, {width}")
            clamp = self.out.temp(f"shl i32 {segments}, 8")
            clamp = self.out.temp(f"or i32 {clamp}, {last}")
        members = self.cast(mask.dtype, INT32, self.visit_data(mask))
        given = f"i32 {members}, i32 {word}, i32 {at}, i32 {clamp}"
        return self.out.temp(f"call i32 {callee}({given})")

    def words_of_kernel(self) -> str:
        threads = self.kernel.threads
        return f' "nvvm.maxntid"="{math.prod(threads)}"' if threads is not None else ""
