"""What a schedule does around each primitive: resolve names, check, apply, record, refuse.

Every request runs between `begin` and `commit` of the state, so that a refused one changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import Self

from tvm.arith import Analyzer
from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.support.checkpoint import checkpoint
from tvm.support.notes import note, watched
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import FloatImm, IntImm, StringImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute, vars_in
from tvm.tir.index_map import IndexMap
from tvm.tir.stmt import Block, For

from ._type_checker import type_explained
from .arguments import Arguments
from .error import RENDER_LEVELS, Illegal, ScheduleError, render
from .instruction import Instruction, InstructionKind, show_value
from .random_engine import RandomEngine
from .random_variable import BlockRV, LoopRV, RandVar, with_samples
from .state import ScheduleState
from .trace import Trace


class StaleVariableError(ScheduleError, ValueError, IndexError):
    """A variable of another schedule, or one whose block or loop was removed."""


class Recorder(Object):
    """A module with its srefs, a trace, and the random variables that stand for its parts."""

    def __init__(
        self,
        mod: PrimFunc | IRModule,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        if error_render_level not in RENDER_LEVELS:
            raise ValueError(
                'error_render_level can be "detail", "fast", or "none", '
                f"but got: {error_render_level}"
            )
        self._state = ScheduleState(mod, debug_mask=debug_mask, enable_check=enable_check)
        self._trace = Trace()
        self._engine = RandomEngine(seed)
        self._level = error_render_level
        self._values: dict[Any, Any] = {}  # random variable -> sref or number
        self._working_on: str | None = self._default_function()

    def _default_function(self) -> str | None:
        functions = self._state.mod.functions.items()
        names = [gvar.name_hint for gvar, func in functions if isinstance(func, PrimFunc)]
        if "main" in names:
            return "main"
        return names[0] if len(names) == 1 else None

    # --- reading ---

    @property
    def mod(self) -> IRModule:
        """The module as it is now."""
        return self._state.mod

    @property
    def state(self) -> ScheduleState:
        """The srefs of its blocks and loops."""
        return self._state

    @property
    def trace(self) -> Trace:
        """What was done so far."""
        return self._trace

    @property
    def func_working_on(self) -> Any:
        """The function that `get_block` looks in, as its global variable."""
        return None if self._working_on is None else self.mod.get_global_var(self._working_on)

    @type_explained
    def work_on(self, func_name: str) -> None:
        """Let `get_block` look in another function."""
        self.mod.get_global_var(func_name)
        self._working_on = func_name

    def copy(self) -> Self:
        """An independent schedule; the variables of this one work on both."""
        return self._with_engine(RandomEngine(self._engine.fork()))

    def twin(self) -> Self:
        """A copy that draws the same numbers: what is tried on it can be tried here as well."""
        return self._with_engine(RandomEngine(self._engine.state))

    def _with_engine(self, engine: RandomEngine) -> Self:
        other = type(self).__new__(type(self))
        other._state, srefs = self._state.copy()
        other._trace = self._trace.copy()
        other._engine = engine
        other._level = self._level
        other._working_on = self._working_on
        other._values = {
            rv: srefs.get(value, value) if isinstance(value, StmtSRef) else value
            for rv, value in self._values.items()
        }
        return other

    @type_explained
    def seed(self, seed: int) -> None:
        """Start sampling anew from a seed."""
        self._engine.state = RandomEngine.normalize(seed)

    def fork_seed(self) -> int:
        """A seed for another schedule that samples independently."""
        return self._engine.fork()

    def show(self, *args: Any, **kwargs: Any) -> None:
        """Print the module and the trace, in colours where the terminal has them."""
        self.mod.show(*args, **kwargs)
        self.trace.show(*args, **kwargs)

    @type_explained
    def get(self, rand_var_or_sref: RandVar | StmtSRef) -> Any:
        """The block, loop or int that a variable stands for now."""
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        if isinstance(rand_var_or_sref, PrimExpr):
            return self._number(rand_var_or_sref)
        return self._sref(rand_var_or_sref).stmt

    @type_explained
    def get_sref(self, rand_var_or_stmt: BlockRV | LoopRV | Block | For) -> StmtSRef:
        """The sref of a variable or statement."""
        if isinstance(rand_var_or_stmt, (Block, For)):
            return self._state.get_sref(rand_var_or_stmt)
        return self._sref(rand_var_or_stmt)

    @type_explained
    def remove_rv(self, rand_var: RandVar) -> None:
        """Forget a variable."""
        if self._values.pop(rand_var, None) is None:
            raise StaleVariableError(f"Schedule.remove_rv: {rand_var} is none of this schedule's")

    def _sref(self, rv: Any) -> StmtSRef:
        if not isinstance(rv, (BlockRV, LoopRV)):
            kind = type(rv).__name__
            raise TypeError(f"Schedule: a block or a loop of a schedule is wanted, found a {kind}")
        sref = self._values.get(rv)
        if not isinstance(sref, StmtSRef):
            raise StaleVariableError(
                f"Schedule: this {type(rv).__name__} was not made by this schedule, or was removed "
                "from it; legal: what get_block, get_loops and the primitives returned"
            )
        is_mark = sref is StmtSRef.inline_mark() or sref is StmtSRef.root_mark()
        if sref.stmt is None and not is_mark:
            what = "block" if isinstance(rv, BlockRV) else "loop"
            raise StaleVariableError(
                f"Schedule: the {what} no longer exists in the IRModule, an earlier primitive "
                "replaced it; legal: what that primitive returned, or get_block and get_loops again"
            )
        return sref

    def _number(self, expr: PrimExpr) -> int:
        value = self._known(expr)
        if not isinstance(value, IntImm):
            value = Analyzer().simplify(value)
        if not isinstance(value, IntImm):
            raise StaleVariableError(
                f"Schedule: {expr} is no number that this schedule sampled"
            )
        return value.value

    # --- running primitives ---

    def _run(
        self, kind: InstructionKind, rule: Callable[..., Any], /, **arguments: Any
    ) -> Any:
        """Check and apply a primitive, record it, and return variables for its results."""
        result = self._attempt(kind, rule, arguments)
        outputs = self._outputs(result)
        self._record(kind, arguments, outputs)
        if isinstance(result, list):
            return outputs
        return outputs[0] if outputs else None

    def _attempt(
        self, kind: InstructionKind, rule: Callable[..., Any], arguments: dict[str, Any]
    ) -> Any:
        checkpoint(kind.method)
        resolved = {name: self._resolve(kind, name, v) for name, v in arguments.items()}
        state = self._state
        state.begin()
        try:
            result = rule(state, **resolved)
        except Illegal as refusal:
            state.undo()
            raise refusal.error(self._message(refusal, kind, arguments)) from None
        except BaseException:
            state.undo()
            raise
        state.commit()
        state.debug_verify()
        return result

    def _message(
        self, refusal: Illegal, kind: InstructionKind, arguments: dict[str, Any]
    ) -> str:
        names = {rv: self._shown_name(rv) for rv in self._values}
        asked = kind.text(arguments, None, lambda v: show_value(v, names))
        return render(refusal, self.mod, kind.method, asked, self._level)

    def _shown_name(self, rv: Any) -> str:
        value = self._values[rv]
        if isinstance(value, StmtSRef):
            stmt = value.stmt
            if isinstance(stmt, Block):
                return stmt.name_hint
            return stmt.loop_var.name if isinstance(stmt, For) else "<removed>"
        return str(value)

    def _resolve(self, kind: InstructionKind, name: str, value: Any) -> Any:
        """An sref for a variable of a block or loop, a number for an expression over samples."""
        if isinstance(value, tuple):
            return tuple([self._resolve(kind, name, part) for part in value])
        if isinstance(value, list):
            return [self._resolve(kind, name, part) for part in value]
        if isinstance(value, (BlockRV, LoopRV)):
            Arguments.require_kind(kind.method, name, value)
            return self._sref(value)
        if isinstance(value, PrimExpr) and not isinstance(value, (FloatImm, StringImm)):
            return self._known(value)
        if isinstance(value, IndexMap):
            values = self._values
            return with_samples(value, {v: values[v] for v in value.samples() if v in values})
        Arguments.require_kind(kind.method, name, value)
        return value

    def _known(self, expr: PrimExpr) -> PrimExpr:
        """An expression over samples, with the samples that this schedule knows put in."""
        values = self._values
        known = {n: values[n] for n in vars_in(expr) if n in values}
        return substitute(expr, known) if known else expr

    def _outputs(self, result: Any) -> list[Any]:
        if result is None:
            return []
        if isinstance(result, list):
            return [self._output(part) for part in result]
        return [self._output(result)]

    def _output(self, value: StmtSRef | int) -> Any:
        if isinstance(value, StmtSRef):
            rv: Any = BlockRV() if isinstance(value.stmt, Block) else LoopRV()
            self._values[rv] = value
        else:
            rv = Var("v", "int32")
            self._values[rv] = IntImm("int32", value)
        return rv

    def _record(
        self, kind: InstructionKind, arguments: dict[str, Any], outputs: Sequence[Any],
        decision: Any = None,
    ) -> None:  # fmt: skip
        inputs, attrs = kind.pack(arguments)
        made = Instruction(kind, inputs, attrs, outputs)
        self._trace.append(made, decision)
        if watched():
            note(made)

    def _sample(
        self, kind: InstructionKind, draw: Callable[[], Any], arguments: dict[str, Any]
    ) -> Any:
        try:
            return draw()
        except Illegal as refusal:
            raise refusal.error(self._message(refusal, kind, arguments)) from None

    def _buffer_of(
        self, asked: str, block: BlockRV, buffer: Any, side: str | None = None
    ) -> tuple[str, int, Buffer]:
        node = self.get(block)
        return Arguments.find_buffer(asked, node, buffer, side)
