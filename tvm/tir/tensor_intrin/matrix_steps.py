"""The steps of a product of matrices that hardware makes tile by tile: set, move, multiply.

Each maker returns what a step means, as loops over the elements of tiles, and where all families of
hardware have the same form of code, that code: one call on whole tiles.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.script import language as T

Coordinates = tuple[Any, Any]
Layout = Callable[[Any, Any], Coordinates]
Pair = tuple[PrimFunc, PrimFunc]


class Tile(NamedTuple):
    """A matrix in memory. Where threads hold its elements, `layout` says thread and element."""

    rows: int
    columns: int
    dtype: str
    scope: str
    offset_factor: int = 1
    layout: Layout | None = None
    spread: tuple[int, int] = (0, 0)  # over so many threads, so many elements each

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the memory."""
        return (self.rows, self.columns) if self.layout is None else self.spread

    def compact(self) -> Tile:
        """The same tile in a buffer that begins at offset zero."""
        return self._replace(offset_factor=0)

    def match(self, handle: Any, strides: Any = None) -> Buffer:
        """The buffer at the address `handle`."""
        return T.match_buffer(
            handle, self.shape, self.dtype, align=64, offset_factor=self.offset_factor,
            scope=self.scope, strides=strides,
        )  # fmt: skip

    def all(self, buffer: Buffer) -> Any:
        """The region of all elements."""
        return buffer[0 : self.shape[0], 0 : self.shape[1]]

    def at(self, i: Any, j: Any, transposed: bool = False) -> Coordinates:
        """The index of element (i, j) in the buffer; of (j, i) of a transposed tile."""
        i, j = (j, i) if transposed else (i, j)
        return (i, j) if self.layout is None else self.layout(i, j)


def tile_number(elem_offset: PrimExpr, stride: PrimExpr, rows: int, columns: int) -> PrimExpr:
    """The number of the tile that begins at an offset, in a buffer of many in rows."""
    return elem_offset // stride // rows * (stride // columns) + elem_offset % stride // columns


def fill_meaning(c: Tile, name: str, zero: PrimExpr) -> PrimFunc:
    """C = zero."""

    @T.prim_func
    def desc(c_handle: T.handle) -> None:
        C = c.match(c_handle)
        with T.block("root"):
            T.reads()
            T.writes(c.all(C))
            for i, j in T.grid(c.rows, c.columns):
                with T.block(name):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads()
                    T.writes(C[c.at(vi, vj)])
                    C[c.at(vi, vj)] = zero

    return desc


def fill_step(
    c: Tile, name: str, zero: PrimExpr, call: Callable[[Buffer, PrimExpr], PrimExpr]
) -> Pair:
    """C = zero by a call that takes the buffer and the stride of its rows."""

    @T.prim_func
    def impl(c_handle: T.handle) -> None:
        d1 = T.int32()
        d0 = T.int32()
        C = c.match(c_handle, [d1, d0])
        with T.block("root"):
            T.reads()
            T.writes(c.all(C))
            T.evaluate(call(C, d1))

    return fill_meaning(c, name, zero), impl


def copy_meaning(a: Tile, c: Tile, name: str, transposed: bool = False) -> PrimFunc:
    """C = A, or A.T."""

    @T.prim_func
    def desc(a_handle: T.handle, c_handle: T.handle) -> None:
        A = a.match(a_handle)
        C = c.match(c_handle)
        with T.block("root"):
            T.reads(a.all(A))
            T.writes(c.all(C))
            for i, j in T.grid(a.rows, a.columns):
                with T.block(name):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(A[a.at(vi, vj)])
                    T.writes(C[c.at(vi, vj, transposed)])
                    C[c.at(vi, vj, transposed)] = A[a.at(vi, vj)]

    return desc


def load_meaning(c: Tile, a: Tile, name: str) -> PrimFunc:
    """C = A, where C is the first parameter."""
    desc = copy_meaning(a, c, name)
    return PrimFunc(desc.params[::-1], desc.body, desc.ret_type, desc.buffer_map, desc.attrs)


def copy_step(
    a: Tile,
    c: Tile,
    name: str,
    call: Callable[..., PrimExpr],
    transposed: bool = False,
    warp: int = 0,
) -> Pair:
    """C = A by a call that takes the buffers and the strides of their rows.

    With `warp`, each of so many threads makes the call, which takes its number too.
    """

    @T.prim_func
    def impl(a_handle: T.handle, c_handle: T.handle) -> None:
        s1 = T.int32()
        s0 = T.int32()
        d1 = T.int32()
        d0 = T.int32()
        A = a.match(a_handle, [s1, s0])
        C = c.match(c_handle, [d1, d0])
        with T.block("root"):
            T.reads(a.all(A))
            T.writes(c.all(C))
            if warp > 0:
                for tx in T.thread_binding(0, warp, "threadIdx.x"):
                    T.evaluate(call(A, C, s1, d1, tx))
            else:
                T.evaluate(call(A, C, s1, d1))

    return copy_meaning(a, c, name, transposed), impl


def product_meaning(
    a: Tile, b: Tile, c: Tile, name: str, a_transposed: bool = False, b_transposed: bool = False
) -> PrimFunc:
    """C += A @ B, or their transposes, summed in the type of C."""
    k_dim = a.rows if a_transposed else a.columns

    def wide(value: PrimExpr) -> PrimExpr:
        return value if value.dtype == c.dtype else value.astype(c.dtype)

    @T.prim_func
    def desc(a_handle: T.handle, b_handle: T.handle, c_handle: T.handle) -> None:
        A = a.match(a_handle)
        B = b.match(b_handle)
        C = c.match(c_handle)
        with T.block("root"):
            T.reads(c.all(C), a.all(A), b.all(B))
            T.writes(c.all(C))
            for i, j, k in T.grid(c.rows, c.columns, k_dim):
                with T.block(name):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    own = T.meta_var(c.at(vi, vj))
                    left = T.meta_var(A[a.at(vi, vk, a_transposed)])
                    right = T.meta_var(B[b.at(vk, vj, b_transposed)])
                    T.reads(C[own], left, right)
                    T.writes(C[own])
                    C[own] = C[own] + wide(left) * wide(right)

    return desc


def product_step(
    a: Tile, b: Tile, c: Tile, name: str, call: Callable[..., PrimExpr], b_transposed: bool = False
) -> Pair:
    """C += A @ B, or A @ B.T, by a call that takes the buffers and the strides of their rows."""

    @T.prim_func
    def impl(a_handle: T.handle, b_handle: T.handle, c_handle: T.handle) -> None:
        a1 = T.int32()
        a0 = T.int32()
        b1 = T.int32()
        b0 = T.int32()
        c1 = T.int32()
        c0 = T.int32()
        A = a.match(a_handle, [a1, a0])
        B = b.match(b_handle, [b1, b0])
        C = c.match(c_handle, [c1, c0])
        with T.block("root"):
            T.reads(c.all(C), a.all(A), b.all(B))
            T.writes(c.all(C))
            T.evaluate(call(A, B, C, a1, b1, c1))

    return product_meaning(a, b, c, name, b_transposed=b_transposed), impl
