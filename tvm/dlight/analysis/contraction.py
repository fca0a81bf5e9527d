"""Contractions: sums of products of two operands, with the roles of their variables.

    C[b, m, n] = sum over k of A[b, m, k] * B[b, k, n]

`m` is in A only, `n` in B only, `k` in both and not in C, `b` in all three.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, BufferLoad, Cast, IntImm, IterVar, Mul, Var
from tvm.tir.functor import vars_in
from tvm.tir.op.arith import is_one, is_zero
from tvm.tir.stmt import Block, BufferStore


@dataclass(frozen=True)
class Operand:
    """A factor of the products."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    read_index: int  # number among the block's read regions

    def innermost(self) -> Var | None:
        """The variable that moves along memory, if the last index is one."""
        last = self.indices[-1] if self.indices else None
        return last if isinstance(last, Var) else None

    def is_plain(self) -> bool:
        """True if all indices are variables, or constants in dimensions of one."""
        return all(isinstance(i, (Var, IntImm)) for i in self.indices)


@dataclass(frozen=True)
class Contraction:
    """A contraction block, its operands, and the roles of its variables."""

    output: Buffer
    store: tuple[PrimExpr, ...]
    lhs: Operand
    rhs: Operand
    batch: tuple[IterVar, ...]
    m: tuple[IterVar, ...]
    n: tuple[IterVar, ...]
    k: tuple[IterVar, ...]

    def swapped(self) -> Contraction:
        """The same with the operands exchanged, so that m and n are too."""
        return Contraction(
            self.output, self.store, self.rhs, self.lhs, self.batch, self.n, self.m, self.k
        )


def find_contraction(block: Block) -> Contraction | None:
    """The roles in a contraction block, or None. `n` is the side of C that moves along memory."""
    product = _summed_product(block)
    if product is None:
        return None
    store, a, b = product
    lhs, rhs = _operand(block, a), _operand(block, b)
    if lhs is None or rhs is None:
        return None
    in_a, in_b, in_c = (set(vars_in(*x.indices)) for x in (lhs, rhs, store))
    groups: dict[str, list[IterVar]] = {"batch": [], "m": [], "n": [], "k": []}
    for iv in block.iter_vars:
        var = iv.var
        if iv.dom is not None and is_one(iv.dom.extent) and var not in in_a | in_b:
            groups["batch" if iv.iter_type == IterVar.DataPar else "k"].append(iv)
        elif iv.iter_type == IterVar.CommReduce:
            if var in in_c or not (var in in_a or var in in_b):
                return None
            groups["k"].append(iv)
        elif iv.iter_type != IterVar.DataPar or var not in in_c:
            return None
        else:
            role = {(True, True): "batch", (True, False): "m", (False, True): "n"}.get(
                (var in in_a, var in in_b)
            )
            if role is None:
                return None
            groups[role].append(iv)
    if not groups["k"]:
        return None
    found = Contraction(
        store.buffer, store.indices, lhs, rhs, tuple(groups["batch"]), tuple(groups["m"]),
        tuple(groups["n"]), tuple(groups["k"]),
    )  # fmt: skip
    moving = {
        iv.var for iv in block.iter_vars if iv.dom is not None and not is_one(iv.dom.extent)
    }
    last = next((index for index in reversed(store.indices) if index in moving), None)
    return found.swapped() if last in {iv.var for iv in found.m} else found


def _summed_product(block: Block) -> tuple[BufferStore, BufferLoad, BufferLoad] | None:
    """The store and the two factors of `C[...] = C[...] + A[...] * B[...]`, starting at zero."""
    body, init = block.body, block.init
    if not isinstance(body, BufferStore) or not isinstance(init, BufferStore):
        return None
    if not is_zero(init.value) or not isinstance(body.value, Add):
        return None
    own, product = body.value.a, body.value.b
    if not isinstance(own, BufferLoad) or own.buffer is not body.buffer:
        return None
    product = _uncast(product)
    if not isinstance(product, Mul):
        return None
    a, b = _uncast(product.a), _uncast(product.b)
    if not isinstance(a, BufferLoad) or not isinstance(b, BufferLoad):
        return None
    return body, a, b


def _uncast(expr: PrimExpr) -> PrimExpr:
    while isinstance(expr, Cast):
        expr = expr.value
    return expr


def _operand(block: Block, load: BufferLoad) -> Operand | None:
    for i, region in enumerate(block.reads):
        if region.buffer is load.buffer:
            return Operand(load.buffer, load.indices, i)
    return None
