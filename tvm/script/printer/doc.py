"""Documents: the syntax tree of printed TVMScript, independent of any IR.

A document is made once and then only read; sub-documents may be shared. `source_paths` says which
parts of the printed object a document stands for, so that they can be underlined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from tvm.ffi.object import Object

if TYPE_CHECKING:
    from tvm.ir.access_path import AccessPath

Literal = str | float | bool | int | None


class Doc(Object):
    """The root of all documents."""

    # users may hang notes of their own on a document, beside its fields
    __slots__ = ("__dict__", "_source_paths")
    _source_paths: Sequence[AccessPath]

    @property
    def source_paths(self) -> Sequence[AccessPath]:
        """The parts of the printed object that this stands for."""
        return self._source_paths

    @source_paths.setter
    def source_paths(self, paths: Sequence[AccessPath]) -> None:
        self._source_paths = tuple(paths)


class ExprDoc(Doc):
    """A document that is an expression in Python's grammar."""

    __slots__ = ()

    def attr(self, name: str) -> AttrAccessDoc:
        """`self.name`."""
        return AttrAccessDoc(self, name)

    def call(self, *args: ExprDoc, **kwargs: ExprDoc) -> CallDoc:
        """`self(args, key=value)`."""
        return CallDoc(self, *args, **kwargs)

    def __getitem__(self, indices: object) -> IndexDoc:
        parts = indices if isinstance(indices, tuple) else (indices,)
        return IndexDoc(self, [_slice_doc(part) for part in parts])

    def __iter__(self) -> Iterator[Doc]:
        raise RuntimeError(f"{type(self).__name__} cannot be used as an iterator")


def _slice_doc(part: object) -> ExprDoc | SliceDoc:
    if isinstance(part, (ExprDoc, SliceDoc)):
        return part
    if isinstance(part, slice):
        return SliceDoc(part.start, part.stop, part.step)
    raise TypeError(f"an index is an ExprDoc or a slice of them, found {type(part).__name__}")


class StmtDoc(Doc):
    """A document that is a statement; `comment` goes behind it or above it."""

    __slots__ = ("comment",)
    comment: str | None


class StmtBlockDoc(Doc):
    """Statements in order."""

    __slots__ = ("stmts",)

    def __init__(self, stmts: Sequence[Doc]) -> None:
        self._source_paths = ()
        self.stmts = stmts


class LiteralDoc(ExprDoc):
    """A Python literal: None, bool, int, float or str."""

    __slots__ = ("value",)

    def __init__(self, value: Literal, path: AccessPath | None = None) -> None:
        if value is not None and not isinstance(value, (str, float, int)):
            raise TypeError(
                f"Unsupported type {type(value).__name__} for LiteralDoc; "
                "legal: None, bool, int, float, str"
            )
        self._source_paths = () if path is None else (path,)
        self.value = value


class IdDoc(ExprDoc):
    """A name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self._source_paths = ()
        self.name = name


class AttrAccessDoc(ExprDoc):
    """`value.name`."""

    __slots__ = ("name", "value")

    def __init__(self, value: ExprDoc, name: str) -> None:
        self._source_paths = ()
        self.value = value
        self.name = name


class IndexDoc(ExprDoc):
    """`value[indices]`."""

    __slots__ = ("indices", "value")

    def __init__(self, value: ExprDoc, indices: Sequence[ExprDoc | SliceDoc]) -> None:
        self._source_paths = ()
        self.value = value
        self.indices = indices


class CallDoc(ExprDoc):
    """`callee(args, key=value)`."""

    __slots__ = ("args", "callee", "kwargs_keys", "kwargs_values")

    def __init__(self, callee: ExprDoc, *args: ExprDoc, **kwargs: ExprDoc) -> None:
        self._source_paths = ()
        self.callee = callee
        self.args: Sequence[ExprDoc] = args
        self.kwargs_keys: Sequence[str] = tuple(kwargs)
        self.kwargs_values: Sequence[ExprDoc] = tuple(kwargs.values())


class OperationKind(IntEnum):
    """Python's operators. Values below `_UnaryEnd` take one operand, below `_BinaryEnd` two."""

    _UnaryStart = 0
    USub = 1
    Invert = 2
    Not = 3
    _UnaryEnd = 4
    _BinaryStart = 5
    Add = 6
    Sub = 7
    Mult = 8
    Div = 9
    FloorDiv = 10
    Mod = 11
    Pow = 12
    LShift = 13
    RShift = 14
    BitAnd = 15
    BitOr = 16
    BitXor = 17
    Lt = 18
    LtE = 19
    Eq = 20
    NotEq = 21
    Gt = 22
    GtE = 23
    And = 24
    Or = 25
    _BinaryEnd = 26
    _SpecialStart = 27
    IfThenElse = 28
    _SpecialEnd = 29


class OperationDoc(ExprDoc):
    """An operator with its operands; `IfThenElse` takes condition, then, else."""

    __slots__ = ("kind", "operands")

    def __init__(self, kind: OperationKind, operands: Sequence[ExprDoc]) -> None:
        self._source_paths = ()
        self.kind = kind
        self.operands = operands


class LambdaDoc(ExprDoc):
    """`lambda args: body`."""

    __slots__ = ("args", "body")

    def __init__(self, args: Sequence[IdDoc], body: ExprDoc) -> None:
        self._source_paths = ()
        self.args = args
        self.body = body


class TupleDoc(ExprDoc):
    """`(elements,)`."""

    __slots__ = ("elements",)

    def __init__(self, elements: Sequence[ExprDoc]) -> None:
        self._source_paths = ()
        self.elements = elements


class ListDoc(ExprDoc):
    """`[elements]`."""

    __slots__ = ("elements",)

    def __init__(self, elements: Sequence[ExprDoc]) -> None:
        self._source_paths = ()
        self.elements = elements


class DictDoc(ExprDoc):
    """`{key: value}`."""

    __slots__ = ("keys", "values")

    def __init__(self, content: Mapping[ExprDoc, ExprDoc]) -> None:
        self._source_paths = ()
        self.keys: Sequence[ExprDoc] = tuple(content.keys())
        self.values: Sequence[ExprDoc] = tuple(content.values())


class SliceDoc(Doc):
    """`start:stop:step`, only as an index."""

    __slots__ = ("start", "step", "stop")

    def __init__(
        self,
        start: ExprDoc | None = None,
        stop: ExprDoc | None = None,
        step: ExprDoc | None = None,
    ) -> None:
        self._source_paths = ()
        self.start = start
        self.stop = stop
        self.step = step


class AssignDoc(StmtDoc):
    """`lhs: annotation = rhs`; without `rhs` a declaration or a parameter."""

    __slots__ = ("annotation", "lhs", "rhs")

    def __init__(
        self, lhs: ExprDoc, rhs: ExprDoc | None, annotation: ExprDoc | None = None
    ) -> None:
        if rhs is None and annotation is None:
            raise ValueError(
                "At least one of rhs and annotation needs to be non-null for AssignDoc."
            )
        if annotation is not None and not isinstance(lhs, IdDoc):
            raise ValueError("annotation can only be nonnull if lhs is an identifier.")
        self._source_paths = ()
        self.comment = None
        self.lhs = lhs
        self.rhs = rhs
        self.annotation = annotation


class IfDoc(StmtDoc):
    """`if predicate: ... else: ...`; at least one branch has statements."""

    __slots__ = ("else_branch", "predicate", "then_branch")

    def __init__(
        self, predicate: ExprDoc, then_branch: Sequence[Doc], else_branch: Sequence[Doc]
    ) -> None:
        if not then_branch and not else_branch:
            raise ValueError(
                "At least one of the then branch or else branch needs to be non-empty"
            )
        self._source_paths = ()
        self.comment = None
        self.predicate = predicate
        self.then_branch = then_branch
        self.else_branch = else_branch


class WhileDoc(StmtDoc):
    """`while predicate: ...`."""

    __slots__ = ("body", "predicate")

    def __init__(self, predicate: ExprDoc, body: Sequence[Doc]) -> None:
        self._source_paths = ()
        self.comment = None
        self.predicate = predicate
        self.body = body


class ForDoc(StmtDoc):
    """`for lhs in rhs: ...`."""

    __slots__ = ("body", "lhs", "rhs")

    def __init__(self, lhs: ExprDoc, rhs: ExprDoc, body: Sequence[Doc]) -> None:
        self._source_paths = ()
        self.comment = None
        self.lhs = lhs
        self.rhs = rhs
        self.body = body


class ScopeDoc(StmtDoc):
    """`with rhs as lhs: ...`."""

    __slots__ = ("body", "lhs", "rhs")

    def __init__(self, lhs: ExprDoc | None, rhs: ExprDoc, body: Sequence[Doc]) -> None:
        self._source_paths = ()
        self.comment = None
        self.lhs = lhs
        self.rhs = rhs
        self.body = body


class ExprStmtDoc(StmtDoc):
    """An expression that is evaluated for its effects."""

    __slots__ = ("expr",)

    def __init__(self, expr: ExprDoc) -> None:
        self._source_paths = ()
        self.comment = None
        self.expr = expr


class AssertDoc(StmtDoc):
    """`assert test, msg`."""

    __slots__ = ("msg", "test")

    def __init__(self, test: ExprDoc, msg: ExprDoc | None = None) -> None:
        self._source_paths = ()
        self.comment = None
        self.test = test
        self.msg = msg


class ReturnDoc(StmtDoc):
    """`return value`."""

    __slots__ = ("value",)

    def __init__(self, value: ExprDoc) -> None:
        self._source_paths = ()
        self.comment = None
        self.value = value


class FunctionDoc(StmtDoc):
    """A function with decorators; its comment becomes the docstring."""

    __slots__ = ("args", "body", "decorators", "name", "return_type")

    def __init__(
        self,
        name: IdDoc,
        args: Sequence[AssignDoc],
        decorators: Sequence[ExprDoc],
        return_type: ExprDoc | None,
        body: Sequence[Doc],
    ) -> None:
        self._source_paths = ()
        self.comment = None
        self.name = name
        self.args = args
        self.decorators = decorators
        self.return_type = return_type
        self.body = body


class ClassDoc(StmtDoc):
    """A class with decorators; its comment becomes the docstring."""

    __slots__ = ("body", "decorators", "name")

    def __init__(self, name: IdDoc, decorators: Sequence[ExprDoc], body: Sequence[Doc]) -> None:
        self._source_paths = ()
        self.comment = None
        self.name = name
        self.decorators = decorators
        self.body = body


class SourceDoc(StmtDoc):
    """Python text that is no program of ours, as it was written, below its decorators."""

    __slots__ = ("decorators", "source")

    def __init__(self, decorators: Sequence[ExprDoc], source: str) -> None:
        self._source_paths = ()
        self.comment = None
        self.decorators = decorators
        self.source = source


class CommentDoc(StmtDoc):
    """Lines of comment; an empty comment is an empty line."""

    __slots__ = ()

    def __init__(self, comment: str) -> None:
        self._source_paths = ()
        self.comment = comment


class DocStringDoc(StmtDoc):
    """A string that documents what it stands in."""

    __slots__ = ()

    def __init__(self, docs: str) -> None:
        self._source_paths = ()
        self.comment = docs
