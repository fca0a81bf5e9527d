from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure
nn = topi.nn


def test_constant() -> None:
    x = floats(3, 4)
    close(evaluate(lambda a: nn.pad(a, [1, 0], [2, 3], 7.0), x),
          np.pad(x, [(1, 2), (0, 3)], constant_values=7))  # fmt: skip
    close(evaluate(lambda a: nn.pad(a, [1, 2]), x, symbolic=True), np.pad(x, [(1, 1), (2, 2)]))
    assert [int(s) for s in nn.pad(te.placeholder((3, 4)), [1, 0], [2, 3]).shape] == [6, 7]


@pytest.mark.parametrize(
    ("name", "mode", "extra"),
    [
        ("mirror_pad", "symmetric", ["SYMMETRIC"]),
        ("mirror_pad", "reflect", ["REFLECT"]),
        ("reflect_pad", "reflect", []),
        ("replicate_pad", "edge", []),
        ("circular_pad", "wrap", []),
    ],
)
def test_from_the_edges(name: str, mode: str, extra: list[str]) -> None:
    x = floats(3, 4)
    op = lambda a: getattr(nn, name)(a, [0, 3], [2, 1], *extra)
    close(evaluate(op, x), np.pad(x, [(0, 2), (3, 1)], mode=mode))


def test_refuses() -> None:
    x = te.placeholder((3, 4))
    with pytest.raises(ShapeError, match=r"pad_before dismatch : 2 vs 1"):
        nn.pad(x, [1])
    with pytest.raises(ValueError, match=r"mode 'EDGE'"):
        nn.mirror_pad(x, [1, 1], mode="EDGE")


@pytest.mark.parametrize(
    ("pad", "most"), [(topi.nn.reflect_pad, 2), (topi.nn.circular_pad, 3), (topi.nn.mirror_pad, 3)]
)
def test_no_more_than_there_is(pad: Any, most: int) -> None:
    """What lies further out would be memory of others."""
    data = te.placeholder((2, 3), name="data")
    pad(data, [0, most], [0, most])
    for before, after in (([0, most + 1], [0, 0]), ([0, 0], [0, 9])):
        with pytest.raises(ShapeError, match=r"axis 1 of data\n  found: .* beside 3\n"):
            pad(data, before, after)
