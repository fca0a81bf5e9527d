import numpy as np
import pytest

from tvm.script import tir as T
from tvm.testing.random_inputs import random_inputs

pytestmark = pytest.mark.pure


@T.prim_func
def func(a: T.handle, b: T.handle, F: T.Buffer((3,), "bool"), H: T.Buffer((2,), "bfloat16"),
         k: T.int32, x: T.float32):  # fmt: skip
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m * 2 + k,), "int8")
    A[0, 0] = x


def test_shapes_and_types_fit():
    a, b, f, h, k, x = random_inputs(func)
    assert b.shape == (a.shape[1] * 2 + k,)
    assert (a.dtype, b.dtype, f.dtype) == ("float32", "int8", bool)
    assert h.dtype.name == "bfloat16"
    assert isinstance(k, int)
    assert isinstance(x, float)


def test_same_seed_same_inputs():
    for one, other in zip(random_inputs(func, 3), random_inputs(func, 3)):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(random_inputs(func, 3)[0], random_inputs(func, 4)[0])
