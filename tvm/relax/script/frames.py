"""The frames of Relax: functions, blocks and branches under construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, cast

from tvm.error import ScriptError
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.relax.analysis.variables import free_vars
from tvm.relax.base_expr import LeafExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Constant,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    Var,
)
from tvm.relax.normalize import merge_blocks
from tvm.script.ir_builder.base import IRBuilder, IRBuilderFrame, register_namer, rename


class RelaxFrame(IRBuilderFrame):
    """The root of Relax's frames."""

    __slots__ = ()


class SeqExprFrame(RelaxFrame):
    """A sequence of blocks, and what it gives."""

    __slots__ = ("_is_open", "binding_blocks", "output")

    def __init__(self) -> None:
        super().__init__()
        self.binding_blocks: list[BindingBlock] = []
        self.output: RelaxExpr | None = None
        self._is_open = False

    def open_block(self) -> None:
        """Have a block open that takes bindings."""
        if not self._is_open:
            self._is_open = True
            block_builder().begin_binding_block()

    def end_block(self) -> None:
        """End the open block; an empty one leaves no trace."""
        if self._is_open:
            self._is_open = False
            self.add_block(block_builder().end_block())

    def add_block(self, block: BindingBlock) -> None:
        """Append a finished block."""
        if block.bindings:
            self.binding_blocks.append(block)

    def sequence(self) -> SeqExpr:
        """The blocks, neighbours of one kind as one, with the output in normal form."""
        assert self.output is not None, "the output is given before the sequence ends"
        seq = SeqExpr(merge_blocks(self.binding_blocks), self.output, self.span)
        seq.struct_info_ = self.output.struct_info_
        return seq


class SeqExprScope(SeqExprFrame):
    """A sequence that stands alone: `with R.SeqExpr()`."""

    __slots__ = ()

    def finish(self) -> None:
        self.end_block()
        if self.output is None:
            raise ScriptError("an R.SeqExpr must have an output")
        IRBuilder.current().result = self.sequence()


def block_builder() -> BlockBuilder:
    """The block builder of the function under construction."""
    frame = IRBuilder.current().find(FunctionFrame)
    if frame is None:
        raise ScriptError(
            "no Relax function is under construction; open one with `with R.function():`"
        )
    return frame.block_builder()


class FunctionFrame(SeqExprFrame):
    """A function; the ones inside it share its block builder."""

    __slots__ = ("_builder", "_in_scope", "attrs", "is_private", "is_pure", "name", "params",
                 "ret_struct_info")  # fmt: skip

    def __init__(self, is_pure: bool, is_private: bool) -> None:
        super().__init__()
        self.name: str | None = None
        self.params: list[Var] = []
        self.ret_struct_info: StructInfo | None = None
        self.is_pure: Final = is_pure
        self.is_private: Final = is_private
        self.attrs: dict[str, object] = {}
        self._builder: Final = BlockBuilder(applies_operator_rules=False)
        self._in_scope = False

    def block_builder(self) -> BlockBuilder:
        """The block builder, with the parameters' symbols in scope."""
        if not self._in_scope:
            self._in_scope = True
            self._builder.begin_scope(self.params)
        return self._builder

    def finish(self) -> None:
        if self._is_open:
            self._is_open = False
            self.add_block(self._builder.end_block())
        func = self._function()
        builder = IRBuilder.current()
        if not builder.frames:
            builder.keep(func)
            return
        define = getattr(builder.frames[-1], "define", None)
        if define is None:
            raise ScriptError("an R.function stands alone or in a module (I.ir_module)")
        define(self.name, func)

    def _function(self) -> Function:
        if self.output is None:
            raise ScriptError(
                "A Relax function must have a return value. Please use `return` to return an Expr"
            )
        attrs = dict(self.attrs)
        if not self.is_private and self.name is not None:
            attrs.setdefault("global_symbol", self.name)
        info = self.ret_struct_info
        return Function(self.params, self.sequence(), info, self.is_pure, attrs, self.span)


class BlockFrame(RelaxFrame):
    """A block of bindings; the script says `with` only for dataflow blocks."""

    __slots__ = ("emitted_vars", "is_dataflow", "output_vars", "returned")

    def __init__(self, is_dataflow: bool) -> None:
        super().__init__()
        self.is_dataflow: Final = is_dataflow
        self.returned: RelaxExpr | None = None
        self.emitted_vars: list[Var] = []
        self.output_vars: list[Var] | None = None

    def enter(self) -> BlockFrame:
        around = _sequence_around(self)
        around.end_block()
        if self.is_dataflow:
            block_builder().begin_dataflow_block()
        else:
            block_builder().begin_binding_block()
        return self

    def finish(self) -> None:
        block = block_builder().end_block()
        frame = IRBuilder.current().last_frame()
        assert isinstance(frame, SeqExprFrame), "checked at entry"
        frame.add_block(block)
        if self.returned is not None:
            frame.output = self.returned

    def give(self, value: RelaxExpr) -> None:
        """End the function with the value: the variables in it are seen outside of the block."""
        frames = IRBuilder.current().frames
        around = frames[frames.index(self) - 1]
        if not isinstance(around, FunctionFrame):
            raise ScriptError("the return of a Relax function stands at the end of its body")
        for var in free_vars(value):
            if isinstance(var, DataflowVar):
                promote(var)
        self.output_vars = [*(self.output_vars or ()), *free_vars(value)]
        self.returned = value

    def output(self, variables: Sequence[RelaxExpr]) -> None:
        """Let variables of the block be seen outside of it."""
        if not self.is_dataflow or self.output_vars is not None:
            raise ScriptError(
                "R.output appears more than once in a dataflow block"
                if self.is_dataflow
                else "R.output is for dataflow blocks: with R.dataflow():"
            )
        emitted = {id(var) for var in self.emitted_vars}
        for var in variables:
            if id(var) not in emitted:
                name = getattr(var, "name_hint", var)
                raise ScriptError(
                    f"An output variable is not emitted by this dataflow block: {name}"
                )
            if isinstance(var, DataflowVar):
                promote(var)
        self.output_vars = cast("list[Var]", list(variables))


def _sequence_around(frame: IRBuilderFrame) -> SeqExprFrame:
    frames = IRBuilder.current().frames
    outer = frames[-2] if len(frames) > 1 else None
    if not isinstance(outer, SeqExprFrame):
        raise ScriptError(
            "ValueError: a dataflow block stands directly in a function or in a branch, not in "
            f"{'nothing' if outer is None else type(outer).__name__}"
        )
    return outer


def promote(var: DataflowVar) -> None:
    """Make a variable of a block under construction one that is seen outside of the block.

    `R.output` comes last in a block, when the block's bindings hold the variable already.
    """
    var.__class__ = Var  # type: ignore[assignment]


class IfFrame(RelaxFrame):
    """A choice between two sequences that both end by giving one variable its value."""

    __slots__ = ("condition", "else_expr", "then_expr", "var", "var_name")

    def __init__(self, condition: RelaxExpr) -> None:
        super().__init__()
        self.condition: Final = condition
        self.then_expr: SeqExpr | None = None
        self.else_expr: SeqExpr | None = None
        self.var: Var | None = None
        self.var_name = ""

    def enter(self) -> IfFrame:
        around = _branching_around()
        around.open_block()
        return self

    def finish(self) -> None:
        if self.then_expr is None or self.else_expr is None:
            raise ScriptError("an If of Relax needs both branches: its value comes from either")
        builder = block_builder()
        condition = builder.normalize_argument(self.condition)
        value = If(condition, self.then_expr, self.else_expr, self.span)
        self.var = builder.emit(value)
        IRBuilder.name(self.var_name, self.var)
        note_emitted(self.var)

    def take(self, branch: SeqExpr, name: str) -> None:
        """Accept a finished branch and the name of what it gives."""
        if self.then_expr is None:
            self.then_expr, self.var_name = branch, name
            return
        if name != self.var_name:
            raise ScriptError(
                "This last binding of both branches must have the same variable: the first ends "
                f"with {self.var_name!r}, the other with {name!r}"
            )
        self.else_expr = branch


def _branching_around() -> SeqExprFrame:
    frames = IRBuilder.current().frames
    outer = frames[-2] if len(frames) > 1 else None
    if isinstance(outer, BlockFrame):
        raise ScriptError("Cannot create an IfFrame inside a dataflow block.")
    if not isinstance(outer, SeqExprFrame):
        raise ScriptError("an If of Relax stands in a function or in a branch")
    return outer


class _BranchFrame(SeqExprFrame):
    __slots__ = ()
    SUFFIX: ClassVar[str]  # of the name of the branch's own last variable

    def enter(self) -> SeqExprFrame:
        frames = IRBuilder.current().frames
        if not isinstance(frames[-2] if len(frames) > 1 else None, IfFrame):
            raise ScriptError(f"{type(self).__name__} stands directly under R.If()")
        block_builder().begin_scope(None)
        return self

    def finish(self) -> None:
        self.end_block()
        name = self._take_output()
        seq = self.sequence()
        block_builder().end_scope()
        frame = IRBuilder.current().last_frame()
        assert isinstance(frame, IfFrame), "checked at entry"
        frame.take(seq, name)

    def _take_output(self) -> str:
        """The last binding gives the branch's value; a plain copy of a value is not kept."""
        if not self.binding_blocks:
            raise ScriptError(
                "Empty body is not allowed for branches of an If: the last binding is the value"
            )
        last_block = self.binding_blocks[-1]
        last: Binding = last_block.bindings[-1]
        name = last.var.name_hint
        plain = not isinstance(last, MatchCast) and type(last_block) is BindingBlock
        if plain and isinstance(last.value, (Var, LeafExpr, Constant, Tuple)):
            self.output = last.value
            rest = last_block.bindings[:-1]
            self.binding_blocks[-1:] = [BindingBlock(rest, last_block.span)] if rest else []
        else:
            self.output = last.var
            rename(last.var.vid, "name_hint", f"{name}_{self.SUFFIX}")
        return name


class ThenFrame(_BranchFrame):
    """The branch for a condition that holds."""

    __slots__ = ()
    SUFFIX: ClassVar[str] = "then"


class ElseFrame(_BranchFrame):
    """The branch for a condition that does not hold."""

    __slots__ = ()
    SUFFIX: ClassVar[str] = "else"


def note_emitted(var: Var) -> None:
    """Tell the innermost block frame about a variable."""
    frame = IRBuilder.current().frames[-1] if IRBuilder.current().frames else None
    if isinstance(frame, BlockFrame):
        frame.emitted_vars.append(var)


def ready_to_emit() -> BlockBuilder:
    """The block builder with a block open."""
    frames = IRBuilder.current().frames
    frame = frames[-1] if frames else None
    if isinstance(frame, BlockFrame):
        if frame.output_vars is not None:
            raise ScriptError("no binding is allowed after R.output in a dataflow block")
    elif isinstance(frame, FunctionFrame) and frame.output is not None:
        raise ScriptError("no binding is allowed after the return of a function")
    elif isinstance(frame, SeqExprFrame):
        builder = block_builder()
        frame.open_block()
        return builder
    else:
        raise ScriptError(
            "a binding of Relax stands in a function, a dataflow block or a branch, not in "
            f"{'nothing' if frame is None else type(frame).__name__}"
        )
    return block_builder()


register_namer(Var, lambda var, name: rename(var.vid, "name_hint", name))
