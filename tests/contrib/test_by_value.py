"""Values that go to another process and come back the same."""

from __future__ import annotations

import math
import sys
import types

import numpy as np
import pytest

import tvm
from tvm.contrib.by_value import from_bytes, to_bytes
from tvm.script import tir as T

pytestmark = pytest.mark.cpu
FACTOR = 3


def again(value: object) -> object:
    return from_bytes(to_bytes(value))


def test_functions_without_a_name_of_their_own() -> None:
    offset = 10

    def scaled(x: int, *, more: int = 1) -> int:
        return FACTOR * x + offset + more

    def factorial(n: int) -> int:
        return 1 if n == 0 else n * factorial(n - 1)

    assert again(scaled)(2) == 17
    assert again(scaled)(2, more=0) == 16
    assert again(factorial)(5) == 120
    assert again(lambda x: [math.sqrt(y) for y in x])([4.0]) == [2.0]
    assert again(math.sqrt) is math.sqrt
    assert again(again) is again


def test_programs_and_tensors() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)

    mod = tvm.IRModule({"main": func})
    tvm.ir.assert_structural_equal(again(mod), mod)
    values = tvm.runtime.tensor(np.arange(4, dtype="float32"))
    np.testing.assert_array_equal(again(values).numpy(), np.arange(4))
    assert again({"a": (1, np.ones(2).tolist(), None)}) == {"a": (1, [1.0, 1.0], None)}


def test_functions_of_modules_that_were_not_imported_go_by_value() -> None:
    made = types.ModuleType("made_here")
    sys.modules["made_here"] = made
    try:
        exec("def double(x):\n    return 2 * x", made.__dict__)
        data = to_bytes(made.double)
    finally:
        del sys.modules["made_here"]
    assert from_bytes(data)(21) == 42
