"""What the attention kernels are told about the sequences of one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm.error import TVMError, message

from ._tensor import Tensor
from .kv_pages import CacheSequence, PageTable, check_committed

Send = Callable[[Any], Tensor]


class PagesView:
    """The cached tokens that each sequence of a batch attends to, as kernels read them."""

    def __init__(
        self, table: PageTable, rows: Sequence[tuple[CacheSequence, int]], sliding: bool,
        per_layer_window: bool, send: Send,
    ) -> None:  # fmt: skip
        size = table.page_size
        indptr, indices, starts = [0], [], []
        lengths: list[tuple[int, int, int]] = []
        for one, count in rows:
            skipped, sinks, offset = 0, one.sinks, one.offset
            if per_layer_window and one.window != -1:
                skipped = max(count - one.window, 0)
            first = skipped // size
            offset = skipped % size if per_layer_window else offset
            sinks = 0 if per_layer_window else sinks
            used = count - first * size if per_layer_window else count - sinks + offset
            pages = one.pages[first : first + -(-used // size)] if count else []
            indices += pages
            indptr.append(len(indices))
            starts.append(skipped)
            lengths.append((used - (len(pages) - 1) * size if pages else 0, offset, sinks))
        self.is_empty = not indices
        self.indptr = send(indptr)
        self.indices = send(indices or [0])
        self.starts = send(starts)
        columns = np.array(lengths, "int32").reshape(-1, 3).T
        self.lengths = send(columns if sliding else columns[0])


class Forward:
    """One forward pass: which sequences grow, by how many tokens, and what they attend to."""

    def __init__(
        self, table: PageTable, names: Sequence[int], counts: Sequence[int],
        parents: Sequence[int] | None, *, sliding: bool, per_layer_window: bool, send: Send,
    ) -> None:  # fmt: skip
        self.names = list(names)
        self.counts = list(counts)
        self.sequences = [table.get(name, "begin_forward") for name in names]
        self.total = sum(counts)
        old = [one.length for one in self.sequences]
        trees = self._trees(parents)
        self._grow(table, old)
        for one, tree in zip(self.sequences, trees):
            one.tree = tree
            one.depths = _depths(tree)
        extends = any(
            not one.is_chain and len(one.tree) > count
            for one, count in zip(self.sequences, counts)
        )
        self.is_chain = all(one.is_chain for one in self.sequences)
        # Single tokens attend to pages alone; so do tokens whose ancestors are in pages.
        single = self.is_chain and not sliding and max(counts, default=1) == 1
        self.append_first = single or extends
        seen = [one.length for one in self.sequences] if self.append_first else old
        rows = list(zip(self.sequences, seen))
        self.cached = PagesView(table, rows, sliding, False, send)
        self.windowed = PagesView(table, rows, True, True, send) if per_layer_window else None
        self.indptr = send(np.concatenate([[0], np.cumsum(counts)]))
        self.starts = send(old)
        self.append_map = send(
            [
                table.slot(one, start + i)
                for one, start, count in zip(self.sequences, old, counts)
                for i in range(count)
            ]
        )
        self.positions = send(
            [p for one, at, count in zip(self.sequences, old, counts)
             for p in _positions(one, at, count)]
        )  # fmt: skip
        self.tree_indptr: Tensor | None = None
        self.tree_order: Tensor | None = None
        if not self.is_chain:
            orders = [
                tree_order(one.tree)[0 if self.append_first else -count :]
                for one, count in zip(self.sequences, counts)
            ]
            self.tree_indptr = send(np.concatenate([[0], np.cumsum([len(o) for o in orders])]))
            self.tree_order = send(np.concatenate(orders))

    def _grow(self, table: PageTable, old: Sequence[int]) -> None:
        """Make room in all sequences, or in none."""
        try:
            for one, count in zip(self.sequences, self.counts):
                table.reserve(one, count)
        except TVMError:
            for one, length in zip(self.sequences, old):
                table.truncate(one, length)
            raise

    def _trees(self, parents: Sequence[int] | None) -> list[list[int]]:
        """The parents of the tokens that wait for a choice, those of this pass included.

        A tree grows when its first new token has a parent or when it already branches. Without
        parents each token follows the one before it, and waits for nothing.
        """
        if parents is None:
            for one, name in zip(self.sequences, self.names):
                check_committed(one, name)
            return [[] for _ in self.sequences]
        if len(parents) != self.total:
            raise TVMError(
                message("begin_forward: parents of the tokens", found=f"{len(parents)}",
                        legal=f"as many as tokens: {self.total}")
            )  # fmt: skip
        trees, at = [], 0
        for one, name, count in zip(self.sequences, self.names, self.counts):
            given = parents[at : at + count]
            at += count
            tree = [] if one.is_chain and given[0] == -1 else list(one.tree)
            for parent in given:
                if not -1 <= parent < len(tree):
                    raise TVMError(
                        message(
                            f"begin_forward: token {len(tree)} of sequence {name}",
                            found=f"Invalid token tree: its parent is {parent}",
                            legal=f"-1 (no parent) to {len(tree) - 1}",
                        )
                    )
                tree.append(parent)
            trees.append(tree)
        return trees


def _depths(tree: Sequence[int]) -> list[int]:
    depths: list[int] = []
    for parent in tree:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    return depths


def _positions(one: CacheSequence, start: int, count: int) -> list[int]:
    """The positions of the last tokens in their sentence: tokens of one depth share theirs."""
    if not one.tree:
        return list(range(start, start + count))
    base = one.length - len(one.tree)
    return [base + depth for depth in one.depths[-count:]]


def tree_order(parents: Sequence[int]) -> Any:
    """Two numbers a token: those of a descendant lie between those of its ancestor."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    order = np.zeros((len(parents), 2), "int32")
    time = 0
    stack = [(node, False) for node in reversed(children.get(-1, []))]
    while stack:
        node, leaves = stack.pop()
        order[node, int(leaves)] = time
        time += 1
        if not leaves:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(children.get(node, []))]
    return order
