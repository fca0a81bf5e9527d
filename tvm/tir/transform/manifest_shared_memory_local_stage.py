"""Copies to shared memory go by way of registers: all loads come first, then all stores.

    for i in range(64):                              for i in range(64): L[i] = A[i]
        with T.block("S"):      # marked      ->     for i in range(64):
            S[i] = A[i]                                  with T.block("S"): S[i] = L[i]

The blocks are annotated with `tir.manifest_shared_memory_local_stage`; the loops around them, up to
the block that allocates the shared memory, are serial or for vectors and hold nothing else. So the
loads of one iteration of a pipeline can be on their way while the one before is computed.
"""

from __future__ import annotations

from typing import Final, NoReturn

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType, PrimType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

MARK: Final = "tir.manifest_shared_memory_local_stage"


class StageError(CheckError, ValueError):
    """A block is marked that cannot copy by way of registers."""


@tir_pass("tir.ManifestSharedMemoryLocalStage")
def ManifestSharedMemoryLocalStage(
    func: PrimFunc, mod: IRModule, ctx: PassContext
) -> PrimFunc:
    """No block is marked; those that were store what was loaded to registers before."""
    return func.with_body(_Stager().visit_stmt(func.body))


def _refuse(found: str, legal: str, block: s.Block) -> NoReturn:
    asked = f"ManifestSharedMemoryLocalStage: block {block.name_hint!r}"
    raise StageError(message(asked, found=found, where=f"\n{block}", legal=legal))


class _Stager(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._path: list[s.For | s.Block] = []
        self._first: dict[s.Block, dict[s.Stmt, s.Stmt]] = {}  # what to put before a nest
        self._registers: dict[s.Block, list[Buffer]] = {}

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        self._path.append(op)
        new = super().visit_for_(op)
        self._path.pop()
        return new

    def visit_block_(self, op: s.Block) -> s.Stmt:
        if op.annotations.get(MARK):
            return self._staged(op)
        self._path.append(op)
        nests = list(op.body.seq) if isinstance(op.body, s.SeqStmt) else [op.body]
        new = [self.visit_stmt(nest) for nest in nests]
        self._path.pop()
        before = self._first.get(op, {})
        parts: list[s.Stmt] = []
        for nest, made in zip(nests, new):
            parts += [before[nest], made] if nest in before else [made]
        if all(a is b for a, b in zip(nests, parts)) and len(nests) == len(parts):
            return op
        registers = self._registers.get(op, [])
        return with_fields(
            op, body=s.SeqStmt.flatten(parts), alloc_buffers=(*op.alloc_buffers, *registers)
        )

    def _staged(self, op: s.Block) -> s.Block:
        store = op.body
        if not isinstance(store, s.BufferStore) or not store.buffer.scope().startswith("shared"):
            _refuse("a body that is no store to shared memory", "S[...] = ...", op)
        loops, around = self._loops(op, store.buffer)
        where = [loop.min + loop.loop_var for loop in loops]
        registers = _registers(store.buffer, [loop.extent for loop in loops])
        self._registers.setdefault(around, []).append(registers)
        stage = _stage(op, store, registers, where, loops)
        nest = self._path[self._path.index(around) + 1] if loops else None
        if not isinstance(nest, s.For):
            _refuse("no loop around it", "a block within loops", op)
        self._first.setdefault(around, {})[nest] = stage
        value = e.BufferLoad(registers, where)
        body = s.BufferStore(store.buffer, value, store.indices, store.predicate, store.span)
        kept = {key: value for key, value in op.annotations.items() if key != MARK}
        return with_fields(op, body=body, annotations=kept)

    def _loops(self, op: s.Block, shared: Buffer) -> tuple[list[s.For], s.Block]:
        """The loops from the block that allocates the shared memory to the copy."""
        loops: list[s.For] = []
        inner: object = None
        for node in reversed(self._path):
            if isinstance(node, s.Block):
                if shared not in node.alloc_buffers:
                    _refuse(f"{shared.name} is not allocated by the block around it",
                            "shared memory of the next block outside", op)  # fmt: skip
                loops.reverse()
                return loops, node
            if node.kind not in (s.ForKind.SERIAL, s.ForKind.VECTORIZED):
                _refuse(f"loop {node.loop_var.name!r} around it is {node.kind.name.lower()}",
                        "serial loops and loops for vectors", op)  # fmt: skip
            body = node.body
            held = body.block if isinstance(body, s.BlockRealize) else body
            if held is not (op if inner is None else inner):
                _refuse(f"loop {node.loop_var.name!r} holds other statements",
                        "loops around the copy alone", op)  # fmt: skip
            inner = node
            loops.append(node)
        _refuse("no block around it", "shared memory of a block", op)


def _registers(shared: Buffer, shape: list[PrimExpr]) -> Buffer:
    name = f"{shared.name}_local"
    data = e.Var(name, PointerType(PrimType(str(shared.dtype)), "local"))
    return shared.with_changes(data=data, name=name, shape=tuple(shape), strides=())


def _stage(
    op: s.Block, store: s.BufferStore, registers: Buffer, where: list[PrimExpr], loops: list[s.For]
) -> s.Stmt:
    """The nest that loads; its loop variables are its own."""
    load = s.BufferStore(registers, store.value, where, None, store.span)
    writes = [s.BufferRegion.from_point(registers, where)]
    block = s.Block((), op.reads, writes, "", load, span=op.span)
    stmt: s.Stmt = s.BlockRealize((), ops.const(True, "bool"), block, op.span)
    renamed: dict[e.Var, PrimExpr] = {}
    for loop in reversed(loops):
        var = loop.loop_var.copy_with_suffix("")
        renamed[loop.loop_var] = var
        stmt = s.For(var, loop.min, loop.extent, loop.kind, stmt, None, loop.annotations, loop.span)
    return substitute(stmt, renamed)
