"""Data types as numpy has them."""

from __future__ import annotations

import pytest

from tvm.error import DTypeError
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.support.dtype import DataType

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("name", ["float32", "bool", "int8", "bfloat16", "float8_e4m3fn"])
def test_names_stay(name: str) -> None:
    assert numpy_dtype(DataType(name)).name == name


def test_vectors_are_their_elements() -> None:
    assert numpy_dtype(DataType("float32x4")).name == "float32"


def test_others_are_refused() -> None:
    with pytest.raises(DTypeError, match="no data type 'handle'"):
        numpy_dtype(DataType("handle"))
