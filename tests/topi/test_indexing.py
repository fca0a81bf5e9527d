from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi
from tvm.error import ShapeError
from tvm.topi import indexing

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_take(axis: Any) -> None:
    x, i = floats(3, 4), np.array([[0, 2], [1, 1]], "int32")
    close(evaluate(lambda a, b: topi.take(a, b, axis), x, i), np.take(x, i, axis))


@pytest.mark.parametrize("mode", ["clip", "wrap", "nan"])
def test_take_beyond_the_end(mode: str) -> None:
    x, i = floats(4), np.array([-9, -1, 0, 3, 5], "int32")
    if mode == "nan":
        wanted = np.where((i >= 0) & (i < 4), x[np.clip(i, 0, 3)], np.nan)
    else:
        wanted = np.take(x, i, 0, mode=mode)
    close(evaluate(lambda a, b: topi.take(a, b, 0, mode=mode), x, i), wanted)


def test_take_with_batches() -> None:
    x, i = floats(2, 4, 3), np.array([[0, 3], [2, 2]], "int64")
    wanted = np.stack([x[b][i[b]] for b in range(2)])
    close(evaluate(lambda a, b: topi.take(a, b, 1, batch_dims=1), x, i), wanted)


def test_gather() -> None:
    x = floats(3, 4)
    i = rng().integers(0, 3, (2, 4)).astype("int64")
    close(evaluate(lambda a, b: topi.gather(a, 0, b), x, i), np.take_along_axis(x, i, 0))
    nd = np.array([[0, 2, 1], [3, 0, 1]], "int32")
    close(evaluate(topi.gather_nd, x, nd), x[nd[0], nd[1]])
    batch = np.array([[0, 2, 1]], "int32")
    close(evaluate(lambda a, b: topi.gather_nd(a, b, 1), x, batch), x[np.arange(3), batch[0]])


def test_index_tensors() -> None:
    x = floats(3, 4, 5)
    i, j = np.array([[0], [2]], "int64"), np.array([1, 3, 0], "int64")
    close(evaluate(lambda a, *b: topi.adv_index(a, b), x, i, j), x[i, j])
    close(evaluate(lambda a, *b: topi.index_tensor(a, [b[0], None, b[1]]), x, i, j), x[i, :, j])
    signed = indexing.index_tensor_of_any_sign
    close(evaluate(lambda a, b: signed(a, [None, b]), x, j - 1), x[:, j - 1])
    close(evaluate(lambda a, *b: signed(a, [b[0], None, b[1]]), x, i, j - 3), x[i, :, j - 3])
    with pytest.raises(ShapeError, match=r"every index is None"):
        topi.index_tensor(te.placeholder((3,)), [None])


def test_where() -> None:
    c, x, y = rng().random((3, 1)) > 0.5, floats(3, 4), floats(4, seed=1)
    close(evaluate(topi.where, c, x, y), np.where(c, x, y))
    close(evaluate(topi.where, c.astype("int32"), x, y, dtype="int64"), np.where(c, x, y))
    with pytest.raises(ShapeError, match=r"one type"):
        topi.where(*(te.placeholder((3,), d) for d in ("bool", "int32", "float32")))


def test_one_hot() -> None:
    i = np.array([[0, 2], [1, 5]], "int32")
    wanted = np.where(np.arange(4) == i[..., None], 2.0, -1.0).astype("float32")
    hot = lambda axis: lambda a: topi.one_hot(a, 2.0, -1.0, 4, axis, "float32")
    close(evaluate(hot(-1), i), wanted)
    close(evaluate(hot(0), i), np.moveaxis(wanted, -1, 0))


def test_sequence_mask() -> None:
    x, n = floats(4, 3, 2), np.array([1, 4, 2], "int32")
    wanted = np.where((np.arange(4)[:, None] < n)[..., None], x, -9)
    close(evaluate(lambda a, b: topi.sequence_mask(a, b, -9, 0), x, n), wanted)
    turned = x.transpose(1, 0, 2)
    got = evaluate(lambda a, b: topi.sequence_mask(a, b, -9, 1), turned, n)
    close(got, wanted.transpose(1, 0, 2))


def test_unravel_index() -> None:
    i, shape = np.array([0, 7, 22, 23], "int64"), np.array([2, 3, 4], "int64")
    close(evaluate(topi.unravel_index, i, shape), np.stack(np.unravel_index(i, shape)))


def test_sparse_to_dense() -> None:
    places, values = np.array([[0, 1], [2, 0]], "int32"), np.array([5, 7], "float32")
    wanted = np.full((3, 2), -1, "float32")
    wanted[0, 1], wanted[2, 0] = 5, 7
    dense = lambda i, v: topi.sparse_to_dense(i, (3, 2), v, -1.0)
    close(evaluate(dense, places, values), wanted)


def test_matrix_set_diag() -> None:
    x, d = floats(2, 3, 4), floats(2, 3, seed=1)
    wanted = x.copy()
    wanted[:, range(3), range(3)] = d
    close(evaluate(topi.matrix_set_diag, x, d), wanted)
    band = floats(2, 2, 3, seed=2)
    wanted = x.copy()
    wanted[:, range(3), [1, 2, 3]] = band[:, 0]
    wanted[:, range(3), range(3)] = band[:, 1]
    close(evaluate(lambda a, b: topi.matrix_set_diag(a, b, (0, 1)), x, band), wanted)


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_triangles(k: int) -> None:
    x = floats(2, 4, 5)
    close(evaluate(lambda a: topi.trilu(a, k, True), x), np.triu(x, k))
    close(evaluate(lambda a: topi.trilu(a, k, False), x), np.tril(x, k))


def test_refuses() -> None:
    a, i = te.placeholder((3, 4)), te.placeholder((3,), "int32")
    with pytest.raises(ValueError, match=r"mode 'far'"):
        topi.take(a, i, 0, mode="far")
    with pytest.raises(ShapeError, match=r"as many of each"):
        topi.gather(a, 0, i)
    with pytest.raises(ShapeError, match=r"at most as many"):
        topi.gather_nd(a, te.placeholder((3, 2), "int32"))


def test_what_lies_beyond_a_sequence_is_not_read() -> None:
    data = te.placeholder((4, 2), "float32", name="data")
    length = te.placeholder((2,), "int32", name="length")
    text = te.create_prim_func([data, length, topi.sequence_mask(data, length, 7)]).script()
    assert "T.if_then_else(length[v_ax1] <= v_ax0, T.float32(7.0), data[v_ax0, v_ax1])" in text


def test_diagonals_are_chosen_one_bound_at_a_time() -> None:
    x, d = te.placeholder((4, 5), name="x"), te.placeholder((3, 4), name="d")
    text = te.create_prim_func([x, d, topi.matrix_set_diag(x, d, (-1, 1), "LEFT_RIGHT")]).script()
    chosen = "T.if_then_else(-1 <= v_ax1 - v_ax0, T.if_then_else(v_ax1 - v_ax0 <= 1, d["
    assert chosen in text
