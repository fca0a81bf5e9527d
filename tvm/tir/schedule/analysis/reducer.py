"""The operator of a reduction: how partial results are combined, and what they start from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.node import Node
from tvm.tir.expr import Add, BinaryOpExpr, BufferLoad, Max, Min, Mul
from tvm.tir.functor import walk
from tvm.tir.op.arith import add, max_of, min_of, multiply
from tvm.tir.schedule.error import Illegal
from tvm.tir.stmt import Block, BufferStore

Combine = Callable[[PrimExpr, PrimExpr], PrimExpr]
# Operators that may be applied to partial results in any order (floats: up to rounding).
_OPERATORS: Final[dict[type[BinaryOpExpr], Combine]] = {
    Add: add, Mul: multiply, Max: max_of, Min: min_of,
}  # fmt: skip


class Reducer:
    """`identity`, and `combine(sum, part)`; `part` is what one run of the block contributes."""

    __slots__ = ("combine", "identity", "part", "store")

    def __init__(
        self, combine: Combine, identity: PrimExpr, part: PrimExpr, store: BufferStore
    ) -> None:
        self.combine: Final = combine
        self.identity: Final = identity
        self.part: Final = part
        self.store: Final = store


def reducer_of(block: Block) -> Reducer:
    """The reducer of a block `C[i] = op(C[i], part)`; refused for any other."""
    body, init = block.body, block.init
    if isinstance(body, BufferStore) and isinstance(init, BufferStore):
        value = body.value
        combine = _OPERATORS.get(type(value)) if isinstance(value, BinaryOpExpr) else None
        if combine is not None and isinstance(value, BinaryOpExpr):
            for own, part in ((value.a, value.b), (value.b, value.a)):
                if _is_own(own, body) and not _reads(part, body):
                    return Reducer(combine, init.value, part, body)
    raise Illegal(
        f"the reducer of block {block.name_hint!r} is not known to be commutative",
        legal="C[...] = C[...] op x, where op is +, *, max or min",
        spots=[block],
        fast="No matched reducer for the identity and the combiner of the reduction block",
    )


def _is_own(expr: PrimExpr, store: BufferStore) -> bool:
    if not isinstance(expr, BufferLoad) or expr.buffer is not store.buffer:
        return False
    return all(a is b or str(a) == str(b) for a, b in zip(expr.indices, store.indices))


def _reads(expr: PrimExpr, store: BufferStore) -> bool:
    nodes: list[Node] = [n for n in walk(expr) if isinstance(n, BufferLoad)]
    return any(isinstance(n, BufferLoad) and n.buffer is store.buffer for n in nodes)
