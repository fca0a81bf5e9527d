"""Constant arrays."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.backend.c.constants import constant_text
from tvm.ir.host_tensor import HostTensor
from tvm.support.dtype import DataType

pytestmark = pytest.mark.pure


def text_of(values: np.ndarray, kind: str) -> str:
    dtype = DataType(values.dtype)
    return constant_text("w", kind, dtype, HostTensor(values))


def test_values_are_written_out() -> None:
    head = "static const float w[3] __attribute__((aligned(64))) = {\n"
    floats = np.array([1, -0.5, np.inf], "float32")
    assert text_of(floats, "float") == head + "  1.0f, -0.5f, INFINITY,\n};"
    assert "  1, 0,\n" in text_of(np.array([True, False]), "uint8_t")
    assert "w[1]" in text_of(np.zeros((0,), "int8"), "int8_t")


def test_long_arrays_are_in_lines_of_bounded_width() -> None:
    lines = text_of(np.arange(1000, dtype="int32"), "int32_t").splitlines()
    assert len(lines) > 40
    assert max(map(len, lines)) <= 100
