"""Statements to LLVM text.

Statements are worked off from an explicit stack, so neither long sequences nor deep nests need
Python recursion: a visit appends instructions and pushes what is to follow (a statement, or a step
that closes what the visit opened).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from tvm.backend.host_functions import (
    callee_of,
    constant_data,
    error_words,
    refuse_threads,
)
from tvm.backend.operands import require_run_once
from tvm.error import CheckError
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.op import Op
from tvm.ir.span import Span
from tvm.ir.type import PrimType
from tvm.support.compiled import mypyc_attr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import uses_any, walk
from tvm.tir.op import arith as ops
from tvm.tir.transform.lower_workspaces import ON_FAILURE
from tvm.tir.transform.outline_parallel_loops import (
    MAX_ITERATIONS,
    is_own_memory,
    is_tensor_data,
)
from tvm.tir.transform.stack_memory import checked_stack_bytes

from .debug import DebugLocations
from .expr import INT64, ExprEmitter
from .function_text import FunctionText
from .guards import Guards
from .intrinsics import INTRINSICS
from .memory import MemoryEmitter
from .polls import Polls
from .types import element_bytes, memory_element, quoted, value_type

MESSAGE_BYTES: Final = 1024  # of an error's text with values in it; more is cut off

Work = s.Stmt | Callable[[], None]


_BITWISE: Final = frozenset(
    f"tir.{name}"
    for name in ("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "shift_left",
                 "shift_right")
)  # fmt: skip
UNROLL_COUNT: Final = "llvm.loop.unroll.count"  # of a loop: LLVM unrolls it by so much, and no more
_WORTH_VECTORS: Final = 16  # iterations of a loop that LLVM vectorises at all
_NOT_VECTORIZED: Final = '!{!"llvm.loop.vectorize.enable", i1 false}'


class Loop(NamedTuple):
    """Where `continue` and `break` go."""

    next_label: str
    exit_label: str


@dataclass
class Failure:
    """What is to be done where something fails, and then what is around it; none: to return."""

    calls: tuple[PrimExpr, ...] = ()
    outer: Failure | None = None
    label: str | None = None  # of the block that does it, once something jumps there


@mypyc_attr(allow_interpreted_subclasses=True)
class StmtEmitter(MemoryEmitter):
    """Turns the body of a function into blocks and instructions."""

    def __init__(self, out: FunctionText) -> None:
        super().__init__(out)
        self.debug: DebugLocations | None = None
        self.debug_node = ""
        self._work: list[Work] = []
        self._loops: list[Loop] = []
        self._failure = Failure()
        self._failures: list[Failure] = []  # those that something jumps to
        self._message: str | None = None
        self.polls = Polls(self, out.signature.name)
        self.guards = Guards(self)

    def emit(self, body: s.Stmt) -> None:
        """Append the code of `body` and of all that it contains."""
        self._work.append(body)
        while self._work:
            item = self._work.pop()
            if isinstance(item, s.Stmt):
                self.at(item.span)
                self.visit_stmt(item)
            else:
                item()

    def at(self, span: Span | None) -> None:
        """Instructions from here on belong to this location in the source."""
        if self.debug is not None and self.debug.lines and span is not None:
            location = self.debug.location(self.debug_node, span)
            self.out.debug_suffix = f", !dbg {location}"

    def describe(self, debug: DebugLocations | None, span: Span | None) -> None:
        """Give the function a source location, and its instructions until a statement has one."""
        self.debug = debug
        if debug is None:
            return
        self.debug_node = debug.function(self.out.signature.name, span)
        self.out.debug_function = f" !dbg {self.debug_node}"
        self.out.call_suffix = f", !dbg {debug.location(self.debug_node, span)}"
        if debug.lines:
            self.out.debug_suffix = self.out.call_suffix
        if self.out.signature.packed:
            return  # their parameters are the same everywhere
        for number, (kind, name) in enumerate(zip(self.out.signature.params, self.out.params), 1):
            if debug.has_type(kind):
                self.out.line(debug.parameter(self.debug_node, number, kind, name))

    def close(self) -> None:
        """End the function: success, then the blocks that failures go to."""
        self.guards.check(self.polls.kernel)
        self.return_value("0" if self.out.signature.fallible else None)
        for failure in self._failures:  # which grow by those around them
            assert failure.label is not None, "something jumps there"
            self.out.out_of_order()
            self.out.begin(failure.label)
            for call in failure.calls:
                self.visit_data(call)
            if failure.outer is None:
                self.return_value("-1")
            else:
                self.out.line(f"br label %{self._label(failure.outer)}")
        self.out.finish()

    # --- leaving and failing ---

    def return_value(self, value: str | None) -> None:
        """Return from the function."""
        result = self.out.signature.result
        if result == "void":
            self.out.line("ret void")
            return
        if value is None or (value == "-1" and not self.out.signature.fallible):
            value = "zeroinitializer"
        self.out.line(f"ret {result} {value}")

    def fail_label(self) -> str:
        """The block that returns a failure from here."""
        return self._label(self._failure)

    def _label(self, failure: Failure) -> str:
        if failure.label is None:
            failure.label = self.out.label("fail")
            self._failures.append(failure)
        return failure.label

    def check(self, status: str) -> None:
        """Go on if `status` is zero, else return the failure."""
        ok = self.out.label("ok")
        bad = self.out.temp(f"icmp ne i32 {status}, 0")
        self.out.line(f"br i1 {bad}, label %{self.fail_label()}, label %{ok}{self.unlikely()}")
        self.out.begin(ok)

    def unlikely(self) -> str:
        return ", !prof " + self.module.shared_metadata('!{!"branch_weights", i32 1, i32 2000}')

    def unreachable_from_here(self) -> None:
        """Open a block for code after a jump; nothing leads to it."""
        self.out.begin(self.out.label("after"))

    # --- plain statements ---

    def visit_seq_stmt_(self, op: s.SeqStmt) -> None:
        self._work.extend(reversed(op.seq))

    def visit_evaluate_(self, op: s.Evaluate) -> None:
        if not isinstance(op.value, (e.IntImm, e.Var)):
            self.visit_data(op.value)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        self.emit_store(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.values[op.var] = self.visit_data(op.value)
        if is_tensor_data(op.value):
            self._assume_aligned(op.var)
        if is_own_memory(op.value):
            self.guards.name(self.values[op.var], op.var.name)
        self._work.append(op.body)

    def _assume_aligned(self, data: e.Var) -> None:
        """Tell LLVM what the checks at the entry have shown: no element lies across two."""
        pointee = getattr(data.type_annotation, "element_type", None)
        if not isinstance(pointee, PrimType) or pointee.dtype.is_custom:
            return
        size = element_bytes(pointee.dtype)
        if size in (2, 4, 8):
            callee = self.module.declare("llvm.assume", "void", "i1")
            fact = f'[ "align"(ptr {self.values[data]}, i64 {size}) ]'
            self.out.line(f"call void {callee}(i1 true) {fact}")

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        refuse_threads(op, "machine code", self.out.signature.name)
        if op.attr_key == "pragma_import_llvm" and isinstance(op.value, e.StringImm):
            self.module.imported.append(op.value.value)
        if op.attr_key.startswith("pragma_aarch64") and isinstance(op.value, e.StringImm):
            self.out.add_attribute(op.value.value)
        if op.attr_key == "volatile_scope" and isinstance(op.node, e.Var):
            self.volatile.add(op.node)
        if op.attr_key == "coproc_uop_scope":
            self.run_once(op)
            return
        if op.attr_key == ON_FAILURE:
            self._on_failure(op)
            return
        self._work.append(op.body)

    def _on_failure(self, op: s.AttrStmt) -> None:
        assert isinstance(op.value, e.Call), "a tuple of calls"
        outer, self._failure = self._failure, Failure(op.value.args, self._failure)

        def close() -> None:
            self._failure = outer

        self._work += [close, op.body]

    def run_once(self, op: s.AttrStmt) -> None:
        """Only the first call of the function, of all threads, does what is inside."""
        require_run_once(op, self.out.signature.name)
        out, mark = self.out, self.module.slot(f"{self.out.signature.name}.once")
        found = out.temp(f"atomicrmw xchg ptr {mark}, i32 1 seq_cst, align 4")
        first = out.temp(f"icmp eq i32 {found}, 0")
        inside, after = out.label("once"), out.label("done")
        out.line(f"br i1 {first}, label %{inside}, label %{after}")
        out.begin(inside)

        def close() -> None:
            out.line(f"br label %{after}")
            out.begin(after)

        self._work += [close, op.body]

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> None:
        self._work.append(op.body)

    def visit_assert_stmt_(self, op: s.AssertStmt) -> None:
        out = self.out
        holds = self.visit_data(op.condition)
        ok, bad = out.label("assert.ok"), out.label("assert.fail")
        out.line(f"br i1 {holds}, label %{ok}, label %{bad}{self._likely()}")
        out.begin(bad)
        self._raise(op.message)
        out.line(f"br label %{self.fail_label()}")
        out.begin(ok)
        self._work.append(op.body)

    def _likely(self) -> str:
        return ", !prof " + self.module.shared_metadata('!{!"branch_weights", i32 2000, i32 1}')

    def _raise(self, text: PrimExpr) -> None:
        """Set the error that the caller will see."""
        kind, words, values = error_words(text)
        operand = self._formatted(words, values) if values else self.module.string(words)
        callee = self.module.declare("TVMFFIErrorSetRaisedFromCStr", "void", "ptr, ptr")
        self.out.line(f"call void {callee}(ptr {self.module.string(kind)}, ptr {operand})")

    def _formatted(self, words: str, values: tuple[PrimExpr, ...]) -> str:
        """The words with values for each `{}`; made on the stack when the error happens."""
        form, operands = words.replace("%", "%%"), []
        for value in values:
            held = self.visit_data(value)
            dtype = value.dtype
            if dtype.is_floating:
                operands.append(f"double {self.cast(dtype, DataType('float64'), held)}")
                form = form.replace("{}", "%g", 1)
            elif dtype.is_handle:
                operands.append(f"ptr {held}")
                form = form.replace("{}", "%s", 1)
            else:
                operands.append(f"i64 {self.cast(dtype, INT64, held)}")
                form = form.replace("{}", "%lld", 1)
        if self._message is None:  # one for all messages: a call fails once
            self._message = self.out.alloca("i8", MESSAGE_BYTES, 16, "message")
        room = self._message
        callee = self.module.declare("snprintf", "i32", "ptr, i64, ptr, ...")
        fixed = [f"ptr {room}", f"i64 {MESSAGE_BYTES}", f"ptr {self.module.string(form)}"]
        given = ", ".join([*fixed, *operands])
        self.out.temp(f"call i32 (ptr, i64, ptr, ...) {callee}({given})")
        return room

    # --- branches and loops ---

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        out = self.out
        chosen = self.visit_data(ops.cast(op.condition, "bool"))
        yes, after = out.label("then"), out.label("endif")
        no = out.label("else") if op.else_case is not None else after
        out.line(f"br i1 {chosen}, label %{yes}, label %{no}")
        out.begin(yes)

        def close() -> None:
            out.line(f"br label %{after}")
            out.begin(after)

        def turn() -> None:
            out.line(f"br label %{after}")
            out.begin(no)

        self._work.append(close)
        if op.else_case is not None:
            self._work += [op.else_case, turn]
        self._work.append(op.then_case)

    def visit_while_(self, op: s.While) -> None:
        out = self.out
        head, body, after = out.label("while"), out.label("do"), out.label("done")
        amount = self.polls.count(op)
        out.line(f"br label %{head}")
        out.begin(head)
        holds = self.visit_data(ops.cast(op.condition, "bool"))
        out.line(f"br i1 {holds}, label %{body}, label %{after}")
        out.begin(body)
        latch = out.label("again")
        self._loops.append(Loop(latch, after))
        self.narrow.enter()

        def close() -> None:
            self._loops.pop()
            out.line(f"br label %{latch}")
            out.begin(latch)
            if amount is not None:
                self.polls.spend(amount)
            hint = "" if self.narrow.leave() else self._hint([_NOT_VECTORIZED])
            out.line(f"br label %{head}{hint}")
            out.begin(after)

        self._work += [close, op.body]

    def visit_for_(self, op: s.For) -> None:
        refuse_threads(op, "machine code", self.out.signature.name)
        start = self.visit_index(op.min)
        extent = self.visit_index(op.extent)
        kind = value_type(op.loop_var.dtype)
        known = op.extent.value if isinstance(op.extent, e.IntImm) else None
        stop = extent
        if not (isinstance(op.min, e.IntImm) and op.min.value == 0):
            stop = self.out.temp(f"add nsw {kind} {start}, {extent}")
        self.counted_loop(op, start, stop, known)

    def counted_loop(self, op: s.For, start: str, stop: str, extent: int | None = None) -> None:
        """Run the body for loop_var in [start, stop); `extent` is the count where it is known."""
        if extent is not None and extent <= 0:
            return
        told = op.annotations.get(MAX_ITERATIONS)
        most = int(told) if isinstance(told, (int, e.IntImm)) else extent
        piece = self.polls.cut(op, most, len(self._loops))
        if piece is not None:
            self._cut_loop(op, start, stop, piece)
        else:
            self._whole_loop(op, start, stop, extent)

    def _cut_loop(self, op: s.For, start: str, stop: str, piece: int) -> None:
        """Run the loop in pieces of so many iterations, and poll after each."""
        out, kind = self.out, value_type(op.loop_var.dtype)
        head, after = out.label("piece"), out.label("end.pieces")
        some = out.temp(f"icmp slt {kind} {start}, {stop}")
        out.line(f"br i1 {some}, label %{head}, label %{after}")
        before = out.block
        out.begin(head)
        first = out.named("first")
        phi_row = out.mark()
        left = out.temp(f"sub {kind} {stop}, {first}")
        last = out.temp(f"icmp sle {kind} {left}, {piece}")
        further = out.temp(f"add {kind} {first}, {piece}")
        end = out.temp(f"select i1 {last}, {kind} {stop}, {kind} {further}")

        def close() -> None:
            latch, go_on = out.label("piece.end"), out.label("go.on")
            out.line(f"br i1 {last}, label %{after}, label %{latch}")
            out.begin(latch)
            self.polls.look_up(go_on)
            out.patch(
                phi_row, f"{first} = phi {kind} [ {start}, %{before} ], [ {end}, %{out.block} ]"
            )
            out.line(f"br label %{head}")
            out.begin(after)

        self._work.append(close)
        self._whole_loop(op, first, end, None, after)

    def _whole_loop(
        self, op: s.For, start: str, stop: str, extent: int | None, leave: str | None = None
    ) -> None:
        """The loop itself; `break` goes behind it, or to the label `leave`."""
        out, kind = self.out, value_type(op.loop_var.dtype)
        name = op.loop_var.name
        amount = self.polls.count(op)
        head, after = out.label(f"for.{name}"), out.label(f"end.{name}")
        if extent is None:
            some = out.temp(f"icmp slt {kind} {start}, {stop}")
            out.line(f"br i1 {some}, label %{head}, label %{after}")
        else:
            out.line(f"br label %{head}")
        before = out.block
        out.begin(head)
        var = out.named(name)
        phi_row = out.mark()
        self.values[op.loop_var] = var
        latch = out.label(f"next.{name}")
        self._loops.append(Loop(latch, leave or after))
        self.narrow.enter()

        def close() -> None:
            self._loops.pop()
            out.line(f"br label %{latch}")
            out.begin(latch)
            if amount is not None:
                self.polls.spend(amount)
            step = out.temp(f"add nsw {kind} {var}, 1")
            more = out.temp(f"icmp slt {kind} {step}, {stop}")
            hint = self._loop_hint(op)
            out.line(f"br i1 {more}, label %{head}, label %{after}{hint}")
            back = f"[ {step}, %{out.block} ]"
            out.patch(phi_row, f"{var} = phi {kind} [ {start}, %{before} ], {back}")
            out.begin(after)

        self._work += [close, op.body]

    def _loop_hint(self, op: s.For) -> str:
        """What LLVM should do with a loop that nobody has unrolled or vectorised yet."""
        unroll = ['!{!"llvm.loop.unroll.full"}'] if op.kind is s.ForKind.UNROLLED else []
        if UNROLL_COUNT in op.annotations:
            unroll = [f'!{{!"{UNROLL_COUNT}", i32 {op.annotations[UNROLL_COUNT]}}}']
        if not self.narrow.leave():
            return self._hint([*unroll, _NOT_VECTORIZED])
        if op.kind is s.ForKind.VECTORIZED:
            return self._hint(['!{!"llvm.loop.vectorize.enable", i1 true}'])
        if op.kind is s.ForKind.UNROLLED:
            return self._hint(unroll)
        return self._hint([*unroll, *self._scalable_wish(op)])

    def _hint(self, wishes: list[str]) -> str:
        """What is said of a loop, behind its last jump."""
        if not wishes:
            return ""
        nodes = ", ".join(self.module.shared_metadata(wish) for wish in wishes)
        return f", !llvm.loop {self.module.metadata(f'distinct !{{{{self}}, {nodes}}}')}"

    def _scalable_wish(self, op: s.For) -> list[str]:
        """Loops over elements, in masked vectors of SVE's: no remainder is left to scalars.

        LLVM itself takes minima and comparisons of floats for dear in such vectors, wrongly.
        """
        if "aarch64" not in self.module.machine_triple or not (
            self.module.has_feature("sve") or self.module.has_feature("sve2")
        ):
            return []
        nodes = list(walk(op.body))
        if _is_short(op.extent) or not all(map(_is_element_by_element, nodes)):
            return []
        stores = [node for node in nodes if isinstance(node, s.BufferStore)]
        if not all(uses_any(store.indices[-1], {op.loop_var}) for store in stores):
            return []  # sums, of which LLVM makes scalable ones where it may itself
        widths = [n.dtype.bits for n in nodes if isinstance(n, e.BufferLoad)]
        if not widths:
            return []
        return [
            f'!{{!"llvm.loop.vectorize.width", i32 {max(128 // max(widths), 1)}}}',
            '!{!"llvm.loop.vectorize.scalable.enable", i1 true}',
            '!{!"llvm.loop.vectorize.predicate.enable", i1 true}',
            '!{!"llvm.loop.interleave.count", i32 2}',
        ]

    def jump(self, to_next: bool) -> None:
        """Leave the innermost loop, or go to its next iteration."""
        if not self._loops:
            raise CheckError("break_loop and continue_loop need a serial loop around them")
        loop = self._loops[-1]
        self.out.line(f"br label %{loop.next_label if to_next else loop.exit_label}")
        self.unreachable_from_here()

    # --- memory ---

    def visit_allocate_(self, op: s.Allocate) -> None:
        size = checked_stack_bytes(op, self.out.signature.name)
        kind, count = memory_element(op.dtype), max(size // element_bytes(op.dtype), 1)
        self.values[op.buffer_var] = self.out.alloca(kind, count, 64, op.buffer_var.name)
        self._work.append(op.body)

    def visit_allocate_const_(self, op: s.AllocateConst) -> None:
        self.values[op.buffer_var] = self.module.constant(constant_data(op), op.buffer_var.name)
        self._work.append(op.body)

    # --- calls ---

    def rule_of(self, op: Op) -> Callable[[ExprEmitter, e.Call], str] | None:
        return INTRINSICS.get(op.name)  # type: ignore[return-value]

    def call_global(self, op: e.Call) -> str:
        assert isinstance(op.op, GlobalVar), "the caller looked"
        return self.call_function(op.op.name_hint, op.args)

    def call_function(self, name: str, args: tuple[PrimExpr, ...]) -> str:
        """A direct call of a function of this module; a failure is passed on."""
        signature = callee_of(self.module.signatures, name, args, self.out.signature.name)
        if not signature.outlined:
            self.narrow.calls()
        given = ", ".join(f"{k} {self.visit_data(a)}" for k, a in zip(signature.params, args))
        call = f"call {signature.result} {quoted(signature.name)}({given})"
        if signature.result == "void":
            self.out.line(call)
            return ""
        result = self.out.temp(call)
        if signature.fallible:
            self.check(result)
            if not signature.outlined:
                self.guards.check(name)
                self.polls.after_call()
        return result


def _is_short(extent: PrimExpr) -> bool:
    """Whether a loop has too few iterations for vectors."""
    most = extent.b if isinstance(extent, (e.FloorMod, e.Mod, e.Min)) else extent
    return isinstance(most, e.IntImm) and most.value < _WORTH_VECTORS


def _is_element_by_element(node: object) -> bool:
    """A store, or scalar arithmetic."""
    if isinstance(node, PrimExpr) and node.dtype.lanes > 1:
        return False
    if isinstance(node, e.Call):
        return isinstance(node.op, Op) and node.op.name in _BITWISE
    return isinstance(node, (PrimExpr, s.BufferStore, s.SeqStmt, Op))
