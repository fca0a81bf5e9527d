"""Statements built one after another, as a program would be written.

    ib = tvm.tir.ir_builder.create()
    n = te.size_var("n")
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i % 2 == 0):
            A[i] = A[i] + 1
    stmt = ib.get()
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Final

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.node import Node
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType

from .buffer import Buffer, decl_buffer
from .expr import BufferLoad, StringImm, Var, as_expr
from .op.arith import const
from .op.builtin import likely
from .stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)

Around = Callable[[Stmt], Stmt]
_LOOP_KINDS: Final = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
}


class WithScope:
    """A `with` block: it gives `enter_value`, and calls `exit_cb` when it ends."""

    def __init__(self, enter_value: Any, exit_cb: Callable[[], None]) -> None:
        self._enter_value: Final = enter_value
        self._exit_cb: Final = exit_cb

    def __enter__(self) -> Any:
        return self._enter_value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._exit_cb()


class BufferVar:
    """A buffer whose elements are read and written by indexing; writes go to the builder."""

    __iter__: ClassVar[None] = None  # any index is legal, so that a loop over it would not end

    def __init__(self, builder: IRBuilder, buffer: Buffer, content_type: str) -> None:
        self._builder: Final = builder
        self._buffer: Final = buffer
        self._content_type: Final = DataType(content_type)

    def asobject(self) -> Buffer:
        """The buffer itself."""
        return self._buffer

    @property
    def dtype(self) -> DataType:
        """The type of an element."""
        return self._content_type

    def _indices(self, index: Any) -> list[PrimExpr]:
        return [as_expr(i) for i in (index if isinstance(index, (tuple, list)) else (index,))]

    def __getitem__(self, index: Any) -> BufferLoad:
        return BufferLoad(self._buffer, self._indices(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        stored = value if isinstance(value, PrimExpr) else const(value, self._content_type)
        if stored.dtype.element_of() is not self._content_type.element_of():
            raise ValueError(
                message(
                    f"store into {self._buffer.name}",
                    found=f"a value of type {stored.dtype}",
                    legal=f"the type of its content, {self._content_type}",
                )
            )
        self._builder.emit(BufferStore(self._buffer, stored, self._indices(index)))


class IRBuilder:
    """Collects statements; `with` blocks make loops and branches of what is written in them."""

    def __init__(self) -> None:
        self._open: Final[list[list[Stmt | Around]]] = [[]]

    def emit(self, stmt: Stmt | PrimExpr | Around) -> None:
        """Add a statement, an expression to evaluate, or a function of all that follows here."""
        self._open[-1].append(Evaluate(stmt) if isinstance(stmt, PrimExpr) else stmt)

    def _close(self) -> Stmt:
        """The statements of the innermost block as one."""
        rest: list[Stmt] = []
        for part in reversed(self._open.pop()):
            if isinstance(part, Stmt):
                rest.append(part)
            else:
                rest = [part(_sequence(rest))]
        return _sequence(rest)

    def _block(self, value: Any, wrap: Around) -> WithScope:
        self._open.append([])
        return WithScope(value, lambda: self.emit(wrap(self._close())))

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """Put an attribute around all that follows in this block."""
        if isinstance(node, BufferVar):
            node = node.asobject().data
        elif isinstance(node, str):
            node = StringImm(node)
        held = StringImm(value) if isinstance(value, str) else as_expr(value)
        owner: Node = node
        self.emit(lambda body: AttrStmt(owner, attr_key, held, body))

    def for_range(
        self,
        begin: Any,
        end: Any,
        name: str = "i",
        dtype: str | None = None,
        kind: str = "serial",
    ) -> WithScope:
        """A loop from `begin` to before `end`; gives its variable."""
        if kind not in _LOOP_KINDS:
            raise ValueError(
                message(
                    f"Unknown kind of loop {name!r}",
                    found=f"kind={kind!r}",
                    legal=", ".join(_LOOP_KINDS),
                )
            )
        first, last = as_expr(begin), as_expr(end)
        if dtype is None:
            # a literal takes the type of the other bound
            dtype = last.dtype if isinstance(end, PrimExpr) else first.dtype
        low = const(begin, dtype) if isinstance(begin, int) else first
        high = const(end, dtype) if isinstance(end, int) else last
        extent = high - low
        var = Var(name, dtype)
        of_kind = _LOOP_KINDS[kind]
        return self._block(var, lambda body: For(var, low, extent, of_kind, body))

    def while_loop(self, condition: PrimExpr) -> WithScope:
        """A loop that runs while the condition holds."""
        return self._block(None, lambda body: While(condition, body))

    def if_scope(self, cond: PrimExpr) -> WithScope:
        """What is done where the condition holds."""
        return self._block(None, lambda body: IfThenElse(cond, body, None))

    def else_scope(self) -> WithScope:
        """What is done where the condition of the `if_scope` before does not hold."""
        before = self._open[-1][-1] if self._open[-1] else None
        if not isinstance(before, IfThenElse) or before.else_case is not None:
            raise CheckError(
                message(
                    "open an else_scope",
                    found="no if_scope just before",
                    legal="an else_scope that follows an if_scope in the same block",
                )
            )
        self._open[-1].pop()
        return self._block(None, lambda body: IfThenElse(before.condition, before.then_case, body))

    def new_scope(self) -> WithScope:
        """A block for attributes and allocations that are to end with it."""
        return self._block(None, lambda body: body)

    def let(self, var_name: str, value: Any) -> Var:
        """A variable that stands for the value in all that follows in this block."""
        held = as_expr(value)
        var = Var(var_name, held.dtype)
        self.emit(lambda body: LetStmt(var, held, body))
        return var

    def allocate(
        self,
        dtype: str,
        shape: Any,
        name: str = "buf",
        axis_separators: Any = None,
        scope: str = "",
    ) -> BufferVar:
        """Memory for all that follows in this block."""
        extents = [as_expr(s) for s in (shape if isinstance(shape, (tuple, list)) else [shape])]
        data = Var(name, PointerType(PrimType(dtype), scope))
        buffer = decl_buffer(
            extents, dtype, name, data=data, scope=scope, axis_separators=axis_separators
        )
        always = const(True, "bool")
        self.emit(lambda body: Allocate(data, dtype, extents, always, body))
        return BufferVar(self, buffer, dtype)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """Memory that comes from outside: `asobject().data` is its address."""
        return BufferVar(self, decl_buffer([1], content_type, name, scope=scope), content_type)

    def buffer_ptr(self, buf: Buffer) -> BufferVar:
        """A buffer, to be read and written in the builder."""
        return BufferVar(self, buf, buf.dtype)

    def likely(self, expr: PrimExpr) -> PrimExpr:
        """The condition, marked as one that mostly holds."""
        return likely(expr)

    def get(self) -> Stmt:
        """All statements as one."""
        if len(self._open) != 1:
            raise CheckError(
                message(
                    "take the statements of a builder",
                    found=f"{len(self._open) - 1} open blocks",
                    legal="get() behind all with blocks",
                )
            )
        made = self._close()
        self._open.append([made])
        return made


def _sequence(backwards: list[Stmt]) -> Stmt:
    """One statement of the statements, which come last first."""
    if not backwards:
        return Evaluate(0)
    return backwards[0] if len(backwards) == 1 else SeqStmt(backwards[::-1])


def create() -> IRBuilder:
    """A new builder."""
    return IRBuilder()
