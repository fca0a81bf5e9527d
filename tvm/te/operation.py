"""The functions that build tensors: placeholder, compute, scan, extern."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, Final, TypeVar

from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import listed
from tvm.ir.span import Span
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.support.lazy import lazy_names
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, IntImm, IterVar, SizeVar, Var, as_expr
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.op.arith import const as _const
from tvm.tir.stmt import BufferStore, Evaluate, Stmt

from .reach import check_reach
from .tag import TagScope
from .tensor import ComputeOp, ExternOp, PlaceholderOp, ScanOp, Tensor

T = TypeVar("T")
__getattr__ = lazy_names(
    __name__, {"create_prim_func": "tvm.te.create_prim_func:create_prim_func"}
)


def _one_or_many(value: Any) -> tuple[Any, ...]:
    """A single extent, or several, as a tuple."""
    if isinstance(value, (PrimExpr, Integral)):
        return (value,)
    return tuple(listed(value, "the extents of a tensor"))


def _tag_in_scope(tag: str) -> str:
    scope = TagScope.get_current()
    if scope is None:
        return tag
    if tag != "":
        raise ValueError("nested tag is not allowed for now")
    return scope.tag


# Of a tensor that is computed: each is a loop within the loops before, and arrays of numpy have no
# more. What nests deeper than Python recurses is no program.
MAX_DIMENSIONS: Final = 64


@explained
def placeholder(shape: Any, dtype: Any = None, name: str = "placeholder") -> Tensor:
    """A tensor that is given from outside, float32 unless said otherwise."""
    element = DataType("float32" if dtype is None else dtype)
    return PlaceholderOp(name, _extents(shape, f"te.placeholder {name!r}"), element).output(0)


def _extents(shape: Any, where: str) -> list[PrimExpr]:
    """The extents of a shape: integers, and none that is known to be negative."""
    extents = []
    for i, given in enumerate(_one_or_many(shape)):
        extent = as_expr(int(given) if isinstance(given, float) and given.is_integer() else given)
        negative = isinstance(extent, IntImm) and extent.value < 0
        if negative or not (extent.dtype.is_integer or extent.dtype.is_bool):
            raise ShapeError(
                message(
                    f"dimension {i} of a shape", found=f"extent {given}", where=where,
                    legal="integers of at least 0, and expressions of integers",
                )
            )  # fmt: skip
        extents.append(extent)
    return extents


@explained
def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """The tensor whose element at (i, j, ...) is `fcompute(i, j, ...)`.

    A function that returns several values makes as many tensors. The axes take the names of the
    function's parameters; those of `*varargs` are called `i0`, `i1`, ... unless named.
    """
    return computed(shape, fcompute, name, tag, attrs, varargs_names)


def computed(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str,
    tag: str,
    attrs: Mapping[str, Any] | None,
    varargs_names: Sequence[str] | None,
    typed: bool = False,
) -> Any:
    """`compute`; the axes start at the plain number 0, or where `typed` at the extent's own 0."""
    tag = _tag_in_scope(tag)
    extents = _extents(shape, f"te.compute {name!r}")
    if len(extents) > MAX_DIMENSIONS:
        raise ShapeError(
            message(
                f"te.compute {name!r}", found=f"{len(extents)} dimensions",
                legal=f"at most {MAX_DIMENSIONS}",
            )
        )  # fmt: skip
    names = _axis_names(fcompute, len(extents), varargs_names)
    if len(names) > len(extents):
        raise ValueError(
            message(
                "Number of args to fcompute does not match dimension, "
                f"args={len(names)}, dimension={len(extents)}",
                where=f"te.compute {name!r}",
                legal="one parameter a dimension",
            )
        )
    zeros = [IntImm(s.dtype, 0) if typed else 0 for s in extents]
    axes = [IterVar((zero, s), x) for x, zero, s in zip(names, zeros, extents)]
    values = fcompute(*[axis.var for axis in axes])
    body = list(values) if isinstance(values, (list, tuple)) else [values]
    check_reach(name, axes, [value for value in body if isinstance(value, PrimExpr)])
    op = ComputeOp(name, tag, attrs, axes, body)
    outputs = tuple(op.output(i) for i in range(op.num_outputs))
    return outputs[0] if len(outputs) == 1 else outputs


def _axis_names(
    fcompute: Callable[..., Any], ndim: int, varargs_names: Sequence[str] | None
) -> list[str]:
    spec = inspect.getfullargspec(fcompute)
    assert spec.varkw is None, "Variable keyword arguments not supported in fcompute"
    assert spec.defaults is None, "Default arguments not supported in fcompute"
    assert not spec.kwonlyargs, "Keyword arguments are not supported in fcompute"
    args = spec.args[1:] if inspect.ismethod(fcompute) else spec.args
    if spec.varargs is None:
        return args if args else [f"i{i}" for i in range(ndim)]
    missing = ndim - len(args)
    if varargs_names is None:
        return [*args, *(f"i{i}" for i in range(missing))]
    if len(varargs_names) != missing:
        raise RuntimeError(
            f"Number of varargs ({missing}) does not match number of varargs_names "
            f"({len(varargs_names)})"
        )
    return [*args, *varargs_names]


@explained
def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """States along the first axis, the first ones from `init`, each next one from `update`."""
    tag = _tag_in_scope(tag)
    inits, updates, states, reads = (
        [x] if isinstance(x, Tensor) else list(x or ())
        for x in (init, update, state_placeholder, inputs)
    )
    if not states or not inits:
        raise ValueError(f"scan {name!r} needs at least one state tensor with its init")
    axis = IterVar(Range(inits[0].shape[0], states[0].shape[0]), f"{name}.idx", IterVar.Ordered)
    op = ScanOp(name, tag, attrs, axis, inits, updates, states, reads)
    outputs = [op.output(i) for i in range(op.num_outputs)]
    return outputs[0] if len(outputs) == 1 else outputs


@explained
def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[..., Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors made by a statement: `fcompute(input buffers, output buffers)` returns it."""
    tag = _tag_in_scope(tag)
    shapes = _several_shapes(shape)
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            raise ValueError(f"expect inputs to be tensor, found {type(tensor).__name__}")
    ins = _buffers_for("inputs", "in_buffers", inputs, in_buffers)
    outs = _buffers_for("outputs", "out_buffers", shapes, out_buffers)
    dtypes = _extern_dtypes(dtype, inputs, len(shapes))
    if ins is None:
        ins = [_moving_buffer(t.shape, t.dtype, t.op.name) for t in inputs]
    if outs is None:
        outs = [_moving_buffer(s, d, name) for s, d in zip(shapes, dtypes)]
    body = fcompute(ins, outs)
    if isinstance(body, PrimExpr):
        body = Evaluate(body)
    if not isinstance(body, Stmt):
        raise ValueError(
            f"Function '{getattr(fcompute, '__name__', fcompute)}' should return PrimExpr or Stmt, "
            f"but it returned '{type(body)}'"
        )
    op = ExternOp(name, tag, attrs, inputs, ins, outs, body)
    outputs = [op.output(i) for i in range(op.num_outputs)]
    return outputs[0] if len(outputs) == 1 else outputs


def _several_shapes(shape: Any) -> list[tuple[Any, ...]]:
    """One shape, or a list of shapes, as a list of shapes."""
    dims = _one_or_many(shape)
    if not dims or isinstance(dims[0], (PrimExpr, Integral)):
        return [dims]
    return [_one_or_many(s) for s in dims]


def _buffers_for(what: str, asked: str, needs: Sequence[Any], given: Any) -> list[Buffer] | None:
    if given is None:
        return None
    buffers = [given] if isinstance(given, Buffer) else list(given)
    if len(buffers) != len(needs):
        raise RuntimeError(
            f"Number of {what} and {asked} mismatch: {len(needs)} vs {len(buffers)}."
        )
    return buffers


def _extern_dtypes(dtype: Any, inputs: Sequence[Tensor], count: int) -> list[Any]:
    if dtype is not None:
        return [dtype] * count if isinstance(dtype, str) else list(dtype)
    types = list(dict.fromkeys(t.dtype for t in inputs))
    if len(types) != 1:
        raise ValueError(
            message(
                "Cannot infer output type, please provide dtype argument",
                found=f"input types {', '.join(types) or 'none'}",
                legal="inputs of one type, or dtype=...",
            )
        )
    return types * count


def _moving_buffer(shape: Sequence[Any], dtype: Any, name: str) -> Buffer:
    """A buffer at any offset in its memory: the caller may hand over a part of a larger one."""
    kinds = [extent.dtype for extent in shape if isinstance(extent, PrimExpr)]
    offset = Var("elem_offset", kinds[0] if kinds else "int32")
    return decl_buffer(shape, dtype, name, elem_offset=offset)


@explained
def extern_primfunc(input_tensors: list[Tensor], primfunc: PrimFunc, **kwargs: Any) -> Any:
    """Tensors made by a PrimFunc, whose body later stages can still be scheduled with.

    Buffers that the function only reads are inputs, in the order of its parameters; those it
    writes are outputs. A buffer both read and written is an input, unless there is no other output.
    """
    buffers = [primfunc.buffer_map[p] for p in primfunc.params if p in primfunc.buffer_map]
    read, written = _touched(primfunc)
    sources = [b for b in buffers if b in read]
    results = [b for b in buffers if b in written]
    assert sources, "PrimFunc has no input buffers"
    assert results, "PrimFunc has no output buffers"
    outputs = [b for b in results if b not in read]
    if not outputs:
        outputs = [results[-1]]
        sources.remove(results[-1])
    _check_inputs(input_tensors, sources)
    return extern(
        [buffer.shape for buffer in outputs],
        input_tensors,
        lambda ins, outs: primfunc.body,
        in_buffers=sources,
        out_buffers=outputs,
        dtype=[buffer.dtype for buffer in outputs],
        **kwargs,
    )


def _touched(func: PrimFunc) -> tuple[set[Buffer], set[Buffer]]:
    """The buffers that a function loads from, and those that it stores to."""
    read: set[Buffer] = set()
    written: set[Buffer] = set()
    for node in walk(func.body):
        if isinstance(node, BufferLoad):
            read.add(node.buffer)
        elif isinstance(node, BufferStore):
            written.add(node.buffer)
    return read, written


def _check_inputs(tensors: Sequence[Tensor], buffers: Sequence[Buffer]) -> None:
    asked = "extern_primfunc: match the input tensors with the function's input buffers"
    if len(tensors) != len(buffers):
        raise ShapeError(
            message(
                asked,
                found=f"{len(tensors)} tensors, {len(buffers)} buffers",
                legal=f"one tensor for each of {', '.join(b.name for b in buffers)}",
            )
        )
    for tensor, buffer in zip(tensors, buffers):
        same = len(tensor.shape) == len(buffer.shape) and all(
            bool(a == b) or not _both_known(a, b) for a, b in zip(tensor.shape, buffer.shape)
        )
        if not same:
            raise ShapeError(
                message(
                    asked,
                    found=f"tensor {tensor.name} of shape {_show(tensor.shape)}",
                    where=f"buffer {buffer.name} of shape {_show(buffer.shape)}",
                    legal="equal shapes",
                )
            )


def _both_known(a: PrimExpr, b: PrimExpr) -> bool:
    return hasattr(a, "value") and hasattr(b, "value")


def _show(shape: Sequence[PrimExpr]) -> str:
    return f"({', '.join(str(s) for s in shape)})"


def var(name: str = "tindex", dtype: Any = "int32", span: Span | None = None) -> Var:
    """A variable."""
    return Var(name, dtype, span)


def const(value: Any, dtype: Any = "int32", span: Span | None = None) -> PrimExpr:
    """A literal."""
    return _const(value, dtype, span)


def size_var(name: str = "size", dtype: Any = "int32", span: Span | None = None) -> SizeVar:
    """A variable that is at least zero: an extent."""
    return SizeVar(name, dtype, span)


def thread_axis(
    dom: Any = None, tag: str = "", name: str = "", span: Span | None = None
) -> IterVar:
    """An axis whose steps are run by GPU threads; `tag` is `threadIdx.x` or another thread name.

    A string as the first argument is the tag.
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ValueError("tag must be given as Positional or keyword argument")
    return IterVar(_as_range(dom), name or tag, IterVar.ThreadIndex, tag, span)


def reduce_axis(
    dom: Any, name: str = "rv", thread_tag: str = "", span: Span | None = None
) -> IterVar:
    """An axis to reduce over: a Range, or a pair (begin, end)."""
    return IterVar(_as_range(dom), name, IterVar.CommReduce, thread_tag, span)


def _as_range(dom: Any) -> Range | None:
    if dom is None or isinstance(dom, Range):
        return dom
    if isinstance(dom, (list, tuple)) and len(dom) == 2:
        return Range(as_expr(dom[0]), as_expr(dom[1]))
    return Range(as_expr(0), as_expr(dom))
