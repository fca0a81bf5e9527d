"""The direct parts of nodes, and `walk`, the generator that goes through all of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, TypeVar

from tvm.ir.expr import PrimExpr
from tvm.ir.node import Node

from . import expr as e
from . import stmt as s
from .buffer import Buffer
from .function import PrimFunc

N = TypeVar("N", bound=s.Stmt)


def _no_parts(_: Any) -> tuple[Any, ...]:
    return ()


def _load_parts(expr: e.BufferLoad) -> tuple[Any, ...]:
    return expr.indices if expr.predicate is None else (*expr.indices, expr.predicate)


def _call_parts(expr: e.Call) -> tuple[Any, ...]:
    return tuple([a for a in expr.args if isinstance(a, PrimExpr)])


def _reduce_parts(expr: e.Reduce) -> tuple[Any, ...]:
    ranges = [iv.dom for iv in expr.axis if iv.dom is not None]
    bounds = [part for dom in ranges for part in (dom.min, dom.extent)]
    return (*bounds, *expr.source, *expr.init, expr.condition)


def _one(name: str) -> Callable[[Any], tuple[Any, ...]]:
    part = attrgetter(name)
    return lambda node: (part(node),)


def _region_exprs(regions: Sequence[s.BufferRegion]) -> list[PrimExpr]:
    return [part for r in regions for rng in r.region for part in (rng.min, rng.extent)]


def buffer_exprs(buffer: Buffer) -> tuple[PrimExpr, ...]:
    """The expressions that define a buffer's shape and address."""
    return (*buffer.shape, *buffer.strides, buffer.elem_offset)


def _store_parts(stmt: s.BufferStore) -> tuple[Any, ...]:
    mask = () if stmt.predicate is None else (stmt.predicate,)
    return (stmt.value, *stmt.indices, *mask)


def _block_parts(block: s.Block) -> tuple[Any, ...]:
    doms = [part for iv in block.iter_vars if iv.dom is not None
            for part in (iv.dom.min, iv.dom.extent)]  # fmt: skip
    allocs = [x for b in block.alloc_buffers for x in buffer_exprs(b)]
    matches = [x for m in block.match_buffers for x in buffer_exprs(m.buffer)]
    sources = _region_exprs([m.source for m in block.match_buffers])
    init = () if block.init is None else (block.init,)
    return (*doms, *allocs, *sources, *matches, *_region_exprs(block.reads),
            *_region_exprs(block.writes), *init, block.body)  # fmt: skip


def _branches(stmt: s.IfThenElse) -> tuple[Any, ...]:
    tail = () if stmt.else_case is None else (stmt.else_case,)
    return (stmt.condition, stmt.then_case, *tail)


def _attr_parts(stmt: s.AttrStmt) -> tuple[Any, ...]:
    own = (stmt.node,) if isinstance(stmt.node, PrimExpr) else ()
    return (*own, stmt.value, stmt.body)


def _realized_parts(stmt: s.BufferRealize) -> tuple[Any, ...]:
    bounds = [part for rng in stmt.bounds for part in (rng.min, rng.extent)]
    return (*bounds, stmt.condition, stmt.body)


# How the parts of a node are taken, for its class or the first of these that it is a kind of.
# Looked up by class, as walks over programs do little else.
_EXPR_KINDS: Final[tuple[tuple[type, Callable[[Any], tuple[Any, ...]]], ...]] = (
    *((kind, attrgetter("a", "b")) for kind in (e.BinaryOpExpr, e.CmpExpr, e.And, e.Or)),
    (e.Var, _no_parts),
    (e.ConstExpr, _no_parts),
    (e.BufferLoad, _load_parts),
    (e.Call, _call_parts),
    (e.Cast, _one("value")),
    (e.Broadcast, attrgetter("value", "lanes")),
    (e.Not, _one("a")),
    (e.Select, attrgetter("condition", "true_value", "false_value")),
    (e.Ramp, attrgetter("base", "stride", "lanes")),
    (e.Let, attrgetter("value", "body")),
    (e.ProducerLoad, attrgetter("indices")),
    (e.Shuffle, lambda expr: (*expr.vectors, *expr.indices)),
    (e.Reduce, _reduce_parts),
)
_STMT_KINDS: Final[tuple[tuple[type, Callable[[Any], tuple[Any, ...]]], ...]] = (
    (s.SeqStmt, attrgetter("seq")),
    (s.BufferStore, _store_parts),
    (s.For, attrgetter("min", "extent", "body")),
    (s.Block, _block_parts),
    (s.BlockRealize, lambda stmt: (*stmt.iter_values, stmt.predicate, stmt.block)),
    (s.IfThenElse, _branches),
    (s.LetStmt, attrgetter("value", "body")),
    (s.AttrStmt, _attr_parts),
    (s.Allocate, lambda stmt: (*stmt.extents, stmt.condition, stmt.body)),
    (s.AllocateConst, lambda stmt: (*stmt.extents, stmt.body)),
    (s.DeclBuffer, lambda stmt: (*buffer_exprs(stmt.buffer), stmt.body)),
    (s.Evaluate, _one("value")),
    (s.AssertStmt, attrgetter("condition", "message", "body")),
    (s.While, attrgetter("condition", "body")),
    (s.BufferRealize, _realized_parts),
)
_PARTS: Final[dict[type, Callable[[Any], tuple[Any, ...]]]] = {}


def _parts_of(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """How the parts of a node are taken, noted for the next of its class."""
    take: Callable[[Any], tuple[Any, ...]] = _no_parts
    if issubclass(kind, PrimExpr):
        take = next((parts for one, parts in _EXPR_KINDS if issubclass(kind, one)), _no_parts)
    elif issubclass(kind, s.Stmt):
        take = next((parts for one, parts in _STMT_KINDS if issubclass(kind, one)), _no_parts)
    elif issubclass(kind, PrimFunc):
        take = _func_parts
    _PARTS[kind] = take
    return take


def expr_children(expr: PrimExpr) -> tuple[Any, ...]:
    """The direct sub-expressions of an expression, in order of evaluation."""
    kind = expr.__class__
    return (_PARTS.get(kind) or _parts_of(kind))(expr)


def inner_statements(stmt: s.Stmt) -> list[s.Stmt]:
    """The statements directly within another one, in order."""
    return [child for child in stmt_children(stmt) if isinstance(child, s.Stmt)]


def stmt_children(stmt: s.Stmt) -> tuple[Any, ...]:
    """The direct expressions and statements of a statement, in order."""
    kind = stmt.__class__
    return (_PARTS.get(kind) or _parts_of(kind))(stmt)


def _func_parts(func: PrimFunc) -> tuple[Any, ...]:
    shapes = [x for b in func.buffer_map.values() for x in buffer_exprs(b)]
    return (*shapes, func.body)


def children(node: Node) -> tuple[Any, ...]:
    """The direct expressions and statements of any TIR node."""
    kind = node.__class__
    return (_PARTS.get(kind) or _parts_of(kind))(node)


def walk(node: Node) -> Iterator[Any]:
    """`node` and all expressions and statements in it, parents first."""
    stack: list[Node] = [node]
    known = _PARTS.get
    while stack:
        current = stack.pop()
        yield current
        kind = current.__class__
        take = known(kind) or _parts_of(kind)
        if take is not _no_parts:
            stack += take(current)[::-1]


def distinct(node: Node) -> Iterator[Any]:
    """As `walk`, but expressions that stand in several places come once, unless they are leaves.

    Iterations of unrolled loops share what does not change, which is more than half of it. What is
    bound twice comes twice: statements are not looked at in this way.
    """
    seen: set[int] = set()
    stack: list[Node] = [node]
    known = _PARTS.get
    while stack:
        current = stack.pop()
        kind = current.__class__
        take = known(kind) or _parts_of(kind)
        if take is not _no_parts:
            if isinstance(current, PrimExpr):
                if id(current) in seen:
                    continue
                seen.add(id(current))
            stack += take(current)[::-1]
        yield current


def statements(node: Node, kind: type[N]) -> Iterator[N]:
    """The statements of a kind in `node`, itself included, parents first.

    Expressions hold none, so they are not looked at: most of a program is expressions.
    """
    stack: list[Node] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, kind):
            yield current
        stack += [part for part in children(current)[::-1] if isinstance(part, s.Stmt)]


def vars_in(*nodes: Node) -> Iterator[e.Var]:
    """The variables that occur in some nodes, each as often as it does."""
    for node in nodes:
        for part in walk(node):
            if isinstance(part, e.Var):
                yield part


def uses_var(node: Node, var: e.Var) -> bool:
    """True if the variable occurs in `node`."""
    return any(part is var for part in walk(node))


def uses_any(node: Node, variables: Container[Any]) -> bool:
    """True if one of the variables occurs in `node`."""
    return any(isinstance(part, e.Var) and part in variables for part in walk(node))
