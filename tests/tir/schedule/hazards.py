"""Programs whose buffers are read before they are written, written twice, or written in part."""

from __future__ import annotations

import numpy as np

from tvm import tir
from tvm.script import tir as T


def given(func: tir.PrimFunc) -> list[np.ndarray]:
    """Small whole numbers for all parameters, which are of twelve elements: sums are exact."""
    return list(np.random.default_rng(0).integers(0, 9, (len(func.params), 12)).astype("float32"))


@T.prim_func
def read_twice(A: T.Buffer((12,), "float32"), B: T.Buffer((12,)), C: T.Buffer((12,))):
    """B reads A as it was given, C as the block `fill` leaves it."""
    for i in range(12):
        with T.block("before"):
            v = T.axis.spatial(12, i)
            B[v] = A[v] + 1.0
    for i in range(12):
        with T.block("fill"):
            v = T.axis.spatial(12, i)
            A[v] = B[v] * 2.0
    for i in range(12):
        with T.block("after"):
            v = T.axis.spatial(12, i)
            C[v] = A[v] + B[v]


@T.prim_func
def shifted(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    """Each round reads what the round before it has written."""
    for i in range(11):
        with T.block("read"):
            v = T.axis.opaque(11, i)
            B[v] = A[v]
        with T.block("write"):
            v = T.axis.opaque(11, i)
            A[v + 1] = B[v] + 1.0


@T.prim_func
def overwritten(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    """Each round reads one element, then overwrites it."""
    for i in range(12):
        with T.block("read"):
            v = T.axis.spatial(12, i)
            B[v] = A[v]
        with T.block("write"):
            v = T.axis.spatial(12, i)
            A[v] = 3.0


@T.prim_func
def halves(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    """Two blocks write a half of B each."""
    B = T.alloc_buffer((12,))
    for i in range(6):
        with T.block("low"):
            v = T.axis.spatial(6, i)
            B[v] = A[v]
    for i in range(6):
        with T.block("high"):
            v = T.axis.spatial(6, i)
            B[v + 6] = A[v + 6] + 1.0
    for i in range(12):
        with T.block("all"):
            v = T.axis.spatial(12, i)
            C[v] = B[v]


@T.prim_func
def even(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    """Every second element of B stays as it was given."""
    for i in range(6):
        with T.block("even"):
            v = T.axis.spatial(6, i)
            B[v * 2] = A[v]


@T.prim_func
def pulled(A: T.Buffer((12,), "float32")):
    """Each round overwrites what the round before it has read."""
    for i in range(11):
        with T.block("pull"):
            v = T.axis.opaque(11, i)
            A[v] = A[v + 1] * 2.0


@T.prim_func
def swapped(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    """A and B change places by way of a third buffer."""
    C = T.alloc_buffer((12,))
    for i in range(12):
        with T.block("keep"):
            v = T.axis.spatial(12, i)
            C[v] = A[v]
    for i in range(12):
        with T.block("first"):
            v = T.axis.spatial(12, i)
            A[v] = B[v]
    for i in range(12):
        with T.block("second"):
            v = T.axis.spatial(12, i)
            B[v] = C[v]


@T.prim_func
def added_up(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    """Two sums into the same elements, a product between them."""
    for i, k in T.grid(4, 3):
        with T.block("sum"):
            v, r = T.axis.remap("SR", [i, k])
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + A[v * 3 + r]
    for i in range(4):
        with T.block("double"):
            v = T.axis.spatial(4, i)
            B[v] = B[v] * 2.0
    for i, k in T.grid(4, 3):
        with T.block("more"):
            v, r = T.axis.remap("SR", [i, k])
            B[v] = B[v] + A[v * 3 + r]


@T.prim_func
def mended(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    """The ends of B are overwritten after its first reader."""
    B = T.alloc_buffer((12,))
    for i in range(12):
        with T.block("all"):
            v = T.axis.spatial(12, i)
            B[v] = A[v] + 1.0
    for i in range(12):
        with T.block("seen"):
            v = T.axis.spatial(12, i)
            C[v] = B[11 - v]
    for i in range(2):
        with T.block("ends"):
            v = T.axis.spatial(2, i)
            B[v * 11] = 0.0
    for i in range(12):
        with T.block("again"):
            v = T.axis.spatial(12, i)
            C[v] = C[v] * 16.0 + B[v]


@T.prim_func
def carried(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    """One element that all rounds use."""
    s = T.alloc_buffer((1,))
    for i in range(12):
        with T.block("take"):
            v = T.axis.opaque(12, i)
            s[0] = A[v] + 1.0
        with T.block("give"):
            v = T.axis.opaque(12, i)
            B[v] = s[0] * s[0]


HAZARDS: dict[str, tir.PrimFunc] = {
    "read twice": read_twice,
    "shifted": shifted,
    "overwritten": overwritten,
    "halves": halves,
    "even": even,
    "pulled": pulled,
    "swapped": swapped,
    "added up": added_up,
    "mended": mended,
    "carried": carried,
}
