"""The dependencies among the blocks of a module, found once, without the means to change it."""

from __future__ import annotations

from tvm.error import CheckError
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule

from .block_scope import BlockScope, StmtSRef
from .function import PrimFunc
from .functor import stmt_children
from .stmt import Block, BlockRealize, Stmt


class BlockDependenceInfo(Object):
    """An sref for each block of a module, and the dependencies within each of them.

    The parent of an sref is that of the enclosing block. A lone function becomes a module's `main`.
    """

    __slots__ = ("_scopes", "_srefs", "mod")

    def __init__(self, mod: IRModule | PrimFunc) -> None:
        if isinstance(mod, PrimFunc):
            mod = IRModule({GlobalVar("main"): mod})
        if not isinstance(mod, IRModule):
            raise TypeError(
                f"BlockDependenceInfo: found a {type(mod).__name__}; legal: PrimFunc, IRModule"
            )
        self.mod: IRModule = mod
        self._srefs: dict[Block, StmtSRef] = {}
        self._scopes: dict[StmtSRef, BlockScope] = {}
        for func in mod.functions.values():
            if isinstance(func, PrimFunc):
                self._plant(func.body)

    def _plant(self, body: Stmt) -> None:
        made: list[tuple[StmtSRef, list[StmtSRef]]] = []
        pending: list[tuple[Stmt, StmtSRef | None]] = [(top, None) for top in _blocks_in(body)]
        children: dict[StmtSRef, list[StmtSRef]] = {}
        while pending:
            block, parent = pending.pop()
            assert isinstance(block, Block), "only blocks are collected"
            sref = StmtSRef(block, parent)
            self._srefs[block] = sref
            children[sref] = []
            made.append((sref, children[sref]))
            if parent is not None:
                children[parent].append(sref)
            pending.extend([(inner, sref) for inner in reversed(_blocks_in(block.body))])
        for sref, inside in made:
            self._scopes[sref] = BlockScope(inside)

    def get_sref(self, block: Block) -> StmtSRef | None:
        """The sref of a block; None for a block of another module."""
        return self._srefs.get(block)

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """The dependencies among the blocks directly within a block."""
        scope = self._scopes.get(block_sref)
        if scope is None:
            raise CheckError(
                "BlockDependenceInfo: the sref is not that of a block of this module; "
                "legal: what get_sref gives"
            )
        return scope


def _blocks_in(stmt: Stmt) -> list[Block]:
    """The blocks in a statement that are in no other of its blocks, in order."""
    found: list[Block] = []
    stack: list[Stmt] = [stmt]
    while stack:
        current = stack.pop()
        if isinstance(current, BlockRealize):
            found.append(current.block)
        else:
            parts = [part for part in stmt_children(current) if isinstance(part, Stmt)]
            stack.extend(reversed(parts))
    return found
