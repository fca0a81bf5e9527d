"""Code that looks up: see `interruption` for what it hears, and `work` for how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.runtime.imports import FFI_PREFIX
from tvm.tir import stmt as s

from . import work
from .types import quoted
from .work import Work, work_of_loops

if TYPE_CHECKING:
    from .stmt import StmtEmitter

POLL: Final = "tvm_rt_poll"
_DEEPEST: Final = 1  # loops of unknown extents further inside are taken for short
_SYSTEMS: Final = ("linux", "darwin", "macos")


class Polls:
    """The polls of one function of the output; `kernel` is the name that errors tell."""

    def __init__(
        self, emit: StmtEmitter, kernel: str, loops: dict[int, Work] | None = None
    ) -> None:
        self._emit = emit
        self._budget: str | None = None
        self.kernel = kernel
        self.loops = loops or {}
        self.is_heard = loops is not None

    @classmethod
    def of_function(cls, emit: StmtEmitter, kernel: str, body: s.Stmt) -> Polls:
        """The polls of a function with this body; of none where nothing could be heard."""
        module = emit.module
        is_heard = emit.out.signature.fallible and any(
            system in module.machine_triple for system in _SYSTEMS
        )
        return cls(emit, kernel.removeprefix(FFI_PREFIX), work_of_loops(body) if is_heard else None)

    def cut(self, op: s.For, extent: int | None, depth: int) -> int | None:
        """How many iterations make a piece of a loop that has to be cut, in so many loops."""
        found = self.loops.get(id(op))
        if found is None or (extent is None and depth > _DEEPEST):
            return None
        return work.pieces(op.kind, self._here(found), extent)

    def count(self, op: s.For | s.While) -> str | None:
        """The operand for the work of an iteration, made before the loop; None: not counted."""
        found = self.loops.get(id(op))
        if found is None:
            return None
        found = self._here(found)
        if isinstance(op, s.For) and not work.counts(op.kind, found):
            return None
        if not found.terms:
            return str(max(found.fixed, 1))
        return self._emit.as_int64(found.as_expr())

    def _here(self, found: Work) -> Work:
        return found.within(self._emit.values)

    def spend(self, amount: str) -> None:
        """Take an amount of work from the budget, and look up when it is used up."""
        out = self._emit.out
        if self._budget is None:
            self._budget = out.variable("i64", str(work.BUDGET), "budget")
        held = out.temp(f"load i64, ptr {self._budget}, align 8")
        left = out.temp(f"sub i64 {held}, {amount}")
        out.line(f"store i64 {left}, ptr {self._budget}, align 8")
        spent = out.temp(f"icmp slt i64 {left}, 0")
        due, go_on = out.label("poll"), out.label("go.on")
        out.line(f"br i1 {spent}, label %{due}, label %{go_on}{self._emit.unlikely()}")
        out.begin(due)
        out.line(f"store i64 {work.BUDGET}, ptr {self._budget}, align 8")
        self.look_up(go_on)

    def after_call(self) -> None:
        """A kernel was called."""
        if self.is_heard and self._emit.out.signature.fallible:
            self.spend(str(work.CALL))

    def look_up(self, go_on: str) -> None:
        """Poll; then go to the label `go_on`, or fail."""
        out, module = self._emit.out, self._emit.module
        function = quoted(POLL)
        weak = "linux" in module.machine_triple  # whoever links code by itself may lack the runtime
        if weak:
            module.declare_weak(POLL, "i32", "ptr")
            here, missing = out.label("heard"), out.temp(f"icmp eq ptr {function}, null")
            out.line(f"br i1 {missing}, label %{go_on}, label %{here}")
            out.begin(here)
        else:
            module.declare(POLL, "i32", "ptr")
        status = out.temp(f"call i32 {function}(ptr {module.string(self.kernel)})")
        stop = out.temp(f"icmp ne i32 {status}, 0")
        failed = self._emit.fail_label()
        out.line(f"br i1 {stop}, label %{failed}, label %{go_on}{self._emit.unlikely()}")
        out.begin(go_on)
