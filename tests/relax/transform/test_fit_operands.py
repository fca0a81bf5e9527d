"""Operands whose extents nothing proves to fit: broadcasting is decided as the program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import ShapeError
from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.relax.interp import Interpreter
from tvm.relax.transform.fit_operands import FitOperands
from tvm.script import relax as R
from tvm.tir import SizeVar

Array = np.ndarray[Any, Any]
Shape = tuple[Any, ...] | int


def _module(shapes: list[Shape], make: Callable[..., Any]) -> IRModule:
    """One call of an operator; strings are symbols, a number says how many extents are open."""
    symbols: dict[str, SizeVar] = {}
    bb = relax.BlockBuilder()
    params = []
    for i, shape in enumerate(shapes):
        if isinstance(shape, int):
            info = R.Tensor(ndim=shape, dtype="float32")
        else:
            info = R.Tensor(
                [symbols.setdefault(one, SizeVar(one, "int64")) if isinstance(one, str) else one
                 for one in shape], "float32",
            )  # fmt: skip
        params.append(relax.Var(f"x{i}", info))
    with bb.function("main", params):
        with bb.dataflow():
            result = bb.emit_output(bb.normalize(make(*params)))
        bb.emit_func_output(result)
    return bb.get()


def _floats(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("float32")


def _norm(x: Any, gamma: Any, beta: Any) -> Any:
    return R.nn.layer_norm(x, gamma, beta, axes=[-1])


def _norm_numpy(x: Array, gamma: Array, beta: Array) -> Array:
    wide = x - x.mean(-1, keepdims=True)
    return wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def _picked(x: Any, i: Any, j: Any) -> Any:
    return R.index_tensor(x, [R.astype(R.ceil(i), "int64"), R.astype(R.ceil(j), "int64")])


ONES = np.ones(3, "float32")
# operator, meaning, shapes, arguments that fit, and such that do not
CASES: dict[str, tuple[Any, Any, list[Shape], list[list[Array]], list[Array]]] = {
    "add": (
        R.add, np.add, [("n", "k"), ("m", "k")],
        [[_floats(3, 2), _floats(3, 2)], [_floats(1, 2), _floats(3, 2)],
         [_floats(3, 2), _floats(1, 2)], [_floats(0, 2), _floats(1, 2)]],
        [_floats(3, 2), _floats(2, 2)],
    ),
    "less": (
        R.less, np.less, [("n", "m"), ("k",)], [[_floats(3, 2), _floats(1)]],
        [_floats(3, 2), _floats(3)],
    ),
    "where": (
        lambda x, y, z: R.where(R.less(x, y), y, z),
        lambda x, y, z: np.where(x < y, y, z), [("n",), ("m",), ("k", 1)],
        [[_floats(3), _floats(1), _floats(2, 1)]], [_floats(3), _floats(2), _floats(2, 1)],
    ),
    "concat": (
        lambda x, y: R.concat([x, y], 1), lambda x, y: np.concatenate([x, y], 1),
        [("n", "m"), ("k", 2)], [[_floats(3, 2), _floats(3, 2)]], [_floats(3, 2), _floats(1, 2)],
    ),
    "stack": (
        lambda x, y: R.stack([x, y], 1), lambda x, y: np.stack([x, y], 1),
        [("n", 2), ("k", 2)], [[_floats(3, 2), _floats(3, 2)]], [_floats(3, 2), _floats(1, 2)],
    ),
    "layer_norm": (
        _norm, _norm_numpy, [("n", "m"), ("k",), ("k",)],
        [[_floats(2, 3), _floats(3), _floats(3)]], [_floats(2, 3), _floats(2), _floats(2)],
    ),
    "matmul": (
        R.matmul, np.matmul, [("a", "n", 3), ("b", 3, "m")],
        [[_floats(1, 2, 3), _floats(4, 3, 2)], [_floats(4, 2, 3), _floats(4, 3, 2)]],
        [_floats(2, 2, 3), _floats(4, 3, 2)],
    ),
    "index_tensor": (
        _picked, lambda x, i, j: x[i.astype(int), j.astype(int)], [(4, 3), ("n",), ("m",)],
        [[_floats(4, 3), ONES, ONES[:1]]], [_floats(4, 3), ONES, ONES[:2]],
    ),
    "unknown extents": (
        lambda x, y: R.nn.softmax(R.add(R.nn.relu(x), y)),
        lambda x, y: np.exp(np.maximum(x, 0) + y) / np.exp(np.maximum(x, 0) + y).sum(
            -1, keepdims=True), [2, 1],
        [[_floats(3, 2), _floats(2)]], [_floats(3, 2), _floats(3)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_open_extents_are_fitted(case: str) -> None:
    make, meaning, shapes, fits, differs = CASES[case]
    mod = FitOperands()(_module(shapes, make))

    def run(*given: Array) -> Any:
        return Interpreter(mod).run("main", *given)

    for args in fits:
        wanted = meaning(*args)
        found = np.asarray(run(*args))
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ShapeError):
        run(*differs)


def test_they_are_compiled() -> None:
    def make(x: Any, y: Any, z: Any) -> Any:
        return R.concat([R.add(R.nn.relu(x), y), z], 0)

    vm = relax.VirtualMachine(
        tvm.compile(_module([2, ("k",), ("n", "m")], make), "llvm"), tvm.cpu()
    )

    def run(*args: Array) -> Array:
        found: Array = vm["main"](*map(tvm.runtime.tensor, args)).numpy()
        return found

    x, y, z = _floats(3, 2), _floats(1), _floats(4, 2)
    np.testing.assert_allclose(run(x, y, z), np.concatenate([np.maximum(x, 0) + y, z]))
    with pytest.raises(ShapeError, match="expects extent 2"):
        run(x, _floats(3), z)
    with pytest.raises(ShapeError, match="expects extent 2"):
        run(x, y, _floats(4, 1))


def test_what_is_proved_stays() -> None:
    before = _module([("n", "m"), ("m",)], R.add)
    assert_structural_equal(FitOperands()(before), before)
