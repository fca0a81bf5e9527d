"""Functions for the rules for GPUs that `tests.dlight.programs` does not have."""

from __future__ import annotations

from tvm import te, tir
from tvm.tir.expr import PrimExpr


def product(
    m: int | str, n: int, k: int, *, batch: int | None = None, transposed: bool = True,
    epilogue: bool = False, dtype: str = "float32", out: str | None = None,
) -> tir.PrimFunc:  # fmt: skip
    """A @ B.T, or A @ B; a name for `m` stands for a symbolic extent."""
    rows = te.var(m, "int32") if isinstance(m, str) else m
    lead = () if batch is None else (batch,)
    wide = out or dtype
    a = te.placeholder((*lead, rows, k), dtype, name="A")
    b = te.placeholder((*lead, *((n, k) if transposed else (k, n))), dtype, name="B")
    r = te.reduce_axis((0, k), name="k")

    def element(*i: tir.Var) -> PrimExpr:
        *front, row, column = i
        right = b[(*front, column, r)] if transposed else b[(*front, r, column)]
        left = a[(*front, row, r)]
        return te.sum(left.astype(wide) * right.astype(wide), axis=r)

    c = te.compute((*lead, rows, n), element, name="C")
    if not epilogue:
        return te.create_prim_func([a, b, c])
    d = te.compute(c.shape, lambda *i: tir.max(c[i], tir.const(0, wide)), name="D")
    return te.create_prim_func([a, b, d])


def dequantized(n: int, k: int, *, transposed: bool = True, rows: int | str = 1) -> tir.PrimFunc:
    """x @ W.T with W of 4 bits in words of 32, and a scale for 32 of them."""
    m = te.var(rows, "int32") if isinstance(rows, str) else rows
    x = te.placeholder((m, k), "float32", name="x")
    words = te.placeholder((n, k // 8) if transposed else (k // 8, n), "uint32", name="words")
    scale = te.placeholder((n, k // 32) if transposed else (k // 32, n), "float32", name="scale")

    def unpacked(i: tir.Var, j: tir.Var) -> PrimExpr:
        step = j if transposed else i
        at = (i, step // 8) if transposed else (step // 8, j)
        word = tir.shift_right(words[at], (step % 8 * 4).astype("uint32"))
        level = tir.bitwise_and(word, tir.const(15, "uint32")).astype("float32")
        at = (i, step // 32) if transposed else (step // 32, j)
        return (level - 7.0) * scale[at]

    w = te.compute((n, k) if transposed else (k, n), unpacked, name="dequantize")
    r = te.reduce_axis((0, k), name="r")
    y = te.compute(
        (m, n),
        lambda i, j: te.sum(x[i, r] * (w[j, r] if transposed else w[r, j]), axis=r),
        name="y",
    )
    return te.create_prim_func([x, words, scale, y])


def elementwise(*shape: int | str) -> tir.PrimFunc:
    """Two elementwise steps."""
    extents = [te.var(s, "int32") if isinstance(s, str) else s for s in shape]
    a = te.placeholder(extents, name="A")
    b = te.compute(a.shape, lambda *i: a[i] + 1.0, name="B")
    return te.create_prim_func([a, te.compute(a.shape, lambda *i: b[i] * 2.0, name="C")])


def transpose(n: int | str, m: int | str, decode: bool = False) -> tir.PrimFunc:
    """A matrix transposed; or one of bytes taken out of words, transposed."""
    rows, columns = (te.var(s, "int32") if isinstance(s, str) else s for s in (n, m))
    if not decode:
        a = te.placeholder((rows, columns), name="A")
        return te.create_prim_func(
            [a, te.compute((columns, rows), lambda j, i: a[i, j], name="T_transpose")]
        )
    words = te.placeholder((rows // 4, columns), "uint32", name="A")
    b = te.compute(
        (rows, columns),
        lambda i, j: tir.bitwise_and(
            tir.shift_right(words[i // 4, j], (i % 4 * 8).astype("uint32")),
            tir.const(255, "uint32"),
        ).astype("float32"),
        name="decode",
    )
    return te.create_prim_func(
        [words, te.compute((columns, rows), lambda j, i: b[i, j], name="T_transpose")]
    )


def rms_norm(rows: int | str, n: int, dtype: str = "float32") -> tir.PrimFunc:
    """Rows over the root of their mean square, times weights."""
    m = te.var(rows, "int32") if isinstance(rows, str) else rows
    a = te.placeholder((1, m, n), dtype, name="A")
    w = te.placeholder((n,), dtype, name="w")
    wide = te.compute(a.shape, lambda *i: a[i].astype("float32"), name="wide")
    if dtype == "float32":
        wide = a
    square = te.compute(a.shape, lambda *i: wide[i] * wide[i], name="square")
    k = te.reduce_axis((0, n), name="k")
    total = te.compute((1, m), lambda i, j: te.sum(square[i, j, k], axis=k), name="total")
    root = te.compute((1, m), lambda i, j: tir.rsqrt(total[i, j] / n + 1e-5), name="rsqrt")
    norm = te.compute(
        a.shape, lambda i, j, l: wide[i, j, l] * root[i, j] * w[l].astype("float32"), name="norm"
    )
    if dtype == "float32":
        return te.create_prim_func([a, w, norm])
    return te.create_prim_func(
        [a, w, te.compute(a.shape, lambda *i: norm[i].astype(dtype), name="out")]
    )


def layer_norm(rows: int | str, n: int) -> tir.PrimFunc:
    """Rows less their mean, over their deviation."""
    m = te.var(rows, "int32") if isinstance(rows, str) else rows
    a = te.placeholder((m, n), name="A")
    k, r = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="r")
    first = te.compute((m,), lambda i: te.sum(a[i, k], axis=k), name="first")
    second = te.compute((m,), lambda i: te.sum(a[i, r] * a[i, r], axis=r), name="second")

    def element(i: tir.Var, j: tir.Var) -> PrimExpr:
        mean = first[i] / n
        return (a[i, j] - mean) * tir.rsqrt(second[i] / n - mean * mean + 1e-5)

    return te.create_prim_func([a, te.compute((m, n), element, name="norm")])
