"""How bindings, blocks and sequences print."""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.normalize import normalize
from tvm.script.printer.doc import (
    AssignDoc,
    Doc,
    ExprDoc,
    ExprStmtDoc,
    IfDoc,
    ReturnDoc,
    ScopeDoc,
    StmtBlockDoc,
)
from tvm.script.printer.docsifier import Docsifier, rule

from .expr import define_var, is_void
from .symbols import TOKEN, SignatureSymbols, function_frame

# The struct info of these calls is said by the call itself.
_SAYS_RESULT = ("relax.call_tir", "relax.call_dps_packed")


def annotation(var: Var, value: object, d: Docsifier) -> ExprDoc | None:
    """The struct info of a variable, unless it follows from the value and may be left out."""
    info = var.struct_info_
    if info is None:
        return None
    hide = not d.cfg.show_all_struct_info
    if is_call_of(value, *_SAYS_RESULT):
        hide = True
        if len(value.sinfo_args) == 1 and structural_equal(value.sinfo_args[0], info):
            return None
    if hide:
        found = _found_again(value)
        if found is not None and structural_equal(found, info):
            return None
    return d.expr(info)


def _found_again(value: object) -> StructInfo | None:
    """The struct info that a reader finds for the value, or the cast, by itself."""
    if isinstance(value, MatchCast):
        return value.struct_info
    if isinstance(value, Var):
        return value.struct_info_
    fresh: RelaxExpr
    if isinstance(value, Call):
        if not isinstance(value.op, Op):
            return None  # what a function gives is told
        fresh = Call(value.op, value.args, value.attrs, value.sinfo_args)
    elif isinstance(value, Tuple):
        fresh = Tuple(value.fields)
    elif isinstance(value, TupleGetItem):
        fresh = TupleGetItem(value.tuple_value, value.index)
    else:
        return None
    return normalize(BlockBuilder(), fresh).struct_info_


@rule(VarBinding, dialect=TOKEN)
def _var_binding(binding: VarBinding, d: Docsifier) -> Doc:
    var, value = binding.var, binding.value
    if isinstance(value, If):
        return _if(value, var, d)
    if isinstance(value, BaseFunc) and not isinstance(value, ExternFunc):
        name = define_var(var, d.frames[-1], d)
        d.binding_names.append(getattr(name, "name", var.name_hint))
        doc = d.doc(value)
        d.binding_names.pop()
        return doc
    if d.cfg.syntax_sugar and is_void(value) and is_void(var) and not _is_read(var, d):
        return ExprStmtDoc(d.expr(value))
    rhs = d.expr(value)
    note = annotation(var, value, d)
    return AssignDoc(define_var(var, d.frames[-1], d), rhs, note)


def _is_read(var: Var, d: Docsifier) -> bool:
    """True if a variable for nothing is read after all."""
    extra = function_frame(d).extra
    return isinstance(extra, SignatureSymbols) and var.vid in extra.used


@rule(MatchCast, dialect=TOKEN)
def _match_cast(binding: MatchCast, d: Docsifier) -> Doc:
    cast = d.word(TOKEN, "match_cast")
    info = d.expr(binding.struct_info)  # first: its symbols stand above
    rhs = cast.call(d.expr(binding.value), info)
    note = annotation(binding.var, binding, d)
    return AssignDoc(define_var(binding.var, d.frames[-1], d), rhs, note)


@rule(If, dialect=TOKEN)
def _bare_if(expr: If, d: Docsifier) -> Doc:
    return _if(expr, None, d)


def _if(expr: If, var: Var | None, d: Docsifier) -> Doc:
    """Both branches end by giving the variable its value."""
    condition = d.expr(expr.cond)
    if var is not None:
        define_var(var, d.frames[-1], d)  # before the branches, whose variables give way
    branches: list[list[Doc]] = []
    seqs = [_as_seq(expr.true_branch), _as_seq(expr.false_branch)]
    parts = []
    for seq in seqs:
        with d.frame(seq, TOKEN) as frame:
            stmts, result = block_docs(seq, d), d.expr(seq.body)
            parts.append(([*stmts, *frame.stmts], result))
    for stmts, result in parts:
        if var is None:
            stmts.append(ExprStmtDoc(result))
        else:
            note = annotation(var, None, d)
            stmts.append(AssignDoc(define_var(var, d.frames[-1], d), result, note))
        branches.append(stmts)
    return IfDoc(condition, branches[0], branches[1])


def _as_seq(expr: object) -> SeqExpr:
    assert isinstance(expr, SeqExpr), "branches are sequences"
    return expr


def block_docs(seq: SeqExpr, d: Docsifier) -> list[Doc]:
    """The statements of a sequence's blocks; a free variable is declared before its first block."""
    docs: list[Doc] = []
    frame = d.frames[-1]
    for block in seq.blocks:
        doc = d.doc(block)
        if not isinstance(frame.extra, SignatureSymbols):
            docs.extend(frame.stmts)
            frame.stmts.clear()
        docs.extend(doc.stmts if isinstance(doc, StmtBlockDoc) else [doc])
    return docs


@rule(SeqExpr, dialect=TOKEN)
def _seq(seq: SeqExpr, d: Docsifier) -> StmtBlockDoc:
    with d.frame(seq, TOKEN) as frame:
        stmts, result = block_docs(seq, d), d.expr(seq.body)
        return StmtBlockDoc([*stmts, *frame.stmts, ExprStmtDoc(result)])


def body_docs(seq: SeqExpr, d: Docsifier) -> list[Doc]:
    """The statements of a function's body, with the `return`."""
    return [*block_docs(seq, d), ReturnDoc(d.expr(seq.body))]


@rule(BindingBlock, dialect=TOKEN)
def _block(block: BindingBlock, d: Docsifier) -> StmtBlockDoc:
    return StmtBlockDoc(_bindings(block, d))


@rule(DataflowBlock, dialect=TOKEN)
def _dataflow(block: DataflowBlock, d: Docsifier) -> ScopeDoc:
    stmts = _bindings(block, d)
    said = d.word(TOKEN, "output").call(*d.exprs(output_vars(block)))
    stmts.append(ExprStmtDoc(said))
    return ScopeDoc(None, d.word(TOKEN, "dataflow").call(), stmts)


def output_vars(block: DataflowBlock) -> list[Var]:
    """The variables that are seen outside of the block."""
    return [b.var for b in block.bindings if not isinstance(b.var, DataflowVar)]


def _bindings(block: BindingBlock, d: Docsifier) -> list[Doc]:
    docs: list[Doc] = []
    binding: Binding
    for binding in block.bindings:
        doc = d.doc(binding)
        docs.extend(doc.stmts if isinstance(doc, StmtBlockDoc) else [doc])
    return docs
