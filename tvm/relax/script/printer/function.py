"""How Relax functions print."""

from __future__ import annotations

from typing import Final

from tvm.ir.module import IRModule
from tvm.relax.expr import Function, SeqExpr
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
from tvm.script.printer.entry import header
from tvm.tir.script.printer.func import insert_module_alias
from tvm.tir.script.printer.stmt import annotations_doc

from .binding import body_docs
from .expr import define_var
from .symbols import TOKEN, SignatureSymbols

SYMBOL: Final = "global_symbol"


@rule(Function, dialect=TOKEN)
def _function(func: Function, d: Docsifier) -> Doc:
    symbol = func.attrs.get(SYMBOL)
    name = d.binding_names[-1] if d.binding_names else identifier(str(symbol or "main"))
    outside = all(f.node is None or isinstance(f.node, IRModule) for f in d.frames)
    with d.frame(func, TOKEN) as frame:
        symbols = frame.extra = SignatureSymbols()
        params = [_param(param, frame, d) for param in func.params]
        result = d.expr(func.ret_struct_info)
        symbols.in_signature = False
        attrs = dict(func.attrs.items())
        if attrs.get(SYMBOL) == name:
            del attrs[SYMBOL]
        if attrs:
            said = d.word(TOKEN, "func_attr").call(annotations_doc(attrs, d))
            frame.stmts.append(ExprStmtDoc(said))
        body = func.body
        assert isinstance(body, SeqExpr), "a function's body is a sequence"
        stmts = body_docs(body, d)
        if outside:
            insert_module_alias(frame, d, len(frame.stmts))
        frame.stmts.extend(stmts)
        decorator = _decorator(func, outside and symbol is None, d)
        made = FunctionDoc(IdDoc(name), params, [decorator], result, frame.stmts)
    return header(d, made)


def _param(param: object, frame: Frame, d: Docsifier) -> AssignDoc:
    info = param.struct_info_  # type: ignore[attr-defined]
    note = None if info is None else d.expr(info)
    doc = AssignDoc(define_var(param, frame, d), None, note)  # type: ignore[arg-type]
    d.mark(param, doc)
    return doc


def _decorator(func: Function, private: bool, d: Docsifier) -> ExprDoc:
    options: dict[str, ExprDoc] = {}
    if not func.is_pure:
        options["pure"] = LiteralDoc(False)
    if private:
        options["private"] = LiteralDoc(True)
    word = d.word(TOKEN, "function")
    return word.call(**options) if options else word
