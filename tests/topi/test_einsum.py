from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
        ("ii->i", [(4, 4)]),
        ("ij->", [(3, 4)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,jk->...ik", [(2, 3, 4), (4, 5)]),
        ("bi, bj -> bij", [(2, 3), (2, 4)]),
        ("i,i,i->i", [(3,), (3,), (3,)]),
    ],
)
def test_sums(text: str, shapes: list[tuple[int, ...]]) -> None:
    parts = [floats(*s, seed=k) for k, s in enumerate(shapes)]
    close(evaluate(lambda *t: topi.einsum(text, *t), *parts), np.einsum(text, *parts), 1e-4, 1e-5)


def test_refuses() -> None:
    a = te.placeholder((3, 4))
    with pytest.raises(ShapeError, match=r"one operand for each term"):
        topi.einsum("ij,jk->ik", a)
    with pytest.raises(ShapeError, match=r"one letter for each dimension"):
        topi.einsum("ijk->k", a)
    with pytest.raises(ShapeError, match=r"letter 'j'\n.*extents 4 and 3"):
        topi.einsum("ij,jk->ik", a, a)
    with pytest.raises(ShapeError, match=r"no operand has the letter 'z'"):
        topi.einsum("ij->z", a)


def test_sums_run_over_letters_in_their_order() -> None:
    """The operands name z first; loops are ordered by the alphabet, whoever names them."""
    a, b = te.placeholder((3, 4), name="A"), te.placeholder((4, 5), name="B")
    out = topi.einsum("zy,yx->", a, b)
    assert [axis.var.name for axis in out.op.reduce_axis] == ["x", "y", "z"]
    assert [int(axis.dom.extent) for axis in out.op.reduce_axis] == [5, 4, 3]
