"""Compiled functions on PyTorch's tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.contrib.dlpack import convert_func, to_pytorch_func
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def scaled(A: T.Buffer((4, 5), "float32"), by: T.float32, B: T.Buffer((4, 5), "float32")):
    for i, j in T.grid(4, 5):
        B[i, j] = A[i, j] * by


def test_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    func = to_pytorch_func(tvm.compile(scaled, target="llvm"))
    given, out = torch.rand(4, 5, requires_grad=True), torch.zeros(4, 5)
    func(given, 2.0, out)
    np.testing.assert_allclose(out.numpy(), given.detach().numpy() * 2)


def test_tensors_of_any_library() -> None:
    func = convert_func(tvm.compile(scaled, target="llvm"), np.ndarray, lambda array: array)
    given, out = np.arange(20, dtype="float32").reshape(4, 5), np.zeros((4, 5), "float32")
    func(given, 3.0, out)
    np.testing.assert_array_equal(out, given * 3)
    with pytest.raises(TypeError, match="found: int"):
        convert_func(3, np.ndarray, lambda array: array)  # type: ignore[arg-type]
