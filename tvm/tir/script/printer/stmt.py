"""How statements of TensorIR print.

A statement that opens a scope (let, attribute, allocation, assertion) is written without `with`
where the scope lasts to the end of what encloses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.ir.expr import PrimExpr
from tvm.ir.type import PrimType, TupleType
from tvm.script.printer.doc import (
    AssertDoc,
    AssignDoc,
    AttrAccessDoc,
    DictDoc,
    Doc,
    ExprDoc,
    ExprStmtDoc,
    ForDoc,
    IdDoc,
    IfDoc,
    IndexDoc,
    ListDoc,
    LiteralDoc,
    ReturnDoc,
    ScopeDoc,
    StmtBlockDoc,
    StmtDoc,
    TupleDoc,
    WhileDoc,
)
from tvm.script.printer.docsifier import Docsifier, Frame, rule
from tvm.tir import stmt as s
from tvm.tir.expr import Call, IntImm, IterVar, SizeVar, Var, is_call_of
from tvm.tir.functor import walk

from .buffer import BufferArgs, buffer_args, define_buffer, index_docs, range_docs
from .expr import dtype_literal
from .names import annotation_doc, define_var
from .threads import env_thread_needed

_SCOPES: Final = (s.LetStmt, s.AttrStmt, s.AssertStmt, s.Allocate, s.AllocateConst, s.DeclBuffer,
                  s.BufferRealize)  # fmt: skip


class Opening:
    """The head of a statement that opens a scope, and the body that lies in the scope."""

    __slots__ = ("body", "lhs", "rhs", "short")

    def __init__(
        self, rhs: ExprDoc, lhs: ExprDoc | None, body: s.Stmt, short: StmtDoc | None = None
    ) -> None:
        self.rhs: Final = rhs
        self.lhs: Final = lhs
        self.body: Final = body
        if short is None:
            short = ExprStmtDoc(rhs) if lhs is None else AssignDoc(lhs, rhs)
        self.short: Final = short  # how it looks without `with`


def print_body(stmt: s.Stmt, frame: Frame, d: Docsifier) -> None:
    """Print a statement that ends its enclosing scope into the frame."""
    sequences: list[tuple[s.Stmt, int]] = []
    while True:
        if isinstance(stmt, s.SeqStmt) and stmt.seq:
            if d.marks or d.followed:
                sequences.append((stmt, len(frame.stmts)))
            for part in stmt.seq[:-1]:
                _append(d.doc(part), frame)
            stmt = stmt.seq[-1]
        elif isinstance(stmt, _SCOPES) and id(stmt) not in d.notes:
            opening = _open(stmt, frame, d)
            d.mark(stmt, opening.short)
            frame.stmts.append(opening.short)
            stmt = opening.body
        else:
            _append(d.doc(stmt), frame)
            break
    for sequence, start in sequences:
        d.mark(sequence, StmtBlockDoc(frame.stmts[start:]))


def _append(doc: Doc, frame: Frame) -> None:
    if isinstance(doc, StmtBlockDoc):
        frame.stmts.extend(doc.stmts)
    else:
        frame.stmts.append(doc)


def body_docs(stmt: s.Stmt, frame: Frame, d: Docsifier) -> list[Doc]:
    """The documents of a body, with the declarations that it needed."""
    print_body(stmt, frame, d)
    return frame.stmts


@rule(*_SCOPES, dialect="tir")
def _scope(stmt: Any, d: Docsifier) -> Doc:
    inner = Frame(stmt.body, "tir")
    opening = _open(stmt, inner, d)  # what the head needs is declared before the scope
    with d.enter(inner):
        return ScopeDoc(opening.lhs, opening.rhs, body_docs(opening.body, inner, d))


def _open(stmt: Any, frame: Frame, d: Docsifier) -> Opening:
    """The head of `stmt`; what it defines is named in the frame."""
    return _OPENINGS[type(stmt)](stmt, frame, d)


def _open_let(stmt: s.LetStmt, frame: Frame, d: Docsifier) -> Opening:
    value = d.expr(stmt.value)
    known = d.name_doc(stmt.var)
    kind = stmt.var.type_annotation
    plain = isinstance(kind, PrimType) and not isinstance(stmt.var, SizeVar)
    unit = isinstance(kind, TupleType) and not kind.fields
    note = None if unit else annotation_doc(stmt.var, d)
    let = d.word("tir", "LetStmt")
    if known is not None:
        return Opening(let.call(value, var=known), None, stmt.body, AssignDoc(known, value, note))
    name = define_var(stmt.var, frame, d)
    rhs = let.call(value) if plain or note is None else let.call(value, note)
    return Opening(rhs, name, stmt.body, AssignDoc(name, value, note))


def _open_attr(stmt: s.AttrStmt, frame: Frame, d: Docsifier) -> Opening:
    node = stmt.node
    if stmt.attr_key in ("thread_extent", "virtual_thread") and isinstance(node, IterVar):
        return _open_thread(stmt, node, frame, d)
    room = stmt.body if isinstance(stmt.body, s.BufferRealize) else None
    if stmt.attr_key == "realize_scope" and room is not None and room.buffer is node:
        return _open_realize(room, frame, d, d.expr(stmt.value))
    parts = (d.expr(node), LiteralDoc(stmt.attr_key), d.expr(stmt.value))
    return Opening(d.word("tir", "attr").call(*parts), None, stmt.body)


def _open_thread(stmt: s.AttrStmt, thread: IterVar, frame: Frame, d: Docsifier) -> Opening:
    launch = d.word("tir", "launch_thread")
    if not d.is_defined(thread.var) and env_thread_needed(thread.var, d):
        opened = [f for f in d.frames if f.node is not None]
        # a function that is printed alone has opened two: around it, and for its body
        outermost = [f for f in opened if f.node is opened[0].node][-1]
        name = d.define(thread.var, outermost, _thread_name(thread))
        tag = LiteralDoc(thread.thread_tag)
        made = AssignDoc(name, d.word("tir", "env_thread").call(tag))
        outermost.stmts.append(made)
    known = d.name_doc(thread.var)
    extent = d.expr(stmt.value)
    if known is not None:
        return Opening(launch.call(known, extent), None, stmt.body)
    name = d.define(thread.var, frame, _thread_name(thread))
    return Opening(launch.call(LiteralDoc(thread.thread_tag), extent), name, stmt.body)


def _thread_name(thread: IterVar) -> str:
    return thread.var.name or thread.thread_tag or "v"


def _open_assert(stmt: s.AssertStmt, frame: Frame, d: Docsifier) -> Opening:
    condition, text = d.expr(stmt.condition), d.expr(stmt.message)
    rhs = d.word("tir", "Assert").call(condition, text)
    return Opening(rhs, None, stmt.body, AssertDoc(condition, text))


def _open_allocate(stmt: s.Allocate, frame: Frame, d: Docsifier) -> Opening:
    if _is_allocated_buffer(stmt):
        decl = stmt.body
        assert isinstance(decl, s.DeclBuffer)
        name, args = _buffer_parts(decl, frame, d)
        return Opening(args.call(d.word("tir", "decl_buffer")), name, decl.body)
    parts: list[ExprDoc] = [ListDoc(d.exprs(stmt.extents)), dtype_literal(stmt.dtype),
                            LiteralDoc(_scope_of(stmt.buffer_var))]  # fmt: skip
    if not _is_true(stmt.condition):
        parts.append(d.expr(stmt.condition))
    notes = {"annotations": d.expr(stmt.annotations)} if stmt.annotations else {}
    name = define_var(stmt.buffer_var, frame, d)
    return Opening(d.word("tir", "allocate").call(*parts, **notes), name, stmt.body)


def _is_allocated_buffer(stmt: s.Allocate) -> bool:
    """True if `T.decl_buffer` alone says both: fresh memory, and the one buffer over it."""
    decl = stmt.body
    if not isinstance(decl, s.DeclBuffer) or decl.buffer.data is not stmt.buffer_var:
        return False
    if stmt.dtype is not decl.buffer.dtype or stmt.annotations or not _is_true(stmt.condition):
        return False
    shape = decl.buffer.shape
    return len(shape) == len(stmt.extents) and all(map(_same, shape, stmt.extents))


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value and a.dtype is b.dtype
    return a is b


def _is_true(condition: PrimExpr) -> bool:
    return isinstance(condition, IntImm) and condition.value == 1


def _scope_of(var: Var) -> str:
    return str(getattr(var.type_annotation, "storage_scope", "global"))


def _buffer_parts(decl: s.DeclBuffer, frame: Frame, d: Docsifier) -> tuple[ExprDoc, BufferArgs]:
    name = define_buffer(decl.buffer, frame, d)
    return name, buffer_args(decl.buffer, name, frame, d)


def _open_allocate_const(stmt: s.AllocateConst, frame: Frame, d: Docsifier) -> Opening:
    data: ExprDoc
    if stmt.data is None:
        data = LiteralDoc(stmt.irmod_storage_idx)
    else:
        data = ListDoc([LiteralDoc(value) for value in stmt.data.numpy().ravel().tolist()])
    parts = (data, dtype_literal(stmt.dtype), ListDoc(d.exprs(stmt.extents)))
    notes = {"annotations": d.expr(stmt.annotations)} if stmt.annotations else {}
    name = define_var(stmt.buffer_var, frame, d)
    return Opening(d.word("tir", "allocate_const").call(*parts, **notes), name, stmt.body)


def _open_decl_buffer(stmt: s.DeclBuffer, frame: Frame, d: Docsifier) -> Opening:
    # Without `data` the script would allocate: memory that is known nowhere gets a name first.
    if not d.is_defined(stmt.buffer.data):
        d.expr(stmt.buffer.data)
    name, args = _buffer_parts(stmt, frame, d)
    return Opening(args.call(d.word("tir", "decl_buffer")), name, stmt.body)


def _open_realize(
    stmt: s.BufferRealize, frame: Frame, d: Docsifier, scope: ExprDoc | None = None
) -> Opening:
    region = IndexDoc(d.expr(stmt.buffer), range_docs(stmt.bounds, d))
    parts: list[ExprDoc] = [region, LiteralDoc("") if scope is None else scope]
    kwargs = {} if _is_true(stmt.condition) else {"condition": d.expr(stmt.condition)}
    return Opening(d.word("tir", "realize").call(*parts, **kwargs), None, stmt.body)


_OPENINGS: Final[dict[type, Callable[[Any, Frame, Docsifier], Opening]]] = {
    s.LetStmt: _open_let,
    s.AttrStmt: _open_attr,
    s.AssertStmt: _open_assert,
    s.Allocate: _open_allocate,
    s.AllocateConst: _open_allocate_const,
    s.DeclBuffer: _open_decl_buffer,
    s.BufferRealize: _open_realize,
}


@rule(s.BufferStore, dialect="tir")
def _store(stmt: s.BufferStore, d: Docsifier) -> StmtDoc:
    buffer, value = d.expr(stmt.buffer), d.expr(stmt.value)  # free variables are named in order
    if stmt.predicate is None:
        return AssignDoc(IndexDoc(buffer, index_docs(stmt.indices, d)), value)
    indices = ListDoc(d.exprs(stmt.indices))
    store = AttrAccessDoc(buffer, "vstore").call(indices, value, predicate=d.expr(stmt.predicate))
    return ExprStmtDoc(store)


@rule(s.SeqStmt, dialect="tir")
def _seq(stmt: s.SeqStmt, d: Docsifier) -> StmtBlockDoc:
    with d.frame(stmt, "tir") as frame:
        for part in stmt.seq:
            _append(d.doc(part), frame)
        return StmtBlockDoc(frame.stmts)


@rule(s.Evaluate, dialect="tir")
def _evaluate(stmt: s.Evaluate, d: Docsifier) -> StmtDoc:
    value = stmt.value
    if d.cfg.syntax_sugar and isinstance(value, Call) and _returns(value):
        return ReturnDoc(d.expr(value.args[0]))
    made = d.expr(value)
    return ExprStmtDoc(made if isinstance(value, Call) else d.word("tir", "evaluate").call(made))


def _returns(call: Call) -> bool:
    return is_call_of(call, "tir.ret") and len(call.args) == 1


@rule(s.IfThenElse, dialect="tir")
def _if(stmt: s.IfThenElse, d: Docsifier) -> IfDoc:
    condition = d.expr(stmt.condition)
    with d.frame(stmt.then_case, "tir") as frame:
        then = body_docs(stmt.then_case, frame, d)
    other: list[Doc] = []
    if stmt.else_case is not None:
        with d.frame(stmt.else_case, "tir") as frame:
            other = body_docs(stmt.else_case, frame, d)
    return IfDoc(condition, then, other)


@rule(s.While, dialect="tir")
def _while(stmt: s.While, d: Docsifier) -> WhileDoc:
    condition = d.expr(stmt.condition)
    with d.frame(stmt.body, "tir") as frame:
        return WhileDoc(condition, body_docs(stmt.body, frame, d))


_LOOP_WORDS: Final = ("serial", "parallel", "vectorized", "unroll", "thread_binding")


@rule(s.For, dialect="tir")
def _for(loop: s.For, d: Docsifier) -> ForDoc:
    grid = _grid(loop) if d.cfg.syntax_sugar else []
    if len(grid) > 1:
        extents = d.exprs([part.extent for part in grid])
        with d.frame(loop, "tir") as frame:
            names = TupleDoc([define_var(part.loop_var, frame, d) for part in grid])
            body = body_docs(grid[-1].body, frame, d)
            return ForDoc(names, d.word("tir", "grid").call(*extents), body)
    bounds = _loop_bounds(loop, d)
    with d.frame(loop, "tir") as frame:
        name = define_var(loop.loop_var, frame, d)  # parameters of maps in annotations avoid it
        return ForDoc(name, _loop_call(loop, bounds, d), body_docs(loop.body, frame, d))


def _is_zero(value: PrimExpr) -> bool:
    return isinstance(value, IntImm) and value.value == 0


def _grid(loop: s.For) -> list[s.For]:
    """The loop with those directly inside it, as far as `T.grid` can say them all."""
    loops: list[s.For] = []
    seen: set[int] = set()
    current: s.Stmt = loop
    while isinstance(current, s.For):
        plain = current.kind is s.ForKind.SERIAL and not current.annotations
        if not plain or not _is_zero(current.min) or current.thread_binding is not None:
            break
        if seen and any(id(part) in seen for part in walk(current.extent)):
            break
        loops.append(current)
        seen.add(id(current.loop_var))
        current = current.body
    return loops


def _loop_bounds(loop: s.For, d: Docsifier) -> list[ExprDoc]:
    """The extent, or start and end."""
    if _is_zero(loop.min):
        return [d.expr(loop.extent)]
    return [d.expr(loop.min), d.expr(loop.min + loop.extent)]


def _loop_call(loop: s.For, bounds: list[ExprDoc], d: Docsifier) -> ExprDoc:
    """`range(n)`, or the word of the loop's kind with its bounds and options."""
    kwargs: dict[str, ExprDoc] = {}
    if loop.thread_binding is not None:
        kwargs["thread"] = LiteralDoc(loop.thread_binding.thread_tag)
    if loop.annotations:
        kwargs["annotations"] = d.expr(loop.annotations)
    plain = loop.kind is s.ForKind.SERIAL and not kwargs
    word = IdDoc("range") if plain else d.word("tir", _LOOP_WORDS[loop.kind])
    return word.call(*bounds, **kwargs)


def annotations_doc(values: dict[str, object], d: Docsifier) -> DictDoc:
    """Attributes as a dict, sorted by key."""
    return DictDoc({LiteralDoc(key): d.expr(values[key]) for key in sorted(values)})
