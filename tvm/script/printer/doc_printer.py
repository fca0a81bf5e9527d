"""Documents to text. One loop over a stack of pending pieces: depth costs no Python recursion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from tvm.error import CheckError
from tvm.ir.access_path import AccessPath

from . import doc as d
from .doc import OperationKind as Op
from .underline import Mark, decorate

# What is still to be written: text, a document, or one of the moves below.
_NEWLINE: Final = 1
_INDENT: Final = 2
_DEDENT: Final = 3
_BLANK: Final = 4  # an empty line, which counts as part of the line above it
_HIDE: Final = 5  # from here to _SHOW stands a comment, which is never underlined
_SHOW: Final = 6


class _Start:
    """The text from here to the matching `_End` is that of a document with paths."""

    __slots__ = ("at", "doc")

    def __init__(self, doc: d.Doc) -> None:
        self.doc: Final = doc
        self.at = 0


class _End:
    __slots__ = ("start",)

    def __init__(self, start: _Start) -> None:
        self.start = start


Piece = str | int | d.Doc | _Start | _End

# How tightly an expression binds, after Python's reference manual ("Operator precedence").
_LAMBDA, _CHOICE, _ATOM = 1, 2, 15
_PREC: Final[dict[int, int]] = {
    Op.IfThenElse: _CHOICE, Op.Or: 3, Op.And: 4, Op.Not: 5,
    Op.Lt: 6, Op.LtE: 6, Op.Eq: 6, Op.NotEq: 6, Op.Gt: 6, Op.GtE: 6,
    Op.BitOr: 7, Op.BitXor: 8, Op.BitAnd: 9, Op.LShift: 10, Op.RShift: 10,
    Op.Add: 11, Op.Sub: 11, Op.Mult: 12, Op.Div: 12, Op.FloorDiv: 12, Op.Mod: 12,
    Op.USub: 13, Op.Invert: 13, Op.Pow: 14,
}  # fmt: skip
_SIGN: Final[dict[int, str]] = {
    Op.USub: "-", Op.Invert: "~", Op.Not: "not ",
    Op.Add: " + ", Op.Sub: " - ", Op.Mult: " * ", Op.Div: " / ", Op.FloorDiv: " // ",
    Op.Mod: " % ", Op.Pow: " ** ", Op.LShift: " << ", Op.RShift: " >> ", Op.BitAnd: " & ",
    Op.BitOr: " | ", Op.BitXor: " ^ ", Op.Lt: " < ", Op.LtE: " <= ", Op.Eq: " == ",
    Op.NotEq: " != ", Op.Gt: " > ", Op.GtE: " >= ", Op.And: " and ", Op.Or: " or ",
}  # fmt: skip
_COMPARE: Final = 6


def _prec(doc: d.Doc) -> int:
    if type(doc) is d.OperationDoc:
        return _PREC[doc.kind]
    return _LAMBDA if type(doc) is d.LambdaDoc else _ATOM


def _wrap(doc: d.Doc, least: int) -> tuple[Piece, ...]:
    """The document, in parentheses if it binds less tightly than `least`."""
    return (doc,) if _prec(doc) >= least else ("(", doc, ")")


def _joined(docs: Sequence[d.Doc]) -> list[Piece]:
    pieces: list[Piece] = []
    for doc in docs:
        if pieces:
            pieces.append(", ")
        pieces.append(doc)
    return pieces


def _target(doc: d.ExprDoc) -> list[Piece]:
    """Names on the left of `=` or `in`: a tuple stands without parentheses."""
    if not isinstance(doc, d.TupleDoc):
        return [doc]
    return [*_joined(doc.elements), ","] if len(doc.elements) == 1 else _joined(doc.elements)


_ESCAPES: Final = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t",
                   ord("\r"): "\\r", 127: "\\x7f",
                   **{c: f"\\x{c:02x}" for c in range(32) if chr(c) not in "\n\t\r"}}  # fmt: skip


def quote(text: str) -> str:
    """A Python string literal in double quotes."""
    return f'"{text.translate(_ESCAPES)}"'


def float_text(value: float) -> str:
    """A float that reads back exactly; infinities and NaN as quoted words.

    Whole numbers are written with all their digits, others in 17 significant ones.
    """
    if not math.isfinite(value):
        return f'"{value}"'
    return f"{value:.1f}" if value.is_integer() else f"{value:.17g}"


def _literal(doc: d.LiteralDoc) -> list[Piece]:
    value = doc.value
    if isinstance(value, str):
        return [quote(value)]
    if isinstance(value, float):
        return [float_text(value)]
    return [str(value)]


def _call(doc: d.CallDoc) -> list[Piece]:
    pieces: list[Piece] = [*_wrap(doc.callee, _ATOM), "("]
    first = True
    for arg in doc.args:
        pieces.extend((arg,) if first else (", ", arg))
        first = False
    for key, value in zip(doc.kwargs_keys, doc.kwargs_values):
        pieces.extend((f"{key}=" if first else f", {key}=", value))
        first = False
    pieces.append(")")
    return pieces


def _operation(doc: d.OperationDoc) -> list[Piece]:
    kind, ops = doc.kind, doc.operands
    mine = _PREC[kind]
    wanted = 1 if kind < Op._UnaryEnd else 3 if kind == Op.IfThenElse else 2
    if len(ops) != wanted:
        raise CheckError(
            f"OperationDoc: {Op(kind).name} has {len(ops)} operands; legal: {wanted} of them"
        )
    if wanted == 1:
        return [_SIGN[kind], *_wrap(ops[0], mine)]
    if kind == Op.IfThenElse:
        cond, then, other = ops
        return [*_wrap(then, mine), " if ", *_wrap(cond, mine + 1), " else ",
                *_wrap(other, mine + 1)]  # fmt: skip
    left, right = mine, mine + 1
    if kind == Op.Pow:  # binds to the right, and less tightly than a sign there
        left, right = right, _PREC[Op.USub]
    elif mine == _COMPARE:  # a < b < c would be a chain
        left = mine + 1
    return [*_wrap(ops[0], left), _SIGN[kind], *_wrap(ops[1], right)]


def _index(doc: d.IndexDoc) -> list[Piece]:
    if not doc.indices:
        return [*_wrap(doc.value, _ATOM), "[()]"]
    return [*_wrap(doc.value, _ATOM), "[", *_joined(doc.indices), "]"]


def _slice(doc: d.SliceDoc) -> list[Piece]:
    pieces: list[Piece] = []
    if doc.start is not None:
        pieces.append(doc.start)
    pieces.append(":")
    if doc.stop is not None:
        pieces.append(doc.stop)
    if doc.step is not None:
        pieces.extend((":", doc.step))
    return pieces


def _tuple(doc: d.TupleDoc) -> list[Piece]:
    if len(doc.elements) == 1:
        return ["(", doc.elements[0], ",)"]
    return ["(", *_joined(doc.elements), ")"]


def _dict(doc: d.DictDoc) -> list[Piece]:
    pieces: list[Piece] = ["{"]
    for key, value in zip(doc.keys, doc.values):
        pieces.extend((key, ": ", value) if len(pieces) == 1 else (", ", key, ": ", value))
    pieces.append("}")
    return pieces


def _lambda(doc: d.LambdaDoc) -> list[Piece]:
    return ["lambda ", *_joined(doc.args), ": ", doc.body]


def _lines(text: str, prefix: str = "") -> list[Piece]:
    pieces: list[Piece] = []
    for line in text.split("\n"):
        if pieces:
            pieces.append(_NEWLINE if prefix or line else _BLANK)
        pieces.append(prefix + line)
    return pieces


def _comment(text: str) -> list[Piece]:
    return [_HIDE, *_lines(text, "# "), _SHOW] if text else []


def _simple(doc: d.StmtDoc, pieces: list[Piece]) -> list[Piece]:
    """A one-line statement with its comment behind it."""
    if doc.comment is None:
        return pieces
    if "\n" in doc.comment:
        raise ValueError(
            f"the comment string of {type(doc).__name__} cannot have newline: {doc.comment!r}"
        )
    return [*pieces, _HIDE, f"  # {doc.comment}", _SHOW]


def _above(doc: d.StmtDoc) -> list[Piece]:
    return [] if doc.comment is None else [*_comment(doc.comment), _NEWLINE]


def _body(stmts: Sequence[d.Doc], docstring: str | None = None) -> list[Piece]:
    pieces: list[Piece] = [_INDENT]
    if docstring is not None:
        pieces.extend((_NEWLINE, *(_docstring(docstring) or ['"""', _NEWLINE, '"""'])))
    for stmt in stmts:
        pieces.extend((_NEWLINE, stmt))
    if not stmts:
        pieces.extend((_NEWLINE, "pass"))
    pieces.append(_DEDENT)
    return pieces


def _docstring(text: str) -> list[Piece]:
    return [_HIDE, '"""', _NEWLINE, *_lines(text), _NEWLINE, '"""', _SHOW] if text else []


def _assign(doc: d.AssignDoc) -> list[Piece]:
    pieces = _target(doc.lhs)
    if doc.annotation is not None:
        pieces.extend((": ", doc.annotation))
    if doc.rhs is not None:
        pieces.append(" = ")
        one = isinstance(doc.rhs, d.TupleDoc) and len(doc.rhs.elements) < 2
        pieces.extend([doc.rhs] if one else _target(doc.rhs))
    return _simple(doc, pieces)


def _if(doc: d.IfDoc) -> list[Piece]:
    pieces: list[Piece] = [*_above(doc), "if ", doc.predicate, ":", *_body(doc.then_branch)]
    if _turns(doc) > _MAX_NESTED:
        while (other := _only_if(doc)) is not None:
            doc = other
            pieces.extend((_NEWLINE, "elif ", doc.predicate, ":", *_body(doc.then_branch)))
    if doc.else_branch:
        pieces.extend((_NEWLINE, "else:", *_body(doc.else_branch)))
    return pieces


def _only_if(doc: d.IfDoc) -> d.IfDoc | None:
    """The condition that is all there is of the other branch."""
    if len(doc.else_branch) != 1:
        return None
    other = doc.else_branch[0]
    return other if isinstance(other, d.IfDoc) and not other.comment else None


def _turns(doc: d.IfDoc) -> int:
    """How many conditions follow one another."""
    count, at = 0, _only_if(doc)
    while at is not None and count <= _MAX_NESTED:
        count, at = count + 1, _only_if(at)
    return count


def _while(doc: d.WhileDoc) -> list[Piece]:
    return [*_above(doc), "while ", doc.predicate, ":", *_body(doc.body)]


def _for(doc: d.ForDoc) -> list[Piece]:
    return [*_above(doc), "for ", *_target(doc.lhs), " in ", doc.rhs, ":", *_body(doc.body)]


def _scope(doc: d.ScopeDoc) -> list[Piece]:
    name: tuple[Piece, ...] = () if doc.lhs is None else (" as ", doc.lhs)
    return [*_above(doc), "with ", doc.rhs, *name, ":", *_body(doc.body)]


def _expr_stmt(doc: d.ExprStmtDoc) -> list[Piece]:
    return _simple(doc, [doc.expr])


def _assert(doc: d.AssertDoc) -> list[Piece]:
    message: tuple[Piece, ...] = () if doc.msg is None else (", ", doc.msg)
    return _simple(doc, ["assert ", doc.test, *message])


def _return(doc: d.ReturnDoc) -> list[Piece]:
    return _simple(doc, ["return ", doc.value])


def _decorators(docs: Sequence[d.ExprDoc]) -> list[Piece]:
    return [piece for doc in docs for piece in ("@", doc, _NEWLINE)]


def _function(doc: d.FunctionDoc) -> list[Piece]:
    result: tuple[Piece, ...] = () if doc.return_type is None else (" -> ", doc.return_type)
    head = [*_decorators(doc.decorators), "def ", doc.name, "(", *_joined(doc.args), ")"]
    return [*head, *result, ":", *_body(doc.body, doc.comment), _BLANK]


def _source(doc: d.SourceDoc) -> list[Piece]:
    pieces: list[Piece] = []
    for line in doc.source.rstrip().split("\n"):
        pieces.extend((_NEWLINE, line) if pieces else (line,))
    return [*_decorators(doc.decorators), *pieces, _BLANK]


def _class(doc: d.ClassDoc) -> list[Piece]:
    return [*_decorators(doc.decorators), "class ", doc.name, ":", *_body(doc.body, doc.comment)]


def _block(doc: d.StmtBlockDoc) -> list[Piece]:
    pieces: list[Piece] = []
    for i, stmt in enumerate(doc.stmts):
        pieces.extend((_NEWLINE, stmt) if i else (stmt,))
    return pieces


# Python reads a hundred levels of indentation; longer chains of conditions are of `elif`.
_MAX_NESTED: Final = 40

Expand = Callable[..., list[Piece]]
_EXPAND: Final[dict[type, Expand]] = {
    d.LiteralDoc: _literal,
    d.IdDoc: lambda doc: [doc.name],
    d.AttrAccessDoc: lambda doc: [*_wrap(doc.value, _ATOM), "." + doc.name],
    d.IndexDoc: _index,
    d.CallDoc: _call,
    d.OperationDoc: _operation,
    d.LambdaDoc: _lambda,
    d.TupleDoc: _tuple,
    d.ListDoc: lambda doc: ["[", *_joined(doc.elements), "]"],
    d.DictDoc: _dict,
    d.SliceDoc: _slice,
    d.StmtBlockDoc: _block,
    d.AssignDoc: _assign,
    d.IfDoc: _if,
    d.WhileDoc: _while,
    d.ForDoc: _for,
    d.ScopeDoc: _scope,
    d.ExprStmtDoc: _expr_stmt,
    d.AssertDoc: _assert,
    d.ReturnDoc: _return,
    d.FunctionDoc: _function,
    d.ClassDoc: _class,
    d.SourceDoc: _source,
    d.CommentDoc: lambda doc: _comment(doc.comment),
    d.DocStringDoc: lambda doc: _docstring(doc.comment),
}


def _expanded(doc: object) -> list[Piece]:
    expand = _EXPAND.get(type(doc))
    if expand is None:
        raise TypeError(f"print a document: expected a Doc, found {type(doc).__name__}")
    return expand(doc)


class _Writer:
    """Writes documents to text, noting where the documents of the wanted paths lie."""

    def __init__(
        self, indent_spaces: int, wanted: Sequence[AccessPath], decorated: bool
    ) -> None:
        self.indent_spaces = indent_spaces
        self.wanted = wanted
        self.decorated = decorated or bool(wanted)
        self.out: list[str] = []
        self._found: list[tuple[int, list[Mark]]] = [(-1, []) for _ in wanted]
        self.blanks: list[int] = []  # where the empty lines begin
        self._hidden: list[Mark] = []
        self._open: list[int] = []

    def write(self, root: d.Doc) -> str:
        """The text of the document."""
        out, indent = self.out, 0
        stack: list[Piece] = [root]
        watched = bool(self.wanted)
        while stack:
            piece = stack.pop()
            kind = type(piece)
            if kind is str:
                out.append(piece)  # type: ignore[arg-type]
            elif kind is int:
                if piece == _NEWLINE:
                    out.append("\n" + " " * indent)
                elif piece == _BLANK:
                    if self.decorated:
                        self.blanks.append(self._offset())
                    out.append("\n")
                else:
                    if piece in (_INDENT, _DEDENT):
                        indent += self.indent_spaces if piece == _INDENT else -self.indent_spaces
                    elif watched and piece == _HIDE:
                        self._open.append(self._offset())
                    elif watched:
                        self._hidden.append(Mark(self._open.pop(), self._offset()))
            elif kind is _Start or kind is _End:
                self._move_mark(piece)
            else:
                if watched and isinstance(piece, d.Doc) and piece.source_paths:
                    start = _Start(piece)
                    stack.extend((_End(start), *reversed(_expanded(piece)), start))
                else:
                    stack.extend(reversed(_expanded(piece)))
        return "".join(out)

    @property
    def marks(self) -> list[Mark]:
        """Where the documents are that come nearest to the wanted paths."""
        return [mark for _, marks in self._found for mark in marks]

    def _offset(self) -> int:
        return sum(map(len, self.out))

    def _move_mark(self, piece: Piece) -> None:
        offset = self._offset()
        if isinstance(piece, _Start):
            piece.at = offset
        elif isinstance(piece, _End):
            start, marks = piece.start.at, []
            for hidden in sorted(self._hidden):  # the outermost first
                if start <= hidden.start and hidden.stop <= offset:
                    marks.append(Mark(start, hidden.start))
                    start = max(start, hidden.stop)
            self._note(piece.start.doc, [*marks, Mark(start, offset)])

    def _note(self, doc: d.Doc, marks: list[Mark]) -> None:
        """Keep the marks of a document if no other one's path goes further along a wanted one."""
        for number, wanted in enumerate(self.wanted):
            for path in map(AccessPath.of, doc.source_paths):
                longest, found = self._found[number]
                if path.depth >= longest and path.is_prefix_of(wanted):
                    kept = [] if path.depth > longest else found
                    self._found[number] = path.depth, [*kept, *marks]


def to_python_script(
    doc: d.Doc,
    indent_spaces: int = 4,
    print_line_numbers: bool = False,
    num_context_lines: int | None = None,
    path_to_underline: Sequence[AccessPath] | None = None,
) -> str:
    """The document as Python text; those are underlined that come nearest to the paths.

    A path that is among no document's `source_paths` is that of the documents around it: for
    `<root>.body.value`, those of `<root>.body`.
    """
    decorated = print_line_numbers or num_context_lines is not None
    wanted = [AccessPath.of(path) for path in path_to_underline or ()]
    writer = _Writer(indent_spaces, wanted, decorated)
    text = writer.write(doc)
    if writer.marks or decorated:
        text = decorate(text, writer.marks, print_line_numbers, num_context_lines, writer.blanks)
    return text.rstrip()
