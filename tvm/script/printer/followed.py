"""Where in the printed text that lies what a path leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.ir.access_path import AccessPath
from tvm.ir.node import Node

from .doc import CallDoc, CommentDoc, Doc, LiteralDoc, StmtBlockDoc


class FollowedPath:
    """A path, the nodes along it, and the documents that stand for what it leads to.

    One node may stand in many places of a program, and only one of them is meant: documents
    count if all that encloses them lies on the path. Where what it leads to has no text of its
    own, such as a type, the nearest thing around it that does is meant.
    """

    __slots__ = ("_best", "_depths", "_docs", "path")

    def __init__(self, root: object, path: AccessPath) -> None:
        self.path: Final = path
        self._depths: Final = {id(node): depth for depth, node in enumerate(_along(root, path))}
        self._best = (-1, -1)
        self._docs: list[Doc] = []

    def see(self, node: int, trail: Sequence[int], made: Doc) -> None:
        """A document was made of a node (its id) within others."""
        depths = self._depths
        depth = depths.get(node)
        if depth is None or not all(outer in depths for outer in trail):
            return
        found = depth, depths[trail[-1]] if trail else -1
        if found > self._best:
            self._best = found
            self._docs.clear()
        if found == self._best:
            self._docs.append(made)

    def mark(self) -> None:
        """Give the documents that are meant the path."""
        of_value = self.path.steps[-1:] == (("attr", "value"),)
        for made in self._docs:
            number = made.args[0] if isinstance(made, CallDoc) and len(made.args) == 1 else None
            is_value = of_value and isinstance(number, LiteralDoc)  # of T.float32(1.0)
            add_path(number if is_value and number is not None else made, self.path)


def add_path(made: Doc, path: AccessPath) -> None:
    """Say that a document stands for what lies at the path."""
    # above what stands alone are its imports
    for part in made.stmts if isinstance(made, StmtBlockDoc) else [made]:
        if not isinstance(part, CommentDoc):
            part.source_paths = (*part.source_paths, path)


def _along(root: Any, path: AccessPath) -> list[object]:
    """The nodes that the path goes through, as far as it goes."""
    found, nodes = root, [root]
    for kind, key in path.steps:
        if kind == "attr" and hasattr(found, key):
            found = getattr(found, key)
        elif kind in ("array_item", "map_item"):
            try:
                found = found[key]
            except (KeyError, IndexError, TypeError):
                return nodes
        else:
            return nodes
        if isinstance(found, Node):
            nodes.append(found)
    return nodes
