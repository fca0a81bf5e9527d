import numpy as np
import pytest

import tvm
from tvm.tir import TensorIntrin
from tvm.tir.interp import run
from tvm.tir.tensor_intrin.transposition import transposition


@pytest.mark.parametrize("size", [2, 4, 8, 16])
@pytest.mark.parametrize("gaps", [(0, 0), (1, 0), (0, 2)])
def test_code_does_what_it_means(size, gaps):
    intrin = TensorIntrin.get(transposition(size, "int32", *gaps))
    shapes = [(size, *[1] * gap, size) for gap in gaps]
    data = np.arange(size * size, dtype="int32").reshape(shapes[0])
    for func in (intrin.desc, intrin.impl):
        found = np.zeros(shapes[1], "int32")
        run(func, data.copy(), found)
        assert (found.reshape(size, size) == data.reshape(size, size).T).all()


@pytest.mark.parametrize(("rows", "size"), [(7, 8), (14, 16), (3, 4), (1, 2)])
@pytest.mark.parametrize("gap", [0, 1])
def test_first_rows_of_a_square(rows, size, gap):
    intrin = TensorIntrin.get(transposition(size, "int32", 0, gap, rows))
    data = np.arange(rows * size, dtype="int32").reshape(rows, size)
    for func in (intrin.desc, intrin.impl):
        found = np.zeros((size, *[1] * gap, rows), "int32")
        run(func, data.copy(), found)
        assert (found.reshape(size, rows) == data.T).all()
    assert transposition(size, "int32", 0, gap, rows) != transposition(size, "int32", 0, gap)


def test_a_name_is_made_once():
    assert transposition(4, "float32") == transposition(4, "float32")
    assert transposition(4, "float32") != transposition(4, "float64")
    assert tvm.tir.TensorIntrin.get(transposition(4, "float32")) is not None
