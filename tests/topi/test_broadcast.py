from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, tir, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure

FLOATS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "floor_divide": np.floor_divide,
    "floor_mod": np.mod, "mod": np.fmod, "log_add_exp": np.logaddexp, "greater": np.greater,
    "less": np.less, "equal": np.equal, "not_equal": np.not_equal,
    "greater_equal": np.greater_equal, "less_equal": np.less_equal,
}  # fmt: skip
INTEGERS = {
    "left_shift": np.left_shift, "right_shift": np.right_shift, "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "floor_divide": np.floor_divide,
    "floor_mod": np.mod, "mod": np.fmod, "divide": lambda a, b: np.trunc(a / b).astype("int32"),
    "logical_xor": np.bitwise_xor,
}  # fmt: skip
BOOLS = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(
    "shapes", [((3, 4), (3, 4)), ((3, 1), (4,)), ((2, 1, 4), (3, 1)), ((), (2,))]
)
def test_floats(name: str, shapes: Any) -> None:
    a, b = (floats(*s, seed=k) for k, s in enumerate(shapes))
    wanted = FLOATS[name](a, b)
    close(evaluate(getattr(topi, name), a, b), wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    a = rng().integers(-20, 20, (4, 5)).astype("int32")
    b = rng(1).integers(1, 5, (5,)).astype("int32")
    close(evaluate(getattr(topi, name), a, b), INTEGERS[name](a, b))


@pytest.mark.parametrize("name", BOOLS)
def test_bools(name: str) -> None:
    a, b = rng().random((4, 4)) > 0.5, rng(1).random(4) > 0.5
    close(evaluate(getattr(topi, name), a, b), BOOLS[name](a, b))


def test_one_operand_and_numbers() -> None:
    x = rng().integers(-9, 9, (6,)).astype("int32")
    close(evaluate(topi.bitwise_not, x), ~x)
    close(evaluate(topi.logical_not, x > 0), x <= 0)
    close(evaluate(lambda a: topi.subtract(3, a), x), 3 - x)
    close(evaluate(lambda a: topi.power(a, 2.0), floats(5) ** 2), (floats(5) ** 2) ** 2)
    assert isinstance(topi.add(te.var("n"), 1), tir.PrimExpr)


def test_symbolic_extents() -> None:
    a, b = floats(3, 4), floats(3, 4, seed=1)
    close(evaluate(topi.add, a, b, symbolic=True), a + b)
    n = te.var("n")
    x, y = te.placeholder((n, 1)), te.placeholder((1, 7))
    assert [str(s) for s in topi.add(x, y).shape] == [str(n), "7"]


def test_broadcast_to() -> None:
    x = floats(3, 1)
    close(evaluate(lambda a: topi.broadcast_to(a, (2, 3, 4)), x), np.broadcast_to(x, (2, 3, 4)))
    with pytest.raises(ShapeError, match=r"does not become"):
        topi.broadcast_to(te.placeholder((3,)), (1,))
    with pytest.raises(ShapeError, match=r"at least as many dimensions"):
        topi.broadcast_to(te.placeholder((3, 3)), (3,))


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ShapeError) as error:
        topi.add(te.placeholder((3, 4)), te.placeholder((5,)))
    assert str(error.value) == (
        "Incompatible broadcast dims: 4 and 5\n"
        "  found: shapes (3, 4) and (5)\n"
        "  legal: equal extents, or one of them 1"
    )


def test_names() -> None:
    a = te.placeholder((3,))
    assert topi.add(a, a).op.name == "T_add"
    assert [v.var.name for v in topi.add(a, a).op.axis] == ["ax0"]


def test_a_common_extent_has_the_wider_index_type() -> None:
    n = tir.Var("n", "int64")
    narrow = te.placeholder((4, 1, 5), "float32", name="a")
    wide = te.placeholder((n, tir.IntImm("int64", 3), tir.IntImm("int64", 1)), "float32", name="b")
    assert [str(extent.dtype) for extent in topi.add(narrow, wide).shape] == ["int64"] * 3
    one = te.placeholder((tir.IntImm("int64", 1),), "float32", name="c")
    assert str(topi.broadcast_to(one, (4,)).shape[0].dtype) == "int64"
    m = tir.Var("m", "int32")
    assert topi.broadcast_to(one, (m,)).shape[0].same_as(m)
