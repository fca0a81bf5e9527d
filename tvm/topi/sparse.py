"""Sparse matrices as three tensors: entries (or blocks), their columns, where each row starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr

from .loops import grid, load, loop, parallel, sequence, store
from .tag import BROADCAST


def _extern(
    shapes: Sequence[Any], inputs: Sequence[te.Tensor], dtypes: Sequence[str], body: Any, name: str
) -> Any:
    return te.extern(
        shapes, inputs, body, dtype=dtypes,
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(s, d, f"out{k}")
                     for k, (s, d) in enumerate(zip(shapes, dtypes))],
        name=name, tag=name,
    )  # fmt: skip


def _blocks(values: Any) -> tuple[Any, Any]:
    """Height and width of what an entry is."""
    return (values.shape[1], values.shape[2]) if len(values.shape) == 3 else (1, 1)


def _entries(
    ins: Sequence[tir.Buffer], row: PrimExpr, visit: Callable[[PrimExpr, PrimExpr, Any], tir.Stmt]
) -> tir.Stmt:
    """Do `visit(column, row within the block, value)` for all entries of a row."""
    values, columns, starts = ins
    tall, wide = _blocks(values)
    block, inner = tir.indexdiv(row, tall), tir.indexmod(row, tall)
    first = load(starts, block).astype("int32")
    count = load(starts, block + 1).astype("int32") - first

    def entry(at: PrimExpr, k: PrimExpr) -> tir.Stmt:
        position = first + at
        single = len(values.shape) == 1
        value = load(values, position) if single else load(values, position, inner, k)
        return visit(load(columns, position).astype("int32") * wide + k, inner, value)

    return grid((count, wide), entry, "e")


def product(
    dense: te.Tensor, data: te.Tensor, indices: te.Tensor, indptr: te.Tensor, sparse_lhs: bool
) -> te.Tensor:
    """(m, k) times the transpose of a sparse (n, k): (m, n); with `sparse_lhs` transposed."""
    height, rows = dense.shape[0], (indptr.shape[0] - 1) * _blocks(data)[0]
    shape = (rows, height) if sparse_lhs else (height, rows)

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        x, (out,) = ins[0], outs

        def element(i: PrimExpr, row: PrimExpr) -> tir.Stmt:
            at = (row, i) if sparse_lhs else (i, row)

            def add_entry(column: PrimExpr, _: PrimExpr, value: PrimExpr) -> tir.Stmt:
                return store(out, load(out, *at) + value * load(x, i, column), *at)

            return sequence(store(out, 0, *at), _entries(ins[1:], row, add_entry))

        return parallel(height, lambda i: loop(rows, lambda row: element(i, row), "row"), "i")

    inputs = [dense, data, indices, indptr]
    made: te.Tensor = _extern([shape], inputs, [str(dense.dtype)], body, "sparse_dense")
    return made


def add(
    dense: te.Tensor, data: te.Tensor, indices: te.Tensor, indptr: te.Tensor
) -> te.Tensor:
    """A matrix plus a sparse one."""
    rows, columns = dense.shape

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        x, (out,) = ins[0], outs

        def row(i: PrimExpr) -> tir.Stmt:
            copy = grid((columns,), lambda j: store(out, load(x, i, j), i, j), "c")
            more = _entries(
                ins[1:], i, lambda j, _, value: store(out, load(out, i, j) + value, i, j)
            )
            return sequence(copy, more)

        return parallel(rows, row, "i")

    inputs = [dense, data, indices, indptr]
    made: te.Tensor = _extern([dense.shape], inputs, [str(dense.dtype)], body, "sparse_add")
    return made


def _is_csr(matrix: Any) -> bool:
    return getattr(matrix, "stype", None) == "csr"


def _parts(matrix: Any, name: str) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """The tensors of a placeholder of `tvm.contrib.sparse`."""
    if not _is_csr(matrix):
        raise TypeError(
            message(
                f"{name}: the sparse matrix",
                found=f"a {type(matrix).__name__}",
                legal="tvm.contrib.sparse.placeholder(shape, nonzeros)",
            )
        )
    return matrix.data, matrix.indices, matrix.indptr


def _plus(matrix: te.Tensor, bias: te.Tensor | None, axis: int, name: str) -> te.Tensor:
    """A number more for each row (axis 0) or column (axis 1)."""
    if bias is None:
        return matrix
    if bias.ndim != 1:
        raise ShapeError(
            message(f"{name}: bias", found=f"{bias.ndim} dimensions", legal="one dimension")
        )
    made: te.Tensor = te.compute(
        matrix.shape, lambda *i: matrix(*i) + bias(i[axis]), name=f"{name}_bias", tag=BROADCAST
    )
    return made


def csrmm(a: Any, b: te.Tensor, c: te.Tensor | None = None) -> te.Tensor:
    """A sparse matrix (m, k) times (k, n), plus a bias for each row (m,): (m, n)."""
    columns = te.compute((b.shape[1], b.shape[0]), lambda i, j: b(j, i), name="columns")
    return _plus(product(columns, *_parts(a, "csrmm"), sparse_lhs=True), c, 0, "csrmm")


def csrmv(a: Any, x: te.Tensor, y: te.Tensor | None = None) -> te.Tensor:
    """A sparse matrix (m, k) times a column (k, 1), plus a bias (m,): (m, 1)."""
    if x.ndim != 2 or not bool(x.shape[1] == 1):
        raise ShapeError(message("csrmv: the vector", found=str(x.shape), legal="(k, 1)"))
    return csrmm(a, x, y)


def dense(data: Any, weight: Any, bias: te.Tensor | None = None) -> te.Tensor:
    """(m, k) times the transpose of (n, k), plus a bias (n,): (m, n). One of both is sparse."""
    sparse_data = _is_csr(data)
    matrix, whole = (data, weight) if sparse_data else (weight, data)
    made = product(whole, *_parts(matrix, "dense"), sparse_lhs=sparse_data)
    return _plus(made, bias, 1, "dense")


def transpose(data: te.Tensor, indices: te.Tensor, indptr: te.Tensor) -> list[te.Tensor]:
    """The transpose of a square sparse matrix of single entries."""
    count, rows = data.shape[0], indptr.shape[0] - 1

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        values, columns, starts = ins
        new_values, new_columns, new_starts = outs

        def column_of(at: PrimExpr) -> PrimExpr:
            return load(columns, at).astype("int32")

        def bump(at: PrimExpr) -> tir.Stmt:
            c = column_of(at)
            return store(new_starts, load(new_starts, c + 1) + 1, c + 1)

        def visit_row(row: PrimExpr) -> tir.Stmt:
            first = load(starts, row).astype("int32")

            def move(k: PrimExpr) -> tir.Stmt:
                c = column_of(first + k)
                to = load(new_starts, c).astype("int32")
                return sequence(
                    store(new_values, load(values, first + k), to),
                    store(new_columns, row.astype(str(indices.dtype)), to),
                    store(new_starts, load(new_starts, c) + 1, c),
                )

            return loop(load(starts, row + 1).astype("int32") - first, move, "k")

        def back(k: PrimExpr) -> tir.Stmt:
            """Each start has moved to that of the next row."""
            return store(new_starts, load(new_starts, rows - 1 - k), rows - k)

        return sequence(
            loop(rows + 1, lambda k: store(new_starts, 0, k), "z"),
            loop(count, bump, "n"),
            loop(rows, lambda k: store(
                new_starts, load(new_starts, k) + load(new_starts, k + 1), k + 1), "s"),
            loop(rows, visit_row, "row"),
            loop(rows, back, "b"),
            store(new_starts, 0, 0),
        )  # fmt: skip

    inputs = [data, indices, indptr]
    dtypes = [str(t.dtype) for t in inputs]
    return list(_extern([t.shape for t in inputs], inputs, dtypes, body, "sparse_transpose"))
