"""Which operators a function calls, and which nodes it has: passes that replace a few ask before
they look closer.

Functions come out of lowering with hundreds of checks of their arguments, and most need none of the
last passes; so the walk is done once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.arith.deep_equal import PAIRS
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.op import Op
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import children

FUNCTION: Final = "GlobalVar"  # a call of a function of the module
MASK: Final = "predicate"  # an access of some lanes only
_LEAVES: Final = frozenset((e.Var, e.SizeVar, e.IntImm, e.FloatImm, e.StringImm))
_MAX_CACHED: Final = 256  # bodies: a pass asks for those of all functions before the next one does
_known: dict[int, tuple[s.Stmt, frozenset[str]]] = {}  # by the identity of the body


def nodes_used(body: s.Stmt) -> frozenset[str]:
    """The names of operators that are called (`tir.exp`), of kinds of nodes (`FloorDiv`), of narrow
    floating types (`bfloat16`), and the words above for what these do not tell."""
    found = _known.get(id(body))
    if found is not None and found[0] is body:
        return found[1]
    words = _words(body)
    if len(_known) >= _MAX_CACHED:
        _known.clear()
    _known[id(body)] = (body, words)
    return words


def element_of(var: e.Var) -> DataType:
    """The type of a variable; of a pointer, that of what it points to."""
    kind = var.type_annotation
    if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType):
        return kind.element_type.dtype
    return var.dtype


# Where values have types that the nodes within do not tell; all of these classes are final.
_TYPES: Final[dict[type, Callable[[Any], tuple[DataType, ...]]]] = {
    e.BufferLoad: lambda node: (node.buffer.dtype,),
    s.BufferStore: lambda node: (node.buffer.dtype,),
    e.Cast: lambda node: (node.dtype, node.value.dtype),
    s.Allocate: lambda node: (node.dtype,),
    s.AllocateConst: lambda node: (node.dtype,),
    s.LetStmt: lambda node: (element_of(node.var),),
}


def _words(body: s.Stmt) -> frozenset[str]:
    found: set[str] = set()
    kinds: set[type] = set()
    dtypes: set[DataType] = set()  # wherever values come from, and go to
    seen: set[int] = set()  # pairs: iterations of an unrolled loop share what does not change
    stack: list[Any] = [body]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in PAIRS:  # most of what is no leaf
            if id(node) in seen:
                continue
            seen.add(id(node))
            kinds.add(kind)
            a, b = node.a, node.b
            if type(a) not in _LEAVES:
                stack.append(a)
            if type(b) not in _LEAVES:
                stack.append(b)
            continue
        if kind is e.Call:
            if isinstance(node.op, Op):
                found.add(node.op.name)
            elif isinstance(node.op, GlobalVar):
                found.add(FUNCTION)
            dtypes.add(node.dtype)
            for arg in node.args:
                if type(arg) is e.FloatImm:  # other leaves are variables, which are bound somewhere
                    dtypes.add(arg.dtype)
                elif type(arg) not in _LEAVES:
                    stack.append(arg)
            continue
        if not isinstance(node, (PrimExpr, s.Stmt)):
            continue  # an attribute's words
        kinds.add(kind)
        told = _TYPES.get(kind)
        if told is not None:
            dtypes.update(told(node))
            if isinstance(node, (e.BufferLoad, s.BufferStore)) and node.predicate is not None:
                found.add(MASK)
        for child in children(node):
            if type(child) not in _LEAVES:
                stack.append(child)
    floats = [str(dtype.element_of()) for dtype in dtypes if dtype.is_floating and dtype.bits < 32]
    return frozenset(found.union(floats, [kind.__name__ for kind in kinds]))
