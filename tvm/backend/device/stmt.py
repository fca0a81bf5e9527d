"""Statements to the text of a language that looks like C.

Statements are worked off from an explicit stack, so neither long sequences nor deep nests need
Python recursion. Memory that threads share is declared where the kernel begins, since some
languages allow it nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tvm.backend.c_family.code import Code
from tvm.backend.c_family.unmasked import refuse_predicate
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.type import PointerType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import walk

from .expr import DeviceExprEmitter

_THREADS: Final = ("blockIdx", "threadIdx")


class Scratch(NamedTuple):
    """An allocation: where, of what, and how many elements (None: told at launch)."""

    var: e.Var
    dtype: DataType
    scope: str
    size: int | None


class DeviceStmtEmitter(DeviceExprEmitter):
    """Turns the body of a kernel into lines."""

    def emit(self, body: s.Stmt) -> None:
        """Append the text of `body` and of all that it contains."""
        self.volatile: set[e.Var] = set()
        for one in self.shared_memory(body):
            self.declare_shared(one)
        super().emit(body)

    def begin_statement(self) -> None:
        self._wholes, self._declared = {}, set()

    # --- memory ---

    def shared_memory(self, body: s.Stmt) -> Iterator[Scratch]:
        """What the threads of a block share."""
        for node in walk(body):
            if isinstance(node, s.AttrStmt) and node.attr_key == "volatile_scope":
                self.volatile.add(node.node)  # type: ignore[arg-type]
            if isinstance(node, s.Allocate):
                scratch = self.scratch(node)
                if scratch.scope.startswith("shared"):
                    yield scratch

    def scratch(self, op: s.Allocate) -> Scratch:
        """The facts of an allocation."""
        scope = storage_scope(op.buffer_var)
        count: int | None = op.dtype.lanes
        for extent in op.extents:
            if isinstance(extent, e.IntImm) and count is not None:
                count *= extent.value
            else:
                count = None
        if count is None and scope != "shared.dyn":
            self.refuse(f"scratch memory {op.buffer_var.name}", "a size known only at run time",
                        "constant sizes; scope shared.dyn for one told at launch")  # fmt: skip
        return Scratch(op.buffer_var, op.dtype.element_of(), scope, count)

    def declare_shared(self, one: Scratch) -> None:
        """Declare memory that the threads of a block share."""
        raise NotImplementedError

    def declare_own(self, one: Scratch) -> None:
        """Declare memory of one thread."""
        kind, name = self.memory_type(one.dtype), self.out.fresh(one.var.name)
        assert one.size is not None, "sizes were checked"
        self.declare_array(kind, name, max(one.size, 1))
        self.declare_pointer(one.var, name, kind)

    def declare_pointer(self, var: e.Var, name: str, kind: str) -> None:
        """Note a pointer's name in the code and the type that it points to."""
        self.values[var] = Code(name)
        self.pointees[var] = kind

    def visit_allocate_(self, op: s.Allocate) -> None:
        one = self.scratch(op)
        if one.scope.startswith("shared"):
            pass  # declared where the kernel begins
        elif one.scope in ("local", ""):
            self.declare_own(one)
        else:
            self.declare_special(one)
        self._work.append(op.body)

    def declare_special(self, one: Scratch) -> None:
        """Declare memory of a scope that only some languages have."""
        self.refuse(f"memory {one.var.name} of scope {one.scope!r}", "no such memory",
                    "scopes shared and local; CUDA has wmma.*, Metal metal.simdgroup")  # fmt: skip

    def visit_allocate_const_(self, op: s.AllocateConst) -> None:
        if op.data is None:
            self.refuse(f"constant {op.buffer_var.name}", "it holds no data", "constants with data")
        element = op.dtype.element_of()
        flat = op.data.numpy().reshape(-1).tolist()
        literal = self.float_literal if element.is_floating else self.int_literal
        words = [literal(element, v) for v in flat]
        name, kind = self.out.fresh(op.buffer_var.name), self.memory_type(element)
        self.declare_constant(kind, name, words or ["0"])
        self.declare_pointer(op.buffer_var, name, kind)
        self._work.append(op.body)

    def declare_constant(self, kind: str, name: str, words: list[str]) -> None:
        """An array of constants."""
        self.out.line(f"const {kind} {name}[{len(words)}] = {{{', '.join(words)}}};")

    # --- plain statements ---

    def evaluate(self, value: PrimExpr) -> None:
        if value.dtype.is_vector and not self.has_vector(value.dtype):
            texts = [self.lane_of(value, n) for n in range(value.dtype.lanes)]
        else:
            texts = [self.value(value)]
        for text in texts:
            if text not in ("", "0"):
                self.out.line(self.discard(value, text))

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        refuse_predicate(op)
        if op.value.dtype.is_scalar:
            self._store(op, None, self.lane_of(op.value, None))
            return
        start = self.run_of(op.buffer, op.indices, op.value.dtype)
        if start is not None:
            value = self.whole(op.value)
            self.store_vector(op, start, value)
            return
        # all lanes are read before the first is written
        count = op.value.dtype.lanes
        lanes = [self.lane_of(op.value, n) for n in range(count)]
        if _reads_itself(op):
            element = op.value.dtype.element_of()
            lanes = [self.temp(element, lane) for lane in lanes]
        for n, lane in enumerate(lanes):
            self._store(op, n, lane)

    def store_vector(self, op: s.BufferStore, start: PrimExpr, value: str) -> None:
        """Store neighbouring elements at once."""
        self.out.line(f"{self.vector_access(op.buffer, start, op.value.dtype)} = {value};")

    def _store(self, op: s.BufferStore, lane: int | None, value: str) -> None:
        index = self.lane_of(self.index_of(op.buffer, op.indices, lane), None)
        stored = self.to_memory(op.value.dtype.element_of(), value)
        self.out.line(f"{self.element(op.buffer, index)} = {stored};")

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.let(op.var, op.value)
        self._work.append(op.body)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        if op.attr_key == "thread_extent" and isinstance(op.node, e.IterVar):
            self._bind_thread(op.node, op.value)
        elif op.attr_key == "virtual_thread":
            self.refuse("virtual threads", "they are still there",
                        "programs that went through tir.InjectVirtualThread")  # fmt: skip
        else:
            self.attribute(op)
        self._work.append(op.body)

    def attribute(self, op: s.AttrStmt) -> None:
        """An attribute that says something to this language."""

    def _bind_thread(self, thread: e.IterVar, extent: PrimExpr) -> None:
        tag = thread.thread_tag
        if tag.split(".")[0] not in _THREADS:
            self.refuse(f"threads {tag!r}", "no such threads",
                        "blockIdx.x, .y, .z and threadIdx.x, .y, .z")  # fmt: skip
        self.values[thread.var] = Code(self.thread_number(tag, thread.var.dtype))
        self.analyzer.bind(
            thread.var, Range.from_min_extent(0, extent), allow_override=True
        )

    def thread_number(self, tag: str, dtype: DataType) -> str:
        """The number of this thread, or of its block, along an axis."""
        return self.convert_thread(tag, dtype)

    def convert_thread(self, tag: str, dtype: DataType) -> str:
        """The language's name of a thread number, in the type that is asked for."""
        return f"(({self.type_of(dtype)}){tag})"

    def visit_assert_stmt_(self, op: s.AssertStmt) -> None:
        self._work.append(op.body)  # a kernel cannot fail: the host checks what it is given

    # --- branches and loops ---

    def condition(self, expr: PrimExpr) -> str:
        return _bare(self.lane_of(expr, None))

    def visit_while_(self, op: s.While) -> None:
        out = self.out
        out.open(self.endless())
        out.line(f"if (!({self.lane_of(op.condition, None)})) {{ break; }}")
        self._work += [out.close, op.body]

    def endless(self) -> str:
        """The head of a loop that only a jump leaves."""
        return "while (1) {"

    def visit_for_(self, op: s.For) -> None:
        if op.kind is s.ForKind.THREAD_BINDING:
            self.refuse(f"loop {op.loop_var.name}", "it is still bound to threads",
                        "launches; tir.LowerOpaqueBlock makes them of bound loops")  # fmt: skip
        if isinstance(op.extent, e.IntImm) and op.extent.value <= 0:
            return
        start = self.lane_of(op.min, None)
        if isinstance(op.min, e.IntImm) and op.min.value == 0:
            stop = self.lane_of(op.extent, None)
        else:
            stop = self.lane_of(self.analyzer.simplify(op.min + op.extent), None)
        if op.kind is s.ForKind.UNROLLED:
            self.unrolled()
        name = self.out.fresh(op.loop_var.name)
        self.values[op.loop_var] = Code(name)
        self.analyzer.bind(
            op.loop_var, Range.from_min_extent(op.min, op.extent), allow_override=True
        )
        self.out.open(self.loop_head(op.loop_var.dtype, name, start, stop))
        self._work += [self.out.close, op.body]

    def unrolled(self) -> None:
        """Ask the compiler to unroll the loop that follows."""

    def loop_head(self, dtype: DataType, name: str, start: str, stop: str) -> str:
        """The head of a counted loop."""
        kind = self.type_of(dtype)
        return f"for ({kind} {name} = {start}; {name} < {stop}; ++{name}) {{"

    def jump(self, how: str) -> str:
        self.out.line(f"{how};")
        return ""


def waits_for_warp(body: s.Stmt) -> bool:
    """Whether threads of a warp wait for each other in a statement."""
    return any(
        e.is_call_of(node, "tir.tvm_storage_sync")
        and isinstance(node.args[0], e.StringImm)
        and node.args[0].value == "warp"
        for node in walk(body)
    )


def storage_scope(var: e.Var) -> str:
    """The scope of the memory that a variable points to."""
    kind = var.type_annotation
    return kind.storage_scope if isinstance(kind, PointerType) else ""


def _bare(text: str) -> str:
    """The text without brackets around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for n, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and n < len(text) - 1:
            return text
    return text[1:-1]


def _reads_itself(op: s.BufferStore) -> bool:
    """Whether the value reads the memory that the store changes."""
    return any(
        isinstance(node, e.BufferLoad) and node.buffer.data is op.buffer.data
        for node in walk(op.value)
    )
