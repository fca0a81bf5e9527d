"""Functions of one operator, on torch's tensors and in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.relax.py_tensors import to_numpy
from tvm.relax.pyfunc.torch_operators import OPERATOR_MAP
from tvm.relax.relax_to_pyfunc_converter import RelaxExpressionConverter

Build = Callable[..., Any]
RNG = np.random.default_rng(0)


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray[Any, Any]:
    return RNG.uniform(low, high, shape).astype("float32")


def ints(*shape: int, low: int = 0, high: int = 4, dtype: str = "int64") -> np.ndarray[Any, Any]:
    return RNG.integers(low, high, shape).astype(dtype)


def function_of(build: Build, arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(array.shape, str(array.dtype)))
        for i, array in enumerate(arrays)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(build(*params)))
    return bb.get()["main"]


def assert_same_in_torch(
    name: str, build: Build, arrays: Sequence[np.ndarray[Any, Any]], by_torch: bool = True
) -> None:
    """The operator ran in torch, and what it gave is what numpy gives, in type, shape and value."""
    torch = pytest.importorskip("torch")
    func = function_of(build, arrays)
    wanted = RelaxExpressionConverter(OPERATOR_MAP).convert_expr(func, list(arrays))
    used: dict[str, str] = {}
    converter = RelaxExpressionConverter(OPERATOR_MAP, op_cache=used)
    # one torch tensor among the arguments says that the function is torch's
    given = [torch.from_numpy(array.copy()) for array in arrays]
    found = converter.convert_expr(func, given)
    assert (f"relax.{name}" in used) is by_torch
    pairs = zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]
    for have, want in pairs:
        assert isinstance(have, torch.Tensor)
        got = to_numpy(have)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
