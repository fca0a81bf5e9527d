"""Lowered kernels to LLVM text: the emitters of the CPU, with what GPUs have instead.

A kernel has threads, memory that a block shares, and barriers; it cannot fail, has no C library
and no scratch memory but its own. Vectors are whole where memory is aligned for them, and go lane
by lane elsewhere: GPUs compute on scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import ClassVar, Final, NoReturn

from tvm.arith.analyzer import Analyzer
from tvm.backend.device.kernels import Signature as Kernel
from tvm.backend.llvm.expr import ExprEmitter
from tvm.backend.llvm.memory import as_ramp
from tvm.backend.llvm.module_text import ModuleText
from tvm.backend.llvm.stmt import StmtEmitter
from tvm.backend.llvm.types import (
    bytes_literal,
    element_bytes,
    memory_element,
    memory_type,
    value_type,
)
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.op import Op
from tvm.ir.type import PointerType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.op.extent import allocated_bytes

from .rules import Rule, rule_for
from .text import KernelText, pointer_type

INT32: Final = DataType("int32")
_ALIGN: Final = 16  # of arrays: the widest access of a thread


class KernelEmitter(StmtEmitter):
    """One function of a GPU; a machine adds how its threads are numbered and wait."""

    CONVENTION: ClassVar[str] = ""  # of kernels
    SPACES: ClassVar[Mapping[str, int]] = {}  # "global", "shared", "own" and "constant"
    RULES: ClassVar[Mapping[str, Rule]] = {}  # of operators that this machine has
    out: KernelText

    def __init__(self, out: KernelText, kernel: Kernel, legal: Collection[str]) -> None:
        super().__init__(out)
        self.kernel = kernel
        self._legal = legal  # the functions that it may call
        self._analyzer = Analyzer()

    def refuse(self, what: str, found: str, legal: str) -> NoReturn:
        """This cannot be said to this machine."""
        raise CheckError(
            message(
                f"{self.module.machine_triple} code for {what}",
                found=found,
                where=f"function {self.kernel.name}",
                legal=legal,
            )
        )

    # --- what machines say in words of their own ---

    def thread_number(self, tag: str) -> str:
        """The number of this thread, or of its block, along an axis, as i32."""
        raise NotImplementedError  # abstract

    def barrier(self, scope: str) -> None:
        """Wait for the threads that share a scope's memory."""
        raise NotImplementedError  # abstract

    def shuffle(self, how: str, mask: PrimExpr, word: str, at: str, width: str) -> str:
        """Another thread's word of 32 bits; `how` is "", "_up" or "_down"."""
        self.refuse(f"tvm_warp_shuffle{how}", "threads that do not pass values", "shared memory")

    def active_mask(self) -> str:
        """The threads of the warp that are here."""
        return "0"

    def words_of_kernel(self) -> str:
        """What stands behind the head of a kernel, of its threads."""
        return ""

    @classmethod
    def begin_module(cls, module: ModuleText) -> None:
        """Say what holds for all functions of a module."""

    # --- the function ---

    def emit_function(self) -> None:
        """Write the function into the module."""
        if self.kernel.kernel:
            self.out.convention = self.CONVENTION
            self.out.suffix = self.words_of_kernel()
        for param, value in zip(self.kernel.func.params, self.out.params):
            self.values[param] = value
        self.emit(self.kernel.func.body)
        self.close()

    @classmethod
    def param_type(cls, param: e.Var) -> str:
        """The type of a parameter: pointers say whose memory it is."""
        if not param.dtype.is_handle:
            return value_type(param.dtype)
        kind = param.type_annotation
        scope = kind.storage_scope if isinstance(kind, PointerType) else ""
        if scope.startswith("shared"):
            return pointer_type(cls.SPACES["shared"])
        return pointer_type(cls.SPACES["own" if scope in ("local", "warp") else "global"])

    # --- statements ---

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        if op.attr_key == "thread_extent" and isinstance(op.node, e.IterVar):
            thread = op.node
            number = self.thread_number(thread.thread_tag)
            self.values[thread.var] = self.cast(INT32, thread.var.dtype, number)
            self._work.append(op.body)
        elif op.attr_key == "virtual_thread":
            self.refuse("virtual threads", "they are still there",
                        "programs that went through tir.InjectVirtualThread")  # fmt: skip
        elif op.attr_key in ("compute_scope", "coproc_uop_scope"):
            self.refuse(op.attr_key, "a region of host code", "threads and loops")
        else:
            super().visit_attr_stmt_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        if op.var.dtype.is_integer and op.var.dtype.is_scalar:
            self._analyzer.bind(op.var, op.value)  # what indices are multiples of
        super().visit_let_stmt_(op)

    def visit_assert_stmt_(self, op: s.AssertStmt) -> None:
        self._work.append(op.body)  # a kernel cannot fail: the host checks what it is given

    def visit_allocate_(self, op: s.Allocate) -> None:
        scope = getattr(op.buffer_var.type_annotation, "storage_scope", "")
        unit = element_bytes(op.dtype) * op.dtype.lanes
        nbytes = allocated_bytes(unit, op.extents)
        size = nbytes.value if isinstance(nbytes, e.IntImm) else None
        if size is None and scope != "shared.dyn":
            self.refuse(f"scratch memory {op.buffer_var.name}", "a size known only at run time",
                        "constant sizes; scope shared.dyn for one told at launch")  # fmt: skip
        kind, count = memory_element(op.dtype), max(size or 0, unit) // element_bytes(op.dtype)
        if scope.startswith("shared"):
            few = size is not None and size < _ALIGN  # and is not moved in vectors
            align = element_bytes(op.dtype) if few else _ALIGN
            self.values[op.buffer_var] = self.shared(op.buffer_var, scope, kind, count, align)
        elif scope in ("local", ""):
            self.values[op.buffer_var] = self.out.alloca(kind, count, _ALIGN, op.buffer_var.name)
        else:
            self.refuse(f"memory {op.buffer_var.name} of scope {scope!r}", "no such memory",
                        "scopes shared and local")  # fmt: skip
        self._work.append(op.body)

    def shared(self, var: e.Var, scope: str, kind: str, count: int, align: int) -> str:
        """Memory that the threads of a block share; its size is told at launch for shared.dyn."""
        form = f"internal addrspace(SPACE) global [{count} x {kind}] poison"
        if scope == "shared.dyn":
            form = "external addrspace(SPACE) global [0 x i8]"
        return self._global(var.name, form, self.SPACES["shared"], align=align)

    def visit_allocate_const_(self, op: s.AllocateConst) -> None:
        if op.data is None:
            self.refuse(f"constant {op.buffer_var.name}", "it holds no data", "constants with data")
        data = op.data.numpy().tobytes() or b"\0"
        form = f"internal addrspace(SPACE) constant [{len(data)} x i8] c"
        words = f'"{bytes_literal(data)}"'
        space = self.SPACES["constant"]
        self.values[op.buffer_var] = self._global(op.buffer_var.name, form + words, space)
        self._work.append(op.body)

    def _global(self, hint: str, form: str, space: int, align: int = _ALIGN) -> str:
        clean = "".join(c if c.isalnum() and c.isascii() else "_" for c in hint)
        name = f"@{self.module.names.fresh(f'{self.kernel.name}_{clean}')}"
        text = form.replace("SPACE", str(space), 1)
        self.module.globals[name] = f"{name} = {text}, align {align}"
        self.out.spaces[name] = space
        return name

    # --- memory ---

    def visit_buffer_load_(self, op: e.BufferLoad) -> str:
        index = self._only_index(op.buffer, op.indices)
        if op.dtype.is_scalar:
            return super().visit_buffer_load_(op)
        start = None if op.predicate is not None else _run_of(op.buffer, index)
        if start is not None:
            address = self.address(op.buffer, self.as_int64(start))
            how, align = self._volatile(op.buffer), self._align(op.buffer, start, op.dtype)
            kind = memory_type(op.dtype)
            raw = self.out.temp(f"load {how}{kind}, ptr {address}, align {align}")
            return self.from_memory(op.dtype, raw)
        element = op.dtype.element_of()
        masks = self._masks(op.predicate)
        scalars = []
        for lane, at in enumerate(self._element_indices(op.buffer, index, op.dtype.lanes)):
            address = self._element(op.buffer, at)
            if masks is None:
                raw = self.out.temp(
                    f"load {self._volatile(op.buffer)}{memory_type(element)}, ptr {address}, "
                    f"align {element_bytes(element)}"
                )
            else:
                raw = self._element_if(op.buffer, element, address, masks[lane])
            scalars.append(self.from_memory(element, raw))
        return self.vector_of_scalars(op.dtype, scalars)

    def emit_store(self, op: s.BufferStore) -> None:
        index, dtype = self._only_index(op.buffer, op.indices), op.value.dtype
        if dtype.is_scalar:
            super().emit_store(op)
            return
        start = None if op.predicate is not None else _run_of(op.buffer, index)
        value, how = self.visit_data(op.value), self._volatile(op.buffer)
        if start is not None:
            stored, kind = self.to_memory(dtype, value), memory_type(dtype)
            address = self.address(op.buffer, self.as_int64(start))
            align = self._align(op.buffer, start, dtype)
            self.out.line(f"store {how}{kind} {stored}, ptr {address}, align {align}")
            return
        element = dtype.element_of()
        lanes = [self.to_memory(element, lane) for lane in self.lanes_of(dtype, value)]
        masks = self._masks(op.predicate)
        for lane, at in enumerate(self._element_indices(op.buffer, index, dtype.lanes)):
            address = self._element(op.buffer, at)
            words = f"{memory_type(element)} {lanes[lane]}, ptr {address}"
            text = f"store {how}{words}, align {element_bytes(element)}"
            if masks is None:
                self.out.line(text)
            else:
                self._store_if(masks[lane], text)

    def _align(self, buffer: Buffer, start: PrimExpr, dtype: DataType) -> int:
        """The alignment of a vector: as much of it as its index is a multiple of."""
        unit, lanes = element_bytes(dtype), dtype.lanes
        if buffer.dtype.lanes == lanes:
            known = lanes
        else:
            found = self._analyzer.modular_set(start)
            known = lanes
            while known > 1 and (found.coeff % known or found.base % known):
                known //= 2
        size = known & -known  # a power of two
        return min(unit * size, _ALIGN)

    def _masks(self, predicate: PrimExpr | None) -> list[str] | None:
        if predicate is None:
            return None
        return self.lanes_of(predicate.dtype, self.visit_data(predicate))

    def _element_indices(self, buffer: Buffer, index: PrimExpr, lanes: int) -> list[str]:
        """The numbers of single elements, as i64."""
        ramp = as_ramp(index) if index.dtype.is_vector else None
        wide = buffer.dtype.lanes
        if ramp is not None:
            base = self.as_int64(ramp[0])
            steps = [lane * ramp[1] for lane in range(index.dtype.lanes)]
            numbers = [
                self.out.temp(f"add nsw i64 {base}, {step}") if step else base for step in steps
            ]
        elif index.dtype.is_vector:
            held = self.lanes_of(index.dtype, self.visit_index(index))
            element = index.dtype.element_of()
            numbers = [self.cast(element, DataType("int64"), lane) for lane in held]
        else:
            numbers = [self.as_int64(index)]
        if len(numbers) == lanes and wide == 1:
            return numbers
        starts = numbers if wide == 1 else [self.out.temp(f"mul nsw i64 {n}, {wide}")
                                            for n in numbers]  # fmt: skip
        each = lanes // len(starts)
        return [
            start if not more else self.out.temp(f"add nsw i64 {start}, {more}")
            for start in starts for more in range(each)
        ]  # fmt: skip

    def _element(self, buffer: Buffer, at: str) -> str:
        base = self.visit_var_(buffer.data)
        kind = memory_element(buffer.dtype)
        return self.out.temp(f"getelementptr inbounds {kind}, ptr {base}, i64 {at}")

    # --- calls ---

    def rule_of(self, op: Op) -> Callable[[ExprEmitter, e.Call], str] | None:
        return self.RULES.get(op.name) or rule_for(op.name)  # type: ignore[return-value]

    def call_function(self, name: str, args: tuple[PrimExpr, ...]) -> str:
        if name not in self.module.signatures:
            self.refuse(f"call of {name}", "no such function for this target",
                        ", ".join(sorted(self._legal)) or "functions of the module")  # fmt: skip
        return super().call_function(name, args)


def _run_of(buffer: Buffer, index: PrimExpr) -> PrimExpr | None:
    """The number of the first of neighbouring elements; None where they are none."""
    if index.dtype.is_scalar:
        return index
    ramp = as_ramp(index)
    return ramp[0] if ramp is not None and ramp[1] == 1 and buffer.dtype.is_scalar else None
