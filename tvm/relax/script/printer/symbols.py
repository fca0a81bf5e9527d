"""Symbolic variables in print: declared once at the top of the function that uses them.

In a signature a shape that uses them is quoted, `R.Tensor(("n", 4))`, for they are declared in the
body only.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.script.printer.doc import AssignDoc, ExprDoc, LiteralDoc
from tvm.script.printer.doc_printer import to_python_script
from tvm.script.printer.docsifier import Docsifier, Frame, rule
from tvm.tir.expr import FloatImm, IntImm, SizeVar, Var
from tvm.tir.functor import walk
from tvm.tir.script.printer.names import creation_doc

TOKEN = "relax"


class SignatureSymbols:
    """Kept by a function's frame: the symbols of its signature, and whether it is being printed.

    `used` are the variables without a value of their own (empty tuples) that are read somewhere.
    """

    __slots__ = ("ids", "in_signature", "used")

    def __init__(self, used: frozenset[object] = frozenset()) -> None:
        self.ids: set[int] = set()
        self.in_signature = True
        self.used = used


def function_frame(d: Docsifier) -> Frame:
    """The frame of the function that is being printed; of a part without one, the innermost."""
    for frame in reversed(d.frames):
        if isinstance(frame.extra, SignatureSymbols):
            return frame
    return d.frames[-1]


@rule(Var, SizeVar, token=TOKEN)
def _symbol(var: Var, d: Docsifier) -> ExprDoc:
    found = d.name_doc(var)
    if found is not None:
        return found
    frame = function_frame(d)
    if not isinstance(frame.extra, SignatureSymbols):
        frame = d.frames[0]  # both branches of a choice read the same symbol
    elif frame.extra.in_signature:
        frame.extra.ids.add(id(var))
    name = d.define(var, frame, var.name or "v")
    frame.stmts.append(AssignDoc(name, creation_doc(var, d)))
    return name


@rule(IntImm, token=TOKEN)
def _int_imm(imm: IntImm, d: Docsifier) -> ExprDoc:
    return LiteralDoc(bool(imm.value) if imm.dtype.is_bool else imm.value)


@rule(FloatImm, token=TOKEN)
def _float_imm(imm: FloatImm, d: Docsifier) -> ExprDoc:
    return d.word("tir", str(imm.dtype)).call(LiteralDoc(imm.value))


def dim_doc(value: PrimExpr, d: Docsifier) -> ExprDoc:
    """One extent; quoted in a signature if it uses the signature's symbols."""
    doc = d.expr(value)
    extra = function_frame(d).extra
    if not isinstance(extra, SignatureSymbols) or not extra.in_signature:
        return doc
    if any(id(part) in extra.ids for part in walk(value)):
        return LiteralDoc(to_python_script(doc, d.cfg.indent_spaces))
    return doc


def dim_docs(values: Sequence[PrimExpr], d: Docsifier) -> list[ExprDoc]:
    """Several extents."""
    return [dim_doc(value, d) for value in values]
