from __future__ import annotations

import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("left", "right"), [(a, b) for a in (False, True) for b in (False, True)])
def test_matmul(left: bool, right: bool) -> None:
    a, b, bias = floats(2, 3, 5), floats(5, 4, seed=1), floats(4, seed=2)
    x, y = a.swapaxes(1, 2) if left else a, b.T if right else b
    op = lambda p, q, r: topi.nn.matmul(p, q, r, transpose_a=left, transpose_b=right)
    close(evaluate(op, x, y, bias), a @ b + bias, 1e-4, 1e-5)


def test_batches_are_broadcast() -> None:
    a, b = floats(2, 1, 3, 5), floats(4, 5, 6, seed=1)
    close(evaluate(topi.nn.matmul, a, b), a @ b, 1e-4, 1e-5)


def test_dense() -> None:
    x, w, b = floats(3, 5), floats(4, 5, seed=1), floats(4, seed=2)
    close(evaluate(topi.nn.dense, x, w, b), x @ w.T + b, 1e-4, 1e-5)
    close(evaluate(topi.nn.dense, x, w, b, symbolic=True), x @ w.T + b, 1e-4, 1e-5)
    packed = w.reshape(2, 2, 5).transpose(0, 2, 1)
    close(evaluate(topi.nn.dense_pack, x, packed, b), x @ w.T + b, 1e-4, 1e-5)
    half = evaluate(
        lambda p, q: topi.nn.dense(p, q, None, "float32"), x.astype("float16"), w.astype("float16")
    )
    assert half.dtype == "float32"
    assert topi.nn.dense(te.placeholder((3, 5)), te.placeholder((4, 5))).op.name == "T_matmul_NT"


def test_refuses() -> None:
    a = te.placeholder((3, 5))
    with pytest.raises(ShapeError, match=r"do not match. 5 vs 3"):
        topi.nn.matmul(a, a)
    with pytest.raises(ShapeError, match=r"1-dim matmul"):
        topi.nn.matmul(a, te.placeholder((5,)))
    with pytest.raises(ShapeError, match=r"2 vs 3"):
        topi.nn.matmul(te.placeholder((2, 3, 5)), te.placeholder((3, 5, 4)))


def test_bias_is_a_stage_of_its_own() -> None:
    x, w, b = te.placeholder((4, 8)), te.placeholder((3, 8)), te.placeholder((3,))
    found = topi.nn.dense(x, w, b, "float16")
    assert found.op.name == "T_add"
    product, bias = found.op.input_tensors
    assert (product.op.name, bias.op.name, str(bias.dtype)) == ("T_matmul_NT", "compute", "float16")
