"""The frames of TensorIR: what is under construction, and the node each one makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.error import ScriptError
from tvm.ir.expr import GlobalVar, PrimExpr, Range
from tvm.ir.span import Span
from tvm.ir.type import Type
from tvm.script.ir_builder.base import IRBuilder, IRBuilderFrame, register_namer, rename
from tvm.support.dtype import DataType
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BOOL, IntImm, IterVar, StringImm, Var, as_expr
from tvm.tir.function import PrimFunc

from .complete import DETECT_ACCESS, complete


class TIRFrame(IRBuilderFrame):
    """A frame that collects statements."""

    __slots__ = ("stmts",)

    def __init__(self) -> None:
        super().__init__()
        self.stmts: list[s.Stmt] = []

    def body(self) -> s.Stmt:
        """The collected statements as one."""
        return as_stmt(self.stmts, self.span)


def as_stmt(stmts: Sequence[s.Stmt], span: Span | None = None) -> s.Stmt:
    """One statement for several, without evaluations of zero; nothing is one of these."""
    flat: list[s.Stmt] = []
    for stmt in stmts:
        flat.extend(stmt.seq if isinstance(stmt, s.SeqStmt) else (stmt,))
    if len(flat) > 1:
        flat = [stmt for stmt in flat if not _evaluates_zero(stmt)] or flat[:1]
    if len(flat) == 1:
        return flat[0]
    return s.SeqStmt(flat, span) if flat else s.Evaluate(0, span)


def _evaluates_zero(stmt: s.Stmt) -> bool:
    return isinstance(stmt, s.Evaluate) and isinstance(stmt.value, IntImm) and not stmt.value.value


def add_to_parent(stmt: s.Stmt) -> None:
    """Append a statement to the innermost frame, or make it the builder's result."""
    builder = IRBuilder.current()
    if not builder.frames:
        before = builder.result
        builder.result = stmt if before is None else as_stmt([before, stmt])
        return
    frame = builder.frames[-1]
    if not isinstance(frame, TIRFrame):
        raise ScriptError(f"a TIR statement cannot stand directly in a {type(frame).__name__}")
    frame.stmts.append(stmt)


def require(kind: type[Any], last: bool, asked: str, legal: str) -> Any:
    """The frame that a builder function needs; a ScriptError if it is not there."""
    builder = IRBuilder.current()
    frame = builder.find_last(kind) if last else builder.find(kind)
    if frame is None:
        raise ScriptError(f"{asked} needs to be under {legal}")
    return frame


class PrimFuncFrame(TIRFrame):
    """A function."""

    __slots__ = ("args", "attrs", "buffer_map", "env_threads", "is_private", "name", "ret_type",
                 "root_alloc_buffers")  # fmt: skip

    def __init__(self, is_private: bool) -> None:
        super().__init__()
        self.name: str | None = None
        self.args: list[Var] = []
        self.is_private: Final = is_private
        self.ret_type: Type | None = None
        self.buffer_map: dict[Var, Buffer] = {}
        self.attrs: dict[str, object] = {}
        self.env_threads: dict[Var, IterVar] = {}
        self.root_alloc_buffers: list[Buffer] = []

    def finish(self) -> None:
        if not self.is_private and self.name is not None:
            self.attrs.setdefault("global_symbol", self.name)
        made = PrimFunc(
            self.args, self.body(), self.ret_type, self.buffer_map, self.attrs, self.span
        )
        func = complete(made, self.root_alloc_buffers)
        builder = IRBuilder.current()
        if not builder.frames:
            builder.keep(func)
            return
        define = getattr(builder.frames[-1], "define", None)
        if define is None:
            raise ScriptError("a T.prim_func stands alone or in a module (I.ir_module)")
        if self.name is None:
            raise ScriptError(
                "the function has no name, by which others of its module could call it; "
                "call T.func_name before its frame ends"
            )
        define(self.name, func)


def require_func(asked: str) -> PrimFuncFrame:
    """The function's frame, in which nothing was opened yet; a ScriptError elsewhere."""
    builder = IRBuilder.current()
    frame = builder.find_last(PrimFuncFrame)
    if frame is not None:
        return frame
    around = builder.find(PrimFuncFrame)
    where = "outside of any T.prim_func()" if around is None else (
        f"within function {around.name!r}, where a block, loop or condition was opened"
    )
    raise ScriptError(
        f"{asked} must be called at the top of a PrimFunc, but it occurred {where}"
    )


class BlockFrame(TIRFrame):
    """A block, and the values of its axes."""

    __slots__ = ("alloc_buffers", "annotations", "init", "iter_values", "iter_vars",
                 "match_buffers", "name", "no_realize", "predicate", "reads", "writes")  # fmt: skip

    def __init__(self, name: str, no_realize: bool) -> None:
        super().__init__()
        self.name: Final = name
        self.iter_vars: list[IterVar] = []
        self.reads: list[s.BufferRegion] | None = None
        self.writes: list[s.BufferRegion] | None = None
        self.init: s.Stmt | None = None
        self.alloc_buffers: list[Buffer] = []
        self.match_buffers: list[s.MatchBufferRegion] = []
        self.annotations: dict[str, object] | None = None
        self.iter_values: list[PrimExpr] = []
        self.predicate: PrimExpr | None = None
        self.no_realize: Final = no_realize

    def finish(self) -> None:
        notes = dict(self.annotations or {})
        unknown = (self.reads is None) + 2 * (self.writes is None)
        if unknown:  # the function's frame finds them by looking at the body
            notes[DETECT_ACCESS] = unknown
        block = s.Block(
            self.iter_vars, self.reads or (), self.writes or (), self.name, self.body(), self.init,
            self.alloc_buffers, self.match_buffers, notes, self.span,
        )  # fmt: skip
        if self.no_realize:
            if self.iter_values:
                raise ScriptError(
                    f"Block bindings are not allowed when no_realize=True, found "
                    f"{len(self.iter_values)} in block {self.name!r}"
                )
            if self.predicate is not None:
                raise ScriptError("`T.where` is not allowed when no_realize=True")
            add_to_parent(block)
            return
        predicate = IntImm(BOOL, 1) if self.predicate is None else self.predicate
        add_to_parent(s.BlockRealize(self.iter_values, predicate, block, self.span))


class BlockInitFrame(TIRFrame):
    """The statement that runs before the first iteration of a reduction."""

    __slots__ = ()

    def enter(self) -> BlockInitFrame:
        builder = IRBuilder.current()
        outer = builder.frames[-2] if len(builder.frames) > 1 else None
        if not isinstance(outer, BlockFrame):
            raise ScriptError("T.init() needs to be directly under T.block()")
        if outer.init is not None:
            raise ScriptError("Duplicate block init declaration")
        return self

    def finish(self) -> None:
        frame = IRBuilder.current().last_frame()
        assert isinstance(frame, BlockFrame), "checked at entry"
        frame.init = self.body()


LoopMaker = Callable[[Sequence[Var], Sequence[Range], s.Stmt, Span | None], s.Stmt]


class ForFrame(TIRFrame):
    """One loop, or several nested ones."""

    __slots__ = ("doms", "make", "vars")

    def __init__(self, loop_vars: Sequence[Var], doms: Sequence[Range], make: LoopMaker) -> None:
        super().__init__()
        self.vars: Final = list(loop_vars)
        self.doms: Final = list(doms)
        self.make: Final = make

    def enter(self) -> Any:
        return self.vars[0] if len(self.vars) == 1 else self.vars

    def finish(self) -> None:
        add_to_parent(self.make(self.vars, self.doms, self.body(), self.span))


class AssertFrame(TIRFrame):
    """A condition that must hold for the rest."""

    __slots__ = ("condition", "message")

    def __init__(self, condition: PrimExpr, message: Any) -> None:
        super().__init__()
        self.condition: Final = condition
        self.message: Final = message

    def finish(self) -> None:
        add_to_parent(s.AssertStmt(self.condition, self.message, self.body(), self.span))


class LetFrame(TIRFrame):
    """A name for a value."""

    __slots__ = ("value", "var")

    def __init__(self, var: Var, value: PrimExpr) -> None:
        super().__init__()
        self.var: Final = var
        self.value: Final = value

    def enter(self) -> Var:
        return self.var

    def finish(self) -> None:
        add_to_parent(s.LetStmt(self.var, self.value, self.body(), self.span))


class RealizeFrame(TIRFrame):
    """Room for a region of a buffer, in memory of a scope ("" where none is told)."""

    __slots__ = ("buffer_slice", "condition", "storage_scope")

    def __init__(
        self, buffer_slice: s.BufferRegion, storage_scope: str, condition: PrimExpr
    ) -> None:
        super().__init__()
        self.buffer_slice: Final = buffer_slice
        self.storage_scope: Final = storage_scope
        self.condition: Final = condition

    def finish(self) -> None:
        region = self.buffer_slice
        room: s.Stmt = s.BufferRealize(
            region.buffer, region.region, self.condition, self.body(), self.span
        )
        if self.storage_scope:
            scope = StringImm(self.storage_scope)
            room = s.AttrStmt(region.buffer, "realize_scope", scope, room, self.span)
        add_to_parent(room)


class AllocateFrame(TIRFrame):
    """Fresh memory."""

    __slots__ = ("annotations", "buffer_var", "condition", "dtype", "extents", "storage_scope")

    def __init__(
        self,
        extents: Sequence[PrimExpr],
        dtype: DataType,
        storage_scope: str,
        condition: PrimExpr,
        annotations: dict[str, object],
        buffer_var: Var,
    ) -> None:
        super().__init__()
        self.extents: Final = extents
        self.dtype: Final = dtype
        self.storage_scope: Final = storage_scope
        self.condition: Final = condition
        self.annotations: Final = annotations
        self.buffer_var: Final = buffer_var

    def enter(self) -> Var:
        return self.buffer_var

    def finish(self) -> None:
        add_to_parent(
            s.Allocate(
                self.buffer_var, self.dtype, self.extents, self.condition, self.body(),
                self.annotations, self.span,
            )
        )  # fmt: skip


class AllocateConstFrame(TIRFrame):
    """Constant data."""

    __slots__ = ("annotations", "buffer_var", "data", "dtype", "extents")

    def __init__(
        self,
        dtype: DataType,
        extents: Sequence[PrimExpr],
        data: Any,
        buffer_var: Var,
        annotations: dict[str, object],
    ) -> None:
        super().__init__()
        self.dtype: Final = dtype
        self.extents: Final = extents
        self.data: Final = data
        self.buffer_var: Final = buffer_var
        self.annotations: Final = annotations

    def enter(self) -> Var:
        return self.buffer_var

    def finish(self) -> None:
        add_to_parent(
            s.AllocateConst(
                self.buffer_var, self.dtype, self.extents, self.data, self.body(),
                self.annotations, self.span,
            )
        )  # fmt: skip


class AttrFrame(TIRFrame):
    """A fact about a node."""

    __slots__ = ("attr_key", "node", "value")

    def __init__(self, node: Any, attr_key: str, value: PrimExpr) -> None:
        super().__init__()
        self.node: Final = node
        self.attr_key: Final = attr_key
        self.value: Final = value

    def finish(self) -> None:
        add_to_parent(s.AttrStmt(self.node, self.attr_key, self.value, self.body(), self.span))


class LaunchThreadFrame(TIRFrame):
    """A thread axis with its extent."""

    __slots__ = ("attr_key", "extent", "iter_var")

    def __init__(self, extent: PrimExpr, attr_key: str, iter_var: IterVar) -> None:
        super().__init__()
        self.extent: Final = extent
        self.attr_key: Final = attr_key
        self.iter_var: Final = iter_var

    def enter(self) -> Var:
        return self.iter_var.var

    def finish(self) -> None:
        body = self.body()
        add_to_parent(s.AttrStmt(self.iter_var, self.attr_key, self.extent, body, self.span))


class WhileFrame(TIRFrame):
    """A loop with a condition."""

    __slots__ = ("condition",)

    def __init__(self, condition: PrimExpr) -> None:
        super().__init__()
        self.condition: Final = condition

    def finish(self) -> None:
        add_to_parent(s.While(self.condition, self.body(), self.span))


class IfFrame(TIRFrame):
    """A choice, with a T.Then and perhaps a T.Else inside."""

    __slots__ = ("condition", "else_stmts", "then_stmts")

    def __init__(self, condition: PrimExpr) -> None:
        super().__init__()
        self.condition: Final = condition
        self.then_stmts: list[s.Stmt] | None = None
        self.else_stmts: list[s.Stmt] | None = None

    def finish(self) -> None:
        if self.stmts:
            raise ScriptError(
                "stmt within IfThenElse frame should be either in ThenFrame or ElseFrame"
            )
        if self.then_stmts is None:
            raise ScriptError("IfThenElse frame should have at least one then branch")
        other = None if self.else_stmts is None else as_stmt(self.else_stmts, self.span)
        then = as_stmt(self.then_stmts, self.span)
        add_to_parent(s.IfThenElse(self.condition, then, other, self.span))


class ThenFrame(TIRFrame):
    """The branch for a condition that holds."""

    __slots__ = ()

    def enter(self) -> ThenFrame:
        outer = _if_around("Then")
        if outer.then_stmts is not None:
            raise ScriptError("Duplicate then branch declaration")
        return self

    def finish(self) -> None:
        frame = IRBuilder.current().last_frame()
        assert isinstance(frame, IfFrame), "checked at entry"
        frame.then_stmts = self.stmts


class ElseFrame(TIRFrame):
    """The branch for a condition that does not hold."""

    __slots__ = ()

    def enter(self) -> ElseFrame:
        outer = _if_around("Else")
        if outer.then_stmts is None:
            raise ScriptError("The else branch should follow then branch")
        if outer.else_stmts is not None:
            raise ScriptError("Duplicate else branch declaration")
        return self

    def finish(self) -> None:
        frame = IRBuilder.current().last_frame()
        assert isinstance(frame, IfFrame), "checked at entry"
        frame.else_stmts = self.stmts


def _if_around(branch: str) -> IfFrame:
    frames = IRBuilder.current().frames
    outer = frames[-2] if len(frames) > 1 else None
    if not isinstance(outer, IfFrame):
        raise ScriptError(f"IfThenElse frame not found: T.{branch}() stands directly under T.If()")
    return outer


class DeclBufferFrame(TIRFrame):
    """A buffer over memory that exists, or over fresh memory."""

    __slots__ = ("allocated", "buffer")

    def __init__(self, buffer: Buffer, allocated: bool) -> None:
        super().__init__()
        self.buffer: Final = buffer
        self.allocated: Final = allocated

    def enter(self) -> Buffer:
        return self.buffer

    def finish(self) -> None:
        buffer = self.buffer
        body = s.DeclBuffer(buffer, self.body(), self.span)
        if self.allocated:
            add_to_parent(body)
            return
        fresh = s.Allocate(
            buffer.data, buffer.dtype, buffer.shape, IntImm(BOOL, 1), body, None, self.span
        )
        add_to_parent(fresh)


def _name_var(var: Var, name: str) -> None:
    rename(var, "name", name)


def _name_buffer(buffer: Buffer, name: str) -> None:
    own = buffer.data.name in ("", buffer.name)  # memory that was there before keeps its own name
    rename(buffer, "name", name)
    if own:
        rename(buffer.data, "name", name)
    for i, stride in enumerate(buffer.strides):
        if isinstance(stride, Var) and not stride.name:  # of the buffer's own making
            rename(stride, "name", f"{name}_s{i}")


def _name_iter_var(iter_var: IterVar, name: str) -> None:
    rename(iter_var.var, "name", name)


register_namer(Var, _name_var)
register_namer(Buffer, _name_buffer)
register_namer(IterVar, _name_iter_var)
register_namer(GlobalVar, lambda var, name: rename(var, "name_hint", name))


def condition_of(value: Any) -> PrimExpr:
    """A condition; a plain bool becomes a literal."""
    return IntImm(BOOL, value) if isinstance(value, bool) else as_expr(value)
