"""Lowered kernels to CUDA C++."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tvm.backend.c_family.code import Code
from tvm.backend.c_family.expr import Rule
from tvm.backend.device.expr import FLOAT32
from tvm.backend.device.kernels import DeviceEmitter, DeviceText, emit_kernels
from tvm.backend.device.stmt import Scratch, waits_for_warp
from tvm.backend.device.text import SourceFile
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import walk

from .fragments import Fragments
from .intrinsics import RULES
from .math import math_call
from .ptx import BY_REGISTERS
from .types import HEADERS, KEYWORDS, LANES, TYPES, VECTOR_BASES

UINT32: Final = DataType("uint32")
_HEAD: Final = """\
#ifdef __CUDACC_RTC__
#define __asm__ asm
#define __volatile__ volatile
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulonglong;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif"""
LANES_LIMIT_BYTES: Final = 16  # of one access to memory


class CudaEmitter(DeviceEmitter):
    """One function of CUDA C++."""

    LANGUAGE = "CUDA"
    RULES: ClassVar[Mapping[str, Rule]] = RULES
    TYPES: ClassVar[Mapping[str, str]] = TYPES
    VECTOR_ARITHMETIC = False  # its vectors are structures
    HEADERS: ClassVar[Mapping[str, str]] = HEADERS  # by type
    MASKED_WAITS: ClassVar[bool] = True  # threads of a warp say who waits

    def begin(self) -> None:
        self.fragments = Fragments()
        self._wide: set[e.Var] = set()  # memory that is read or written as vectors or words
        self._together = ""  # the threads of a warp that are here; all of them where it is empty

    # --- functions ---

    def head(self) -> str:
        func, one = self.signature.func, self.signature
        alone = bool(func.attrs.get("tir.noalias"))
        params = []
        for param in func.params:
            name = self.name_param(param)
            if param.dtype.is_handle:
                restrict = " __restrict__" if alone and one.kernel else ""
                params.append(f"{self.pointees[param]}*{restrict} {name}")
            else:
                params.append(f"{self.type_of(param.dtype)} {name}")
        head = f"{self.prefix()}{one.name}({', '.join(params)})"
        self.out.file.declarations.append(f"{head};")
        return head

    def prefix(self) -> str:
        """What stands before the name of a function."""
        if not self.signature.kernel:
            result = self.signature.result
            kind = "void" if result.is_void else self.type_of(result)
            return f'extern "C" __device__ {kind} '
        threads = self.signature.threads
        count = 1 if threads is None else math.prod(threads)
        bounds = f"__launch_bounds__({count}) " if count > 1 else ""
        return f'extern "C" __global__ void {bounds}'

    def function_word(self) -> str:
        return "static inline __device__ "

    # --- types ---

    def type_of(self, dtype: DataType) -> str:
        header = self.HEADERS.get(str(dtype.element_of()))
        if header is not None:
            self.out.file.need(header, f"#include <{header}>")
        return super().type_of(dtype)

    def has_vector(self, dtype: DataType) -> bool:
        if dtype.is_scalable:
            return False
        if str(dtype.element_of()) in VECTOR_BASES and dtype.lanes <= 4:
            return True
        size = dtype.lanes * max(dtype.bits, 8) // 8
        named = str(dtype.element_of()) in self.TYPES
        return named and size <= LANES_LIMIT_BYTES and size & (size - 1) == 0 and not dtype.is_bool

    def vector_type(self, dtype: DataType) -> str:
        base = VECTOR_BASES.get(str(dtype.element_of()))
        if base is not None and dtype.lanes <= 4:
            return f"{base}{dtype.lanes}"
        kind = self.type_of(dtype.element_of())
        if str(dtype) == "float16x2":
            return "half2"
        self.out.file.need("lanes", LANES)
        return f"lanes<{kind}, {dtype.lanes}>"

    def _is_struct(self, dtype: DataType) -> bool:
        """Whether lanes have letters, as opposed to numbers."""
        base = str(dtype.element_of()) in VECTOR_BASES and dtype.lanes <= 4
        return base or str(dtype) == "float16x2"

    def lane_text(self, vector: str, dtype: DataType, lane: int) -> str:
        return f"{vector}.{'xyzw'[lane]}" if self._is_struct(dtype) else f"{vector}.s[{lane}]"

    def vector_of(self, dtype: DataType, lanes: Sequence[str]) -> str:
        kind, given = self.type_of(dtype), ", ".join(lanes)
        return f"make_{kind}({given})" if self._is_struct(dtype) else f"{kind}{{{{{given}}}}}"

    def same_lanes(self, dtype: DataType, value: str) -> str:
        return self.vector_of(dtype, [value] * dtype.lanes)

    # --- arithmetic ---

    def smaller(self, name: str, dtype: DataType, a: str, b: str) -> str:
        if dtype.bits == 16 and dtype.is_floating:
            return f"__h{name}({a}, {b})"
        if dtype.is_integer and dtype.bits < 32:
            return self.fit(dtype, Code(f"{name}((int){a}, (int){b})"))
        if dtype.is_integer and dtype.bits == 64:
            # int64_t may be long where literals are long long: HIP takes such pairs for doubles
            kind = self.type_of(dtype)
            return f"{name}(({kind}){a}, ({kind}){b})"
        return f"{name}({a}, {b})"

    def math(self, name: str, dtype: DataType, args: Sequence[str]) -> str:
        return math_call(self, name, dtype, args)

    def convert(self, source: DataType, target: DataType, text: str) -> str:
        small = [t.is_floating and t.bits < 32 for t in (source, target)]
        if all(small) and source is not target:  # types of different headers know float only
            text = super().convert(source, FLOAT32, text)
            source = FLOAT32
        return super().convert(source, target, text)

    def popcount(self, dtype: DataType, text: str) -> str:
        if dtype.bits == 64:
            return f"__popcll({text})"
        return f"__popc((uint)({self._unsigned(dtype)}){text})"

    def leading_zeros(self, dtype: DataType, text: str) -> str:
        if dtype.bits == 64:
            return f"__clzll({text})"
        count = f"__clz((uint)({self._unsigned(dtype)}){text})"
        return count if dtype.bits == 32 else f"({count} - {32 - dtype.bits})"

    def _unsigned(self, dtype: DataType) -> str:
        return self.type_of(DataType(f"uint{dtype.bits}"))

    def same_bits(self, value: PrimExpr, target: DataType) -> str:
        if value.dtype.is_vector:
            name = self.named(value)
        else:
            name = self.temp(value.dtype, self.lane_of(value, None))
        return f"(*({self.type_of(target)}*)(&({name})))"

    # --- memory ---

    def emit(self, body: s.Stmt) -> None:
        for node in walk(body):
            if isinstance(node, e.BufferLoad):
                wide = node.dtype.is_vector
            else:
                wide = isinstance(node, s.BufferStore) and node.value.dtype.is_vector
            if wide:
                self._wide.add(node.buffer.data)
            if e.op_name(node) in BY_REGISTERS:
                self._wide.update(arg for arg in node.args if isinstance(arg, e.Var))
        super().emit(body)

    def declare_shared(self, one: Scratch) -> None:
        kind, name = self.memory_type(one.dtype), self.out.fresh(one.var.name)
        if one.scope == "shared.dyn":
            self.out.line(f"extern __shared__ __align__(16) {kind} {name}[];")
        else:
            volatile = "volatile " if one.var in self.volatile else ""
            aligned = "__align__(16) " if one.var in self._wide else ""
            self.out.line(f"{volatile}__shared__ {aligned}{kind} {name}[{one.size}];")
        self.declare_pointer(one.var, name, kind)

    def declare_own(self, one: Scratch) -> None:
        if one.var not in self._wide:
            super().declare_own(one)
            return
        kind, name = self.memory_type(one.dtype), self.out.fresh(one.var.name)
        self.out.line(f"__align__(16) {kind} {name}[{max(one.size or 1, 1)}];")
        self.declare_pointer(one.var, name, kind)

    def declare_special(self, one: Scratch) -> None:
        if not one.scope.startswith("wmma."):
            super().declare_special(one)
        self.out.file.need("mma.h", "#include <mma.h>")
        kind, count = self.fragments.type_of(self, one)
        name = self.out.fresh(one.var.name)
        self.out.line(f"{kind} {name}[{count}];")
        self.declare_pointer(one.var, name, kind)

    def attribute(self, op: s.AttrStmt) -> None:
        self.fragments.note(op)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        """Copies in the background are committed as a group; what reads them waits for groups."""
        if op.attr_key == "async_commit_queue_scope":
            self._work += [s.Evaluate(e.Call("void", "tir.ptx_commit_group", [])), op.body]
            return
        if op.attr_key == "async_wait_queue_scope" and isinstance(op.body, s.AttrStmt):
            count = op.body.value
            if not isinstance(count, e.IntImm):
                count = e.IntImm("int32", 0)
            self._work += [op.body.body, s.Evaluate(e.Call("void", "tir.ptx_wait_group", [count]))]
            return
        super().visit_attr_stmt_(op)

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        """Threads of a warp that wait where others do not come, name those that do."""
        if self.MASKED_WAITS and waits_for_warp(op.then_case):
            before = self._together

            def restore() -> None:
                self._together = before

            everybody = before or self.active_mask()
            chosen = f"__ballot_sync({everybody}, {self.condition(op.condition)})"
            self._together = self.declare(UINT32, "together", chosen)
            self._work.append(restore)
        super().visit_if_then_else_(op)

    def unrolled(self) -> None:
        self.out.line("#pragma unroll")

    # --- threads ---

    def barrier(self, scope: str) -> str:
        if scope.startswith("shared"):
            return "__syncthreads();"
        if scope == "warp":
            return f"__syncwarp({self._together});"
        return self.refuse(f"a barrier over {scope!r}", "blocks of a launch do not wait for each "
                           "other", "barriers of scope shared and warp")  # fmt: skip

    def shuffle(self, name: str, mask: PrimExpr, value: PrimExpr, at: PrimExpr,
                width: PrimExpr) -> str:  # fmt: skip
        """The value of another thread of the warp; `name` is "", "_up" or "_down"."""
        mask_text, lane, size = (self.lane_of(x, None) for x in (mask, at, width))
        return f"__shfl{name}_sync({mask_text}, {self.lane_of(value, self.lane)}, {lane}, {size})"

    def active_mask(self) -> str:
        """The threads of the warp that are here."""
        return "__activemask()"

    def atomic_add(self, pointer_expr: PrimExpr, value: PrimExpr) -> str:
        pointer, kind = self.lane_of(pointer_expr, None), self.type_of(value.dtype)
        if value.dtype == "int64":  # the sum's bits are the same
            added = self.lane_of(value, None)
            return f"((int64_t)atomicAdd((ulonglong*){pointer}, (ulonglong){added}))"
        return f"atomicAdd(({kind}*){pointer}, {self.lane_of(value, None)})"

    def dot_of_bytes(self, a: PrimExpr, b: PrimExpr, start: PrimExpr | None) -> str:
        sign = "uint" if a.dtype.is_uint else "int"
        words = [f"(*({sign}*)(&({self.named(x)})))" for x in (a, b)]
        first = "0" if start is None else self.lane_of(start, None)
        return f"__dp4a({words[0]}, {words[1]}, {first})"


def emit_file(mod: IRModule, target: Target) -> DeviceText:
    """The CUDA file of the device functions of a module."""
    return emit_cuda(mod, target, CudaEmitter, _HEAD)


def emit_cuda(
    mod: IRModule, target: Target, language: type[CudaEmitter], head: str
) -> DeviceText:
    """A file in CUDA C++, or in a language with its grammar."""
    file = SourceFile(KEYWORDS.split())
    kernels = emit_kernels(mod, target, language, file)
    helpers = list(file.helpers.values())
    includes = [text for text in helpers if text.startswith("#include")]
    others = [text for text in helpers if not text.startswith("#include")]
    parts = [*includes, head, *others, *file.declarations, *file.functions]
    return DeviceText("\n".join(parts), kernels)


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The CUDA text of lowered device functions."""
    return emit_file(mod, Target(target)).text
