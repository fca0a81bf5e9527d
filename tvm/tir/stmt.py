"""Statements of TensorIR: stores, loops, allocations, blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, final

from tvm.error import CheckError, DTypeError, ShapeError
from tvm.ir.expr import PrimExpr, PrimExprConvertible, Range
from tvm.ir.host_tensor import HostTensor, as_host_tensor
from tvm.ir.node import Field, Node, all_of_type, fields, listed, of_type, register_nodes
from tvm.ir.span import Span
from tvm.ir.type import PointerType
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenArray, FrozenMap

from .access_rules import access_dtype, as_buffer, check_predicate
from .expr import (
    BufferLoad,
    ExprLike,
    IntImm,
    IterVar,
    Ramp,
    Var,
    as_expr,
)

if TYPE_CHECKING:
    from .buffer import Buffer
    from .functor import TirFunctor

E = TypeVar("E")
S = TypeVar("S")
Annotations = Mapping[str, object]


class Stmt(Node):
    """The root of statements."""

    __slots__ = ("span",)
    TYPE_KEY = "tir.Stmt"
    span: Span | None

    def accept(self, f: TirFunctor[E, S]) -> S:
        """Call the method of a functor that is made for this kind of node."""
        raise TypeError(f"{type(self).__name__} is abstract and cannot be visited")


def as_stmt(value: Stmt) -> Stmt:
    """`value` itself, which is a statement; a TypeError for anything else."""
    if isinstance(value, Stmt):
        return value
    raise TypeError(
        f"a statement is wanted here, found {type(value).__name__}: {value!r}; "
        "legal: tir.Evaluate(...), tir.SeqStmt([...]) and their like"
    )


class ForKind(IntEnum):
    """Who runs the iterations of a loop."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


@final
class LetStmt(Stmt):
    """The body with a name for a value."""

    __slots__ = ("body", "value", "var")
    TYPE_KEY = "tir.LetStmt"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("var*", "value", "body", "span~")

    def __init__(self, var: Var, value: ExprLike, body: Stmt, span: Span | None = None) -> None:
        self.var: Final = of_type(var, Var, "LetStmt: var")
        self.value: Final = as_expr(value)
        self.body: Final = as_stmt(body)
        self.span = span
        if self.value.dtype is not var.dtype:
            raise DTypeError(
                f"LetStmt: variable {var.name} is {var.dtype}, its value is {self.value.dtype}"
            )

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_let_stmt_(self)


@final
class AttrStmt(Stmt):
    """The body with a fact about `node` under a key."""

    __slots__ = ("attr_key", "body", "node", "value")
    TYPE_KEY = "tir.AttrStmt"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("node", "attr_key", "value", "body", "span~")

    def __init__(
        self,
        node: object,
        attr_key: str,
        value: ExprLike,
        body: Stmt,
        span: Span | None = None,
    ) -> None:
        self.node: Final = as_expr(node) if isinstance(node, (int, float)) else node
        self.attr_key: Final = of_type(attr_key, str, "AttrStmt: attr_key")
        self.value: Final = as_expr(value)
        self.body: Final = as_stmt(body)
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_attr_stmt_(self)


@final
class AssertStmt(Stmt):
    """Fail with `message` unless `condition` holds, then run the body."""

    __slots__ = ("body", "condition", "message")
    TYPE_KEY = "tir.AssertStmt"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("condition", "message", "body", "span~")

    def __init__(
        self, condition: ExprLike, message: ExprLike, body: Stmt, span: Span | None = None
    ) -> None:
        self.condition: Final = as_expr(condition)
        self.message: Final = as_expr(message)
        self.body: Final = as_stmt(body)
        self.span = span
        if not self.condition.dtype.is_bool:
            raise DTypeError(f"AssertStmt: the condition is {self.condition.dtype}; legal: bool")
        said = self.message.dtype
        if not (said.is_handle or said == "int32"):
            raise DTypeError(f"AssertStmt: the message is {said}; legal: a text, or int32")

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_assert_stmt_(self)


@final
class BufferStore(Stmt):
    """buffer[indices] = value."""

    __slots__ = ("buffer", "indices", "predicate", "value")
    TYPE_KEY = "tir.BufferStore"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("buffer", "value", "indices", "predicate", "span~")

    def __init__(
        self,
        buffer: Any,
        value: ExprLike,
        indices: Sequence[ExprLike],
        predicate: ExprLike | None = None,
        span: Span | None = None,
    ) -> None:
        known = hasattr(buffer, "axis_separators")
        self.buffer: Final[Buffer] = buffer if known else as_buffer(buffer, "BufferStore")
        self.value: Final = as_expr(value)
        if type(indices) is not tuple:
            indices = listed(indices, "BufferStore: indices")
        self.indices: Final = tuple([i if isinstance(i, PrimExpr) else as_expr(i) for i in indices])
        self.predicate: Final = None if predicate is None else as_expr(predicate)
        self.span = span
        accessed = access_dtype(self.buffer, self.indices)
        if accessed is not self.value.dtype and not _bool_as_int8(accessed, self.value.dtype):
            raise DTypeError(
                f"BufferStore: {self.buffer.name} holds {accessed} at this index, the value is "
                f"{self.value.dtype}; legal: cast the value first"
            )

        if self.predicate is not None:
            mask, stored = self.predicate.dtype, self.value.dtype
            check_predicate(mask, stored, "value dtype", "store a value")

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_buffer_store_(self)


def _bool_as_int8(held: DataType, value: DataType) -> bool:
    """Backends keep a bool buffer as int8; stores between the two are one byte either way."""
    byte = {("bool", "int8"), ("int8", "bool"), ("uint8", "bool"), ("bool", "uint8")}
    return held.lanes == value.lanes and (str(held.element_of()), str(value.element_of())) in byte


@final
class BufferRealize(Stmt):
    """The body with room for a region of `buffer`."""

    __slots__ = ("body", "bounds", "buffer", "condition")
    TYPE_KEY = "tir.BufferRealize"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("buffer", "bounds", "condition", "body", "span~")

    def __init__(
        self,
        buffer: Buffer,
        bounds: Sequence[Range],
        condition: ExprLike,
        body: Stmt,
        span: Span | None = None,
    ) -> None:
        self.buffer: Final[Buffer] = as_buffer(buffer, "BufferRealize")
        self.bounds: Final = tuple(all_of_type(bounds, Range, "BufferRealize: bounds"))
        self.condition: Final = as_expr(condition)
        self.body: Final = as_stmt(body)
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_buffer_realize_(self)


@final
class Allocate(Stmt):
    """The body with fresh memory of `extents` elements behind `buffer_var`."""

    __slots__ = ("annotations", "body", "buffer_var", "condition", "dtype", "extents")
    TYPE_KEY = "tir.Allocate"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "buffer_var*", "dtype", "extents", "condition", "body", "annotations", "span~"
    )

    def __init__(
        self,
        buffer_var: Var,
        dtype: DataType | str,
        extents: Sequence[ExprLike],
        condition: ExprLike,
        body: Stmt,
        annotations: Annotations | None = None,
        span: Span | None = None,
    ) -> None:
        _require_pointer(buffer_var, "Allocate")
        self.buffer_var: Final = buffer_var
        self.dtype: Final = DataType(dtype)
        self.extents: Final = tuple([as_expr(e) for e in extents])
        self.condition: Final = as_expr(condition)
        self.body: Final = as_stmt(body)
        self.annotations: Final[FrozenMap[str, object]] = FrozenMap(annotations or {})
        self.span = span
        if not self.condition.dtype.is_bool:
            raise DTypeError(f"Allocate: the condition is {self.condition.dtype}; legal: bool")
        for extent in self.extents:
            if not extent.dtype.is_integer or not extent.dtype.is_scalar:
                raise DTypeError(f"Allocate: extent {extent} is {extent.dtype}; legal: int")

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_allocate_(self)


def _require_pointer(var: Var, asked: str) -> None:
    if not isinstance(var, Var):
        raise TypeError(f"{asked}: buffer_var is a {type(var).__name__}; legal: Var")
    if not isinstance(var.type_annotation, PointerType):
        raise DTypeError(f"{asked}: {var.name} is {var.dtype}; legal: a variable of pointer type")


@final
class AllocateConst(Stmt):
    """The body with constant data behind `buffer_var`.

    The data is here, or at an index among the constants of the module, or both.
    """

    __slots__ = (
        "annotations", "body", "buffer_var", "data", "dtype", "extents", "irmod_storage_idx",
    )  # fmt: skip
    TYPE_KEY = "tir.AllocateConst"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "buffer_var*", "data", "irmod_storage_idx", "dtype", "extents", "body", "annotations",
        "span~",
    )  # fmt: skip
    CTOR: ClassVar[tuple[str, ...]] = (
        "buffer_var", "dtype", "extents", "data", "body", "annotations", "span",
    )  # fmt: skip

    def __init__(
        self,
        buffer_var: Var,
        dtype: DataType | str,
        extents: Sequence[ExprLike],
        data_or_idx: object,
        body: Stmt,
        annotations: Annotations | None = None,
        span: Span | None = None,
    ) -> None:
        _require_pointer(buffer_var, "AllocateConst")
        pair = data_or_idx if isinstance(data_or_idx, tuple) and len(data_or_idx) == 2 else None
        if isinstance(data_or_idx, (int, IntImm)):
            pair = (None, data_or_idx)
        data, index = pair if pair is not None else (data_or_idx, None)
        self.buffer_var: Final = buffer_var
        self.dtype: Final = DataType(dtype)
        self.extents: Final = tuple([as_expr(e) for e in extents])
        self.data: Final[HostTensor | None] = None if data is None else as_host_tensor(data)
        self.irmod_storage_idx: Final = None if index is None else int(index)
        self.body: Final = as_stmt(body)
        self.annotations: Final[FrozenMap[str, object]] = FrozenMap(annotations or {})
        self.span = span

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> AllocateConst:
        """Data, or the index of the data among the module's constants."""
        given = {**values, "data": (values.get("data"), values.get("irmod_storage_idx"))}
        return cls(*[given[name] for name in cls.CTOR if name in given])  # type: ignore[arg-type]

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_allocate_const_(self)


@final
class DeclBuffer(Stmt):
    """The body with a buffer over memory that exists already."""

    __slots__ = ("body", "buffer")
    TYPE_KEY = "tir.DeclBuffer"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("buffer", "body", "span~")

    def __init__(self, buffer: Buffer, body: Stmt, span: Span | None = None) -> None:
        self.buffer: Final[Buffer] = as_buffer(buffer, "DeclBuffer")
        self.body: Final = as_stmt(body)
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_decl_buffer_(self)


@final
class SeqStmt(Stmt):
    """Statements in order."""

    __slots__ = ("seq",)
    TYPE_KEY = "tir.SeqStmt"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("seq", "span~")

    def __init__(self, seq: Sequence[Stmt], span: Span | None = None) -> None:
        if not isinstance(seq, Iterable):
            raise TypeError(f"SeqStmt: seq is a {type(seq).__name__}; legal: a list of statements")
        parts = [as_stmt(part) for part in seq]
        if any(isinstance(part, SeqStmt) for part in parts):
            whole = SeqStmt.flatten(parts)
            parts = list(whole.seq) if isinstance(whole, SeqStmt) else [whole]
        if len(parts) < 2:
            raise CheckError(
                "An empty SeqStmt is prohibited; legal: Evaluate(0), or what SeqStmt.flatten gives"
                if not parts
                else f"A SeqStmt of length 1 is prohibited; legal: {parts[0]!r} itself, or what "
                "SeqStmt.flatten gives"
            )
        self.seq: Final[tuple[Stmt, ...]] = tuple(parts)
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_seq_stmt_(self)

    def __getitem__(self, i: int) -> Stmt:
        return self.seq[i]

    def __len__(self) -> int:
        return len(self.seq)

    @staticmethod
    def flatten(*parts: Stmt | Sequence[Stmt] | None) -> Stmt:
        """One statement for several: nested sequences are merged, evaluations of 0 dropped."""
        flat: list[Stmt] = []
        stack: list[object] = list(reversed(parts))
        while stack:
            part = stack.pop()
            if isinstance(part, SeqStmt):
                stack.extend(reversed(part.seq))
            elif isinstance(part, (list, tuple)):
                stack.extend(reversed(part))
            elif isinstance(part, Stmt) and not is_evaluate_zero(part):
                flat.append(part)
        if len(flat) == 1:
            return flat[0]
        return SeqStmt(flat) if flat else Evaluate(0)


def is_evaluate_zero(stmt: Stmt) -> bool:
    """True for the statement that stands where none is needed."""
    value = stmt.value if isinstance(stmt, Evaluate) else None
    return isinstance(value, IntImm) and value.value == 0


def is_no_op(stmt: Stmt) -> bool:
    """True for the evaluation of a literal, which does nothing."""
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


@final
class Evaluate(Stmt):
    """Evaluate an expression for its effects."""

    __slots__ = ("value",)
    TYPE_KEY = "tir.Evaluate"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "span~")

    def __init__(self, value: ExprLike, span: Span | None = None) -> None:
        self.value: Final = as_expr(value)
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_evaluate_(self)


@final
class IfThenElse(Stmt):
    """One of two statements."""

    __slots__ = ("condition", "else_case", "then_case")
    TYPE_KEY = "tir.IfThenElse"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("condition", "then_case", "else_case", "span~")

    def __init__(
        self,
        condition: ExprLike,
        then_case: Stmt,
        else_case: Stmt | None = None,
        span: Span | None = None,
    ) -> None:
        self.condition: Final = as_expr(condition)
        self.then_case: Final = as_stmt(then_case)
        self.else_case: Final = None if else_case is None else as_stmt(else_case)
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_if_then_else_(self)


@final
class For(Stmt):
    """Run `body` for loop_var in [min, min + extent); `kind` says who runs the iterations."""

    __slots__ = (
        "annotations", "body", "extent", "kind", "loop_var", "min", "thread_binding",
    )  # fmt: skip
    TYPE_KEY = "tir.For"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "loop_var*", "min", "extent", "kind", "body", "thread_binding", "annotations", "span~"
    )

    def __init__(
        self,
        loop_var: Var,
        min: ExprLike,
        extent: ExprLike,
        kind: ForKind | int,
        body: Stmt,
        thread_binding: IterVar | None = None,
        annotations: Annotations | None = None,
        span: Span | None = None,
    ) -> None:
        self.loop_var: Final = of_type(loop_var, Var, "For: loop_var")
        if not loop_var.dtype.is_integer or not loop_var.dtype.is_scalar:
            raise DTypeError(f"For: loop variable {loop_var.name} is {loop_var.dtype}; legal: int")
        self.min: Final = _index_like(min, loop_var.dtype)
        self.extent: Final = _index_like(extent, loop_var.dtype)
        self.kind: Final = ForKind(kind)
        self.body: Final = as_stmt(body)
        self.thread_binding: Final = (
            None
            if thread_binding is None
            else of_type(thread_binding, IterVar, "For: thread_binding")
        )
        self.annotations: Final[FrozenMap[str, object]] = FrozenMap(annotations or {})
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_for_(self)


def _index_like(value: ExprLike, dtype: DataType) -> PrimExpr:
    """A bound in the type of its loop variable; literals are widened, others must agree."""
    expr = as_expr(value)
    if expr.dtype is dtype:
        return expr
    plain = isinstance(value, int)  # a Python number has no type of its own
    if isinstance(expr, IntImm) and (plain or expr.dtype.bits < dtype.bits):
        return IntImm(dtype, expr.value, expr.span)
    raise DTypeError(
        f"For: the loop variable is {dtype}, a bound is {expr.dtype}; legal: bounds of the "
        "variable's type, literals of a narrower one"
    )


@final
class While(Stmt):
    """Run the body as long as the condition holds."""

    __slots__ = ("body", "condition")
    TYPE_KEY = "tir.While"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("condition", "body", "span~")

    def __init__(self, condition: ExprLike, body: Stmt, span: Span | None = None) -> None:
        self.condition: Final = as_expr(condition)
        self.body: Final = as_stmt(body)
        self.span = span
        if self.condition.dtype.is_vector:
            raise DTypeError(f"While: the condition is {self.condition.dtype}; legal: one value")

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_while_(self)


@final
class BufferRegion(PrimExprConvertible):
    """A box of a buffer: one range a dimension."""

    __slots__ = ("buffer", "region")
    TYPE_KEY = "tir.BufferRegion"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("buffer", "region")

    def __init__(self, buffer: Buffer, region: Sequence[Range]) -> None:
        self.buffer: Final[Buffer] = as_buffer(buffer, "BufferRegion")
        self.region: Final[tuple[Range, ...]] = all_of_type(region, Range, "BufferRegion: ranges")
        if len(self.region) != len(buffer.shape):
            raise CheckError(
                f"BufferRegion: {buffer.name} has {len(buffer.shape)} dimensions, the region "
                f"{len(self.region)}"
            )

    @staticmethod
    def full_region(buffer: Buffer) -> BufferRegion:
        """The whole buffer."""
        return BufferRegion(buffer, [Range.from_min_extent(0, e) for e in buffer.shape])

    @staticmethod
    def from_point(buffer: Buffer, indices: Sequence[ExprLike]) -> BufferRegion:
        """One element."""
        return BufferRegion(buffer, [Range.from_min_extent(as_expr(i), 1) for i in indices])

    @property
    def dtype(self) -> DataType:
        """The data type of the elements."""
        return self.buffer.dtype

    def as_prim_expr(self) -> PrimExpr:
        """A load of the region: single elements, and a vector along the last dimension."""
        indices: list[PrimExpr] = []
        for dim, part in enumerate(self.region):
            extent = part.extent
            if isinstance(extent, IntImm) and extent.value == 1:
                indices.append(part.min)
            elif isinstance(extent, IntImm) and dim == len(self.region) - 1:
                indices.append(Ramp(part.min, IntImm(part.min.dtype, 1), extent.value))
            else:
                raise TypeError(
                    f"a region of {self.buffer.name} with extents "
                    f"{[str(r.extent) for r in self.region]} stands for no single load"
                )
        return BufferLoad(self.buffer, indices)


@final
class MatchBufferRegion(Node):
    """A buffer that stands for a region of another one within a block.

    Scope and type are the other's; leading dimensions of one element may be left out.
    """

    __slots__ = ("buffer", "source")
    TYPE_KEY = "tir.MatchBufferRegion"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("buffer", "source")

    def __init__(self, buffer: Buffer, source: BufferRegion) -> None:
        self.buffer: Final[Buffer] = as_buffer(buffer, "MatchBufferRegion")
        self.source: Final = of_type(source, BufferRegion, "MatchBufferRegion: source")
        of = source.buffer
        if buffer.scope() != of.scope():
            raise CheckError(
                f"MatchBuffer {buffer.name} scope mismatch: {buffer.scope()} vs. {of.scope()}"
            )
        if buffer.dtype is not of.dtype:
            raise CheckError(
                f"MatchBuffer {buffer.name} data type mismatch: {buffer.dtype} vs. {of.dtype}"
            )
        if of.data_alignment % buffer.data_alignment:
            raise CheckError(
                "Trying to match buffer to another one with lower alignment requirement: required "
                f"alignment={buffer.data_alignment}, provided alignment={of.data_alignment}"
            )
        if buffer.buffer_type or of.buffer_type:
            raise CheckError("AutoBroadcast is not allowed in MatchBuffer")
        if len(source.region) < len(buffer.shape):
            raise ShapeError(
                "Dimension of source Region expected to be larger or equal than target buffer "
                f"shape, but got {len(source.region)} vs. {len(buffer.shape)}"
            )
        self._check_literal_extents()

    def _check_literal_extents(self) -> None:
        """Extents that are literals are compared here; what has to be proved, by the parser."""
        ahead = len(self.source.region) - len(self.buffer.shape)
        for part in self.source.region[:ahead]:
            if isinstance(part.extent, IntImm) and part.extent.value != 1:
                raise ShapeError(f"The higher dimension should be 1, but got {part.extent}.")
        for part, extent in zip(self.source.region[ahead:], self.buffer.shape):
            given = part.extent
            if not isinstance(given, IntImm) or not isinstance(extent, IntImm):
                continue
            if given.value != extent.value:
                raise ShapeError(
                    "The dimension mismatched between source region and target buffer shape, got "
                    f"{given} vs. {extent}."
                )


@final
class Block(Stmt):
    """A unit of computation with its own iteration variables, reads and writes."""

    __slots__ = (
        "alloc_buffers", "annotations", "body", "init", "iter_vars", "match_buffers", "name_hint",
        "reads", "writes",
    )  # fmt: skip
    TYPE_KEY = "tir.Block"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "iter_vars*", "alloc_buffers", "match_buffers", "reads", "writes", "name_hint~",
        "annotations", "init", "body", "span~",
    )  # fmt: skip
    CTOR: ClassVar[tuple[str, ...]] = (
        "iter_vars", "reads", "writes", "name_hint", "body", "init", "alloc_buffers",
        "match_buffers", "annotations", "span",
    )  # fmt: skip

    def __init__(
        self,
        iter_vars: Sequence[IterVar],
        reads: Sequence[BufferRegion],
        writes: Sequence[BufferRegion],
        name_hint: str,
        body: Stmt,
        init: Stmt | None = None,
        alloc_buffers: Sequence[Buffer] | None = None,
        match_buffers: Sequence[MatchBufferRegion] | None = None,
        annotations: Annotations | None = None,
        span: Span | None = None,
    ) -> None:
        self.iter_vars: Final[tuple[IterVar, ...]] = all_of_type(
            iter_vars, IterVar, "Block: iter_vars"
        )
        self.reads: Final[tuple[BufferRegion, ...]] = all_of_type(
            reads, BufferRegion, "Block: reads"
        )
        self.writes: Final[tuple[BufferRegion, ...]] = all_of_type(
            writes, BufferRegion, "Block: writes"
        )
        self.name_hint = of_type(name_hint, str, "Block: name_hint")
        self.body: Final = as_stmt(body)
        self.init: Final = None if init is None else as_stmt(init)
        self.alloc_buffers: Final[tuple[Buffer, ...]] = FrozenArray(
            [as_buffer(buffer, "Block: alloc_buffers") for buffer in alloc_buffers or ()]
        )
        self.match_buffers: Final[tuple[MatchBufferRegion, ...]] = all_of_type(
            match_buffers or (), MatchBufferRegion, "Block: match_buffers"
        )
        self.annotations: Final[FrozenMap[str, object]] = FrozenMap(annotations or {})
        self.span = span

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_block_(self)


@final
class BlockRealize(Stmt):
    """Run a block with values for its iteration variables, where the predicate holds."""

    __slots__ = ("block", "iter_values", "predicate")
    TYPE_KEY = "tir.BlockRealize"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("iter_values", "predicate", "block", "span~")

    def __init__(
        self,
        iter_values: Sequence[ExprLike],
        predicate: ExprLike,
        block: Block,
        span: Span | None = None,
    ) -> None:
        self.iter_values: Final[tuple[PrimExpr, ...]] = FrozenArray(
            [as_expr(v) for v in listed(iter_values, "BlockRealize: iter_values")]
        )
        self.predicate: Final = as_expr(predicate)
        self.block: Final = of_type(block, Block, "BlockRealize: block")
        self.span = span
        if len(self.iter_values) != len(block.iter_vars):
            raise ShapeError(
                f"BlockRealize: block {block.name_hint!r} has {len(block.iter_vars)} iteration "
                f"variables, {len(self.iter_values)} values are given"
            )
        if not self.predicate.dtype.is_bool:
            raise DTypeError(f"BlockRealize: the predicate is {self.predicate.dtype}; legal: bool")

    def accept(self, f: TirFunctor[E, S]) -> S:
        return f.visit_block_realize_(self)


def stmt_seq(*args: Stmt | PrimExpr) -> Stmt:
    """The statements in order; expressions are evaluated."""
    stmts = [a if isinstance(a, Stmt) else Evaluate(a) for a in args]
    return stmts[0] if len(stmts) == 1 else SeqStmt(stmts)


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """The statements of a sequence, or the one statement."""
    if not isinstance(stmt, SeqStmt):
        return [stmt]
    return [inner for part in stmt.seq for inner in stmt_list(part)]


register_nodes(
    LetStmt, AttrStmt, AssertStmt, BufferStore, BufferRealize, Allocate, AllocateConst, DeclBuffer,
    SeqStmt, Evaluate, IfThenElse, For, While, BufferRegion, MatchBufferRegion, Block, BlockRealize,
)  # fmt: skip
