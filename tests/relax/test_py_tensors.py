"""Tensors between Python and compiled functions."""

import sys

import numpy as np
import pytest

import tvm
from tvm.error import TVMError
from tvm.relax import py_tensors as p

pytestmark = pytest.mark.cpu
X = np.arange(6, dtype="float32").reshape(2, 3)


def test_values_for_compiled_functions():
    made = p.to_runtime([X, np.float32(2), 3, "word"], tvm.cpu())
    assert isinstance(made[0], tvm.runtime.Tensor)
    assert made[1:] == [2.0, 3, "word"]
    assert p.to_runtime(made[0], tvm.cpu()) is made[0]


def test_values_for_numpy():
    nested = (tvm.runtime.tensor(X), (X, 4))
    found = p.to_numpy(nested)
    np.testing.assert_array_equal(found[0], X)
    assert found[1][1] == 4


def test_results_are_of_the_kind_of_the_arguments():
    tensor = tvm.runtime.tensor(X)
    assert p.same_kind_as([X, (1, 2)])(tensor) is tensor
    assert not p.is_torch(X)


def test_shapes_follow_from_arguments():
    assert p.shape_from_arguments([None, 5], [X, 3], "f") == (2, 5)
    assert p.shape_from_arguments([None], [X], "f") == (2,)
    with pytest.raises(TVMError, match=r"f: extent 0 of the result"):
        p.shape_from_arguments([None], [3], "f")
    assert p.shapes_of([X, [X]]) == [(2, 3), (2, 3)]


def test_torch_lends_and_borrows_memory():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32)
    ours = p.to_runtime(x, tvm.cpu())
    x[0] = 9
    assert ours.numpy()[0] == 9
    theirs = p.to_torch((ours, X))
    assert all(isinstance(one, torch.Tensor) for one in theirs)
    assert isinstance(p.same_kind_as([x])(ours), torch.Tensor)
    assert p.torch() is sys.modules["torch"]
