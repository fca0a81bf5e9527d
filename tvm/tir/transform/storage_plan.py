"""Which allocations share memory, and where that memory is allocated.

Memory is free again behind the last statement that uses it. An allocation takes, of what is free
in its scope, the least memory that is large enough, else the largest that is too small, which then
grows; up to sixteen times as large or small. A statement that stores `B[i] = f(A[i])`, the last use
of A and the first of B, computes in place.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import walk
from tvm.tir.op import arith as ops

from .in_place import is_in_place
from .storage_steps import Allocation, Step, Steps

RANGE: Final = 16
COMPUTED: Final = 0  # a size that is known when the program runs
_PARTED: Final = ("wmma", "m16n8k8", "metal", "amx")  # their scopes are kinds of registers
_REGISTERS: Final = ("warp", "local", *_PARTED)


class Memory:
    """Memory for several allocations that are never in use together."""

    __slots__ = ("allocations", "bits", "flat", "home", "offset", "scope", "var")

    def __init__(self, first: Allocation, bits: int, flat: bool) -> None:
        self.allocations: list[Allocation] = [first]
        self.bits = bits
        self.flat: Final = flat
        self.home: Final = first.home
        self.scope: Final = scope_of(first.op)
        self.var: e.Var = first.op.buffer_var
        self.offset = 0  # in bits, within memory that this is a part of

    @property
    def first(self) -> s.Allocate:
        return self.allocations[0].op


def scope_of(op: s.Allocate) -> str:
    """The scope that the pointer names."""
    return str(getattr(op.buffer_var.type_annotation, "storage_scope", "")) or "global"


def is_tagged(scope: str) -> bool:
    """A memory of the device's own, such as `local.L0A`."""
    rank, dot, tag = scope.partition(".")
    return bool(dot) and rank not in _PARTED and tag not in ("dyn", "workspace", "vtcm", "barrier")


class Plan:
    """The memory of each allocation, and the memories that each scope allocates."""

    def __init__(
        self,
        steps: Steps,
        body: s.Stmt,
        *,
        share: bool,
        same_types: bool,
        staying: frozenset[str] = frozenset(),
    ) -> None:
        """Scopes that are `staying` are allocated where they are."""
        self.memory: dict[e.Var, Memory] = {}
        self.by_scope: dict[s.Stmt | None, list[Memory]] = {}
        self._body = body
        self._share = share
        self._same_types = same_types
        self._allocations = steps.allocations
        self._free: list[Memory] = []
        self._in_place: set[e.Var] = set()
        self._kept = {
            var for var, one in steps.allocations.items()
            if scope_of(one.op) in staying or not _moves(one, steps, body)
        }  # fmt: skip
        for step, phase in steps.timeline:
            if phase != Steps.END:
                for var in step.born:
                    self._assign(var, step)
            if phase != Steps.BEGIN:
                for var in step.dying:
                    if var in self.memory and var not in self._in_place:
                        self._release(self.memory[var])
        self.unused: Final = {
            var for var, one in steps.allocations.items() if not one.steps and _is_plain(one.op)
        }

    def is_known(self, buffer: Buffer, home: s.Stmt | None) -> bool:
        """Whether all that the buffer's declaration uses is defined at the start of a scope."""
        parts = (*buffer.shape, *buffer.strides, buffer.elem_offset)
        return all(_is_known(part, home, self._body) for part in parts)

    def _assign(self, var: e.Var, step: Step) -> None:
        if var in self._kept:
            return
        one = self._allocations[var]
        bits, flat = _bits(one.op), _is_flat(one)
        memory = self._taken_over(one, bits, step)
        if memory is None and self._may_share(one.op, bits, flat):
            memory = self._found(one, bits)
        if memory is None:
            memory = Memory(one, bits, flat)
            self.by_scope.setdefault(one.home, []).append(memory)
        else:
            memory.allocations.append(one)
        self.memory[var] = memory

    def _taken_over(self, one: Allocation, bits: int, step: Step) -> Memory | None:
        """The memory of what the step reads for the last time where it stores to `one`."""
        op = one.op
        for source in step.dying:
            memory = self.memory.get(source)
            if memory is None or source in self._in_place:
                continue
            if (memory.scope, memory.home, memory.bits) != (scope_of(op), one.home, bits):
                continue
            if memory.first.dtype is not op.dtype:
                continue
            if is_in_place(step, op.buffer_var, source):
                self._in_place.add(source)
                return memory
        return None

    def _may_share(self, op: s.Allocate, bits: int, flat: bool) -> bool:
        """Registers are shared by themselves; so is what fits into one."""
        scope = scope_of(op)
        if not self._share or not flat:
            return False
        if is_tagged(scope):
            return True
        small = bits != COMPUTED and bits <= 32
        return not (small or scope.split(".")[0] in _REGISTERS or op.dtype.is_handle)

    def _found(self, one: Allocation, bits: int) -> Memory | None:
        op = one.op
        free = [
            (index, memory)
            for index, memory in enumerate(self._free)
            if memory.home is one.home and memory.scope == scope_of(op) and memory.flat
            and (not self._same_types or memory.first.dtype is op.dtype)
            and (memory.first.dtype is op.dtype or memory.first.dtype.lanes == op.dtype.lanes == 1)
        ]  # fmt: skip
        alike = [p for p in free if p[1].first.dtype.element_of() is op.dtype.element_of()]
        if bits == COMPUTED:
            fits = [p for p in alike if p[1].bits == COMPUTED][:1]
        else:
            known = [p for p in free if p[1].bits != COMPUTED]
            larger = [p for p in known if bits <= p[1].bits <= bits * RANGE]
            smaller = [p for p in alike if max(bits // RANGE, 1) <= p[1].bits < bits]
            fits = [min(larger, key=lambda p: p[1].bits)] if larger else []
            if not fits and smaller:
                fits = [max(smaller, key=lambda p: (p[1].bits, p[0]))]
        if not fits:
            return None
        memory = fits[0][1]
        memory.bits = max(memory.bits, bits)
        self._free.remove(memory)
        return memory

    def _release(self, memory: Memory) -> None:
        if self._may_share(memory.first, memory.bits, memory.flat):
            self._free.append(memory)


def _bits(op: s.Allocate) -> int:
    count = 1
    for extent in op.extents:
        if not isinstance(extent, e.IntImm):
            return COMPUTED
        count *= extent.value
    return count * op.dtype.bits * op.dtype.lanes


def _is_flat(one: Allocation) -> bool:
    """Memory of one dimension; of several, as textures have them, no parts are given away."""
    return len(one.op.extents) == 1 and not any(b.axis_separators for b in one.buffers)


def _is_plain(op: s.Allocate) -> bool:
    return ops.is_one(op.condition) and not op.annotations


def _moves(one: Allocation, steps: Steps, body: s.Stmt) -> bool:
    """Whether the memory may be allocated at its home instead of where it is now."""
    op = one.op
    if op.buffer_var in steps.fixed or not _is_plain(op):
        return False
    return all(_is_known(extent, one.home, body) for extent in op.extents)


def _is_known(extent: PrimExpr, home: s.Stmt | None, body: s.Stmt) -> bool:
    """Whether what the size is computed from is there where the memory moves to."""
    if isinstance(extent, e.IntImm):
        return True
    wanted = set()
    for node in walk(extent):
        if isinstance(node, (e.BufferLoad, e.Call)):
            return False  # which may change on the way
        if isinstance(node, (e.FloorDiv, e.FloorMod, e.Div, e.Mod)) and not ops.literal(node.b):
            return False  # by zero, where a loop around does not run
        if isinstance(node, e.Var):
            wanted.add(node)
    inside = body if home is None else home.body  # type: ignore[attr-defined]
    return all(_variable_of(node) not in wanted for node in walk(inside))


def _variable_of(node: object) -> e.Var | None:
    """The variable that a statement or expression gives values to."""
    if isinstance(node, s.For):
        return node.loop_var
    if isinstance(node, (s.LetStmt, e.Let)):
        return node.var
    launch = isinstance(node, s.AttrStmt) and isinstance(node.node, e.IterVar)
    return node.node.var if launch else None  # type: ignore[attr-defined]
