"""The builder functions of `T` for functions, blocks, loops and scopes.

Each opens a frame or adds to the innermost one; the parser and direct users call the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tvm.arith.analyzer import Analyzer
from tvm.arith.scalable import uses_vscale
from tvm.error import DTypeError, ScriptError
from tvm.ir.expr import PrimExpr, PrimExprConvertible, Range
from tvm.ir.span import Span
from tvm.ir.structural import structural_equal
from tvm.ir.type import PointerType, PrimType, Type
from tvm.script.ir_builder.base import IRBuilder
from tvm.support.dtype import DataType
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, open_strides
from tvm.tir.expr import (
    BOOL,
    INT32,
    BufferLoad,
    IntImm,
    IterVar,
    Ramp,
    SizeVar,
    StringImm,
    Var,
    as_expr,
)
from tvm.tir.expr import Let as LetExpr
from tvm.tir.op.arith import cast

from . import frames as f
from .difference import difference
from .match_region import matched

Shape = Sequence[Any] | PrimExpr | int
Annotations = Mapping[str, Any] | None
# Statements of scopes are made where their scope ends. What they refuse is to be told where it
# was said, so some are made with this body beforehand.
_NOTHING: Final = s.Evaluate(0)


def _span() -> Span | None:
    return IRBuilder.current().span if IRBuilder.is_in_scope() else None


# --- buffers ---


def _extents(shape: Shape) -> list[PrimExpr]:
    """The extents of a shape as scripts give it: several, or one alone."""
    dims = list(shape) if isinstance(shape, Sequence) else [shape]
    if isinstance(shape, str) or any(isinstance(extent, str) for extent in dims):
        raise TypeError(f"the shape is {shape!r}; legal: extents, which are integers")
    return [as_expr(extent) for extent in dims]


_BUFFER_TYPES: Final = ("", "default", "auto", "auto_broadcast")


def make_buffer(
    name: str,
    shape: Shape,
    dtype: str = "float32",
    data: Var | None = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """A buffer as scripts give it: strides may be names, an offset factor makes an offset."""
    extents = _extents(shape)
    index_dtype = extents[0].dtype if extents else INT32
    element = DataType(dtype)
    if data is None:
        pointee = DataType("int8").with_lanes(element.lanes) if element.is_bool else element
        data = Var(name, PointerType(PrimType(pointee), scope), _span())
    steps = [
        Var(step, index_dtype) if isinstance(step, str) else step for step in strides or ()
    ]
    if isinstance(elem_offset, str):
        elem_offset = Var(elem_offset, index_dtype)
    if elem_offset is None and offset_factor:
        elem_offset = Var("elem_offset", index_dtype)
    if buffer_type not in _BUFFER_TYPES:
        raise ScriptError(
            f"buffer_type is {buffer_type!r}; legal: 'default', 'auto' (extents of 1 broadcast), ''"
        )
    kind = "auto_broadcast" if buffer_type == "auto" else buffer_type
    steps = steps or [*open_strides(extents, kind, "stride")]
    return Buffer(
        data, element, extents, steps, elem_offset, name, align, offset_factor, kind,
        axis_separators or (), _span(),
    )  # fmt: skip


def buffer(
    shape: Shape,
    dtype: str = "float32",
    data: Var | None = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """A buffer that is declared and nothing else."""
    return make_buffer(
        "buffer", shape, dtype, data, strides, elem_offset, scope, align, offset_factor,
        buffer_type, axis_separators,
    )  # fmt: skip


def buffer_decl(*args: Any, **kwargs: Any) -> Buffer:
    """The former name of `T.Buffer`."""
    return buffer(*args, **kwargs)


def match_buffer(
    param: Var | BufferLoad | s.BufferRegion,
    shape: Shape | None = None,
    dtype: str = "float32",
    data: Var | None = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """The buffer behind a handle parameter, or one that stands for a region of another buffer."""
    if shape is None:
        if not isinstance(param, s.BufferRegion):
            raise ScriptError("Shape must be specified when binding input param")
        dtype = param.buffer.dtype
        shape = [part.extent for part in param.region]
    made = make_buffer(
        "", shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators,
    )  # fmt: skip
    if isinstance(param, Var):
        func = f.require_func("T.match_buffer")
        if not any(param is arg for arg in func.args):
            raise ScriptError("Can not bind non-input param to buffer.")
        func.buffer_map[param] = made
        return made
    frame: f.BlockFrame = f.require(f.BlockFrame, True, "T.match_buffer", "T.block()")
    frame.match_buffers.append(matched(made, as_region(param)))
    return made


def as_region(part: Any) -> s.BufferRegion:
    """A region as scripts give it: a region, one element, or a whole buffer."""
    if isinstance(part, s.BufferRegion):
        return part
    if isinstance(part, Buffer):
        return s.BufferRegion.full_region(part)
    if isinstance(part, BufferLoad):
        ranges = []
        for index in part.indices:
            if isinstance(index, Ramp):
                if not isinstance(index.stride, IntImm) or index.stride.value != 1:
                    raise ScriptError(f"a region has no steps, found {index.stride} in {part}")
                ranges.append(Range.from_min_extent(index.base, index.lanes))
            else:
                ranges.append(Range.from_min_extent(index, IntImm(index.dtype, 1)))
        return s.BufferRegion(part.buffer, ranges)
    raise TypeError(f"{type(part).__name__} is no buffer region; legal: A[i, 0:16], A[i, j], A")


def alloc_buffer(
    shape: Shape,
    dtype: str = "float32",
    data: Var | None = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """A buffer with memory of its own, in the innermost block, or in the function around it."""
    made = make_buffer(
        "", shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators,
    )  # fmt: skip
    builder = IRBuilder.current()
    block = builder.find(f.BlockFrame)
    func = builder.find(f.PrimFuncFrame)
    if block is not None:
        block.alloc_buffers.append(made)
    elif func is not None:
        func.root_alloc_buffers.append(made)
    else:
        raise ScriptError(
            "Block frame or PrimFunc frame not found. Please ensure 'T.alloc_buffer' is called "
            "under T.block() or T.prim_func()"
        )
    return made


# --- functions ---


def prim_func(is_private: bool = False) -> f.PrimFuncFrame:
    """A function."""
    return f.PrimFuncFrame(is_private)


def arg(name: str, obj: Var | Buffer) -> Var | Buffer:
    """A parameter: a variable, or a buffer behind a handle of its own."""
    frame: f.PrimFuncFrame = f.require(f.PrimFuncFrame, False, "T.Arg", "T.prim_func()")
    if isinstance(obj, Buffer):
        handle = Var(f"{name}_handle", "handle", obj.span)
        frame.args.append(handle)
        frame.buffer_map[handle] = obj
    elif isinstance(obj, Var):
        frame.args.append(obj)
    else:
        raise ScriptError(
            f"Unexpected type {type(obj).__name__} of parameter {name!r}; legal: a variable such "
            "as T.int32 or T.handle, or a T.Buffer"
        )
    IRBuilder.name(name, obj)
    return obj


def func_name(name: str) -> None:
    """Name the function."""
    frame: f.PrimFuncFrame = f.require_func("T.func_name")
    if frame.name is not None:
        raise ScriptError(f"Duplicate prim func name, previous one is {frame.name}")
    frame.name = name


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Give the function attributes."""
    frame: f.PrimFuncFrame = f.require_func("T.func_attr")
    if frame.is_private and "global_symbol" in attrs:
        raise ScriptError(
            'A private function may not have the kGlobalSymbol ("global_symbol") attribute'
        )
    for key, value in attrs.items():
        if key in frame.attrs:
            raise ScriptError(f"Duplicate prim func annotation for key = {key!r}")
        frame.attrs[key] = value


def func_ret(ret_type: Type) -> Type:
    """Say what the function returns."""
    frame: f.PrimFuncFrame = f.require_func("T.func_ret")
    if frame.ret_type is not None:
        raise ScriptError("Duplicate prim func return type")
    frame.ret_type = ret_type
    return ret_type


# --- blocks ---


def block(name: str = "", no_realize: bool = False) -> f.BlockFrame:
    """A block."""
    return f.BlockFrame(name, no_realize)


def init() -> f.BlockInitFrame:
    """What a reduction block does before its first iteration."""
    return f.BlockInitFrame()


def _block_frame(asked: str) -> f.BlockFrame:
    frame: f.BlockFrame = f.require(f.BlockFrame, True, asked, "T.block()")
    return frame


def where(predicate: PrimExpr | int) -> None:
    """The block runs only where the predicate holds."""
    frame = _block_frame("T.where")
    if frame.predicate is not None:
        raise ScriptError("Duplicate block predicate declaration")
    condition = bool(predicate) if isinstance(predicate, int) else predicate
    expr = f.condition_of(condition)
    if not expr.dtype.is_bool:
        raise DTypeError(f"T.where: the predicate is {expr.dtype}; legal: bool")
    frame.predicate = expr


def _regions(parts: tuple[Any, ...]) -> list[s.BufferRegion]:
    given = parts[0] if len(parts) == 1 and isinstance(parts[0], (list, tuple)) else parts
    return [as_region(part) for part in given]


def reads(*buffer_slices: Any) -> None:
    """What the block reads."""
    frame = _block_frame("T.reads")
    if frame.reads is not None:
        raise ScriptError("Duplicate read region declaration")
    frame.reads = _regions(buffer_slices)


def writes(*buffer_slices: Any) -> None:
    """What the block writes."""
    frame = _block_frame("T.writes")
    if frame.writes is not None:
        raise ScriptError("Duplicate write region declaration")
    frame.writes = _regions(buffer_slices)


def block_attr(attrs: Mapping[str, Any]) -> None:
    """Give the block annotations."""
    frame = _block_frame("T.block_attr")
    frame.annotations = _merged(frame.annotations or {}, attrs, ())


def _merged(
    known: Mapping[str, Any], added: Mapping[str, Any], outer: tuple[str, ...]
) -> dict[str, Any]:
    """The annotations of two calls; maps under one key are merged, in turn."""
    merged = dict(known)
    for key, value in added.items():
        before = known.get(key)
        if key not in known:
            merged[key] = value
        elif isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(before, value, (*outer, key))
        elif not structural_equal(before, value):
            path = ".".join((*outer, key))
            raise ScriptError(
                f"Duplicate block annotation for key = {path!r}: {before} before, {value} now"
            )
    return merged


def _as_range(dom: Any) -> Range:
    if isinstance(dom, Range):
        return dom
    if isinstance(dom, (list, tuple)):
        low, high = (as_expr(end) for end in dom)
        if isinstance(low, IntImm) and low.dtype is not high.dtype:
            low = IntImm(high.dtype, low.value)
        elif isinstance(high, IntImm) and low.dtype is not high.dtype:
            high = IntImm(low.dtype, high.value)
        return Range.from_min_extent(low, difference(high, low))
    extent = as_expr(dom)
    return Range.from_min_extent(IntImm(extent.dtype, 0), extent)


def _widest(*dtypes: DataType) -> DataType:
    return max(dtypes, key=lambda dtype: dtype.bits)


def _axis(asked: str, iter_type: int, dom: Any, binding: Any, dtype: str) -> Var:
    frame = _block_frame(asked)
    rng = _as_range(dom)
    var = Var("", _widest(rng.min.dtype, rng.extent.dtype, DataType(dtype)), _span())
    frame.iter_vars.append(IterVar(rng, var, iter_type, "", _span()))
    if binding is not None:
        frame.iter_values.append(as_expr(binding))
    elif not frame.no_realize:
        raise ScriptError(f"{asked}: a block that is realized needs a binding for each axis")
    return var


class axis:
    """The axes of a block."""

    @staticmethod
    def spatial(dom: Any, binding: Any = None, dtype: str = "int32") -> Var:
        """An axis whose iterations are independent."""
        return _axis("T.axis.spatial", IterVar.DataPar, dom, binding, dtype)

    @staticmethod
    def reduce(dom: Any, binding: Any = None, dtype: str = "int32") -> Var:
        """An axis that is reduced over."""
        return _axis("T.axis.reduce", IterVar.CommReduce, dom, binding, dtype)

    @staticmethod
    def scan(dom: Any, binding: Any = None, dtype: str = "int32") -> Var:
        """An axis whose iterations run in order."""
        return _axis("T.axis.scan", IterVar.Ordered, dom, binding, dtype)

    @staticmethod
    def opaque(dom: Any, binding: Any = None, dtype: str = "int32") -> Var:
        """An axis of which nothing is known."""
        return _axis("T.axis.opaque", IterVar.DimInfo, dom, binding, dtype)

    @staticmethod
    def remap(kinds: str, bindings: Sequence[PrimExpr], dtype: str = "int32") -> Any:
        """Axes that are loop variables over the loops' whole ranges: "S" spatial, "R" reduce."""
        if len(kinds) != len(bindings):
            raise ScriptError(
                f"T.axis.remap: {len(kinds)} kinds {kinds!r} for {len(bindings)} bindings"
            )
        made = [_remapped(kind, binding, dtype) for kind, binding in zip(kinds, bindings)]
        return made[0] if len(made) == 1 else made

    S = spatial
    R = reduce


_REMAP_KINDS = {"S": IterVar.DataPar, "R": IterVar.CommReduce}


def _remapped(kind: str, binding: Any, dtype: str) -> Var:
    if kind not in _REMAP_KINDS:
        raise ScriptError(f"T.axis.remap: unknown axis kind {kind!r}; legal: 'S', 'R'")
    if not isinstance(binding, Var):
        raise TypeError(
            f"Only Var is supported in T.axis.remap, found {type(binding).__name__}; "
            "legal: a variable of an enclosing loop"
        )
    for frame in reversed(IRBuilder.current().frames):
        if isinstance(frame, f.ForFrame):
            for var, dom in zip(frame.vars, frame.doms):
                if var is binding:
                    width = _widest(DataType(dtype), var.dtype)
                    return _axis("T.axis.remap", _REMAP_KINDS[kind], dom, binding, width)
    raise ScriptError(f"T.axis.remap: {binding.name!r} is no variable of an enclosing loop")


# --- loops ---


def _loop(
    kind: s.ForKind, start: Any, stop: Any, annotations: Annotations, thread: str | None = None
) -> f.ForFrame:
    if stop is None:
        high = as_expr(start)
        low: PrimExpr = IntImm(high.dtype, 0)
    else:
        low, high = as_expr(start), as_expr(stop)
    dtype = _widest(low.dtype, high.dtype)
    low, high = cast(low, dtype), cast(high, dtype)
    extent = difference(high, low)
    if uses_vscale(extent):
        extent = Analyzer().simplify(extent)  # the constant factor stands last
    dom = Range.from_min_extent(low, extent)
    var = Var("v", dtype, _span())
    binding = None
    if thread is not None:
        binding = IterVar(None, Var("", dtype), IterVar.ThreadIndex, thread)

    def make(
        variables: Sequence[Var], doms: Sequence[Range], body: s.Stmt, span: Span | None
    ) -> s.Stmt:
        (loop_var,), (rng,) = variables, doms
        return s.For(loop_var, rng.min, rng.extent, kind, body, binding, annotations, span)

    return f.ForFrame([var], [dom], make)


def serial(start: Any, stop: Any = None, *, annotations: Annotations = None) -> f.ForFrame:
    """A loop that runs in order."""
    return _loop(s.ForKind.SERIAL, start, stop, annotations)


def parallel(start: Any, stop: Any = None, *, annotations: Annotations = None) -> f.ForFrame:
    """A loop whose iterations run on several threads."""
    return _loop(s.ForKind.PARALLEL, start, stop, annotations)


def vectorized(start: Any, stop: Any = None, *, annotations: Annotations = None) -> f.ForFrame:
    """A loop that becomes vector instructions."""
    return _loop(s.ForKind.VECTORIZED, start, stop, annotations)


def unroll(start: Any, stop: Any = None, *, annotations: Annotations = None) -> f.ForFrame:
    """A loop whose body is repeated in the code."""
    return _loop(s.ForKind.UNROLLED, start, stop, annotations)


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: Annotations = None
) -> f.ForFrame:
    """A loop that is an axis of the thread grid."""
    if thread is None:
        if not isinstance(stop, str):
            raise ScriptError("Thread cannot be None for thread_binding")
        thread, stop = stop, None
    return _loop(s.ForKind.THREAD_BINDING, start, stop, annotations, thread)


def grid(*extents: Any) -> f.ForFrame:
    """Nested loops from zero."""
    sizes = [as_expr(extent) for extent in extents]
    variables = [Var("v", size.dtype, _span()) for size in sizes]
    doms = [Range.from_min_extent(IntImm(size.dtype, 0), size) for size in sizes]

    def make(
        loop_vars: Sequence[Var], ranges: Sequence[Range], body: s.Stmt, span: Span | None
    ) -> s.Stmt:
        for var, rng in zip(reversed(loop_vars), reversed(ranges)):
            body = s.For(var, rng.min, rng.extent, s.ForKind.SERIAL, body, None, None, span)
        return body

    return f.ForFrame(variables, doms, make)


# --- scopes ---


def Assert(condition: Any, message: Any) -> f.AssertFrame:
    """The condition must hold from here on."""
    text = StringImm(message) if isinstance(message, str) else message
    frame = f.AssertFrame(f.condition_of(condition), text)
    s.AssertStmt(frame.condition, frame.message, _NOTHING)
    return frame


def LetStmt(
    value: Any, type_annotation: Any = None, *, var: Var | None = None
) -> f.LetFrame:
    """A name for a value."""
    expr = as_expr(value)
    if var is None:
        kind = SizeVar if isinstance(type_annotation, SizeVar) else Var
        wanted = expr.dtype if type_annotation is None else as_type(type_annotation)
        var = kind("v", wanted, _span())
    s.LetStmt(var, expr, _NOTHING)
    return f.LetFrame(var, expr)


def as_type(annotation: Any) -> Type:
    """The type that an annotation such as `T.int32` or `T.handle("float32")` stands for."""
    if isinstance(annotation, Type):
        return annotation
    if isinstance(annotation, Var):
        return annotation.type_annotation
    if callable(annotation):
        return as_type(annotation())
    raise TypeError(f"{annotation!r} is no type; legal: T.int32, T.handle('float32'), ...")


def Let(expr: Any, where: Mapping[Var, Any]) -> PrimExpr:
    """An expression with names for values."""
    if len(where) != 1:
        raise ScriptError("T.Let: `where` holds exactly one variable with its value")
    ((var, value),) = where.items()
    return LetExpr(var, value, expr, _span())


def let(v: Var, value: Any, body: Any = None) -> Any:
    """A let expression, or a let scope when there is no body."""
    if body is None:
        return f.LetFrame(v, as_expr(value))
    return LetExpr(v, value, body, _span())


def realize(buffer_slice: Any, storage_scope: str, condition: Any = True) -> f.RealizeFrame:
    """Room for a region of a buffer."""
    if isinstance(buffer_slice, Buffer):
        raise TypeError(
            f"T.realize takes a region such as {buffer_slice.name}[0:16], found the whole buffer"
        )
    return f.RealizeFrame(as_region(buffer_slice), storage_scope, f.condition_of(condition))


def allocate(
    extents: Sequence[Any],
    dtype: str,
    scope: str = "global",
    condition: Any = None,
    annotations: Annotations = None,
) -> f.AllocateFrame:
    """Fresh memory."""
    element = DataType(dtype)
    holds = IntImm(BOOL, 1) if condition is None else f.condition_of(condition)
    var = Var("v", PointerType(PrimType(element), scope), _span())
    sizes = _extents(extents)
    return f.AllocateFrame(sizes, element, scope, holds, dict(annotations or {}), var)


def allocate_const(
    data: Any, dtype: str, extents: Sequence[Any], annotations: Annotations = None
) -> f.AllocateConstFrame:
    """Constant data."""
    import numpy as np  # needed only where a program holds constants

    element = DataType(dtype)
    sizes = _extents(extents)
    if not isinstance(data, int):
        shape = [size.value for size in sizes if isinstance(size, IntImm)]
        data = np.asarray(data, dtype=str(element)).reshape(shape)
    var = Var("v", PointerType(PrimType(element), "global"), _span())
    return f.AllocateConstFrame(element, sizes, data, var, dict(annotations or {}))


def attr(node: Any, attr_key: str, value: Any) -> f.AttrFrame:
    """A fact about a node."""
    if isinstance(node, PrimExprConvertible) and not isinstance(node, IterVar):
        node = node.as_prim_expr()
    return f.AttrFrame(node, attr_key, as_expr(value))


def While(condition: Any) -> f.WhileFrame:
    """A loop with a condition."""
    return f.WhileFrame(f.condition_of(condition))


def If(condition: Any) -> f.IfFrame:
    """A choice."""
    return f.IfFrame(f.condition_of(condition))


def Then() -> f.ThenFrame:
    """The branch of T.If for a condition that holds."""
    return f.ThenFrame()


def Else() -> f.ElseFrame:
    """The branch of T.If for a condition that does not hold."""
    return f.ElseFrame()


def decl_buffer(
    shape: Shape,
    dtype: str = "float32",
    data: Var | None = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> f.DeclBufferFrame:
    """A buffer over `data`, or over fresh memory where there is none."""
    made = make_buffer(
        "", shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators,
    )  # fmt: skip
    return f.DeclBufferFrame(made, data is not None)


# --- threads ---

_VIRTUAL = ("vthread", "vthread.x", "vthread.y", "vthread.z")


def env_thread(thread_tag: str, dtype: str = "int32") -> Var:
    """A thread axis that several launches share."""
    var = Var("", dtype, _span())
    frame: f.PrimFuncFrame = f.require(f.PrimFuncFrame, False, "T.env_thread", "T.prim_func()")
    frame.env_threads[var] = IterVar(None, var, IterVar.ThreadIndex, thread_tag)
    return var


def launch_thread(thread: Var | str, extent: Any) -> f.LaunchThreadFrame:
    """Run the rest on `extent` threads along an axis."""
    size = as_expr(extent)
    dom = Range.from_min_extent(IntImm(size.dtype, 0), size)
    if isinstance(thread, str):
        var, tag = Var("", size.dtype, _span()), thread
    else:
        var, tag = _env_thread(thread)
    key = "virtual_thread" if tag in _VIRTUAL else "thread_extent"
    iter_var = IterVar(dom, var, IterVar.ThreadIndex, tag, _span())
    return f.LaunchThreadFrame(size, key, iter_var)


def _env_thread(thread: Any) -> tuple[Var, str]:
    if isinstance(thread, IterVar):
        return thread.var, thread.thread_tag
    frame: f.PrimFuncFrame = f.require(f.PrimFuncFrame, False, "T.launch_thread", "T.prim_func()")
    known = frame.env_threads.get(thread)
    if known is None:
        raise ScriptError(f"{thread} is not an env_thread created using T.env_thread.")
    return known.var, known.thread_tag


# --- statements ---


def buffer_store(
    buffer: Buffer, value: Any, indices: Any, predicate: PrimExpr | None = None
) -> None:
    """Store a value; slices are vectors."""
    given = indices if isinstance(indices, (list, tuple)) else [indices]
    converted = [vector_index(i) if isinstance(i, slice) else as_expr(i) for i in given]
    expr = fit_value(as_expr(value), buffer, converted)
    if expr.span is None and not isinstance(value, PrimExpr):  # a literal that was just made
        expr.span = _span()
    f.add_to_parent(s.BufferStore(buffer, expr, converted, predicate, _span()))


def fit_value(value: PrimExpr, buffer: Buffer, indices: Sequence[PrimExpr]) -> PrimExpr:
    """The value in the type of the element: literals and casts between numbers are implied."""
    element = buffer.dtype
    last = indices[-1].dtype if indices else INT32
    accessed = element if last.is_scalar else element.with_lanes(
        last.lanes * element.lanes, last.is_scalable
    )
    if value.dtype is accessed or value.dtype.is_handle:
        return value
    same = value.dtype.lanes == accessed.lanes and value.dtype.is_scalable == accessed.is_scalable
    return cast(value, accessed, _span()) if same else value


def vector_index(part: slice) -> PrimExpr:
    """A slice as an index: a ramp, or the start if there is one element only."""
    start, stop = as_expr(part.start), as_expr(part.stop)
    step = as_expr(1 if part.step is None else part.step)
    length = difference(stop, start)
    if isinstance(step, IntImm) and isinstance(length, IntImm):
        lanes: PrimExpr = IntImm(INT32, -(-length.value // step.value))
    elif isinstance(step, IntImm) and step.value == 1:
        lanes = length
    else:
        lanes = Analyzer().simplify((length + step - 1) // step)
    if isinstance(lanes, IntImm) and lanes.value == 1:
        return start
    return Ramp(start, step, lanes, _span())


def evaluate(value: Any) -> None:
    """Evaluate an expression for its effects."""
    expr = StringImm(value) if isinstance(value, str) else as_expr(value)
    f.add_to_parent(s.Evaluate(expr, _span()))
