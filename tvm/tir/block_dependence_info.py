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
    """A place for each block of a module, and the dependencies within each of them.

    The parent of a place is the block around it. A single function becomes a module's `main`.
    """

    __slots__ = ("_places", "_scopes", "mod")

    def __init__(self, mod: IRModule | PrimFunc) -> None:
        if isinstance(mod, PrimFunc):
            mod = IRModule({GlobalVar("main"): mod})
        if not isinstance(mod, IRModule):
            raise TypeError(
                f"BlockDependenceInfo: found a {type(mod).__name__}; legal: PrimFunc, IRModule"
            )
        self.mod: IRModule = mod
        self._places: dict[Block, StmtSRef] = {}
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
            place = StmtSRef(block, parent)
            self._places[block] = place
            children[place] = []
            made.append((place, children[place]))
            if parent is not None:
                children[parent].append(place)
            pending.extend([(inner, place) for inner in reversed(_blocks_in(block.body))])
        for place, inside in made:
            self._scopes[place] = BlockScope(inside)

    def get_sref(self, block: Block) -> StmtSRef | None:
        """The place of a block; None for a block of another module."""
        return self._places.get(block)

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """The dependencies among the blocks directly within a block."""
        scope = self._scopes.get(block_sref)
        if scope is None:
            raise CheckError(
                "BlockDependenceInfo: the place is not that of a block of this module; "
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
