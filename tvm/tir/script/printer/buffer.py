"""How buffers, loads, stores and regions print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import OPERATORS, PrimExpr, Range
from tvm.script.printer.doc import (
    AssignDoc,
    AttrAccessDoc,
    ExprDoc,
    IndexDoc,
    ListDoc,
    LiteralDoc,
    SliceDoc,
    TupleDoc,
)
from tvm.script.printer.docsifier import Docsifier, Frame, rule
from tvm.tir.buffer import Buffer
from tvm.tir.expr import INT32, BufferLoad, IntImm, Ramp, Var
from tvm.tir.functor import walk
from tvm.tir.stmt import BufferRegion, MatchBufferRegion

from .expr import dtype_literal, ramp_end
from .names import declaration_of, declare_var
from .uses import frame_around_uses

ALIGNMENT: Final = 64  # bytes; what buffers have unless they say otherwise


class BufferArgs:
    """The arguments of the call that makes a buffer; positional ones first."""

    __slots__ = ("dtype", "kwargs", "shape")

    def __init__(
        self, shape: ExprDoc, dtype: LiteralDoc | None, kwargs: dict[str, ExprDoc]
    ) -> None:
        self.shape: Final = shape
        self.dtype: Final = dtype
        self.kwargs: Final = kwargs

    def call(self, callee: ExprDoc, *first: ExprDoc) -> ExprDoc:
        """The call `callee(first, shape, dtype, key=value)`."""
        dtype = () if self.dtype is None else (self.dtype,)
        return callee.call(*first, self.shape, *dtype, **self.kwargs)


def _is_new(value: PrimExpr, buffer: Buffer, d: Docsifier) -> bool:
    """A variable that nothing defined, of the type that a reader makes of its bare name."""
    if type(value) is not Var or d.is_defined(value):
        return False
    return value.dtype is (buffer.shape[0].dtype if buffer.shape else INT32)


def buffer_args(buffer: Buffer, name: ExprDoc, frame: Frame, d: Docsifier) -> BufferArgs:
    """The arguments that make `buffer`, called `name`.

    Strides, the offset and the data pointer are defined by the buffer if nothing else did.
    """
    kwargs: dict[str, ExprDoc] = {}
    free = FreeVars(frame, d)
    shape = TupleDoc([free.expr(extent) for extent in buffer.shape])
    if d.is_defined(buffer.data):
        kwargs["data"] = d.expr(buffer.data)
    else:
        d.define_as(buffer.data, frame, lambda: AttrAccessDoc(name, "data"))
    if buffer.strides:
        kwargs["strides"] = TupleDoc(
            [_stride(buffer, i, name, free) for i in range(len(buffer.strides))]
        )
    needs_factor = _offset(buffer, name, free, kwargs)
    free.declare()
    if buffer.scope() != "global":
        kwargs["scope"] = LiteralDoc(buffer.scope())
    if buffer.data_alignment != ALIGNMENT:
        kwargs["align"] = LiteralDoc(buffer.data_alignment)
    if needs_factor or buffer.offset_factor != 1:
        kwargs["offset_factor"] = LiteralDoc(buffer.offset_factor)
    if buffer.buffer_type:
        kwargs["buffer_type"] = LiteralDoc(_type_word(buffer.buffer_type))
    if buffer.axis_separators:
        kwargs["axis_separators"] = ListDoc(d.exprs(buffer.axis_separators))
    dtype = None if buffer.dtype is d.cfg.buffer_dtype else dtype_literal(buffer.dtype)
    return BufferArgs(shape, dtype, kwargs)


def _type_word(buffer_type: str) -> str:
    return "auto" if buffer_type == "auto_broadcast" else buffer_type


class FreeVars:
    """Variables that nothing defined yet, on the way to a buffer that has them.

    Those that are an extent, a stride or the offset by themselves are declared in one
    line before the buffer, `n, m = T.int64(), T.int64()`; those inside of an expression
    one by one before.
    """

    __slots__ = ("d", "frame", "sizes")

    def __init__(self, frame: Frame, d: Docsifier) -> None:
        self.frame: Final = frame  # of the buffer: what it defines itself lives there
        self.d: Final = d
        self.sizes: Final[list[Var]] = []

    def expr(self, value: PrimExpr) -> ExprDoc:
        """The document of the value; its free variables are, or will be, declared."""
        d = self.d
        if isinstance(value, Var) and not d.is_defined(value):
            d.define(value, d.frames[-1], value.name or "v")
            self.sizes.append(value)
        for part in walk(value):
            if isinstance(part, Var) and not d.is_defined(part):
                declare_var(part, d.frames[-1], d)
        return d.expr(value)

    def declare(self) -> None:
        """Put the line for those that stand alone into the frame."""
        if self.sizes:
            self.d.frames[-1].stmts.append(declaration_of(self.sizes, self.d))


def _stride(buffer: Buffer, i: int, name: ExprDoc, free: FreeVars) -> ExprDoc:
    stride = buffer.strides[i]
    if _is_new(stride, buffer, free.d):
        assert isinstance(stride, Var)
        index = LiteralDoc(i)
        free.d.define_as(
            stride, free.frame, lambda: IndexDoc(AttrAccessDoc(name, "strides"), [index])
        )
        return LiteralDoc(stride.name)
    return free.expr(stride)


def _offset(
    buffer: Buffer, name: ExprDoc, free: FreeVars, kwargs: dict[str, ExprDoc]
) -> bool:
    """Add the offset unless it is zero; True where only the offset factor stands for it."""
    offset = buffer.elem_offset
    if isinstance(offset, IntImm) and offset.value == 0 and buffer.offset_factor == 1:
        return False  # beside a factor the offset would be read as a variable
    if _is_new(offset, buffer, free.d):
        free.d.define_as(offset, free.frame, lambda: AttrAccessDoc(name, "elem_offset"))
        return True
    kwargs["elem_offset"] = free.expr(offset)
    return False


def define_buffer(buffer: Buffer, frame: Frame, d: Docsifier) -> ExprDoc:
    """The name of a buffer, which is given here if it has none yet."""
    found = d.name_doc(buffer)
    return found if found is not None else d.define(buffer, frame, buffer.name or "buffer")


def declare_buffer(
    buffer: Buffer, word: str, frame: Frame, d: Docsifier, *first: ExprDoc
) -> None:
    """Put `A = T.word(first, shape, dtype, ...)` into the frame."""
    name = define_buffer(buffer, frame, d)
    made = buffer_args(buffer, name, frame, d).call(d.word("tir", word), *first)
    stmt = AssignDoc(name, made)
    d.mark(buffer, stmt, defines=True)
    frame.stmts.append(stmt)


def buffer_annotation(buffer: Buffer, d: Docsifier) -> ExprDoc:
    """`T.Buffer((128, 128), "float32")`, the annotation of a parameter."""
    shape = TupleDoc(d.exprs(buffer.shape))
    return d.word("tir", "Buffer").call(shape, dtype_literal(buffer.dtype))


def is_plain(buffer: Buffer) -> bool:
    """True if shape and dtype say all about the buffer, and the shape is made of numbers."""
    offset = buffer.elem_offset
    return (
        not buffer.strides
        and not buffer.axis_separators
        and not buffer.buffer_type
        and isinstance(offset, IntImm)
        and offset.value == 0
        and buffer.scope() == "global"
        and buffer.data_alignment == ALIGNMENT
        and buffer.offset_factor == 1
        and not any(isinstance(part, Var) for extent in buffer.shape for part in walk(extent))
    )


@rule(Buffer, dialect="tir")
def _buffer(buffer: Buffer, d: Docsifier) -> ExprDoc:
    found = d.name_doc(buffer)
    if found is not None:
        return found
    declare_buffer(buffer, "Buffer", frame_around_uses(buffer, d), d)
    named = d.name_doc(buffer)
    assert named is not None
    return named


def index_docs(indices: Sequence[PrimExpr], d: Docsifier) -> list[ExprDoc | SliceDoc]:
    """Indices; a ramp with a literal stride is a slice."""
    docs: list[ExprDoc | SliceDoc] = []
    for index in indices:
        if isinstance(index, Ramp) and isinstance(index.stride, IntImm):
            step = None if index.stride.value == 1 else d.expr(index.stride)
            docs.append(SliceDoc(d.expr(index.base), d.expr(ramp_end(index)), step))
        else:
            docs.append(d.expr(index))
    return docs


@rule(BufferLoad, dialect="tir")
def _buffer_load(load: BufferLoad, d: Docsifier) -> ExprDoc:
    buffer = d.expr(load.buffer)
    if load.predicate is None:
        return IndexDoc(buffer, index_docs(load.indices, d))
    indices = ListDoc(d.exprs(load.indices))
    return AttrAccessDoc(buffer, "vload").call(indices, predicate=d.expr(load.predicate))


def range_docs(region: Sequence[Range], d: Docsifier) -> list[ExprDoc | SliceDoc]:
    """Ranges as indices; one element is its index, more are a slice."""
    add = OPERATORS["tir"]["add"]
    docs: list[ExprDoc | SliceDoc] = []
    for part in region:
        if isinstance(part.extent, IntImm) and part.extent.value == 1:
            docs.append(d.expr(part.min))
        else:
            docs.append(SliceDoc(d.expr(part.min), d.expr(add(part.min, part.extent))))
    return docs


@rule(BufferRegion, dialect="tir")
def region_doc(region: BufferRegion, d: Docsifier) -> ExprDoc:
    """`A[i, 0:16]`."""
    return IndexDoc(d.expr(region.buffer), range_docs(region.region, d))


@rule(MatchBufferRegion, dialect="tir")
def _match_buffer(match: MatchBufferRegion, d: Docsifier) -> AssignDoc:
    frame = d.frames[-1]
    source = region_doc(match.source, d)
    name = define_buffer(match.buffer, frame, d)
    args = buffer_args(match.buffer, name, frame, d)
    return AssignDoc(name, args.call(d.word("tir", "match_buffer"), source))
