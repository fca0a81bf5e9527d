"""Loops that use the tile registers of x86 processors set their shapes first, and let them go last.

    for i in range(8, annotations={"x86_tiles": [1, 0, ...]}): ...
    ->
    words: uint64[8] = [1, 0, ...]                  # palette, bytes of a row and rows of each tile
    ldtilecfg(&words)
    for i in range(8): ...
    tilerelease()

A parallel loop does so for each round, as each thread has registers of its own. Registers that are
let go need not be kept when the system turns to another program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import address_of, call_llvm_intrin, const

from .pass_form import tir_pass

TILES: Final = "x86_tiles"  # annotation of a loop: the eight words
CONFIGURE: Final = "llvm.x86.ldtilecfg"


@tir_pass("tir.ConfigureTiles")
def ConfigureTiles(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No loop has the annotation; what it asked for is around the loop, or in a parallel one."""
    return func.with_body(_Configurer().visit_stmt(func.body))


class _Configurer(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        made = super().visit_for_(op)
        assert isinstance(made, s.For), "a loop stays one"
        shape = made.annotations.get(TILES)
        if shape is None:
            return made
        words = [int(str(word)) for word in shape]  # type: ignore[attr-defined]
        left = {key: value for key, value in made.annotations.items() if key != TILES}
        parallel = made.kind is s.ForKind.PARALLEL
        body = _configured(made.body, words) if parallel else made.body
        loop = s.For(made.loop_var, made.min, made.extent, made.kind, body,
                     made.thread_binding, left, made.span)  # fmt: skip
        return loop if parallel else _configured(loop, words)


def _configured(body: s.Stmt, values: Sequence[int]) -> s.Stmt:
    words = decl_buffer((8,), "uint64", "tile_words", scope="local")
    stores = [
        s.BufferStore(words, e.IntImm("uint64", word), [e.IntImm("int32", at)])
        for at, word in enumerate(values)
    ]
    begin = call_llvm_intrin("void", CONFIGURE, address_of(words[0]))
    end = call_llvm_intrin("void", "llvm.x86.tilerelease")
    steps = s.SeqStmt.flatten(*stores, s.Evaluate(begin), body, s.Evaluate(end))
    allocated = s.DeclBuffer(words, steps)
    return s.Allocate(words.data, "uint64", [e.IntImm("int32", 8)], const(True), allocated)
