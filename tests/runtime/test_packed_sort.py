"""Sorting by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import runtime, te, tir
from tvm.driver import compile
from tvm.error import ShapeError
from tvm.ffi import get_global_func


def call(name: str, *args: Any) -> Any:
    return get_global_func("tvm.contrib.sort." + name)(*args)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("ascending", [True, False])
def test_sort_and_argsort(axis: int, ascending: bool) -> None:
    rng = np.random.default_rng(axis + 5)
    data = rng.integers(0, 4, (5, 6, 3)).astype("float32")
    positions = runtime.empty(data.shape, "int64")
    call("argsort", runtime.tensor(data), positions, axis, ascending)
    wanted = np.argsort(data if ascending else -data, axis=axis, kind="stable")
    np.testing.assert_array_equal(positions.numpy(), wanted)
    values = runtime.empty(data.shape, "float32")
    call("sort", runtime.tensor(data), values, axis, ascending)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(data, wanted, axis))


def test_descending_keeps_unsigned_order() -> None:
    data = np.array([0, 255, 3], "uint8")
    positions = runtime.empty((3,), "int32")
    call("argsort", runtime.tensor(data), positions, 0, False)
    assert positions.numpy().tolist() == [1, 2, 0]


def test_the_first_of_each_row_from_compiled_code() -> None:
    data = te.placeholder((2, 4), name="data")
    counts = te.placeholder((2,), "int32", name="counts")
    out = te.extern(
        data.shape,
        [data, counts],
        lambda ins, outs: tir.call_packed(
            "tvm.contrib.sort.argsort_nms", ins[0], ins[1], outs[0], 1, False
        ),
        dtype="int32",
    )
    func = compile(te.create_prim_func([data, counts, out]), target="llvm")
    given = np.array([[1, 3, 2, 9], [4, 5, 6, 7]], "float32")
    result = runtime.empty((2, 4), "int32")
    func["main"](runtime.tensor(given), runtime.tensor(np.array([3, 9], "int32")), result)
    assert result.numpy().tolist() == [[1, 2, 0, 3], [3, 2, 1, 0]]


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("kind", ["both", "values", "indices"])
def test_topk(k: int, kind: str) -> None:
    data = np.random.default_rng(k).permutation(12).reshape(3, 4).astype("float32")
    order = np.argsort(-data, axis=1, kind="stable")[:, : k or 4]
    wanted = {"values": np.take_along_axis(data, order, 1), "indices": order}
    names = ["values", "indices"] if kind == "both" else [kind]
    outputs = [
        runtime.empty(order.shape, "float32" if name == "values" else "int64") for name in names
    ]
    call("topk", runtime.tensor(data), *outputs, k, 1, kind, False)
    for name, output in zip(names, outputs):
        np.testing.assert_array_equal(output.numpy(), wanted[name])


def test_what_is_refused() -> None:
    data = runtime.tensor(np.zeros((2, 3), "float32"))
    with pytest.raises(ShapeError, match="along axis 2"):
        call("sort", data, data, 2, True)
    with pytest.raises(ValueError, match="'both' with two outputs"):
        call("topk", data, data, 1, 1, "both", True)
    with pytest.raises(ShapeError, match="a count for each of the 2 rows along axis 1"):
        call("argsort_nms", data, runtime.tensor(np.zeros(3, "int32")), data, 1, True)
