"""Inputs for built programs, and what they make of them."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.meta_schedule.testing.tune_utils import create_calculator, generate_input_data

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("dtype", ["float16", "float64", "uint8", "int8", "int32", "uint64"])
def test_arrays_of_each_type(dtype: str) -> None:
    data = generate_input_data([4, 33], dtype)
    assert data.shape == (4, 33)
    assert data.dtype == dtype
    assert len(np.unique(data)) > 20


def test_ranges_of_integers() -> None:
    data = generate_input_data([100], "int32", low=5, high=7)
    assert set(data.tolist()) == {5, 6}
    assert generate_input_data([10], "int16", low=-3, high=-2).tolist() == [-3] * 10
    with pytest.raises(ValueError, match=r"Unsupported input datatype! found: 'int16'"):
        generate_input_data([1], "int16")


def test_a_program_runs_on_named_inputs() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1, name="b")
    built = tvm.compile(te.create_prim_func([a, b]), target="llvm")
    inputs = {"b": np.zeros(4, "float32"), "a": np.arange(4, dtype="float32")}
    tensors = {name: tvm.runtime.tensor(value) for name, value in inputs.items()}
    _, result = create_calculator("tir")(built, tvm.cpu(), tensors)
    assert result.numpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="Backend graph not supported"):
        create_calculator("graph")
