"""Symbolic sizes while a program runs: a heap of numbers, one slot for each size in use.

Symbols get their numbers where shapes are matched. An expression such as `n * 2 + 1` gets a slot
too; a kernel made for it reads the slots of its symbols and writes its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import BaseFunc
from tvm.ir.structural import structural_equal
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute, walk
from tvm.tir.op import arith as ops

# Codes of `vm.builtin.match_shape`: compare with a number, store a new size, compare with a known
# one; and of `make_shape`: a number, a known size.
ASSERT_NUMBER, STORE, SKIP, ASSERT_KNOWN = 0, 1, 2, 3
USE_NUMBER, LOAD = 0, 1

Snapshot = int


class SizeHeap:
    """The slots of one function."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: list[PrimExpr] = []
        self._kernels: dict[GlobalVar, BaseFunc] = {}
        self.size = 0
        self._most: list[int] = []

    def _slot(self, expr: PrimExpr) -> int | None:
        for i, known in enumerate(self._known):
            if known is expr or structural_equal(known, expr):
                return self._most[i]
        return None

    def _add(self, expr: PrimExpr) -> int:
        self._known.append(expr)
        self._most.append(self.size)
        self.size += 1
        return self.size - 1

    def snapshot(self) -> Snapshot:
        """What is known at this point of the program."""
        return len(self._known)

    def restore(self, known: Snapshot) -> None:
        """Forget what was learned since; the slots stay taken."""
        del self._known[known:]
        del self._most[known:]

    def match_code(self, expr: PrimExpr) -> tuple[int, int]:
        """How `match_shape` treats an extent: code and number."""
        if isinstance(expr, e.IntImm):
            return ASSERT_NUMBER, expr.value
        slot = self._slot(expr)
        if slot is not None:
            return ASSERT_KNOWN, slot
        if isinstance(expr, e.Var):
            return STORE, self._add(expr)
        return SKIP, 0  # an expression over symbols that nobody has told yet

    def make_code(self, expr: PrimExpr) -> tuple[int, int]:
        """How `make_shape` finds an extent: code and number."""
        if isinstance(expr, e.IntImm):
            return USE_NUMBER, expr.value
        slot = self._slot(expr)
        if slot is None:
            raise TVMError(f"{self._name}: the size {expr} is used before any shape tells it")
        return LOAD, slot

    def compute(self, exprs: Sequence[PrimExpr]) -> str | None:
        """The name of a kernel that computes those expressions that can be and are not known."""
        wanted: list[PrimExpr] = []
        for expr in exprs:
            if isinstance(expr, (e.IntImm, e.Var)) or self._slot(expr) is not None:
                continue
            symbols = [n for n in walk(expr) if isinstance(n, e.Var)]
            if all(self._slot(v) is not None for v in symbols):
                wanted.append(expr)
        if not wanted:
            return None
        heap = decl_buffer([e.Var("heap_size", "int64")], "int64", "heap")
        stores: list[s.Stmt] = []
        for expr in wanted:
            loads = {
                v: e.BufferLoad(heap, [ops.const(self._slot(v), "int64")])
                for v in walk(expr)
                if isinstance(v, e.Var)
            }
            value = ops.cast(substitute(expr, loads), "int64")
            stores.append(s.BufferStore(heap, value, [ops.const(self._add(expr), "int64")]))
        symbol = f"shape_func_{self._name}_{len(self._kernels)}"
        attrs = {"global_symbol": symbol, "tir.noalias": True, "tir.is_host_func": True}
        handle = e.Var("heap", "handle")
        body = s.SeqStmt.flatten(stores)
        func = PrimFunc([handle], body, None, {handle: heap}, attrs)
        self._kernels[GlobalVar(symbol)] = func
        return symbol

    def kernels(self) -> dict[GlobalVar, BaseFunc]:
        """The kernels made so far."""
        return self._kernels
