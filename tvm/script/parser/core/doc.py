"""The syntax tree, with conversions for users who keep trees of their own beside Python's."""

from __future__ import annotations

import ast
from ast import NodeTransformer, NodeVisitor
from collections.abc import Callable
from typing import Any, Final, TypeVar

from . import doc_core
from .doc_core import *  # noqa: F403 - the tree's classes are names of this module too
from .long_lines import parse_source

FnToDoc = Callable[[Any], Any]
FnFromDoc = Callable[[Any], Any]
C = TypeVar("C", bound=Callable[[Any], Any])


class Entry:
    """How one kind of node is converted in both directions; None where it stays as it is."""

    to_doc: FnToDoc | None
    from_doc: FnFromDoc | None

    def __init__(self) -> None:
        self.to_doc = None
        self.from_doc = None


class Registry:
    """The conversions by the name of the node's class."""

    table: dict[str, Entry]

    def __init__(self) -> None:
        self.table = {}

    def entry(self, name: str) -> Entry:
        """The conversions of a kind of node."""
        return self.table.setdefault(name, Entry())


_REGISTRY: Final = Registry()


def register_to_doc(name: str) -> Callable[[C], C]:
    """Decorate the conversion of Python's node `name` for the parser."""

    def register(func: C) -> C:
        _REGISTRY.entry(name).to_doc = func
        return func

    return register


def register_from_doc(name: str) -> Callable[[C], C]:
    """Decorate the conversion of the parser's node `name` back to Python's."""

    def register(func: C) -> C:
        _REGISTRY.entry(name).from_doc = func
        return func

    return register


def to_doc(node: Any) -> Any:
    """Python's tree as the parser reads it."""
    entry = _REGISTRY.table.get(type(node).__name__)
    return node if entry is None or entry.to_doc is None else entry.to_doc(node)


def from_doc(node: Any) -> Any:
    """The parser's tree as Python's."""
    entry = _REGISTRY.table.get(type(node).__name__)
    return node if entry is None or entry.from_doc is None else entry.from_doc(node)


def parse(source: str, filename: str = "<unknown>", mode: str = "exec") -> ast.AST:
    """The tree of a Python text."""
    if mode == "exec":
        return parse_source(source, filename)
    return ast.parse(source, filename, mode)


__all__ = [
    *doc_core.__all__, "Entry", "NodeTransformer", "NodeVisitor", "Registry", "from_doc", "parse",
    "register_from_doc", "register_to_doc", "to_doc",
]  # fmt: skip
