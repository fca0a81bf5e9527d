"""Statements written as expressions, for operators that no element-wise definition fits.

loop(n, lambda i: store(out, data_load(i), i))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import tir
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import as_expr
from tvm.tir.stmt import ForKind
from tvm.tir.transform.bind_parallel_loops import bound, on_threads

Body = Callable[..., tir.Stmt]


def load(buffer: tir.Buffer, *indices: Any) -> tir.BufferLoad:
    """An element of a buffer."""
    return tir.BufferLoad(buffer, list(indices))


def store(buffer: tir.Buffer, value: Any, *indices: Any) -> tir.Stmt:
    """Set an element, cast to the buffer's type."""
    return tir.BufferStore(buffer, as_expr(value).astype(buffer.dtype), list(indices))


def sequence(*stmts: tir.Stmt | None) -> tir.Stmt:
    """Statements in order; None is nothing."""
    return tir.SeqStmt.flatten(*stmts)


def when(condition: PrimExpr, yes: tir.Stmt, no: tir.Stmt | None = None) -> tir.Stmt:
    """One of two statements."""
    return tir.IfThenElse(condition, yes, no)


def loop(extent: Any, body: Body, name: str = "i", kind: ForKind = ForKind.SERIAL) -> tir.For:
    """`body(i)` for i from 0 up to the extent."""
    size = as_expr(extent)
    var = tir.Var(name, size.dtype)
    return tir.For(var, tir.const(0, size.dtype), size, kind, body(var))


def parallel(extent: Any, body: Body, name: str = "i") -> tir.For:
    """`loop` whose iterations do not depend on each other."""
    return loop(extent, body, name, ForKind.PARALLEL)


def threads(extent: Any, body: Body, name: str = "i", per_block: int = 256) -> tir.Stmt:
    """`parallel` on the threads of a GPU, so many in a block."""
    return on_threads(parallel(extent, body, name), per_block)


def blocks(extent: Any, per_block: int, body: Body, name: str = "block") -> tir.Stmt:
    """`body(block, thread)` for each thread of so many blocks of a GPU."""
    size = as_expr(extent)
    block, thread = tir.Var(name, size.dtype), tir.Var("thread", "int32")
    inner = bound("threadIdx.x", thread, tir.const(per_block, "int32"), body(block, thread))
    return bound("blockIdx.x", block, size, inner)


def wait_for_block() -> tir.Stmt:
    """The threads of a block wait for each other, and see what they wrote to shared memory."""
    return tir.Evaluate(tir.call_intrin("void", "tir.tvm_storage_sync", "shared"))


def grid(extents: Sequence[Any], body: Body, prefix: str = "i") -> tir.Stmt:
    """`body(i0, i1, ...)` for all indices of a shape."""

    def nest(indices: tuple[Any, ...]) -> tir.Stmt:
        depth = len(indices)
        if depth == len(extents):
            return body(*indices)
        return loop(extents[depth], lambda i: nest((*indices, i)), f"{prefix}{depth}")

    return nest(())


def repeat_while(condition: PrimExpr, body: tir.Stmt) -> tir.Stmt:
    """The body as long as the condition holds."""
    return tir.While(condition, body)


def let(value: Any, body: Body, name: str = "v") -> tir.Stmt:
    """`body(v)` with a name for a value."""
    expr = as_expr(value)
    var = tir.Var(name, expr.dtype)
    return tir.LetStmt(var, expr, body(var))


def local(
    dtype: Any, body: Body, size: Any = 1, name: str = "local", scope: str = "local"
) -> tir.Stmt:
    """`body(buffer)` with a few elements of memory of its own, or of its block of threads."""
    buffer = tir.decl_buffer((size,), dtype, name, scope=scope)
    inner = tir.DeclBuffer(buffer, body(buffer))
    return tir.Allocate(buffer.data, buffer.dtype, [size], tir.const(True), inner)


def locals_(dtypes: Sequence[Any], body: Body, names: Sequence[str]) -> tir.Stmt:
    """`body(a, b, ...)` with several single variables in memory."""

    def nest(buffers: tuple[Any, ...]) -> tir.Stmt:
        k = len(buffers)
        if k == len(dtypes):
            return body(*buffers)
        return local(dtypes[k], lambda b: nest((*buffers, b)), name=names[k])

    return nest(())
