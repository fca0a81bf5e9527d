"""Operators on tensors in torch agree with their meaning in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax, tir
from tvm.relax import op

from .torch_running import Build, assert_same_in_torch, floats, ints

pytestmark = pytest.mark.cpu
X = floats(2, 4, 6)
P = ints(2, 4, 6, high=2)


def _shape(x: Any) -> Any:
    return op.reshape(x, (8, -1))


def c(value: Any, dtype: str = "float32") -> Any:
    return relax.const(value, dtype)


# name, or name and what is special: the call, its tensors
CASES: dict[str, tuple[Build, list[np.ndarray[Any, Any]]]] = {
    "arange": (lambda x: op.add(op.arange(1, 7, 1, "float32"), x), [X]),
    "argmax": (lambda x: op.argmax(x, 1), [X]),
    "argmax of all": (lambda x: op.argmax(x, None, True), [X]),
    "argmin": (lambda x: op.argmin(x, -1, True), [X]),
    "argsort": (lambda x: op.argsort(x, 1, True), [ints(3, 9)]),
    "astype": (lambda x: op.astype(x, "int32"), [X]),
    "broadcast_to": (lambda x: op.broadcast_to(x, (3, 2, 4, 6)), [X]),
    "bucketize": (
        lambda x, b: op.bucketize(x, b, True, True), [X, np.float32([-1.0, 0.0, 1.5])]
    ),
    "clip": (lambda x: op.clip(x, -1, 1), [X]),
    "concat": (lambda x: op.concat([x, x], 1), [X]),
    "concat flat": (lambda x: op.concat([op.flatten(x), op.flatten(x)], None), [X]),
    "cumprod": (lambda x: op.cumprod(x, 2), [X]),
    "cumprod exclusive": (lambda x: op.cumprod(x, 0, "float64", True), [X]),
    "cumsum": (lambda x: op.cumsum(x, 1), [X]),
    "cumsum flat": (lambda x: op.cumsum(x, exclusive=True), [X]),
    "dequantize": (
        lambda x, s, z: op.dequantize(x, s, z, 1, "float32"),
        [ints(2, 4, 6, low=-9, high=9, dtype="int8"), floats(4, low=0.1), ints(4, dtype="int8")],
    ),
    "divide": (lambda x: op.divide(x, op.add(op.abs(x), c(1.0))), [X]),
    "dynamic_strided_slice": (
        lambda x, b, e, s: op.dynamic_strided_slice(x, b, e, s),
        [X, np.int64([0, 3, 1]), np.int64([2, 0, 6]), np.int64([1, -2, 2])],
    ),
    "einsum": (lambda x, y: op.einsum((x, y), "bij,bkj->bik"), [X, floats(2, 3, 6)]),
    "ewise_fma": (lambda x, y, z: op.ewise_fma(x, y, z), [X, floats(2, 4, 6), floats(2, 4, 6)]),
    "expand_dims": (lambda x: op.expand_dims(x, [0, 2]), [X]),
    "eye": (lambda x: op.add(x, op.eye(4, 6, 2, "float32")), [X]),
    "eye below": (lambda x: op.add(x, op.eye(4, 6, -2, "float32")), [X]),
    "eye_like": (lambda x: op.eye_like(x, 1), [floats(3, 5)]),
    "flatten": (lambda x: op.flatten(x), [X]),
    "flip": (lambda x: op.flip(x, 1), [X]),
    "full": (lambda x: op.add(x, op.full((4, 6), c(2.5), "float32")), [X]),
    "full_like": (lambda x: op.full_like(x, c(3, "int32")), [X]),
    "gather_elements": (lambda x, i: op.gather_elements(x, i, 1), [X, ints(2, 3, 6)]),
    "gather_nd": (lambda x, i: op.gather_nd(x, i), [X, ints(3, 2, high=2)]),
    "gather_nd by batch": (lambda x, i: op.gather_nd(x, i, 1), [X, ints(2, 3, 2)]),
    "hamming_window": (
        lambda x: op.multiply(x, op.hamming_window(6, True, 0.54, 0.46, "float32")), [X]
    ),
    "hamming_window symmetric": (
        lambda x: op.multiply(x, op.hamming_window(6, False, 0.5, 0.5, "float32")), [X]
    ),
    "index_put": (
        lambda x, i, v: op.index_put(x, (i,), v, True), [X, np.int64([1, 0, 1]), floats(3, 4, 6)]
    ),
    "index_tensor": (lambda x, i, j: op.index_tensor(x, (i, j)), [X, ints(3, high=2), ints(5, 1)]),
    "layout_transform": (
        lambda x: op.layout_transform(x, lambda a, b, k: (b, a, k // 2, k % 2)), [X]
    ),
    "layout_transform padded": (
        lambda x: op.layout_transform(
            x, lambda a, b, k: (a, b, k // 4, k % 4), pad_value=tir.const(1.0, "float32")
        ),
        [X],
    ),
    "max": (lambda x: op.max(x), [X]),
    "mean": (lambda x: op.mean(x, [0, 2], keepdims=True), [X]),
    "meshgrid": (lambda x, y: op.meshgrid((x, y), "xy"), [floats(3), floats(5)]),
    "min": (lambda x: op.min(x, -1), [X]),
    "multinomial_from_uniform": (
        lambda p, u, i: op.multinomial_from_uniform(p, u, i, "int64"),
        [np.float32([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]), floats(4, 1, low=0, high=1),
         np.int64([[0], [1], [1], [0]])],
    ),
    "nonzero": (lambda x: op.nonzero(x), [P]),
    "one_hot": (
        lambda x: op.one_hot(x, relax.PrimValue(1.5), relax.PrimValue(0.5), 4, 1),
        [np.int64([[0, 3, -1], [4, 1, 2]])],
    ),
    "ones": (lambda x: op.add(x, op.ones((4, 6), "float32")), [X]),
    "ones_like": (lambda x: op.ones_like(x, "int32"), [X]),
    "permute_dims": (lambda x: op.permute_dims(x, [2, 0, 1]), [X]),
    "permute_dims reversed": (lambda x: op.permute_dims(x), [X]),
    "prod": (lambda x: op.prod(x, [0, -1], True), [X]),
    "prod of all": (lambda x: op.prod(x), [X]),
    "quantize": (
        lambda x, s, z: op.quantize(x, s, z, 1, "int8"),
        [X, floats(4, low=0.01, high=0.1), ints(4, dtype="int8")],
    ),
    "repeat": (lambda x: op.repeat(x, 3, 1), [X]),
    "repeat flat": (lambda x: op.repeat(x, 2), [X]),
    "reshape": (_shape, [X]),
    "scatter_elements": (
        lambda x, i, u: op.scatter_elements(x, i, u, 1), [X, np.int64([[[1], [-1]]]),
                                                          floats(1, 2, 1)]
    ),
    **{
        f"scatter_elements {how}": (
            lambda x, i, u, how=how: op.scatter_elements(x, i, u, 1, how),
            [X, ints(2, 3, 6), floats(2, 3, 6)],
        )
        for how in ("add", "mul", "max", "min", "mean")
    },
    "scatter_nd": (
        lambda x, i, u: op.scatter_nd(x, i, u), [X, np.int64([[1, 2], [0, 3]]), floats(2, 6)]
    ),
    **{
        f"scatter_nd {how}": (
            lambda x, i, u, how=how: op.scatter_nd(x, i, u, how),
            [X, np.int64([[1, 2], [0, 3], [1, 2]]), floats(3, 6)],
        )
        for how in ("add", "mul", "max", "min")
    },
    "slice_scatter": (lambda x, s: op.slice_scatter(x, s, 1, 6, 2, 2), [X, floats(2, 4, 3)]),
    "sort": (lambda x: op.sort(x, 1, True), [X]),
    "split": (lambda x: op.split(x, 3, -1)[1], [X]),
    "split at": (lambda x: op.split(x, [1, 4], -1)[1], [X]),
    "squeeze": (lambda x: op.squeeze(op.expand_dims(x, [0, 2]), [2]), [X]),
    "squeeze all": (lambda x: op.squeeze(op.expand_dims(x, [0, 2])), [X]),
    "stack": (lambda x: op.stack((x, x), 2), [X]),
    "std": (lambda x: op.std(x, [1]), [X]),
    "strided_slice": (lambda x: op.strided_slice(x, [1, 2], [0, 1], [9, 6], [1, 2]), [X]),
    "strided_slice back": (lambda x: op.strided_slice(x, [2], [-1], [-7], [-2]), [X]),
    "strided_slice of none": (lambda x: op.strided_slice(x, [1], [3], [1], [1]), [X]),
    "sum": (lambda x: op.sum(x, [1]), [X]),
    "sum of integers": (lambda x: op.sum(x, [1]), [ints(2, 4, 6, dtype="int32")]),
    "take": (lambda x, i: op.take(x, i, 1), [X, ints(2, 3)]),
    "take flat": (lambda x, i: op.take(x, i, mode="clip"), [floats(9), ints(5, low=-9, high=99)]),
    "take around": (lambda x, i: op.take(x, i, 2, "wrap"), [X, ints(5, low=-9, high=99)]),
    "tile": (lambda x: op.tile(x, (2, 1, 3, 1)), [X]),
    "topk": (lambda x: op.topk(x, 2, 1), [ints(3, 9)]),
    "topk smallest": (lambda x: op.topk(x, 0, 0, "values", False), [X]),
    "tril": (lambda x: op.tril(x, 1), [X]),
    "triu": (lambda x: op.triu(x, -1), [X]),
    "unique": (lambda x: op.unique(x), [ints(3, 9)]),
    "variance": (lambda x: op.variance(x, [0, 2], True), [X]),
    "zeros": (lambda x: op.add(x, op.zeros((4, 6), "float32")), [X]),
    "zeros_like": (lambda x: op.zeros_like(x), [X]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_same_as_numpy(name: str) -> None:
    build, arrays = CASES[name]
    assert_same_in_torch(name.partition(" ")[0], build, arrays)


def test_what_torch_has_no_form_of_is_numpys() -> None:
    build: Build = lambda x, i: op.take(x, i, 1, "nan")
    assert_same_in_torch("take", build, [X, np.int64([1, 9, 2])], by_torch=False)
