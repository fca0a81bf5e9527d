"""Python text to a syntax tree, also for expressions deeper than Python's own parser takes.

CPython refuses some 200 nested brackets, and chains of some 3,000 operators. Where it does, deep
operands are cut out, read on their own, and put back into the tree: `f(a + <deep>)` is read as
`f(a + __cut_0__)` with `<deep>` read before. Long chains are cut from the left.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

# CPython takes about 200 brackets and 3,000 operators; far fewer are left in one piece.
_MAX_BRACKETS: Final = 60
_MAX_OPERATORS: Final = 500
_CUT: Final = "__cut_%d__"

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>[rRbBfFuU]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''
              |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
      |(?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?|0[xXoObB][\da-fA-F_]+)
      |(?P<name>[^\W\d]\w*)
      |(?P<sign>\*\*=|//=|>>=|<<=|\+=|-=|\*=|/=|%=|&=|\|=|\^=|->|:=|==|!=|<=|>=|//|\*\*|<<|>>|\S))""",
    re.VERBOSE,
)
_OPEN: Final = {"(": ")", "[": "]", "{": "}"}
_STATEMENT_WORDS: Final = frozenset(
    ("return", "if", "elif", "while", "assert", "with", "for", "in", "as", "else")
)
_ASSIGNMENTS: Final = frozenset(("=", "+=", "-=", "*=", "/=", "//=", "%=", ":", ","))
# Binary operators from loose to tight, as Python's grammar ranks them.
_RANKS: Final = tuple(
    frozenset(signs)
    for signs in (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%", "@"))
)
# What binds more loosely still; operands are looked at between these.
_LOOSER: Final = frozenset(
    ("<", ">", "<=", ">=", "==", "!=", "and", "or", "not", "if", "else", "is", "in", ":=")
)


def parse_source(source: str, filename: str = "<str>") -> ast.Module:
    """The syntax tree of a program of any depth. Raises SyntaxError as `ast.parse` does."""
    try:
        return ast.parse(source, filename)
    except (RecursionError, MemoryError):
        pass
    except SyntaxError as err:
        if "too many nested" not in str(err.msg):
            raise
    return _DeepSource(source, filename).parse()


class _Group:
    """A bracket with what stands in it, or the line around all brackets."""

    __slots__ = ("close", "depth", "items", "open")

    def __init__(self, opening: str, closing: str) -> None:
        self.open: Final = opening
        self.close: Final = closing
        self.items: _Items = []
        self.depth = 0


_Items: TypeAlias = list[str | _Group]


class _DeepSource:
    """Reads a program line by line, cutting deep operands out of long lines."""

    def __init__(self, source: str, filename: str) -> None:
        self.source = source
        self.filename = filename
        self.cut: dict[str, ast.expr] = {}
        self.line = 0

    def parse(self) -> ast.Module:
        """The tree with everything put back."""
        lines = self.source.split("\n")
        for number, text in enumerate(lines):
            if len(text) > 2 * _MAX_BRACKETS:
                self.line = number + 1
                lines[number] = self._shortened(text)
        tree = ast.parse("\n".join(lines), self.filename)
        self._put_back(tree)
        return tree

    def _shortened(self, text: str) -> str:
        """The line with placeholders for its deep operands."""
        root = _grouped(text)
        if root is None:
            return text
        for group in _innermost_first(root):
            self._shorten(group)
        indent = text[: len(text) - len(text.lstrip())]
        return indent + _text(root.items)

    def _shorten(self, group: _Group) -> None:
        """Cut what is too deep or too long in one bracket; its inner brackets are done."""
        parts, separators = _operands(group)
        for part in parts:
            self._cut_chain(part)
            depth = max((item.depth for item in part if isinstance(item, _Group)), default=-1) + 1
            if depth > _MAX_BRACKETS:
                part[:] = [self._read(part)]
        group.items = _interleaved(parts, separators)
        depths = [item.depth + 1 for item in group.items if isinstance(item, _Group)]
        group.depth = max(depths, default=0)

    def _cut_chain(self, part: _Items, rank: int = 0) -> None:
        """`a + b + c + ...` becomes `<a + b + ...> + ...` until few operators are left."""
        if rank == len(_RANKS) or len(part) < _MAX_OPERATORS:
            return
        cuts = [i for i in range(1, len(part)) if part[i] in _RANKS[rank] and _is_binary(part, i)]
        operands = [part[a + 1 : b] for a, b in zip([-1, *cuts], [*cuts, len(part)])]
        for operand in operands:
            self._cut_chain(operand, rank + 1)
        signs = [part[at] for at in cuts]
        while len(signs) > _MAX_OPERATORS:
            head = _interleaved(operands[: _MAX_OPERATORS + 1], signs[:_MAX_OPERATORS])
            operands[: _MAX_OPERATORS + 1] = [[self._read(head)]]
            del signs[:_MAX_OPERATORS]
        part[:] = _interleaved(operands, signs)

    def _read(self, part: _Items) -> str:
        """Read an operand on its own; returns the placeholder that stands for it."""
        tree = ast.parse(_text(part).strip(), self.filename, "eval")
        ast.increment_lineno(tree, self.line - 1)
        self._put_back(tree)
        name = _CUT % len(self.cut)
        self.cut[name] = tree.body
        return name

    def _put_back(self, tree: ast.AST) -> None:
        """Replace the placeholders in a freshly read tree; what is put in is not walked again."""
        stack: list[ast.AST] = [tree]
        while stack:
            node = stack.pop()
            for field, value in ast.iter_fields(node):
                if isinstance(value, ast.AST):
                    found = self._found(value)
                    if found is not None:
                        setattr(node, field, found)
                    else:
                        stack.append(value)
                elif isinstance(value, list):
                    for i, item in enumerate(value):
                        if isinstance(item, ast.AST):
                            found = self._found(item)
                            if found is not None:
                                value[i] = found
                            else:
                                stack.append(item)

    def _found(self, node: ast.AST) -> ast.expr | None:
        return self.cut.get(node.id) if isinstance(node, ast.Name) else None


def _grouped(text: str) -> _Group | None:
    """The tokens of a line by brackets; None if the brackets do not close on this line."""
    root = _Group("", "")
    stack = [root]
    end, limit = 0, len(text.rstrip())
    while end < limit:
        match = _TOKEN.match(text, end)
        if match is None or match.end() == end:
            return None
        end = match.end()
        token = text[match.start(match.lastgroup or 0) : end]
        if token == "#":
            break
        if token in _OPEN:
            group = _Group(token, _OPEN[token])
            stack[-1].items.append(group)
            stack.append(group)
        elif token == stack[-1].close and len(stack) > 1:
            stack.pop()
        else:
            stack[-1].items.append(token)
    return root if len(stack) == 1 else None


def _innermost_first(root: _Group) -> Iterator[_Group]:
    order: list[_Group] = []
    stack = [root]
    while stack:
        group = stack.pop()
        order.append(group)
        stack.extend(item for item in group.items if isinstance(item, _Group))
    return reversed(order)


def _interleaved(parts: list[_Items], separators: _Items) -> _Items:
    items: _Items = list(parts[0])
    for separator, part in zip(separators, parts[1:]):
        items.append(separator)
        items.extend(part)
    return items


def _operands(group: _Group) -> tuple[list[_Items], _Items]:
    """The operands in a bracket or line, and the separators between them."""
    words = {item for item in group.items if isinstance(item, str)}
    inner = group.open != ""
    if inner and words & {"lambda", "for"}:
        return [group.items], []
    splits = _LOOSER | ({",", ":", "="} if inner else _ASSIGNMENTS | _STATEMENT_WORDS)
    parts: list[_Items] = [[]]
    separators: _Items = []
    for item in group.items:
        if isinstance(item, str) and item in splits:
            separators.append(item)
            parts.append([])
        else:
            parts[-1].append(item)
    return parts, separators


def _is_binary(part: _Items, at: int) -> bool:
    before = part[at - 1]
    return isinstance(before, _Group) or before[-1].isalnum() or before[-1] in "_\"'"


def _text(items: _Items) -> str:
    """The items as text, without recursion."""
    out: list[str] = []
    stack: _Items = list(reversed(items))
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            stack.extend((item.close, *reversed(item.items), item.open))
    return _joined(out)


def _joined(tokens: list[str]) -> str:
    """Tokens with a space where two words would run together."""
    out: list[str] = []
    for token in tokens:
        if out and _is_word(out[-1][-1]) and _is_word(token[0]):
            out.append(" ")
        out.append(token)
    return "".join(out)


def _is_word(char: str) -> bool:
    return char.isalnum() or char in "_\"'."
