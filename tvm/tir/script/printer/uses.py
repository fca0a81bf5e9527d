"""Where variables and buffers occur in the program, to declare free ones near their uses."""

from __future__ import annotations

from collections import Counter

from tvm.ir.node import Node
from tvm.script.printer.docsifier import Docsifier, Frame
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Let, Var
from tvm.tir.functor import walk
from tvm.tir.stmt import (
    Allocate,
    AllocateConst,
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    DeclBuffer,
)


def count_uses(node: object) -> Counter[int]:
    """How often each variable and buffer occurs in the node, by id."""
    found: Counter[int] = Counter()
    if not isinstance(node, Node):
        return found
    for part in walk(node):
        if isinstance(part, Var):
            found[id(part)] += 1
        elif isinstance(part, Let):
            found[id(part.var)] += 1
        elif isinstance(part, (BufferLoad, BufferStore, BufferRealize, DeclBuffer)):
            _add_buffer(part.buffer, found)
        elif isinstance(part, (Allocate, AllocateConst)):
            found[id(part.buffer_var)] += 1
        elif isinstance(part, Block):
            for region in (*part.reads, *part.writes):
                _add_buffer(region.buffer, found)
            for match in part.match_buffers:
                _add_buffer(match.source.buffer, found)
        elif isinstance(part, AttrStmt):
            named = part.node if isinstance(part.node, (list, tuple)) else (part.node,)
            for buffer in named:
                if isinstance(buffer, Buffer):
                    _add_buffer(buffer, found)
    return found


def _add_buffer(buffer: Buffer, found: Counter[int]) -> None:
    found[id(buffer)] += 1
    found[id(buffer.data)] += 1


def frame_around_uses(obj: object, d: Docsifier) -> Frame:
    """The innermost frame that encloses every use of a free variable or buffer."""
    frames = [f for f in d.frames if f.node is not None and f.dialect == "tir"]
    if not frames:
        return d.frames[-1]
    total = _counts(frames[0], d)[id(obj)]
    for frame in reversed(frames):
        if total and _counts(frame, d)[id(obj)] == total:
            return frame
    return frames[0]


def is_used(obj: object, frame: Frame, d: Docsifier) -> bool:
    """True if a variable or buffer occurs in what opened the frame."""
    return _counts(frame, d)[id(obj)] > 0


def _counts(frame: Frame, d: Docsifier) -> Counter[int]:
    if frame.extra is None:
        frame.extra = count_uses(frame.node)
    counts: Counter[int] = frame.extra
    return counts
