"""How targets and index maps print inside TensorIR."""

from __future__ import annotations

from tvm.script.printer.doc import DictDoc, ExprDoc, ListDoc, LiteralDoc
from tvm.script.printer.docsifier import Docsifier, rule
from tvm.target import Target


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
