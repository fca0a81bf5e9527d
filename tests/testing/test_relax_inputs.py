"""Arguments made up for Relax functions."""

import numpy as np
import pytest

from tvm.relax.interp import Shape
from tvm.script import relax as R
from tvm.testing.relax_inputs import NoSuchInput, random_relax_inputs

pytestmark = pytest.mark.pure


@R.function
def func(
    x: R.Tensor(("n", "m"), "float32"),
    pair: R.Tuple(R.Tensor(("n",), "int8"), R.Tensor((2,), "bool")),
    s: R.Shape(["m * 2"]),
    k: R.Prim("int64"),
):
    return x


@R.function
def unknown(x: R.Tensor("float32")):
    return x


def test_shapes_and_types_fit():
    x, (y, z), s, k = random_relax_inputs(func)
    assert (x.dtype, y.dtype, z.dtype) == ("float32", "int8", bool)
    assert y.shape == x.shape[:1]
    assert s == Shape((x.shape[1] * 2,))
    assert isinstance(k, int)


def test_same_seed_same_inputs():
    np.testing.assert_array_equal(random_relax_inputs(func)[0], random_relax_inputs(func)[0])
    other = random_relax_inputs(func, 1)[0]
    assert not np.array_equal(random_relax_inputs(func)[0], other)


def test_unknown_rank():
    with pytest.raises(NoSuchInput, match="no value can be made up for parameter x"):
        random_relax_inputs(unknown)
