"""The matrix instructions of NVIDIA's warps: which thread holds what, as the PTX ISA (9.7.14) says.

All threads of a warp give what they have, the first that goes on computes for all, and each takes
its own part. A register has 32 bits (64 for float64); thread t of the 32 has row (or column) t // 4
of a piece of eight, and the elements of its register beginning at t % 4 registers further along.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tvm.error import message
from tvm.ir.type import PointerType
from tvm.tir import expr as e

from .errors import InterpreterError
from .expr import Code, Frame
from .fibers import current, exchange_in_warp
from .memory import Pointer
from .values import Value, numpy_dtype

_WARP: Final = 32
_BITS: Final[dict[str, int]] = {
    "fp16": 16, "float16": 16, "bf16": 16, "bfloat16": 16, "tf32": 32, "fp32": 32, "float32": 32,
    "fp64": 64, "float64": 64, "int8": 8, "uint8": 8, "int4": 4, "uint4": 4, "int32": 32,
    "e4m3": 8, "e5m2": 8, "float8_e4m3fn": 8, "float8_e5m2": 8,
}  # fmt: skip
Positions = tuple[Any, Any]  # row and column of element i of thread t, as arrays [t, i]


class Offer:
    """What a thread brings; the first of the warp also keeps what comes out."""

    __slots__ = ("given", "result")

    def __init__(self, *given: Any) -> None:
        self.given: Final = given
        self.result: Any = None


def together(
    what: str, offer: Offer, compute: Callable[[list[Offer]], Any], size: int = _WARP
) -> tuple[Any, int]:
    """The result of all threads of the warp, and the number of this one."""
    given = exchange_in_warp(offer, size)
    if len(given) != size:
        raise InterpreterError(
            message(
                f"run {what}", found=f"{len(given)} of {size} threads of a warp",
                legal=f"a launch whose {size} threads of each warp all come here",
            )
        )  # fmt: skip
    first = given[0]
    if first.result is None:
        first.result = compute([given[n] for n in range(size)])
    return first.result, _lane(size)


def _lane(size: int = _WARP) -> int:
    fiber = current()
    return 0 if fiber is None else fiber.number % size


def own_part(compiler: Any, pointer: Any, count: int) -> Callable[[Pointer], Pointer]:
    """Where the elements of a thread begin: before LowerWarpMemory all threads share an address."""
    kind = getattr(pointer, "type_annotation", None)
    if isinstance(kind, PointerType) and kind.storage_scope == "warp":
        return lambda whole: whole.moved(_lane() * count)
    return lambda whole: whole


# --- products ---


def factor_positions(count: int, per_register: int, pieces: int) -> Positions:
    """Rows and summed-over columns of A, where `pieces` of eight rows make it (B has one)."""
    thread, i = np.indices((_WARP, count))
    register, within = i // per_register, i % per_register
    row = thread // 4 + 8 * (register % pieces)
    step = register // pieces * 4 + thread % 4
    return row, step * per_register + within


def result_positions(count: int) -> Positions:
    """Rows and columns of C."""
    thread, i = np.indices((_WARP, count))
    return thread // 4 + 8 * (i // 2), thread % 4 * 2 + i % 2


def _word(op: e.Call, at: int) -> str:
    arg = op.args[at]
    return arg.value if isinstance(arg, e.StringImm) else ""


def ptx_mma(compiler: Any, op: e.Call) -> Code:
    """`(shape, layouts, types, a, index, b, index, c, index, saturate)`: c += a @ b."""
    found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", _word(op, 0))
    kinds = [_word(op, at) for at in (3, 4, 5)]
    m, n, k = (int(x) for x in found.groups()) if found is not None else (0, 0, 0)
    volta = (m, k, _BITS.get(kinds[0])) == (8, 4, 16)
    if n != 8 or m not in (8, 16) or volta or any(kind not in _BITS for kind in kinds):
        raise InterpreterError(
            message(
                "run ptx_mma", found=f"shape {_word(op, 0)!r} on {', '.join(kinds)}",
                legal="m8n8 and m16n8, with the types " + ", ".join(_BITS)
                + "; not m8n8k4 of 16 bits, nor single bits",
            )
        )  # fmt: skip
    bits = _BITS[kinds[0]]
    per_register = max(32 // bits, 1)
    counts = (m * k // _WARP, n * k // _WARP, m * n // _WARP)
    positions = (
        factor_positions(counts[0], per_register, m // 8),
        factor_positions(counts[1], per_register, 1),
        result_positions(counts[2]),
    )  # fmt: skip
    codes = [compiler.compile(op.args[at]) for at in range(6, 12)]
    saturate = bool(getattr(op.args[12], "value", False))

    def compute(offers: list[Offer]) -> Any:
        a, b, c = (np.stack([offer.given[n] for offer in offers]) for n in range(3))
        return product(a, b, c, positions, (m, n, k), saturate)

    def run(frame: Frame) -> Value:
        parts = [_elements(codes[2 * n](frame), codes[2 * n + 1](frame), counts[n])
                 for n in range(3)]  # fmt: skip
        result, lane = together("ptx_mma", Offer(*(p.copy() for p in parts)), compute)
        parts[2][...] = result[lane]
        return np.int32(0)

    return run


def product(
    a: Any, b: Any, c: Any, positions: tuple[Positions, Positions, Positions],
    shape: tuple[int, int, int],
    saturate: bool = False,
) -> Any:  # fmt: skip
    """c + a @ b, from and to what the threads hold."""
    m, n, k = shape
    whole = c.dtype.kind in "iu"
    kind = np.int64 if whole else np.float64 if c.dtype.itemsize == 8 else np.float32
    left, right = np.empty((m, k), kind), np.empty((n, k), kind)
    left[positions[0]], right[positions[1]] = a.astype(kind), b.astype(kind)
    total = c.astype(kind) + (left @ right.T)[positions[2]]
    if whole and saturate:
        total = np.clip(total, -(2**31), 2**31 - 1)
    return total.astype(c.dtype)


def _elements(pointer: Pointer, offset: Any, count: int) -> Any:
    start = pointer.offset + int(offset)
    return pointer.data[start : start + count]


# --- loads ---


def ptx_ldmatrix(compiler: Any, op: e.Call) -> Code:
    """`(trans, count, type, to, offset, from, offset)`: pieces of 8 rows of 16 bytes.

    Eight threads for each piece give the addresses of its rows. Turned, pieces of single bytes are
    read by other addresses: the instruction turns pairs of bytes.
    """
    trans = bool(getattr(op.args[0], "value", 0))
    count = int(getattr(op.args[1], "value", 0))
    kind = numpy_dtype(op.dtype.element_of())
    codes = [compiler.compile(op.args[at]) for at in (3, 4, 5, 6)]
    own = count * 4 // kind.itemsize

    def compute(offers: list[Offer]) -> Any:
        rows = np.stack([offer.given[0] for offer in offers[: 8 * count]])
        pieces = rows.view(np.uint16).reshape(count, 8, 8)
        if trans:
            pieces = pieces.transpose(0, 2, 1)
        return np.ascontiguousarray(
            pieces.reshape(count, _WARP, 2).transpose(1, 0, 2).reshape(_WARP, 2 * count)
        ).view(kind)

    def run(frame: Frame) -> Value:
        to, to_offset, start, offset = (code(frame) for code in codes)
        if trans and kind.itemsize == 1:
            values = _bytes_turned(start, int(offset), own)
        else:
            row = _elements(start, offset, 16 // kind.itemsize)
            given = row.copy() if len(row) * kind.itemsize == 16 else np.zeros(16, np.uint8)
            result, lane = together("ptx_ldmatrix", Offer(given.view(np.uint8)), compute)
            values = result[lane]
        _elements(to, to_offset, own)[...] = values
        return np.int32(0)

    return run


def _bytes_turned(start: Pointer, stride: int, count: int) -> Any:
    """The elements of this thread from a tile of bytes that is summed over downwards."""
    i, lane = np.arange(count), _lane()
    row = i % 8 // 4 * 16 + lane % 4 * 4 + i % 4
    return start.data[start.offset + row * stride + lane // 4 + i // 8 * 8]


# --- results ---


def mma_fill(compiler: Any, op: e.Call) -> Code:
    """`(count, registers, offset)`: zero."""
    count = int(getattr(op.args[0], "value", 0))
    pointer, offset = compiler.compile(op.args[1]), compiler.compile(op.args[2])
    part = own_part(compiler, op.args[1], count)

    def run(frame: Frame) -> Value:
        _elements(part(pointer(frame)), offset(frame), count)[...] = 0
        return np.int32(0)

    return run


def mma_store(compiler: Any, op: e.Call) -> Code:
    """`(m, n, to, registers, offset, stride)`: a tile of 16x16, two products side by side."""
    if [getattr(a, "value", 0) for a in op.args[:2]] != [16, 16]:
        raise InterpreterError(
            message("run mma_store", found=f"{op.args[0]} x {op.args[1]}", legal="16 x 16")
        )
    to, registers, offset, stride = (compiler.compile(op.args[at]) for at in range(2, 6))
    part = own_part(compiler, op.args[3], 8)

    def run(frame: Frame) -> Value:
        target, lane, i = to(frame), _lane(), np.arange(8)
        row, column = lane // 4 + i // 2 % 2 * 8, lane % 4 * 2 + i % 2 + i // 4 * 8
        values = _elements(part(registers(frame)), offset(frame), 8)
        target.data[target.offset + row * int(stride(frame)) + column] = values
        return np.int32(0)

    return run


MMA: Final[dict[str, Callable[[Any, e.Call], Code]]] = {
    "tir.ptx_mma": ptx_mma,
    "tir.ptx_ldmatrix": ptx_ldmatrix,
    "tir.mma_fill": mma_fill,
    "tir.mma_store": mma_store,
}
