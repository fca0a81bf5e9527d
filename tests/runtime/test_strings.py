"""Tensors of strings as codes."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.error import ArgumentValueError
from tvm.runtime import strings

LONG = "a string that is longer than a code"


def test_codes() -> None:
    texts = np.array(["", "a", "1234567", "12345678", LONG, "ß" * 9, "\0"], object).reshape(7, 1)
    codes = strings.encode(texts)
    np.testing.assert_array_equal(strings.decode(codes), texts)
    assert len(set(codes.numpy().reshape(-1).tolist())) == 7
    with pytest.raises(TypeError, match="found: int\n  legal: strings"):
        strings.encode([1])
    with pytest.raises(ArgumentValueError, match="which this process has not seen"):
        strings.decode(np.array([-5]))
    with pytest.raises(TypeError, match="found: float32\n  legal: codes, of int64"):
        strings.decode(np.zeros(2, "float32"))
