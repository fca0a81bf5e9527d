"""What threads do together: reductions over a block, shuffles within a warp, matrix fragments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from tvm.error import message
from tvm.tir import expr as e

from .errors import InterpreterError
from .expr import Code, Frame
from .fibers import current, exchange_in_block, exchange_in_warp
from .memory import Pointer
from .values import Value, numpy_dtype


def thread_allreduce(compiler: Any, op: e.Call) -> Code:
    """`(count, values..., condition, results..., threads...)`: every thread gets the reduction.

    The values of the threads whose numbers differ only in `threads` are combined, in their order,
    by the reducer of the `reduce_scope` around; a thread whose condition is false gives none.
    """
    first = op.args[0]
    count = first.value if isinstance(first, e.IntImm) else 0
    reducer: e.CommReducer | None = compiler.reducer
    if reducer is None or count < 1 or len(op.args) < 2 * count + 2:
        raise InterpreterError(
            message(
                "run a reduction over threads",
                found=f"a call with {len(op.args)} arguments"
                + ("" if reducer is not None else ", outside of a reduce_scope"),
                legal='count, values, condition, results, threads; within T.attr(reducer, '
                '"reduce_scope", ...)',
            )
        )
    values = [compiler.compile(a) for a in op.args[1 : count + 1]]
    condition = compiler.compile(op.args[count + 1])
    results = [_setter(compiler, a) for a in op.args[count + 2 : 2 * count + 2]]
    threads = [a for a in op.args[2 * count + 2 :] if isinstance(a, e.Var)]
    lhs = [compiler.layout.slot(v) for v in reducer.lhs]
    rhs = [compiler.layout.slot(v) for v in reducer.rhs]
    combine = [compiler.compile(r) for r in reducer.result]
    start = [compiler.compile(i) for i in reducer.identity_element]

    def run(frame: Frame) -> Value:
        own = [value(frame) for value in values] if condition(frame) else None
        fiber = current()
        total = [code(frame) for code in start]
        for other, given in exchange_in_block(own):
            if given is None or not _apart_only_in(threads, fiber, other):
                continue
            for slot, value in zip(lhs, total):
                frame[slot] = value
            for slot, value in zip(rhs, given):
                frame[slot] = value
            total = [code(frame) for code in combine]
        for put, value in zip(results, total):
            put(frame, value)
        return np.int32(0)

    return run


def _apart_only_in(threads: list[e.Var], fiber: Any, other: Any) -> bool:
    if fiber is None or fiber is other:
        return True
    kept = [axis for axis in fiber.of if not any(v in threads for v in axis)]
    return all(fiber.of[axis] == other.of.get(axis) for axis in kept)


def _setter(compiler: Any, target: Any) -> Callable[[Frame, Value], None]:
    """Where a result goes: an element of a buffer, or the first of a piece of memory."""
    if isinstance(target, e.BufferLoad):
        address = compiler.address(target)
    else:
        address = compiler.compile(target)

    def put(frame: Frame, value: Value) -> None:
        pointer: Pointer = address(frame)
        pointer.data[pointer.offset] = value

    return put


def _shuffle(source: Callable[[int, int, int], int], compiler: Any, op: e.Call) -> Code:
    """`(mask, value, lane or offset, width, warp size)`; lanes that are not there give nothing.

    CUDA's form has no warp size, Metal's has neither mask nor width.
    """
    whole: Code = lambda frame: compiler.program.warp_size  # noqa: E731
    operands = [compiler.compile(a) for a in op.args]
    if len(operands) == 2:
        operands = [whole, *operands, whole]
    _, value, which, width, warp_size = [*operands, whole][:5]

    def run(frame: Frame) -> Value:
        own = value(frame)
        size, part = int(warp_size(frame)), int(width(frame))
        fiber = current()
        lane = 0 if fiber is None else fiber.number % size
        given = exchange_in_warp(own, size)
        base = lane // part * part
        wanted = source(lane - base, int(which(frame)), part)
        return given.get(base + wanted, own) if 0 <= wanted < part else own

    return run


def active_mask(compiler: Any, op: e.Call) -> Code:
    """One bit for each thread of the warp that is here."""
    warp_size, bits = compiler.program.warp_size, op.dtype.bits

    def run(frame: Frame) -> Value:
        here = [n for n in exchange_in_warp(None, warp_size) if n < bits]
        return numpy_dtype(op.dtype).type(sum(1 << n for n in here))

    return run


# --- matrix fragments: each thread holds the whole of its warp's fragment, so all of them agree ---


def _number(arg: Any) -> int:
    if not isinstance(arg, e.IntImm):
        raise InterpreterError(
            message(
                "run an operation on a matrix fragment",
                found=f"the extent {arg}",
                legal="extents that are integers",
            )
        )
    return arg.value


def _shape_of(compiler: Any, fragment: Any) -> tuple[int, int]:
    """The rows and columns of a fragment, from the operations that fill it."""
    known = compiler.layout.fragments.get(fragment)
    if known is None:
        raise InterpreterError(
            message(
                "run tvm_mma_sync",
                found=f"fragment {getattr(fragment, 'name', fragment)} that nothing fills before",
                legal="fragments of tvm_fill_fragment and tvm_load_matrix_sync",
            )
        )
    rows, columns = known
    return rows, columns


def _remember(compiler: Any, op: e.Call) -> tuple[int, int]:
    """Rows and columns of the fragment that a call fills, by the scope of its memory."""
    fragment = op.args[0]
    m, n, k = (_number(a) for a in op.args[1:4])
    scope = str(getattr(getattr(fragment, "type_annotation", None), "storage_scope", ""))
    shape = {"wmma.matrix_a": (m, k), "wmma.matrix_b": (k, n)}.get(scope, (m, n))
    compiler.layout.fragments[fragment] = shape
    return shape


def _tile(pointer: Pointer, index: int, shape: tuple[int, int]) -> Any:
    size = shape[0] * shape[1]
    start = pointer.offset + index * size
    return pointer.data[start : start + size].reshape(shape)


def fill_fragment(compiler: Any, op: e.Call) -> Code:
    """`(fragment, m, n, k, index, value)`."""
    shape = _remember(compiler, op)
    fragment, index, value = (compiler.compile(op.args[i]) for i in (0, 4, 5))

    def run(frame: Frame) -> Value:
        _tile(fragment(frame), int(index(frame)), shape)[...] = value(frame)
        return np.int32(0)

    return run


def _move_fragment(loads: bool, compiler: Any, op: e.Call) -> Code:
    """`(fragment, m, n, k, index, address, stride, layout)`."""
    rows, columns = _remember(compiler, op)
    fragment, index, address, stride = (compiler.compile(op.args[i]) for i in (0, 4, 5, 6))
    layout = getattr(op.args[7], "value", "row_major")

    def run(frame: Frame) -> Value:
        tile = _tile(fragment(frame), int(index(frame)), (rows, columns))
        pointer, step = address(frame), int(stride(frame))
        i, j = np.indices((rows, columns))
        at = pointer.offset + (j * step + i if layout == "col_major" else i * step + j)
        if loads:
            tile[...] = pointer.data[at]
        else:
            pointer.data[at] = tile
        return np.int32(0)

    return run


def mma_sync(compiler: Any, op: e.Call) -> Code:
    """`(d, index, a, index, b, index, c, index)`: d = a @ b + c, in the type of c."""
    fragments = [op.args[i] for i in (0, 2, 4, 6)]
    codes = [compiler.compile(a) for a in op.args]

    def run(frame: Frame) -> Value:
        d, a, b, c = (
            _tile(codes[2 * i](frame), int(codes[2 * i + 1](frame)), _shape_of(compiler, fragment))
            for i, fragment in enumerate(fragments)
        )
        d[...] = a.astype(c.dtype) @ b.astype(c.dtype) + c
        return np.int32(0)

    return run


_Rule = Callable[[Any, e.Call], Code]
_FROM: Final[_Rule] = partial(_shuffle, lambda lane, which, width: which % width)
_UP: Final[_Rule] = partial(_shuffle, lambda lane, offset, width: lane - offset)
_DOWN: Final[_Rule] = partial(_shuffle, lambda lane, offset, width: lane + offset)

WARP_EXCHANGES: Final[dict[str, _Rule]] = {
    "tir.tvm_thread_allreduce": thread_allreduce,
    "tir.tvm_warp_shuffle": _FROM,
    "tir.tvm_warp_shuffle_up": _UP,
    "tir.tvm_warp_shuffle_down": _DOWN,
    "tir.tvm_warp_activemask": active_mask,
    "tir.cuda.__shfl_sync": _FROM,
    "tir.cuda.__shfl_up_sync": _UP,
    "tir.cuda.__shfl_down_sync": _DOWN,
    "tir.cuda.__activemask": active_mask,
    "tir.metal.simd_shuffle": _FROM,
    "tir.metal.simd_shuffle_up": _UP,
    "tir.metal.simd_shuffle_down": _DOWN,
    "tir.tvm_fill_fragment": fill_fragment,
    "tir.tvm_load_matrix_sync": partial(_move_fragment, True),
    "tir.tvm_store_matrix_sync": partial(_move_fragment, False),
    "tir.tvm_mma_sync": mma_sync,
}
