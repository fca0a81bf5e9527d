"""Variables in print: where a free one is declared, and how a declaration looks."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.type import PointerType, PrimType
from tvm.script.ir_dialect.printer import dtype_doc
from tvm.script.printer.doc import AssignDoc, ExprDoc, IdDoc, LiteralDoc, TupleDoc
from tvm.script.printer.docsifier import Docsifier, Frame, rule
from tvm.tir.expr import IterVar, SizeVar, Var

from .uses import frame_around_uses


def pointer_doc(kind: PointerType, d: Docsifier) -> ExprDoc:
    """`T.handle("float32", "global")`; `T.handle` for a pointer to anything."""
    element = kind.element_type
    if not isinstance(element, PrimType):
        return d.word("tir", "handle")
    args = (LiteralDoc(str(element.dtype)), LiteralDoc(kind.storage_scope))
    return d.word("tir", "handle").call(*args)


def creation_doc(var: Var, d: Docsifier) -> ExprDoc:
    """The call that makes such a variable: `T.int32()`, `T.handle("float32", "global")`."""
    if isinstance(var.type_annotation, PointerType):
        doc = pointer_doc(var.type_annotation, d)
        made = doc if doc is not d.word("tir", "handle") else doc.call()
    else:
        made = dtype_doc(var.dtype, d).call()
    if isinstance(var, SizeVar):
        made = make_size_var(made)
    return made


def annotation_doc(var: Var, d: Docsifier) -> ExprDoc:
    """The annotation of a variable that is defined by a parameter or a let."""
    return creation_doc(var, d) if isinstance(var, SizeVar) else d.expr(var.type_annotation)


def make_size_var(made: ExprDoc) -> ExprDoc:
    """The creation with `is_size_var=True`."""
    args = getattr(made, "args", ())
    return made.callee.call(*args, is_size_var=LiteralDoc(True))  # type: ignore[attr-defined,no-any-return]


def define_var(var: Var, frame: Frame, d: Docsifier) -> ExprDoc:
    """The name of a variable, which is given here if it has none yet."""
    found = d.name_doc(var)
    return found if found is not None else d.define(var, frame, var.name or "v")


def declare_var(var: Var, frame: Frame, d: Docsifier) -> None:
    """Put `n = T.int32()` into the frame; a path leads to where the variable is used."""
    name = d.define(var, frame, var.name or "v")
    frame.stmts.append(AssignDoc(name, creation_doc(var, d)))


def declaration_of(variables: Sequence[Var], d: Docsifier) -> AssignDoc:
    """`n, m = T.int32(), T.int64()` for variables that have their names."""
    names = d.exprs(variables)
    made = [creation_doc(var, d) for var in variables]
    if len(made) == 1:
        return AssignDoc(names[0], made[0])
    return AssignDoc(TupleDoc(names), TupleDoc(made))


@rule(Var, SizeVar, dialect="tir")
def _var(var: Var, d: Docsifier) -> ExprDoc:
    found = d.name_doc(var)
    if found is not None:
        return found
    declare_var(var, frame_around_uses(var, d), d)
    named = d.name_doc(var)
    assert named is not None
    return named


ITER_TYPES = (
    "DataPar", "ThreadIndex", "CommReduce", "Ordered", "DimInfo", "Unrolled", "Vectorized",
    "Parallelized", "Tensorized",
)  # fmt: skip


@rule(IterVar, dialect="tir")
def _iter_var(iter_var: IterVar, d: Docsifier) -> ExprDoc:
    dom = LiteralDoc(None) if iter_var.dom is None else d.expr(iter_var.dom)
    kind, tag = ITER_TYPES[iter_var.iter_type], iter_var.thread_tag
    var = d.expr(iter_var.var)
    return d.word("tir", "iter_var").call(var, dom, LiteralDoc(kind), LiteralDoc(tag))


def id_of(doc: ExprDoc) -> IdDoc:
    """The document as a plain name."""
    assert isinstance(doc, IdDoc)
    return doc
