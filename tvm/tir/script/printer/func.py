"""How functions of TensorIR print."""

from __future__ import annotations

from collections import Counter
from typing import Final

from tvm.ir.type import TupleType
from tvm.script.printer.doc import (
    AssignDoc,
    CommentDoc,
    Doc,
    ExprDoc,
    ExprStmtDoc,
    FunctionDoc,
    IdDoc,
    LiteralDoc,
)
from tvm.script.printer.docsifier import Docsifier, Frame, identifier, rule
from tvm.script.printer.entry import header
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements
from tvm.tir.stmt import Block, BlockRealize

from .block import allocs_and_matches
from .buffer import buffer_annotation, declare_buffer, define_buffer, is_plain
from .names import annotation_doc, define_var
from .stmt import annotations_doc, print_body
from .uses import is_used

SYMBOL: Final = "global_symbol"


@rule(PrimFunc, dialect="tir")
def _prim_func(func: PrimFunc, d: Docsifier) -> Doc:
    with d.frame(func, "tir") as frame:
        # Global names of the module are not redefined by what the function calls its own.
        name = function_name(func, d)
        params = _params(func, frame, d)
        attrs = dict(func.attrs.items())
        if attrs.get(SYMBOL) == name:
            del attrs[SYMBOL]
        if attrs:
            said = d.word("tir", "func_attr").call(annotations_doc(attrs, d))
            frame.stmts.append(ExprStmtDoc(said))
        _matches(func, frame, d)
        _body(func, frame, d)
        decorator = d.word("tir", "prim_func")
        if SYMBOL not in func.attrs:
            decorator = decorator.call(private=LiteralDoc(True))
        ret = func.ret_type
        unit = isinstance(ret, TupleType) and not ret.fields
        result = None if unit else d.expr(ret)
        made = FunctionDoc(IdDoc(name), params, [decorator], result, frame.stmts)
    return header(d, made)


def function_name(func: PrimFunc, d: Docsifier) -> str:
    """The name that the module or the user gave, else the function's symbol, else `main`."""
    if d.binding_names:
        return d.binding_names[-1]
    symbol = func.attrs.get(SYMBOL)
    return identifier(str(symbol)) if symbol is not None else "main"


def _params(func: PrimFunc, frame: Frame, d: Docsifier) -> list[AssignDoc]:
    pointers: Counter[int] = Counter(id(b.data) for b in func.buffer_map.values())
    docs: list[AssignDoc] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if (
            buffer is not None
            and d.cfg.syntax_sugar
            and is_plain(buffer)
            and pointers[id(buffer.data)] == 1
            and not is_used(param, frame, d)
        ):
            name = define_buffer(buffer, frame, d)
            _define_data(buffer, name, frame, d)
            doc = AssignDoc(name, None, buffer_annotation(buffer, d))
            d.mark(buffer, doc, defines=True)
        else:
            name = define_var(param, frame, d)
            doc = AssignDoc(name, None, annotation_doc(param, d))
        d.mark(param, doc, defines=True)
        docs.append(doc)
    return docs


def _define_data(buffer: object, name: ExprDoc, frame: Frame, d: Docsifier) -> None:
    data = getattr(buffer, "data")  # noqa: B009 - the buffer's own pointer
    if not d.is_defined(data):
        d.define_as(data, frame, lambda: name.attr("data"))


def _matches(func: PrimFunc, frame: Frame, d: Docsifier) -> None:
    """Buffers that do not fit into the signature are matched in the body."""
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is not None and not d.is_defined(buffer):
            declare_buffer(buffer, "match_buffer", frame, d, d.expr(param))


def _body(func: PrimFunc, frame: Frame, d: Docsifier) -> None:
    root = implicit_root(func) if d.cfg.syntax_sugar else None
    if root is None:
        print_body(func.body, frame, d)
        return
    frame.stmts.append(CommentDoc('with T.block("root"):'))
    allocs_and_matches(root, frame, d)
    print_body(root.body, frame, d)


def implicit_root(func: PrimFunc) -> Block | None:
    """The root block, if the parser puts the same one around the body by itself."""
    realize = func.body
    if not isinstance(realize, BlockRealize) or realize.iter_values:
        return None
    if getattr(realize.predicate, "value", None) != 1:
        return None
    block = realize.block
    if block.annotations or block.match_buffers or block.reads or block.writes or block.init:
        return None
    inner = block.body
    if block.alloc_buffers:
        return block
    if isinstance(inner, BlockRealize):
        return block if inner.block.iter_vars else None
    has_block = any(statements(inner, BlockRealize))
    return block if has_block else None
