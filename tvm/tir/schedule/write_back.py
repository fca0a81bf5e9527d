"""Where a copy is written back: behind the block that fills it, in front of who needs it first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.stmt import Stmt

from .analysis.query import block_of, is_ancestor
from .cached_region import reads_before_write
from .scopes import ScopeEdit, add_before_readers, closest_ancestor, common_ancestor, sref_below
from .tree import SRefTree


class WriteBack:
    """The place of the loops that write back what `block` leaves in a copy of `buffer`.

    That is in front of the first later block, other than the consumers, that reads or writes the
    buffer; without one it is the end of the scope. Where a block that comes earlier in a loop
    meets the new values in the next round, it is the end of the block's part of that loop.
    `ancestor` is the scope or loop in which they stand; `behind` says that it is such a loop.
    """

    def __init__(
        self,
        state: SRefTree,
        scope: StmtSRef,
        block: StmtSRef,
        buffer: Buffer,
        consumers: Sequence[StmtSRef] = (),
    ) -> None:
        self._scope, self._block = scope, block
        earlier, later = users_around(state, scope, block, buffer)
        self._needed_by = [user for user in later if user not in consumers]
        outer = closest_ancestor(block, self._needed_by, scope)
        again = self._met_again(state, buffer, earlier, outer)
        shared = closest_ancestor(block, again, scope)
        self.behind: Final = shared is not outer and is_ancestor(outer, shared)
        self.ancestor: Final = shared if self.behind else outer

    def add(self, edit: ScopeEdit, loops: Stmt) -> list[Stmt]:
        """Add the loops to an edit; what is to stand at the very end of the scope is returned."""
        if self.behind:
            edit.add_beside(sref_below(self.ancestor, self._block), loops, behind=True)
        elif self._needed_by:
            add_before_readers(edit, self._block, self._needed_by, self._scope, loops)
        else:
            return [loops]
        return []

    def _met_again(
        self, state: SRefTree, buffer: Buffer, earlier: Sequence[StmtSRef], outer: StmtSRef
    ) -> list[StmtSRef]:
        """Who comes earlier in a loop, and meets in its next round what is written in this one."""
        found: list[StmtSRef] = []
        for user in earlier:
            shared = common_ancestor([user, self._block])
            if shared is outer or not is_ancestor(outer, shared):
                continue
            writes = any(w.buffer is buffer for w in block_of(user).writes)
            if writes or not reads_before_write(state, user, self._block, buffer, outer, shared):
                found.append(user)
        return found


def users_around(
    state: SRefTree, scope: StmtSRef, block: StmtSRef, buffer: Buffer
) -> tuple[list[StmtSRef], list[StmtSRef]]:
    """The other blocks that read or write a buffer, before a block and behind it, in order."""
    children = state.get_block_scope(scope).children
    here = children.index(block)

    def users(blocks: Sequence[StmtSRef]) -> list[StmtSRef]:
        return [
            child
            for child in blocks
            if any(r.buffer is buffer for r in (*block_of(child).reads, *block_of(child).writes))
        ]

    return users(children[:here]), users(children[here + 1 :])
