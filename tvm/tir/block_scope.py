"""References to statements that survive rewrites, and the dependencies of blocks in a scope."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from tvm.ffi.object import Object

from .buffer import Buffer
from .stmt import Block, For


class StmtSRef(Object):
    """A reference to a block or loop of the program, and the reference to its parent.

    Rewriting the program changes `stmt`: whoever holds the reference sees the new statement.
    """

    __slots__ = ("_parent", "_stmt", "seq_index")

    def __init__(
        self, stmt: Block | For | None, parent: StmtSRef | None = None, seq_index: int = -1
    ) -> None:
        self._stmt = stmt
        self._parent = parent
        self.seq_index = seq_index

    @property
    def stmt(self) -> Block | For | None:
        """The block or loop it refers to; None once that is gone."""
        return self._stmt

    @property
    def parent(self) -> StmtSRef | None:
        """The nearest block or loop around it."""
        return self._parent

    def move(self, stmt: Block | For | None, parent: StmtSRef | None, seq_index: int) -> None:
        """Refer to another statement; only the state of a schedule does this."""
        self._stmt, self._parent, self.seq_index = stmt, parent, seq_index

    @staticmethod
    def inline_mark() -> StmtSRef:
        """The reference that means "inline it" where a compute location is chosen."""
        return _INLINE_MARK

    @staticmethod
    def root_mark() -> StmtSRef:
        """The reference that means "leave it at the root" where a compute location is chosen."""
        return _ROOT_MARK


_INLINE_MARK: Final = StmtSRef(None)
_ROOT_MARK: Final = StmtSRef(None)


class DepKind(IntEnum):
    """Why one block has to run after another."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


class Dependency(Object):
    """`dst` has to run after `src`."""

    __slots__ = ("dst", "kind", "src")

    def __init__(self, src: StmtSRef, dst: StmtSRef, kind: DepKind) -> None:
        self.src: Final = src
        self.dst: Final = dst
        self.kind: Final = kind


class BlockScope(Object):
    """The blocks directly in a scope, in order, with their dependencies by whole buffers."""

    __slots__ = ("_by_dst", "_by_src", "buffer_writers", "children")

    def __init__(self, children: Iterable[StmtSRef] = ()) -> None:
        self.children: Final[tuple[StmtSRef, ...]] = tuple(children)
        self.buffer_writers: Final[dict[Buffer, list[StmtSRef]]] = {}
        self._by_src: Final[dict[StmtSRef, list[Dependency]]] = {}
        self._by_dst: Final[dict[StmtSRef, list[Dependency]]] = {}
        readers: dict[Buffer, list[StmtSRef]] = {}
        for child in self.children:
            self._add(child, readers)

    def _add(self, child: StmtSRef, readers: dict[Buffer, list[StmtSRef]]) -> None:
        block = child.stmt
        assert isinstance(block, Block), "the children of a scope are blocks"
        reads = list(dict.fromkeys([r.buffer for r in block.reads]))
        writes = list(dict.fromkeys([w.buffer for w in block.writes]))
        for buffer in reads:
            for writer in self.buffer_writers.get(buffer, ()):
                self._link(writer, child, DepKind.RAW)
        for buffer in writes:
            for writer in self.buffer_writers.get(buffer, ()):
                self._link(writer, child, DepKind.WAW)
            for reader in readers.get(buffer, ()):
                self._link(reader, child, DepKind.WAR)
        for buffer in reads:
            readers.setdefault(buffer, []).append(child)
        for buffer in writes:
            self.buffer_writers.setdefault(buffer, []).append(child)

    def _link(self, src: StmtSRef, dst: StmtSRef, kind: DepKind) -> None:
        if any(d.dst is dst and d.kind is kind for d in self._by_src.get(src, ())):
            return
        dep = Dependency(src, dst, kind)
        self._by_src.setdefault(src, []).append(dep)
        self._by_dst.setdefault(dst, []).append(dep)

    def get_deps_by_src(self, block: StmtSRef) -> list[Dependency]:
        """The dependencies of later blocks on `block`."""
        return list(self._by_src.get(block, ()))

    def get_deps_by_dst(self, block: StmtSRef) -> list[Dependency]:
        """The dependencies of `block` on earlier blocks."""
        return list(self._by_dst.get(block, ()))
