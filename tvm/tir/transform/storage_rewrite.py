"""Scratch memory is allocated once, far out, and shared by what is never in use together.

    for i in range(n):                          s = alloc(16); t = alloc(16)
        a = alloc(16); b = alloc(16)            for i in range(n):
        c = alloc(16)                    ->         s[:] = f(i)        # a
        a[:] = f(i)                                 t[:] = g(s)        # b
        b[:] = g(a)                                 s[:] = h(t)        # c
        c[:] = h(b)

Allocations move to the start of the function, of the body of a parallel loop, or of a launch of
threads, if their sizes are known there; what nothing uses is gone. `storage_plan` says what shares
memory; no buffers do where there is more than one of dynamic shared memory, or with the option
`tir.merge_static_smem`: `MergeSharedMemoryAllocations` finds better offsets later. Memories of a
device's own become one allocation for each scope. On CPUs, local memory stays where it is: it
becomes registers, and what a round of a loop leaves in them is no concern of the next. Pointers
that let statements give to memory of whole vectors become pointers to vectors.
"""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, message
from tvm.ffi.registry import get_global_func
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.target.kind import CPU
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .lower_device_storage_access_info import PREFIX
from .pass_form import tir_pass
from .pointer_value_type_rewrite import retype_pointers
from .storage_plan import Memory, Plan, is_tagged
from .storage_steps import Steps


@tir_pass("tir.StorageRewrite")
def StorageRewrite(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No two allocations of one scope could share memory, as far as that can be seen."""
    steps = Steps(func.body)
    share = not ctx.option("tir.merge_static_smem", False)
    target = func.attrs.get("target")
    typed = isinstance(target, Target) and target.kind.traits.typed_memory
    on_cpu = isinstance(target, Target) and target.kind.device_type == CPU
    staying = frozenset(["local"] if on_cpu else [])
    plan = Plan(steps, func.body, share=share, same_types=typed, staying=staying)
    func = func.with_body(_Rewriter(plan, steps.buffers).scope(None, func.body))
    return retype_pointers(func, allocations=not on_cpu)


class _Rewriter(StmtExprMutator):
    def __init__(self, plan: Plan, accessed: set[Buffer]) -> None:
        super().__init__()
        self._plan = plan
        self._accessed = accessed
        self._declared: set[Buffer] = set()  # beside the allocation
        self._nests = {home: self._nest(memories) for home, memories in plan.by_scope.items()}

    def scope(self, home: s.Stmt | None, body: s.Stmt) -> s.Stmt:
        """The body with all memory that it needs in front."""
        new = self.visit_stmt(body)
        for stmt in reversed(self._nests.get(home, [])):
            new = with_fields(stmt, body=new)
        return new

    def _nest(self, memories: list[Memory]) -> list[s.Allocate | s.DeclBuffer]:
        """The allocations of one scope, each with its buffer declaration."""
        own = _one_for_each_tag(memories)
        made: list[s.Allocate | s.DeclBuffer] = []
        for memory in memories:
            if memory not in own:
                continue
            op = own[memory]
            made.append(op)
            below = memory.first.body
            alike = all(_is_like(one.op, memory.first) for one in memory.allocations)
            if not alike or not isinstance(below, s.DeclBuffer):
                continue
            beside = below.buffer.data is op.buffer_var
            if beside and self._plan.is_known(below.buffer, memory.home):
                if below.buffer in self._accessed:
                    made.append(below)
                self._declared.add(below.buffer)
        return made

    def _memory_of(self, var: e.Var) -> Memory | None:
        return self._plan.memory.get(var)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        memory = self._memory_of(op)
        return op if memory is None else memory.var

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        memory = self._memory_of(buffer.data)
        if memory is None or memory.var is buffer.data:
            return buffer
        known = self.buffers.get(buffer)
        if known is None:
            known = buffer.with_changes(data=memory.var)
            self.buffers[buffer] = known
        return known

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def _moved(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        """The indices within memory that the buffer's is a part of."""
        memory = self._memory_of(buffer.data)
        if memory is None or memory.offset == 0:
            return indices
        start = ops.const(memory.offset // buffer.dtype.bits, indices[0].dtype)
        return (ops.add(start, indices[0]), *indices[1:])

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = super().visit_buffer_load_(op)
        if not isinstance(new, e.BufferLoad):
            return new
        indices = self._moved(op.buffer, new.indices)
        return new if indices is new.indices else with_fields(new, indices=indices)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = super().visit_buffer_store_(op)
        if not isinstance(new, s.BufferStore):
            return new
        indices = self._moved(op.buffer, new.indices)
        return new if indices is new.indices else with_fields(new, indices=indices)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        new = super().visit_call_(op)
        if not (e.is_call_of(op, "tir.tvm_access_ptr") and isinstance(new, e.Call)):
            return new
        memory = self._memory_of(op.args[1]) if isinstance(op.args[1], e.Var) else None
        if memory is None or memory.offset == 0:
            return new
        element = op.args[0].dtype
        start = ops.const(memory.offset // (element.bits * element.lanes), new.args[2].dtype)
        args = (*new.args[:2], ops.add(start, new.args[2]), *new.args[3:])
        return with_fields(new, args=args)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        if op.buffer_var in self._plan.memory or op.buffer_var in self._plan.unused:
            return self.visit_stmt(op.body)
        return super().visit_allocate_(op)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        if op.buffer in self._declared or op.buffer not in self._accessed:
            return self.visit_stmt(op.body)
        return super().visit_decl_buffer_(op)

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op not in self._nests:
            return super().visit_for_(op)
        low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
        return with_fields(op, min=low, extent=extent, body=self.scope(op, op.body))

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op not in self._nests:
            return super().visit_attr_stmt_(op)
        return with_fields(op, value=self.visit_expr(op.value), body=self.scope(op, op.body))


def _is_like(a: s.Allocate, b: s.Allocate) -> bool:
    return a.dtype is b.dtype and structural_equal(list(a.extents), list(b.extents))


def _one_for_each_tag(memories: list[Memory]) -> dict[Memory, s.Allocate]:
    """The allocation of each memory; those of one tagged scope become parts of the first."""
    leaders: dict[str, list[Memory]] = {}
    made: dict[Memory, s.Allocate] = {}
    for memory in memories:
        if is_tagged(memory.scope):
            leaders.setdefault(memory.scope, []).append(memory)
        else:
            made[memory] = _allocate(memory, _extents(memory))
    for scope, parts in leaders.items():
        made[parts[0]] = _allocate_parts(scope, parts)
    return {memory: made[memory] for memory in memories if memory in made}


def _allocate(memory: Memory, extents: tuple[PrimExpr, ...]) -> s.Allocate:
    op = memory.first
    return s.Allocate(memory.var, op.dtype, extents, True, s.Evaluate(0), span=op.span)


def _extents(memory: Memory) -> tuple[PrimExpr, ...]:
    """Room for the largest of all that lies there."""
    first = memory.first
    if all(_is_like(one.op, first) for one in memory.allocations):
        return first.extents
    unit = first.dtype.bits * first.dtype.lanes
    total: PrimExpr | None = None
    for one in memory.allocations:
        bits = ops.multiply(one.op.extents[0], one.op.dtype.bits * one.op.dtype.lanes)
        total = bits if total is None else ops.max_of(total, bits)
    assert total is not None, "memory is for something"
    return (Analyzer().simplify(ops.ceildiv(total, ops.const(unit, total.dtype))),)


def _allocate_parts(scope: str, parts: list[Memory]) -> s.Allocate:
    describe = get_global_func(PREFIX + scope, allow_missing=True)
    info = None if describe is None else describe()
    step = 32 if info is None else info.max_simd_bits
    total = 0
    for memory in parts:
        if not memory.bits:
            raise CheckError(
                message(
                    f"memory of scope {scope}",
                    found=f"{memory.var.name}, whose size is computed",
                    legal="sizes that are constants: memory with a tag is one allocation",
                )
            )
        memory.offset = total
        memory.var = parts[0].var
        total = -(-(total + memory.bits) // step) * step
    if info is not None and total > info.max_num_bits:
        raise CheckError(
            f"Allocation exceed bound of memory tag {scope}: {total} bits; legal: at most "
            f"{info.max_num_bits} bits"
        )
    first = parts[0].first
    if len(parts) == 1:
        return _allocate(parts[0], _extents(parts[0]))
    unit = first.dtype.bits * first.dtype.lanes
    return _allocate(parts[0], (ops.const(-(-total // unit), first.extents[0].dtype),))
