"""A mistake at a location in the program that is being read."""

from __future__ import annotations

import ast


class ParserError(Exception):
    """What is wrong with a piece of a program; the parser turns it into a diagnostic."""

    def __init__(self, node: ast.AST, msg: str) -> None:
        super().__init__(msg)
        self.node = node
