"""Odd cases of padding."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import tir
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_shapes() -> None:
    shape = shape_of(op.nn.pad(var(N, 3), [1, 2, 0, 1]))
    assert tir.interp.evaluate(shape[0], {N: 4}) == 7
    assert shape[1] == 4
    assert op.nn.pad(var(N, 3), [(1, 2), (0, 1)]).attrs.pad_width == (1, 2, 0, 1)
    assert shape_of(op.nn.pixel_shuffle(var(N, 8, 2, 3), 2)) == (N, 2, 4, 6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.nn.pad(var(2, 3), [1, 1]), "two numbers for each dimension"),
        (lambda: op.nn.pixel_shuffle(var(7, 2, 2), 2), "no multiple of upscale_factor squared"),
        (lambda: op.nn.pixel_shuffle(var(8, 2), 2), "at least 3 dimensions"),
        (lambda: op.nn.pixel_shuffle(var(8, 2, 2), 0), "upscale_factor must be positive"),
    ],
)
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="legal: constant, reflect, replicate, circular"):
        op.nn.pad(var(2), [1, 1], "mirror")
