"""How Relax functions print."""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax.expr import (
    Call,
    DataflowBlock,
    Function,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.script.printer.doc import (
    AssignDoc,
    Doc,
    ExprDoc,
    ExprStmtDoc,
    FunctionDoc,
    IdDoc,
    LiteralDoc,
)
from tvm.script.printer.docsifier import Docsifier, Frame, identifier, rule
from tvm.script.printer.entry import header, with_imports
from tvm.tir.script.printer.stmt import annotations_doc

from .binding import body_docs, output_vars
from .expr import define_var, is_void
from .symbols import TOKEN, SignatureSymbols

SYMBOL: Final = "global_symbol"


@rule(Function, dialect=TOKEN)
def _function(func: Function, d: Docsifier) -> Doc:
    symbol = func.attrs.get(SYMBOL)
    name = d.binding_names[-1] if d.binding_names else identifier(str(symbol or "main"))
    outside = all(f.node is None or isinstance(f.node, IRModule) for f in d.frames)
    with d.frame(func, TOKEN) as frame:
        symbols = frame.extra = SignatureSymbols(_void_vars_read(func))
        result = d.expr(func.ret_struct_info)  # first: sizes are declared in its order
        params = [_param(param, frame, d) for param in func.params]
        symbols.in_signature = False
        attrs = dict(func.attrs.items())
        if attrs.get(SYMBOL) == name:
            del attrs[SYMBOL]
        if attrs:
            said = d.word(TOKEN, "func_attr").call(annotations_doc(attrs, d))
            frame.stmts.append(ExprStmtDoc(said))
        body = func.body
        assert isinstance(body, SeqExpr), "a function's body is a sequence"
        alias, start = d.module_alias if outside else None, len(frame.stmts)
        if alias is not None:
            alias.in_graph, alias.used = True, False
        stmts = body_docs(body, d)
        if alias is not None:
            alias.in_graph = False
            if alias.used and alias.name != alias.module_name:
                # behind the sizes of the signature, before those that the body declares
                made_here = AssignDoc(IdDoc(alias.name), IdDoc(alias.module_name))
                frame.stmts.insert(start, made_here)
        frame.stmts.extend(stmts)
        decorator = _decorator(func, outside and symbol is None, d)
        made = FunctionDoc(IdDoc(name), params, [decorator], result, frame.stmts)
    # a function within another is as complete as one that stands alone
    return header(d, made) if outside else with_imports(d, made)


def _void_vars_read(func: Function) -> frozenset[object]:
    """The variables for nothing that are read after all, so that they need names."""
    found: set[object] = set()
    stack: list[RelaxExpr] = [func.body]
    while stack:
        expr = stack.pop()
        if isinstance(expr, Var):
            if is_void(expr):
                found.add(expr.vid)
        elif isinstance(expr, SeqExpr):
            stack.append(expr.body)
            stack.extend(b.value for block in expr.blocks for b in block.bindings)
            dataflow = [block for block in expr.blocks if isinstance(block, DataflowBlock)]
            stack.extend(var for block in dataflow for var in output_vars(block))
        elif isinstance(expr, Call):
            stack += [expr.op, *expr.args]
        elif isinstance(expr, Tuple):
            stack.extend(expr.fields)
        elif isinstance(expr, If):
            stack += [expr.cond, expr.true_branch, expr.false_branch]
        elif isinstance(expr, TupleGetItem):
            stack.append(expr.tuple_value)
        elif isinstance(expr, Function):
            stack.append(expr.body)
    return frozenset(found)


def _param(param: object, frame: Frame, d: Docsifier) -> AssignDoc:
    info = param.struct_info_  # type: ignore[attr-defined]
    note = None if info is None else d.expr(info)
    doc = AssignDoc(define_var(param, frame, d), None, note)  # type: ignore[arg-type]
    d.mark(param, doc, defines=True)
    return doc


def _decorator(func: Function, private: bool, d: Docsifier) -> ExprDoc:
    options: dict[str, ExprDoc] = {}
    if not func.is_pure:
        options["pure"] = LiteralDoc(False)
    if private:
        options["private"] = LiteralDoc(True)
    word = d.word(TOKEN, "function")
    return word.call(**options) if options else word
