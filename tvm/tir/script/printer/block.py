"""How blocks print."""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr, Range
from tvm.script.printer.doc import (
    AssignDoc,
    Doc,
    ExprDoc,
    ExprStmtDoc,
    ListDoc,
    LiteralDoc,
    ScopeDoc,
    TupleDoc,
)
from tvm.script.printer.docsifier import Docsifier, Frame, rule
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For

from .buffer import declare_buffer
from .names import define_var
from .stmt import body_docs, print_body

_AXIS_WORDS: Final = {
    IterVar.DataPar: "spatial",
    IterVar.CommReduce: "reduce",
    IterVar.Ordered: "scan",
    IterVar.DimInfo: "opaque",
}
_REMAP_LETTERS: Final = {IterVar.DataPar: "S", IterVar.CommReduce: "R"}


@rule(BlockRealize, dialect="tir")
def _realize(realize: BlockRealize, d: Docsifier) -> ScopeDoc:
    made = _block(realize.block, realize, d)
    d.mark(realize.block, made)
    return made


@rule(Block, dialect="tir")
def _bare_block(block: Block, d: Docsifier) -> ScopeDoc:
    return _block(block, None, d)


def _block(block: Block, realize: BlockRealize | None, d: Docsifier) -> ScopeDoc:
    with d.frame(block, "tir") as frame:
        _axes(block, realize, frame, d)
        if realize is not None and not _is_true(realize.predicate):
            _say("where", frame, d, d.expr(realize.predicate))
        _regions("reads", block.reads, frame, d)
        _regions("writes", block.writes, frame, d)
        if block.annotations:
            _say("block_attr", frame, d, d.expr(block.annotations))
        allocs_and_matches(block, frame, d)
        if block.init is not None:
            with d.frame(block.init, "tir") as inner:
                init = body_docs(block.init, inner, d)
            frame.stmts.append(ScopeDoc(None, d.word("tir", "init").call(), init))
        print_body(block.body, frame, d)
        kwargs = {} if realize is not None else {"no_realize": LiteralDoc(True)}
        head = d.word("tir", "block").call(LiteralDoc(block.name_hint), **kwargs)
        return ScopeDoc(None, head, frame.stmts)


def allocs_and_matches(block: Block, frame: Frame, d: Docsifier) -> None:
    """Print the buffers that a block allocates and those that stand for regions of others."""
    for buffer in block.alloc_buffers:
        declare_buffer(buffer, "alloc_buffer", frame, d)
    for match in block.match_buffers:
        doc: Doc = d.doc(match)
        frame.stmts.append(doc)


def _is_true(value: PrimExpr) -> bool:
    return isinstance(value, IntImm) and value.value == 1


def _say(word: str, frame: Frame, d: Docsifier, *args: ExprDoc) -> None:
    frame.stmts.append(ExprStmtDoc(d.word("tir", word).call(*args)))


def _regions(
    word: str, regions: tuple[BufferRegion, ...], frame: Frame, d: Docsifier
) -> None:
    _say(word, frame, d, *d.exprs(regions))


def _axes(block: Block, realize: BlockRealize | None, frame: Frame, d: Docsifier) -> None:
    """Iteration variables; runs of plain loop variables are said by one `T.axis.remap`."""
    loops = _enclosing_loops(d)
    values = None if realize is None else realize.iter_values
    run: list[int] = []
    for i, iter_var in enumerate(block.iter_vars):
        if values is not None and _is_loop(iter_var, values[i], loops):
            run.append(i)
            continue
        _remap(block, values, run, frame, d)
        run = []
        _axis(iter_var, None if values is None else values[i], frame, d)
    _remap(block, values, run, frame, d)


def _enclosing_loops(d: Docsifier) -> dict[int, For]:
    loops: dict[int, For] = {}
    for frame in d.frames:
        node = frame.node
        while isinstance(node, For):
            loops[id(node.loop_var)] = node
            node = node.body
    return loops


def _is_loop(iter_var: IterVar, value: PrimExpr, loops: dict[int, For]) -> bool:
    """True if the axis is a loop variable over exactly the loop's range."""
    if iter_var.iter_type not in _REMAP_LETTERS or not isinstance(value, Var):
        return False
    loop = loops.get(id(value))
    dom = iter_var.dom
    if loop is None or dom is None or iter_var.var.dtype is not loop.loop_var.dtype:
        return False
    return _same(dom.min, loop.min) and _same(dom.extent, loop.extent)


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value and a.dtype is b.dtype
    return a is b


def _remap(
    block: Block,
    values: tuple[PrimExpr, ...] | None,
    run: list[int],
    frame: Frame,
    d: Docsifier,
) -> None:
    if not run:
        return
    assert values is not None
    if len(run) == 1 or not d.cfg.syntax_sugar:
        for i in run:
            _axis(block.iter_vars[i], values[i], frame, d)
        return
    axes = [block.iter_vars[i] for i in run]
    letters = "".join(_REMAP_LETTERS[axis.iter_type] for axis in axes)
    bindings = ListDoc(d.exprs([values[i] for i in run]))
    names = TupleDoc([define_var(axis.var, frame, d) for axis in axes])
    made = d.word("tir", "axis.remap").call(LiteralDoc(letters), bindings)
    frame.stmts.append(AssignDoc(names, made))


def _axis(iter_var: IterVar, value: PrimExpr | None, frame: Frame, d: Docsifier) -> None:
    word = _AXIS_WORDS.get(iter_var.iter_type)
    assert word is not None, f"a block axis of type {iter_var.iter_type}"
    args = [LiteralDoc(None) if iter_var.dom is None else _dom(iter_var.dom, d)]
    if value is not None:
        args.append(d.expr(value))
    name = define_var(iter_var.var, frame, d)
    made = AssignDoc(name, d.word("tir", f"axis.{word}").call(*args))
    d.mark(iter_var, made, defines=True)
    frame.stmts.append(made)


def _dom(dom: Range, d: Docsifier) -> ExprDoc:
    if isinstance(dom.min, IntImm) and dom.min.value == 0:
        return d.expr(dom.extent)
    return TupleDoc(d.exprs((dom.min, dom.min + dom.extent)))
