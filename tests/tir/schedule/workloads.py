"""Some twenty small kernels of the kinds that models are made of; the last parameter is written."""

from __future__ import annotations

from collections.abc import Callable

from tests.dlight.programs import conv, matmul, reduction, softmax
from tests.tir.schedule.cases import chain, greatest_pairs, matmul_relu, stencil
from tvm import te, tir, topi
from tvm.script import tir as T


def layer_norm(n: int, m: int) -> tir.PrimFunc:
    """(x - mean) / sqrt(variance + eps) of each row."""
    x = te.placeholder((n, m), name="X")
    scale, shift = te.placeholder((m,), name="scale"), te.placeholder((m,), name="shift")
    return te.create_prim_func([x, scale, shift, topi.nn.layer_norm(x, scale, shift, [1])])


def rms_norm(n: int, m: int) -> tir.PrimFunc:
    """x / sqrt(mean of squares + eps) of each row."""
    x, scale = te.placeholder((n, m), name="X"), te.placeholder((m,), name="scale")
    return te.create_prim_func([x, scale, topi.nn.rms_norm(x, scale, [1])])


def attention(tokens: int, width: int) -> tir.PrimFunc:
    """softmax(Q K^T) V."""
    q, k, v = [te.placeholder((tokens, width), name=name) for name in "QKV"]
    r, s = te.reduce_axis((0, width), name="r"), te.reduce_axis((0, tokens), name="s")
    square, rows = (tokens, tokens), (tokens, width)
    scores = te.compute(square, lambda i, j: te.sum(q[i, r] * k[j, r], axis=r), name="S")
    weights = topi.nn.softmax(scores, axis=1)
    out = te.compute(rows, lambda i, j: te.sum(weights[i, s] * v[s, j], axis=s), name="O")
    return te.create_prim_func([q, k, v, out])


def gather(n: int, m: int) -> tir.PrimFunc:
    """Rows by number, each doubled."""
    x, rows = te.placeholder((n, m), name="X"), te.placeholder((n,), "int32", name="rows")
    taken = te.compute((n, m), lambda i, j: x[tir.floormod(rows[i], n), j], name="taken")
    doubled = te.compute((n, m), lambda i, j: taken[i, j] * 2.0, name="B")
    return te.create_prim_func([x, rows, doubled])


@T.prim_func
def scan(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")) -> None:
    """Running sums of rows: the steps have to run in order."""
    for i in range(4):
        with T.block("start"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, 0])
            T.writes(B[vi, 0])
            B[vi, 0] = A[vi, 0]
    for i, k in T.grid(4, 7):
        with T.block("step"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.opaque((1, 8), k + 1)
            T.reads(B[vi, vk - 1], A[vi, vk])
            T.writes(B[vi, vk])
            B[vi, vk] = B[vi, vk - 1] + A[vi, vk]


def depthwise(c: int, size: int) -> tir.PrimFunc:
    """A 3x3 sum of each channel, of a padded image."""
    x, w = te.placeholder((c, size, size), name="X"), te.placeholder((c, 3, 3), name="W")
    zero = tir.const(0.0, "float32")

    def inside(n: tir.Var, i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        valid = tir.all(i >= 1, i <= size, j >= 1, j <= size)
        return tir.if_then_else(valid, x[n, i - 1, j - 1], zero)

    pad = te.compute((c, size + 2, size + 2), inside, name="pad")
    r, s = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 3), name="s")
    out = te.compute(
        x.shape, lambda n, i, j: te.sum(pad[n, i + r, j + s] * w[n, r, s], axis=[r, s]), name="C"
    )
    return te.create_prim_func([x, w, out])


def pool(size: int) -> tir.PrimFunc:
    """The greatest of 2x2 places."""
    x = te.placeholder((2, size, size), name="X")
    r, s = te.reduce_axis((0, 2), name="r"), te.reduce_axis((0, 2), name="s")
    half = size // 2
    out = te.compute(
        (2, half, half), lambda n, i, j: te.max(x[n, i * 2 + r, j * 2 + s], axis=[r, s]), name="P"
    )
    return te.create_prim_func([x, out])


def packed(n: int, m: int) -> tir.PrimFunc:
    """A matrix in tiles of 4, transposed."""
    x = te.placeholder((n, m), name="X")
    turned = te.compute((m, n), lambda i, j: x[j, i], name="turned")
    tiles = te.compute(
        (m // 4, n, 4), lambda io, j, ii: turned[io * 4 + ii, j] + 1.0, name="tiles"
    )
    return te.create_prim_func([x, tiles])


def mixed(n: int, m: int) -> tir.PrimFunc:
    """Rows divided by their sums where those are positive."""
    x = te.placeholder((n, m), name="X")
    k = te.reduce_axis((0, m), name="k")
    total = te.compute((n,), lambda i: te.sum(x[i, k], axis=k), name="total")
    zero, one = tir.const(0.0, "float32"), tir.const(1.0, "float32")
    safe = te.compute((n,), lambda i: tir.Select(total[i] > zero, total[i], one), name="safe")
    out = te.compute((n, m), lambda i, j: x[i, j] / safe[i], name="out")
    return te.create_prim_func([x, out])


def sum_of_few(*shape: int, terms: int) -> tir.PrimFunc:
    """Twice the sums of some elements; with extents of one, loops that bind nothing."""
    x, k = te.placeholder((*shape, terms), name="X"), te.reduce_axis((0, terms), name="k")
    total = te.compute(shape, lambda *i: te.sum(x[(*i, k)], axis=k), name="total")
    return te.create_prim_func([x, te.compute(shape, lambda *i: total[i] * 2.0, name="B")])


WORKLOADS: dict[str, Callable[[], tir.PrimFunc]] = {
    "matmul": lambda: matmul(6, 8, 10),
    "batched": lambda: matmul(4, 6, 5, batch=(2,), transposed=True, epilogue=True),
    "relu": lambda: matmul_relu(6, 8, 4),
    "chain": lambda: chain(6, 10),
    "stencil": lambda: stencil(12),
    "conv": lambda: conv(1, 2, 3, 4, epilogue=True),
    "strided": lambda: conv(1, 2, 2, 6, stride=2),
    "depthwise": lambda: depthwise(2, 4),
    "pool": lambda: pool(6),
    "softmax": lambda: softmax(3, 8),
    "layer_norm": lambda: layer_norm(3, 8),
    "rms_norm": lambda: rms_norm(3, 8),
    "attention": lambda: attention(4, 3),
    "gather": lambda: gather(5, 4),
    "sums of one": lambda: sum_of_few(3, 1, terms=1),
    "one sum": lambda: sum_of_few(1, 1, terms=7),
    "one row": lambda: chain(1, 10),
    "scan": lambda: scan,
    "rows": lambda: reduction((4, 12), (1,)),
    "columns": lambda: reduction((12, 4), (0,)),
    "pairs": lambda: greatest_pairs(4, 6, tie=True),
    "packed": lambda: packed(5, 8),
    "mixed": lambda: mixed(4, 6),
}
