"""How targets and index maps print inside TensorIR."""

from __future__ import annotations

from tvm.script.printer.doc import DictDoc, ExprDoc, LambdaDoc, ListDoc, LiteralDoc, TupleDoc
from tvm.script.printer.docsifier import Docsifier, rule
from tvm.target import Target
from tvm.tir.index_map import IndexMap

from .names import define_var, id_of


@rule(Target, dialect="tir")
def _target(target: Target, d: Docsifier) -> ExprDoc:
    """`T.target({"keys": ["cpu"], "kind": "llvm", "tag": ""})`, sorted by key."""
    return d.word("tir", "target").call(plain_doc(target.export()))


def plain_doc(value: object) -> ExprDoc:
    """Nested dicts, lists and plain values as literals; dicts sorted by key."""
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: str(item[0]))
        return DictDoc({LiteralDoc(str(key)): plain_doc(inner) for key, inner in items})
    if isinstance(value, (list, tuple)):
        return ListDoc([plain_doc(inner) for inner in value])
    if value is None or isinstance(value, (str, bool, int, float)):
        return LiteralDoc(value)
    return LiteralDoc(str(value))


@rule(IndexMap, dialect="tir")
def _index_map(mapping: IndexMap, d: Docsifier) -> ExprDoc:
    """`T.index_map(lambda i, j: (i // 16, j))`; indices are int64 unless it says otherwise."""
    options: dict[str, ExprDoc] = {}
    if mapping.inverse_index_map is not None:
        options["inverse_index_map"] = _lambda(mapping.inverse_index_map, d)
    if any(str(var.dtype) != "int64" for var in mapping.initial_indices):
        options["index_dtype"] = LiteralDoc(str(mapping.initial_indices[0].dtype))
    return d.word("tir", "index_map").call(_lambda(mapping, d), **options)


def _lambda(mapping: IndexMap, d: Docsifier) -> LambdaDoc:
    with d.frame(mapping, d.tokens[-1] if d.tokens else "tir") as frame:  # the dialect's numbers
        names = [id_of(define_var(var, frame, d)) for var in mapping.initial_indices]
        return LambdaDoc(names, TupleDoc(d.exprs(mapping.final_indices)))
